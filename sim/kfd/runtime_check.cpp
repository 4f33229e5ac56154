#include "kfd/runtime_check.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <link.h>
#include <sstream>

namespace fade::sim::kfd {
namespace {

std::string loaded_runtime() {
  std::string path;
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *to) {
        const char *name = info->dlpi_name ? info->dlpi_name : "";
        const char *slash = std::strrchr(name, '/');
        if (!slash || std::strncmp(slash + 1, "libhsa-runtime64.so", 19) != 0) return 0;
        *static_cast<std::string *>(to) = name;
        return 1;
      },
      &path);
  return path;
}

} // namespace

std::string hide_unknown_to(const std::string &runtime, std::vector<Card> &cards) {
  if (std::ranges::all_of(cards, [](const Card &c) { return c.gfx == Gfx::gfx90a; })) return {};
  std::ostringstream content;
  content << std::ifstream(runtime, std::ios::binary).rdbuf();
  const std::string bytes = std::move(content).str();
  // ROCr keeps the names of all architectures it supports; without any it is not what we think.
  if (bytes.find("gfx90a") == bytes.npos) return {};
  std::string hidden;
  auto unknown = [&](const Card &card) {
    const char *name = arch(card.gfx).name;
    if (bytes.find(name) != bytes.npos) return false;
    if (hidden.find(name) == hidden.npos)
      hidden += (hidden.empty() ? "" : ", ") + std::string(name);
    return true;
  };
  std::erase_if(cards, unknown);
  if (hidden.empty()) return {};
  return "FADE_GPU: " + hidden + " is not known to the ROCr of this process (" + runtime +
         "); it " + (cards.empty() ? "sees no GPU" : "does not see it");
}

std::string hide_unknown_to_runtime(std::vector<Card> &cards) {
  if (std::getenv("HSA_OVERRIDE_GFX_VERSION")) return {}; // the user calls them something else
  const std::string runtime = loaded_runtime();
  return runtime.empty() ? "" : hide_unknown_to(runtime, cards);
}

} // namespace fade::sim::kfd
