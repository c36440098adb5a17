// Checks of the history options, before arrays are laid out.
#ifndef SWEEP_HISTORY_REFUSALS_H
#define SWEEP_HISTORY_REFUSALS_H

#include "../abi/fail.h"
#include "plan.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

template <class Eq>
int check_history(const sweep_problem& p, const sweep_context* context) {
  if (p.boundary < SWEEP_NO_STRIPS || p.boundary > SWEEP_EXACT || (p.boundary && p.chunk < 1))
    return fail(context, SWEEP_BAD_CALL,
                "boundary is %d and chunk is %d; expected 0 to 2, and a chunk of 1 or more with boundary strips",
                p.boundary, p.chunk);
  if (p.stored < SWEEP_FLOAT32 || p.stored > SWEEP_INT8 || (p.stored == SWEEP_FLOAT64 && p.dtype != SWEEP_FLOAT64))
    return fail(context, SWEEP_BAD_CALL, "stored is %d; expected dtype (%d) or a sweep_dtype of less precision",
                p.stored, p.dtype);
  if ((p.boundary || PackedFormat(p)) && (p.first > 0 || p.last < p.steps))
    return fail(
        context, SWEEP_UNSUPPORTED,
        "first is %d and last is %d; boundary strips, less precision and intervals need one call of all %d steps",
        p.first, p.last, p.steps);
  if (p.imaged_from < 0 || p.imaged_from >= p.shape[0])
    return fail(context, SWEEP_BAD_CALL, "imaged_from is %d; expected 0 to %d", p.imaged_from, p.shape[0] - 1);
  if (p.interval < 1 || p.interval > SWEEP_MAX_STEPS)
    return fail(context, SWEEP_BAD_CALL, "interval is %d; expected 1 to 2^30", p.interval);
  if (p.interval > 1 && (p.boundary || !Eq::is_second_order))
    return fail(context, SWEEP_UNSUPPORTED,
                "interval is %d; equation %s must image each step if it is of first order in time or has boundary "
                "strips; use 1",
                p.interval, p.equation);
  if (p.boundary && !Eq::table.is_reversible())
    return fail(context, SWEEP_UNSUPPORTED,
                "equation %s cannot be run backward in time; set boundary to SWEEP_NO_STRIPS", p.equation);
  return SWEEP_OK;
}

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
