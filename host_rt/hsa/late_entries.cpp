#include "hsa/late_entries.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <dlfcn.h>
#include <memory>
#include <utility>

namespace fade {
namespace {

// As many places as are asked for, and as many words as functions of HSA have parameters: a caller
// that passes fewer does not mind. None has parameters that are not whole numbers or pointers.
constexpr std::size_t kMostPlaces = 128;
#define FADE_WORDS(X) X(0), X(1), X(2), X(3), X(4), X(5), X(6), X(7), X(8), X(9), X(10), X(11)
#define FADE_TYPE(n) uint64_t
#define FADE_PARAMETER(n) uint64_t w##n
#define FADE_ARGUMENT(n) w##n
#define FADE_ZERO(n) 0

using AnyFunction = uint64_t (*)(FADE_WORDS(FADE_TYPE));

// Functions are called by another type than they have.
#ifdef __clang__
#define FADE_ANY_TYPE __attribute__((no_sanitize("function")))
#else
#define FADE_ANY_TYPE
#endif

std::array<std::atomic<void *>, kMostPlaces> originals{};
thread_local bool is_asking = false;
thread_local int answer = kNoEntry;

template <std::size_t Place> FADE_ANY_TYPE uint64_t probe(FADE_WORDS(FADE_PARAMETER)) {
  if (is_asking) {
    answer = static_cast<int>(Place);
    return HSA_STATUS_ERROR;
  }
  const auto original = reinterpret_cast<AnyFunction>(originals[Place].load());
  return original ? original(FADE_WORDS(FADE_ARGUMENT)) : uint64_t{HSA_STATUS_ERROR};
}

template <std::size_t... Places>
constexpr std::array<AnyFunction, kMostPlaces> allProbes(std::index_sequence<Places...>) {
  return {probe<Places>...};
}

/// Which probe a function of the runtime calls.
FADE_ANY_TYPE int ask(void *exported) {
  answer = kNoEntry;
  is_asking = true;
  (void)reinterpret_cast<AnyFunction>(exported)(FADE_WORDS(FADE_ZERO));
  is_asking = false;
  return answer;
}

} // namespace

std::vector<int> placesInTable(std::span<void *> table, std::size_t first,
                               std::span<const char *const> names, const Exports &exports) {
  static constexpr auto probes = allProbes(std::make_index_sequence<kMostPlaces>());
  std::vector<int> places(names.size(), kNoEntry);
  std::vector<std::vector<void *>> functions;
  for (const char *name : names) functions.push_back(exports(name));
  if (table.size() <= first ||
      std::ranges::all_of(functions, [](const auto &found) { return found.empty(); }))
    return places;
  const auto asked = table.subspan(first, std::min(table.size() - first, kMostPlaces));
  for (std::size_t i = 0; i < asked.size(); ++i) {
    originals[i].store(asked[i]);
    std::atomic_ref(asked[i]).store(reinterpret_cast<void *>(probes[i]));
  }
  for (std::size_t i = 0; i < names.size(); ++i)
    for (void *function : functions[i])
      if (places[i] == kNoEntry)
        if (const int place = ask(function); place != kNoEntry)
          places[i] = place + static_cast<int>(first);
  for (std::size_t i = 0; i < asked.size(); ++i)
    std::atomic_ref(asked[i]).store(originals[i].load());
  return places;
}

Exports exportsOf(const CoreApiTable &core) {
  using Library = std::shared_ptr<void>;
  const auto open = [](const char *name) {
    return Library(dlopen(name, RTLD_LAZY | RTLD_NOLOAD), [](void *opened) {
      if (opened) dlclose(opened);
    });
  };
  // Where the functions of the table are; some of them may be those of another tool. And what goes
  // by the runtime's name: it may be a library in front of the one that does the work.
  std::vector<Library> libraries;
  const auto *entries = reinterpret_cast<void *const *>(&core.version + 1);
  const std::size_t count = (sizeof core - sizeof core.version) / sizeof(void *);
  const void *base = nullptr;
  for (std::size_t i = 0; i < count; ++i) {
    Dl_info info{};
    if (!entries[i] || dladdr(entries[i], &info) == 0 || !info.dli_fname || info.dli_fbase == base)
      continue;
    base = info.dli_fbase;
    if (Library library = open(info.dli_fname); library && dlsym(library.get(), "hsa_init"))
      libraries.push_back(std::move(library));
  }
  if (Library library = open("libhsa-runtime64.so.1")) libraries.push_back(std::move(library));
  return [libraries](const char *name) {
    std::vector<void *> found;
    for (const Library &library : libraries)
      if (void *function = dlsym(library.get(), name);
          function && std::ranges::find(found, function) == found.end())
        found.push_back(function);
    return found;
  };
}

} // namespace fade
