#include "kfd/topology.h"

#include <algorithm>
#include <cstdint>
#include <gtest/gtest.h>
#include <sstream>
#include <string_view>
#include <sys/sysmacros.h>

namespace fade::sim::kfd {
namespace {

const std::string nodes = "/sys/class/kfd/kfd/topology/nodes/";

VirtualFiles files_for(const std::string &list, const char *machine = "") {
  std::string error;
  const MachineForm form = machine_from(machine, error);
  const HostMachine host{4, 8ull << 30, form.two_sockets ? 2u : 1u};
  auto files = describe(in_machine(cards_from(list, error), form, host.memory_bytes), host);
  EXPECT_EQ(error, "");
  return files;
}

uint64_t property(const VirtualFiles &files, const std::string &path, const std::string &name) {
  const VirtualNode *node = files.find(path);
  if (!node) {
    ADD_FAILURE() << "no " << path;
    return 0;
  }
  std::istringstream in(node->text);
  std::string key;
  uint64_t value;
  while (in >> key >> value)
    if (key == name) return value;
  ADD_FAILURE() << path << " has no " << name;
  return 0;
}

struct CardFacts {
  const char *arch;
  uint64_t compute_units, gigabytes, version, wave;
  uint64_t lds_kb = 64;
};
void PrintTo(const CardFacts &c, std::ostream *out) { *out << c.arch; }
class TopologyOfCardTest : public testing::TestWithParam<CardFacts> {};
TEST_P(TopologyOfCardTest, DescribesTheCard) {
  auto facts = GetParam();
  auto files = files_for(facts.arch);
  std::string properties = nodes + "1/properties";
  EXPECT_EQ(property(files, properties, "simd_count") / property(files, properties, "simd_per_cu"),
            facts.compute_units);
  EXPECT_EQ(property(files, properties, "gfx_target_version"), facts.version);
  EXPECT_EQ(property(files, properties, "wave_front_size"), facts.wave);
  EXPECT_EQ(property(files, properties, "lds_size_in_kb"), facts.lds_kb);
  EXPECT_EQ(property(files, properties, "vendor_id"), 0x1002u);
  EXPECT_EQ(property(files, nodes + "1/mem_banks/0/properties", "size_in_bytes"),
            facts.gigabytes << 30);
  EXPECT_EQ(files.find(nodes + "1/gpu_id")->text, std::to_string(gpu_id(0)) + "\n");
  // A shader array holds at most as many compute units as it says.
  EXPECT_GE(property(files, properties, "array_count") *
                property(files, properties, "cu_per_simd_array"),
            facts.compute_units);
}
const CardFacts published[] = {
    {"gfx908", 120, 32, 90008, 64},  {"gfx90a", 104, 64, 90010, 64},
    {"gfx942", 304, 192, 90402, 64}, {"gfx950", 256, 288, 90500, 64, 160},
    {"gfx1030", 72, 16, 100300, 32}, {"gfx1100", 96, 24, 110000, 32},
    {"gfx1150", 16, 8, 110500, 32}, // 8 GiB: the host's, as in files_for
    {"gfx1151", 40, 8, 110501, 32},  {"gfx1152", 8, 8, 110502, 32},
    {"gfx1153", 4, 8, 110503, 32},   {"gfx1200", 32, 16, 120000, 32},
    {"gfx1201", 64, 16, 120001, 32},
};
INSTANTIATE_TEST_SUITE_P(, TopologyOfCardTest, testing::ValuesIn(published),
                         [](auto &test) { return test.param.arch; });

TEST(TopologyTest, EveryCardIsTested) {
  for (const Arch &a : archs()) {
    const auto is_it = [&](const CardFacts &facts) {
      return facts.arch == std::string_view(a.name);
    };
    EXPECT_TRUE(std::ranges::any_of(published, is_it)) << "`published` lacks " << a.name;
  }
}

TEST(TopologyTest, CountsMatchTheFolders) {
  auto files = files_for("gfx90a,gfx90a,gfx1030");
  EXPECT_EQ(files.list(nodes), (std::vector<std::string>{"0", "1", "2", "3"}));
  for (std::string node : {"0", "1", "2", "3"}) {
    auto properties = nodes + node + "/properties";
    EXPECT_EQ(property(files, properties, "mem_banks_count"),
              files.list(nodes + node + "/mem_banks").size());
    EXPECT_EQ(property(files, properties, "caches_count"),
              files.list(nodes + node + "/caches").size());
    EXPECT_EQ(property(files, properties, "io_links_count"),
              files.list(nodes + node + "/io_links").size());
  }
}

TEST(TopologyTest, FoldersAreThereWithNothingInThem) {
  // rocm_smi ends the process without them.
  const auto files = files_for("gfx1201");
  for (const char *node : {"0/", "1/"})
    for (const char *folder : {"mem_banks", "caches", "io_links", "p2p_links"})
      EXPECT_NE(files.find(nodes + node + folder), nullptr) << node << folder;
}

TEST(TopologyTest, HostNodeDescribesTheHost) {
  auto files = files_for("gfx90a");
  EXPECT_EQ(files.find(nodes + "0/gpu_id")->text, "0\n");
  EXPECT_EQ(property(files, nodes + "0/properties", "cpu_cores_count"), 4u);
  EXPECT_EQ(property(files, nodes + "0/mem_banks/0/properties", "size_in_bytes"), 8ull << 30);
}

TEST(TopologyTest, DevicesDiffer) {
  auto files = files_for("gfx90a,gfx90a");
  for (const char *name : {"location_id", "drm_render_minor", "unique_id"})
    EXPECT_NE(property(files, nodes + "1/properties", name),
              property(files, nodes + "2/properties", name));
  EXPECT_NE(gpu_id(0), gpu_id(1));
}

TEST(TopologyTest, OnlyHostVisibleMemoryHasALinkFromTheHost) {
  // The runtime takes such a link for a large PCI aperture.
  auto visible = files_for("gfx90a"), hidden = files_for("gfx1030");
  EXPECT_EQ(visible.list(nodes + "0/io_links").size(), 1u);
  EXPECT_EQ(property(visible, nodes + "1/mem_banks/0/properties", "heap_type"), 1u);
  EXPECT_EQ(hidden.list(nodes + "0/io_links").size(), 0u);
  EXPECT_EQ(property(hidden, nodes + "1/mem_banks/0/properties", "heap_type"), 2u);
}

TEST(TopologyTest, RenderNodeIsFoundTheWayLibdrmLooks) {
  auto files = files_for("gfx90a,gfx1030");
  EXPECT_EQ(files.find("/dev/dri/renderD129")->device_number, makedev(226, 129));
  EXPECT_EQ(files.list("/sys/dev/char/226:129/device/drm"),
            (std::vector<std::string>{"card1", "renderD129"}));
  EXPECT_EQ(files.find("/sys/dev/char/226:128/device/device")->text, "0x740f\n");
  EXPECT_EQ(files.find("/sys/dev/char/226:129/device/device")->text, "0x73bf\n");
}

// ---- FADE_GPU_MACHINE

const std::string link0 = "/io_links/0/properties";

TEST(MachineTest, TwoSocketsAreTwoNodesWithHalfOfTheHostEachAndCardsBehindBoth) {
  auto files = files_for("gfx90a,gfx90a,gfx90a,gfx90a", "two-sockets");
  EXPECT_EQ(files.list(nodes), (std::vector<std::string>{"0", "1", "2", "3", "4", "5"}));
  for (std::string socket : {"0", "1"}) {
    EXPECT_EQ(property(files, nodes + socket + "/properties", "cpu_cores_count"), 2u);
    EXPECT_EQ(property(files, nodes + socket + "/mem_banks/0/properties", "size_in_bytes"),
              4ull << 30);
    EXPECT_EQ(property(files, nodes + socket + "/properties", "io_links_count"), 3u);
  }
  // The first card is not at the first socket: who takes that for granted is wrong.
  EXPECT_EQ(property(files, nodes + "2" + link0, "node_to"), 1u);
  EXPECT_EQ(property(files, nodes + "3" + link0, "node_to"), 1u);
  EXPECT_EQ(property(files, nodes + "4" + link0, "node_to"), 0u);
  EXPECT_EQ(property(files, nodes + "5" + link0, "node_to"), 0u);
  auto one = files_for("gfx90a", "two-sockets");
  EXPECT_EQ(property(one, nodes + "2" + link0, "node_to"), 1u);
}

TEST(MachineTest, PartitionsAreFunctionsOfOneDeviceAndShareTheCard) {
  auto files = files_for("gfx942", "cpx");
  ASSERT_EQ(files.list(nodes).size(), 9u);
  for (uint64_t i = 0; i < 8; ++i) {
    const std::string path = nodes + std::to_string(i + 1);
    EXPECT_EQ(property(files, path + "/properties", "location_id"), 0x300 + i);
    EXPECT_EQ(property(files, path + "/properties", "simd_count"), 38u * 4);
    EXPECT_EQ(property(files, path + "/properties", "num_xcc"), 1u);
    EXPECT_EQ(property(files, path + "/mem_banks/0/properties", "size_in_bytes"), 24ull << 30);
    EXPECT_EQ(property(files, path + "/properties", "drm_render_minor"), 128 + i);
  }
  EXPECT_EQ(files_for("gfx1030", "cpx").list(nodes).size(), 2u); // Radeon cards have none
}

TEST(MachineTest, AnApuHasTheHostsMemoryAndIsNotBehindPcie) {
  auto files = files_for("gfx942", "apu");
  EXPECT_EQ(property(files, nodes + "1/mem_banks/0/properties", "size_in_bytes"), 8ull << 30);
  EXPECT_EQ(property(files, nodes + "1/properties", "device_id"), 0x74a0u);
  EXPECT_EQ(property(files, nodes + "1/properties", "simd_count"), 228u * 4);
  EXPECT_EQ(property(files, nodes + "1" + link0, "type"), 11u);
  EXPECT_EQ(property(files, nodes + "1" + link0, "weight"), 13u);
}

TEST(MachineTest, WithoutPcieAtomicsTheLinkSaysSo) {
  EXPECT_EQ(property(files_for("gfx90a"), nodes + "1" + link0, "flags"), 1u);
  EXPECT_EQ(property(files_for("gfx90a", "no-atomics"), nodes + "1" + link0, "flags"), 1u | 4 | 8);
}

TEST(MachineTest, ASmallBarHidesTheMemoryOfAnyCard) {
  auto hidden = files_for("gfx90a", "small-bar");
  EXPECT_EQ(hidden.list(nodes + "0/io_links").size(), 0u);
  EXPECT_EQ(property(hidden, nodes + "1/mem_banks/0/properties", "heap_type"), 2u);
}

TEST(MachineTest, WordsThatAreNotKnownAreNamed) {
  std::string error;
  EXPECT_TRUE(machine_from("small-bar,cpux", error).small_bar);
  EXPECT_NE(error.find("'cpux'"), error.npos) << error;
}

TEST(TopologyTest, ModuleIsLive) {
  EXPECT_EQ(files_for("gfx90a").find("/sys/module/amdgpu/initstate")->text, "live\n");
}

} // namespace
} // namespace fade::sim::kfd
