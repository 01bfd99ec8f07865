/**
 * @file
 * SiLU(gate) * up in one pass, and its gradients in another. Rounds where torch's separate operations do.
 */
#include "kernels.h"
#include "lanes.h"

namespace HONE_ISA {

/** The feed-forward layer's gate: SiLU(gate) * up, and backward. */
struct GateOperands {
  const void *gate, *up;
  /** Forward: SiLU(gate) * up. Backward: the gradient of that, which becomes the gradient of `up`. */
  void* product;
  /** Backward: the gradient of `gate`; forward null. */
  void* gate_gradient;
  int64_t count;
  int32_t type;
  int32_t threads;
};

namespace {

/** Numbers that a thread takes at once. */
constexpr int64_t kChunk = 1 << 14;

struct Whole {
  template <typename Number>
  Lanes From(const Number* from) const {
    return Load(from);
  }
  template <typename Number>
  void To(Number* to, Lanes value) const {
    Store(to, value);
  }
};

struct Some {
  size_t count;
  template <typename Number>
  Lanes From(const Number* from) const {
    return LoadSome(from, count);
  }
  template <typename Number>
  void To(Number* to, Lanes value) const {
    StoreSome(to, value, count);
  }
};

template <typename Number>
struct Numbers {
  const Number *gate, *up;
  Number *product, *gate_gradient;

  template <typename Vector>
  void Forward(int64_t at, Vector vector) const {
    const Lanes x = vector.From(gate + at);
    vector.To(product + at, Rounded<Number>(x / (1.0f + Exp(-x))) * vector.From(up + at));
  }

  template <typename Vector>
  void Backward(int64_t at, Vector vector) const {
    const Lanes x = vector.From(gate + at), grad_output = vector.From(product + at);
    const Lanes share = 1.0f / (1.0f + Exp(-x));
    const Lanes of_active = Rounded<Number>(grad_output * vector.From(up + at));
    vector.To(gate_gradient + at, of_active * share * (1.0f + x * (1.0f - share)));
    vector.To(product + at, Rounded<Number>(x * share) * grad_output);
  }
};

/** Calls `step(at, how numbers are loaded and stored)` for all numbers from `start` to `end`. */
template <typename Step>
void Each(int64_t start, int64_t end, Step step) {
  int64_t at = start;
  for (; at + kLanes <= end; at += kLanes) step(at, Whole{});
  if (at < end) step(at, Some{static_cast<size_t>(end - at)});
}

template <typename Number>
void Gated(const GateOperands& given) {
  const Numbers<Number> numbers{static_cast<const Number*>(given.gate), static_cast<const Number*>(given.up),
                                static_cast<Number*>(given.product),
                                static_cast<Number*>(given.gate_gradient)};
  const bool backward = given.gate_gradient != nullptr;
  const int64_t count = given.count;
#pragma omp parallel for num_threads(given.threads) if (given.threads > 1 && count > kChunk)
  for (int64_t start = 0; start < count; start += kChunk) {
    const int64_t end = start + kChunk < count ? start + kChunk : count;
    const Numbers<Number> part = numbers;
    if (backward) {
      Each(start, end, [part](int64_t at, auto vector) { part.Backward(at, vector); });
    } else {
      Each(start, end, [part](int64_t at, auto vector) { part.Forward(at, vector); });
    }
  }
}

}  // namespace

void Gate(const GateOperands& given) {
  given.type == kHoneFloat32 ? Gated<float>(given) : Gated<Half>(given);
}

}  // namespace HONE_ISA

HONE_KERNEL(gate, HONE_ISA::GateOperands, Gate)
