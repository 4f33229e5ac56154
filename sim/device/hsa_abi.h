// The HSA structures that packet processors and host share, as far as the device reads or writes
// them: AQL packets, signals and the head of a queue. Layouts are those of the HSA specification
// and of AMD's runtime.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fade::sim::hsa {

enum PacketType : uint8_t {
  packet_vendor_specific = 0,
  packet_invalid = 1,
  packet_kernel_dispatch = 2,
  packet_barrier_and = 3,
  packet_agent_dispatch = 4,
  packet_barrier_or = 5,
};

// Scopes of the fences in a header; there is no fourth.
enum FenceScope : uint8_t { scope_none = 0, scope_agent = 1, scope_system = 2 };
constexpr uint8_t acquire_scope(uint16_t header) { return header >> 9 & 3; }
constexpr uint8_t release_scope(uint16_t header) { return header >> 11 & 3; }

// Second byte pair of a vendor-specific packet.
enum VendorFormat : uint8_t { vendor_pm4_ib = 1, vendor_barrier_value = 2 };

struct KernelDispatch {
  uint16_t header;
  uint16_t setup; // low two bits: dimensions
  uint16_t workgroup_size[3];
  uint16_t reserved0;
  uint32_t grid_size[3];
  uint32_t private_segment_size;
  uint32_t group_segment_size;
  uint64_t kernel_object;
  uint64_t kernarg_address;
  uint64_t reserved2;
  uint64_t completion_signal;
};

struct Barrier { // and, or
  uint16_t header;
  uint16_t reserved0;
  uint32_t reserved1;
  uint64_t dep_signal[5];
  uint64_t reserved2;
  uint64_t completion_signal;
};

struct BarrierValue {
  uint16_t header;
  uint8_t format;
  uint8_t reserved;
  uint32_t reserved0;
  uint64_t signal;
  int64_t value;
  int64_t mask;
  uint32_t condition; // 0 equal, 1 not equal, 2 less, 3 greater or equal
  uint32_t reserved1;
  uint64_t reserved2, reserved3;
  uint64_t completion_signal;
};

struct Pm4Ib {
  uint16_t header;
  uint8_t format;
  uint8_t reserved;
  uint32_t jump[4]; // a PM4 INDIRECT_BUFFER packet: header, address low, address high, dwords
  uint32_t dwords_of_packet;
  uint32_t reserved0[8];
  uint64_t completion_signal;
};

constexpr uint64_t packet_size = 64;
static_assert(sizeof(KernelDispatch) == packet_size && sizeof(Barrier) == packet_size);
static_assert(sizeof(BarrierValue) == packet_size && sizeof(Pm4Ib) == packet_size);
static_assert(offsetof(KernelDispatch, kernel_object) == 32 &&
              offsetof(BarrierValue, condition) == 32);

struct Signal {
  int64_t kind;
  int64_t value;
  uint64_t event_mailbox;
  uint32_t event_id;
  uint32_t reserved1;
  uint64_t start_ts;
  uint64_t end_ts;
  uint64_t queue;
  uint32_t reserved3[2];
};
static_assert(sizeof(Signal) == 64);

// Byte offsets in amd_queue_t. The driver is told where read_dispatch_id lies, the rest follows
// from it.
constexpr uint64_t queue_read_dispatch_id = 0x80;
constexpr uint64_t queue_properties = 0xb4;
constexpr uint64_t queue_inactive_signal = 0xc0;
constexpr uint32_t queue_is_profiled = 1 << 3; // of queue_properties: times are wanted

// What a packet processor writes to queue_inactive_signal when it stops the queue.
enum QueueError : int64_t {
  error_dimensions = 0x2,
  error_group_memory = 0x4,
  error_resources = error_group_memory, // the nearest: an allocation failed
  error_code_object = 0x8,
  error_packet_format = 0x20,
  error_workgroup_size = 0x40,
  error_vendor_packet = 0x100,
  error_memory_violation = 0x20000000,
  error_illegal_instruction = 0x40000000,
  error_trap = 0x80000000,
};

} // namespace fade::sim::hsa
