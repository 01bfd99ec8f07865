#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace hone {

/// Places of a signature, and the rows of a text's shingles that they sample.
constexpr size_t kPlaces = 64;
/// Two texts are near duplicates from this Jaccard similarity of their shingles on.
constexpr double kNear = 0.8;

using Signature = std::array<uint8_t, kPlaces>;

/// The shingles of a text: its runs of 8 bytes, in lower case (ASCII) and with single spaces. A shorter text
/// is one shingle; an empty one has none. Of a text of over 1 MiB, the first is taken.
std::vector<uint64_t> Shingles(const std::string& text);

/// A MinHash signature of a text's shingles; false without shingles. Two texts agree in a place with the
/// probability of their Jaccard similarity (Broder 1997), made with one hash of each shingle (Li, Owen and
/// Zhang 2012, "One permutation hashing"), with empty places filled (Shrivastava 2017, "Optimal
/// densification") and 8 bits kept of each (Li and König 2010, "b-bit minwise hashing").
bool Sign(const std::string& text, Signature& signature);

/// The Jaccard similarity of two texts as their signatures tell, with a standard error of at most 0.0625.
double Estimate(const Signature& one, const Signature& other);

/// The Jaccard similarity of two texts.
double Similarity(const std::string& one, const std::string& other);

}  // namespace hone
