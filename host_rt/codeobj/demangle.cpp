#include "codeobj/demangle.h"

#include <cstdlib>
#include <cxxabi.h>
#include <memory>
#include <optional>

namespace fade::codeobj {
namespace {

/// Longer names than compilers make are not worth the time they can cost.
constexpr std::size_t kLongestMangled = 16384;

bool isWord(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

std::optional<std::string> demangled(const std::string &name) {
  int status = 0;
  std::unique_ptr<char, void (*)(void *)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0 || text == nullptr) return std::nullopt;
  return text.get();
}

/// Replaces whole words. Whether there was one.
bool exchange(std::string &text, std::string_view from, std::string_view to, bool whole) {
  bool found = false;
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos;) {
    const std::size_t end = at + from.size();
    const bool is_part =
        (at > 0 && isWord(text[at - 1])) || (end < text.size() && isWord(text[end]));
    if (whole && is_part) {
      at = end;
      continue;
    }
    text.replace(at, from.size(), to);
    at += to.size();
    found = true;
  }
  return found;
}

/// Older C++ libraries know neither _Float16 nor __bf16, but types that take the same place in a
/// name: they stand in for them.
std::optional<std::string> demangledWithHalves(std::string name) {
  struct Type {
    std::string_view mangled, other, shown, name;
  };
  constexpr Type types[] = {{"DF16_", "Dh", "half", "_Float16"},
                            {"DF16b", "Df", "decimal32", "__bf16"}};
  bool is_there[2] = {};
  for (std::size_t i = 0; i < 2; ++i)
    is_there[i] = exchange(name, types[i].mangled, types[i].other, false);
  if (!is_there[0] && !is_there[1]) return std::nullopt;
  auto text = demangled(name);
  for (std::size_t i = 0; text && i < 2; ++i)
    if (is_there[i]) exchange(*text, types[i].shown, types[i].name, true);
  return text;
}

} // namespace

std::string demangle(std::string_view name) {
  std::string copy(name);
  if (!name.starts_with("_Z") || name.size() > kLongestMangled) return copy;
  if (auto text = demangled(copy)) return std::move(*text);
  if (auto text = demangledWithHalves(copy)) return std::move(*text);
  return copy;
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
