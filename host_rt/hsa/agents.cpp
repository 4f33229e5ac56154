#include "hsa/agents.h"

#include <algorithm>
#include <array>

namespace fade {
namespace {

struct PoolFacts {
  bool usable = false;
  bool fine = false, coarse = false, kernarg = false;
};

PoolFacts factsOf(hsa_amd_memory_pool_t pool) {
  const auto get = hsaApi().amd.hsa_amd_memory_pool_get_info_fn;
  hsa_amd_segment_t segment{};
  bool allocatable = false;
  uint32_t flags = 0;
  PoolFacts facts;
  if (!ok(get(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment)) ||
      segment != HSA_AMD_SEGMENT_GLOBAL ||
      !ok(get(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &allocatable)) ||
      !allocatable || !ok(get(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags)))
    return facts;
  facts.usable = true;
  facts.fine = (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED) != 0;
  facts.coarse = (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED) != 0;
  facts.kernarg = (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) != 0;
  return facts;
}

// What can be asked of an agent; newer than the headers that FADE is built with may be.
constexpr uint32_t kComputeUnits = 0xA002, kCooperativeUnits = 0xA014, kNearestCpu = 0xA113;

template <typename T> bool ask(hsa_agent_t agent, uint32_t what, T &answer) {
  return ok(
      hsaApi().core.hsa_agent_get_info_fn(agent, static_cast<hsa_agent_info_t>(what), &answer));
}

uint32_t computeUnits(hsa_agent_t agent) {
  uint32_t count = 0;
  for (const uint32_t which : {kCooperativeUnits, kComputeUnits})
    if (ask(agent, which, count) && count != 0) return count;
  return 0;
}

bool canHoldRings(const Agent &agent) {
  return !agent.is_gpu && agent.host_pool && agent.kernarg_pool;
}

/// How far a CPU's memory is from a GPU, as the system's firmware measures it; nothing if they are
/// not linked. Sockets are links of their own.
std::optional<uint64_t> distanceOf(const Agent &gpu, const Agent &cpu) {
  const auto get = hsaApi().amd.hsa_amd_agent_memory_pool_get_info_fn;
  if (!get || !cpu.host_pool) return std::nullopt;
  uint32_t hops = 0;
  if (!ok(get(gpu.handle, *cpu.host_pool, HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS, &hops)) ||
      hops == 0)
    return std::nullopt;
  std::vector<hsa_amd_memory_pool_link_info_t> links(hops);
  if (!ok(get(gpu.handle, *cpu.host_pool, HSA_AMD_AGENT_MEMORY_POOL_INFO_LINK_INFO, links.data())))
    return std::nullopt;
  uint64_t distance = 0;
  for (const auto &link : links) distance += link.numa_distance;
  return distance;
}

/// The first instruction set of an agent; the others are generic forms of it.
std::string isaOf(hsa_agent_t agent) {
  std::string name;
  hsaApi().core.hsa_agent_iterate_isas_fn(
      agent,
      [](hsa_isa_t isa, void *data) {
        const auto get = hsaApi().core.hsa_isa_get_info_alt_fn;
        uint32_t length = 0;
        if (!ok(get(isa, HSA_ISA_INFO_NAME_LENGTH, &length))) return HSA_STATUS_SUCCESS;
        std::string text(length, '\0');
        if (!ok(get(isa, HSA_ISA_INFO_NAME, text.data()))) return HSA_STATUS_SUCCESS;
        *static_cast<std::string *>(data) = text.c_str();
        return HSA_STATUS_INFO_BREAK;
      },
      &name);
  return name;
}

void readAgent(Agent &agent, std::vector<hsa_amd_memory_pool_t> &pools) {
  const HsaApi &api = hsaApi();
  hsa_device_type_t type{};
  api.core.hsa_agent_get_info_fn(agent.handle, HSA_AGENT_INFO_DEVICE, &type);
  agent.is_gpu = type == HSA_DEVICE_TYPE_GPU;
  std::array<char, 65> name{};
  api.core.hsa_agent_get_info_fn(agent.handle, HSA_AGENT_INFO_NAME, name.data());
  agent.target = name.data();
  agent.isa = isaOf(agent.handle);
  api.amd.hsa_amd_agent_iterate_memory_pools_fn(
      agent.handle,
      [](hsa_amd_memory_pool_t pool, void *data) {
        static_cast<std::vector<hsa_amd_memory_pool_t> *>(data)->push_back(pool);
        return HSA_STATUS_SUCCESS;
      },
      &pools);
  for (const auto pool : pools) {
    const PoolFacts facts = factsOf(pool);
    if (!facts.usable) continue;
    if (agent.is_gpu && facts.coarse && !agent.device_pool) agent.device_pool = pool;
    if (agent.is_gpu && facts.fine && !agent.fine_device_pool) agent.fine_device_pool = pool;
    if (!agent.is_gpu && facts.fine && !facts.kernarg && !agent.host_pool) agent.host_pool = pool;
    if (!agent.is_gpu && facts.kernarg && !agent.kernarg_pool) agent.kernarg_pool = pool;
  }
  if (!agent.host_pool) agent.host_pool = agent.kernarg_pool; // it is fine-grained as well
}

/// The runtime says it since ROCm 5.7; before, by the links between them. A socket without a known
/// link to the GPU is the nearest to ROCr (its distance is 0), but not to the GPU.
std::optional<uint32_t> nearestTo(const Agent &gpu, const std::vector<Agent> &agents) {
  std::optional<uint32_t> linked;
  std::optional<uint64_t> least;
  for (const Agent &agent : agents) {
    const auto distance = canHoldRings(agent) ? distanceOf(gpu, agent) : std::nullopt;
    if (!distance || (least && *distance >= *least)) continue;
    least = distance;
    linked = agent.number;
  }
  hsa_agent_t nearest{};
  if (ask(gpu.handle, kNearestCpu, nearest))
    for (const Agent &agent : agents)
      if (agent.handle.handle == nearest.handle && canHoldRings(agent) &&
          (!linked || distanceOf(gpu, agent)))
        return agent.number;
  return linked;
}

} // namespace

Agents Agents::enumerate() {
  Agents result;
  hsaApi().core.hsa_iterate_agents_fn(
      [](hsa_agent_t handle, void *data) {
        auto &agents = *static_cast<std::vector<Agent> *>(data);
        Agent &agent = agents.emplace_back();
        agent.handle = handle;
        agent.number = static_cast<uint32_t>(agents.size() - 1);
        return HSA_STATUS_SUCCESS;
      },
      &result.agents_);
  uint32_t gpus = 0;
  for (Agent &agent : result.agents_) {
    std::vector<hsa_amd_memory_pool_t> pools;
    readAgent(agent, pools);
    if (agent.is_gpu) agent.gpu = gpus++;
    for (const auto pool : pools) result.owners_.push_back({pool, agent.number, !agent.is_gpu});
  }
  for (Agent &agent : result.agents_) {
    if (!agent.is_gpu) continue;
    agent.compute_units = computeUnits(agent.handle);
    agent.nearest = nearestTo(agent, result.agents_);
  }
  return result;
}

const Agent *Agents::hostOf(const Agent &gpu) const {
  return gpu.nearest && *gpu.nearest < agents_.size() ? &agents_[*gpu.nearest] : host();
}

const Agent *Agents::find(hsa_agent_t handle) const {
  const auto at = std::ranges::find_if(
      agents_, [&](const Agent &agent) { return agent.handle.handle == handle.handle; });
  return at == agents_.end() ? nullptr : &*at;
}

const Agent *Agents::host() const {
  const auto at = std::ranges::find_if(agents_, canHoldRings);
  return at == agents_.end() ? nullptr : &*at;
}

std::optional<uint32_t> Agents::ownerOf(hsa_amd_memory_pool_t pool) const {
  for (const PoolOwner &owner : owners_)
    if (owner.pool.handle == pool.handle) return owner.agent;
  return std::nullopt;
}

bool Agents::isHostPool(hsa_amd_memory_pool_t pool) const {
  return std::ranges::any_of(owners_, [&](const PoolOwner &owner) {
    return owner.pool.handle == pool.handle && owner.on_host;
  });
}

void *allocateFor(hsa_amd_memory_pool_t pool, std::size_t size, hsa_agent_t agent) {
  const AmdApi &amd = hsaApi().amd;
  void *memory = nullptr;
  if (!ok(amd.hsa_amd_memory_pool_allocate_fn(pool, size, 0, &memory))) return nullptr;
  // Fails for memory that is the agent's own, which it can reach anyway.
  (void)amd.hsa_amd_agents_allow_access_fn(1, &agent, nullptr, memory);
  return memory;
}

void freeMemory(void *memory) {
  if (memory) (void)hsaApi().amd.hsa_amd_memory_pool_free_fn(memory);
}

} // namespace fade
