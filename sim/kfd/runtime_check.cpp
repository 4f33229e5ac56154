#include "kfd/runtime_check.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <link.h>
#include <sstream>
#include <string_view>
#include <utility>

namespace fade::sim::kfd {
namespace {

struct Loaded {
  std::string_view name; // of a library, or how it begins
  std::string path;      // empty: it is not loaded
};

std::string loaded(std::string_view name) {
  Loaded library{name, {}};
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *to) {
        auto *wanted = static_cast<Loaded *>(to);
        const std::string_view path = info->dlpi_name ? info->dlpi_name : "";
        const size_t slash = path.rfind('/');
        if (slash == path.npos || !path.substr(slash + 1).starts_with(wanted->name)) return 0;
        wanted->path = path;
        return 1;
      },
      &library);
  return library.path;
}

std::string content_of(const std::string &file) {
  std::ostringstream content;
  content << std::ifstream(file, std::ios::binary).rdbuf();
  return std::move(content).str();
}

bool is_named_in(const std::string &names, const std::string &name) {
  return names.find(name) != names.npos;
}

void add_name(std::string &list, std::string_view name) {
  if (list.find(name) == list.npos) list.append(list.empty() ? "" : ", ").append(name);
}

bool are_all_default(const std::vector<Card> &cards) {
  return std::ranges::all_of(cards, [](const Card &c) { return c.gfx == Gfx::gfx90a; });
}

} // namespace

std::string hide_unknown_to(const std::string &runtime, std::vector<Card> &cards) {
  if (are_all_default(cards)) return {};
  const std::string names = content_of(runtime);
  // ROCr keeps the names of all architectures it supports; without any it is not what we think.
  if (!is_named_in(names, "gfx90a")) return {};
  std::string hidden;
  std::erase_if(cards, [&](const Card &card) {
    const bool unknown = !is_named_in(names, arch(card.gfx).name);
    if (unknown) add_name(hidden, arch(card.gfx).name);
    return unknown;
  });
  if (hidden.empty()) return {};
  return "FADE_GPU: " + hidden + " is not known to the ROCr of this process (" + runtime +
         "); it " + (cards.empty() ? "sees no GPU" : "does not see it");
}

std::string unknown_to_hip(const std::string &hip, const std::vector<Card> &cards) {
  if (are_all_default(cards)) return {};
  const std::string names = content_of(hip);
  // HIP's table of devices has names with settings where there are any; without them a name may be
  // part of something else.
  const std::string ecc = ":sramecc+";
  if (!is_named_in(names, "gfx90a" + ecc)) return {};
  std::string unknown;
  for (const Card &card : cards) {
    const Arch &a = arch(card.gfx);
    if (!is_named_in(names, a.name + (a.sram_ecc ? ecc : ""))) add_name(unknown, a.name);
  }
  if (unknown.empty()) return {};
  return "FADE_GPU: " + unknown + " is not known to the HIP of this process (" + hip +
         "): it finds no such device";
}

std::string hide_unknown_to_runtime(std::vector<Card> &cards) {
  if (std::getenv("HSA_OVERRIDE_GFX_VERSION")) return {}; // the user calls them something else
  const std::string runtime = loaded("libhsa-runtime64.so");
  std::string hidden = runtime.empty() ? "" : hide_unknown_to(runtime, cards);
  if (!hidden.empty()) return hidden;
  const std::string hip = loaded("libamdhip64.so");
  return hip.empty() ? "" : unknown_to_hip(hip, cards);
}

} // namespace fade::sim::kfd
