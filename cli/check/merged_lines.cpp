#include "check/merged_lines.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace fade::cli {
namespace {

/// How far from the instruction's line others are looked for.
constexpr uint32_t kReach = 64;
constexpr int kDeepestDefinition = 4;

bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool isSpace(char c) { return c == ' ' || c == '\t'; }

std::string withoutSpaces(std::string_view text) {
  std::string out;
  std::ranges::copy_if(text, std::back_inserter(out), [](char c) { return !isSpace(c); });
  return out;
}

/// `name[index].member` in a line.
struct Chain {
  std::string name;
  std::vector<std::string> steps;   ///< "[" or a member
  std::vector<std::string> indices; ///< of each step; empty for members
  std::vector<std::size_t> starts;  ///< of the name and the members
  std::size_t end = 0;
  uint32_t line = 0;
  std::size_t assigned = std::string::npos; ///< where the operator is that stores to it
  bool reads = true;
};

std::size_t skipSpaces(std::string_view text, std::size_t at) {
  while (at < text.size() && isSpace(text[at])) ++at;
  return at;
}

/// Behind the bracket that closes the one at `open`; npos if there is none.
std::size_t closing(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '[' || text[i] == '(') ++depth;
    if ((text[i] == ']' || text[i] == ')') && --depth == 0) return i + 1;
  }
  return std::string_view::npos;
}

/// What is done with a chain that ends at `at`.
void setUse(Chain &chain, std::string_view text, std::size_t at) {
  at = skipSpaces(text, at);
  const std::string_view rest = text.substr(std::min(at, text.size()));
  const bool steps_up = rest.starts_with("++") || rest.starts_with("--");
  constexpr std::string_view operators = "+-*/%&|^";
  const bool compound =
      rest.size() > 1 && rest[1] == '=' && operators.find(rest[0]) != operators.npos;
  const bool plain = rest.starts_with("=") && !rest.starts_with("==");
  if (!steps_up && !compound && !plain) return;
  chain.assigned = at;
  chain.reads = !plain;
}

/// The chain that begins with the word at `at`; nothing if there is none.
std::optional<Chain> chainAt(std::string_view text, std::size_t at, uint32_t line) {
  Chain chain;
  chain.line = line;
  chain.starts.push_back(at);
  std::size_t end = at;
  while (end < text.size() && isWord(text[end])) ++end;
  chain.name = text.substr(at, end - at);
  for (;;) {
    const std::size_t next = skipSpaces(text, end);
    if (next >= text.size()) break;
    if (text[next] == '(') return std::nullopt; // a call
    if (text[next] == '[') {
      const std::size_t close = closing(text, next);
      if (close == text.npos) return std::nullopt;
      chain.steps.emplace_back("[");
      chain.indices.emplace_back(text.substr(next + 1, close - next - 2));
      end = close;
      continue;
    }
    const std::size_t dot = text[next] == '.' ? 1 : text.substr(next).starts_with("->") ? 2 : 0;
    if (!dot || next + dot >= text.size() || !isWord(text[next + dot])) break;
    chain.starts.push_back(next + dot);
    end = next + dot;
    while (end < text.size() && isWord(text[end])) ++end;
    chain.steps.emplace_back(text.substr(next + dot, end - next - dot));
    chain.indices.emplace_back();
  }
  if (chain.steps.empty()) return std::nullopt;
  chain.end = end;
  setUse(chain, text, end);
  return chain;
}

/// Whether the name at `at` is declared there as an array: `float left[64]`, also behind a comma of
/// `__shared__ float left[64], right[64]`.
bool isDeclared(std::string_view text, std::size_t at) {
  while (at > 0 && isSpace(text[at - 1])) --at;
  if (at == 0) return false;
  if (isWord(text[at - 1])) {
    std::size_t begin = at;
    while (begin > 0 && isWord(text[begin - 1])) --begin;
    const std::string_view word = text.substr(begin, at - begin);
    return word != "return" && word != "else" && word != "case" && word != "do";
  }
  const std::size_t statement = text.find_last_of(";{}", at - 1) + 1; // npos + 1 is 0
  return text[at - 1] == ',' &&
         text.substr(statement, at - statement).find("__shared__") != text.npos;
}

std::vector<Chain> chainsIn(std::string_view text, uint32_t line) {
  std::vector<Chain> chains;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = isWord(text[i]) && !std::isdigit(static_cast<unsigned char>(text[i])) &&
                        (i == 0 || (!isWord(text[i - 1]) && text[i - 1] != '.' &&
                                    !(i > 1 && text[i - 1] == '>' && text[i - 2] == '-')));
    if (!begins) continue;
    auto chain = chainAt(text, i, line);
    std::size_t before = i;
    while (before > 0 && isSpace(text[before - 1])) --before;
    const bool is_address = before > 0 && text[before - 1] == '&' &&
                            (before < 2 || (!isWord(text[before - 2]) && text[before - 2] != ' ' &&
                                            text[before - 2] != ')'));
    if (chain && !is_address && !isDeclared(text, i)) chains.push_back(std::move(*chain));
  }
  return chains;
}

/// The lines of the function, as far as they are near, without comments.
class Body {
public:
  Body(const std::vector<std::string> &source, uint32_t line) {
    const auto text = [&](uint32_t number) {
      const std::string &all = source[number - 1];
      return all.substr(0, all.find("//"));
    };
    // All of a function in one line.
    const auto is_whole = [&](uint32_t number) {
      const std::string all = text(number);
      const auto last = all.find_last_not_of(" \t\r");
      return !all.empty() && !isSpace(all[0]) && all[last] == '}';
    };
    first_ = line;
    if (is_whole(line)) {
      lines_.push_back(text(line));
      return;
    }
    while (first_ > 1 && line - first_ < kReach && !is_whole(first_ - 1) &&
           !source[first_ - 2].starts_with('}'))
      --first_;
    for (uint32_t i = first_; i <= source.size() && i < line + kReach; ++i) {
      if (i > line && source[i - 1].starts_with('}')) break;
      lines_.push_back(text(i));
    }
  }
  std::vector<Chain> chains() const {
    std::vector<Chain> all;
    for (std::size_t i = 0; i < lines_.size(); ++i)
      std::ranges::move(chainsIn(lines_[i], first_ + static_cast<uint32_t>(i)),
                        std::back_inserter(all));
    return all;
  }
  /// What a variable is set to, if that is done in one place only.
  std::optional<std::string> definition(const std::string &name) const {
    std::optional<std::string> found;
    for (const std::string &text : lines_)
      for (std::size_t at = 0; (at = text.find(name, at)) != text.npos; at += name.size()) {
        const std::size_t end = at + name.size();
        if ((at > 0 && (isWord(text[at - 1]) || text[at - 1] == '.' || text[at - 1] == '>')) ||
            (end < text.size() && isWord(text[end])))
          continue;
        Chain use;
        setUse(use, text, end);
        const bool is_stepped =
            at > 1 && (text.compare(at - 2, 2, "++") == 0 || text.compare(at - 2, 2, "--") == 0);
        if (use.assigned == text.npos && !is_stepped) continue;
        const std::size_t stop = valueEnd(text, use.assigned + 1);
        if (found || use.reads || is_stepped || stop == text.npos) return std::nullopt;
        found = text.substr(use.assigned + 1, stop - use.assigned - 1);
      }
    return found;
  }

private:
  /// The comma or semicolon behind a value that begins at `at`.
  static std::size_t valueEnd(std::string_view text, std::size_t at) {
    int depth = 0;
    for (std::size_t i = std::min(at, text.size()); i < text.size(); ++i) {
      if (text[i] == '(' || text[i] == '[') ++depth;
      if (text[i] == ')' || text[i] == ']') --depth;
      if (depth <= 0 && (text[i] == ',' || text[i] == ';')) return i;
    }
    return text.npos;
  }
  uint32_t first_ = 0;
  std::vector<std::string> lines_;
};

/// A sum: how often each term is in it, and what is left.
struct Sum {
  std::map<std::string, int64_t> terms;
  int64_t constant = 0;
};

void addTo(Sum &sum, std::string text, int64_t sign, const Body &body, int depth) {
  while (text.size() > 1 && text.front() == '(' && closing(text, 0) == text.size())
    text = text.substr(1, text.size() - 2);
  int level = 0;
  std::size_t begin = 0;
  std::vector<std::pair<std::string, int64_t>> parts;
  int64_t next = sign;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : '+';
    if (c == '(' || c == '[') ++level;
    if (c == ')' || c == ']') --level;
    constexpr std::string_view joins = "*/%<>&|^?:=!~,";
    const bool splits =
        level == 0 && (c == '+' || c == '-') && (i == 0 || joins.find(text[i - 1]) == joins.npos);
    if (!splits) continue;
    if (i > begin) parts.emplace_back(text.substr(begin, i - begin), next);
    next = c == '-' ? -sign : sign;
    begin = i + 1;
  }
  // Operators that bind less than a sum.
  constexpr std::string_view weak = "<>&|^?:=!,";
  const bool is_one = std::ranges::any_of(text, [&](char c) { return weak.find(c) != weak.npos; });
  if (is_one) {
    sum.terms[text] += sign;
    return;
  }
  if (parts.size() > 1) {
    for (const auto &[part, part_sign] : parts) addTo(sum, part, part_sign, body, depth);
    return;
  }
  if (!parts.empty()) text = parts.front().first, sign = parts.front().second;
  uint64_t number = 0;
  int length = 0;
  if (std::sscanf(text.c_str(), "%20lu%n", &number, &length) == 1 &&
      text.find_first_not_of("uUlL", static_cast<std::size_t>(length)) == text.npos) {
    sum.constant += sign * static_cast<int64_t>(number & 0xffffffff);
    return;
  }
  if (depth > 0 && !text.empty() && std::ranges::all_of(text, isWord))
    if (const auto value = body.definition(text)) {
      addTo(sum, withoutSpaces(*value), sign, body, depth - 1);
      return;
    }
  sum.terms[text] += sign;
}

Sum sumOf(const std::string &text, const Body &body) {
  Sum sum;
  addTo(sum, withoutSpaces(text), 1, body, kDeepestDefinition);
  std::erase_if(sum.terms, [](const auto &term) { return term.second == 0; });
  return sum;
}

/// Bytes from what one chain accesses to what the other does.
std::optional<int64_t> distance(const Chain &from, const Chain &to, const LayoutOf &layout,
                                const Body &body) {
  const auto a = layout(from.name, from.steps), b = layout(to.name, to.steps);
  if (!a || !b || a->first != b->first || a->size != b->size ||
      a->strides.size() != b->strides.size())
    return std::nullopt;
  int64_t bytes = static_cast<int64_t>(b->offset) - static_cast<int64_t>(a->offset);
  for (std::size_t i = 0; i < from.steps.size(); ++i) {
    const bool is_index = from.steps[i] == "[";
    if (is_index != (to.steps[i] == "[")) return std::nullopt;
    if (i < a->first) {
      if (from.steps[i] != to.steps[i] ||
          withoutSpaces(from.indices[i]) != withoutSpaces(to.indices[i]))
        return std::nullopt;
      continue;
    }
    if (!is_index) continue;
    const uint64_t stride = a->strides[i - a->first];
    if (stride != b->strides[i - a->first]) return std::nullopt;
    const Sum x = sumOf(from.indices[i], body), y = sumOf(to.indices[i], body);
    if (x.terms != y.terms) return std::nullopt;
    bytes += (y.constant - x.constant) * static_cast<int64_t>(stride);
  }
  return bytes;
}

/// The pieces of memory that an instruction accesses, from the first on.
struct Piece {
  int64_t begin = 0, size = 0;
  std::optional<uint32_t> data; ///< its first register
};

std::optional<uint32_t> registerAt(std::string_view operand) {
  operand.remove_prefix(std::min(operand.find_first_not_of(' '), operand.size()));
  if (operand.size() < 2 || (operand[0] != 'v' && operand[0] != 'a')) return std::nullopt;
  unsigned number = 0;
  const std::string digits(operand.substr(operand[1] == '[' ? 2 : 1));
  if (std::sscanf(digits.c_str(), "%4u", &number) != 1) return std::nullopt;
  return number + (operand[0] == 'a' ? 256 : 0);
}

std::vector<Piece> piecesOf(const MergedAccess &access) {
  const std::string &text = access.instruction;
  const std::string name = text.substr(0, text.find(' '));
  const bool is_pair = name.starts_with("ds_") &&
                       (name.find("read2") != name.npos || name.find("write2") != name.npos ||
                        name.find("_2addr_") != name.npos);
  if (!is_pair) return {{0, access.size, access.data}};
  const bool is_far = name.find("st64") != name.npos || name.find("stride64") != name.npos;
  const int64_t size = name.ends_with("64") ? 8 : 4;
  const auto offset = [&](const char *word) {
    const auto at = text.find(word);
    unsigned value = 0;
    if (at != text.npos)
      std::sscanf(text.c_str() + at + std::string_view(word).size(), "%3u", &value);
    return static_cast<int64_t>(value) * size * (is_far ? 64 : 1);
  };
  std::vector<std::string_view> operands;
  for (std::string_view rest = std::string_view(text).substr(std::min(name.size(), text.size()));
       ;) {
    const auto comma = rest.find(',');
    operands.push_back(rest.substr(0, comma));
    if (comma == rest.npos) break;
    rest.remove_prefix(comma + 1);
  }
  std::optional<uint32_t> first, second;
  if (access.writes && operands.size() > 2)
    first = registerAt(operands[1]), second = registerAt(operands[2]);
  if (!access.writes && (first = registerAt(operands[0])))
    second = *first + static_cast<uint32_t>(size / 4);
  if (first == second) first = second = std::nullopt; // the same value twice
  return {{offset("offset0:"), size, first}, {offset("offset1:"), size, second}};
}

/// A line that may have a part in the instruction.
struct Part {
  Chain chain;
  std::optional<int64_t> from_shown; ///< bytes
};

/// Where each byte of the instruction is from, if what is shown begins `shown` bytes behind its
/// start; nothing if that does not cover it.
std::optional<std::map<int64_t, const Chain *>> cover(const std::vector<Piece> &pieces,
                                                      const std::vector<Part> &parts, int64_t leaf,
                                                      int64_t shown) {
  std::map<int64_t, const Chain *> lines;
  for (const Piece &piece : pieces)
    for (int64_t byte = piece.begin; byte < piece.begin + piece.size; ++byte) {
      const auto of = std::ranges::find_if(parts, [&](const Part &p) {
        return p.from_shown && byte >= shown + *p.from_shown && byte < shown + *p.from_shown + leaf;
      });
      if (of == parts.end()) return std::nullopt;
      lines[byte] = &of->chain;
    }
  return lines;
}

std::optional<int64_t> byteOf(const MergedAccess &access, const std::vector<Piece> &pieces) {
  if (!access.byte) return std::nullopt;
  if (pieces.size() == 1) return *access.byte;
  for (const Piece &piece : pieces)
    if (piece.data && piece.data == access.data) return piece.begin + *access.byte;
  return std::nullopt;
}

uint32_t columnOf(const Chain &chain, bool writes) {
  if (writes) return static_cast<uint32_t>(chain.assigned + 1);
  const bool is_member = chain.steps.back() != "[";
  return static_cast<uint32_t>((is_member ? chain.starts.back() : chain.starts.front()) + 1);
}

} // namespace

bool hasAccess(const std::string &line, uint32_t column, bool writes) {
  return std::ranges::any_of(chainsIn(line.substr(0, line.find("//")), 0), [&](const Chain &c) {
    return (writes ? c.assigned != std::string::npos : c.reads) &&
           std::ranges::count(c.steps, "[") != 0 && column > c.starts.front() && column <= c.end;
  });
}

std::optional<MergedLines> mergedLines(const MergedAccess &access,
                                       const std::vector<std::string> &source,
                                       const LayoutOf &layout) {
  if (access.line == 0 || access.column == 0 || access.line > source.size()) return std::nullopt;
  const Body body(source, access.line);
  std::vector<Chain> chains = body.chains();
  std::erase_if(chains, [&](const Chain &c) {
    return access.writes ? c.assigned == std::string::npos : !c.reads;
  });
  const std::size_t column = access.column - 1;
  const auto shown = std::ranges::find_if(chains, [&](const Chain &c) {
    return c.line == access.line &&
           (std::ranges::count(c.starts, column) != 0 || (access.writes && c.assigned == column));
  });
  if (shown == chains.end()) return std::nullopt;
  const auto own = layout(shown->name, shown->steps);
  const std::vector<Piece> pieces = piecesOf(access);
  int64_t total = 0, end = 0;
  for (const Piece &piece : pieces)
    total += piece.size, end = std::max(end, piece.begin + piece.size);
  if (!own || own->size == 0 || static_cast<int64_t>(own->size) >= total) return std::nullopt;
  const auto leaf = static_cast<int64_t>(own->size);
  std::vector<Part> parts{{*shown, 0}}; // where lines access the same, it is the one that is shown
  for (const Chain &chain : chains) {
    if (&chain == &*shown || chain.name != shown->name) continue;
    const auto bytes = distance(*shown, chain, layout, body);
    if (!bytes || (*bytes != 0 && *bytes > -end && *bytes < end)) parts.push_back({chain, bytes});
  }
  std::optional<std::map<int64_t, const Chain *>> lines;
  int ways = 0;
  for (int64_t at = 0; at + leaf <= end; ++at)
    if (auto found = cover(pieces, parts, leaf, at)) {
      ++ways;
      lines = std::move(found);
    }
  MergedLines merged;
  std::set<uint32_t> all;
  const auto byte = byteOf(access, pieces);
  if (ways == 1 && lines) {
    for (const auto &[at, chain] : *lines) all.insert(chain->line);
    if (byte && lines->contains(*byte)) {
      const Chain &chain = *lines->at(*byte);
      merged.line = chain.line;
      merged.column = columnOf(chain, access.writes);
    }
  } else {
    for (const Part &part : parts) all.insert(part.chain.line);
  }
  all.erase(merged.line != 0 ? merged.line : access.line);
  merged.others.assign(all.begin(), all.end());
  if (merged.others.empty()) return std::nullopt;
  return merged;
}

} // namespace fade::cli
