#include "kfd/topology.h"

#include <algorithm>
#include <cstdio>
#include <initializer_list>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <utility>

namespace fade::sim::kfd {
namespace {

using Properties = std::initializer_list<std::pair<const char *, uint64_t>>;

std::string lines(Properties properties) {
  std::string text;
  for (auto &[name, value] : properties)
    text += std::string(name) + " " + std::to_string(value) + "\n";
  return text;
}

const std::string topology = "/sys/devices/virtual/kfd/kfd/topology/";
std::string node_path(size_t node) { return topology + "nodes/" + std::to_string(node) + "/"; }

enum LinkType : uint64_t { link_hypertransport = 1, link_pcie = 2, link_xgmi = 11 };
// As the driver weighs links: inside of an APU, between cards or sockets, over PCIe.
enum LinkWeight : uint64_t {
  weight_inside = 13,
  weight_xgmi = 15,
  weight_pcie = 20,
  weight_socket = 32
};
enum HeapType : uint64_t { heap_system = 0, heap_host_visible = 1, heap_private = 2 };

struct Link {
  size_t from, to;
  LinkType type;
  LinkWeight weight;
  bool has_atomics = true;
};

std::string text_of(const Link &l) {
  constexpr uint64_t enabled = 1 << 0, no_atomics = 1 << 2 | 1 << 3; // of 32 and 64 bits
  const bool fast = l.type != link_pcie;
  return lines({{"type", l.type},
                {"version_major", 0},
                {"version_minor", 0},
                {"node_from", l.from},
                {"node_to", l.to},
                {"weight", l.weight},
                {"min_latency", 0},
                {"max_latency", 0},
                {"min_bandwidth", fast ? 50000u : 312u},
                {"max_bandwidth", fast ? 100000u : 31504u},
                {"recommended_transfer_size", 0},
                {"recommended_sdma_engine_id_mask", 0},
                {"flags", enabled | (l.has_atomics ? 0 : no_atomics)}});
}

bool by_xgmi(const Card &a, const Card &b) { return a.xgmi_sdma_engines && b.xgmi_sdma_engines; }

// Bits of "capability" as the runtime reads them.
uint64_t capability(const Card &card) {
  constexpr uint64_t watch_points = 1u << 7, four_of_them = 2u << 8, doorbells_64_bit = 2u << 12,
                     revision_1 = 1u << 22, sram_ecc = 1u << 26, svm = 1u << 27;
  return watch_points | four_of_them | doorbells_64_bit | revision_1 | svm |
         (arch(card.gfx).sram_ecc ? sram_ecc : 0);
}

// The cards of a machine, between its sockets.
struct Machine {
  const std::vector<Card> &cards;
  const HostMachine &host;

  size_t node_of(size_t card) const { return host.sockets + card; }
  // The first half is at the last socket: who takes the first for granted is wrong.
  size_t socket_of(size_t card) const {
    return host.sockets - 1 - card * host.sockets / cards.size();
  }
  Link to_host(size_t card) const {
    const Card &c = cards[card];
    const bool inside = c.is_apu && c.xgmi_sdma_engines; // MI300A; smaller ones call it PCIe
    return {node_of(card), socket_of(card), inside ? link_xgmi : link_pcie,
            inside ? weight_inside : weight_pcie, c.has_pcie_atomics || c.is_apu};
  }
};

// What the runtime reads of the system about a socket that this machine does not have. The first is
// the machine's own.
void describe_processors(VirtualFiles &files, const HostMachine &host, size_t socket) {
  const size_t count = std::max(1u, host.cores / host.sockets);
  for (size_t i = 0; i < count; ++i) {
    const std::string number = std::to_string(socket * count + i);
    const std::string cache = std::string(second_socket) + "/cpu" + number + "/cache/index0/";
    const std::pair<const char *, std::string> texts[] = {{"level", "1"},
                                                          {"type", "Data"},
                                                          {"size", "32K"},
                                                          {"coherency_line_size", "64"},
                                                          {"number_of_sets", "64"},
                                                          {"ways_of_associativity", "8"},
                                                          {"shared_cpu_map", "1"},
                                                          {"shared_cpu_list", number},
                                                          {"physical_line_partition", "1"}};
    for (const auto &[name, text] : texts) files.file(cache + name, text + "\n");
  }
}

/// The kernel makes them for every node, with or without something in them.
void make_folders(VirtualFiles &files, const std::string &node) {
  for (const char *folder : {"mem_banks", "caches", "io_links", "p2p_links"})
    files.directory(node + folder);
}

void describe_socket(VirtualFiles &files, const Machine &machine, size_t socket) {
  const HostMachine &host = machine.host;
  std::string node = node_path(socket);
  make_folders(files, node);
  uint64_t links = 0;
  auto add = [&](const Link &link) {
    files.file(node + "io_links/" + std::to_string(links++) + "/properties", text_of(link));
  };
  for (size_t other = 0; other < host.sockets; ++other)
    if (other != socket) add({socket, other, link_hypertransport, weight_socket});
  for (size_t i = 0; i < machine.cards.size(); ++i) {
    // Such a link tells the runtime that the host sees all of VRAM.
    if (!machine.cards[i].host_visible_vram || machine.socket_of(i) != socket) continue;
    Link link = machine.to_host(i);
    std::swap(link.from, link.to);
    add(link);
  }
  files.file(node + "gpu_id", "0\n");
  files.file(node + "name", "\n");
  files.file(node + "properties",
             lines({{"cpu_cores_count", std::max(1u, host.cores / host.sockets)},
                    {"simd_count", 0},
                    {"mem_banks_count", 1},
                    {"caches_count", 0},
                    {"io_links_count", links},
                    {"p2p_links_count", 0},
                    {"cpu_core_id_base", socket * (host.cores / host.sockets)},
                    {"simd_id_base", 0},
                    {"max_waves_per_simd", 0},
                    {"lds_size_in_kb", 0},
                    {"max_engine_clk_ccompute", 2000}}));
  files.file(node + "mem_banks/0/properties",
             lines({{"heap_type", heap_system},
                    {"size_in_bytes", host.memory_bytes / host.sockets},
                    {"flags", 0},
                    {"width", 64},
                    {"mem_clk_max", 3200}}));
  if (socket != 0) describe_processors(files, host, socket);
}

// Links of card `self` to the host and to the other cards; returns how many.
uint64_t describe_links(VirtualFiles &files, const Machine &machine, size_t self) {
  std::string node = node_path(machine.node_of(self));
  uint64_t links = 0;
  auto add = [&](const Link &link) {
    files.file(node + "io_links/" + std::to_string(links++) + "/properties", text_of(link));
  };
  add(machine.to_host(self));
  for (size_t other = 0; other < machine.cards.size(); ++other)
    if (other != self && by_xgmi(machine.cards[self], machine.cards[other]))
      add({machine.node_of(self), machine.node_of(other), link_xgmi, weight_xgmi});
  return links;
}

std::vector<GpuCache> caches_of(const GpuCard &card) {
  std::vector<GpuCache> caches{card.l1, card.l2};
  if (card.l3.kib) caches.push_back(card.l3);
  return caches;
}

void describe_card(VirtualFiles &files, const Machine &machine, size_t index) {
  const std::vector<Card> &cards = machine.cards;
  const Card &c = cards[index];
  const GpuInfo &gpu = c.gpu();
  const std::vector<GpuCache> caches = caches_of(gpu.card);
  std::string node = node_path(machine.node_of(index));
  make_folders(files, node);
  uint64_t links = describe_links(files, machine, index);
  files.file(node + "gpu_id", std::to_string(gpu_id(index)) + "\n");
  files.file(node + "name", std::string(gpu.name) + "\n");
  files.file(node + "properties",
             lines({{"cpu_cores_count", 0},
                    {"simd_count", uint64_t{c.compute_units()} * gpu.unit.simds},
                    {"mem_banks_count", 1},
                    {"caches_count", caches.size()},
                    {"io_links_count", links},
                    {"p2p_links_count", 0},
                    {"cpu_core_id_base", 0},
                    {"simd_id_base", 0x80000000u + 0x1000u * index},
                    {"max_waves_per_simd", gpu.unit.waves_per_simd},
                    {"lds_size_in_kb", gpu.unit.lds_bytes / 1024},
                    {"gds_size_in_kb", 0},
                    {"num_gws", 64},
                    {"wave_front_size", gpu.unit.smallest_wave},
                    {"array_count", c.shader_arrays},
                    {"simd_arrays_per_engine", c.arrays_per_engine},
                    {"cu_per_simd_array", c.cus_per_array},
                    {"simd_per_cu", gpu.unit.simds},
                    {"max_slots_scratch_cu", 32},
                    {"gfx_target_version", gpu.targetVersion()},
                    {"vendor_id", 0x1002},
                    {"device_id", c.device_id},
                    {"location_id", location_id(c)},
                    {"domain", 0},
                    {"drm_render_minor", render_minor(index)},
                    {"hive_id", c.xgmi_sdma_engines && cards.size() > 1 ? 1u : 0u},
                    {"num_sdma_engines", c.sdma_engines},
                    {"num_sdma_xgmi_engines", c.xgmi_sdma_engines},
                    {"num_sdma_queues_per_engine", 8},
                    {"num_cp_queues", 24},
                    {"max_engine_clk_fcompute", gpu.card.engine_mhz},
                    {"local_mem_size", c.vram_bytes()},
                    {"fw_version", c.firmware},
                    {"capability", capability(c)},
                    {"debug_prop", 0},
                    {"sdma_fw_version", c.sdma_firmware},
                    {"unique_id", 0xfade000000000000u + index + 1},
                    {"num_xcc", c.dies()},
                    {"max_engine_clk_ccompute", 2000}}));
  files.file(node + "mem_banks/0/properties",
             lines({{"heap_type", c.host_visible_vram ? heap_host_visible : heap_private},
                    {"size_in_bytes", c.vram_bytes()},
                    {"flags", 0},
                    {"width", c.memory_bits},
                    {"mem_clk_max", c.memory_mhz}}));
  for (size_t i = 0; i < caches.size(); ++i) {
    constexpr uint64_t data_cache_of_gpu = 1u << 0 | 1u << 3;
    files.file(node + "caches/" + std::to_string(i) + "/properties",
               lines({{"processor_id_low", 0x80000000u + 0x1000u * index},
                      {"level", i + 1},
                      {"size", caches[i].kib},
                      {"cache_line_size", caches[i].line},
                      {"cache_lines_per_tag", 1},
                      {"association", 16},
                      {"latency", 0},
                      {"type", data_cache_of_gpu}}) +
                   "sibling_map 1,0,0,0\n");
  }
}

std::string pci_address(const Card &card) {
  char text[24];
  std::snprintf(text, sizeof text, "0000:%02x:00.%u", location_id(card) >> 8,
                location_id(card) & 7);
  return text;
}

// The render node, and what libdrm looks at to find out what it is.
void describe_render_node(VirtualFiles &files, const Card &card, size_t index) {
  constexpr uint32_t drm_major = 226;
  uint32_t minor = render_minor(index);
  std::string name = "renderD" + std::to_string(minor), primary = "card" + std::to_string(index);
  std::string number = std::to_string(drm_major) + ":" + std::to_string(minor);
  files.device("/dev/dri/" + name, makedev(drm_major, minor));
  // Under a folder that is ours alone, so that a resolved path is still recognised.
  std::string device = "/sys/devices/virtual/kfd/" + pci_address(card);
  auto hex = [](uint32_t value) {
    char text[16];
    std::snprintf(text, sizeof text, "0x%04x\n", value);
    return std::string(text);
  };
  files.file(device + "/vendor", hex(0x1002));
  files.file(device + "/device", hex(card.device_id));
  files.file(device + "/revision", hex(card.revision));
  files.file(device + "/subsystem_vendor", hex(0x1002));
  files.file(device + "/subsystem_device", hex(card.device_id));
  files.file(device + "/uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=" + pci_address(card) + "\n");
  files.file(device + "/drm/" + name + "/dev", number + "\n");
  files.file(device + "/drm/" + primary + "/dev", "226:" + std::to_string(index) + "\n");
  files.link(device + "/subsystem", "/sys/bus/pci");
  files.link(device + "/drm/" + name + "/device", device);
  files.link(device + "/drm/" + primary + "/device", device);
  files.link("/sys/dev/char/" + number, device + "/drm/" + name);
  files.link("/sys/class/drm/" + name, device + "/drm/" + name);
  files.link("/sys/class/drm/" + primary, device + "/drm/" + primary);
}

} // namespace

uint32_t gpu_id(size_t index) { return 0xfade + static_cast<uint32_t>(index) * 0x101; }
uint32_t render_minor(size_t index) { return first_render_minor + static_cast<uint32_t>(index); }
uint32_t location_id(const Card &card) { return (3 + card.physical * 0x10) << 8 | card.partition; }

HostMachine this_machine() {
  struct sysinfo info {};
  sysinfo(&info);
  return {static_cast<uint32_t>(get_nprocs()), uint64_t{info.totalram} * info.mem_unit};
}

VirtualFiles describe(const std::vector<Card> &cards, const HostMachine &host) {
  VirtualFiles files;
  files.file(topology + "generation_id", "1\n");
  files.file(topology + "system_properties", "platform_oem 0\nplatform_id 0\nplatform_rev 0\n");
  const Machine machine{cards, host};
  for (size_t i = 0; i < host.sockets; ++i) describe_socket(files, machine, i);
  for (size_t i = 0; i < cards.size(); ++i) {
    describe_card(files, machine, i);
    describe_render_node(files, cards[i], i);
  }
  files.device("/dev/kfd", makedev(240, 0));
  files.link("/sys/class/kfd/kfd", "/sys/devices/virtual/kfd/kfd");
  files.file("/sys/devices/virtual/kfd/kfd/dev", "240:0\n");
  files.file("/sys/module/amdgpu/version", "6.10.5\n");
  files.file("/sys/module/amdgpu/initstate", "live\n");
  files.directory("/sys/bus/pci");
  return files;
}

} // namespace fade::sim::kfd
