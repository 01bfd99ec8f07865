/**
 * @file
 * A linear layer with its LoRA for a few rows, such as the next tokens of answers. Every weight is read once,
 * in its own order: nothing is packed, which for few rows takes longer than the product.
 */
#include "chunks.h"
#include "kernels.h"
#include "product.h"

namespace HONE_ISA {

/** `answer` (rows, size) = x (rows, columns) * weight' + bias + x * down' * up', in bfloat16 with sums in
 * float32. `columns` is a multiple of 32 and `rank` of 16. */
struct FewRowsOperands {
  const void* x;
  /** (size, columns) and (size), which may be null. */
  const void* weight;
  const void* bias;
  /** (rank, columns), and (size, rank) in float32. */
  const void* down;
  const float* up;
  void* answer;
  int64_t rows, columns, size, rank;
  int32_t threads;
};

#if defined(__AVX512BF16__)
namespace {

/** Rows and columns of a tile: with a vector of the weight for each column and one of `x`, as many as there
 * are registers. */
constexpr size_t kRows = 8, kColumns = 3;
/** Columns of the answer that are computed at once: their weights stay in the cache for the next rows. */
constexpr size_t kStrip = 48;
constexpr size_t kPairs = 2 * kLanes;
/** Rows of the weight that are fetched meanwhile. */
constexpr size_t kAhead = 6;

inline __m512bh LoadPairs(const Half* from) { return (__m512bh)_mm512_loadu_si512(from); }

/** The sums of eight vectors. */
inline __m256 Sums(const Lanes* of) {
  __m256 halves[8];
  for (int at = 0; at < 8; ++at) {
    const auto whole = (__m512)of[at];
    // GCC 12 warns of the header of the plain intrinsics.
    halves[at] = _mm256_add_ps(_mm512_maskz_extractf32x8_ps(0xff, whole, 0),
                               _mm512_maskz_extractf32x8_ps(0xff, whole, 1));
  }
  const auto four = [&](int first) {
    return _mm256_hadd_ps(_mm256_hadd_ps(halves[first], halves[first + 1]),
                          _mm256_hadd_ps(halves[first + 2], halves[first + 3]));
  };
  const __m256 low = four(0), high = four(4);
  return _mm256_add_ps(_mm256_permute2f128_ps(low, high, 0x20), _mm256_permute2f128_ps(low, high, 0x31));
}

/** Rows of bfloat16 that are multiplied, and low-rank ones with what they are multiplied with. */
struct Rows {
  const Half* x;
  size_t columns;
  const float* low;
  size_t rank;
};

/** `Count` rows times `Width` columns of the `weight` and of `up`; the sums of a row are `kStrip` apart. */
template <size_t Count, size_t Width>
void Tile(const Rows& rows, const Half* weight, const float* up, float* sums) {
  Lanes totals[Width][kRows] = {};
  for (size_t at = 0; at < rows.columns; at += kPairs) {
    __m512bh right[Width];
    for (size_t column = 0; column < Width; ++column) {
      const Half* const from = weight + column * rows.columns + at;
      right[column] = LoadPairs(from);
      // Otherwise memory is waited for at every row of the weight.
      _mm_prefetch(from + kAhead * rows.columns, _MM_HINT_T0);
    }
    for (size_t row = 0; row < Count; ++row) {
      const __m512bh left = LoadPairs(rows.x + row * rows.columns + at);
      for (size_t column = 0; column < Width; ++column) {
        Lanes& total = totals[column][row];
        total = (Lanes)_mm512_dpbf16_ps((__m512)total, left, right[column]);
      }
    }
  }
  for (size_t at = 0; at < rows.rank; at += kLanes) {
    for (size_t column = 0; column < Width; ++column) {
      const Lanes right = Load(up + column * rows.rank + at);
      for (size_t row = 0; row < Count; ++row)
        totals[column][row] += Load(rows.low + row * rows.rank + at) * right;
    }
  }
  for (size_t column = 0; column < Width; ++column) {
    float found[kRows];
    _mm256_storeu_ps(found, Sums(totals[column]));
    for (size_t row = 0; row < Count; ++row) sums[row * kStrip + column] = found[row];
  }
}

/** The same for any number of columns. */
template <size_t Count>
void Columns(const Rows& rows, const Half* weight, const float* up, size_t width, float* sums) {
  size_t at = 0;
  for (; at + kColumns <= width; at += kColumns)
    Tile<Count, kColumns>(rows, weight + at * rows.columns, up + at * rows.rank, sums + at);
  for (; at < width; ++at) Tile<Count, 1>(rows, weight + at * rows.columns, up + at * rows.rank, sums + at);
}

/** The same for up to `kRows` rows. */
void Some(size_t count, const Rows& rows, const Half* weight, const float* up, size_t width, float* sums) {
  using Compute = void (*)(const Rows&, const Half*, const float*, size_t, float*);
  static constexpr Compute kCompute[kRows] = {Columns<1>, Columns<2>, Columns<3>, Columns<4>,
                                              Columns<5>, Columns<6>, Columns<7>, Columns<8>};
  kCompute[count - 1](rows, weight, up, width, sums);
}

}  // namespace

void FewRows(const FewRowsOperands& given) {
  const auto rows = static_cast<size_t>(given.rows), columns = static_cast<size_t>(given.columns);
  const auto size = static_cast<size_t>(given.size), rank = static_cast<size_t>(given.rank);
  const auto* const x = static_cast<const Half*>(given.x);
  const auto* const down = static_cast<const Half*>(given.down);
  Buffer<float> buffer;
  float* const low = buffer.Of(rows * rank);
  for (size_t row = 0; row < rows; row += kRows) {
    const size_t count = std::min(kRows, rows - row);
    for (size_t at = 0; at < rank; at += kLanes) {
      float sums[kRows * kStrip];
      Some(count, {x + row * columns, columns, nullptr, 0}, down + at * columns, nullptr, kLanes, sums);
      for (size_t each = 0; each < count; ++each)
        Store(low + (row + each) * rank + at, Load(sums + each * kStrip));
    }
  }
  const auto* const weight = static_cast<const Half*>(given.weight);
  const auto* const bias = static_cast<const Half*>(given.bias);
  auto* const answer = static_cast<Half*>(given.answer);
  ForChunks(given.size, kStrip, given.threads, [&](auto& work, size_t first, size_t width) {
    float* const sums = work.Of(kRows * kStrip);
    for (size_t row = 0; row < rows; row += kRows) {
      const size_t count = std::min(kRows, rows - row);
      Some(count, {x + row * columns, columns, low + row * rank, rank}, weight + first * columns,
           given.up + first * rank, width, sums);
      for (size_t each = 0; each < count; ++each) {
        Half* const to = answer + (row + each) * size + first;
        for (size_t at = 0; at < width; at += kLanes) {
          const size_t some = std::min<size_t>(kLanes, width - at);
          Lanes found = Load(sums + each * kStrip + at);
          if (bias != nullptr) found += LoadSome(bias + first + at, some);
          if (some == kLanes) {
            Store(to + at, found);
          } else {
            StoreSome(to + at, found, some);
          }
        }
      }
    }
  });
}

#else

// Not called: the trainer asks whether there are pairs.
void FewRows(const FewRowsOperands&) {}

#endif

}  // namespace HONE_ISA

HONE_KERNEL(few_rows, HONE_ISA::FewRowsOperands, FewRows)
