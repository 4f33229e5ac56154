#include "check/suppressions.h"

#include "base/kernel_expression.h"
#include "check/baseline.h"
#include "check/finding_message.h"
#include "checks/options.h"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <sstream>

namespace fade::cli {

Result<Suppressions> Suppressions::read(const std::string &path) {
  std::ifstream in(path);
  if (!in || (in.peek(), in.bad())) // a folder can be opened
    return Error::of(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  in.clear();
  Suppressions all;
  std::string line;
  for (unsigned number = 1; std::getline(in, line); ++number) {
    std::istringstream words(line);
    std::string check, kernel, place, rest;
    words >> check >> kernel >> place >> rest;
    if (check.empty() || check.starts_with('#')) continue;
    if (isFindingId(check)) {
      all.ids_.insert(check); // the rest of the line is a comment
      continue;
    }
    const auto wrong = [&](const std::string &what) {
      return Error::of(fmt::format("{}:{}: {}", path, number, what));
    };
    checks::Options known;
    if (check != "*")
      if (const auto problem = checks::readChecks(check, known)) return wrong(*problem);
    if (kernel.empty() || !rest.empty())
      return wrong("expected a check, a kernel and optionally a place");
    auto kernels = readExpression(kernel), places = readExpression(place);
    for (const auto *read : {&kernels, &places})
      if (!*read) return wrong(read->error().what);
    all.rules_.push_back({check, *std::move(kernels), std::nullopt});
    if (!place.empty()) all.rules_.back().place = *std::move(places);
  }
  return all;
}

bool Suppressions::matches(const FoundFinding &f) const {
  if (ids_.contains(f.id)) return true;
  const auto check = checks::nameOf(static_cast<checks::Check>(f.raw.check));
  for (const Rule &rule : rules_) {
    if (rule.check != "*" && rule.check != check) continue;
    if (!rule.kernel.isIn(f.kernel)) continue;
    const auto at = [&](const FoundPlace &place) {
      return rule.place->isIn(placeText(place, f.kernel));
    };
    const bool has_other = f.raw.other.pc || !f.other_api.empty();
    if (!rule.place || at(f.place) || (has_other && at(f.other))) return true;
  }
  return false;
}

} // namespace fade::cli
