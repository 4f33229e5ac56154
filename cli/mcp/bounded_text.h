// The beginning and the end of a text of any length.
#pragma once

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <string>
#include <string_view>

namespace fade::mcp {

class BoundedText {
public:
  BoundedText(std::size_t most_head, std::size_t most_tail)
      : most_head_(most_head), most_tail_(most_tail) {}

  void add(std::string_view text) {
    const std::size_t first = std::min(text.size(), most_head_ - head_.size());
    head_.append(text.substr(0, first));
    tail_.append(text.substr(first));
    if (tail_.size() <= 2 * most_tail_) return; // not moved for every byte
    left_out_ += tail_.size() - most_tail_;
    tail_.erase(0, tail_.size() - most_tail_);
  }

  std::string text() const {
    const std::size_t more = tail_.size() - std::min(tail_.size(), most_tail_);
    if (left_out_ + more == 0) return head_ + tail_;
    return fmt::format("{}\n[... {} bytes left out ...]\n{}", head_, left_out_ + more,
                       std::string_view(tail_).substr(more));
  }

  /// The last line with anything in it.
  std::string_view lastLine() const {
    std::string_view text = tail_.empty() ? head_ : tail_;
    text = text.substr(0, text.find_last_not_of(" \r\n") + 1);
    return text.substr(text.find_last_of("\r\n") + 1);
  }

private:
  const std::size_t most_head_, most_tail_;
  std::string head_, tail_;
  std::size_t left_out_ = 0;
};

} // namespace fade::mcp
