/**
 * @file
 * Root mean square norms in one pass over each row, and their gradients in another.
 */
#include <cmath>

#include "kernels.h"
#include "lanes.h"

namespace HONE_ISA {

/** A root mean square norm of rows: x / sqrt(mean(x^2) + epsilon) * (weight + added), and backward. */
struct NormOperands {
  /** `rows` of `size` numbers, and the weights of a row. */
  const void *x, *weight;
  /** What each row is multiplied with. */
  float* factors;
  /** Forward: the norm. Backward: the gradient of `x`. */
  void* answer;
  /** Backward: the gradient of the norm; forward null. */
  const void* grad_output;
  int64_t rows, size;
  float added, epsilon;
  int32_t type;
  int32_t threads;
};

namespace {

/** Below so many numbers threads cost more than they gain. */
[[maybe_unused]] constexpr int64_t kFew = 1 << 14;

template <typename Number>
struct Row {
  const Number *x, *weight, *grad_output;
  Number* answer;
  size_t size;

  /** Calls `step(at, load, store)` for every vector of the row, the last of which may have fewer numbers. */
  template <typename Step>
  void Each(Step step) const {
    size_t at = 0;
    for (; at + kLanes <= size; at += kLanes) {
      step(
          at, [](const Number* from) { return Load(from); },
          [](Number* to, Lanes value) { Store(to, value); });
    }
    if (at < size) {
      const size_t rest = size - at;
      step(
          at, [rest](const Number* from) { return LoadSome(from, rest); },
          [rest](Number* to, Lanes value) { StoreSome(to, value, rest); });
    }
  }

  void Forward(float added, float epsilon, float* factor) const {
    Lanes squares{};
    Each([&](size_t at, auto load, auto) {
      const Lanes part = load(x + at);
      squares += part * part;
    });
    *factor = 1.0f / std::sqrt(Sum(squares) / static_cast<float>(size) + epsilon);
    Each([&](size_t at, auto load, auto store) {
      const Lanes part = load(x + at) * *factor;
      // Where the weight is not added to, the library rounds before it multiplies.
      store(answer + at,
            added == 0 ? Rounded<Number>(part) * load(weight + at) : part * (load(weight + at) + added));
    });
  }

  void Backward(float added, float factor) const {
    Lanes total{};
    Each([&](size_t at, auto load, auto) {
      total += load(grad_output + at) * (load(weight + at) + added) * load(x + at);
    });
    const float share = Sum(total) / static_cast<float>(size) * factor * factor;
    Each([&](size_t at, auto load, auto store) {
      store(answer + at,
            (load(grad_output + at) * (load(weight + at) + added) - load(x + at) * share) * factor);
    });
  }
};

template <typename Number>
void Rows(const NormOperands& given) {
#pragma omp parallel for num_threads(given.threads) if (given.threads > 1 && given.rows * given.size > kFew)
  for (int64_t row = 0; row < given.rows; ++row) {
    const int64_t at = row * given.size;
    const Row<Number> part{
        static_cast<const Number*>(given.x) + at, static_cast<const Number*>(given.weight),
        given.grad_output == nullptr ? nullptr : static_cast<const Number*>(given.grad_output) + at,
        static_cast<Number*>(given.answer) + at, static_cast<size_t>(given.size)};
    if (given.grad_output == nullptr) {
      part.Forward(given.added, given.epsilon, given.factors + row);
    } else {
      part.Backward(given.added, given.factors[row]);
    }
  }
}

}  // namespace

void Norm(const NormOperands& given) { given.type == kHoneFloat32 ? Rows<float>(given) : Rows<Half>(given); }

}  // namespace HONE_ISA

HONE_KERNEL(norm, HONE_ISA::NormOperands, Norm)
