#include "profiles/peaks_file.h"

#include "analysis/json_fields.h"
#include "base/json_text.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
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

/// A number that can be a rate; 0 if it is none.
double rateIn(const Json &object, const char *key) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_number()) return 0;
  const double value = at->get<double>();
  return std::isfinite(value) && value > 0 && value < 1e18 ? value : 0;
}

MeasuredPeaks peaksIn(const Json &line) {
  if (report::text(line, "type") != "peaks")
    throw std::invalid_argument("it is not a line of peaks");
  if (report::number(line, "version") != 1)
    throw std::invalid_argument("its version is unknown to this fadeprobe");
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

std::string lineOf(const MeasuredPeaks &peaks) {
  Json line = {{"type", "peaks"},         {"version", 1},           {"target", peaks.target},
               {"card", peaks.card},      {"date", peaks.date},     {"launch_ns", peaks.launch_ns},
               {"bytes", Json::object()}, {"flops", Json::object()}};
  for (const PeakField &field : kFields)
    if (peaks.*field.value > 0) line[field.group][field.name] = peaks.*field.value;
  return jsonText(line);
}

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
      const Json line = parsedJson(text);
      if (line.is_discarded()) throw std::invalid_argument("it is not JSON, or was cut off");
      if (!line.is_object()) throw std::invalid_argument("it is not a JSON object");
      all.push_back(peaksIn(line));
    } catch (const Json::exception &) {
      why = "it is not JSON, or was cut off";
    } catch (const std::invalid_argument &error) {
      why = error.what();
    }
    if (!why.empty()) return Error::of(fmt::format("{}: line {}: {}", path, number, why));
  }
  if (all.empty()) return Error::of(fmt::format("{} has no lines of peaks", path));
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
