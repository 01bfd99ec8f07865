/**
 * @file
 * Products with the small matrices of LoRA. The rows of a batch without padding are another number in every
 * step, for which oneDNN would compile each of these products anew.
 */
#include "chunks.h"
#include "kernels.h"
#include "packing.h"

namespace HONE_ISA {

/** A product with the small matrix of a LoRA layer, in bfloat16 with sums in float32. `rank` and `columns`
 * are multiples of 16, and all steps are even. */
struct LowRankOperands {
  /** Each function tells the shapes. `left` and, except for gradients, `answer` have steps between rows. */
  const void* left;
  int64_t left_step;
  const void* right;
  void* answer;
  int64_t answer_step;
  int64_t rows, rank, columns;
  float scaling;
  /** Whether `right`, or in `LowRankGradient` the answer, is transposed. */
  int32_t transposed;
  int32_t threads;
};

#if defined(__AVX512BF16__)
namespace {

using Packed = Pack<Pairs, Half>;

/** Rows that are multiplied at once: whole tiles, and an even number. */
constexpr size_t kRows = 8 * kTileRows;
/** Columns of sums that stay in the cache. */
constexpr size_t kStrip = 256;
/** Rows of the dimension that is summed over whose columns are packed at once. */
constexpr size_t kChunk = 64;

/** A tensor with a number of rows. */
struct Matrix {
  const Half* from;
  size_t step;
  const Half* Row(size_t row) const { return from + row * step; }
  /** The same as elements; `step` is even. */
  Left<Pairs> Elements(size_t row) const {
    return {reinterpret_cast<const uint32_t*>(Row(row)), step / 2, 1};
  }
};

size_t Size(int64_t count) { return static_cast<size_t>(count); }

/** Two rows of `columns` numbers each of the dimension that is summed over: (elements of `rows`, columns). */
void PackRows(Matrix matrix, size_t rows, size_t columns, uint32_t* to) {
  for (size_t row = 0; row < rows; row += 2) {
    Packed::Rows(matrix.Row(row), row + 1 < rows ? matrix.Row(row + 1) : nullptr, columns,
                 to + row / 2 * columns, columns);
  }
}

/** `matrix` (depth, columns), or transposed (columns, depth), without gaps, as (elements of depth, columns).
 */
const uint32_t* PackRight(const void* matrix, size_t depth, size_t columns, bool transposed,
                          Buffer<uint32_t>& buffer) {
  uint32_t* const to = buffer.Of(depth / 2 * columns);
  if (transposed) {
    Transpose(static_cast<const uint32_t*>(matrix), columns, depth / 2, columns, to);
  } else {
    PackRows({static_cast<const Half*>(matrix), columns}, depth, columns, to);
  }
  return to;
}

/** The product of `left` (rows, depth) and `right` (depth, columns), or what it is added to. */
void Product(const LowRankOperands& given, size_t depth, size_t columns, bool add) {
  Buffer<uint32_t> buffer;
  const uint32_t* const right = PackRight(given.right, depth, columns, given.transposed != 0, buffer);
  const Matrix left{static_cast<const Half*>(given.left), Size(given.left_step)};
  const size_t step = Size(given.answer_step);
  ForChunks(given.rows, kRows, given.threads, [&](auto&, size_t first, size_t count) {
    const Scaled answer{static_cast<Half*>(given.answer) + first * step, step, given.scaling, add};
    Multiply<Pairs>(left.Elements(first), right, columns, count, depth / 2, columns, answer);
  });
}

}  // namespace

/** `answer` (rows, rank) = scaling * left (rows, columns) * right (columns, rank), or right transposed. */
void LowRankDown(const LowRankOperands& given) {
  Product(given, Size(given.columns), Size(given.rank), false);
}

/** `answer` (rows, columns) += scaling * left (rows, rank) * right (rank, columns), or right transposed. */
void LowRankUp(const LowRankOperands& given) { Product(given, Size(given.rank), Size(given.columns), true); }

/** `answer` (rank, columns), or transposed, float32 without gaps = scaling * left' * right, of which left is
 * (rows, rank) and right (rows, columns) without gaps. */
void LowRankGradient(const LowRankOperands& given) {
  const size_t columns = Size(given.columns), rank = Size(given.rank), rows = Size(given.rows);
  Buffer<uint32_t> buffer;
  uint32_t* const left = buffer.Of((rows + 1) / 2 * rank);
  PackRows({static_cast<const Half*>(given.left), Size(given.left_step)}, rows, rank, left);
  auto* const answer = static_cast<float*>(given.answer);
  ForChunks(given.columns, kStrip, given.threads, [&](auto& work, size_t first, size_t count) {
    float* const sums = work.Of(rank * kStrip + kChunk / 2 * kStrip);
    auto* const right = reinterpret_cast<uint32_t*>(sums + rank * kStrip);
    if (rows == 0) std::fill(sums, sums + rank * kStrip, 0.0f);
    for (size_t row = 0; row < rows; row += kChunk) {
      const size_t some = std::min(kChunk, rows - row);
      PackRows({static_cast<const Half*>(given.right) + row * columns + first, columns}, some, count, right);
      Multiply<Pairs>({left + row / 2 * rank, 1, rank}, right, count, rank, (some + 1) / 2, count,
                      Floats{sums, kStrip, row > 0});
    }
    for (size_t at = 0; at < rank; ++at) {
      for (size_t column = 0; column < count; ++column) {
        const size_t to =
            given.transposed == 0 ? at * columns + first + column : (first + column) * rank + at;
        answer[to] = sums[at * kStrip + column] * given.scaling;
      }
    }
  });
}

#else

// Not called: the trainer asks whether there are pairs.
void LowRankDown(const LowRankOperands&) {}
void LowRankUp(const LowRankOperands&) {}
void LowRankGradient(const LowRankOperands&) {}

#endif

}  // namespace HONE_ISA

HONE_KERNEL(low_rank_down, HONE_ISA::LowRankOperands, LowRankDown)
HONE_KERNEL(low_rank_up, HONE_ISA::LowRankOperands, LowRankUp)
HONE_KERNEL(low_rank_gradient, HONE_ISA::LowRankOperands, LowRankGradient)
