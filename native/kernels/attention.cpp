/**
 * @file
 * Attention row by row, forward and backward, without keeping what each query attends to: the backward pass
 * computes it again, as in FlashAttention (Dao et al., 2022). A block of queries is multiplied with all keys
 * that it sees at once, since both fit into the cache.
 */
#include <atomic>
#include <cmath>
#include <limits>
#include <new>
#include <type_traits>
#include <vector>

#include "buffer.h"
#include "kernels.h"
#include "packing.h"
#include "product.h"

namespace HONE_ISA {

/** The operands of attention. Numbers of a head follow each other; steps are in numbers. */
struct AttentionOperands {
  const void *query, *key, *value;
  int64_t query_step, query_head_step;
  int64_t key_step, key_head_step;
  int64_t value_step, value_head_step;
  /** (tokens, heads, size), without gaps. */
  void* answer;
  /** (tokens, heads): the logarithm of each query's sum of exponentials. */
  float* sums;
  const RowBounds* rows;
  int64_t row_count;
  /** `size`, the numbers of a head, is a multiple of 16. */
  int32_t heads, groups, size;
  /** Whether the queries of a row are its last tokens, each of which sees no later keys. */
  int32_t causal;
  /** Above 0. */
  float scaling;
  int32_t type;
  int32_t threads;
  int32_t backward;
  /** Backward: the gradient of the answer, (tokens, heads, size) without gaps, and those of the queries,
   * likewise, and in float32 those of keys and values, (tokens, groups, size), which are added to. */
  const void* grad_output;
  void* query_gradient;
  float *key_gradient, *value_gradient;
};

namespace {

/** Queries of a block: whole tiles, and an even number. */
constexpr size_t kBlock = 4 * kTileRows;

/** What a thread computes in. */
template <typename Kind>
struct Workspace {
  Buffer<typename Kind::Element> queries, rows, across, keys_across, values_across, keys, values, narrow,
      downwards;
  Buffer<float> probabilities, slopes, found, of_keys, of_values;
};

/** Attention of the heads of one group. */
template <typename Kind, typename Number>
class Group {
  using Element = typename Kind::Element;
  using Packed = Pack<Kind, Number>;
  static constexpr size_t kNumbers = Kind::kNumbers;

 public:
  Group(const AttentionOperands& given, size_t group, Workspace<Kind>& work)
      : given_(given),
        work_(work),
        size_(static_cast<size_t>(given.size)),
        heads_(static_cast<size_t>(given.heads)),
        per_group_(static_cast<size_t>(given.heads / given.groups)),
        group_(group),
        wide_(WholeVectors(size_)) {}

  void Forward(const RowBounds& row) {
    const Keys keys(row);
    const size_t whole = WholeVectors(keys.Count());
    PackAcross(KeysOf(), keys, whole, work_.keys_across);
    Element* const values = PackRows(Values(), keys, work_.values);
    float* const probabilities = work_.probabilities.Of(kBlock * whole);
    Element* const narrow = work_.narrow.Of(kBlock * whole);
    float* const found = work_.found.Of(kBlock * wide_);
    ForBlocks(row, [&](size_t head, size_t first, size_t count, size_t seen) {
      const Element* const asked = PackQueries(given_.query, QueryStep(), head, row, first, count);
      const size_t columns = WholeVectors(seen);
      Multiply<Kind>({asked, HeadElements(), 1}, work_.keys_across.Of(0), whole, count, HeadElements(),
                     columns, Floats{probabilities, whole, false});
      for (size_t at = 0; at < count; ++at) {
        const size_t visible = Visible(row, first + at, seen);
        float* const scores = probabilities + at * whole;
        float largest, sum;
        Soften(scores, visible, columns, &largest, &sum);
        sums_of_[at] = sum;
        SumsOf(row, first + at)[head] = given_.scaling * largest + std::log(sum);
        Narrow<Kind>(scores, columns, narrow + at * (whole / kNumbers));
      }
      const size_t depth = (seen + kNumbers - 1) / kNumbers;
      Multiply<Kind>({narrow, whole / kNumbers, 1}, values, wide_, count, depth, wide_,
                     Floats{found, wide_, false});
      for (size_t at = 0; at < count; ++at) {
        Put(found + at * wide_, 1 / sums_of_[at], AnswerOf(given_.answer, row, first + at, head));
      }
    });
  }

  void Backward(const RowBounds& row) {
    const Keys keys(row);
    const size_t whole = WholeVectors(keys.Count());
    PackAcross(KeysOf(), keys, whole, work_.keys_across);
    PackAcross(Values(), keys, whole, work_.values_across);
    Element* const key_rows = PackRows(KeysOf(), keys, work_.keys);
    float* const probabilities = work_.probabilities.Of(kBlock * whole);
    float* const slopes = work_.slopes.Of(kBlock * whole);
    // The probabilities, and then the slopes, of a block with the dimension of queries in the elements.
    Element* const downwards = work_.downwards.Of(kBlock * whole);
    Element* const narrow = work_.narrow.Of(kBlock * whole);
    float* const found = work_.found.Of(kBlock * wide_);
    float* const of_keys = work_.of_keys.Of(size_ * whole);
    float* const of_values = work_.of_values.Of(size_ * whole);
    std::fill(of_keys, of_keys + size_ * whole, 0.0f);
    std::fill(of_values, of_values + size_ * whole, 0.0f);
    Element* const across = work_.across.Of(size_ * kBlock);
    const Steps grad_output_step{heads_ * size_, size_};
    ForBlocks(row, [&](size_t head, size_t first, size_t count, size_t seen) {
      const size_t columns = WholeVectors(seen);
      const size_t pairs = (count + kNumbers - 1) / kNumbers;
      const Element* asked = PackQueries(given_.query, QueryStep(), head, row, first, count);
      Multiply<Kind>({asked, HeadElements(), 1}, work_.keys_across.Of(0), whole, count, HeadElements(),
                     columns, Floats{probabilities, whole, false});
      for (size_t at = 0; at < count; ++at) {
        Soften(probabilities + at * whole, SumsOf(row, first + at)[head], Visible(row, first + at, seen),
               columns);
      }
      // Of values: the probabilities of all queries times what their answers' gradients are.
      Downwards<Kind>(probabilities, whole, count, columns, downwards);
      QueriesAcross(given_.grad_output, grad_output_step, head, row, first, count, across);
      Multiply<Kind>({across, kBlock / kNumbers, 1}, downwards, whole, size_, pairs, columns,
                     Floats{of_values, whole, true});
      const Element* const grad_output =
          PackQueries(given_.grad_output, grad_output_step, head, row, first, count);
      Multiply<Kind>({grad_output, HeadElements(), 1}, work_.values_across.Of(0), whole, count,
                     HeadElements(), columns, Floats{slopes, whole, false});
      for (size_t at = 0; at < count; ++at) {
        const float mean = Dot(AnswerOf(given_.answer, row, first + at, head),
                               AnswerOf(given_.grad_output, row, first + at, head));
        float* const slope = slopes + at * whole;
        const float* const share = probabilities + at * whole;
        for (size_t key = 0; key < columns; key += kLanes) {
          Store(slope + key, Load(share + key) * (Load(slope + key) - mean));
        }
        Narrow<Kind>(slope, columns, narrow + at * (whole / kNumbers));
      }
      const size_t depth = (seen + kNumbers - 1) / kNumbers;
      Multiply<Kind>({narrow, whole / kNumbers, 1}, key_rows, wide_, count, depth, wide_,
                     Floats{found, wide_, false});
      for (size_t at = 0; at < count; ++at) {
        Put(found + at * wide_, given_.scaling, AnswerOf(given_.query_gradient, row, first + at, head));
      }
      Downwards<Kind>(slopes, whole, count, columns, downwards);
      QueriesAcross(given_.query, QueryStep(), head, row, first, count, across);
      Multiply<Kind>({across, kBlock / kNumbers, 1}, downwards, whole, size_, pairs, columns,
                     Floats{of_keys, whole, true});
    });
    AddAcross(of_keys, whole, keys, given_.scaling, given_.key_gradient);
    AddAcross(of_values, whole, keys, 1, given_.value_gradient);
  }

 private:
  struct Steps {
    size_t token, head;
  };

  /** Elements of a head. */
  size_t HeadElements() const { return size_ / kNumbers; }

  Steps QueryStep() const {
    return {static_cast<size_t>(given_.query_step), static_cast<size_t>(given_.query_head_step)};
  }

  Tokens<Number> KeysOf() const {
    return {static_cast<const Number*>(given_.key) + group_ * static_cast<size_t>(given_.key_head_step),
            static_cast<size_t>(given_.key_step)};
  }

  Tokens<Number> Values() const {
    return {static_cast<const Number*>(given_.value) + group_ * static_cast<size_t>(given_.value_head_step),
            static_cast<size_t>(given_.value_step)};
  }

  /** The keys that the query of this number in its row sees, of the `seen` ones of its block. */
  size_t Visible(const RowBounds& row, size_t query, size_t seen) const {
    if (given_.causal == 0) return seen;
    return static_cast<size_t>(row.shared + row.own - row.queries) + query + 1;
  }

  float* SumsOf(const RowBounds& row, size_t query) const {
    return given_.sums + (static_cast<size_t>(row.first_query) + query) * heads_;
  }

  template <typename Pointer>
  auto AnswerOf(Pointer* tensor, const RowBounds& row, size_t query, size_t head) const {
    using Found = std::conditional_t<std::is_const_v<Pointer>, const Number, Number>;
    return static_cast<Found*>(tensor) +
           ((static_cast<size_t>(row.first_query) + query) * heads_ + head) * size_;
  }

  /** Calls `compute(head, first query, queries, keys that any of them sees)` for every block. */
  template <typename Compute>
  void ForBlocks(const RowBounds& row, Compute compute) {
    const auto queries = static_cast<size_t>(row.queries);
    const Keys keys(row);
    for (size_t at = 0; at < per_group_; ++at) {
      for (size_t first = 0; first < queries; first += kBlock) {
        const size_t count = std::min(kBlock, queries - first);
        const size_t seen = given_.causal == 0 ? keys.Count() : keys.Count() - queries + first + count;
        compute(group_ * per_group_ + at, first, count, seen);
      }
    }
  }

  /** The numbers of queries or what is like them (queries, elements of a head). */
  const Element* PackQueries(const void* tensor, Steps steps, size_t head, const RowBounds& row, size_t first,
                             size_t count) {
    Element* const packed = work_.queries.Of(kBlock * size_);
    const Number* const from = static_cast<const Number*>(tensor) + head * steps.head;
    for (size_t at = 0; at < count; ++at) {
      Packed::Row(from + (static_cast<size_t>(row.first_query) + first + at) * steps.token, size_,
                  packed + at * HeadElements());
    }
    return packed;
  }

  /** The same (numbers of a head, elements of queries). */
  void QueriesAcross(const void* tensor, Steps steps, size_t head, const RowBounds& row, size_t first,
                     size_t count, Element* to) {
    Element* const rows = work_.rows.Of(kBlock * size_);
    const Number* const from = static_cast<const Number*>(tensor) + head * steps.head +
                               (static_cast<size_t>(row.first_query) + first) * steps.token;
    for (size_t at = 0; at < count; at += 2) {
      const Number* const next = at + 1 < count ? from + (at + 1) * steps.token : nullptr;
      Packed::Rows(from + at * steps.token, next, size_, rows + at / kNumbers * size_, size_);
    }
    const size_t used = (count + kNumbers - 1) / kNumbers;
    for (size_t at = 0; at < used; ++at) {
      for (size_t number = 0; number < size_; ++number) {
        to[number * (kBlock / kNumbers) + at] = rows[at * size_ + number];
      }
    }
  }

  /** Keys or values (elements of a head, keys), those beyond the last 0. */
  void PackAcross(Tokens<Number> tokens, const Keys& keys, size_t whole, Buffer<Element>& to) {
    const size_t count = keys.Count();
    Element* const rows = work_.rows.Of(std::max(count, kBlock) * size_);
    for (size_t key = 0; key < count; ++key) {
      Packed::Row(tokens.At(keys.Token(key)), size_, rows + key * HeadElements());
    }
    Transpose(rows, count, HeadElements(), whole, to.Of(HeadElements() * whole));
  }

  /** Keys or values (elements of keys, numbers of a head), the numbers beyond the last 0. */
  Element* PackRows(Tokens<Number> tokens, const Keys& keys, Buffer<Element>& buffer) {
    const size_t count = keys.Count();
    Element* const to = buffer.Of((count + 1) * wide_);
    if (wide_ > size_) std::fill(to, to + (count + 1) * wide_, Element{});
    for (size_t key = 0; key < count; key += 2) {
      const Number* const next = key + 1 < count ? tokens.At(keys.Token(key + 1)) : nullptr;
      Packed::Rows(tokens.At(keys.Token(key)), next, size_, to + key / kNumbers * wide_, wide_);
    }
    return to;
  }

  /** Adds `factor` times `from` (numbers of a head, keys) to a gradient (tokens, groups, size). */
  void AddAcross(const float* from, size_t whole, const Keys& keys, float factor, float* gradient) {
    float* const some = work_.found.Of(kBlock * wide_);
    for (size_t first = 0; first < keys.Count(); first += kBlock) {
      const size_t count = std::min(kBlock, keys.Count() - first);
      for (size_t at = 0; at < size_; ++at) {
        for (size_t key = 0; key < count; ++key) some[key * size_ + at] = from[at * whole + first + key];
      }
      for (size_t key = 0; key < count; ++key) {
        const size_t token = keys.Token(first + key);
        float* const to = gradient + (token * static_cast<size_t>(given_.groups) + group_) * size_;
        for (size_t at = 0; at < size_; at += kLanes) {
          Store(to + at, Load(to + at) + Load(some + key * size_ + at) * factor);
        }
      }
    }
  }

  /** Scores of `visible` keys become the exponentials of their scaled differences from the largest; the rest
   * of `columns` 0. */
  void Soften(float* scores, size_t visible, size_t columns, float* largest, float* sum) const {
    constexpr float kNone = -std::numeric_limits<float>::infinity();
    Hide(scores, visible, columns, kNone);
    Lanes most = All(kNone);
    for (size_t key = 0; key < columns; key += kLanes) most = Larger(Load(scores + key), most);
    *largest = Largest(most);
    Lanes total{};
    for (size_t key = 0; key < columns; key += kLanes) {
      const Lanes share = Exp((Load(scores + key) - *largest) * given_.scaling);
      Store(scores + key, share);
    }
    Hide(scores, visible, columns, 0);
    for (size_t key = 0; key < columns; key += kLanes) total += Load(scores + key);
    *sum = Sum(total);
  }

  /** The same, divided by their sum, whose logarithm is known. */
  void Soften(float* scores, float sum, size_t visible, size_t columns) const {
    for (size_t key = 0; key < columns; key += kLanes) {
      Store(scores + key, Exp(Load(scores + key) * given_.scaling - sum));
    }
    Hide(scores, visible, columns, 0);
  }

  static void Hide(float* scores, size_t visible, size_t columns, float value) {
    std::fill(scores + visible, scores + columns, value);
  }

  void Put(const float* from, float factor, Number* to) const {
    for (size_t at = 0; at < size_; at += kLanes) Store(to + at, Load(from + at) * factor);
  }

  float Dot(const Number* left, const Number* right) const {
    Lanes total{};
    for (size_t at = 0; at < size_; at += kLanes) total += Load(left + at) * Load(right + at);
    return Sum(total);
  }

  const AttentionOperands& given_;
  Workspace<Kind>& work_;
  const size_t size_, heads_, per_group_, group_, wide_;
  float sums_of_[kBlock];
};

template <typename Kind, typename Number>
void Attend(const AttentionOperands& given) {
  // Rows that share keys with the one before are one task: they add to the gradients of the same keys.
  std::vector<int64_t> begins;
  for (int64_t row = 0; row < given.row_count; ++row) {
    if (row == 0 || given.rows[row].shared == 0) begins.push_back(row);
  }
  begins.push_back(given.row_count);
  const auto tasks = static_cast<int64_t>(begins.size() - 1) * given.groups;
  // No exception may leave a parallel region.
  std::atomic<bool> lacks_memory{false};
#pragma omp parallel num_threads(given.threads) if (given.threads > 1)
  {
    Workspace<Kind> work;
#pragma omp for schedule(dynamic)
    for (int64_t task = 0; task < tasks; ++task) {
      Group<Kind, Number> group(given, static_cast<size_t>(task % given.groups), work);
      const auto family = static_cast<size_t>(task / given.groups);
      try {
        for (int64_t row = begins[family]; row < begins[family + 1]; ++row) {
          given.backward != 0 ? group.Backward(given.rows[row]) : group.Forward(given.rows[row]);
        }
      } catch (const std::bad_alloc&) {
        lacks_memory = true;
      }
    }
  }
  if (lacks_memory) throw std::bad_alloc();
}

}  // namespace

void Attention(const AttentionOperands& given) {
  if (given.type == kHoneFloat32) return Attend<Single, float>(given);
#if defined(__AVX512BF16__)
  if (given.size % 2 == 0) return Attend<Pairs, Half>(given);
#endif
  Attend<Single, Half>(given);
}

}  // namespace HONE_ISA

HONE_KERNEL(attention, HONE_ISA::AttentionOperands, Attention)
