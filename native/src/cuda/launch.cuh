// Kernels call body.cell(shot, i, part) for the cells of boxes, or body.element(shot, i) for numbered elements, of
// every shot. They run in threads of a GPU or, where a test emulates one, in loops on the CPU.
#ifndef SWEEP_CUDA_LAUNCH_H
#define SWEEP_CUDA_LAUNCH_H

#include <cuda_runtime.h>

#include "../engine/runs.h"

namespace sweep {
inline namespace SWEEP_VARIANT {

constexpr int warp = 32, block = 128;

// Computes x / n for x below 2^31 without a division; n is known before the launch.
struct Divisor {
  unsigned n = 1, magic = 1u << 31, shift = 0;

  Divisor() = default;
  explicit Divisor(unsigned by) : n(by) {
    while (n > 1u << shift) ++shift;
    magic = static_cast<unsigned>(((uint64_t{1} << (31 + shift)) + n - 1) / n);
  }
  SWEEP_HD unsigned quotient(unsigned x) const {
#if defined(__CUDA_ARCH__)
    return __umulhi(2 * x, magic) >> shift;
#else
    return static_cast<unsigned>(uint64_t{2 * x} * magic >> 32) >> shift;
#endif
  }
};

// Blocks of threads over some boxes, shot after shot: 32 threads along the last axis times 4 along the one before; in
// one dimension 128. Each thread has `deep` cells along the first axis, so that it computes its shot and offsets once
// for all of them.
template <int NDIM>
struct Blocks {
  static constexpr int max_parts = 2 * NDIM, last = NDIM - 1, along = NDIM == 1 ? block : warp;
  struct Part {
    Box<NDIM> box;
    unsigned begin;
    Divisor across, down;  // blocks along the last axis and the one before
  };
  Part part[max_parts] = {};
  int parts = 0, depth;
  unsigned count = 0;  // blocks of one shot
  Divisor each;

  explicit Blocks(int cells) : depth(cells) {}
  void add(const Box<NDIM>& box) {
    Part& added = part[parts++];
    added.box = box;
    added.begin = count;
    unsigned blocks_of_box = 1;
    for (int a = 0; a < NDIM; ++a) {
      const int n = box.high[a] - box.low[a], size = a == last ? along : a == last - 1 ? block / warp : 1;
      const unsigned blocks = n > 0 ? (n - 1) / (a == 0 ? size * depth : size) + 1 : 0;
      if (a == last) added.across = Divisor(blocks ? blocks : 1);
      if (a == last - 1) added.down = Divisor(blocks ? blocks : 1);
      blocks_of_box *= blocks;
    }
    count += blocks_of_box;
    if (count) each = Divisor(count);
  }
};

template <int NDIM, class Body>
SWEEP_HD void cell_of(const Body& body, const Blocks<NDIM>& blocks, unsigned number, unsigned thread) {
  constexpr int last = NDIM - 1;
  const unsigned shot = blocks.each.quotient(number);
  number -= shot * blocks.each.n;
  int p = 0;
  for (int i = 1; i < Body::parts; ++i)
    if (i < blocks.parts && number >= blocks.part[i].begin) p = i;
  const auto& part = blocks.part[p];
  number -= part.begin;
  const unsigned rest = part.across.quotient(number);
  int i[NDIM];
  if constexpr (NDIM == 1) {
    i[0] = part.box.low[0] + static_cast<int>(number * block + thread) * blocks.depth;
    if (i[0] >= part.box.high[0]) return;
  } else {
    i[last] = part.box.low[last] + static_cast<int>((number - rest * part.across.n) * warp + thread % warp);
    unsigned down = rest;
    if constexpr (NDIM == 3) {
      const unsigned planes = part.down.quotient(rest);
      i[0] = part.box.low[0] + static_cast<int>(planes) * blocks.depth;
      down = rest - planes * part.down.n;
    }
    const auto row = static_cast<int>(down * (block / warp) + thread / warp);
    i[last - 1] = part.box.low[last - 1] + (NDIM == 3 ? row : row * blocks.depth);
    if (i[last] >= part.box.high[last] || i[last - 1] >= part.box.high[last - 1]) return;
  }
  const int limit = i[0] + blocks.depth, end = limit < part.box.high[0] ? limit : part.box.high[0];
  SWEEP_ROLLED do body.cell(static_cast<int>(shot), i, p);
  while (++i[0] < end);
}

// A thread's place: its number among `threads` along the indices, in one of `rows` along the shots. A launch limits
// both numbers, so each thread strides over the remaining indices and shots.
struct Place {
  ptrdiff_t thread, threads;
  int row, rows;
};

template <class Body>
SWEEP_HD void stride(const Body& body, ptrdiff_t count, Span shots, const Place& at) {
  for (ptrdiff_t shot = at.row; shot < shots.count; shot += at.rows)
    for (ptrdiff_t i = at.thread; i < count; i += at.threads) body.element(shots.first + static_cast<int>(shot), i);
}

// Returns f(0) + ... + f(31) to the first thread of a warp. Each thread computes one term, and the order of the
// additions is always the same.
template <class T, class F>
SWEEP_HD T sum_of_warp(int lane, const F& f) {
#if defined(__CUDA_ARCH__)
  T sum = f(lane);
  for (int by = warp / 2; by > 0; by /= 2) sum += __shfl_down_sync(~0u, sum, by);
  return sum;
#else
  T sum[warp] = {};
  for (int i = 0; i < warp && lane == 0; ++i) sum[i] = f(i);
  for (int by = warp / 2; by > 0; by /= 2)
    for (int i = 0; i < by; ++i) sum[i] += sum[i + by];
  return sum[0];
#endif
}

// Both launches return an error message; null without an error.
#if defined(SWEEP_EMULATE)

// Calls f(i) for i below a count, in an order that changes from launch to launch. A result that depended on the order
// would differ from the CPU's.
template <class F>
void in_changing_order(ptrdiff_t count, const F& f) {
  const ptrdiff_t order = emulated::launched() % 3, half = (count + 1) / 2;
  for (ptrdiff_t i = 0; i < count; ++i)
    f(order == 0 ? i : order == 1 ? count - 1 - i : i < half ? 2 * i : 2 * (i - half) + 1);
}

template <class Body, int NDIM>
const char* launch(void*, const Body& body, const Blocks<NDIM>& blocks, int shots) {
  in_changing_order(static_cast<ptrdiff_t>(blocks.count) * shots * block, [&](ptrdiff_t i) {
    cell_of(body, blocks, static_cast<unsigned>(i / block), static_cast<unsigned>(i % block));
  });
  return nullptr;
}

// Few threads, so that they stride.
template <class Body>
const char* launch(void*, const Body& body, ptrdiff_t count, Span shots) {
  const ptrdiff_t threads = count < 1024 ? count : 1024;
  const int rows = shots.count < 2 ? shots.count : 2;
  in_changing_order(rows * threads, [&](ptrdiff_t i) {
    stride(body, count, shots, Place{i % threads, threads, static_cast<int>(i / threads), rows});
  });
  return nullptr;
}

#else

template <class... Arguments>
const char* launch_kernel(void (*kernel)(Arguments...), void* stream, unsigned columns, unsigned rows,
                          const Arguments&... arguments) {
  cudaLaunchConfig_t config = {};
  config.gridDim.x = columns;
  config.gridDim.y = rows;
  config.blockDim.x = block;
  config.stream = static_cast<cudaStream_t>(stream);
  const cudaError_t status = cudaLaunchKernelEx(&config, kernel, arguments...);
  if (status == cudaSuccess) return nullptr;
  cudaGetLastError();  // clears the error, which the caller gets, before another library's launch could read it
  return cudaGetErrorString(status);
}

template <class Body, int NDIM>
__global__ void __launch_bounds__(block)
    cells_of(const __grid_constant__ Body body, const __grid_constant__ Blocks<NDIM> blocks) {
  cell_of(body, blocks, blockIdx.x, threadIdx.x);
}

template <class Body, int NDIM>
const char* launch(void* stream, const Body& body, const Blocks<NDIM>& blocks, int shots) {
  return launch_kernel(cells_of<Body, NDIM>, stream, blocks.count * shots, 1, body, blocks);
}

template <class Body>
__global__ void __launch_bounds__(block)
    elements_of(const __grid_constant__ Body body, const ptrdiff_t count, const Span shots) {
  const ptrdiff_t thread = static_cast<ptrdiff_t>(blockIdx.x) * block + threadIdx.x;
  const ptrdiff_t threads = static_cast<ptrdiff_t>(gridDim.x) * block;
  stride(body, count, shots, Place{thread, threads, static_cast<int>(blockIdx.y), static_cast<int>(gridDim.y)});
}

template <class Body>
const char* launch(void* stream, const Body& body, ptrdiff_t count, Span shots) {
  if (count < 1 || shots.count < 1) return nullptr;
  constexpr ptrdiff_t most_blocks = INT32_MAX, most_rows = 65535;
  const ptrdiff_t blocks = (count - 1) / block + 1;
  return launch_kernel(elements_of<Body>, stream, static_cast<unsigned>(blocks < most_blocks ? blocks : most_blocks),
                       static_cast<unsigned>(shots.count < most_rows ? shots.count : most_rows), body, count, shots);
}

#endif

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
