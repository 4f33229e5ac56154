#include "report/terminal_summary.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace fade::report {
namespace {

constexpr std::size_t kMostFindings = 5;

std::string humanTime(uint64_t ns) {
  const auto value = static_cast<double>(ns);
  if (value < 1e4) return fmt::format("{} ns", ns);
  if (value < 1e7) return fmt::format("{:.1f} us", value / 1e3);
  if (value < 1e10) return fmt::format("{:.1f} ms", value / 1e6);
  return fmt::format("{:.1f} s", value / 1e9);
}

/// Nothing that a terminal would obey, and not more than fits.
std::string fitting(std::string_view text, std::size_t columns) {
  std::string out;
  for (const char c : text.substr(0, columns))
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  // Not half of a character.
  while (text.size() > columns && !out.empty() && (static_cast<unsigned char>(out.back()) & 0x80))
    out.pop_back();
  return out;
}

std::string amountOf(const Access &access) {
  if (access.op == "atomic" && access.same_address != 0)
    return fmt::format("{} lanes wait", access.same_address);
  if (access.is_lds) return fmt::format("{} extra LDS turns", access.conflicts);
  return fmt::format("{} lines too many", access.wasted);
}

std::string firstLine(const RunLog &log) {
  uint64_t busy = 0, records = 0, instrumented = 0;
  for (const Dispatch &d : log.dispatches) {
    if (d.hasTimes()) busy += *d.end_ns - *d.start_ns;
    records += d.records;
    instrumented += d.instrumented ? 1 : 0;
  }
  return fmt::format("{} dispatches, {} instrumented, {} in kernels, {} records",
                     log.dispatches.size(), instrumented, humanTime(busy), records);
}

std::string memoryLine(const RunLog &log) {
  uint64_t needed = 0, used = 0, conflicts = 0;
  for (const Access &a : log.accesses) {
    needed += a.needed;
    used += a.used;
    conflicts += a.conflicts;
  }
  const double share =
      used == 0 ? 1 : std::min(1.0, static_cast<double>(needed) / static_cast<double>(used));
  return fmt::format("{} cache lines used, {:.0f}% of them needed; {} extra LDS turns", used,
                     100 * share, conflicts);
}

} // namespace

Terminal Terminal::of(int fd) {
  Terminal terminal;
  if (isatty(fd) == 0) return terminal;
  winsize size{};
  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) terminal.columns = size.ws_col;
  const char *no_color = std::getenv("NO_COLOR"), *term = std::getenv("TERM");
  terminal.has_color = !(no_color && *no_color) && !(term && std::strcmp(term, "dumb") == 0);
  return terminal;
}

std::string terminalSummary(const RunLog &log, const Terminal &terminal) {
  const std::size_t columns = std::min(terminal.columns, 100u);
  const auto paint = [&](const char *code, const std::string &text) {
    return terminal.has_color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  };
  std::string out = paint("1", fitting(firstLine(log), columns)) + '\n';
  for (const std::string &note : log.notes) out += note + '\n';
  if (log.accesses.empty()) return out;
  out += fitting(memoryLine(log), columns) + '\n';
  std::vector<const Access *> worst;
  for (const Access &access : log.accesses)
    if (access.waste() != 0) worst.push_back(&access);
  std::ranges::sort(worst, [](const Access *a, const Access *b) {
    if (a->waste() != b->waste()) return a->waste() > b->waste();
    return std::tie(a->file, a->line, a->column) < std::tie(b->file, b->line, b->column);
  });
  for (std::size_t i = 0; i < worst.size() && i < kMostFindings; ++i) {
    const Access &access = *worst[i];
    const std::string amount = fmt::format("  {:<26}", amountOf(access));
    const std::string file = access.file.substr(access.file.rfind('/') + 1);
    const std::string place = fmt::format("{}:{}  {} in {}", file.empty() ? "unknown" : file,
                                          access.line, access.op, log.kernels[access.kernel].name);
    out += paint("33", amount) + fitting(place, columns - std::min(columns, amount.size())) + '\n';
  }
  return out;
}

} // namespace fade::report
