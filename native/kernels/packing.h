/**
 * @file
 * Numbers of queries, keys and values as the elements that `Multiply` takes (see product.h).
 */
#pragma once

#include "kernels.h"
#include "product.h"

namespace HONE_ISA {

/** The queries of a row, which follow each other, and the keys that they attend to, in one or two parts.
 * Those of the first part are shared with the row before. */
struct RowBounds {
  int64_t first_query, queries;
  int64_t first_shared, shared;
  int64_t first_own, own;
};

/** The numbers of tokens in a row of memory. */
template <typename Number>
struct Tokens {
  const Number* from;
  size_t step;
  const Number* At(size_t token) const { return from + token * step; }
};

/** Which tokens of a tensor the keys of a row are. */
class Keys {
 public:
  explicit Keys(const RowBounds& row) : row_(row) {}
  size_t Count() const { return static_cast<size_t>(row_.shared + row_.own); }
  size_t Token(size_t key) const {
    const auto shared = static_cast<size_t>(row_.shared);
    return key < shared ? static_cast<size_t>(row_.first_shared) + key
                        : static_cast<size_t>(row_.first_own) + key - shared;
  }

 private:
  const RowBounds& row_;
};

/** How numbers in memory become elements. */
template <typename Kind, typename Number>
struct Pack {
  using Element = typename Kind::Element;
  static constexpr size_t kNumbers = Kind::kNumbers;

  /** The elements of `size` numbers. */
  static void Row(const Number* from, size_t size, Element* to) {
    if constexpr (kNumbers == 2 || sizeof(Number) == 4) {
      std::memcpy(to, from, size * sizeof(Number));
    } else {
      for (size_t at = 0; at < size; at += kLanes) Store(reinterpret_cast<float*>(to) + at, Load(from + at));
    }
  }

  /** Two rows, or one with 0 where `second` is null, with the rows' dimension in the elements. */
  static void Rows(const Number* first, const Number* second, size_t size, Element* to, size_t to_step) {
    if constexpr (kNumbers == 2) {
      for (size_t at = 0; at < size; at += kLanes) {
        // A number is the upper half of the float32 that it is loaded as.
        Words both = (Words)Load(first + at) >> 16;
        if (second != nullptr) both |= (Words)Load(second + at);
        std::memcpy(to + at, &both, sizeof both);
      }
    } else {
      Row(first, size, to);
      if (second != nullptr) Row(second, size, to + to_step);
    }
  }
};

/** Sets `to` (columns of elements, rows) to `from` (rows, columns of elements), and what is beyond to 0. */
template <typename Element>
void Transpose(const Element* from, size_t rows, size_t columns, size_t whole_rows, Element* to) {
  constexpr size_t kSide = 16;
  for (size_t column = 0; column < columns; column += kSide) {
    const size_t last = std::min(column + kSide, columns);
    for (size_t row = 0; row < rows; ++row) {
      for (size_t at = column; at < last; ++at) to[at * whole_rows + row] = from[row * columns + at];
    }
    for (size_t at = column; at < last; ++at) {
      std::fill(to + at * whole_rows + rows, to + (at + 1) * whole_rows, Element{});
    }
  }
}

/** `count` numbers as elements, with the dimension that they are in. */
template <typename Kind>
void Narrow(const float* from, size_t count, typename Kind::Element* to) {
  if constexpr (Kind::kNumbers == 2) {
    for (size_t at = 0; at < count; at += kLanes) {
      Store(reinterpret_cast<Half*>(to) + at, Load(from + at));
    }
  } else {
    std::memcpy(to, from, count * sizeof(float));
  }
}

/** `count` rows of `columns` numbers as elements with the rows' dimension. */
template <typename Kind>
void Downwards(const float* from, size_t step, size_t count, size_t columns, typename Kind::Element* to) {
  for (size_t row = 0; row < count; row += Kind::kNumbers) {
    auto* const elements = to + row / Kind::kNumbers * step;
    if constexpr (Kind::kNumbers == 2) {
      for (size_t at = 0; at < columns; at += kLanes) {
        const Lanes next = row + 1 < count ? Load(from + (row + 1) * step + at) : Lanes{};
        const Words low = Narrowed(Load(from + row * step + at));
        const Words both = low | Narrowed(next) << 16;
        std::memcpy(elements + at, &both, sizeof both);
      }
    } else {
      std::memcpy(elements, from + row * step, columns * sizeof(float));
    }
  }
}

}  // namespace HONE_ISA
