#include "hsa/device_facts.h"

#include "hsa/agents.h"

#include <filesystem>
#include <fstream>
#include <map>

namespace fade {
namespace {

template <typename T> T ask(hsa_agent_t agent, int attribute) {
  T value{};
  const auto get = hsaApi().core.hsa_agent_get_info_fn;
  return ok(get(agent, static_cast<hsa_agent_info_t>(attribute), &value)) ? value : T{};
}

uint64_t sizeOf(hsa_amd_memory_pool_t pool) {
  std::size_t size = 0;
  return ok(hsaApi().amd.hsa_amd_memory_pool_get_info_fn(pool, HSA_AMD_MEMORY_POOL_INFO_SIZE,
                                                         &size))
             ? size
             : 0;
}

/// What a workgroup can have of LDS.
uint64_t ldsOf(hsa_agent_t agent) {
  uint64_t size = 0;
  (void)hsaApi().amd.hsa_amd_agent_iterate_memory_pools_fn(
      agent,
      [](hsa_amd_memory_pool_t pool, void *data) {
        hsa_amd_segment_t segment{};
        if (ok(hsaApi().amd.hsa_amd_memory_pool_get_info_fn(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT,
                                                            &segment)) &&
            segment == HSA_AMD_SEGMENT_GROUP)
          *static_cast<uint64_t *>(data) = sizeOf(pool);
        return HSA_STATUS_SUCCESS;
      },
      &size);
  return size;
}

/// "name number" lines of a node of the driver's topology.
std::map<std::string, uint64_t> nodeOf(uint32_t number) {
  std::ifstream file("/sys/class/kfd/kfd/topology/nodes/" + std::to_string(number) + "/properties");
  std::map<std::string, uint64_t> values;
  std::string name;
  for (uint64_t value = 0; file >> name >> value;) values[name] = value;
  return values;
}

hip::DeviceFacts factsOf(const Agent &agent) {
  hip::DeviceFacts facts;
  const auto place = ask<uint32_t>(agent.handle, HSA_AMD_AGENT_INFO_BDFID);
  facts.pci_domain = ask<uint32_t>(agent.handle, HSA_AMD_AGENT_INFO_DOMAIN);
  facts.pci_bus = (place >> 8) & 0xff;
  facts.pci_device = (place >> 3) & 0x1f;
  const auto number = [&](int attribute) { return ask<uint32_t>(agent.handle, attribute); };
  facts.compute_units = number(HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT);
  facts.clock_khz = uint64_t{number(HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY)} * 1000;
  facts.memory_clock_khz = uint64_t{number(HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY)} * 1000;
  facts.memory_bus_bits = number(HSA_AMD_AGENT_INFO_MEMORY_WIDTH);
  facts.wave_size = number(HSA_AGENT_INFO_WAVEFRONT_SIZE);
  if (agent.device_pool) facts.memory_bytes = sizeOf(*agent.device_pool);
  facts.lds_bytes = ldsOf(agent.handle);
  const auto dashes = agent.isa.rfind("--");
  facts.isa = dashes == std::string::npos ? agent.target : agent.isa.substr(dashes + 2);
  auto node = nodeOf(number(HSA_AMD_AGENT_INFO_DRIVER_NODE_ID));
  if (node["simd_per_cu"] != 0)
    facts.driver_compute_units = node["simd_count"] / node["simd_per_cu"];
  return facts;
}

} // namespace

std::vector<hip::DeviceFacts> askDevices() {
  const Agents agents = Agents::enumerate();
  std::vector<hip::DeviceFacts> all;
  for (const Agent &agent : agents.all())
    if (agent.is_gpu) all.push_back(factsOf(agent));
  return all;
}

} // namespace fade
