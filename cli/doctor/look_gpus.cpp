// GPUs as the driver's topology and the PCI bus have them.
#include "doctor/look.h"
#include "fade/gpu.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace fade::doctor {
namespace {

constexpr const char *kPci = "/sys/bus/pci/devices/";

// Flags of a link in the topology; its kind, and its weight inside of an APU (MI300A).
constexpr uint64_t kNoAtomics32 = 1 << 2, kNoAtomics64 = 1 << 3;
constexpr uint64_t kXgmi = 11, kInsideWeight = 13;

/// Processors that are only made together with a CPU (AMDGPUUsage.rst of LLVM).
bool isApuProcessor(std::string_view gfx) {
  constexpr std::array<std::string_view, 13> names = {
      "gfx801",  "gfx902",  "gfx909",  "gfx90c",  "gfx1013", "gfx1033", "gfx1035",
      "gfx1036", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"};
  return std::ranges::find(names, gfx) != names.end();
}

std::string topologyOf(const Tree &tree) {
  for (const char *place :
       {"/sys/class/kfd/kfd/topology/nodes", "/sys/devices/virtual/kfd/kfd/topology/nodes"})
    if (tree.isFolder(place)) return place;
  return "";
}

/// The bytes of the first region, which is the GPU's memory, from "start end flags".
uint64_t barBytes(const Tree &tree, const std::string &folder) {
  const auto words = wordsOf(tree.line(folder + "/resource").value_or(""));
  if (words.size() != 3) return 0;
  const uint64_t first = toNumber(words[0]), last = toNumber(words[1]);
  return last > first ? last - first + 1 : 0;
}

void lookAtPciOf(const Tree &tree, const std::string &address, Record &gpu) {
  const std::string folder = kPci + address;
  uint64_t visible = toNumber(tree.line(folder + "/mem_info_vis_vram_total").value_or("0"));
  if (visible == 0) visible = barBytes(tree, folder);
  const uint64_t all = toNumber(tree.line(folder + "/mem_info_vram_total").value_or("0"));
  // Of a partition the topology has its own part, the bus all of the card.
  const uint64_t own = toNumber(gpu.get("vram_mib")) << 20;
  if (all != 0 && (own == 0 || own > all / 2)) gpu.set("vram_mib", std::to_string(all >> 20));
  const uint64_t vram = toNumber(gpu.get("vram_mib")) << 20;
  if (visible != 0 && vram != 0) {
    gpu.set("visible_mib", std::to_string(visible >> 20));
    gpu.set("large_bar", visible >= vram / 2 ? "yes" : "no");
  }
  for (const char *name :
       {"current_link_speed", "current_link_width", "max_link_speed", "max_link_width"})
    gpu.set(name, tree.line(folder + "/" + name).value_or(""));
  gpu.set("mec_firmware", tree.line(folder + "/fw_version/mec_fw_version").value_or(""));
  if (const uint64_t mes = toNumber(tree.line(folder + "/fw_version/mes_fw_version").value_or("0"));
      mes != 0)
    gpu.set("mes_firmware", fmt::format("{:#x}", mes & 0xfff)); // the rest says for which GPU
  gpu.set("product", tree.line(folder + "/product_name").value_or(""));
}

void lookAtMemory(const Tree &tree, const std::string &node, Record &gpu) {
  uint64_t bytes = 0;
  for (const std::string &bank : tree.list(node + "/mem_banks")) {
    const auto values = tree.properties(node + "/mem_banks/" + bank + "/properties");
    const auto heap = values.find("heap_type"), size = values.find("size_in_bytes");
    if (heap == values.end() || size == values.end()) continue;
    if (heap->second == "1" || heap->second == "2") bytes += toNumber(size->second);
  }
  if (bytes != 0) gpu.set("vram_mib", std::to_string(bytes >> 20));
}

/// Links to the host's nodes: there is one for each socket.
void lookAtLinks(const Tree &tree, const std::string &node, Record &gpu) {
  const std::string nodes = node.substr(0, node.rfind('/'));
  for (const std::string &link : tree.list(node + "/io_links")) {
    const auto values = tree.properties(node + "/io_links/" + link + "/properties");
    const auto number = [](const auto &in, const char *name) {
      const auto at = in.find(name);
      return at == in.end() ? uint64_t{0} : toNumber(at->second);
    };
    const auto to = values.find("node_to");
    if (to == values.end() || !values.contains("flags")) continue;
    if (number(tree.properties(nodes + "/" + to->second + "/properties"), "simd_count") != 0)
      continue; // another GPU
    const bool none = number(values, "flags") & (kNoAtomics32 | kNoAtomics64);
    gpu.set("pcie_atomics", none ? "no" : "yes");
    gpu.set("host_node", to->second);
    if (number(values, "type") == kXgmi && number(values, "weight") == kInsideWeight)
      gpu.set("apu", "yes");
  }
}

/// Partitions of a card are functions of it in the topology, but not on the bus.
std::string folderOf(const Tree &tree, uint64_t domain, uint64_t location, Record &gpu) {
  const auto address = [&](uint64_t function) {
    return fmt::format("{:04x}:{:02x}:{:02x}.{}", domain, location >> 8 & 0xff,
                       location >> 3 & 0x1f, function);
  };
  const uint64_t function = location & 7, newer = location >> 28;
  const std::string own = address(function);
  if (function == 0 || tree.isFolder(kPci + own)) {
    if (newer != 0) gpu.set("partition", std::to_string(newer)); // since Linux 6.9
    return own;
  }
  if (!tree.isFolder(kPci + address(0))) return own;
  gpu.set("partition", std::to_string(function));
  return address(0);
}

void lookAtNode(const Tree &tree, const std::string &node, const std::string &number,
                Facts &facts) {
  const auto values = tree.properties(node + "/properties");
  const auto value = [&](const char *name) {
    const auto at = values.find(name);
    return at == values.end() ? std::string() : at->second;
  };
  const std::string gfx = gfxName(toNumber(value("gfx_target_version")));
  if (gfx.empty() || toNumber(value("simd_count")) == 0) return;
  Record &gpu = facts.add("gpu");
  gpu.set("node", number);
  gpu.set("gfx", gfx);
  gpu.set("source", node + "/properties");
  gpu.set("effective_gfx", gfx);
  for (const Record *variable : facts.of("variable"))
    if (variable->is("name", "HSA_OVERRIDE_GFX_VERSION") ||
        variable->is("name", "HSA_OVERRIDE_GFX_VERSION_" + number))
      if (const std::string other = gfxNameOfOverride(variable->get("value")); !other.empty())
        gpu.set("effective_gfx", other);
  if (const GpuInfo *known = findGpu(gfx)) {
    gpu.set("family", known->family);
    gpu.set("major", std::to_string(known->major));
  }
  if (const uint64_t minor = toNumber(value("drm_render_minor")); minor != 0)
    gpu.set("render_minor", std::to_string(minor));
  gpu.set("firmware", value("fw_version"));
  gpu.set("cpu_cores", value("cpu_cores_count"));
  if (toNumber(value("cpu_cores_count")) > 0 || isApuProcessor(gfx)) gpu.set("apu", "yes");
  lookAtMemory(tree, node, gpu);
  lookAtLinks(tree, node, gpu);
  const std::string address =
      folderOf(tree, toNumber(value("domain")), toNumber(value("location_id")), gpu);
  gpu.set("pci", address);
  lookAtPciOf(tree, address, gpu);
  std::string name = gpu.get("product").empty() ? gpu.get("family") : gpu.get("product");
  gpu.set("name", name.empty() ? gfx : fmt::format("{} ({})", gfx, name));
}

void lookAtPci(const Tree &tree, Facts &facts) {
  for (const std::string &address : tree.list(kPci)) {
    const std::string folder = kPci + address;
    const std::string vendor = tree.line(folder + "/vendor").value_or("");
    if (vendor != "0x1002" && vendor != "0x10de" && vendor != "0x8086") continue;
    const std::string type = tree.line(folder + "/class").value_or("");
    if (!type.starts_with("0x03") && !type.starts_with("0x12")) continue; // display, accelerator
    if (vendor != "0x1002") {
      facts.one("machine").addTo("other_gpus", vendor == "0x10de" ? "NVIDIA" : "Intel");
      continue;
    }
    Record &pci = facts.add("pci");
    pci.set("address", address);
    pci.set("device", tree.line(folder + "/device").value_or(""));
    const std::string driver = tree.linkTarget(folder + "/driver").value_or("");
    pci.set("driver", driver.empty() ? "none" : driver.substr(driver.rfind('/') + 1));
    for (const Record *gpu : facts.of("gpu"))
      if (gpu->is("pci", address)) pci.set("node", gpu->get("node"));
  }
}

} // namespace

void lookAtGpus(const Tree &tree, Facts &facts) {
  const std::string topology = topologyOf(tree);
  if (!topology.empty())
    for (const std::string &number : tree.list(topology))
      lookAtNode(tree, topology + "/" + number, number, facts);
  lookAtPci(tree, facts);
  Record &machine = facts.one("machine");
  machine.set("gpus", std::to_string(facts.of("gpu").size()));
  machine.set("amd_cards", std::to_string(facts.of("pci").size()));
}

} // namespace fade::doctor
