#include "rows.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace hone {

namespace {

struct Text {
  const char* data;
  size_t size;
};

/// Bytes that end a run of plain characters within a JSON string: quotes, backslashes and control characters.
bool IsSpecial(unsigned char byte) { return byte < 0x20 || byte == '"' || byte == '\\'; }

/// The first special byte at or after `at`, found eight bytes at a time (Bit Twiddling Hacks, "haszero" and
/// "hasless").
const char* SkipPlain(const char* at, const char* end) {
  constexpr uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
  while (end - at >= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    const uint64_t quote = word ^ (ones * '"'), slash = word ^ (ones * '\\');
    const uint64_t found =
        (((word - ones * 0x20) & ~word) | ((quote - ones) & ~quote) | ((slash - ones) & ~slash)) & tops;
    if (found != 0) break;
    at += 8;
  }
  while (at < end && !IsSpecial(static_cast<unsigned char>(*at))) ++at;
  return at;
}

bool IsHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

/// The UTF-16 unit that is escaped at `at`, as backslash, u and four digits, or -1 if there is none.
int EscapedUnit(const char* at, const char* end) {
  if (end - at < 6 || at[0] != '\\' || at[1] != 'u') return -1;
  if (!IsHex(at[2]) || !IsHex(at[3]) || !IsHex(at[4]) || !IsHex(at[5])) return -1;
  return static_cast<int>(std::strtol(std::string(at + 2, 4).c_str(), nullptr, 16));
}

/// The position after the string that starts at `at`, or null if it is not closed before `end`. Sets `plain`
/// to whether it has no escapes.
const char* SkipString(const char* at, const char* end, bool* plain) {
  *plain = true;
  if (at == end || *at++ != '"') return nullptr;
  while (true) {
    at = SkipPlain(at, end);
    if (at == end) return nullptr;
    if (*at == '"') return at + 1;
    if (*at != '\\' || end - at < 2) return nullptr;
    *plain = false;
    if (at[1] == 'u') {
      const int unit = EscapedUnit(at, end);
      if (unit < 0) return nullptr;
      at += 6;
      if (unit < 0xd800 || unit > 0xdfff) continue;
      // Half of a surrogate pair is no character.
      const int second = unit <= 0xdbff ? EscapedUnit(at, end) : -1;
      if (second < 0xdc00 || second > 0xdfff) return nullptr;
      at += 6;
    } else if (at[1] != '\0' && std::strchr("\"\\/bfnrt", at[1]) != nullptr) {
      at += 2;
    } else {
      return nullptr;
    }
  }
}

const char* SkipBlanks(const char* at, const char* end) {
  while (at < end && (*at == ' ' || *at == '\t' || *at == '\r')) ++at;
  return at;
}

/// The position after the row that starts at `at`, including its newline, or null if it is not certainly a
/// row.
const char* SkipRow(const char* at, const char* end, const std::vector<std::string>& fields) {
  uint64_t missing = (uint64_t{1} << fields.size()) - 1;
  at = SkipBlanks(at, end);
  if (at == end || *at++ != '{') return nullptr;
  while (true) {
    bool plain;
    const char* key = SkipBlanks(at, end);
    const char* past = SkipString(key, end, &plain);
    if (past == nullptr || !plain) return nullptr;
    const Text name = {key + 1, static_cast<size_t>(past - key) - 2};
    for (size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].size() == name.size && std::memcmp(fields[i].data(), name.data, name.size) == 0) {
        missing &= ~(uint64_t{1} << i);
      }
    }
    at = SkipBlanks(past, end);
    if (at == end || *at++ != ':') return nullptr;
    at = SkipString(SkipBlanks(at, end), end, &plain);
    if (at == nullptr) return nullptr;
    at = SkipBlanks(at, end);
    if (at == end) return nullptr;
    if (*at == ',') {
      ++at;
      continue;
    }
    if (*at++ != '}') return nullptr;
    at = SkipBlanks(at, end);
    return missing == 0 && at < end && *at == '\n' ? at + 1 : nullptr;
  }
}

}  // namespace

Napi::Value ScanRows(const Napi::CallbackInfo& info) {
  const auto bytes = info[0].As<Napi::Uint8Array>();
  const auto size = static_cast<double>(bytes.ByteLength());
  const double from = info[1].As<Napi::Number>().DoubleValue(), to = info[2].As<Napi::Number>().DoubleValue();
  const auto names = info[3].As<Napi::Array>();
  if (!(from >= 0 && from <= to && to <= size) || names.Length() > 32) {
    throw Napi::RangeError::New(info.Env(), "scanRows: the bounds are out of range");
  }
  std::vector<std::string> fields;
  for (uint32_t i = 0; i < names.Length(); ++i) fields.push_back(names.Get(i).As<Napi::String>().Utf8Value());
  const char* const begin = reinterpret_cast<const char*>(bytes.Data());
  const char* const end = begin + static_cast<size_t>(to);
  const char* at = begin + static_cast<size_t>(from);
  double rows = 0;
  for (const char* past; (past = SkipRow(at, end, fields)) != nullptr; at = past) ++rows;
  auto answer = Napi::Object::New(info.Env());
  answer.Set("rows", rows);
  answer.Set("offset", static_cast<double>(at - begin));
  return answer;
}

}  // namespace hone
