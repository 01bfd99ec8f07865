/**
 * @file
 * Loops whose parts threads compute.
 */
#pragma once

#include <algorithm>
#include <atomic>
#include <new>

#include "buffer.h"

namespace HONE_ISA {

/**
 * Calls `compute(work, first, count)` for `total` things in chunks of `size`; `work` is a thread's memory.
 * @throws std::bad_alloc when there is not enough of it.
 */
template <typename Compute>
void ForChunks(int64_t total, size_t size, int32_t threads, Compute compute) {
  const auto step = static_cast<int64_t>(size);
  // No exception may leave a parallel region.
  std::atomic<bool> lacks_memory{false};
#pragma omp parallel num_threads(threads) if (threads > 1 && total > step)
  {
    Buffer<float> work;
#pragma omp for schedule(dynamic)
    for (int64_t first = 0; first < total; first += step) {
      try {
        compute(work, static_cast<size_t>(first), static_cast<size_t>(std::min(step, total - first)));
      } catch (const std::bad_alloc&) {
        lacks_memory = true;
      }
    }
  }
  if (lacks_memory) throw std::bad_alloc();
}

}  // namespace HONE_ISA
