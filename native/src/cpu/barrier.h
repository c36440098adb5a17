// The barrier of the threads of a run. A thread that waits spins for some microseconds, and then sleeps until the last
// thread arrives. On a busy machine, where the last thread may wait for a processor on which another one spins, the
// barriers of OpenMP spin for milliseconds unless OMP_WAIT_POLICY says otherwise.
#ifndef SWEEP_CPU_BARRIER_H
#define SWEEP_CPU_BARRIER_H

#include <stdint.h>

#include <atomic>
#include <chrono>

#include "sweep/core/portable.h"

#if defined(__linux__)
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#else
#include <thread>
#endif

namespace sweep {
inline namespace SWEEP_VARIANT {

class Barrier {
 public:
  // Threads of a quiet machine rarely wait longer for each other than the first time. The second is for a thread on
  // whose processor the last thread ran after it had fallen asleep: until then it had only kept it waiting.
  static constexpr int64_t most_nanoseconds = 200000, least_nanoseconds = 2000;

  // Waits until `size` threads have called this function. Each thread then sees all that they wrote before.
  SWEEP_APART void meet(int size) {
    const uint32_t round = round_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 < size) return wait(round_, round);
    arrived_.store(0, std::memory_order_relaxed);
    advance(round_);
  }

  // Meets, and keeps rank 0 until all other threads have left: none of them is still asleep.
  SWEEP_APART void meet_last(int rank, int size) {
    meet(size);
    if (rank > 0 && left_.fetch_add(1, std::memory_order_acq_rel) + 2 == size) advance(all_left_);
    if (rank == 0 && size > 1) wait(all_left_, 0);
  }

 private:
  using Word = std::atomic<uint32_t>;
  static_assert(sizeof(Word) == sizeof(uint32_t), "the system waits for a plain word");

  // The order of the two accesses to `word` and `asleep_` here and in `wait` is the same for all threads, so that no
  // thread falls asleep unseen.
  void advance(Word& word) {
    word.fetch_add(1, std::memory_order_seq_cst);
    if (!asleep_.load(std::memory_order_seq_cst)) return;
    waker_.store(processor(), std::memory_order_relaxed);
    wake(word);
  }

  // Waits while `word` is `old`.
  void wait(Word& word, uint32_t old) {
    const int64_t nanoseconds = nanoseconds_.load(std::memory_order_relaxed);
    if (spin(word, old, nanoseconds)) {
      if (nanoseconds < most_nanoseconds) nanoseconds_.store(2 * nanoseconds, std::memory_order_relaxed);
      return;
    }
    const int own = processor();
    asleep_.fetch_add(1, std::memory_order_seq_cst);
    while (word.load(std::memory_order_seq_cst) == old) sleep(word, old);
    asleep_.fetch_sub(1, std::memory_order_relaxed);
    if (own == waker_.load(std::memory_order_relaxed)) nanoseconds_.store(least_nanoseconds, std::memory_order_relaxed);
  }

  // Returns true once `word` differs from `old`, and false after some time.
  static bool spin(const Word& word, uint32_t old, int64_t nanoseconds) {
    if (looks(word, old)) return true;
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < std::chrono::nanoseconds(nanoseconds))
      if (looks(word, old)) return true;
    return false;
  }

  // The looks between two readings of the clock.
  static bool looks(const Word& word, uint32_t old) {
    for (int i = 0; i < 32; ++i) {
      if (word.load(std::memory_order_acquire) != old) return true;
      pause();
    }
    return false;
  }

  static void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
  }

#if defined(__linux__)
  static int processor() { return sched_getcpu(); }
  static void sleep(Word& word, uint32_t old) { call(word, FUTEX_WAIT_PRIVATE, old); }
  static void wake(Word& word) { call(word, FUTEX_WAKE_PRIVATE, INT_MAX); }
  static void call(Word& word, int operation, uint32_t value) {
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), operation, value, nullptr, nullptr, 0);
  }
#else
  static int processor() { return 0; }  // unknown: taken to be the same
  static void sleep(Word&, uint32_t) { std::this_thread::yield(); }
  static void wake(Word&) {}
#endif

  // Waiting threads read the line of `round_`, which those that arrive do not write.
  alignas(64) Word round_{0};
  Word all_left_{0};
  alignas(64) std::atomic<int> arrived_{0};
  std::atomic<int> left_{0};
  std::atomic<int> asleep_{0}, waker_{-1};
  std::atomic<int64_t> nanoseconds_{most_nanoseconds};
};

}  // namespace SWEEP_VARIANT
}  // namespace sweep
#endif
