#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone {

/// What of a row is compared with other rows.
struct RowText {
  /// Equal for rows whose wanted values are equal, in any order of their fields.
  uint64_t hash = 0;
  /// The texts of the wanted values, each followed by a line end; the roles of a conversation are left out.
  std::string text;
  /// Whether an answer has nothing but white space.
  bool empty_answer = false;
  /// Whether a text that is not blank begins or ends with white space.
  bool padded = false;
};

/// MurmurHash64A of `size` bytes (Austin Appleby, public domain).
uint64_t Hash(const char* data, size_t size, uint64_t seed);

/// Reads the wanted values of the JSON object in [at, end): those of `fields`, the `tools` of a conversation,
/// and in the messages of a conversation `role`, `content`, `weight` and `tool_calls`. `answers` are the
/// fields that are learned. False if it is not JSON.
bool ReadRowText(const char* at, const char* end, const std::vector<std::string>& fields,
                 const std::vector<std::string>& answers, RowText& row);

}  // namespace hone
