// The exported functions: they find the equation in the requested build, and call it.
#include <stddef.h>

#include <new>

#include "buffers.h"
#include "table.h"

namespace {

using sweep::Build;
using sweep::Calls;
using sweep::Table;

int best_build() {
  int best = -1;
  for (int i = 0; i < sweep::build_count; ++i)
    if (sweep::builds[i].runs()) best = i;
  return best;
}

int find(const sweep_problem* problem, int32_t operation, const sweep_context* context, Calls* calls) {
  if (!context || context->bytes != sizeof(sweep_context) || context->threads < 1) return SWEEP_BAD_CALL;
  if (!problem || problem->bytes != sizeof(sweep_problem))
    return sweep::fail(context, SWEEP_BAD_CALL, "sweep_problem is not the struct of ABI %d", SWEEP_ABI_VERSION);
  if (operation < 0 || operation >= SWEEP_OPERATIONS)
    return sweep::fail(context, SWEEP_BAD_CALL, "operation is %d; expected 0 to %d", operation, SWEEP_OPERATIONS - 1);
  const int number = context->isa ? context->isa : best_build() + 1;
  if (number < 1 || number > sweep::build_count || !sweep::builds[number - 1].runs())
    return sweep::fail(context, SWEEP_DEVICE, "isa is %d; no such build of this library runs on this machine",
                       context->isa);
  for (const Table* t = sweep::builds[number - 1].tables(); t->name; ++t)
    if (strncmp(t->name, problem->equation, SWEEP_NAME_BYTES) == 0) return t->find(*problem, context, calls);
  return sweep::fail(context, SWEEP_UNSUPPORTED,
                     "equation is %.31s, which is not compiled in this library; see sweep_describe", problem->equation);
}

}  // namespace

extern "C" {

int32_t sweep_abi_version(void) { return SWEEP_ABI_VERSION; }

const char* sweep_build_id(void) { return SWEEP_BUILD_ID; }

int32_t sweep_layout(int64_t* values, int32_t count) {
  const int64_t layout[] = {sizeof(sweep_problem),
                            sizeof(sweep_buffer),
                            sizeof(sweep_control),
                            sizeof(sweep_context),
                            sizeof(sweep_need),
                            sizeof(sweep_needs),
                            sizeof(sweep_equation),
                            offsetof(sweep_problem, equation),
                            offsetof(sweep_buffer, bytes),
                            offsetof(sweep_control, progress),
                            offsetof(sweep_context, error_bytes),
                            offsetof(sweep_need, name),
                            offsetof(sweep_needs, buffer),
                            offsetof(sweep_equation, statement)};
  constexpr int32_t size = sizeof(layout) / sizeof(layout[0]);
  for (int32_t i = 0; i < size && i < count; ++i) values[i] = layout[i];
  return size;
}

const char* sweep_isa(int32_t index) {
  return index >= 0 && index < sweep::build_count ? sweep::builds[index].name : nullptr;
}

int32_t sweep_isa_default(void) { return best_build(); }

int sweep_describe(int32_t index, int32_t ndim, sweep_equation* out) {
  if (!out || out->bytes != sizeof(sweep_equation) || ndim < 1 || ndim > SWEEP_MAX_AXES) return SWEEP_BAD_CALL;
  const Table* table = sweep::builds[0].tables();
  for (int32_t i = 0; table->name; ++table, ++i)
    if (i == index) {
      table->describe(ndim, out);
      return SWEEP_OK;
    }
  return SWEEP_UNSUPPORTED;
}

int sweep_buffers(const sweep_problem* problem, int32_t operation, sweep_needs* out, const sweep_context* context) {
  Calls calls = {};
  if (const int status = find(problem, operation, context, &calls)) return status;
  if (!out || out->bytes != sizeof(sweep_needs))
    return sweep::fail(context, SWEEP_BAD_CALL, "sweep_needs is not the struct of ABI %d", SWEEP_ABI_VERSION);
  return calls.buffers(*problem, operation, out, context);
}

int sweep_run(const sweep_problem* problem, int32_t operation, const sweep_buffer* buffers, int32_t count,
              const sweep_context* context) {
  Calls calls = {};
  if (const int status = find(problem, operation, context, &calls)) return status;
  const int expected = sweep::buffers_of(operation);
  if (count != expected || !buffers)
    return sweep::fail(context, SWEEP_BAD_CALL, "count is %d; expected %d buffers", count, expected);
  return calls.run(*problem, operation, buffers, context);
}

}  // extern "C"
