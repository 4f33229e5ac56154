// Buffer resources (V#): the four scalar registers through which buffer instructions address
// memory.
#pragma once

#include "semantics/memory_access.h"

#include <optional>

namespace fade::sim {

struct BufferResource {
  uint64_t base = 0;
  uint32_t stride = 0;
  uint32_t records = 0;
  bool swizzle = false;
  bool add_lane = false; // the lane's number is added to the index
  uint32_t index_stride = 0;
  uint32_t element_bytes = 4; // of swizzled buffers
  uint8_t bounds = 0;         // gfx10: which kind of bounds check
  uint8_t format = 0;         // gfx9: data_format | num_format << 4, gfx10: format
  uint8_t select[4] = {};     // component each result takes: 0, 1, or 4-7 for x-w
};

BufferResource buffer_resource(const Arch &arch, const uint32_t *words);

// Sets `a`: the address of each lane, and the lanes whose access is inside the buffer as a whole.
// `first` is added to the offset. A multi-dword load or store whose dwords are checked or placed
// one by one is marked `word_by_word`.
void buffer_addresses(const Wave &w, const Instruction &in, uint32_t bytes, uint32_t first,
                      LaneAddresses &a);

// A buffer access of at most a dword through a resource for private memory, all lanes with the same
// offset: its private address. Nothing for all others.
std::optional<uint64_t> private_buffer_address(const Wave &w, const Instruction &in,
                                               uint32_t bytes);

} // namespace fade::sim
