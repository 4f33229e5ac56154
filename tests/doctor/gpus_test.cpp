// GPUs as the topology of unusual machines has them.
#include "doctor/look.h"
#include "tree_file.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <utility>

namespace fade::doctor {
namespace {

namespace fs = std::filesystem;

class GpusTest : public testing::Test {
protected:
  void write(const std::string &path, const std::string &text) {
    fs::create_directories(fs::path(root_.path() + path).parent_path());
    std::ofstream(root_.path() + path) << text;
  }
  std::string node(int number) const {
    return "/sys/class/kfd/kfd/topology/nodes/" + std::to_string(number);
  }
  void cpu(int number) {
    write(node(number) + "/properties", "cpu_cores_count 64\nsimd_count 0\n");
  }
  void gpu(int number, const std::string &version, uint64_t location, const std::string &link,
           uint64_t gib = 64) {
    write(node(number) + "/properties", "cpu_cores_count 0\nsimd_count 416\ngfx_target_version " +
                                            version + "\ndomain 0\nlocation_id " +
                                            std::to_string(location) + "\n");
    write(node(number) + "/mem_banks/0/properties",
          "heap_type 1\nsize_in_bytes " + std::to_string(gib << 30) + "\n");
    write(node(number) + "/io_links/0/properties", link);
  }
  std::vector<const Record *> look() {
    lookAtGpus(Tree(root_.path()), facts_);
    return std::as_const(facts_).of("gpu");
  }

  test::Folder root_;
  Facts facts_;
};

TEST_F(GpusTest, AtomicsOfAGpuAtTheSecondSocketAreKnown) {
  cpu(0), cpu(1);
  gpu(2, "90010", 0x300, "type 2\nnode_to 0\nflags 1\n");
  gpu(3, "90010", 0x1300, "type 2\nnode_to 1\nflags 13\n");
  // Another card is no socket: what its link says does not count.
  write(node(3) + "/io_links/1/properties", "type 11\nnode_to 2\nflags 1\n");
  const auto gpus = look();
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_EQ(gpus[0]->get("pcie_atomics"), "yes");
  EXPECT_EQ(gpus[1]->get("pcie_atomics"), "no");
  EXPECT_EQ(gpus[1]->get("host_node"), "1");
}

TEST_F(GpusTest, AnApuIsKnownByItsProcessorOrByTheLinkInsideOfIt) {
  cpu(0);
  gpu(1, "110501", 0xc300, "type 2\nnode_to 0\nflags 1\nweight 20\n"); // Strix Halo
  gpu(2, "90402", 0x300, "type 11\nnode_to 0\nflags 1\nweight 13\n");  // MI300A
  gpu(3, "90402", 0x1300, "type 2\nnode_to 0\nflags 1\nweight 20\n");  // MI300X
  gpu(4, "90010", 0x2300, "type 11\nnode_to 0\nflags 1\nweight 15\n"); // MI250X at a CPU by XGMI
  const auto gpus = look();
  ASSERT_EQ(gpus.size(), 4u);
  EXPECT_EQ(gpus[0]->get("apu"), "yes");
  EXPECT_EQ(gpus[1]->get("apu"), "yes");
  EXPECT_EQ(gpus[2]->get("apu"), "");
  EXPECT_EQ(gpus[3]->get("apu"), "");
}

TEST_F(GpusTest, PartitionsHaveTheFactsOfTheirCard) {
  cpu(0);
  for (int i = 0; i < 3; ++i)
    gpu(1 + i, "90402", 0x300 + static_cast<uint64_t>(i), "type 2\nnode_to 0\nflags 1\n", 24);
  const std::string card = "/sys/bus/pci/devices/0000:03:00.0";
  write(card + "/mem_info_vis_vram_total", std::to_string(uint64_t{192} << 30) + "\n");
  write(card + "/mem_info_vram_total", std::to_string(uint64_t{192} << 30) + "\n");
  write(card + "/current_link_speed", "32.0 GT/s PCIe\n");
  const auto gpus = look();
  ASSERT_EQ(gpus.size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(gpus[i]->get("pci"), "0000:03:00.0");
    EXPECT_EQ(gpus[i]->get("current_link_speed"), "32.0 GT/s PCIe");
    EXPECT_EQ(gpus[i]->get("vram_mib"), std::to_string(24 << 10)) << "not that of the whole card";
    EXPECT_EQ(gpus[i]->get("partition"), i == 0 ? "" : std::to_string(i));
  }
}

TEST_F(GpusTest, NewerDriversHaveThePartitionInTheHighestBits) {
  cpu(0);
  gpu(1, "90402", 0x50000300, "type 2\nnode_to 0\nflags 1\n", 24);
  write("/sys/bus/pci/devices/0000:03:00.0/vendor", "0x1002\n");
  const auto gpus = look();
  ASSERT_EQ(gpus.size(), 1u);
  EXPECT_EQ(gpus[0]->get("pci"), "0000:03:00.0");
  EXPECT_EQ(gpus[0]->get("partition"), "5");
}

} // namespace
} // namespace fade::doctor
