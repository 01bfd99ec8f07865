/**
 * @file
 * What the kernels have in common, which a training on a processor calls instead of several of torch's
 * operations, each of which would be a pass over memory. Each is a file here, and is compiled once for each
 * instruction set. Its file in `trainer/kernels/` loads it (`native.py`) and checks the sizes, types and
 * labels of every call, which are trusted here. Numbers are float32, or bfloat16, which is computed with in
 * float32. Nothing is allocated that outlives a call, and nothing is thrown.
 */
#pragma once

#include <cstdint>
#include <new>

/** What the elements of tensors are. */
enum HoneType : int32_t { kHoneFloat32 = 0, kHoneBfloat16 = 1 };

#define HONE_EXPORT extern "C" __attribute__((visibility("default")))
#define HONE_JOINED_(first, second, third) first##second##_##third
#define HONE_JOINED(first, second, third) HONE_JOINED_(first, second, third)

/**
 * Exports `compute`, which takes a reference to `Operands`, as `hone_NAME_SET` of the instruction set that is
 * compiled: it returns 0, or 1 if there is not enough memory. `hone_size_of_NAME_SET` tells the size of the
 * operands: with another one than the trainer's, they differ.
 */
#define HONE_KERNEL(name, Operands, compute)                                  \
  HONE_EXPORT int HONE_JOINED(hone_, name, HONE_ISA)(const Operands* given) { \
    try {                                                                     \
      HONE_ISA::compute(*given);                                              \
      return 0;                                                               \
    } catch (const std::bad_alloc&) {                                         \
      return 1;                                                               \
    }                                                                         \
  }                                                                           \
  HONE_EXPORT uint64_t HONE_JOINED(hone_size_of_, name, HONE_ISA)() { return sizeof(Operands); }
