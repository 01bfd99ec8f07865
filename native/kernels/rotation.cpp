/**
 * @file
 * The rotation of queries and keys by their positions in one pass. Rounds where torch's separate operations
 * do.
 */
#include "kernels.h"
#include "lanes.h"

namespace HONE_ISA {

/** The rotation of queries or keys by their positions: in each head, the halves x and y become x cos - y sin
 * and y cos + x sin; backward, the opposite. */
struct RotationOperands {
  /** (tokens, heads, size): steps are in numbers, those of a head follow each other. */
  const void* x;
  int64_t step, head_step;
  /** (tokens, size), without gaps. */
  const void *cosines, *sines;
  /** (tokens, heads, size), without gaps. */
  void* answer;
  int64_t tokens;
  /** Half of `size` is a multiple of 16. */
  int32_t heads, size;
  int32_t backward;
  int32_t type;
  int32_t threads;
};

namespace {

/** Below so many numbers threads cost more than they gain. */
[[maybe_unused]] constexpr int64_t kFew = 1 << 14;

template <typename Number>
void Rotate(const RotationOperands& given) {
  const int64_t half = given.size / 2, heads = given.heads;
#pragma omp parallel for num_threads(given.threads) if (given.threads > 1 && \
                                                            given.tokens * heads * half > kFew)
  for (int64_t token = 0; token < given.tokens; ++token) {
    const auto* const cosines = static_cast<const Number*>(given.cosines) + token * given.size;
    const auto* const sines = static_cast<const Number*>(given.sines) + token * given.size;
    for (int64_t head = 0; head < heads; ++head) {
      const auto* const x = static_cast<const Number*>(given.x) + token * given.step + head * given.head_step;
      auto* const answer = static_cast<Number*>(given.answer) + (token * heads + head) * given.size;
      for (int64_t at = 0; at < half; at += kLanes) {
        const Lanes first = Load(x + at), second = Load(x + half + at);
        const Lanes sine = Load(sines + at), other_sine = Load(sines + half + at);
        const Lanes kept = Rounded<Number>(first * Load(cosines + at));
        const Lanes other_kept = Rounded<Number>(second * Load(cosines + half + at));
        if (given.backward == 0) {
          Store(answer + at, kept - Rounded<Number>(second * sine));
          Store(answer + half + at, other_kept + Rounded<Number>(first * other_sine));
        } else {
          Store(answer + at, kept + Rounded<Number>(second * other_sine));
          Store(answer + half + at, other_kept - Rounded<Number>(first * sine));
        }
      }
    }
  }
}

}  // namespace

void Rotation(const RotationOperands& given) {
  given.type == kHoneFloat32 ? Rotate<float>(given) : Rotate<Half>(given);
}

}  // namespace HONE_ISA

HONE_KERNEL(rotation, HONE_ISA::RotationOperands, Rotation)
