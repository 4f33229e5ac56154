// How long at least one of many spans lasted, of spans that come about in order of time: what is
// settled leaves memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace fade::host_trace {

class CoveredTime {
public:
  void add(uint64_t start, uint64_t end) {
    if (start < end && end > until_) spans_.push_back({start, end});
  }

  /// No span that begins before `time` will come, unless it reaches beyond what is covered anyway.
  void settle(uint64_t time) {
    if (spans_.size() > kMostSpans) { // something takes very long; its part in gaps before is lost
      std::ranges::nth_element(spans_, spans_.begin() + kMostSpans / 2, {}, &Span::start);
      time = std::max(time, spans_[kMostSpans / 2].start);
    }
    const auto later =
        std::ranges::partition(spans_, [&](const Span &span) { return span.start < time; });
    const auto middle = later.begin();
    std::sort(spans_.begin(), middle,
              [](const Span &a, const Span &b) { return a.start < b.start; });
    for (auto span = spans_.begin(); span != middle; ++span) {
      const uint64_t from = std::max(span->start, until_);
      if (span->end <= from) continue;
      length_ += span->end - from;
      until_ = span->end;
    }
    spans_.erase(spans_.begin(), middle);
  }

  uint64_t length() const { return length_; }

private:
  struct Span {
    uint64_t start, end;
  };
  static constexpr std::ptrdiff_t kMostSpans = 1'000'000;

  std::vector<Span> spans_;
  uint64_t length_ = 0, until_ = 0;
};

} // namespace fade::host_trace
