// Rings with a runtime that does what it is told, and fails when it is told to.
#include "hsa/ring_pool.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

namespace fade {
namespace {

constexpr std::chrono::milliseconds kNoPatience{0};

int copies_until_failure = -1; // -1: all succeed

/// Memory of the host stands for all memory.
class RingPoolTest : public ::testing::Test {
protected:
  void SetUp() override {
    HsaApi &api = hsaApi();
    api.amd.hsa_amd_memory_pool_allocate_fn = [](hsa_amd_memory_pool_t, size_t size, uint32_t,
                                                 void **out) {
      *out = std::aligned_alloc(4096, (size + 4095) / 4096 * 4096);
      return HSA_STATUS_SUCCESS;
    };
    api.amd.hsa_amd_memory_pool_free_fn = [](void *memory) {
      std::free(memory);
      return HSA_STATUS_SUCCESS;
    };
    api.amd.hsa_amd_agents_allow_access_fn = [](uint32_t, const hsa_agent_t *, const uint32_t *,
                                                const void *) { return HSA_STATUS_SUCCESS; };
    api.amd.hsa_amd_signal_create_fn = [](hsa_signal_value_t, uint32_t, const hsa_agent_t *,
                                          uint64_t, hsa_signal_t *out) {
      *out = {1};
      return HSA_STATUS_SUCCESS;
    };
    api.core.hsa_signal_destroy_fn = [](hsa_signal_t) { return HSA_STATUS_SUCCESS; };
    api.core.hsa_memory_copy_fn = [](void *to, const void *from, size_t size) {
      if (copies_until_failure == 0) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
      if (copies_until_failure > 0) --copies_until_failure;
      std::memcpy(to, from, size);
      return HSA_STATUS_SUCCESS;
    };
    gpu.is_gpu = true;
    gpu.device_pool = hsa_amd_memory_pool_t{1};
    host.host_pool = host.kernarg_pool = hsa_amd_memory_pool_t{2};
    copies_until_failure = -1;
  }
  static const fade_control &controlOf(const HsaRing &ring) {
    return *reinterpret_cast<const fade_control *>(ring.controlAddress());
  }

  Agent gpu, host;
  Settings settings;
  MemoryBudget budget{uint64_t{64} << 20};
};

TEST_F(RingPoolTest, ARingCountsWhatItWasTakenFor) {
  RingPool rings(gpu, host, settings, budget);
  HsaRing *ring = rings.take(0, kNoPatience);
  ASSERT_TRUE(ring);
  EXPECT_EQ(controlOf(*ring).counters, 0u);
  ring->giveBackUnused();
  HsaRing *again = rings.take(10, kNoPatience);
  ASSERT_EQ(again, ring);
  EXPECT_NE(controlOf(*ring).counters, 0u);
}

TEST_F(RingPoolTest, ARingThatCouldNotBePreparedIsPreparedTheNextTime) {
  for (const int copies : {0, 1}) { // of the counters, of the control block
    RingPool rings(gpu, host, settings, budget);
    HsaRing *ring = rings.take(0, kNoPatience);
    ASSERT_TRUE(ring);
    ring->giveBackUnused();
    copies_until_failure = copies;
    EXPECT_FALSE(rings.take(10, kNoPatience));
    copies_until_failure = -1;
    ASSERT_EQ(rings.take(10, kNoPatience), ring);
    EXPECT_NE(controlOf(*ring).counters, 0u) << "the kernel would count at address 0";
  }
}

} // namespace
} // namespace fade
