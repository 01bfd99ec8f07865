/**
 * @file
 * The softmax of rows of logits with its gradient in their place, while a row is in the cache.
 */
#include <cmath>
#include <limits>

#include "chunks.h"
#include "kernels.h"
#include "lanes.h"

namespace HONE_ISA {

/** The softmax of rows of logits, what it says of a label in each, and the gradient of its logarithm. */
struct SoftmaxOperands {
  /** (rows, vocab_size), without gaps: becomes `sign` * (softmax - 1 at the label), where `sign` is not 0. */
  void* logits;
  const int64_t* labels;
  /** For each row: the label's logit; the logarithm of the sum of exponentials; the mean of the logits; their
   * mean by the softmax; and whether the label's is the first of the largest, 1 or 0. */
  float *chosen, *sum, *mean, *expected, *likeliest;
  int64_t rows, vocab_size;
  float sign;
  int32_t type;
  int32_t threads;
};

namespace {

/** `logits`, as float32 with what has the smallest share up to whole vectors, in `wide`. */
template <typename Number>
void Widen(const Number* logits, size_t vocab_size, float* wide) {
  size_t at = 0;
  for (; at + kLanes <= vocab_size; at += kLanes) Store(wide + at, Load(logits + at));
  if (at == vocab_size) return;
  Store(wide + at, All(-std::numeric_limits<float>::infinity()));
  StoreSome(wide + at, LoadSome(logits + at, vocab_size - at), vocab_size - at);
}

template <typename Number>
void Row(const SoftmaxOperands& given, size_t row, float* wide) {
  const auto vocab_size = static_cast<size_t>(given.vocab_size);
  const auto label = static_cast<size_t>(given.labels[row]);
  auto* const logits = static_cast<Number*>(given.logits) + row * vocab_size;
  Widen(logits, vocab_size, wide);
  Lanes most = All(-std::numeric_limits<float>::infinity());
  for (size_t at = 0; at < vocab_size; at += kLanes) most = Larger(Load(wide + at), most);
  const float largest = Largest(most);
  const float chosen = wide[label];
  bool likeliest = chosen == largest;
  for (size_t at = 0; likeliest && at < label; ++at) likeliest = wide[at] < largest;
  Lanes total{}, all{}, weighted{};
  const size_t whole = vocab_size / kLanes * kLanes;
  for (size_t at = 0; at < whole; at += kLanes) {
    const Lanes logit = Load(wide + at), share = Exp(logit - largest);
    total += share;
    all += logit;
    weighted += share * logit;
    Store(wide + at, share);
  }
  float sum = Sum(total), mean = Sum(all), expected = Sum(weighted);
  if (whole < vocab_size) {
    const Lanes logit = Load(wide + whole), share = Exp(logit - largest);
    for (size_t lane = 0; lane < vocab_size - whole; ++lane) {
      sum += share[lane];
      mean += logit[lane];
      expected += share[lane] * logit[lane];
    }
    Store(wide + whole, share);
  }
  given.chosen[row] = chosen;
  given.sum[row] = largest + std::log(sum);
  given.mean[row] = mean / static_cast<float>(vocab_size);
  given.expected[row] = expected / sum;
  given.likeliest[row] = likeliest ? 1.0f : 0.0f;
  if (given.sign == 0) return;
  const float factor = given.sign / sum;
  const float of_label = wide[label] * factor - given.sign;
  for (size_t at = 0; at < whole; at += kLanes) Store(logits + at, Load(wide + at) * factor);
  if (whole < vocab_size) StoreSome(logits + whole, Load(wide + whole) * factor, vocab_size - whole);
  StoreSome(logits + label, All(of_label), 1);
}

/** Rows that a thread takes at once. */
constexpr size_t kRows = 8;

template <typename Number>
void Rows(const SoftmaxOperands& given) {
  ForChunks(given.rows, kRows, given.threads, [&](auto& work, size_t first, size_t count) {
    float* const wide = work.Of(static_cast<size_t>(given.vocab_size) + kLanes);
    for (size_t row = first; row < first + count; ++row) Row<Number>(given, row, wide);
  });
}

}  // namespace

void Softmax(const SoftmaxOperands& given) {
  given.type == kHoneFloat32 ? Rows<float>(given) : Rows<Half>(given);
}

}  // namespace HONE_ISA

HONE_KERNEL(softmax, HONE_ISA::SoftmaxOperands, Softmax)
