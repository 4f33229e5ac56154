// Regular expressions by which kernels, functions, files and callers are chosen: the same engine
// and the same syntax for every option that takes one.
//
// Names are matched in threads of the application, and some have 100,000 characters. So the time of
// a match is bounded by the length of the text times the size of the expression, whatever they are,
// the memory by the size of the expression, and nothing recurses over the text. That leaves out
// back-references and look-around, which cannot be had so.
//
//   auto wanted = fade::Expression::parse("^gemm_(f16|bf16)", why);
//   if (wanted && wanted->isIn(name)) …
//
// Syntax, with the meaning that RE2 gives it; text is bytes:
//   abc  .  [a-z]  [^a-z]  [[:alpha:]]   characters; a dot is any but a newline
//   \d \w \s  \D \W \S                   digits, letters of words, blanks, and others
//   \n \t \r \f \v \a \x41  \. \( …      characters that cannot be written otherwise
//   x|y  (x)  (?:x)  (?P<name>x)         alternatives and groups
//   x*  x+  x?  x{2}  x{2,}  x{2,5}      repetitions (up to 1000); a further ? changes nothing
//   ^  $  \A  \z  \b  \B                 beginning and end of the text, and of words
//   (?i) at the beginning                small and capital letters are the same
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fade {

class Expression {
public:
  /// Nothing, and one line about the mistake, if the text is no such expression.
  static std::optional<Expression> parse(std::string_view text, std::string &mistake);

  /// Whether a part of the text matches.
  bool isIn(std::string_view text) const;

private:
  using Characters = std::bitset<256>;
  enum class Op : uint8_t { characters, split, jump, assertion, match };
  enum class Assertion : uint8_t { text_begin, text_end, word_edge, no_word_edge };
  struct Instruction {
    Op op = Op::match;
    Assertion assertion = Assertion::text_begin;
    uint32_t characters = 0; ///< index in classes_
    int32_t first = 1;       ///< where to go on, from here; split prefers neither
    int32_t second = 1;
  };
  class Parser;
  class Threads;

  static bool holds(Assertion assertion, std::string_view text, std::size_t at);
  void follow(Threads &to, uint32_t from, std::string_view text, std::size_t at) const;

  std::vector<Instruction> code_;
  std::vector<Characters> classes_;
  bool is_anchored_ = false; ///< begins with ^ in every alternative: one try is enough
};

namespace expression_detail {

inline bool isWord(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

} // namespace expression_detail

/// The instructions that the text so far may be at, each once.
class Expression::Threads {
public:
  explicit Threads(std::size_t size) : place_(size), list_(size) {}
  void clear() { count_ = 0; }
  bool add(uint32_t at) {
    if (place_[at] < count_ && list_[place_[at]] == at) return false;
    place_[at] = count_;
    list_[count_++] = at;
    return true;
  }
  uint32_t count() const { return count_; }
  uint32_t operator[](uint32_t i) const { return list_[i]; }
  std::vector<uint32_t> pending; ///< for follow()

private:
  std::vector<uint32_t> place_, list_;
  uint32_t count_ = 0;
};

inline bool Expression::holds(Assertion assertion, std::string_view text, std::size_t at) {
  using expression_detail::isWord;
  const auto isEdge = [&] {
    const bool before = at > 0 && isWord(static_cast<unsigned char>(text[at - 1]));
    return before != (at < text.size() && isWord(static_cast<unsigned char>(text[at])));
  };
  switch (assertion) {
  case Assertion::text_begin: return at == 0;
  case Assertion::text_end: return at == text.size();
  case Assertion::word_edge: return isEdge();
  case Assertion::no_word_edge: return !isEdge();
  }
  return false;
}

/// Adds what can be reached without reading a character.
inline void Expression::follow(Threads &to, uint32_t from, std::string_view text,
                               std::size_t at) const {
  to.pending.push_back(from);
  while (!to.pending.empty()) {
    const uint32_t here = to.pending.back();
    to.pending.pop_back();
    if (!to.add(here)) continue;
    const Instruction &now = code_[here];
    if (now.op == Op::jump || now.op == Op::split ||
        (now.op == Op::assertion && holds(now.assertion, text, at)))
      to.pending.push_back(static_cast<uint32_t>(static_cast<int32_t>(here) + now.first));
    if (now.op == Op::split)
      to.pending.push_back(static_cast<uint32_t>(static_cast<int32_t>(here) + now.second));
  }
}

inline bool Expression::isIn(std::string_view text) const {
  Threads now(code_.size()), next(code_.size());
  const auto end = static_cast<uint32_t>(code_.size() - 1); // the only match
  for (std::size_t at = 0;; ++at, std::swap(now, next), next.clear()) {
    if (at == 0 || !is_anchored_) follow(now, 0, text, at);
    if (now.count() == 0) return false;
    for (uint32_t i = 0; i < now.count(); ++i) {
      const Instruction &here = code_[now[i]];
      if (now[i] == end) return true;
      if (here.op == Op::characters && at < text.size() &&
          classes_[here.characters][static_cast<unsigned char>(text[at])])
        follow(next, now[i] + 1, text, at + 1);
    }
    if (at >= text.size()) return false;
  }
}

/// Writes code as it reads. All jumps are relative, so that repeating a part is copying it.
class Expression::Parser {
public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::optional<Expression> parse(std::string &mistake) {
    if (text_.starts_with("(?i)")) {
      ignores_case_ = true;
      at_ = 4;
    }
    if (text_.size() > kMostText) fail("is too long");
    alternatives(0);
    if (mistake_.empty() && at_ < text_.size()) fail("has a ) without a (");
    if (!mistake_.empty()) {
      mistake = std::move(mistake_);
      return std::nullopt;
    }
    put({});
    expression_.is_anchored_ = !code().empty() && code()[0].op == Op::assertion &&
                               code()[0].assertion == Assertion::text_begin;
    return std::move(expression_);
  }

private:
  static constexpr std::size_t kMostText = 20'000, kMostCode = 50'000, kMostDepth = 200,
                               kMostRepetitions = 1000;

  std::vector<Instruction> &code() { return expression_.code_; }
  bool isGood() const { return mistake_.empty(); }
  bool isAtEnd() const { return at_ >= text_.size(); }
  bool take(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }
  void fail(std::string what) {
    if (mistake_.empty()) mistake_ = std::move(what);
  }
  void put(const Instruction &instruction) {
    if (code().size() >= kMostCode) return fail("is too large");
    code().push_back(instruction);
  }
  static Instruction jump(std::size_t distance) {
    return {Op::jump, {}, 0, static_cast<int32_t>(distance), 1};
  }
  static Instruction split(std::ptrdiff_t first, std::ptrdiff_t second) {
    return {Op::split, {}, 0, static_cast<int32_t>(first), static_cast<int32_t>(second)};
  }

  void alternatives(std::size_t depth) {
    if (depth > kMostDepth) return fail("has too many groups within each other");
    std::size_t begin = code().size();
    std::vector<std::size_t> ends; // jumps from the end of an alternative to that of all
    while (isGood()) {
      sequence(depth);
      if (!isGood() || !take("|")) break;
      const std::size_t length = code().size() - begin;
      code().insert(code().begin() + static_cast<std::ptrdiff_t>(begin),
                    split(1, static_cast<std::ptrdiff_t>(length) + 2));
      ends.push_back(code().size());
      put(jump(0));
      begin = code().size();
    }
    for (const std::size_t from : ends)
      if (from < code().size()) code()[from] = jump(code().size() - from);
  }

  void sequence(std::size_t depth) {
    while (isGood() && !isAtEnd() && text_[at_] != '|' && text_[at_] != ')') {
      const std::size_t begin = code().size();
      atom(depth);
      if (isGood()) repetitions(begin);
    }
  }

  void repetitions(std::size_t begin) {
    const auto range = repetition();
    if (!range || !isGood()) return;
    (void)take("?"); // lazy or not, it matches the same texts
    if (repetition()) return fail("has a repetition of a repetition");
    const std::vector<Instruction> part(code().begin() + static_cast<std::ptrdiff_t>(begin),
                                        code().end());
    const auto length = static_cast<std::ptrdiff_t>(part.size());
    code().resize(begin);
    const auto copy = [&] {
      for (std::size_t i = 0; i < part.size() && isGood(); ++i) put(part[i]);
    };
    const auto [least, most] = *range;
    for (std::size_t i = 0; i < least && isGood(); ++i) copy();
    if (!most) {
      put(split(1, length + 2));
      copy();
      put(split(-length, 1));
      return;
    }
    for (std::size_t i = least; i < *most && isGood(); ++i) {
      put(split(1, length + 1));
      copy();
    }
  }

  /// Least and most; nothing if there is none here, and then nothing is read.
  std::optional<std::pair<std::size_t, std::optional<std::size_t>>> repetition() {
    if (take("*")) return {{0, std::nullopt}};
    if (take("+")) return {{1, std::nullopt}};
    if (take("?")) return {{0, 1}};
    const std::size_t begin = at_;
    if (!take("{")) return std::nullopt;
    const auto least = number();
    auto most = least;
    if (least && take(",")) most = number();
    if (!least || !take("}")) { // an ordinary character
      at_ = begin;
      return std::nullopt;
    }
    if (*least > kMostRepetitions || (most && (*most > kMostRepetitions || *most < *least))) {
      fail("has a repetition that is out of range");
      return std::nullopt;
    }
    return {{*least, most}};
  }

  std::optional<std::size_t> number() {
    std::optional<std::size_t> value;
    for (; !isAtEnd() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
      value =
          std::min<std::size_t>(value.value_or(0) * 10 + static_cast<std::size_t>(text_[at_] - '0'),
                                kMostRepetitions + 1);
    return value;
  }

  void atom(std::size_t depth) {
    const char c = text_[at_++];
    switch (c) {
    case '(': return group(depth);
    case '[': return characters(bracket());
    case '\\': return escape();
    case '^': return assertion(Assertion::text_begin);
    case '$': return assertion(Assertion::text_end);
    case '*':
    case '+':
    case '?': return fail(std::string("has nothing before ") + c + " that could be repeated");
    case '.': {
      Characters any;
      any.set();
      any.reset('\n');
      return characters(any);
    }
    default:
      --at_;
      if (const std::size_t begin = at_; repetition()) {
        at_ = begin;
        return fail("has nothing before { that could be repeated");
      }
      ++at_;
      characters(one(c));
    }
  }

  void group(std::size_t depth) {
    if (take("?") && !take(":")) {
      (void)take("P");
      const bool is_name = take("<") && !isAtEnd() && text_[at_] != '=' && text_[at_] != '!';
      const std::size_t end = text_.find('>', at_);
      if (!is_name || end == text_.npos)
        return fail(
            "looks ahead or has options: groups are (x), (?:x) and (?P<name>x), and (?i) is "
            "for the beginning");
      at_ = end + 1;
    }
    alternatives(depth + 1);
    if (isGood() && !take(")")) fail("has a ( without a )");
  }

  void assertion(Assertion what) { put({Op::assertion, what, 0, 1, 1}); }
  void characters(const Characters &set) {
    if (!isGood()) return;
    auto &classes = expression_.classes_;
    std::size_t index = 0;
    while (index < classes.size() && classes[index] != set) ++index;
    if (index == classes.size()) classes.push_back(set);
    put({Op::characters, {}, static_cast<uint32_t>(index), 1, 1});
  }
  void addRange(Characters &to, unsigned first, unsigned last) const {
    for (unsigned c = first; c <= last; ++c) {
      to.set(c);
      if (!ignores_case_) continue;
      if (c >= 'a' && c <= 'z') to.set(c - 'a' + 'A');
      if (c >= 'A' && c <= 'Z') to.set(c - 'A' + 'a');
    }
  }
  Characters one(char c) const {
    Characters set;
    addRange(set, static_cast<unsigned char>(c), static_cast<unsigned char>(c));
    return set;
  }

  /// Of \d and the like; nothing if the letter means something else.
  static std::optional<Characters> named(char c) {
    Characters set;
    for (unsigned i = 0; i < 128; ++i) {
      const auto k = static_cast<unsigned char>(i);
      switch (c) {
      case 'd':
      case 'D': set[i] = k >= '0' && k <= '9'; break;
      case 'w':
      case 'W': set[i] = expression_detail::isWord(k); break;
      case 's':
      case 'S': set[i] = k == ' ' || k == '\t' || k == '\n' || k == '\f' || k == '\r'; break;
      default: return std::nullopt;
      }
    }
    return c < 'a' ? ~set : set;
  }

  /// The character that an escape stands for, behind its backslash.
  std::optional<unsigned char> escaped() {
    const char c = isAtEnd() ? '\0' : text_[at_++];
    switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    case 'f': return '\f';
    case 'v': return '\v';
    case 'a': return '\a';
    case 'x': return hex();
    default: break;
    }
    if (static_cast<unsigned char>(c) < 128 && c > ' ' &&
        !(expression_detail::isWord(static_cast<unsigned char>(c)) && c != '_'))
      return static_cast<unsigned char>(c);
    if (c >= '1' && c <= '9')
      fail(std::string("has the back-reference \\") + c + ", which is not supported");
    else if (c == '\0')
      fail("ends with a backslash");
    else
      fail(std::string("has \\") + c + ", which is not supported");
    return std::nullopt;
  }

  std::optional<unsigned char> hex() {
    unsigned value = 0;
    for (int i = 0; i < 2; ++i, ++at_) {
      const char c = isAtEnd() ? '\0' : text_[at_];
      const bool is_letter = (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
      if (!is_letter && !(c >= '0' && c <= '9')) {
        fail("has \\x without two hexadecimal digits");
        return std::nullopt;
      }
      value = value * 16 + static_cast<unsigned>(is_letter ? (c | 0x20) - 'a' + 10 : c - '0');
    }
    if (value > 127) fail("has \\x of a character beyond ASCII");
    return static_cast<unsigned char>(value);
  }

  void escape() {
    if (!isAtEnd()) {
      const char c = text_[at_];
      if (const auto set = named(c)) {
        ++at_;
        return characters(*set);
      }
      constexpr std::array<std::pair<char, Assertion>, 4> assertions = {
          {{'b', Assertion::word_edge},
           {'B', Assertion::no_word_edge},
           {'A', Assertion::text_begin},
           {'z', Assertion::text_end}}};
      for (const auto &[letter, meaning] : assertions)
        if (letter == c) {
          ++at_;
          return assertion(meaning);
        }
    }
    if (const auto c = escaped()) characters(one(static_cast<char>(*c)));
  }

  /// [:alpha:] and the like.
  std::optional<Characters> posix() {
    const std::size_t end = text_.find(":]", at_);
    if (!text_.substr(at_).starts_with("[:") || end == text_.npos) return std::nullopt;
    std::string_view name = text_.substr(at_ + 2, end - at_ - 2);
    const bool is_negated = name.starts_with('^');
    if (is_negated) name.remove_prefix(1);
    const auto isAlpha = [](unsigned c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    };
    const auto isDigit = [](unsigned c) { return c >= '0' && c <= '9'; };
    Characters set;
    bool is_known = true;
    for (unsigned c = 0; c < 128 && is_known; ++c) {
      const bool is_graph = c > ' ' && c < 127;
      if (name == "alpha")
        set[c] = isAlpha(c);
      else if (name == "digit")
        set[c] = isDigit(c);
      else if (name == "alnum")
        set[c] = isAlpha(c) || isDigit(c);
      else if (name == "upper")
        set[c] = c >= 'A' && c <= 'Z';
      else if (name == "lower")
        set[c] = c >= 'a' && c <= 'z';
      else if (name == "space")
        set[c] = c == ' ' || (c >= '\t' && c <= '\r');
      else if (name == "blank")
        set[c] = c == ' ' || c == '\t';
      else if (name == "punct")
        set[c] = is_graph && !isAlpha(c) && !isDigit(c);
      else if (name == "xdigit")
        set[c] = isDigit(c) || (isAlpha(c) && (c | 0x20) <= 'f');
      else if (name == "word")
        set[c] = expression_detail::isWord(static_cast<unsigned char>(c));
      else if (name == "print")
        set[c] = is_graph || c == ' ';
      else if (name == "graph")
        set[c] = is_graph;
      else if (name == "cntrl")
        set[c] = c < ' ' || c == 127;
      else
        is_known = false;
    }
    if (!is_known) {
      fail("has the unknown class [:" + std::string(name) + ":]");
      return std::nullopt;
    }
    at_ = end + 2;
    if (ignores_case_ && (name == "upper" || name == "lower"))
      for (unsigned c = 'a'; c <= 'z'; ++c) set[c] = set[c - 'a' + 'A'] = true;
    return is_negated ? ~set : set;
  }

  Characters bracket() {
    Characters set;
    const bool is_negated = take("^");
    for (bool is_first = true; isGood(); is_first = false) {
      if (isAtEnd()) {
        fail("has a [ without a ]");
        break;
      }
      if (!is_first && take("]")) break;
      if (const auto more = posix()) {
        set |= *more;
        continue;
      }
      if (!isGood()) break;
      if (text_[at_] == '\\' && at_ + 1 < text_.size())
        if (const auto more = named(text_[at_ + 1])) {
          at_ += 2;
          set |= *more;
          continue;
        }
      const auto first = bracketCharacter();
      if (!first) break;
      auto last = first;
      if (text_.substr(at_).starts_with('-') && at_ + 1 < text_.size() && text_[at_ + 1] != ']') {
        ++at_;
        last = bracketCharacter();
        if (!last) break;
        if (*last < *first) {
          fail("has a range in [] that ends before it begins");
          break;
        }
      }
      addRange(set, *first, *last);
    }
    return is_negated ? ~set : set;
  }

  std::optional<unsigned char> bracketCharacter() {
    const auto c = static_cast<unsigned char>(text_[at_++]);
    if (c == '\\') return escaped();
    if (c < 128) return c;
    fail("has a character beyond ASCII in []");
    return std::nullopt;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool ignores_case_ = false;
  std::string mistake_;
  Expression expression_;
};

inline std::optional<Expression> Expression::parse(std::string_view text, std::string &mistake) {
  return Parser(text).parse(mistake);
}

} // namespace fade
