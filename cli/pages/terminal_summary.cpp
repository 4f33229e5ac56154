#include "pages/terminal_summary.h"

#include "analysis/findings.h"
#include "analysis/sampled.h"
#include "fade/kernel_name.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <sstream>
#include <sys/ioctl.h>
#include <unistd.h>

namespace fade::report {
namespace {

constexpr std::size_t kMostFindings = 5, kMostPlaces = 5, kLeastName = 36;

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

/// The words on as many lines as they need, behind three blanks unless told otherwise.
std::string paragraph(const std::string &text, std::size_t columns,
                      std::string_view indent = "   ") {
  std::string out, line;
  std::istringstream words(fitting(text, text.size()));
  for (std::string word; words >> word;) {
    if (!line.empty() && indent.size() + line.size() + 1 + word.size() > columns) {
      out += std::string(indent) + line + '\n';
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line.empty() ? out
                      : out + std::string(indent) + fitting(line, columns - indent.size()) + '\n';
}

/// "12.3k": a number of cycles, which is an estimate.
std::string roughly(double value) {
  if (value < 1e4) return fmt::format("{:.0f}", value);
  if (value < 1e7) return fmt::format("{:.1f}k", value / 1e3);
  if (value < 1e10) return fmt::format("{:.1f}M", value / 1e6);
  return fmt::format("{:.1f}G", value / 1e9);
}

std::string sizeOf(uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes < 10 << 10) return fmt::format("{} bytes", bytes);
  if (bytes < 10 << 20) return fmt::format("{:.1f} KiB", value / 1024);
  if (bytes < uint64_t{10} << 30) return fmt::format("{:.1f} MiB", value / (1 << 20));
  return fmt::format("{:.1f} GiB", value / (1 << 30));
}

std::string placesOf(const Finding &finding) {
  std::string out;
  for (std::size_t i = 0; i < finding.places.size() && i < kMostPlaces; ++i) {
    const FindingPlace &place = finding.places[i];
    const std::string file = place.file.substr(place.file.rfind('/') + 1);
    if (i != 0) out += ", ";
    out += file.empty() ? "unknown line (compile with -g)" : fmt::format("{}:{}", file, place.line);
    if (!file.empty() && place.column != 0) out += fmt::format(":{}", place.column);
    if (!place.op.empty()) out += " " + place.op;
  }
  if (finding.places.size() > kMostPlaces)
    out += fmt::format(" and {} more", finding.places.size() - kMostPlaces);
  return out;
}

std::string costOf(const Finding &finding) {
  std::string out =
      fmt::format("{} cycles of {}", roughly(finding.cycles), profile::nameOf(finding.unit));
  if (finding.bytes != 0) out += fmt::format(", {} moved for nothing", sizeOf(finding.bytes));
  return out + ": " + finding.counts;
}

std::string firstLine(const RunLog &log) {
  uint64_t busy = 0, records = 0, instrumented = 0, executed = 0;
  for (const Dispatch &d : log.dispatches) {
    if (d.hasTimes()) busy += *d.end_ns - *d.start_ns;
    executed += d.wave_instructions.value_or(0);
    records += d.records;
    instrumented += d.instrumented ? 1 : 0;
  }
  // Times of the software GPU are this machine's.
  // Of instrumented kernels it is not always known what they themselves would have executed.
  const std::string work = !log.inSoftware() ? fmt::format(", {} in kernels", humanTime(busy))
                           : executed != 0   ? fmt::format(", {} instructions executed", executed)
                                             : "";
  return fmt::format("{} dispatch{}, {} instrumented{}, {} record{}", log.dispatches.size(),
                     log.dispatches.size() == 1 ? "" : "es", instrumented, work, records,
                     records == 1 ? "" : "s");
}

/// "gfx90a (software GPU); FADE 0.1.0, ROCr 1.14": of the first process.
std::string placeLine(const Run &run) {
  std::string out;
  for (const Run::Gpu &gpu : run.gpus)
    out += fmt::format("{}{}{}", out.empty() ? "" : ", ", gpu.target,
                       gpu.in_software ? " (software GPU)" : "");
  for (const auto &[what, version] :
       {std::pair("FADE", &run.fade), std::pair("ROCr", &run.runtime), std::pair("HIP", &run.hip)})
    if (!version->empty()) out += fmt::format("; {} {}", what, *version);
  return out;
}

/// What the numbers do not show: faults, drops, dispatches that did not end.
std::vector<std::string> warningLines(const RunLog &log) {
  std::vector<std::string> lines;
  uint64_t dropped = 0, incomplete = 0;
  for (const Dispatch &d : log.dispatches) {
    dropped += d.dropped;
    incomplete += d.complete ? 0 : 1;
  }
  for (const Json &death : log.deaths)
    lines.push_back(fmt::format("the run crashed with a {}: see the report", text(death, "kind")));
  if (dropped != 0) lines.push_back(fmt::format("{} executions were dropped", dropped));
  if (incomplete != 0)
    lines.push_back(
        fmt::format("{} dispatch{} had not ended", incomplete, incomplete == 1 ? "" : "es"));
  return lines;
}

const char *countsAre(const RunLog &log) {
  if (hasEstimates(log)) return "estimates from a sample";
  return warningLines(log).empty() ? "exact" : "not complete";
}

/// Kernels with findings whose instructions are not known for sure.
std::vector<std::string> doubtLines(const RunLog &log, const Findings &findings) {
  std::vector<std::string> lines;
  for (const auto &[kernel, counts] : log.counts) {
    if (counts.doubt.empty() ||
        std::ranges::find(findings.list, kernel, &Finding::kernel) == findings.list.end())
      continue;
    lines.push_back(fmt::format("{}: instructions and active lanes may be counted wrong: {}",
                                shortKernelName(log.kernels[kernel].name, kLeastName),
                                counts.doubt));
  }
  return lines;
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
  return fmt::format("{} cache lines used, {:.0f}% of them needed; {} bank conflicts", used,
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

std::string terminalSummary(const RunLog &log, const Findings &findings, const Terminal &terminal) {
  const std::size_t columns = std::min(terminal.columns, 100u);
  const auto paint = [&](const char *code, const std::string &text) {
    return terminal.has_color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  };
  std::string out = paint("1", fitting(firstLine(log), columns)) + '\n';
  if (!log.runs.empty()) out += paragraph(placeLine(log.runs.front()), columns, "");
  for (const std::string &line : warningLines(log)) out += paint("31", line) + '\n';
  for (const std::string &note : log.notes) out += note + '\n';
  if (log.accesses.empty()) return out;
  out += fitting(memoryLine(log), columns) + '\n';
  const bool has_others = std::ranges::count_if(findings.kernels, [](const KernelCost &kernel) {
                            return kernel.most() > 0;
                          }) > 1;
  for (std::size_t i = 0; i < findings.list.size() && i < kMostFindings; ++i) {
    const Finding &finding = findings.list[i];
    const std::string head =
        fmt::format("{}. {}, {} in ", i + 1, nameOf(finding.cause), gainText(finding, has_others));
    // On the same line if it has room for a name that says something.
    const std::string &name = log.kernels[finding.kernel].name;
    const bool has_room = head.size() + std::min(name.size(), kLeastName) <= columns;
    out += paint("33", has_room ? head : head.substr(0, head.size() - 1) + "\n   ") +
           shortKernelName(name, has_room ? columns - head.size() : columns - 3) + '\n';
    for (const std::string &line :
         {placesOf(finding), costOf(finding), expectationText(finding), finding.advice})
      out += paragraph(line, columns);
  }
  if (findings.list.size() > kMostFindings)
    out += fmt::format("and {} more findings\n", findings.list.size() - kMostFindings);
  const std::vector<std::string> doubts = doubtLines(log, findings);
  for (const std::string &line : doubts) out += paragraph(line, columns, "");
  out += findings.list.empty()
             ? "nothing to gain from memory accesses, by the model of the GPU\n"
             : fmt::format("cycles and gains are those of a model; counts{} are {}\n",
                           doubts.empty() ? "" : " of accesses", countsAre(log));
  return out;
}

} // namespace fade::report
