// Packets that no GPU knows: the runtime calls the queue's error handler with the reason. The
// argument says which packet.
#include "../check.h"

#include <atomic>
#include <hsa/hsa.h>
#include <thread>

static std::atomic<int> reported{0};

static hsa_status_t first_gpu(hsa_agent_t agent, void *found) {
  hsa_device_type_t type;
  hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
  if (type != HSA_DEVICE_TYPE_GPU) return HSA_STATUS_SUCCESS;
  *static_cast<hsa_agent_t *>(found) = agent;
  return HSA_STATUS_INFO_BREAK;
}

static void put(hsa_queue_t *queue, uint16_t header, uint16_t workgroup) {
  uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  auto *packet = static_cast<hsa_kernel_dispatch_packet_t *>(queue->base_address) + index;
  std::memset(reinterpret_cast<char *>(packet) + 4, 0, sizeof *packet - 4);
  packet->workgroup_size_x = workgroup;
  packet->workgroup_size_y = packet->workgroup_size_z = 1;
  packet->grid_size_x = packet->grid_size_y = packet->grid_size_z = 1;
  __atomic_store_n(reinterpret_cast<uint32_t *>(packet), header | 1u << 16, __ATOMIC_RELEASE);
  hsa_signal_store_relaxed(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
}

int main(int argc, char **argv) {
  const std::string kind = argc > 1 ? argv[1] : "type";
  EXPECT_EQ(hsa_init(), HSA_STATUS_SUCCESS);
  hsa_agent_t gpu = {};
  EXPECT_EQ(hsa_iterate_agents(first_gpu, &gpu), HSA_STATUS_INFO_BREAK);
  hsa_queue_t *queue = nullptr;
  auto on_error = [](hsa_status_t status, hsa_queue_t *, void *) {
    reported = static_cast<int>(status);
  };
  EXPECT_EQ(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, on_error, nullptr, UINT32_MAX,
                             UINT32_MAX, &queue),
            HSA_STATUS_SUCCESS);
  if (kind == "type")
    put(queue, 0x77, 64);
  else // a dispatch of a workgroup that is too large
    put(queue, HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE, 5000);
  for (int i = 0; i < 200 && !reported; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(reported.load(), kind == "type"
                                 ? static_cast<int>(HSA_STATUS_ERROR_INVALID_PACKET_FORMAT)
                                 : static_cast<int>(HSA_STATUS_ERROR_INVALID_ARGUMENT));
  EXPECT_EQ(hsa_queue_destroy(queue), HSA_STATUS_SUCCESS);
  hsa_shut_down();
  return check::result();
}
