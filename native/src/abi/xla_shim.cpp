// The only file that knows XLA: custom calls that pass XLA's buffers to a kernel library. Python binds the functions of
// a library when it loads the library, so compiled programs hold no address, and the kernels need no XLA header.
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "sweep/sweep.h"
#include "xla/ffi/api/ffi.h"

struct CUstream_st;

namespace {

namespace ffi = xla::ffi;

enum Kind { CPU, CUDA, KINDS };

using Run = decltype(&sweep_run);

// The sweep_run of each kernel library, by its name. Never destroyed, since threads of XLA may outlive main().
struct Registry {
  std::mutex guard;
  std::map<std::string, Run, std::less<>> functions[KINDS];
};

Registry& registry() {
  static Registry& all = *new Registry;
  return all;
}

Run find(Kind kind, std::string_view library) {
  const std::lock_guard<std::mutex> lock(registry().guard);
  const auto entry = registry().functions[kind].find(library);
  return entry == registry().functions[kind].end() ? nullptr : entry->second;
}

bool is_value(int status) { return status == SWEEP_BAD_VALUE || status == SWEEP_UNSTABLE; }

// sweep_jax.native.refusals parses the status from this text.
ffi::Error refusal(int status, const std::string& text) {
  ffi::ErrorCode code = ffi::ErrorCode::kInternal;
  if (is_value(status)) code = ffi::ErrorCode::kInvalidArgument;
  if (status == SWEEP_UNSUPPORTED) code = ffi::ErrorCode::kUnimplemented;
  return ffi::Error(code, "SWEEP status " + std::to_string(status) + ": " + text);
}

sweep_buffer as_buffer(const ffi::AnyBuffer& buffer) {
  return {buffer.untyped_data(), static_cast<int64_t>(buffer.size_bytes())};
}

// Reports an error as a GPU does, which cannot return one: every result becomes NaN, and the last one holds the status.
void poison(int status, const sweep_buffer* results, size_t count) {
  for (size_t i = 0; i + 1 < count; ++i)
    if (results[i].data) std::memset(results[i].data, 0xff, static_cast<size_t>(results[i].bytes));
  *static_cast<int32_t*>(results[count - 1].data) = status;
}

// `problem` holds the bytes of a sweep_problem. The buffers are the arguments and then the results, in the order of
// sweep_buffers. In a run in slices the last arguments are results of the call before; they lie in the same memory as
// the results whose numbers are in `aliased`. With `together` other devices may wait for this one, and after an error
// they would wait forever.
ffi::Error run(Kind kind, CUstream_st* stream, std::string_view library, int32_t operation,
               ffi::Span<const uint8_t> problem, int32_t threads, int32_t isa, bool others_wait,
               ffi::Span<const int32_t> aliased, ffi::RemainingArgs arguments, ffi::RemainingRets results) {
  constexpr size_t max_buffers = SWEEP_MAX_BUFFERS;
  if (aliased.size() > arguments.size())
    return refusal(SWEEP_BAD_CALL, "there are more aliased results than arguments");
  const size_t read = arguments.size() - aliased.size();
  const size_t count = read + results.size();
  const Run function = find(kind, library);
  if (!function) return refusal(SWEEP_BAD_CALL, "no library is bound to the name " + std::string(library));
  if (count > max_buffers)
    return refusal(SWEEP_BAD_CALL, std::to_string(count) + " buffers; expected at most " + std::to_string(max_buffers));

  sweep_problem problem_struct;
  if (problem.size() != sizeof(problem_struct))
    return refusal(SWEEP_BAD_CALL, "sweep_problem has another size; expected the struct of this ABI");
  std::memcpy(&problem_struct, problem.begin(), sizeof(problem_struct));

  sweep_buffer buffers[max_buffers];
  for (size_t i = 0; i < read; ++i) {
    const auto buffer = arguments.get<ffi::AnyBuffer>(i);
    if (!buffer.has_value()) return buffer.error();
    buffers[i] = as_buffer(*buffer);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    auto buffer = results.get<ffi::AnyBuffer>(i);
    if (!buffer.has_value()) return buffer.error();
    buffers[read + i] = as_buffer(**buffer);
  }
  for (size_t i = 0; i < aliased.size(); ++i) {
    const auto buffer = arguments.get<ffi::AnyBuffer>(read + i);
    if (!buffer.has_value()) return buffer.error();
    const auto number = static_cast<size_t>(aliased.begin()[i]);
    if (number >= results.size() || as_buffer(*buffer).data != buffers[read + number].data)
      return refusal(SWEEP_BAD_CALL, "XLA placed a result apart from the argument that it aliases");
    // An earlier call of the run has failed.
    if (kind == CPU && number + 1 == results.size())
      if (const int status = *static_cast<const int32_t*>(buffers[read + number].data)) {
        poison(status, buffers + read, results.size());
        return ffi::Error::Success();
      }
  }

  char text[512] = "";
  sweep_context context = {};
  context.bytes = sizeof(context);
  context.threads = threads;
  context.isa = isa;
  context.stream = stream;
  context.error = text;
  context.error_bytes = sizeof(text);
  const int status = function(&problem_struct, operation, buffers, static_cast<int32_t>(count), &context);
  if (status == SWEEP_OK) return ffi::Error::Success();
  if (kind != CPU || !others_wait || !is_value(status)) return refusal(status, text);
  poison(status, buffers + read, results.size());
  return ffi::Error::Success();
}

ffi::Error run_cpu(std::string_view library, int32_t operation, ffi::Span<const uint8_t> problem, int32_t threads,
                   int32_t isa, bool others_wait, ffi::Span<const int32_t> aliased, ffi::RemainingArgs arguments,
                   ffi::RemainingRets results) {
  return run(CPU, nullptr, library, operation, problem, threads, isa, others_wait, aliased, arguments, results);
}

ffi::Error run_cuda(CUstream_st* stream, std::string_view library, int32_t operation, ffi::Span<const uint8_t> problem,
                    int32_t threads, int32_t isa, bool others_wait, ffi::Span<const int32_t> aliased,
                    ffi::RemainingArgs arguments, ffi::RemainingRets results) {
  return run(CUDA, stream, library, operation, problem, threads, isa, others_wait, aliased, arguments, results);
}

// The attributes and buffers of every handler.
template <class Binding>
auto call(Binding binding) {
  return std::move(binding)
      .template Attr<std::string_view>("library")
      .template Attr<int32_t>("operation")
      .template Attr<ffi::Span<const uint8_t>>("problem")
      .template Attr<int32_t>("threads")
      .template Attr<int32_t>("isa")
      .template Attr<bool>("together")
      .template Attr<ffi::Span<const int32_t>>("aliased")
      .RemainingArgs()
      .RemainingRets();
}

}  // namespace

extern "C" {

// The version of the jaxlib whose headers this file was compiled with; the shim runs on that version and newer ones.
SWEEP_EXPORT const char* sweep_xla_jaxlib_version(void) { return SWEEP_XLA_JAXLIB_VERSION; }

SWEEP_EXPORT const char* sweep_build_id(void) { return SWEEP_BUILD_ID; }

// Binds the sweep_run of a library, by its name, on `kind` ("cpu", "cuda") for later custom calls.
SWEEP_EXPORT int sweep_xla_bind(const char* kind, const char* library, Run function) {
  const bool cuda = std::strcmp(kind, "cuda") == 0;
  if (!cuda && std::strcmp(kind, "cpu") != 0) return SWEEP_UNSUPPORTED;
  const std::lock_guard<std::mutex> lock(registry().guard);
  registry().functions[cuda ? CUDA : CPU][library] = function;
  return SWEEP_OK;
}

SWEEP_EXPORT XLA_FFI_Error* sweep_xla_cpu(XLA_FFI_CallFrame*);
SWEEP_EXPORT XLA_FFI_Error* sweep_xla_cuda(XLA_FFI_CallFrame*);
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(sweep_xla_cpu, run_cpu, call(ffi::Ffi::Bind()));
// Calls on a GPU queue launches and never depend on their results, so XLA may record and replay them.
XLA_FFI_DEFINE_HANDLER_SYMBOL(sweep_xla_cuda, run_cuda, call(ffi::Ffi::Bind().Ctx<ffi::PlatformStream<CUstream_st*>>()),
                              {ffi::Traits::kCmdBufferCompatible});
