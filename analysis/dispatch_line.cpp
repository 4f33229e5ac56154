#include "analysis/dispatch_line.h"

#include <array>

namespace fade::report {
namespace {

constexpr std::string_view kBegin = R"({"type":")";

/// Takes the parts of a line one after the other. Once something is not as expected, all that
/// follows is nothing.
class Parts {
public:
  explicit Parts(std::string_view line) : at_(line.data()), end_(line.data() + line.size()) {}

  bool isGood() const { return is_good_; }
  bool isAtEnd() const { return at_ == end_; }
  void fail() { is_good_ = false; }

  bool takes(char c) {
    if (!is_good_ || at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) { is_good_ = takes(c); }

  std::string_view text() {
    expect('"');
    const char *begin = at_;
    while (is_good_ && at_ != end_ && *at_ != '"') {
      is_good_ = *at_ >= 0x20 && *at_ < 0x7f && *at_ != '\\';
      ++at_;
    }
    const std::string_view found(begin, static_cast<std::size_t>(at_ - begin));
    expect('"');
    return is_good_ ? found : std::string_view();
  }

  uint64_t number() {
    constexpr int most_digits = 19; // always fit
    const char *begin = at_;
    uint64_t value = 0;
    while (at_ != end_ && *at_ >= '0' && *at_ <= '9' && at_ - begin <= most_digits)
      value = value * 10 + static_cast<uint64_t>(*at_++ - '0');
    const auto digits = at_ - begin;
    if (digits == 0 || digits > most_digits || (digits > 1 && *begin == '0')) fail();
    return value;
  }
  uint32_t smallNumber() {
    const uint64_t value = number();
    if (value > UINT32_MAX) fail();
    return static_cast<uint32_t>(value);
  }
  MaybeNumber maybeNumber() {
    if (at_ != end_ && *at_ == 'n') {
      word("null");
      return {};
    }
    return number();
  }

  bool flag() {
    if (at_ != end_ && *at_ == 't') {
      word("true");
      return true;
    }
    word("false");
    return false;
  }

  /// A list or an object: `each` takes its entries.
  template <typename F> void list(char begin, char end, F &&each) {
    expect(begin);
    if (takes(end)) return;
    do each();
    while (is_good_ && takes(','));
    expect(end);
  }
  template <typename F> void object(F &&field) {
    list('{', '}', [&] {
      const std::string_view key = text();
      expect(':');
      if (is_good_) field(key);
    });
  }

private:
  void word(std::string_view expected) {
    is_good_ = is_good_ &&
               std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with(expected);
    if (is_good_) at_ += expected.size();
  }

  const char *at_, *end_;
  bool is_good_ = true;
};

/// Which of its keys an object has had so far.
class Seen {
public:
  /// The key's number; kNone: it is none of them, or comes again.
  template <std::size_t N>
  std::size_t take(const std::array<std::string_view, N> &keys, std::string_view key) {
    static_assert(N <= 64);
    // Mostly the one after the last one.
    for (std::size_t i = 0; i < N; ++i) {
      const std::size_t number = (next_ + i) % N;
      if (keys[number] != key) continue;
      if ((seen_ >> number & 1) != 0) return kNone;
      seen_ |= uint64_t{1} << number;
      next_ = number + 1;
      return number;
    }
    return kNone;
  }
  static constexpr std::size_t kNone = ~std::size_t{0};

private:
  uint64_t seen_ = 0;
  std::size_t next_ = 0;
};

std::array<uint32_t, 3> sizesOf(Parts &parts) {
  std::array<uint32_t, 3> sizes{};
  std::size_t i = 0;
  parts.list('[', ']', [&] {
    if (i == sizes.size()) return parts.fail();
    sizes[i++] = parts.smallNumber();
  });
  return sizes;
}

void takeArgument(Parts &parts, DispatchLine::Argument &to) {
  static constexpr std::array<std::string_view, 6> keys = {"name",  "argument_type", "offset",
                                                           "bytes", "value",         "allocation"};
  Seen seen;
  parts.object([&](std::string_view key) {
    switch (seen.take(keys, key)) {
    case 0: to.name = parts.text(); break;
    case 1: to.type = parts.text(); break;
    case 2: to.offset = parts.number(); break;
    case 3: to.bytes = parts.number(); break;
    case 4: to.value = parts.number(); break;
    case 5:
      to.allocation = parts.number();
      to.has_allocation = true;
      break;
    default: parts.fail();
    }
  });
}

} // namespace

std::optional<std::string_view> typeAtBegin(std::string_view line) {
  if (!line.starts_with(kBegin)) return std::nullopt;
  const std::string_view rest = line.substr(kBegin.size());
  const std::size_t end = rest.find('"');
  if (end == rest.npos) return std::nullopt;
  return rest.substr(0, end);
}

bool readDispatchLine(std::string_view line, DispatchLine &to) {
  static constexpr std::array<std::string_view, 25> keys = {"type",
                                                            "version",
                                                            "kernel",
                                                            "module",
                                                            "dispatch_id",
                                                            "agent",
                                                            "queue",
                                                            "start_ns",
                                                            "end_ns",
                                                            "grid",
                                                            "workgroup",
                                                            "workgroups",
                                                            "workgroups_recorded",
                                                            "lds",
                                                            "software",
                                                            "wave_instructions",
                                                            "lane_instructions",
                                                            "arguments",
                                                            "instrumented",
                                                            "variant",
                                                            "complete",
                                                            "host_bound",
                                                            "records",
                                                            "bytes",
                                                            "dropped"};
  if (typeAtBegin(line) != "dispatch") return false;
  to.kernel = to.module = to.variant = {};
  to.arguments.clear();
  Dispatch &d = to.dispatch = {};
  Parts parts(line);
  Seen seen;
  parts.object([&](std::string_view key) {
    switch (seen.take(keys, key)) {
    case 0: (void)parts.text(); break;
    case 1:
      if (parts.number() != 1) parts.fail();
      break;
    case 2: to.kernel = parts.text(); break;
    case 3: to.module = parts.text(); break;
    case 4: d.id = parts.number(); break;
    case 5: d.agent = parts.number(); break;
    case 6: d.queue = parts.number(); break;
    case 7: d.start_ns = parts.maybeNumber(); break;
    case 8: d.end_ns = parts.maybeNumber(); break;
    case 9: d.grid = sizesOf(parts); break;
    case 10: d.workgroup = sizesOf(parts); break;
    case 11: d.workgroups = parts.number(); break;
    case 12: d.workgroups_recorded = parts.number(); break;
    case 13: d.lds = parts.number(); break;
    case 14: d.in_software = parts.flag(); break;
    case 15: d.wave_instructions = parts.number(); break;
    case 16: d.lane_instructions = parts.number(); break;
    case 17: parts.list('[', ']', [&] { takeArgument(parts, to.arguments.emplace_back()); }); break;
    case 18: d.instrumented = parts.flag(); break;
    case 19: to.variant = parts.text(); break;
    case 20: d.complete = parts.flag(); break;
    case 21: (void)parts.flag(); break;
    case 22: d.records = parts.number(); break;
    case 23: d.bytes = parts.number(); break;
    case 24: d.dropped = parts.number(); break;
    default: parts.fail();
    }
  });
  return parts.isGood() && parts.isAtEnd() && !to.kernel.empty();
}

} // namespace fade::report
