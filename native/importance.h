#pragma once

#include <llama.h>

#include <string>
#include <vector>

#include "failure.h"
#include "gguf-header.h"

namespace hone {

/// How much each input column of a model's matrices matters: the mean of its squared inputs.
class Importance {
 public:
  /// Reads a file in the format of llama.cpp's `llama-imatrix` (tools/imatrix/imatrix.cpp): for each matrix
  /// the sums of its squared inputs in `NAME.in_sum2` and the numbers of tokens in `NAME.counts`, one for
  /// each of its experts. On failure `bad_importance` says what is wrong, and the result is empty.
  static Importance Read(const GgufFunctions& functions, const std::string& path, Failure& failure);

  /// The names of its matrices.
  const std::vector<std::string>& names() const { return names_; }

  /// What the engine takes: the entries, and one without a name at the end. It is valid as long as this
  /// object.
  std::vector<llama_model_imatrix_data> Entries() const;

 private:
  std::vector<std::string> names_;
  std::vector<std::vector<float>> means_;
};

}  // namespace hone
