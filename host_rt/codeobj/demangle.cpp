#include "codeobj/demangle.h"

#include <cstdlib>
#include <cxxabi.h>
#include <memory>

namespace fade::codeobj {
namespace {

/// Longer names than compilers make are not worth the time they can cost.
constexpr std::size_t kLongestMangled = 16384;

bool isWord(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

} // namespace

std::string demangle(std::string_view name) {
  std::string copy(name);
  if (!name.starts_with("_Z") || name.size() > kLongestMangled) return copy;
  int status = 0;
  std::unique_ptr<char, void (*)(void *)> text(
      abi::__cxa_demangle(copy.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text != nullptr ? text.get() : copy;
}

std::string demangleShort(std::string_view name) {
  std::string full = demangle(name);
  if (full == name) return full;
  // The parameters start at the last '(' that is not inside brackets of any kind.
  std::size_t parameters = full.size();
  int depth = 0;
  for (std::size_t i = full.size(); i-- > 0;) {
    char c = full[i];
    if (c == ')' || (c == '>' && (i == 0 || full[i - 1] != '-'))) ++depth;
    if (c == '<') --depth;
    if (c == '(' && --depth == 0) {
      bool anonymous = full.compare(i, 21, "(anonymous namespace)") == 0;
      if (!anonymous) {
        parameters = i;
        break;
      }
    }
  }
  // The return type ends at the last blank outside brackets before that.
  std::size_t begin = 0;
  depth = 0;
  for (std::size_t i = parameters; i-- > 0;) {
    char c = full[i];
    if (c == '>' || c == ')') ++depth;
    if (c == '<' || c == '(') --depth;
    if (c == ' ' && depth == 0 && i + 1 < parameters &&
        (isWord(full[i + 1]) || full[i + 1] == '(')) {
      begin = i + 1;
      break;
    }
  }
  return full.substr(begin, parameters - begin);
}

} // namespace fade::codeobj
