#include "codeobj/yaml_subset.h"

#include <algorithm>
#include <charconv>

namespace fade::codeobj {
namespace {

constexpr int kDeepestNesting = 16; ///< real metadata nests five deep

struct Line {
  std::size_t indent;
  std::string_view text; ///< without indentation and trailing blanks
  std::size_t offset;
};

std::string_view trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\r')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\r')) s.remove_suffix(1);
  return s;
}

std::vector<Line> splitLines(std::string_view text) {
  std::vector<Line> lines;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    std::size_t indent = line.find_first_not_of(' ');
    std::string_view content = trim(line);
    bool marker = content == "---" || content == "..." || content.starts_with('#');
    if (!content.empty() && content.find('\0') == std::string_view::npos && !marker)
      lines.push_back({indent, content, at});
    at = end + 1;
  }
  return lines;
}

/// The end of a quoted scalar that starts at s[0], or npos.
std::size_t closingQuote(std::string_view s) {
  char quote = s.front();
  for (std::size_t i = 1; i < s.size(); ++i) {
    if (quote == '"' && s[i] == '\\') {
      ++i;
    } else if (s[i] == quote) {
      if (quote == '\'' && i + 1 < s.size() && s[i + 1] == '\'')
        ++i;
      else
        return i;
    }
  }
  return std::string_view::npos;
}

std::string unquote(std::string_view s) {
  if (s.size() < 2 || (s.front() != '\'' && s.front() != '"') || s.back() != s.front())
    return std::string(s);
  bool escapes = s.front() == '"';
  std::string_view inner = s.substr(1, s.size() - 2);
  std::string out;
  for (std::size_t i = 0; i < inner.size(); ++i) {
    if (!escapes) {
      out += inner[i];
      if (inner[i] == '\'') ++i; // '' stands for '
    } else if (inner[i] != '\\' || i + 1 == inner.size()) {
      out += inner[i];
    } else {
      switch (char c = inner[++i]) {
      case 'n': out += '\n'; break;
      case 't': out += '\t'; break;
      case 'r': out += '\r'; break;
      case '0': out += '\0'; break;
      default: out += c; break;
      }
    }
  }
  return out;
}

YamlNode scalarOrFlowList(std::string_view text) {
  YamlNode node;
  if (!text.starts_with('[') || !text.ends_with(']')) {
    node.scalar = unquote(text);
    return node;
  }
  std::string_view rest = trim(text.substr(1, text.size() - 2));
  while (!rest.empty()) {
    std::size_t from = 0;
    if (rest.front() == '\'' || rest.front() == '"') {
      from = closingQuote(rest);
      if (from == std::string_view::npos) from = rest.size();
    }
    std::size_t comma = std::min(rest.find(',', from), rest.size());
    YamlNode element;
    element.scalar = unquote(trim(rest.substr(0, comma)));
    node.list.push_back(std::move(element));
    rest = trim(rest.substr(std::min(comma + 1, rest.size())));
  }
  return node;
}

/// Where "key: value" splits, or npos when the line is no pair.
std::size_t keyEnd(std::string_view text) {
  std::size_t from = 0;
  if (text.starts_with('\'') || text.starts_with('"')) {
    from = closingQuote(text);
    if (from == std::string_view::npos) return from;
  }
  for (std::size_t at = text.find(':', from); at != std::string_view::npos;
       at = text.find(':', at + 1))
    if (at + 1 == text.size() || text[at + 1] == ' ') return at;
  return std::string_view::npos;
}

class Parser {
public:
  explicit Parser(std::string_view text) : lines_(splitLines(text)) {}

  Result<YamlNode> parse() {
    YamlNode root;
    if (!lines_.empty()) root = block(lines_.front().indent, 0);
    if (!fault_ && next_ < lines_.size()) fail("unexpected indentation");
    if (fault_) return *fault_;
    return root;
  }

private:
  bool atIndent(std::size_t indent) const {
    return !fault_ && next_ < lines_.size() && lines_[next_].indent == indent;
  }
  static bool isListItem(std::string_view text) { return text == "-" || text.starts_with("- "); }

  YamlNode block(std::size_t indent, int depth) {
    if (depth > kDeepestNesting) {
      fail("nested too deeply");
      return {};
    }
    return isListItem(lines_[next_].text) ? list(indent, depth) : map(indent, depth);
  }

  YamlNode list(std::size_t indent, int depth) {
    YamlNode node;
    while (atIndent(indent) && isListItem(lines_[next_].text)) {
      Line &line = lines_[next_];
      std::string_view item = trim(line.text.substr(1));
      if (item.empty()) {
        ++next_;
        bool deeper = next_ < lines_.size() && lines_[next_].indent > indent;
        node.list.push_back(deeper ? block(lines_[next_].indent, depth + 1) : YamlNode());
      } else if (keyEnd(item) == std::string_view::npos || item.front() == '\'' ||
                 item.front() == '"' || item.front() == '[') {
        node.list.push_back(scalarOrFlowList(item));
        ++next_;
      } else {
        // "- key: value" opens a map whose keys are indented like the first one.
        line.indent += line.text.size() - item.size();
        line.text = item;
        node.list.push_back(block(line.indent, depth + 1));
      }
    }
    return node;
  }

  YamlNode map(std::size_t indent, int depth) {
    YamlNode node;
    while (atIndent(indent) && !isListItem(lines_[next_].text)) {
      std::string_view text = lines_[next_].text;
      std::size_t colon = keyEnd(text);
      if (colon == std::string_view::npos) {
        fail("a line that is neither a pair nor a list item");
        return node;
      }
      std::string key = unquote(trim(text.substr(0, colon)));
      std::string_view value = trim(text.substr(colon + 1));
      ++next_;
      YamlNode child;
      if (!value.empty()) {
        child = scalarOrFlowList(value);
      } else if (next_ < lines_.size() &&
                 (lines_[next_].indent > indent ||
                  (lines_[next_].indent == indent && isListItem(lines_[next_].text)))) {
        child = block(lines_[next_].indent, depth + 1);
      }
      node.keys.push_back(std::move(key));
      node.values.push_back(std::move(child));
    }
    return node;
  }

  void fail(const char *what) {
    if (!fault_)
      fault_ = Error{"", "", next_ < lines_.size() ? lines_[next_].offset : 0,
                     std::string("metadata: ") + what};
  }

  std::vector<Line> lines_;
  std::size_t next_ = 0;
  std::optional<Error> fault_;
};

} // namespace

const YamlNode *YamlNode::find(std::string_view key) const {
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (keys[i] == key) return &values[i];
  return nullptr;
}

std::optional<uint32_t> YamlNode::number() const {
  uint32_t value = 0;
  const char *end = scalar.data() + scalar.size();
  auto [stop, error] = std::from_chars(scalar.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

Result<YamlNode> parseYamlSubset(std::string_view text) { return Parser(text).parse(); }

} // namespace fade::codeobj
