#include "duplicates.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "delivery.h"
#include "failure.h"
#include "row-text.h"
#include "signature.h"

namespace hone {

namespace {

/// Locality-sensitive hashing (Leskovec, Rajaraman and Ullman, Mining of Massive Datasets, 3.4): rows that
/// agree in all places of a band are compared. 12 bands of 5 places find 99 % of the pairs with a similarity
/// of 0.8.
constexpr size_t kBands = 12, kBandPlaces = 5;
/// Of the rows that agree in a band, each is compared with so many before it.
constexpr size_t kCompared = 8;
/// Further rows are not compared for near duplicates, which bounds the memory.
constexpr size_t kSignedRows = size_t{1} << 22;
constexpr size_t kPieceBytes = size_t{1} << 20, kProgressBytes = size_t{1} << 23;
/// Longer rows are invalid.
constexpr size_t kLongestLine = (size_t{1} << 24) + 1;
/// Examples in an answer, the lines of each, the pairs they are chosen from, and the bytes of a text.
constexpr size_t kExamples = 20, kExampleLines = 5, kCandidates = 200, kTextBytes = 400, kFoundLines = 100;

struct Cancelled {};

struct Request {
  std::string path, validation;
  std::vector<std::string> fields, answers;
};

struct Place {
  uint64_t offset;
  uint32_t line;
};

struct Pair {
  uint32_t one, other;
  double similarity = 0;
  std::string texts[2];
};

struct Group {
  std::vector<uint32_t> lines;
  std::string text;
};

struct Found {
  Failure failure;
  size_t rows = 0, signed_rows = 0, exact = 0, near = 0, empty = 0, padded = 0, overlap_exact = 0,
         overlap_near = 0;
  std::vector<Group> groups, overlap_groups;
  std::vector<Pair> pairs, overlap_pairs;
  std::vector<uint32_t> empty_lines, padded_lines;
};

class Search {
 public:
  Search(const Request& request, const std::atomic<bool>& cancelled,
         std::function<void(double, double)> on_progress)
      : request_(request), cancelled_(cancelled), on_progress_(std::move(on_progress)) {}

  Found Run() {
    for (const std::string& path : {request_.path, request_.validation}) {
      if (!path.empty())
        total_ += static_cast<double>(std::filesystem::file_size(std::filesystem::u8path(path)));
    }
    Read(request_.path);
    found_.rows = own_ = static_cast<uint32_t>(places_.size());
    if (!request_.validation.empty()) Read(request_.validation);
    found_.signed_rows = std::min(signatures_.size(), size_t{own_});
    FindExact();
    FindNear();
    return std::move(found_);
  }

 private:
  void CheckCancelled() const {
    if (cancelled_.load(std::memory_order_relaxed)) throw Cancelled();
  }

  void Read(const std::string& path) {
    std::ifstream file(std::filesystem::u8path(path), std::ios::binary);
    if (!file) throw Failure{"read_failed", "The dataset's file cannot be read."};
    const bool own = &path == &request_.path || path == request_.path;
    std::vector<char> piece(kPieceBytes);
    std::string pending;
    uint64_t offset = 0;
    uint32_t line = 0;
    double told = done_;
    RowText row;
    const auto take = [&](const char* at, const char* end) {
      ++line;
      const char* first = at;
      while (first < end && (*first == ' ' || *first == '\t' || *first == '\r')) ++first;
      if (first < end) Add(at, end, {offset, line}, own, row);
      offset += static_cast<uint64_t>(end - at) + 1;
    };
    while (file) {
      CheckCancelled();
      file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
      const char* at = piece.data();
      const char* const end = at + file.gcount();
      done_ += static_cast<double>(end - at);
      while (const void* found = at < end ? std::memchr(at, '\n', static_cast<size_t>(end - at)) : nullptr) {
        const char* const line_end = static_cast<const char*>(found);
        if (pending.empty()) {
          take(at, line_end);
        } else {
          pending.append(at, line_end);
          take(pending.data(), pending.data() + pending.size());
          pending.clear();
        }
        at = line_end + 1;
      }
      pending.append(at, end);
      if (pending.size() > kLongestLine) throw BadRow(line + 1);
      if (done_ - told < static_cast<double>(kProgressBytes)) continue;
      told = done_;
      on_progress_(done_, total_);
    }
    if (file.bad()) throw Failure{"read_failed", "The dataset's file cannot be read to its end."};
    if (!pending.empty()) take(pending.data(), pending.data() + pending.size());
  }

  static Failure BadRow(uint32_t line) {
    return {"bad_row", "Line " + std::to_string(line) + " is not a row."};
  }

  void Add(const char* at, const char* end, Place place, bool own, RowText& row) {
    if (!ReadRowText(at, end, request_.fields, request_.answers, row)) throw BadRow(place.line);
    if (places_.size() >= std::numeric_limits<uint32_t>::max()) throw Failure{"too_many", "Too many rows."};
    places_.push_back(place);
    hashes_.push_back(row.hash);
    const auto note = [&place](size_t& count, std::vector<uint32_t>& lines) {
      ++count;
      if (lines.size() < kFoundLines) lines.push_back(place.line);
    };
    if (row.empty_answer && own) note(found_.empty, found_.empty_lines);
    if (row.padded && own) note(found_.padded, found_.padded_lines);
    if (signatures_.size() >= kSignedRows) return;
    Signature signature;
    compared_.push_back(Sign(row.text, signature));
    signatures_.push_back(signature);
  }

  bool IsOwn(uint32_t row) const { return row < own_; }

  /// Rows of equal hash; the later ones take no part in the search for near duplicates.
  void FindExact() {
    std::vector<uint32_t> order(places_.size());
    for (uint32_t row = 0; row < order.size(); ++row) order[row] = row;
    std::sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
      return hashes_[a] != hashes_[b] ? hashes_[a] < hashes_[b] : a < b;
    });
    std::vector<std::vector<uint32_t>> groups, overlaps;
    for (size_t begin = 0, end; begin < order.size(); begin = end) {
      CheckCancelled();
      size_t own = 0;
      for (end = begin; end < order.size() && hashes_[order[end]] == hashes_[order[begin]]; ++end) {
        own += IsOwn(order[end]) ? 1 : 0;
        if (end > begin && (IsOwn(order[end]) || own > 0)) Leave(order[end]);
      }
      const auto at = [&](size_t index) { return order.begin() + static_cast<std::ptrdiff_t>(index); };
      if (own > 1) {
        found_.exact += own - 1;
        Keep(groups, {at(begin), at(begin + std::min(own, kExampleLines))});
      }
      if (own > 0 && end - begin > own) {
        found_.overlap_exact += end - begin - own;
        Keep(overlaps, {order[begin], order[begin + own]});
      }
    }
    for (const auto& rows : groups) found_.groups.push_back(Describe(rows));
    for (const auto& rows : overlaps) found_.overlap_groups.push_back(Describe(rows));
  }

  void Leave(uint32_t row) {
    if (row < compared_.size()) compared_[row] = false;
  }

  static void Keep(std::vector<std::vector<uint32_t>>& kept, std::vector<uint32_t> rows) {
    if (kept.size() < kExamples) kept.push_back(std::move(rows));
  }

  Group Describe(const std::vector<uint32_t>& rows) {
    Group group;
    for (const uint32_t row : rows) group.lines.push_back(places_[row].line);
    group.text = Shortened(TextOf(rows[0]));
    return group;
  }

  void FindNear() {
    std::vector<bool> near(signatures_.size());
    std::vector<Pair> pairs, overlaps;
    std::vector<uint64_t> keys;
    for (size_t band = 0; band < kBands; ++band) {
      keys.clear();
      for (uint32_t row = 0; row < signatures_.size(); ++row) {
        if (!compared_[row]) continue;
        const auto* places = reinterpret_cast<const char*>(signatures_[row].data() + band * kBandPlaces);
        keys.push_back(Hash(places, kBandPlaces, band) << 32 | row);
      }
      CheckCancelled();
      std::sort(keys.begin(), keys.end());
      CheckCancelled();
      for (size_t begin = 0, end; begin < keys.size(); begin = end) {
        uint32_t before[kCompared];
        size_t count = 0;
        for (end = begin; end < keys.size() && keys[end] >> 32 == keys[begin] >> 32; ++end) {
          const auto row = static_cast<uint32_t>(keys[end]);
          if (near[row]) continue;
          for (size_t i = 0; i < std::min(count, kCompared) && !near[row]; ++i) {
            if (Estimate(signatures_[before[i]], signatures_[row]) < kNear) continue;
            near[row] = true;
            ++(IsOwn(row) ? found_.near : found_.overlap_near);
            auto& kept = IsOwn(row) ? pairs : overlaps;
            if (kept.size() < kCandidates) kept.push_back({before[i], row, 0, {}});
          }
          if (!near[row] && IsOwn(row)) before[count++ % kCompared] = row;
        }
      }
    }
    found_.pairs = Best(std::move(pairs), found_.near);
    found_.overlap_pairs = Best(std::move(overlaps), found_.overlap_near);
  }

  /// The most similar pairs, with their similarity computed from the texts themselves. Of `count` pairs,
  /// those are left that are near duplicates: all are computed, or with more than `kCandidates` as many as of
  /// those.
  std::vector<Pair> Best(std::vector<Pair> pairs, size_t& count) {
    const size_t computed = pairs.size();
    for (Pair& pair : pairs) {
      CheckCancelled();
      const std::string one = TextOf(pair.one), other = TextOf(pair.other);
      pair.similarity = Similarity(one, other);
      pair.texts[0] = Shortened(one);
      pair.texts[1] = Shortened(other);
      pair.one = places_[pair.one].line;
      pair.other = places_[pair.other].line;
    }
    pairs.erase(
        std::remove_if(pairs.begin(), pairs.end(), [](const Pair& pair) { return pair.similarity < kNear; }),
        pairs.end());
    if (computed > 0) count = (count * pairs.size() + computed / 2) / computed;
    std::stable_sort(pairs.begin(), pairs.end(),
                     [](const Pair& a, const Pair& b) { return a.similarity > b.similarity; });
    if (pairs.size() > kExamples) pairs.resize(kExamples);
    return pairs;
  }

  std::string TextOf(uint32_t number) {
    std::ifstream file(std::filesystem::u8path(IsOwn(number) ? request_.path : request_.validation),
                       std::ios::binary);
    file.seekg(static_cast<std::streamoff>(places_[number].offset));
    std::string line;
    std::getline(file, line);
    RowText row;
    ReadRowText(line.data(), line.data() + line.size(), request_.fields, request_.answers, row);
    return row.text;
  }

  /// The beginning of a text, without half a character.
  static std::string Shortened(const std::string& text) {
    if (text.size() <= kTextBytes) return text.substr(0, text.find_last_not_of('\n') + 1);
    size_t end = kTextBytes;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    return text.substr(0, end) + "…";
  }

  const Request& request_;
  const std::atomic<bool>& cancelled_;
  const std::function<void(double, double)> on_progress_;
  double done_ = 0, total_ = 0;
  /// The rows of the dataset, then those that are compared with it; the first `own_` are the dataset's.
  uint32_t own_ = std::numeric_limits<uint32_t>::max();
  std::vector<Place> places_;
  std::vector<uint64_t> hashes_;
  /// Of the first rows; `compared_` tells those that have a text and are no exact duplicates.
  std::vector<Signature> signatures_;
  std::vector<bool> compared_;
  Found found_;
};

Found Perform(const Request& request, const std::atomic<bool>& cancelled,
              std::function<void(double, double)> on_progress) {
  Found found;
  try {
    return Search(request, cancelled, std::move(on_progress)).Run();
  } catch (const Cancelled&) {
    found.failure = {"cancelled", "The analysis was cancelled."};
  } catch (const Failure& failure) {
    found.failure = failure;
  } catch (const std::bad_alloc&) {
    found.failure = {"no_memory", "There is not enough memory for the analysis."};
  } catch (const std::exception& error) {
    found.failure = {"read_failed", error.what()};
  }
  return found;
}

Napi::Array Numbers(Napi::Env env, const std::vector<uint32_t>& values) {
  auto array = Napi::Array::New(env, values.size());
  for (uint32_t i = 0; i < values.size(); ++i) array.Set(i, static_cast<double>(values[i]));
  return array;
}

Napi::Array ToArray(Napi::Env env, const std::vector<Group>& groups) {
  auto array = Napi::Array::New(env, groups.size());
  for (uint32_t i = 0; i < groups.size(); ++i) {
    auto group = Napi::Object::New(env);
    group.Set("lines", Numbers(env, groups[i].lines));
    group.Set("text", groups[i].text);
    array.Set(i, group);
  }
  return array;
}

Napi::Array ToArray(Napi::Env env, const std::vector<Pair>& pairs) {
  auto array = Napi::Array::New(env, pairs.size());
  for (uint32_t i = 0; i < pairs.size(); ++i) {
    auto pair = Napi::Object::New(env);
    pair.Set("lines", Numbers(env, {pairs[i].one, pairs[i].other}));
    pair.Set("similarity", pairs[i].similarity);
    auto texts = Napi::Array::New(env, 2);
    for (uint32_t side = 0; side < 2; ++side) texts.Set(side, pairs[i].texts[side]);
    pair.Set("texts", texts);
    array.Set(i, pair);
  }
  return array;
}

Napi::Object ToObject(Napi::Env env, const Found& found) {
  auto object = Napi::Object::New(env);
  const auto count = [&](const char* name, size_t value) { object.Set(name, static_cast<double>(value)); };
  count("rows", found.rows);
  count("comparedRows", found.signed_rows);
  count("exact", found.exact);
  count("near", found.near);
  count("empty", found.empty);
  count("padded", found.padded);
  count("overlapExact", found.overlap_exact);
  count("overlapNear", found.overlap_near);
  object.Set("groups", ToArray(env, found.groups));
  object.Set("pairs", ToArray(env, found.pairs));
  object.Set("overlapGroups", ToArray(env, found.overlap_groups));
  object.Set("overlapPairs", ToArray(env, found.overlap_pairs));
  object.Set("emptyLines", Numbers(env, found.empty_lines));
  object.Set("paddedLines", Numbers(env, found.padded_lines));
  return object;
}

std::vector<std::string> Texts(const Napi::Value& value) {
  std::vector<std::string> texts;
  const auto array = value.As<Napi::Array>();
  for (uint32_t i = 0; i < array.Length(); ++i) texts.push_back(array.Get(i).As<Napi::String>().Utf8Value());
  return texts;
}

}  // namespace

Napi::Value FindDuplicates(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto options = info[0].As<Napi::Object>();
  Request request;
  request.path = options.Get("path").As<Napi::String>().Utf8Value();
  request.validation = options.Get("validation").As<Napi::String>().Utf8Value();
  request.fields = Texts(options.Get("fields"));
  request.answers = Texts(options.Get("answers"));

  const auto cancelled = std::make_shared<std::atomic<bool>>(false);
  const auto delivery = Delivery::Open(env, "hone.duplicates", options, /*keeps_alive=*/true,
                                       [cancelled] { cancelled->store(true); });
  delivery->RunAside([request, cancelled, delivery] {
    const auto tell = [delivery](double done, double total) {
      delivery->Post([delivery, done, total](Napi::Env job_env) {
        const auto callback = delivery->callback().Value().Get("onProgress").As<Napi::Function>();
        callback.Call({Napi::Number::New(job_env, done), Napi::Number::New(job_env, total)});
      });
    };
    const auto found = std::make_shared<Found>(Perform(request, *cancelled, tell));
    delivery->Post([delivery, found](Napi::Env job_env) {
      const auto on_end = delivery->callback().Value().Get("onEnd").As<Napi::Function>();
      delivery->Close();
      if (found->failure)
        on_end.Call({ToError(job_env, found->failure), job_env.Null()});
      else
        on_end.Call({job_env.Null(), ToObject(job_env, *found)});
    });
  });

  auto handle = Napi::Object::New(env);
  handle.Set("cancel",
             Napi::Function::New(env, [cancelled](const Napi::CallbackInfo&) { cancelled->store(true); }));
  return handle;
}

}  // namespace hone
