// The source of kernels as far as rules need it: words, brackets that belong together, kernels. It
// is no parser of C++: what it does not understand it does not find, and every edit is judged
// afterwards by what it does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fade::cli {

/// A word, a number or a sign of the source. Comments, texts and lines of the preprocessor have
/// none.
struct Token {
  std::string_view text;
  std::size_t at = 0; ///< in the source

  std::size_t end() const { return at + text.size(); }
};

/// A kernel that is defined in the source. Places are indexes of tokens.
struct KernelText {
  std::string_view name;
  std::size_t begin = 0;                          ///< "__global__"
  std::size_t parameters = 0, parameters_end = 0; ///< "(" and ")"
  std::size_t body = 0, body_end = 0;             ///< "{" and "}"
};

class SourceText {
public:
  /// `source` has to stay where it is.
  explicit SourceText(std::string_view source);

  std::string_view source() const { return source_; }
  const std::vector<Token> &tokens() const { return tokens_; }
  bool is(std::size_t token, std::string_view text) const {
    return token < tokens_.size() && tokens_[token].text == text;
  }
  bool isName(std::size_t token) const;
  /// The bracket that belongs to this one; the number of tokens if there is none.
  std::size_t partner(std::size_t token) const { return partners_[token]; }
  /// As it stands there, from the first of these tokens to the last.
  std::string_view between(std::size_t first, std::size_t last) const;
  const std::vector<KernelText> &kernels() const { return kernels_; }
  /// The only one of this name; nullptr: there is none, or there are several.
  const KernelText *kernel(std::string_view name) const;

private:
  void split();
  void pair();
  void findKernels();

  std::string_view source_;
  std::vector<Token> tokens_;
  std::vector<std::size_t> partners_;
  std::vector<KernelText> kernels_;
};

/// "add" of "void ns::add<int>(int*, int)".
std::string plainNameOf(std::string_view demangled);

/// Pieces that are put into a text at places of the text as it was, or instead of what was there.
class Edits {
public:
  void insert(std::size_t at, std::string text) { replace(at, 0, std::move(text)); }
  void replace(std::size_t at, std::size_t length, std::string text) {
    all_.push_back({at, length, all_.size(), std::move(text)});
  }
  bool empty() const { return all_.empty(); }
  /// Edits must not overlap.
  std::string applyTo(std::string_view source) const;

private:
  struct Edit {
    std::size_t at, length, number; ///< number: of two at one place the first comes first
    std::string text;
  };
  std::vector<Edit> all_;
};

} // namespace fade::cli
