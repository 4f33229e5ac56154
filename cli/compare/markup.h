// Text in XML and HTML.
#pragma once

#include <string>

namespace fade::compare {

/// XML knows no way to write most control characters.
inline std::string escapeMarkup(const std::string &text) {
  std::string out;
  for (const char c : text) {
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
