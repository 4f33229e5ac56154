#include "optimize/source_text.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace fade::cli {
namespace {

bool isWordByte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}

/// Behind a text or character that begins here with a quote.
std::size_t behindQuotes(std::string_view source, std::size_t at) {
  const char quote = source[at++];
  while (at < source.size() && source[at] != quote && source[at] != '\n')
    at += source[at] == '\\' ? 2 : 1;
  return std::min(at + 1, source.size());
}

/// Behind R"x(...)x", whose quote is here.
std::size_t behindRawText(std::string_view source, std::size_t at) {
  const std::size_t open = source.find('(', at);
  if (open == std::string_view::npos || open - at > 17) return at + 1;
  const std::string close = ")" + std::string(source.substr(at + 1, open - at - 1)) + "\"";
  const std::size_t end = source.find(close, open);
  return end == std::string_view::npos ? source.size() : end + close.size();
}

/// Behind the end of a line that goes on where a backslash says so.
std::size_t behindLine(std::string_view source, std::size_t at) {
  while (true) {
    const std::size_t end = source.find('\n', at);
    if (end == std::string_view::npos) return source.size();
    std::size_t last = end;
    if (last > 0 && source[last - 1] == '\r') --last;
    if (last == 0 || source[last - 1] != '\\') return end + 1;
    at = end + 1;
  }
}

} // namespace

SourceText::SourceText(std::string_view source) : source_(source) {
  split();
  pair();
  findKernels();
}

void SourceText::split() {
  bool is_line_begin = true;
  for (std::size_t at = 0; at < source_.size();) {
    const char c = source_[at];
    if (c == '\n') {
      is_line_begin = true;
      ++at;
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++at;
    } else if (source_.substr(at, 2) == "//" || (c == '#' && is_line_begin)) {
      at = behindLine(source_, at);
      is_line_begin = true;
    } else if (source_.substr(at, 2) == "/*") {
      const std::size_t close = source_.find("*/", at + 2);
      at = close == std::string_view::npos ? source_.size() : close + 2;
    } else if (c == '"' || c == '\'') {
      const bool is_raw = c == '"' && at > 0 && source_[at - 1] == 'R';
      at = is_raw ? behindRawText(source_, at) : behindQuotes(source_, at);
      is_line_begin = false;
    } else {
      std::size_t end = at + 1;
      if (isWordByte(c))
        // 1'000 is one number.
        while (end < source_.size() &&
               (isWordByte(source_[end]) ||
                (source_[end] == '\'' && std::isdigit(static_cast<unsigned char>(c)) != 0)))
          ++end;
      tokens_.push_back({source_.substr(at, end - at), at});
      at = end;
      is_line_begin = false;
    }
  }
}

void SourceText::pair() {
  partners_.assign(tokens_.size(), tokens_.size());
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const std::string_view text = tokens_[i].text;
    if (text == "(" || text == "[" || text == "{") open.push_back(i);
    if (text != ")" && text != "]" && text != "}") continue;
    const std::string_view opening = text == ")" ? "(" : text == "]" ? "[" : "{";
    if (open.empty() || !is(open.back(), opening)) continue; // it does not compile, then
    partners_[open.back()] = i;
    partners_[i] = open.back();
    open.pop_back();
  }
}

bool SourceText::isName(std::size_t token) const {
  if (token >= tokens_.size()) return false;
  const char c = tokens_[token].text[0];
  return isWordByte(c) && std::isdigit(static_cast<unsigned char>(c)) == 0;
}

std::string_view SourceText::between(std::size_t first, std::size_t last) const {
  return source_.substr(tokens_[first].at, tokens_[last].end() - tokens_[first].at);
}

void SourceText::findKernels() {
  const std::size_t count = tokens_.size();
  const auto isAttribute = [&](std::size_t i) {
    return is(i, "__attribute__") || is(i, "__launch_bounds__") || is(i, "alignas") ||
           is(i, "__declspec");
  };
  for (std::size_t i = 0; i < count; ++i) {
    if (!is(i, "__global__")) continue;
    KernelText kernel;
    kernel.begin = i;
    std::size_t at = i + 1;
    // The name is the first word before parentheses that is no attribute; it may have arguments of
    // a template.
    for (; at < count && !is(at, ";") && !is(at, "{"); ++at) {
      if (isAttribute(at) && is(at + 1, "(")) {
        at = partners_[at + 1];
        continue;
      }
      if (isName(at) && is(at + 1, "(")) break;
    }
    if (at >= count || !is(at + 1, "(") || partners_[at + 1] == count) continue;
    kernel.name = tokens_[at].text;
    kernel.parameters = at + 1;
    kernel.parameters_end = partners_[at + 1];
    at = kernel.parameters_end + 1;
    while (isAttribute(at) && is(at + 1, "(") && partners_[at + 1] < count)
      at = partners_[at + 1] + 1;
    if (!is(at, "{") || partners_[at] == count) continue; // only declared
    kernel.body = at;
    kernel.body_end = partners_[at];
    kernels_.push_back(kernel);
  }
}

const KernelText *SourceText::kernel(std::string_view name) const {
  const auto first = std::ranges::find(kernels_, name, &KernelText::name);
  if (first == kernels_.end() ||
      std::ranges::find(first + 1, kernels_.end(), name, &KernelText::name) != kernels_.end())
    return nullptr;
  return &*first;
}

std::string plainNameOf(std::string_view demangled) {
  std::string name;
  int angles = 0;
  constexpr std::string_view nameless = "(anonymous namespace)::";
  for (std::size_t i = 0; i < demangled.size(); ++i) {
    const char c = demangled[i];
    if (demangled.substr(i, nameless.size()) == nameless) {
      i += nameless.size() - 1;
      name.clear();
      continue;
    }
    if (c == '<') ++angles;
    if (angles == 0) {
      if (c == '(') break;
      if (isWordByte(c))
        name += c;
      else
        name.clear(); // a type or a namespace
    }
    if (c == '>') --angles;
  }
  return name;
}

std::string Edits::applyTo(std::string_view source) const {
  std::vector<Edit> sorted = all_;
  std::ranges::sort(sorted, {}, [](const Edit &edit) { return std::pair(edit.at, edit.number); });
  std::string text;
  std::size_t from = 0;
  for (const Edit &edit : sorted) {
    text += source.substr(from, edit.at - from);
    text += edit.text;
    from = edit.at + edit.length;
  }
  return text += source.substr(from);
}

} // namespace fade::cli
