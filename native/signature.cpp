#include "signature.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>

namespace hone {

namespace {

constexpr size_t kShingleBytes = 8;
/// Of a longer text, the beginning is compared, which bounds the memory.
constexpr size_t kComparedBytes = size_t{1} << 20;
constexpr uint32_t kEmpty = std::numeric_limits<uint32_t>::max();

uint64_t Mix(uint64_t value) {
  value = (value ^ (value >> 32)) * 0xd6e8feb86659fd93u;
  return (value ^ (value >> 32)) * 0xd6e8feb86659fd93u;
}

std::string Normalized(const std::string& text) {
  std::string out;
  out.reserve(std::min(text.size(), kComparedBytes));
  for (const char c : text) {
    if (out.size() >= kComparedBytes) break;
    const bool blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!blank)
      out.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c);
    else if (!out.empty() && out.back() != ' ')
      out.push_back(' ');
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

/// Calls `take` with each run of 8 bytes.
template <typename Take>
void EachShingle(const std::string& text, Take take) {
  const std::string plain = Normalized(text);
  uint64_t shingle = 0;
  if (plain.size() < kShingleBytes) {
    std::memcpy(&shingle, plain.data(), plain.size());
    if (!plain.empty()) take(shingle);
    return;
  }
  for (size_t at = 0; at + kShingleBytes <= plain.size(); ++at) {
    std::memcpy(&shingle, plain.data() + at, kShingleBytes);
    take(shingle);
  }
}

}  // namespace

std::vector<uint64_t> Shingles(const std::string& text) {
  std::vector<uint64_t> shingles;
  EachShingle(text, [&shingles](uint64_t shingle) { shingles.push_back(shingle); });
  std::sort(shingles.begin(), shingles.end());
  shingles.erase(std::unique(shingles.begin(), shingles.end()), shingles.end());
  return shingles;
}

bool Sign(const std::string& text, Signature& signature) {
  std::array<uint32_t, kPlaces> least;
  least.fill(kEmpty);
  bool any = false;
  EachShingle(text, [&](uint64_t shingle) {
    const uint64_t hash = Mix(shingle);
    uint32_t& place = least[hash >> 58];
    // Never `kEmpty`, which has the lowest bit set.
    place = std::min(place, static_cast<uint32_t>(hash >> 20) & ~uint32_t{1});
    any = true;
  });
  if (!any) return false;
  for (size_t place = 0; place < kPlaces; ++place) {
    size_t source = place;
    for (uint64_t attempt = 1; least[source] == kEmpty; ++attempt) {
      source = Mix(place * 0x9e3779b97f4a7c15u + attempt) >> 58;
    }
    signature[place] = static_cast<uint8_t>(Mix(least[source] + 1) >> 56);
  }
  return true;
}

double Estimate(const Signature& one, const Signature& other) {
  int equal = 0;
  for (size_t place = 0; place < kPlaces; ++place) equal += one[place] == other[place] ? 1 : 0;
  // Of the places that differ, one in 256 agrees in its 8 bits.
  const double share = static_cast<double>(equal) / static_cast<double>(kPlaces);
  return std::max(0.0, (share - 1.0 / 256) / (1 - 1.0 / 256));
}

double Similarity(const std::string& one, const std::string& other) {
  const std::vector<uint64_t> first = Shingles(one), second = Shingles(other);
  std::vector<uint64_t> both;
  std::set_intersection(first.begin(), first.end(), second.begin(), second.end(), std::back_inserter(both));
  const size_t either = first.size() + second.size() - both.size();
  return either == 0 ? 1 : static_cast<double>(both.size()) / static_cast<double>(either);
}

}  // namespace hone
