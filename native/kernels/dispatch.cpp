/**
 * @file
 * The library's functions: each calls what was compiled for the best instruction set that the processor has.
 */
#include <cstddef>
#include <new>
#include <vector>

#include "kernels.h"

#define HONE_DECLARE(isa)                     \
  namespace isa {                             \
  void Attention(const HoneAttention&, bool); \
  void Gate(const HoneGate&);                 \
  void LowRankDown(const HoneLowRank&);       \
  void LowRankUp(const HoneLowRank&);         \
  void LowRankGradient(const HoneLowRank&);   \
  void Norm(const HoneNorm&);                 \
  void Rotation(const HoneRotation&);         \
  void Softmax(const HoneSoftmax&);           \
  }

HONE_DECLARE(base)
#if defined(HONE_X86)
HONE_DECLARE(avx2)
HONE_DECLARE(avx512)
HONE_DECLARE(avx512_bf16)
#endif

namespace {

struct Kernels {
  const char* name;
  void (*attention)(const HoneAttention&, bool);
  void (*gate)(const HoneGate&);
  void (*low_rank_down)(const HoneLowRank&);
  void (*low_rank_up)(const HoneLowRank&);
  void (*low_rank_gradient)(const HoneLowRank&);
  void (*norm)(const HoneNorm&);
  void (*rotation)(const HoneRotation&);
  void (*softmax)(const HoneSoftmax&);
};

/** Returns 0, or 1 if there is not enough memory for `compute`. */
template <typename Compute>
int Told(Compute compute) {
  try {
    compute();
    return 0;
  } catch (const std::bad_alloc&) {
    return 1;
  }
}

#define HONE_KERNELS(isa)                                                                               \
  Kernels {                                                                                             \
    #isa, isa::Attention, isa::Gate, isa::LowRankDown, isa::LowRankUp, isa::LowRankGradient, isa::Norm, \
        isa::Rotation, isa::Softmax                                                                     \
  }

/** Those that the processor can run, the best first. */
std::vector<Kernels> Runnable() {
  std::vector<Kernels> found;
#if defined(HONE_X86)
  __builtin_cpu_init();
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  if (wide && __builtin_cpu_supports("avx512bf16")) found.push_back(HONE_KERNELS(avx512_bf16));
  if (wide) found.push_back(HONE_KERNELS(avx512));
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found.push_back(HONE_KERNELS(avx2));
#endif
  found.push_back(HONE_KERNELS(base));
  return found;
}

const std::vector<Kernels>& All() {
  static const std::vector<Kernels> runnable = Runnable();
  return runnable;
}

Kernels used = All().front();

}  // namespace

#define HONE_EXPORT extern "C" __attribute__((visibility("default")))

/** A number made of the sizes of all structures: with another one than the trainer's, they differ. */
HONE_EXPORT uint64_t hone_layout() {
  uint64_t found = 0;
  for (const size_t size : {sizeof(HoneRow), sizeof(HoneAttention), sizeof(HoneGate), sizeof(HoneNorm),
                            sizeof(HoneSoftmax), sizeof(HoneRotation), sizeof(HoneLowRank)}) {
    found = found * 1009 + size;
  }
  return found;
}

/** The instruction set in use: the best that the processor has. */
HONE_EXPORT const char* hone_kernels() { return used.name; }

/** Uses the instruction set number `at` of those that the processor has, the best of which is 0. Returns its
 * name, or null where there are fewer. For tests. */
HONE_EXPORT const char* hone_use(size_t at) {
  if (at >= All().size()) return nullptr;
  used = All()[at];
  return used.name;
}

// Those that need memory return 0, or 1 if there is not enough; what they compute is then of no use.

HONE_EXPORT int hone_attention(const HoneAttention* given, int backward) {
  return Told([&] { used.attention(*given, backward != 0); });
}

/** `answer` (rows, rank) = scaling * left (rows, columns) * right (columns, rank), or right transposed. */
HONE_EXPORT int hone_low_rank_down(const HoneLowRank* given) {
  return Told([&] { used.low_rank_down(*given); });
}

/** `answer` (rows, columns) += scaling * left (rows, rank) * right (rank, columns), or right transposed. */
HONE_EXPORT int hone_low_rank_up(const HoneLowRank* given) {
  return Told([&] { used.low_rank_up(*given); });
}

/** `answer` (rank, columns), or transposed, float32 without gaps = scaling * left' * right, of which left is
 * (rows, rank) and right (rows, columns) without gaps. */
HONE_EXPORT int hone_low_rank_gradient(const HoneLowRank* given) {
  return Told([&] { used.low_rank_gradient(*given); });
}

HONE_EXPORT int hone_softmax(const HoneSoftmax* given) {
  return Told([&] { used.softmax(*given); });
}

HONE_EXPORT void hone_gate(const HoneGate* given) { used.gate(*given); }

HONE_EXPORT void hone_norm(const HoneNorm* given) { used.norm(*given); }

HONE_EXPORT void hone_rotation(const HoneRotation* given) { used.rotation(*given); }
