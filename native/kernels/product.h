/**
 * @file
 * Products of small matrices that stay in a processor's cache, in float32, or of pairs of bfloat16 with sums
 * in float32 where the processor has such an instruction (AVX-512 BF16).
 *
 * Both are products of *elements* of 32 bits: one float32, or two bfloat16 that follow each other in the
 * dimension that is summed over, of which there are then half as many.
 */
#pragma once

#include <algorithm>

#include "lanes.h"

namespace HONE_ISA {

/** Elements that are float32. */
struct Single {
  using Element = float;
  using Vector = Lanes;
  /** How many numbers of the dimension that is summed over are in an element. */
  static constexpr int kNumbers = 1;
  static Vector Every(Element element) { return All(element); }
  static Lanes Add(Lanes total, Vector left, Vector right) { return total + left * right; }
};

#if defined(__AVX512BF16__)
/** Elements that are two bfloat16, the first in the lower half. */
struct Pairs {
  using Element = uint32_t;
  using Vector = Words;
  static constexpr int kNumbers = 2;
  static Vector Every(Element element) { return (Vector)_mm512_set1_epi32(static_cast<int>(element)); }
  static Lanes Add(Lanes total, Vector left, Vector right) {
    return (Lanes)_mm512_dpbf16_ps((__m512)total, (__m512bh)left, (__m512bh)right);
  }
};
#endif

/** Rows of a tile, and vectors of each at most: with a row of the right matrix and an element of the left, as
 * many as there are registers. */
constexpr int kTileRows = 6;
constexpr int kTileVectors = kLanes == 8 ? 2 : 4;

/** `length`, rounded up to whole vectors. What is multiplied has so many columns, filled up with 0. */
inline size_t WholeVectors(size_t length) { return (length + kLanes - 1) / kLanes * kLanes; }

/** An operand on the left: the element at (row, at) is `from[row * row_step + at * step]`. */
template <typename Kind>
struct Left {
  const typename Kind::Element* from;
  size_t row_step;
  size_t step;
};

/** Lets the compiler read `value` from memory once, not for each row of a tile. */
template <typename Vector>
inline void KeepInRegister(Vector& value) {
#if defined(__x86_64__)
  asm("" : "+v"(value));
#else
  static_cast<void>(value);
#endif
}

/** Where a product goes: (rows, columns) of float32, which it is or is added to. */
struct Floats {
  float* to;
  size_t step;
  bool add;
  Lanes First(size_t row, size_t column) const { return add ? Load(to + row * step + column) : Lanes{}; }
  void Last(size_t row, size_t column, Lanes total) const { Store(to + row * step + column, total); }
};

/** The same of bfloat16, which `scaling` times it is or is added to. */
struct Scaled {
  Half* to;
  size_t step;
  float scaling;
  bool add;
  Lanes First(size_t, size_t) const { return Lanes{}; }
  void Last(size_t row, size_t column, Lanes total) const {
    Half* const place = to + row * step + column;
    Store(place, add ? Load(place) + total * scaling : total * scaling);
  }
};

template <typename Kind, typename Answer>
struct Tiles {
  Left<Kind> left;
  const typename Kind::Element* right;
  size_t right_step, depth;
  Answer answer;

  template <int kRows, int kVectors>
  void Compute(size_t row, size_t column) const {
    Lanes total[kRows][kVectors];
#pragma GCC unroll 6
    for (int y = 0; y < kRows; ++y) {
#pragma GCC unroll 4
      for (int x = 0; x < kVectors; ++x) {
        total[y][x] = answer.First(row + static_cast<size_t>(y), column + static_cast<size_t>(x * kLanes));
      }
    }
    const auto* const elements = left.from + row * left.row_step;
    for (size_t k = 0; k < depth; ++k) {
      typename Kind::Vector columns[kVectors];
#pragma GCC unroll 4
      for (int x = 0; x < kVectors; ++x) {
        std::memcpy(&columns[x], right + k * right_step + column + x * kLanes, sizeof columns[x]);
        KeepInRegister(columns[x]);
      }
#pragma GCC unroll 6
      for (int y = 0; y < kRows; ++y) {
        const auto element = Kind::Every(elements[static_cast<size_t>(y) * left.row_step + k * left.step]);
#pragma GCC unroll 4
        for (int x = 0; x < kVectors; ++x) total[y][x] = Kind::Add(total[y][x], element, columns[x]);
      }
    }
#pragma GCC unroll 6
    for (int y = 0; y < kRows; ++y) {
#pragma GCC unroll 4
      for (int x = 0; x < kVectors; ++x) {
        answer.Last(row + static_cast<size_t>(y), column + static_cast<size_t>(x * kLanes), total[y][x]);
      }
    }
  }

  /** All tiles of `kVectors` vectors at this column. */
  template <int kVectors>
  void Column(size_t rows, size_t column) const {
    size_t row = 0;
    for (; row + kTileRows <= rows; row += kTileRows) Compute<kTileRows, kVectors>(row, column);
    switch (rows - row) {
      case 1:
        return Compute<1, kVectors>(row, column);
      case 2:
        return Compute<2, kVectors>(row, column);
      case 3:
        return Compute<3, kVectors>(row, column);
      case 4:
        return Compute<4, kVectors>(row, column);
      case 5:
        return Compute<5, kVectors>(row, column);
      default:
        return;
    }
  }
};

/**
 * `answer` (rows, columns) gets `left` (rows, depth) times `right` (depth, columns).
 * @param depth in elements.
 * @param columns whole vectors.
 */
template <typename Kind, typename Answer>
void Multiply(Left<Kind> left, const typename Kind::Element* right, size_t right_step, size_t rows,
              size_t depth, size_t columns, Answer answer) {
  const Tiles<Kind, Answer> tiles{left, right, right_step, depth, answer};
  constexpr size_t kWide = kTileVectors * kLanes;
  size_t column = 0;
  for (; column + kWide <= columns; column += kWide) tiles.template Column<kTileVectors>(rows, column);
  switch ((columns - column) / kLanes) {
    case 1:
      return tiles.template Column<1>(rows, column);
    case 2:
      return tiles.template Column < kTileVectors<3 ? 1 : 2>(rows, column);
    case 3:
      return tiles.template Column < kTileVectors<3 ? 1 : 3>(rows, column);
    default:
      return;
  }
}

}  // namespace HONE_ISA
