#include "importance.h"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <unordered_map>

namespace hone {

namespace {

constexpr const char* kSums = ".in_sum2";
constexpr const char* kCounts = ".counts";

/// The numbers of a tensor of 32-bit floats; false where one is not finite, or below zero.
bool ReadNumbers(const GgufFunctions& functions, const gguf_context* file, int64_t index,
                 std::ifstream& stream, std::vector<float>& numbers) {
  if (functions.gguf_type(file, index) != GGML_TYPE_F32) return false;
  numbers.resize(functions.gguf_size(file, index) / sizeof(float));
  stream.seekg(static_cast<std::streamoff>(StartOfTensor(functions, file, index)));
  stream.read(reinterpret_cast<char*>(numbers.data()),
              static_cast<std::streamsize>(numbers.size() * sizeof(float)));
  if (!stream) return false;
  for (const float number : numbers) {
    if (!std::isfinite(number) || number < 0) return false;
  }
  return true;
}

/// The means of each of `counts.size()` experts' columns; false where they are not as many for each.
bool Divide(std::vector<float>& sums, const std::vector<float>& counts) {
  if (counts.empty() || sums.empty() || sums.size() % counts.size() != 0) return false;
  const size_t columns = sums.size() / counts.size();
  for (size_t i = 0; i < sums.size(); ++i) {
    const float count = counts[i / columns];
    // The columns of an expert that got no token matter alike (llama.cpp's tools/quantize/quantize.cpp).
    sums[i] = count > 0 ? sums[i] / count : 1;
  }
  return true;
}

Failure Bad(const std::string& what) {
  return {"bad_importance", "The importance matrix " + what +
                                ". Remove its file to quantize without it, or export the model again."};
}

}  // namespace

Importance Importance::Read(const GgufFunctions& functions, const std::string& path, Failure& failure) {
  const std::filesystem::path file_path = std::filesystem::u8path(path);
  std::error_code missing;
  const auto bytes = std::filesystem::file_size(file_path, missing);
  const Gguf file = missing ? Gguf(nullptr, GgufCloser{&functions}) : OpenGguf(functions, path);
  if (file == nullptr) {
    failure = Bad("is not a readable GGUF");
    return {};
  }
  if (bytes < EndOfData(functions, file.get())) {
    failure = Bad("is truncated");
    return {};
  }
  std::unordered_map<std::string, int64_t> index_of;
  const int64_t tensors = functions.gguf_tensors(file.get());
  for (int64_t i = 0; i < tensors; ++i) index_of[functions.gguf_name(file.get(), i)] = i;

  Importance found;
  std::ifstream stream(file_path, std::ios::binary);
  const std::string suffix = kSums;
  for (int64_t i = 0; i < tensors; ++i) {
    const std::string full = functions.gguf_name(file.get(), i);
    if (full.size() <= suffix.size()) continue;
    const std::string name = full.substr(0, full.size() - suffix.size());
    if (full != name + suffix) continue;
    const auto counted = index_of.find(name + kCounts);
    std::vector<float> sums;
    std::vector<float> counts;
    if (counted == index_of.end()) {
      failure = Bad("has no number of tokens for " + name);
      return {};
    }
    if (!ReadNumbers(functions, file.get(), i, stream, sums) ||
        !ReadNumbers(functions, file.get(), counted->second, stream, counts) || !Divide(sums, counts)) {
      failure = Bad("has numbers of " + name + " that are not sums of squares");
      return {};
    }
    found.names_.push_back(name);
    found.means_.push_back(std::move(sums));
  }
  if (found.names_.empty()) failure = Bad("has no matrix");
  return found;
}

std::vector<llama_model_imatrix_data> Importance::Entries() const {
  std::vector<llama_model_imatrix_data> entries;
  for (size_t i = 0; i < names_.size(); ++i) {
    entries.push_back({names_[i].c_str(), means_[i].data(), means_[i].size()});
  }
  entries.push_back({nullptr, nullptr, 0});
  return entries;
}

}  // namespace hone
