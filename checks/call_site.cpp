#include "checks/call_site.h"

#include "base/runtime_libraries.h"

#include <array>
#include <dlfcn.h>
#include <execinfo.h>
#include <filesystem>
#include <link.h>
#include <string_view>

namespace fade::checks {
namespace {

bool isPassed(std::string_view file) { return isRuntimeLibrary(file) || isLanguageLibrary(file); }

/// A function that applications call, by its name.
std::string_view apiName(const char *symbol) {
  const std::string_view name = symbol ? symbol : "";
  return name.starts_with("hip") || name.starts_with("hsa_") ? name : "";
}

/// The application itself, which the loader has without a name.
const std::string &program() {
  static const std::string path = [] {
    std::error_code error;
    return std::filesystem::read_symlink("/proc/self/exe", error).string();
  }();
  return path;
}

} // namespace

void prepareCallSites() {
  std::array<void *, 4> frames{};
  (void)backtrace(frames.data(), static_cast<int>(frames.size()));
}

CallSite callSite(std::size_t most) {
  std::array<void *, 48> frames{};
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  CallSite site;
  for (int i = 1; i < count; ++i) {
    // The call is before the address to which it returns.
    const auto address = reinterpret_cast<uint64_t>(frames[static_cast<std::size_t>(i)]) - 1;
    Dl_info info{};
    link_map *map = nullptr;
    if (dladdr1(reinterpret_cast<void *>(address), &info, reinterpret_cast<void **>(&map),
                RTLD_DL_LINKMAP) == 0 ||
        !info.dli_fname)
      continue;
    const std::string file = map && map->l_name && *map->l_name ? map->l_name : program();
    if (!isPassed(file) || !site.callers.empty()) {
      if (site.api.empty()) return {}; // a runtime's own thread, or one that is not known
      site.callers.push_back({file, address - (map ? map->l_addr : 0)});
      if (site.callers.size() == most) break;
      continue;
    }
    if (const std::string_view name = apiName(info.dli_sname); !name.empty()) site.api = name;
    site.path = site.path * 31 + static_cast<uint32_t>(address - (map ? map->l_addr : 0));
  }
  return site.callers.empty() ? CallSite{} : site;
}

} // namespace fade::checks
