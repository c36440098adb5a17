// The error message of a call, written to the caller's buffer.
#ifndef SWEEP_ABI_FAIL_H
#define SWEEP_ABI_FAIL_H

#include <stdarg.h>
#include <stdio.h>

#include "sweep/core/portable.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

inline int fail(const sweep_context* context, int status, const char* format, ...) {
  if (context && context->error && context->error_bytes > 0) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(context->error, static_cast<size_t>(context->error_bytes), format, arguments);
    va_end(arguments);
  }
  return status;
}

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
