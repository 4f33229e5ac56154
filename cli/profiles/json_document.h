// A file that is one JSON document, written piece by piece: an object with a few fields, then lists
// with an entry in each line, so that tools for lines can read them as well.
#pragma once

#include "base/result.h"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <string>
#include <string_view>

namespace fade::profile {

class JsonDocument {
public:
  /// `head`: an object with at least one field, as text.
  JsonDocument(const std::string &path, std::string_view head)
      : path_(path), out_(path, std::ios::binary) {
    if (!out_) error_ = errno;
    out_ << head.substr(0, head.rfind('}'));
  }
  void list(std::string_view name) {
    endList();
    out_ << fmt::format(",\n\"{}\":[", name);
    is_in_list_ = is_first_ = true;
  }
  /// An object, as text, with or without a newline at its end.
  void entry(std::string_view object) {
    out_ << (is_first_ ? "\n" : ",\n") << object.substr(0, object.rfind('}') + 1);
    is_first_ = false;
  }
  Status close() {
    endList();
    out_ << "}\n";
    out_.close();
    if (out_) return Done{};
    return Error::of(
        fmt::format("cannot write {}: {}", path_, std::strerror(error_ != 0 ? error_ : errno)));
  }

private:
  void endList() {
    if (is_in_list_) out_ << "\n]";
    is_in_list_ = false;
  }

  const std::string path_;
  std::ofstream out_;
  bool is_in_list_ = false, is_first_ = true;
  int error_ = 0;
};

} // namespace fade::profile
