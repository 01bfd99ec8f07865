/**
 * @file
 * Which of the instruction sets that the kernels are compiled for the processor has.
 */
#include <cstddef>
#include <vector>

#include "kernels.h"

namespace {

std::vector<const char*> Runnable() {
  std::vector<const char*> found;
#if defined(HONE_X86)
  __builtin_cpu_init();
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  if (wide && __builtin_cpu_supports("avx512bf16")) found.push_back("avx512_bf16");
  if (wide) found.push_back("avx512");
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found.push_back("avx2");
#endif
  found.push_back("base");
  return found;
}

}  // namespace

/** The name of number `at` of those that the processor has, the best of which is 0; null where there are
 * fewer. */
HONE_EXPORT const char* hone_instruction_set(size_t at) {
  static const std::vector<const char*> runnable = Runnable();
  return at < runnable.size() ? runnable[at] : nullptr;
}
