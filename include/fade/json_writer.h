// Writes one JSON object after the other, one per line. Header-only.
//
//   JsonWriter json;
//   json.object([&] {
//     json.field("type", "summary");
//     json.list("grid", [&] { json.value(64); });
//   });
//   sink.write(json.take());
//
// Strings may hold anything: bytes that are not UTF-8 become U+FFFD, so that the line is always
// valid JSON.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace fade {

// Bytes of the UTF-8 sequence at the start of a text that is not empty; 0 if there is none: not a
// leading byte, cut short, longer than needed, a surrogate or beyond Unicode.
std::size_t utf8Length(std::string_view rest);

class JsonWriter {
public:
  // A whole line: an object at the outermost level, or an element of a list.
  template <typename F> void object(F &&members) {
    separate();
    nest('{', '}', members);
    if (depth_ == 0) text_ += '\n';
  }
  template <typename F> void object(std::string_view key, F &&members) {
    putKey(key);
    nest('{', '}', members);
  }
  template <typename F> void list(std::string_view key, F &&elements) {
    putKey(key);
    nest('[', ']', elements);
  }
  // A list within a list.
  template <typename F> void list(F &&elements) {
    separate();
    nest('[', ']', elements);
  }
  template <typename T> void field(std::string_view key, const T &what) {
    putKey(key);
    put(what);
  }
  template <typename T> void value(const T &what) {
    separate();
    put(what);
  }

  const std::string &text() const { return text_; }
  std::string take() {
    first_ = true;
    return std::exchange(text_, {});
  }

private:
  template <typename F> void nest(char open, char close, F &&inside) {
    text_ += open;
    ++depth_;
    first_ = true;
    inside();
    --depth_;
    first_ = depth_ == 0;
    text_ += close;
  }
  void separate() {
    if (!first_) text_ += ',';
    first_ = false;
  }
  void putKey(std::string_view key) {
    separate();
    put(key);
    text_ += ':';
  }

  void put(bool value) { text_ += value ? "true" : "false"; }
  void put(std::nullptr_t) { text_ += "null"; }
  template <std::integral T>
  requires(!std::same_as<T, bool>) void put(T value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    text_.append(digits, end);
  }
  void put(double value) {
    if (!std::isfinite(value)) return put(nullptr);
    char digits[40];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    text_.append(digits, end);
  }
  void put(const char *value) { put(std::string_view(value)); }
  void put(const std::string &value) { put(std::string_view(value)); }
  void put(std::string_view value);

  std::string text_;
  int depth_ = 0;
  bool first_ = true;
};

inline void JsonWriter::put(std::string_view value) {
  text_ += '"';
  for (std::size_t i = 0; i < value.size();) {
    const auto c = static_cast<unsigned char>(value[i]);
    if (c == '"' || c == '\\') {
      (text_ += '\\') += value[i++];
    } else if (c < 0x20 || c == 0x7f) {
      constexpr char hex[] = "0123456789abcdef";
      text_ += "\\u00";
      (text_ += hex[c >> 4]) += hex[c & 15];
      ++i;
    } else if (const std::size_t length = utf8Length(value.substr(i)); length != 0) {
      text_.append(value.substr(i, length));
      i += length;
    } else {
      text_ += "\xef\xbf\xbd";
      ++i;
    }
  }
  text_ += '"';
}

inline std::size_t utf8Length(std::string_view rest) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(rest[i]); };
  const unsigned lead = at(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || rest.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((at(i) & 0xc0) != 0x80) return 0;
  const unsigned second = at(1);
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second >= 0xa0) ||
      (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second >= 0x90))
    return 0;
  return length;
}

} // namespace fade
