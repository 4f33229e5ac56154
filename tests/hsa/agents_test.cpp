// Machines with two sockets: in whose memory rings are.
#include "fake_hsa.h"

#include <cstring>
#include <gtest/gtest.h>
#include <optional>

namespace fade {
namespace {

/// CPUs are 1 and 2, each with two pools (10 and 11, 20 and 21); the GPU is 3.
struct TwoSockets {
  static std::optional<uint64_t> nearest;           ///< as new runtimes say it
  static std::map<uint64_t, uint32_t> distances;    ///< by pool; as old ones do
  static std::optional<uint32_t> cooperative_units; ///< only new runtimes know them

  TwoSockets() {
    nearest = std::nullopt;
    distances.clear();
    cooperative_units = std::nullopt;
    HsaApi &api = hsaApi();
    api.core.hsa_iterate_agents_fn = [](hsa_status_t (*callback)(hsa_agent_t, void *), void *data) {
      for (const uint64_t agent : {1, 2, 3}) callback({agent}, data);
      return HSA_STATUS_SUCCESS;
    };
    api.core.hsa_agent_get_info_fn = agentInfo;
    api.amd.hsa_amd_agent_iterate_memory_pools_fn =
        [](hsa_agent_t agent, hsa_status_t (*callback)(hsa_amd_memory_pool_t, void *), void *data) {
          callback({agent.handle * 10}, data);
          return callback({agent.handle * 10 + 1}, data);
        };
    api.amd.hsa_amd_memory_pool_get_info_fn = poolInfo;
    api.amd.hsa_amd_agent_memory_pool_get_info_fn = linkInfo;
  }

  __attribute__((no_sanitize("enum"))) static hsa_status_t
  agentInfo(hsa_agent_t agent, hsa_agent_info_t what, void *value) {
    const auto put = [&](auto answer) {
      std::memcpy(value, &answer, sizeof answer);
      return HSA_STATUS_SUCCESS;
    };
    const bool is_gpu = agent.handle == 3;
    switch (static_cast<uint32_t>(what)) {
    case HSA_AGENT_INFO_DEVICE: return put(is_gpu ? HSA_DEVICE_TYPE_GPU : HSA_DEVICE_TYPE_CPU);
    case HSA_AGENT_INFO_NAME: return put(std::array<char, 8>{"gfx90a"});
    case HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT: return put(uint32_t{110});
    case 0xA014: // HSA_AMD_AGENT_INFO_COOPERATIVE_COMPUTE_UNIT_COUNT
      return cooperative_units ? put(*cooperative_units) : HSA_STATUS_ERROR_INVALID_ARGUMENT;
    case 0xA113: // HSA_AMD_AGENT_INFO_NEAREST_CPU
      return nearest ? put(hsa_agent_t{*nearest}) : HSA_STATUS_ERROR_INVALID_ARGUMENT;
    default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
  }
  static hsa_status_t poolInfo(hsa_amd_memory_pool_t pool, hsa_amd_memory_pool_info_t what,
                               void *value) {
    const auto put = [&](auto answer) {
      std::memcpy(value, &answer, sizeof answer);
      return HSA_STATUS_SUCCESS;
    };
    if (what == HSA_AMD_MEMORY_POOL_INFO_SEGMENT) return put(HSA_AMD_SEGMENT_GLOBAL);
    if (what == HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED) return put(true);
    if (pool.handle / 10 == 3) return put(uint32_t{HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED});
    return put(uint32_t{HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED} |
               (pool.handle % 10 ? HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT : 0u));
  }
  static hsa_status_t linkInfo(hsa_agent_t, hsa_amd_memory_pool_t pool,
                               hsa_amd_agent_memory_pool_info_t what, void *value) {
    const auto at = distances.find(pool.handle);
    const uint32_t hops = at == distances.end() ? 0 : 1;
    if (what == HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS) {
      std::memcpy(value, &hops, sizeof hops);
    } else if (hops != 0) {
      hsa_amd_memory_pool_link_info_t link{};
      link.numa_distance = at->second;
      std::memcpy(value, &link, sizeof link);
    }
    return HSA_STATUS_SUCCESS;
  }

  /// The CPU whose memory the GPU's rings get.
  static uint64_t hostOfTheGpu() {
    const Agents agents = Agents::enumerate();
    const Agent *host = agents.hostOf(agents.all()[2]);
    return host ? host->handle.handle : 0;
  }
};
std::optional<uint64_t> TwoSockets::nearest;
std::map<uint64_t, uint32_t> TwoSockets::distances;
std::optional<uint32_t> TwoSockets::cooperative_units;

class AgentsTest : public testing::Test {
protected:
  FakeHsa fake_; ///< puts the table back
  TwoSockets machine_;
};

TEST_F(AgentsTest, RingsAreAtTheSocketThatTheRuntimeCallsTheNearest) {
  TwoSockets::nearest = 2;
  TwoSockets::distances = {{10, 20}, {20, 52}}; // it knows better
  EXPECT_EQ(TwoSockets::hostOfTheGpu(), 2u);
  TwoSockets::nearest = 1;
  EXPECT_EQ(TwoSockets::hostOfTheGpu(), 1u);
}

TEST_F(AgentsTest, ASocketWithoutALinkIsNotTheNearestWhateverTheRuntimeSays) {
  TwoSockets::nearest = 1;
  TwoSockets::distances = {{20, 20}};
  EXPECT_EQ(TwoSockets::hostOfTheGpu(), 2u);
  TwoSockets::distances = {}; // nor is the other one
  EXPECT_EQ(TwoSockets::hostOfTheGpu(), 1u);
}

TEST_F(AgentsTest, AnOldRuntimeIsAskedForTheLinks) {
  TwoSockets::distances = {{10, 52}, {20, 20}};
  EXPECT_EQ(TwoSockets::hostOfTheGpu(), 2u);
  TwoSockets::distances = {{20, 20}}; // a socket without a link is far away
  EXPECT_EQ(TwoSockets::hostOfTheGpu(), 2u);
}

TEST_F(AgentsTest, WithoutAnAnswerItIsTheFirst) {
  EXPECT_EQ(TwoSockets::hostOfTheGpu(), 1u);
  TwoSockets::nearest = 77; // nobody knows it
  EXPECT_EQ(TwoSockets::hostOfTheGpu(), 1u);
  hsaApi().amd.hsa_amd_agent_memory_pool_get_info_fn = nullptr;
  EXPECT_EQ(TwoSockets::hostOfTheGpu(), 1u);
}

TEST_F(AgentsTest, ComputeUnitsAreThoseThatACooperativeKernelGets) {
  EXPECT_EQ(Agents::enumerate().all()[2].compute_units, 110u);
  TwoSockets::cooperative_units = 104;
  EXPECT_EQ(Agents::enumerate().all()[2].compute_units, 104u);
}

} // namespace
} // namespace fade
