// Text in XML and HTML.
#pragma once

#include "fade/json_writer.h"

#include <cctype>
#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <string_view>

namespace fade::compare {

/// XML knows no way to write most control characters.
inline std::string escapeMarkup(const std::string &text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (static_cast<unsigned char>(c) >= 0x80) {
      // Nor is there one for bytes that are no text, and U+FFFE and U+FFFF are none.
      const std::size_t length = utf8Length(std::string_view(text).substr(i));
      const std::string one = text.substr(i, length);
      const bool is_text = length != 0 && one != "\xef\xbf\xbe" && one != "\xef\xbf\xbf";
      out += is_text ? one : "?";
      i += length == 0 ? 0 : length - 1;
      continue;
    }
    switch (c) {
    case '&': out += "&amp;"; break;
    case '<': out += "&lt;"; break;
    case '>': out += "&gt;"; break;
    case '"': out += "&quot;"; break;
    case '\n': out += "&#10;"; break;
    default: out += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
  }
  return out;
}

/// An absolute path as a URI with its scheme, another one as a relative reference.
inline std::string pathUri(const std::string &path) {
  std::string uri = path.starts_with('/') ? "file://" : "";
  for (const char c : path) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                          std::string_view("/-._~").find(c) != std::string_view::npos;
    uri += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

/// Relative to the folder that the run was started in, as those who read SARIF expect it, if it is
/// below that.
inline std::string fileUri(const std::string &file) {
  std::error_code error;
  const auto here = std::filesystem::current_path(error);
  const std::string prefix = here.string() + '/';
  return pathUri(!error && file.starts_with(prefix) ? file.substr(prefix.size()) : file);
}

} // namespace fade::compare
