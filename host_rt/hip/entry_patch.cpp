#include "hip/entry_patch.h"

#include "hip/entry_code.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>
#include <set>
#include <span>
#include <sys/mman.h>
#include <unistd.h>

namespace fade::hip {
namespace {

#if defined(__x86_64__)
constexpr auto entryCode = entryCodeX86;
constexpr uint64_t kReach = uint64_t{1} << 30;
using EntryWord = uint64_t; ///< stored at once
#elif defined(__aarch64__)
constexpr auto entryCode = entryCodeArm64;
constexpr uint64_t kReach = uint64_t{100} << 20;
using EntryWord = uint32_t;
#else
#error "FADE does not know this processor"
#endif

constexpr std::size_t kLookAhead = 32; ///< of functions whose size nobody knows

uint64_t addressOf(const void *p) { return reinterpret_cast<uint64_t>(p); }

/// Whole pages.
std::size_t inPages(std::size_t size) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (size + page - 1) & ~(page - 1);
}

/// Memory within reach of jumps from and to the library: free, or, where other libraries lie all
/// around it, between its own segments (on arm64 they are up to 64 KiB apart).
char *mapNear(const LoadedLibrary &library, std::size_t size) {
  constexpr uint64_t step = 0x10000;
  for (uint64_t distance = step; distance < kReach; distance += step)
    for (const uint64_t at :
         {addressOf(library.end) + distance, addressOf(library.begin) - distance - size}) {
      void *wish = reinterpret_cast<void *>(at & ~(step - 1));
      void *got = mmap(wish, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      if (got == wish) return static_cast<char *>(got);
      if (got != MAP_FAILED) munmap(got, size); // a kernel that does not know the flag
    }
  for (const LoadedLibrary::Part &gap : library.gaps) {
    if (gap.size < size) continue;
    void *got =
        mmap(gap.at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (got != MAP_FAILED) return static_cast<char *>(got);
  }
  return nullptr;
}

/// The whole pages of code.
int protect(const LoadedLibrary &library, int access) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  for (const LoadedLibrary::Part &part : library.code) {
    const uint64_t begin = addressOf(part.at) & ~(page - 1);
    const uint64_t end = (addressOf(part.at + part.size) + page - 1) & ~(page - 1);
    if (mprotect(reinterpret_cast<void *>(begin), end - begin, access) != 0) return errno;
  }
  return 0;
}

void storeEntry(char *function, const std::vector<uint8_t> &entry) {
  auto *at = reinterpret_cast<EntryWord *>(addressOf(function) & ~(sizeof(EntryWord) - 1));
  EntryWord word = *at;
  std::memcpy(reinterpret_cast<char *>(&word) + (function - reinterpret_cast<char *>(at)),
              entry.data(), entry.size());
  std::atomic_ref(*at).store(word, std::memory_order_release);
  __builtin___clear_cache(function, function + entry.size());
}

struct Planned {
  const ApiFunction *function;
  char *at;
  char *stub;
  EntryCode code;
};

/// Functions that HIP 5 has under their names in C++ only.
constexpr std::array<std::pair<std::string_view, const char *>, 4> kNamesInCpp = {{
    {"hipExtModuleLaunchKernel", "_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjm"
                                 "P12ihipStream_tPPvS4_P11ihipEvent_tS6_j"},
    {"hipHccModuleLaunchKernel", "_Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjm"
                                 "P12ihipStream_tPPvS4_P11ihipEvent_tS6_"},
    {"hipCreateSurfaceObject", "_Z22hipCreateSurfaceObjectPP13__hip_surfacePK15hipResourceDesc"},
    {"hipDestroySurfaceObject", "_Z23hipDestroySurfaceObjectP13__hip_surface"},
}};

/// Null: this HIP has none.
char *addressIn(void *handle, const ApiFunction &function) {
  void *at = dlsym(handle, function.info.name);
  for (const auto &[plain, in_cpp] : kNamesInCpp)
    if (!at && plain == function.info.name) at = dlsym(handle, in_cpp);
  return static_cast<char *>(at);
}

/// A function's code.
std::span<const uint8_t> codeOf(const LoadedLibrary::Part &part, const char *at) {
  Dl_info info{};
  void *extra = nullptr;
  std::size_t size = kLookAhead;
  if (dladdr1(at, &info, &extra, RTLD_DL_SYMENT) != 0 && extra && info.dli_saddr == at)
    size = std::max<std::size_t>(size, static_cast<const ElfW(Sym) *>(extra)->st_size);
  size = std::min(size, static_cast<std::size_t>(part.at + part.size - at));
  return {reinterpret_cast<const uint8_t *>(at), size};
}

/// Where each function begins in this library; nothing of other libraries that it may be linked to.
std::vector<Planned> plan(const LoadedLibrary &library, void *handle, char *stubs,
                          const std::vector<const ApiFunction *> &functions,
                          PatchOutcome &outcome) {
  std::vector<Planned> all;
  std::set<const char *> taken; // two names may be one function
  for (const ApiFunction *function : functions) {
    char *at = addressIn(handle, *function);
    if (!at || *function->next) continue;
    const auto part = std::ranges::find_if(library.code, [&](const auto &p) { return p.has(at); });
    if (part == library.code.end()) continue;
    if (!taken.insert(at).second) {
      outcome.refused.push_back(fmt::format("{} (is the same as another)", function->info.name));
      continue;
    }
    char *stub = stubs + kStubBytes * all.size();
    auto code =
        entryCode(codeOf(*part, at), addressOf(at), addressOf(stub), addressOf(function->wrapper));
    if (code)
      all.push_back({function, at, stub, *std::move(code)});
    else
      outcome.refused.push_back(fmt::format("{} ({})", function->info.name, code.error().what));
  }
  return all;
}

} // namespace

Result<PatchOutcome> patchEntries(const LoadedLibrary &library,
                                  const std::vector<const ApiFunction *> &functions) {
  PatchOutcome outcome;
  void *handle = dlopen(library.path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (!handle) return Error{library.path, "", 0, "cannot be read"};
  const std::size_t size = inPages(functions.size() * kStubBytes);
  char *stubs = mapNear(library, size);
  if (!stubs) return Error{library.path, "", 0, "there is no free memory near it"};
  const std::vector<Planned> all = plan(library, handle, stubs, functions, outcome);
  for (const Planned &one : all) std::memcpy(one.stub, one.code.stub.data(), one.code.stub.size());
  __builtin___clear_cache(stubs, stubs + size);
  int error = mprotect(stubs, size, PROT_READ | PROT_EXEC) == 0 ? 0 : errno;
  if (error == 0) error = protect(library, PROT_READ | PROT_WRITE | PROT_EXEC);
  if (error != 0) {
    munmap(stubs, size);
    return Error{library.path, "", 0,
                 fmt::format("its code cannot be changed: {}", std::strerror(error))};
  }
  for (const Planned &one : all) {
    *one.function->next = one.stub + kStubOriginal; // before the first call comes
    storeEntry(one.at, one.code.entry);
    ++outcome.patched;
  }
  (void)protect(library, PROT_READ | PROT_EXEC);
  return outcome;
}

} // namespace fade::hip
