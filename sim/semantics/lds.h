// LDS instructions: where the lanes point, and the parts that make up the table.
#pragma once

#include "semantics/memory_access.h"

#include <span>

namespace fade::sim {

struct LdsAddresses {
  uint32_t at[64];
  bool inside; // all active lanes, with the whole access
};

LdsAddresses lds_addresses(const Wave &w, const Instruction &in, uint32_t offset, uint32_t bytes);
// The same when the address does not come from a register but from M0 and the lane's number.
LdsAddresses lds_addresses_by_lane(const Wave &w, uint32_t offset);

// LDS word by word: beyond the allocation, reads are zero and writes are lost.
template <class T> T lds_read(const Wave &w, uint64_t at) {
  return at + sizeof(T) <= w.group->lds_bytes ? load_unaligned<T>(w.group->lds + at) : T{};
}
template <class T> void lds_write(Wave &w, uint64_t at, T v) {
  if (at + sizeof(T) <= w.group->lds_bytes) store_unaligned(w.group->lds + at, v);
}

// What the tables are made of.
constexpr Opcode lds_reading(const char *name, Handler run) {
  return with(LdsUse::reads, Opcode{name, run, ExecClass::lds});
}
constexpr Opcode lds_writing(const char *name, Handler run) {
  return with(LdsUse::writes, Opcode{name, run, ExecClass::lds});
}

std::span<const Opcode> lds_load_store_opcodes();
std::span<const Opcode> lds_atomic_opcodes();
std::span<const Opcode> lds_cross_lane_opcodes();
std::span<const Opcode> lds_transposed_opcodes();

} // namespace fade::sim
