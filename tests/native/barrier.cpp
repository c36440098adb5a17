// Threads meet many times at the barrier of the CPU code. Between two meetings each writes its own number and reads
// those of all others without atomic operations, so that ThreadSanitizer reports a barrier that lets a thread pass too
// early. Arguments: threads, meetings, and microseconds that a thread is late at each hundredth meeting.
#include "cpu/barrier.h"

#include <stdio.h>
#include <stdlib.h>

#include <chrono>
#include <thread>
#include <vector>

int main(int, char** argument) {
  const int size = atoi(argument[1]), meetings = atoi(argument[2]), late = atoi(argument[3]);
  sweep::Barrier barrier;
  std::vector<int> number(size);
  std::vector<int> wrong(size);
  std::vector<std::thread> threads;
  const auto meet = [&](int rank) {
    for (int k = 1; k <= meetings; ++k) {
      if (late && k % 100 == rank) std::this_thread::sleep_for(std::chrono::microseconds(late));
      number[rank] = k * (rank + 1);
      barrier.meet(size);
      for (int other = 0; other < size; ++other) wrong[rank] += number[other] != k * (other + 1);
      barrier.meet(size);
    }
    barrier.meet_last(rank, size);
    // All others have left before rank 0 returns, which then may destroy what they share.
    if (rank == 0) number.assign(size, 0);
  };
  for (int rank = 1; rank < size; ++rank) threads.emplace_back(meet, rank);
  meet(0);
  for (auto& thread : threads) thread.join();
  int sum = 0;
  for (const int count : wrong) sum += count;
  printf("%d wrong\n", sum);
  return sum != 0;
}
