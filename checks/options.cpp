#include "checks/options.h"

#include "fade/options.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

namespace fade::checks {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Check::count)> kNames = {
    "memory", "init", "race", "sync",      "wait", "hazard",
    "leak",   "hang", "nan",  "precision", "wave", "schedules"};
constexpr std::string_view kDefault = "memory,init,race,sync,hang";

} // namespace

std::string_view nameOf(Check check) { return kNames[static_cast<std::size_t>(check)]; }

std::optional<std::string> readChecks(std::string_view list, Options &out) {
  if (list.empty()) list = kDefault;
  out.enabled = {};
  for (bool is_last = false; !is_last;) {
    const auto comma = std::min(list.find(','), list.size());
    const std::string_view word = list.substr(0, comma);
    if (word == "all") {
      out.enabled.fill(true);
    } else {
      const auto at = std::ranges::find(kNames, word);
      // That one is made by running a dispatch again: --schedules.
      if (at == kNames.end() || word == nameOf(Check::schedules))
        return fmt::format(
            "'{}' is not a check (memory, init, race, sync, wait, hazard, leak, hang, nan, "
            "precision, wave, all){}",
            word, suggestion(word, kNames));
      out.enabled[static_cast<std::size_t>(at - kNames.begin())] = true;
    }
    is_last = comma == list.size();
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return std::nullopt;
}

const Options &options() {
  static const auto *all = [] {
    auto *o = new Options;
    const char *list = std::getenv("FADE_CHECKS");
    if (readChecks(list ? list : "", *o)) (void)readChecks("", *o);
    std::vector<std::string> ignored;
    o->settings = readEnvironment(ignored);
    return o;
  }();
  return *all;
}

} // namespace fade::checks
