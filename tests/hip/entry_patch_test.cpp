// A function of a loaded library is patched, also where no memory near the library is free.
#include "hip/entry_patch.h"

#include "fade/hip_api.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <vector>

namespace fade::hip {
namespace {

void *g_next = nullptr;
int g_seen = 0;

int wrapper(int a, int b) {
  ++g_seen;
  return reinterpret_cast<int (*)(int, int)>(g_next)(a, b);
}

/// Takes what is free around a library, farther than any jump reaches, until it goes.
class Crowd {
public:
  explicit Crowd(const LoadedLibrary &library) {
    constexpr uintptr_t step = 0x10000, page = 0x1000, reach = uintptr_t{1025} << 20;
    taken_.reserve(2 * reach / step * 2); // later it would give memory back
    const uintptr_t begin = reinterpret_cast<uintptr_t>(library.begin) & ~(step - 1);
    for (uintptr_t at = begin - reach; at < begin + reach; at += step) {
      if (take(at, step)) continue;
      for (uintptr_t part = at; part < at + step; part += page) take(part, page);
    }
  }
  ~Crowd() {
    for (const auto &part : taken_) munmap(part.at, part.size);
  }
  std::size_t parts() const { return taken_.size(); }

private:
  bool take(uintptr_t at, std::size_t size) {
    void *got = mmap(reinterpret_cast<void *>(at), size, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == MAP_FAILED) return false;
    taken_.push_back({static_cast<char *>(got), size});
    return true;
  }

  std::vector<LoadedLibrary::Part> taken_;
};

TEST(EntryPatch, ALibraryWithNothingFreeAroundItIsPatchedThroughTheGapsBetweenItsSegments) {
  void *handle = dlopen(CROWDED_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(handle) << dlerror();
  const auto library = findLibrary("libcrowded.so");
  ASSERT_TRUE(library);
  ASSERT_FALSE(library->gaps.empty());
  const Crowd crowd(*library);
  ASSERT_GT(crowd.parts(), 1000u);

  FunctionInfo info = kFunctions[0];
  info.name = "crowdedFunction";
  const ApiFunction function{info, Table{}, 0, reinterpret_cast<void *>(wrapper), &g_next};
  auto *called = reinterpret_cast<int (*)(int, int)>(dlsym(handle, "crowdedFunction"));
  ASSERT_TRUE(called);
  EXPECT_EQ(called(3, 4), 7);
  const auto outcome = patchEntries(*library, {&function});
  ASSERT_TRUE(outcome) << outcome.error().what;
  EXPECT_EQ(outcome->patched, 1u);
  EXPECT_EQ(g_seen, 0);
  EXPECT_EQ(called(3, 4), 7);
  EXPECT_EQ(g_seen, 1);
  EXPECT_GE(static_cast<char *>(g_next), library->begin);
  EXPECT_LT(static_cast<char *>(g_next), library->end);
}

} // namespace
} // namespace fade::hip
