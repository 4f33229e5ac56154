// OnLoad of the two tools, called by a library that looks like ROCr: which entries of its table are
// theirs afterwards.
#define AMD_INTERNAL_BUILD
#include <hsa/hsa.h>
#include <hsa/hsa_api_trace.h>

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <set>
#include <string>

namespace {

class OnLoad : public testing::TestWithParam<const char *> {
protected:
  void *rocr = dlopen(FAKE_ROCR, RTLD_NOW | RTLD_LOCAL);
  void *tool = dlopen(GetParam(), RTLD_NOW | RTLD_LOCAL);

  template <typename Function> Function *of(void *library, const char *name) const {
    return reinterpret_cast<Function *>(dlsym(library, name));
  }
  /// Places behind those of ROCm 7.2 that are the tool's then.
  std::set<std::size_t> takenBy(std::size_t entries, std::size_t queue_create) {
    HsaApiTable *tables =
        of<HsaApiTable *(std::size_t, std::size_t)>(rocr, "fake_tables")(entries, queue_create);
    of<bool(HsaApiTable *, uint64_t, uint64_t, const char *const *)>(tool, "OnLoad")(tables, 1, 0,
                                                                                     nullptr);
    const uint64_t *now = of<const uint64_t *()>(rocr, "fake_amd_entries")();
    std::set<std::size_t> taken;
    for (std::size_t i = 76; i < entries; ++i)
      if (now[i] != of<uint64_t()>(rocr, i == queue_create ? "fake_create" : "fake_nothing")())
        taken.insert(i);
    return taken;
  }
};

TEST_P(OnLoad, TakesQueuesByDescriptorsWhereverTheyAreAndNothingElse) {
  ASSERT_TRUE(rocr && tool) << dlerror();
  using Places = std::set<std::size_t>;
  EXPECT_EQ(takenBy(76, 200), Places());
  for (const std::size_t place : {76u, 86u, 99u}) EXPECT_EQ(takenBy(100, place), Places{place});
  const auto calls = of<uint64_t()>(rocr, "fake_calls");
  EXPECT_EQ(calls(), 0u) << "the runtime's own function was not called to find it";
  EXPECT_EQ(of<hsa_status_t(uint32_t)>(rocr, "fake_call_export")(0),
            HSA_STATUS_ERROR_OUT_OF_RESOURCES)
      << "what a tool can do nothing with gets there";
}

INSTANTIATE_TEST_SUITE_P(Tools, OnLoad, testing::Values(FADE_TOOL, CHECK_TOOL),
                         [](const auto &info) {
                           return std::string(info.index == 0 ? "libfade" : "libfadecheck");
                         });

} // namespace
