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
    return fail(context, SWEEP_BAD_CALL, "boundary is %d, with chunks of %d steps", p.boundary, p.chunk);
  if (p.stored < SWEEP_FLOAT32 || p.stored > SWEEP_INT8 || (p.stored == SWEEP_FLOAT64 && p.dtype != SWEEP_FLOAT64))
    return fail(context, SWEEP_BAD_CALL, "stored is %d, which is no sweep_dtype of a history of dtype %d", p.stored,
                p.dtype);
  if ((p.boundary || PackedFormat(p)) && (p.first > 0 || p.last < p.steps))
    return fail(context, SWEEP_UNSUPPORTED, "a run in slices keeps no boundary strips, and nothing in less precision");
  if (p.imaged_from < 0 || p.imaged_from >= p.shape[0])
    return fail(context, SWEEP_BAD_CALL, "images are to begin at plane %d of %d", p.imaged_from, p.shape[0]);
  if (p.interval < 1 || p.interval > SWEEP_MAX_STEPS)
    return fail(context, SWEEP_BAD_CALL, "interval is %d steps", p.interval);
  if (p.interval > 1 && (p.boundary || !Eq::is_second_order))
    return fail(
        context, SWEEP_UNSUPPORTED,
        "an interval of %d steps: equation %s is imaged at each step, where it is of first order in time or has "
        "boundary strips",
        p.interval, p.equation);
  if (p.boundary && !Eq::table.is_reversible())
    return fail(context, SWEEP_UNSUPPORTED, "equation %s cannot be run backward in time from boundary strips",
                p.equation);
  return SWEEP_OK;
}

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
