#include "profile/peaks.h"

#include "doctor/supervised.h"
#include "gpu_choice.h"
#include "report/json_fields.h"
#include "write_file.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sstream>

namespace fade::profile {
namespace {

namespace fs = std::filesystem;
using report::Json;

struct PeakField {
  const char *group, *name; ///< in the file
  const char *word;         ///< of the program that measures
  double MeasuredPeaks::*value;
  const char *unit;
};
constexpr PeakField kFields[] = {
    {"bytes", "memory", "memory", &MeasuredPeaks::memory, "B/s"},
    {"bytes", "l2", "l2", &MeasuredPeaks::l2, "B/s"},
    {"bytes", "l1", "l1", &MeasuredPeaks::l1, "B/s"},
    {"bytes", "lds", "lds", &MeasuredPeaks::lds, "B/s"},
    {"flops", "f64", "f64", &MeasuredPeaks::f64, "FLOP/s"},
    {"flops", "f32", "f32", &MeasuredPeaks::f32, "FLOP/s"},
    {"flops", "f16", "f16", &MeasuredPeaks::f16, "FLOP/s"},
};

Json lineOf(const MeasuredPeaks &peaks) {
  Json line = {{"type", "peaks"},         {"version", 1},           {"target", peaks.target},
               {"card", peaks.card},      {"date", peaks.date},     {"launch_ns", peaks.launch_ns},
               {"bytes", Json::object()}, {"flops", Json::object()}};
  for (const PeakField &field : kFields)
    if (peaks.*field.value > 0) line[field.group][field.name] = peaks.*field.value;
  return line;
}

/// A number that can be a rate; 0 if it is none.
double rateIn(const Json &object, const char *key) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_number()) return 0;
  const double value = at->get<double>();
  return std::isfinite(value) && value > 0 && value < 1e18 ? value : 0;
}

MeasuredPeaks peaksIn(const Json &line) {
  if (report::text(line, "type") != "peaks") throw std::invalid_argument("it is no line of peaks");
  if (report::number(line, "version") != 1)
    throw std::invalid_argument("its version is not one that this fadeprobe knows");
  MeasuredPeaks peaks;
  peaks.target = report::text(line, "target");
  if (peaks.target.empty()) throw std::invalid_argument("it names no 'target'");
  peaks.card = report::text(line, "card");
  peaks.date = report::text(line, "date");
  peaks.launch_ns = rateIn(line, "launch_ns");
  for (const PeakField &field : kFields)
    if (const auto group = line.find(field.group); group != line.end() && group->is_object())
      peaks.*field.value = rateIn(*group, field.name);
  return peaks;
}

} // namespace

std::string usualPeaksFile() {
  const char *cache = std::getenv("XDG_CACHE_HOME");
  const char *home = std::getenv("HOME");
  const fs::path folder = cache && *cache ? fs::path(cache)
                          : home && *home ? fs::path(home) / ".cache"
                                          : fs::path();
  return folder.empty() ? "" : (folder / "fade" / "peaks.json").string();
}

Result<std::vector<MeasuredPeaks>> readPeaks(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error::of(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  std::vector<MeasuredPeaks> all;
  std::size_t number = 0;
  for (std::string text; std::getline(in, text);) {
    ++number;
    if (text.find_first_not_of(" \t\r") == text.npos) continue;
    std::string why;
    try {
      const Json line = Json::parse(text);
      if (!line.is_object()) throw std::invalid_argument("it is not a JSON object");
      all.push_back(peaksIn(line));
    } catch (const Json::exception &) {
      why = "it is not JSON, or was cut off";
    } catch (const std::invalid_argument &error) {
      why = error.what();
    }
    if (!why.empty()) return Error::of(fmt::format("{}: line {}: {}", path, number, why));
  }
  return all;
}

std::vector<MeasuredPeaks> parsePeaks(const std::string &output) {
  std::vector<MeasuredPeaks> all;
  std::istringstream lines(output);
  for (std::string text; std::getline(lines, text);) {
    std::istringstream words(text);
    std::string peak, target, name, rest;
    if (!(words >> peak >> target >> name) || peak != "peak") continue;
    std::getline(words >> std::ws, rest);
    auto at = std::ranges::find(all, target, &MeasuredPeaks::target);
    if (at == all.end()) {
      all.emplace_back().target = target;
      at = all.end() - 1;
    }
    if (name == "card") at->card = rest;
    const double value = std::strtod(rest.c_str(), nullptr);
    if (!(value > 0) || !std::isfinite(value)) continue;
    if (name == "launch_ns") at->launch_ns = value;
    for (const PeakField &field : kFields)
      if (name == field.word) (*at).*field.value = value;
  }
  return all;
}

} // namespace fade::profile

namespace fade::cli {
namespace {

using codeobj::NumberType;
using profile::GpuModel;
using profile::MeasuredPeaks;

std::string amount(double per_second, const char *unit) {
  static constexpr std::array<const char *, 5> kPrefixes = {"", "k", "M", "G", "T"};
  std::size_t i = 0;
  while (per_second >= 1000 && i + 1 < kPrefixes.size()) per_second /= 1000, ++i;
  return per_second == 0 ? "-" : fmt::format("{:.3g} {}{}", per_second, kPrefixes[i], unit);
}

/// What was measured beside what is published.
std::string tableOf(const std::string &target, const MeasuredPeaks *measured) {
  const GpuModel gpu = GpuModel::of(target);
  std::string text = fmt::format("{}: {}\n", target,
                                 measured && !measured->card.empty() ? measured->card : gpu.card);
  if (gpu.is_stand_in)
    text += fmt::format("  the table has no card of this processor: its values are those of {}\n",
                        gpu.card);
  text += fmt::format("  {:<22}{:>16}{:>16}\n", "", "table", measured ? "measured" : "");
  const auto row = [&](const char *name, double table, double of, const char *unit) {
    text += fmt::format("  {:<22}{:>16}{:>16}\n", name, amount(table, unit),
                        measured ? amount(of, unit) : "");
  };
  const MeasuredPeaks none;
  const MeasuredPeaks &m = measured ? *measured : none;
  row("memory", gpu.memory_bytes_per_s, m.memory, "B/s");
  row("L2", gpu.bytesPeak(gpu.l2_bytes_per_cycle), m.l2, "B/s");
  row("L1", gpu.bytesPeak(gpu.l1_bytes_per_cycle), m.l1, "B/s");
  row("LDS", gpu.bytesPeak(gpu.lds_bytes_per_cycle), m.lds, "B/s");
  row("vectors of f64", gpu.vectorPeak(NumberType::F64), m.f64, "FLOP/s");
  row("vectors of f32", gpu.vectorPeak(NumberType::F32), m.f32, "FLOP/s");
  row("vectors of f16", gpu.vectorPeak(NumberType::F16), m.f16, "FLOP/s");
  for (const auto &[name, type] : {std::pair("matrices of f64", NumberType::F64),
                                   std::pair("matrices of f32", NumberType::F32),
                                   std::pair("matrices of f16", NumberType::F16),
                                   std::pair("matrices of bf16", NumberType::Bf16),
                                   std::pair("matrices of f8", NumberType::F8)})
    if (gpu.matrixPeak(type) > 0) row(name, gpu.matrixPeak(type), 0, "FLOP/s");
  text += fmt::format("  {:<22}{:>13.0f} ns{:>16}\n", "empty kernel", gpu.launch_ns,
                      m.launch_ns > 0 ? fmt::format("{:.0f} ns", m.launch_ns) : "");
  return text;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", &utc);
  return text.data();
}

int showTable(const std::string &gpu) {
  Variables variables;
  if (!chooseGpu(gpu, true, variables)) return kUsageError;
  for (const std::string &target : gpusOf(variables))
    std::fputs(tableOf(target, nullptr).c_str(), stdout);
  complain("nothing was measured: the times of the software GPU say nothing about a card");
  return 0;
}

} // namespace

CLI::App *addPeaksCommand(CLI::App &app, PeaksOptions &options) {
  CLI::App *command = app.add_subcommand(
      "peaks", "measure what this GPU can do: rates of memory levels and arithmetic");
  command
      ->add_option("-o,--output", options.output,
                   "file for what was measured (default: fade/peaks.json in the user's cache)")
      ->type_name("FILE");
  command->add_option("--gpu", options.gpu, "auto, real, or gfx90a, gfx1030, ...")
      ->type_name("auto|real|gfx...");
  return command;
}

int runPeaks(const PeaksOptions &options) {
  if (meansSoftwareGpu(options.gpu)) return showTable(options.gpu);
  Variables variables;
  if (!chooseGpu(options.gpu, false, variables)) return kUsageError;
  const auto program = ownLibrary("fade/fade-doctor-probe");
  if (!program) {
    complain("fade-doctor-probe is missing: it should be in ../lib/fade");
    return 1;
  }
  const std::string path = options.output.empty() ? profile::usualPeaksFile() : options.output;
  if (path.empty()) {
    complain("peaks: there is no HOME to keep them in; give -o FILE");
    return kUsageError;
  }
  doctor::endSupervisedOnSignals();
  const auto end = doctor::runSupervised({*program, "peaks"}, variables, std::chrono::minutes(5));
  auto all = profile::parsePeaks(end.out);
  const auto verdict = end.out.rfind("verdict ");
  if (end.timed_out || end.signal != 0 || end.code != 0 || all.empty()) {
    const std::string why =
        end.timed_out ? "it did not end within 5 minutes"
        : verdict != end.out.npos
            ? end.out.substr(verdict, end.out.find('\n', verdict) - verdict)
            : fmt::format("it ended with {}", end.signal ? end.signal : end.code);
    complain(fmt::format("peaks: the rates could not be measured: {}", why));
    return 1;
  }
  std::string lines;
  for (MeasuredPeaks &peaks : all) {
    peaks.date = today();
    std::fputs(tableOf(peaks.target, &peaks).c_str(), stdout);
    lines += profile::lineOf(peaks).dump() + '\n';
  }
  std::error_code ignored;
  if (const auto folder = std::filesystem::path(path).parent_path(); !folder.empty())
    std::filesystem::create_directories(folder, ignored);
  if (!writeFile(path, lines)) return 1;
  complain(fmt::format("kept in {}", path));
  return 0;
}

} // namespace fade::cli
