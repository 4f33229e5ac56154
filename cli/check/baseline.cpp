#include "check/baseline.h"

#include "base/json_text.h"
#include "base/messages.h"
#include "check/causes.h"
#include "checks/options.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

namespace fade::cli {
namespace {

constexpr std::size_t kDigits = 12;

/// FNV-1a, with an end between the parts.
uint64_t hashed(const std::vector<std::string> &parts) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const std::string &part : parts)
    for (std::size_t i = 0; i <= part.size(); ++i) {
      hash ^= i < part.size() ? static_cast<unsigned char>(part[i]) : 0;
      hash *= 0x100000001b3;
    }
  return hash;
}

void addPlace(const FoundPlace &place, std::vector<std::string> &parts) {
  parts.push_back(std::filesystem::path(place.shown.file).filename().string());
  parts.push_back(templateName(place.shown.function));
  // Of what has no source the instruction is all that there is.
  parts.push_back(place.source.empty() ? place.instruction : place.source);
}

std::string idOf(const FoundFinding &f) {
  std::vector<std::string> parts = {std::to_string(f.raw.problem), templateName(f.kernel),
                                    templateName(f.other_kernel)};
  addPlace(f.place, parts);
  if (f.raw.other.pc || !f.other_api.empty()) addPlace(f.other, parts);
  const auto check = static_cast<checks::Check>(f.raw.check);
  if (check == checks::Check::leak)
    parts.insert(parts.end(), {std::filesystem::path(f.allocation.caller.file).filename().string(),
                               f.allocation.caller.function, f.allocation.api});
  return fmt::format("{}-{:012x}", checks::nameOf(check), hashed(parts) >> 16);
}

} // namespace

void setIds(std::vector<FoundFinding> &findings) {
  std::map<std::string, unsigned> counts;
  for (FoundFinding &f : findings) {
    f.id = idOf(f);
    if (const unsigned count = ++counts[f.id]; count > 1) f.id += fmt::format("-{}", count);
  }
}

bool isFindingId(const std::string &word) {
  const auto dash = word.find('-');
  if (dash == word.npos || word.size() < dash + 1 + kDigits) return false;
  checks::Options known;
  if (checks::readChecks(word.substr(0, dash), known)) return false;
  const std::string digits = word.substr(dash + 1, kDigits), rest = word.substr(dash + 1 + kDigits);
  return digits.find_first_not_of("0123456789abcdef") == digits.npos &&
         (rest.empty() || (rest.size() > 1 && rest[0] == '-' &&
                           rest.find_first_not_of("0123456789", 1) == rest.npos));
}

Result<Baseline> Baseline::read(const std::string &path) {
  std::ifstream in(path);
  if (!in || (in.peek(), in.bad())) // a folder can be opened
    return Error::of(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  in.clear();
  Baseline all;
  std::string line;
  for (unsigned number = 1; std::getline(in, line); ++number) {
    if (line.empty()) continue;
    const auto json = parsedJson(line);
    const auto id = json.is_object() ? json.find("id") : json.end();
    if (!json.is_object() || id == json.end() || !id->is_string())
      return Error::of(
          fmt::format("{}:{}: expected a finding with an id, as fadeprobe check --json writes it",
                      path, number));
    all.ids_.insert(id->get<std::string>());
  }
  return all;
}

std::optional<Baseline> Baseline::of(const std::string &path) {
  if (path.empty()) return Baseline();
  auto baseline = read(path);
  if (baseline) return *std::move(baseline);
  complain("--baseline: " + baseline.error().message());
  return std::nullopt;
}

void Baseline::mark(std::vector<FoundFinding> &findings) const {
  for (FoundFinding &f : findings) f.is_known = ids_.contains(f.id);
}

std::size_t Baseline::gone(const std::vector<FoundFinding> &findings) const {
  std::size_t found = 0;
  for (const FoundFinding &f : findings) found += f.is_known;
  return ids_.size() - std::min(found, ids_.size());
}

} // namespace fade::cli
