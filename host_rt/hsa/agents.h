// The agents of the system and their memory.
#pragma once

#include "hsa/hsa_api.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace fade {

struct Agent {
  hsa_agent_t handle{};
  uint32_t number = 0; ///< among all agents
  bool is_gpu = false;
  uint32_t gpu = 0;                                 ///< among the GPUs
  std::string target;                               ///< gfx90a
  std::string isa;                                  ///< amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-
  std::optional<hsa_amd_memory_pool_t> device_pool; ///< GPU: coarse-grained memory of its own
  std::optional<hsa_amd_memory_pool_t> fine_device_pool; ///< GPU: fine-grained memory of its own
  std::optional<hsa_amd_memory_pool_t> host_pool;        ///< CPU: fine-grained
  std::optional<hsa_amd_memory_pool_t> kernarg_pool;
  uint32_t compute_units = 0;      ///< GPU: that one kernel can use; 0 if it is not known
  std::optional<uint32_t> nearest; ///< GPU: the CPU whose memory is nearest, by its number
};

class Agents {
public:
  /// Asks the runtime.
  static Agents enumerate();

  const Agent *find(hsa_agent_t handle) const;
  /// The CPU whose memory FADE uses, where it does not matter for which GPU.
  const Agent *host() const;
  /// The one whose memory is nearest to a GPU.
  const Agent *hostOf(const Agent &gpu) const;
  std::optional<uint32_t> ownerOf(hsa_amd_memory_pool_t pool) const;
  bool isHostPool(hsa_amd_memory_pool_t pool) const;
  const std::vector<Agent> &all() const { return agents_; }

private:
  struct PoolOwner {
    hsa_amd_memory_pool_t pool;
    uint32_t agent;
    bool on_host;
  };
  std::vector<Agent> agents_;
  std::vector<PoolOwner> owners_;
};

/// Memory of a pool that the agent can reach as well; null if there is none left.
void *allocateFor(hsa_amd_memory_pool_t pool, std::size_t size, hsa_agent_t agent);
void freeMemory(void *memory);

} // namespace fade
