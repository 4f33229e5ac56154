// Captures of rocm-perf-lab's layout: files written by hand, right ones and wrong ones.
#include "capture/perf_lab.h"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>

namespace fade::capture {
namespace {

namespace fs = std::filesystem;

constexpr const char *kDispatch = R"({
  "mangled_name": "_Z3addPKfS0_Pfi.kd",
  "demangled_name": "add(float const*, float const*, float*, int) [clone .kd]",
  "agent_name": "gfx942",
  "isa_name": "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-",
  "wavefront_size": 64,
  "kernel_object": 139637976727552,
  "grid": [1024, 2, 1],
  "block": [256, 1, 1],
  "group_segment_size": 512,
  "private_segment_size": 16,
  "kernarg_size": 8,
  "dispatch_index": 4
}
)";

class PerfLab : public testing::Test {
protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "fade-perf-lab-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    dir_ = name;
    fs::create_directory(dir_ + "/memory");
    put("dispatch.json", kDispatch);
    put("kernel.hsaco", "code");
    put("kernarg.bin", "12345678");
    regions({{0x7f0000000000, 8192}, {0x7f0000800010, 100}});
  }
  void TearDown() override { fs::remove_all(dir_); }

  void put(const std::string &name, const std::string &bytes) const {
    std::ofstream(dir_ + "/" + name, std::ios::binary | std::ios::trunc) << bytes;
  }
  /// As rocm-perf-lab writes them: a byte of each tells which one it is.
  void regions(const std::vector<std::pair<uint64_t, uint64_t>> &all, bool last_comma = false) {
    std::string text = "{\n  \"regions\": [\n";
    for (std::size_t i = 0; i < all.size(); ++i) {
      text +=
          fmt::format("    {{\"base\": {}, \"size\": {}, \"is_pool\": true, \"is_vmem\": false, "
                      "\"contains_kernarg\": false, \"handle\": 0, \"access\": 0}}{}\n",
                      all[i].first, all[i].second, i + 1 < all.size() || last_comma ? "," : "");
      put(fmt::format("memory/region_{:x}.bin", all[i].first),
          std::string(all[i].second, static_cast<char>('a' + i)));
    }
    put("memory_regions.json", text + "  ]\n}\n");
  }
  std::string mistake() const {
    const auto capture = PerfLabCapture::open(dir_);
    return capture ? "" : capture.error().message();
  }

  std::string dir_;
};

TEST_F(PerfLab, TheDispatchIsRead) {
  const auto capture = PerfLabCapture::open(dir_);
  ASSERT_TRUE(capture.ok()) << capture.error().message();
  const Description &d = capture->description();
  EXPECT_EQ(d.symbol, "_Z3addPKfS0_Pfi");
  EXPECT_EQ(d.kernel, "add(float const*, float const*, float*, int)");
  EXPECT_EQ(d.gpu, "gfx942");
  EXPECT_EQ(d.kernel_object, 139637976727552u);
  EXPECT_EQ(d.grid, (std::array<uint32_t, 3>{1024, 2, 1}));
  EXPECT_EQ(d.workgroup, (std::array<uint32_t, 3>{256, 1, 1}));
  EXPECT_EQ(d.dimensions, 2);
  EXPECT_EQ(d.group_segment, 512u);
  EXPECT_EQ(d.dispatch, 5u); // theirs begin with 0
  EXPECT_FALSE(d.has_after);
  EXPECT_EQ(d.arguments.size(), 8u);
  EXPECT_FALSE(capture->isCutOff());
}

TEST_F(PerfLab, MemoryIsReadInWholePages) {
  const auto capture = PerfLabCapture::open(dir_);
  ASSERT_TRUE(capture.ok()) << capture.error().message();
  ASSERT_EQ(capture->regions().size(), 2u);
  EXPECT_EQ(capture->regions()[1].address, 0x7f0000800000u);
  EXPECT_EQ(capture->regions()[1].size, kPageSize);
  std::string bytes;
  const auto keep = [&](std::span<const uint8_t> pages) {
    bytes.append(pages.begin(), pages.end());
    return true;
  };
  ASSERT_TRUE(capture->read(0, keep).ok());
  EXPECT_EQ(bytes, std::string(8192, 'a'));
  bytes.clear();
  ASSERT_TRUE(capture->read(1, keep).ok());
  EXPECT_EQ(bytes, std::string(16, '\0') + std::string(100, 'b') + std::string(4096 - 116, '\0'));
}

TEST_F(PerfLab, AllocationsThatShareAPageBecomeOneRegion) {
  const uint64_t large = (uint64_t{8} << 20) + 5000; // more than one piece
  regions({{0x1000, 100}, {0x1100, large}, {0x1100 + large, 10}, {0x4000000, 1}});
  const auto capture = PerfLabCapture::open(dir_);
  ASSERT_TRUE(capture.ok()) << capture.error().message();
  ASSERT_EQ(capture->regions().size(), 2u);
  std::string bytes;
  ASSERT_TRUE(capture
                  ->read(0,
                         [&](std::span<const uint8_t> pages) {
                           bytes.append(pages.begin(), pages.end());
                           return true;
                         })
                  .ok());
  EXPECT_EQ(bytes.size(), capture->regions()[0].size);
  EXPECT_EQ(bytes.substr(0, 0x100), std::string(100, 'a') + std::string(0x100 - 100, '\0'));
  EXPECT_EQ(bytes.substr(0x100, large), std::string(large, 'b'));
  EXPECT_EQ(bytes.substr(0x100 + large, 11), std::string(10, 'c') + '\0');
}

TEST_F(PerfLab, WhatOldVersionsDoNotSayIsLeftOut) {
  put("dispatch.json",
      R"({"mangled_name": "k", "demangled_name": "", "kernel_object": 4096, "grid": [64, 1, 1],
    "block": [64, 1, 1], "group_segment_size": 0, "private_segment_size": 0, "kernarg_size": 0, "dispatch_index": 0})");
  const auto capture = PerfLabCapture::open(dir_);
  ASSERT_TRUE(capture.ok()) << capture.error().message();
  EXPECT_EQ(capture->description().kernel, "k");
  EXPECT_EQ(capture->description().gpu, "");
}

TEST_F(PerfLab, ACommaBehindTheLastAllocationIsForgiven) {
  regions({{0x1000, 10}}, true);
  EXPECT_EQ(mistake(), "");
}

TEST_F(PerfLab, AsManyAllocationsAsItKeepsAreTooMany) {
  std::vector<std::pair<uint64_t, uint64_t>> all;
  for (uint64_t i = 1; i <= 256; ++i) all.emplace_back(i << 16, 1);
  regions(all);
  const auto capture = PerfLabCapture::open(dir_);
  ASSERT_TRUE(capture.ok());
  EXPECT_TRUE(capture->isCutOff());
}

TEST_F(PerfLab, WrongOnesAreRefusedInOneLine) {
  const auto changed = [](std::string text, const std::string &from, const std::string &to) {
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  const std::vector<std::array<std::string, 3>> changes = {
      {"\"block\": [256, 1, 1]", "\"block\": [256, 0, 1]", "block"},
      {"\"block\": [256, 1, 1]", "\"block\": [65536, 1, 1]", "block"},
      {"\"grid\": [1024, 2, 1]", "\"grid\": [1024]", "grid"},
      {"139637976727552", "-1", "kernel_object"},
      {"139637976727552", "18446744073709551615", "kernel_object"},
      {"\"mangled_name\": \"_Z3addPKfS0_Pfi.kd\"", "\"mangled_name\": 7", "mangled_name"},
      {"\"dispatch_index\": 4", "\"dispatch_index\": 18446744073709551615", "dispatch_index"},
      {"{", "[", "not a JSON object"},
  };
  for (const auto &[from, to, expected] : changes) {
    put("dispatch.json", changed(kDispatch, from, to));
    EXPECT_NE(mistake().find(expected), std::string::npos) << to << ": " << mistake();
    EXPECT_EQ(mistake().find('\n'), std::string::npos) << mistake();
  }
  put("dispatch.json", kDispatch);
  regions({{0x1000, 8192}, {0x2000, 10}});
  EXPECT_NE(mistake().find("overlap at 0x2000"), std::string::npos) << mistake();
  put("memory_regions.json",
      R"({"regions": [{"base": 144115188075855872, "size": 144115188075855872}]})");
  EXPECT_NE(mistake().find("reaches beyond all addresses"), std::string::npos) << mistake();
  regions({{0x1000, 10}});
  put("memory/region_1000.bin", "short");
  EXPECT_NE(mistake().find("it has 5 bytes instead of 10"), std::string::npos) << mistake();
  fs::remove(dir_ + "/memory/region_1000.bin");
  fs::create_symlink("/etc/hostname", dir_ + "/memory/region_1000.bin");
  EXPECT_NE(mistake(), ""); // nothing outside of the folder is read
  fs::remove(dir_ + "/kernel.hsaco");
  EXPECT_NE(mistake().find("kernel.hsaco: No such file"), std::string::npos) << mistake();
}

} // namespace
} // namespace fade::capture
