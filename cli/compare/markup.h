// Text in XML and HTML.
#pragma once

#include "fade/json_writer.h"

#include <string>

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

} // namespace fade::compare
