#include "codeobj/variant_kernargs.h"
#include "dispatch/cache_watch.h"
#include "dispatch/kernel_cache.h"
#include "dispatch/kernel_registry.h"
#include "stream/wave_table.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <semaphore>
#include <set>
#include <thread>
#include <unistd.h>

namespace fade {
namespace {

namespace fs = std::filesystem;
using codeobj::ArgKind;
using codeobj::KernargLayout;
using codeobj::VariantKernargs;

std::shared_ptr<KernelEntry> kernel(ExecutableHandle executable, uint64_t object,
                                    const std::string &symbol) {
  auto entry = std::make_shared<KernelEntry>(
      std::make_shared<KernelInfo>(KernelIdentity{0, symbol, symbol, "gfx90a"}, nullptr));
  entry->executable = executable;
  entry->agent = 7;
  entry->device.object = object;
  return entry;
}

TEST(Registry, KernelsAreFoundByObjectAndBySymbolUntilTheirExecutableGoes) {
  KernelRegistry registry;
  registry.add(kernel(1, 0x100, "a"));
  registry.add(kernel(1, 0x200, "b"));
  registry.add(kernel(2, 0x300, "a"));
  ASSERT_TRUE(registry.find(0x200));
  EXPECT_EQ(registry.find(0x200)->info->symbol(), "b");
  EXPECT_EQ(registry.find(2, 7, "a")->device.object, 0x300u);
  EXPECT_FALSE(registry.find(1, 8, "a"));
  registry.remove(1);
  EXPECT_FALSE(registry.find(0x100));
  EXPECT_FALSE(registry.find(1, 7, "b"));
  EXPECT_TRUE(registry.find(0x300));
}

TEST(Registry, AnAddressThatIsUsedAgainBelongsToTheNewKernel) {
  KernelRegistry registry;
  registry.add(kernel(1, 0x100, "old"));
  registry.add(kernel(2, 0x100, "new"));
  registry.remove(1);
  ASSERT_TRUE(registry.find(0x100));
  EXPECT_EQ(registry.find(0x100)->info->symbol(), "new");
}

/// A site table with no sites.
std::shared_ptr<const ModuleSites> sitesOf(uint64_t module) {
  struct {
    fade_sites header{};
    char strings[8]{};
  } image;
  image.header.magic = FADE_SITES_MAGIC;
  image.header.version = FADE_SITES_VERSION;
  image.header.message_version = FADE_MESSAGE_VERSION;
  image.header.module_id = module;
  image.header.size = sizeof image;
  image.header.strings_offset = sizeof image.header;
  image.header.strings_size = sizeof image.strings;
  std::string why;
  auto table = SiteTable::parse(std::as_bytes(std::span(&image, 1)), why);
  EXPECT_TRUE(table) << why;
  return std::make_shared<ModuleSites>(ModuleSites{*std::move(table), ""});
}

TEST(Registry, AKernelKeepsItsIdWithAndWithoutSites) {
  KernelRegistry registry;
  const auto sites = sitesOf(5), others = sitesOf(6);
  const auto plain = registry.info({0, "k()", "k", "gfx90a"}, nullptr);
  const auto traced = registry.info({0, "k()", "k", "gfx90a"}, sites);
  EXPECT_EQ(plain->id(), traced->id());
  EXPECT_EQ(plain->identity(), traced->identity()) << "there is one kernel";
  EXPECT_EQ(registry.info({0, "k()", "k", "gfx90a"}, sites), traced);
  EXPECT_NE(registry.info({0, "k()", "k", "gfx90a"}, others)->id(), traced->id());
  EXPECT_NE(registry.info({0, "k()", "k", "gfx942"}, nullptr)->id(), plain->id());
}

TEST(Registry, KernelsOfOneNameInTwoModulesAreTwo) {
  KernelRegistry registry;
  const auto one = registry.info({0, "k()", "k", "gfx90a", "1"});
  const auto other = registry.info({0, "k()", "k", "gfx90a", "2"}, sitesOf(5));
  EXPECT_NE(one->id(), other->id());
  EXPECT_EQ(other->module(), "2");
  EXPECT_EQ(registry.info({0, "k()", "k", "gfx90a", "1"}), one) << "wherever it is loaded again";
}

// Two explicit arguments, 16 bytes, and the given hidden ones, 8 bytes each.
KernargLayout layout(const std::vector<std::pair<ArgKind, uint32_t>> &hidden, uint32_t size) {
  KernargLayout out;
  out.size = size;
  out.explicit_end = out.control_offset = 16;
  for (uint32_t i = 0; i < 2; ++i) {
    KernargLayout::Argument argument;
    argument.offset = 8 * i;
    argument.size = 8;
    argument.kind = ArgKind::GlobalBuffer;
    argument.kind_text = "global_buffer";
    out.explicit_args.push_back(argument);
  }
  for (const auto &[kind, offset] : hidden) {
    KernargLayout::Argument argument;
    argument.offset = offset;
    argument.size = 8;
    argument.kind = kind;
    out.hidden_args.push_back(argument);
  }
  return out;
}

TEST(VariantKernargs, TheSameHiddenArgumentsNeedNoNewBlock) {
  const auto hidden = layout({{ArgKind::HiddenHostcallBuffer, 16}}, 24);
  const auto plan = VariantKernargs::plan(hidden, hidden);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->isSame());
}

TEST(VariantKernargs, HiddenArgumentsAreMovedAndMadeWhereTheyDiffer) {
  const auto plan = VariantKernargs::plan(
      layout({{ArgKind::HiddenHostcallBuffer, 16}}, 24),
      layout({{ArgKind::HiddenBlockCountX, 16}, {ArgKind::HiddenHostcallBuffer, 32}}, 40));
  ASSERT_TRUE(plan);
  EXPECT_FALSE(plan->isSame());
  ASSERT_EQ(plan->size(), 40u);
  std::vector<uint8_t> original(24);
  std::iota(original.begin(), original.end(), uint8_t{1});
  std::vector<uint8_t> block(40, 0xee);
  codeobj::DispatchFields dispatch;
  dispatch.grid_size[0] = 640;
  dispatch.workgroup_size[0] = 64;
  plan->build(original, dispatch, block);
  EXPECT_EQ(std::memcmp(block.data(), original.data(), 16), 0);
  uint64_t groups = 0;
  std::memcpy(&groups, block.data() + 16, 8);
  EXPECT_EQ(groups, 10u);
  EXPECT_EQ(std::memcmp(block.data() + 32, original.data() + 16, 8), 0);
  EXPECT_EQ(block[24], 0); // between them
}

TEST(VariantKernargs, OtherExplicitArgumentsAreRefused) {
  auto other = layout({}, 16);
  other.explicit_args.pop_back();
  EXPECT_FALSE(VariantKernargs::plan(layout({}, 16), other));
}

// cp writes over a file in place: what was mapped of it is gone, and whoever reads it gets a
// signal.
TEST(KernelCache, AFileThatIsOverwrittenInPlaceTakesNothingAwayFromWhoUsesIt) {
  const fs::path root =
      fs::path(::testing::TempDir()) / ("fade-kernel-cache-cut-" + std::to_string(getpid()));
  fs::remove_all(root);
  fs::create_directories(root);
  fs::copy_file(fs::path(FADE_TEST_DATA) / "triton/gfx90a/vector_add.hsaco", root / "k.hsaco");
  const KernelCache cache({root.string()});
  const auto found = cache.find("vector_add");
  ASSERT_EQ(found.size(), 1u);
  const auto before = found[0]->object()->kernel(0);
  ASSERT_TRUE(before);
  fs::resize_file(root / "k.hsaco", 0);
  const auto after = found[0]->object()->kernel(0);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->descriptor_address, before->descriptor_address);
  std::size_t sum = 0;
  for (const uint8_t byte : found[0]->bytes()) sum += byte;
  EXPECT_NE(sum, 0u);
  fs::remove_all(root);
}

TEST(KernelCache, FilesThatComeLaterAreFoundAndBadOnesAreNoHarm) {
  const fs::path root =
      fs::path(::testing::TempDir()) / ("fade-kernel-cache-" + std::to_string(getpid()));
  fs::remove_all(root);
  fs::create_directories(root);
  KernelCache cache({root.string()});
  const std::string name = "vector_add";
  const fs::path sample = fs::path(FADE_TEST_DATA) / "triton/gfx90a/vector_add.hsaco";
  ASSERT_TRUE(fs::exists(sample));
  LoadedCode code(*codeobj::Blob::mapFile(sample.string()));
  ASSERT_TRUE(code.object());
  const std::string symbol(code.object()->kernelName(0).name);
  EXPECT_TRUE(cache.find(symbol).empty());

  EXPECT_FALSE(cache.hasChanged());
  std::ofstream(root / "broken.hsaco") << "no code object";
  fs::create_directories(root / "a");
  EXPECT_TRUE(cache.hasChanged());
  EXPECT_TRUE(cache.refresh().empty());
  EXPECT_FALSE(cache.hasChanged());
  fs::copy_file(sample, root / "a" / "x.hsaco");
  EXPECT_TRUE(cache.hasChanged()) << "the new directory is watched, too";
  EXPECT_EQ(cache.refresh(), std::set<std::string>{symbol});
  EXPECT_TRUE(cache.refresh().empty()) << "a file that is the same is not read again";
  ASSERT_EQ(cache.find(symbol).size(), 1u);
  EXPECT_EQ(cache.find(symbol)[0]->file(), (root / "a" / "x.hsaco").string());
  fs::remove(root / "a" / "x.hsaco");
  EXPECT_EQ(cache.refresh(), std::set<std::string>{symbol});
  EXPECT_TRUE(cache.find(symbol).empty());
  fs::remove_all(root);
}

class Watched : public ::testing::Test, protected CodeLoader {
protected:
  Watched() {
    fs::remove_all(root);
    fs::create_directories(root);
    kernel = std::make_shared<KernelEntry>(registry.info({0, "vector_add", symbol, "gfx90a"}));
    kernel->code = code;
    registry.add(kernel);
  }
  ~Watched() override { fs::remove_all(root); }
  fade::Result<KernelOnDevice> load(AgentHandle, const std::shared_ptr<const LoadedCode> &,
                                    const std::string &) override {
    loaded_by.insert(std::this_thread::get_id());
    may_load.acquire();
    may_load.release();
    return KernelOnDevice{0x4711, 0, 0, 0};
  }
  void putFile() const { fs::copy_file(sample, root / "x.hsaco"); }
  std::size_t choices() const { return ReplacementPlanner::planOf(*kernel).choices.size(); }

  const fs::path root =
      fs::path(::testing::TempDir()) / ("fade-cache-watch-" + std::to_string(getpid()));
  const std::string sample = FADE_TEST_DATA "/triton/gfx90a/vector_add.hsaco";
  const std::shared_ptr<const LoadedCode> code =
      std::make_shared<LoadedCode>(*codeobj::Blob::mapFile(sample));
  const std::string symbol{code->object()->kernelName(0).name};
  KernelRegistry registry;
  std::shared_ptr<KernelEntry> kernel;
  std::set<std::thread::id> loaded_by;
  std::binary_semaphore may_load{1};
};

TEST_F(Watched, AFileThatIsThereBeforeADispatchCountsForItAndIsReadByAnotherThread) {
  KernelCache cache({root.string()});
  ReplacementPlanner planner(registry, cache, *this, false);
  planner.plan(*kernel);
  CacheWatch watch(cache, planner, std::chrono::hours(1));
  watch.settle();
  EXPECT_EQ(choices(), 0u);
  for (int i = 0; i < 20; ++i) {
    putFile();
    std::this_thread::sleep_for(std::chrono::milliseconds(6)); // as often as the system is asked
    watch.settle();
    ASSERT_EQ(choices(), 1u) << i;
    EXPECT_EQ(ReplacementPlanner::planOf(*kernel).choices[0].kernel.object, 0x4711u);
    fs::remove(root / "x.hsaco");
    std::this_thread::sleep_for(std::chrono::milliseconds(6));
    watch.settle();
    ASSERT_EQ(choices(), 0u) << i;
  }
  EXPECT_EQ(loaded_by.size(), 1u);
  EXPECT_FALSE(loaded_by.contains(std::this_thread::get_id()));
}

TEST_F(Watched, ADispatchDoesNotWaitForEverAndTheThreadCanBeLeftBehind) {
  KernelCache cache({root.string()});
  ReplacementPlanner planner(registry, cache, *this, false);
  planner.plan(*kernel);
  CacheWatch watch(cache, planner, std::chrono::milliseconds(20));
  may_load.acquire(); // loading takes as long as the test likes
  putFile();
  std::this_thread::sleep_for(std::chrono::milliseconds(6));
  ::testing::internal::CaptureStderr();
  watch.settle();
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("reading the kernel cache takes long"),
            std::string::npos);
  EXPECT_EQ(choices(), 0u) << "the plan of before holds";
  may_load.release();
  while (choices() == 0) std::this_thread::yield();
  EXPECT_TRUE(watch.stop(std::chrono::hours(1)));
}

TEST(WaveTable, KeepsALongWindowOfWavesAndForgetsOlderOnes) {
  WaveTable table;
  fade_wave_begin wave{};
  constexpr uint32_t window = WaveTable::kChunk * WaveTable::kChunks;
  for (uint32_t i = 0; i < window + WaveTable::kChunk; ++i) {
    wave.wave = i;
    wave.workgroup_x = 3 * i;
    table.add(wave, i / 1000);
  }
  fade_wave_begin found{};
  EXPECT_FALSE(table.find(0, found));
  for (const uint32_t i : {WaveTable::kChunk, window / 2, window + WaveTable::kChunk - 1}) {
    ASSERT_TRUE(table.find(i, found)) << i;
    EXPECT_EQ(found.workgroup_x, 3 * i);
  }
  EXPECT_FALSE(table.find(window + WaveTable::kChunk, found));
}

} // namespace
} // namespace fade
