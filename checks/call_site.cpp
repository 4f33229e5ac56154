#include "checks/call_site.h"

#include "base/runtime_libraries.h"
#include "checks/finding_log.h"

#include <algorithm>
#include <array>
#include <cstring>
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

/// The function that was called at the place to which it returns, through the linkage table. HIP 6
/// and later jump on from the function that applications call, which leaves no frame of its name.
std::string_view calledName([[maybe_unused]] const uint8_t *returns_to) {
#if defined(__x86_64__)
  const auto relative = [](const uint8_t *operand) { // counts from behind itself
    int32_t distance = 0;
    std::memcpy(&distance, operand, sizeof distance);
    return operand + sizeof distance + distance;
  };
  const auto through = [&](const uint8_t *operand) {
    void *function = nullptr;
    std::memcpy(&function, relative(operand), sizeof function);
    return function;
  };
  void *function = nullptr;
  if (returns_to[-6] == 0xff && returns_to[-5] == 0x15) { // call *slot(%rip)
    function = through(returns_to - 4);
  } else if (returns_to[-5] == 0xe8) { // call stub
    const uint8_t *stub = relative(returns_to - 4);
    constexpr std::array<uint8_t, 4> endbr64{0xf3, 0x0f, 0x1e, 0xfa};
    if (std::memcmp(stub, endbr64.data(), endbr64.size()) == 0) stub += endbr64.size();
    if (*stub == 0xf2) ++stub;                                            // bnd
    if (stub[0] == 0xff && stub[1] == 0x25) function = through(stub + 2); // jmp *slot(%rip)
  }
#elif defined(__aarch64__)
  const auto wordAt = [](const uint8_t *at) {
    uint32_t word = 0;
    std::memcpy(&word, at, sizeof word);
    return word;
  };
  void *function = nullptr;
  if (const uint32_t call = wordAt(returns_to - 4); call >> 26 == 0x25) { // bl stub
    const auto distance = static_cast<int32_t>(call << 6) >> 6;           // in words
    const uint8_t *stub = returns_to - 4 + int64_t{distance} * 4;
    if (wordAt(stub) == 0xd503245f) stub += 4; // bti c
    const uint32_t page = wordAt(stub), load = wordAt(stub + 4);
    // adrp x16, page of the slot; ldr x17, [x16, offset]
    if ((page & 0x9f00001f) == 0x90000010 && (load & 0xffc003ff) == 0xf9400211) {
      const uint32_t pages = (page >> 5 & 0x7ffff) << 2 | (page >> 29 & 3);
      const int64_t away = int64_t{static_cast<int32_t>(pages << 11) >> 11} * 4096;
      const auto here = reinterpret_cast<int64_t>(stub) & ~int64_t{4095};
      std::memcpy(&function, reinterpret_cast<void *>(here + away + (load >> 10 & 0xfff) * 8),
                  sizeof function);
    }
  }
#else
  void *function = nullptr;
#endif
  Dl_info info{};
  if (function && dladdr(function, &info) != 0 && info.dli_saddr == function)
    return apiName(info.dli_sname);
  return "";
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

std::array<HostCall, kMostCallers> callersOf(const CallSite &site) {
  std::array<HostCall, kMostCallers> callers{};
  for (std::size_t i = 0; i < std::min<std::size_t>(site.callers.size(), kMostCallers); ++i)
    callers[i] = {site.callers[i].address, FindingLog::instance().string(site.callers[i].module),
                  0};
  return callers;
}

CallSite callSite(std::size_t most, std::string_view api) {
  std::array<void *, 48> frames{};
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  CallSite site;
  site.api = api;
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
      if (site.api.empty() && site.callers.empty())
        site.api = calledName(reinterpret_cast<const uint8_t *>(address + 1));
      if (site.api.empty()) return {}; // a runtime's own thread, or one that is not known
      site.callers.push_back({file, address - (map ? map->l_addr : 0)});
      if (site.callers.size() == most) break;
      continue;
    }
    if (const std::string_view name = apiName(info.dli_sname); api.empty() && !name.empty())
      site.api = name;
    site.path = site.path * 31 + static_cast<uint32_t>(address - (map ? map->l_addr : 0));
  }
  return site.callers.empty() ? CallSite{} : site;
}

} // namespace fade::checks
