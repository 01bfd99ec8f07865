/**
 * @file
 * The kernels that a training on a processor calls instead of several of torch's operations, each of which
 * would be a pass over memory: `trainer/kernels/native.py` loads them, and checks the sizes, types and labels
 * of every call, which are trusted here. Numbers are float32, or bfloat16, which is computed with in float32.
 * Nothing is allocated that outlives a call, and nothing is thrown.
 */
#pragma once

#include <cstdint>

/** What the elements of tensors are. */
enum HoneType : int32_t { kHoneFloat32 = 0, kHoneBfloat16 = 1 };

/** The queries of a row, which follow each other, and the keys that they attend to, in one or two parts.
 * Those of the first part are shared with the row before. */
struct HoneRow {
  int64_t first_query, queries;
  int64_t first_shared, shared;
  int64_t first_own, own;
};

/** The operands of attention. Numbers of a head follow each other; steps are in numbers. */
struct HoneAttention {
  const void *query, *key, *value;
  int64_t query_step, query_head_step;
  int64_t key_step, key_head_step;
  int64_t value_step, value_head_step;
  /** (tokens, heads, size), without gaps. */
  void* answer;
  /** (tokens, heads): the logarithm of each query's sum of exponentials. */
  float* sums;
  const HoneRow* rows;
  int64_t row_count;
  /** `size`, the numbers of a head, is a multiple of 16. */
  int32_t heads, groups, size;
  /** Whether the queries of a row are its last tokens, each of which sees no later keys. */
  int32_t causal;
  /** Above 0. */
  float scaling;
  int32_t type;
  int32_t threads;
  /** Backward: the gradient of the answer, (tokens, heads, size) without gaps, and those of the queries,
   * likewise, and in float32 those of keys and values, (tokens, groups, size), which are added to. */
  const void* grad_output;
  void* query_gradient;
  float *key_gradient, *value_gradient;
};

/** The feed-forward layer's gate: SiLU(gate) * up, and backward. */
struct HoneGate {
  const void *gate, *up;
  /** Forward: SiLU(gate) * up. Backward: the gradient of that, which becomes the gradient of `up`. */
  void* product;
  /** Backward: the gradient of `gate`; forward null. */
  void* gate_gradient;
  int64_t count;
  int32_t type;
  int32_t threads;
};

/** A root mean square norm of rows: x / sqrt(mean(x^2) + epsilon) * (weight + added), and backward. */
struct HoneNorm {
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

/** The softmax of rows of logits, what it says of a label in each, and the gradient of its logarithm. */
struct HoneSoftmax {
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

/** The rotation of queries or keys by their positions: in each head, the halves x and y become x cos - y sin
 * and y cos + x sin; backward, the opposite. */
struct HoneRotation {
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

/** A product with the small matrix of a LoRA layer, in bfloat16 with sums in float32. `rank` and `columns`
 * are multiples of 16, and all steps are even. */
struct HoneLowRank {
  /** Each function tells the shapes. `left` and, except for gradients, `answer` have steps between rows. */
  const void* left;
  int64_t left_step;
  const void* right;
  void* answer;
  int64_t answer_step;
  int64_t rows, rank, columns;
  float scaling;
  /** Whether `right`, or in `hone_low_rank_gradient` the answer, is transposed. */
  int32_t transposed;
  int32_t threads;
};
