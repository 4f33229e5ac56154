// Writes rows of comma-separated values (RFC 4180). Header-only.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>
#include <utility>

namespace fade {

class CsvWriter {
public:
  template <typename... T> void row(const T &...fields) {
    bool first = true;
    ((text_.append(std::exchange(first, false) ? "" : ","), put(fields)), ...);
    text_ += '\n';
  }
  // A row of as many fields as there are.
  template <typename R> void list(const R &fields) {
    bool first = true;
    for (const auto &field : fields) {
      text_.append(std::exchange(first, false) ? "" : ",");
      put(field);
    }
    text_ += '\n';
  }
  std::string take() { return std::exchange(text_, {}); }

private:
  void put(std::string_view field) {
    if (field.find_first_of(",\"\r\n") == std::string_view::npos) {
      text_ += field;
      return;
    }
    text_ += '"';
    for (const char c : field) {
      if (c == '"') text_ += '"';
      text_ += c;
    }
    text_ += '"';
  }
  template <typename T>
  requires(std::integral<T> || std::floating_point<T>) void put(T value) {
    char digits[40];
    text_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
  }

  std::string text_;
};

} // namespace fade
