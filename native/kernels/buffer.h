/**
 * @file
 * Memory that kernels compute in.
 */
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace HONE_ISA {

/** Memory that is used again for the next row, aligned to whole vectors. */
template <typename Number>
class Buffer {
 public:
  /** At least `count` numbers, which may be any; those of before where there were as many. */
  Number* Of(size_t count) {
    if (count > count_) {
      numbers_.reset(static_cast<Number*>(::operator new(count * sizeof(Number), kAlignment)));
      count_ = count;
    }
    return numbers_.get();
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(Number* numbers) const { ::operator delete(numbers, kAlignment); }
  };
  std::unique_ptr<Number, Free> numbers_;
  size_t count_ = 0;
};

}  // namespace HONE_ISA
