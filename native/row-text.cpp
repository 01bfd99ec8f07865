#include "row-text.h"

#include <algorithm>
#include <cstring>

namespace hone {

namespace {

/// The service refuses deeper rows.
constexpr int kMaximumDepth = 128;
const std::vector<std::string> kMessageFields = {"role", "content", "weight"};

uint64_t Mix(uint64_t value) {
  value = (value ^ (value >> 31)) * 0x7fb5d329728ea185u;
  value = (value ^ (value >> 27)) * 0x81dadef4bc2dd44du;
  return value ^ (value >> 33);
}

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr char kSpaces[] = " \t\r\n";

bool IsBlank(const std::string& text) { return text.find_first_not_of(kSpaces) == std::string::npos; }

bool IsPadded(const std::string& text) {
  const size_t first = text.find_first_not_of(kSpaces);
  return first != std::string::npos && (first > 0 || text.find_last_not_of(kSpaces) + 1 < text.size());
}

void AppendUtf8(std::string& out, uint32_t code) {
  const auto add = [&out](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xc0 | code >> 6);
    add(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    add(0xe0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3f));
    add(0x80 | (code & 0x3f));
  } else {
    add(0xf0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3f));
    add(0x80 | (code >> 6 & 0x3f));
    add(0x80 | (code & 0x3f));
  }
}

/// A recursive-descent reader of one JSON object.
class Reader {
 public:
  Reader(const char* at, const char* end, const std::vector<std::string>& answers, RowText& row)
      : at_(at), end_(end), answers_(answers), row_(row) {}

  bool ReadRow(const std::vector<std::string>& fields) {
    Blanks();
    if (at_ == end_ || *at_ != '{' || !Object(fields, true, 0, row_.hash)) return false;
    Blanks();
    return at_ == end_;
  }

 private:
  void Blanks() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r' || *at_ == '\n')) ++at_;
  }

  bool Take(char wanted) {
    Blanks();
    if (at_ == end_ || *at_ != wanted) return false;
    ++at_;
    return true;
  }

  int Unit() {
    if (end_ - at_ < 4) return -1;
    int unit = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = *at_++;
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return -1;
      unit = unit * 16 + digit;
    }
    return unit;
  }

  bool String(std::string& out) {
    out.clear();
    if (!Take('"')) return false;
    while (at_ < end_) {
      const char* plain = at_;
      while (at_ < end_ && *at_ != '"' && *at_ != '\\') ++at_;
      out.append(plain, at_);
      if (at_ == end_) return false;
      if (*at_++ == '"') return true;
      if (at_ == end_) return false;
      const char escaped = *at_++;
      static const char kNames[] = "\"\\/bfnrt", kValues[] = "\"\\/\b\f\n\r\t";
      if (escaped == 'u') {
        int unit = Unit();
        if (unit < 0) return false;
        uint32_t code = static_cast<uint32_t>(unit);
        if (code >= 0xd800 && code < 0xdc00 && end_ - at_ >= 6 && at_[0] == '\\' && at_[1] == 'u') {
          at_ += 2;
          unit = Unit();
          if (unit < 0xdc00 || unit > 0xdfff) return false;
          code = 0x10000 + ((code - 0xd800) << 10) + static_cast<uint32_t>(unit - 0xdc00);
        }
        AppendUtf8(out, code);
      } else {
        const char* found = escaped == '\0' ? nullptr : std::strchr(kNames, escaped);
        if (found == nullptr) return false;
        out.push_back(kValues[found - kNames]);
      }
    }
    return false;
  }

  /// Reads a value; `wanted` whether it is compared, `is_text` whether its text is.
  bool Value(bool wanted, bool is_text, int depth, uint64_t& hash) {
    Blanks();
    if (at_ == end_ || depth > kMaximumDepth) return false;
    if (*at_ == '{') return Object(kMessageFields, wanted, depth, hash);
    if (*at_ == '[') return Array(wanted, depth, hash);
    if (*at_ == '"') {
      if (!String(value_)) return false;
      if (!wanted) return true;
      hash = Hash(value_.data(), value_.size(), 1);
      if (is_text) {
        row_.text.append(value_).push_back('\n');
        if (IsPadded(value_)) row_.padded = true;
      }
      return true;
    }
    const char* begin = at_;
    while (at_ < end_ && std::strchr(",]} \t\r\n", *at_) == nullptr) ++at_;
    hash = Hash(begin, static_cast<size_t>(at_ - begin), 2);
    return at_ != begin;
  }

  bool Array(bool wanted, int depth, uint64_t& hash) {
    ++at_;
    hash = 3;
    if (Take(']')) return true;
    do {
      uint64_t inner = 0;
      if (!Value(wanted, true, depth + 1, inner)) return false;
      hash = Mix(hash * 31 + inner);
    } while (Take(','));
    return Take(']');
  }

  /// Reads tools or tool calls, which are compared as they are written. `any` whether there are some,
  /// `is_text` whether their text is compared, too: that of the tools is often the same in all rows.
  bool Written(bool is_text, int depth, uint64_t& hash, bool& any) {
    const char* const begin = at_;
    uint64_t unused = 0;
    if (!Value(false, false, depth + 1, unused)) return false;
    const std::string written(begin, at_);
    any =
        written.front() == '[' && written.find_first_not_of("[]" + std::string(kSpaces)) != std::string::npos;
    if (!any) return true;
    hash = Mix(Hash(written.data(), written.size(), 6));
    if (is_text) row_.text.append(written).push_back('\n');
    return true;
  }

  bool Object(const std::vector<std::string>& fields, bool wanted, int depth, uint64_t& hash) {
    ++at_;
    hash = 4;
    bool assistant = false, blank = false, unlearned = false, calls = false;
    if (Take('}')) return true;
    std::string key;
    do {
      if (!String(key) || !Take(':')) return false;
      Blanks();
      const bool mine = wanted && Has(fields, key);
      const bool is_string = at_ < end_ && *at_ == '"';
      const char* begin = at_;
      uint64_t inner = 0;
      const bool is_talk = depth == 0 && (Has(fields, "messages") || Has(fields, "prompt"));
      if (wanted && (depth > 0 ? key == "tool_calls" : is_talk && key == "tools")) {
        if (!Written(depth > 0, depth, inner, calls)) return false;
        hash += inner;
        continue;
      }
      if (!Value(mine, mine && !(depth > 0 && key == "role"), depth + 1, inner)) return false;
      if (!mine) continue;
      // A sum, so that the order of the fields does not matter.
      hash += Mix(Hash(key.data(), key.size(), 5) ^ inner);
      if (depth == 0 && is_string && Has(answers_, key) && IsBlank(value_)) row_.empty_answer = true;
      if (depth > 0 && key == "role") assistant = is_string && value_ == "assistant";
      if (depth > 0 && key == "content") blank = is_string && IsBlank(value_);
      if (depth > 0 && key == "weight") unlearned = *begin == '0';
    } while (Take(','));
    if (assistant && blank && !unlearned && !calls) row_.empty_answer = true;
    return Take('}');
  }

  const char* at_;
  const char* const end_;
  const std::vector<std::string>& answers_;
  RowText& row_;
  std::string value_;
};

}  // namespace

uint64_t Hash(const char* data, size_t size, uint64_t seed) {
  constexpr uint64_t m = 0xc6a4a7935bd1e995u;
  uint64_t hash = seed ^ (size * m);
  const char* const end = data + (size & ~size_t{7});
  for (; data != end; data += 8) {
    uint64_t k;
    std::memcpy(&k, data, 8);
    k *= m;
    k ^= k >> 47;
    k *= m;
    hash = (hash ^ k) * m;
  }
  if ((size & 7) != 0) {
    uint64_t k = 0;
    std::memcpy(&k, data, size & 7);
    hash = (hash ^ k) * m;
  }
  hash = (hash ^ (hash >> 47)) * m;
  return hash ^ (hash >> 47);
}

bool ReadRowText(const char* at, const char* end, const std::vector<std::string>& fields,
                 const std::vector<std::string>& answers, RowText& row) {
  row.hash = 0;
  row.text.clear();
  row.empty_answer = row.padded = false;
  return Reader(at, end, answers, row).ReadRow(fields);
}

}  // namespace hone
