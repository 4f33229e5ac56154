// From a dispatch and a kernel descriptor to the state in which waves start.
#pragma once

#include "base/address_space.h"
#include "exec/executor.h"
#include "wave/wave.h"

#include <array>
#include <cstdint>
#include <string>

namespace fade::sim {

class KernelLaunch {
public:
  // Reads the descriptor. An empty error() means that the kernel can start.
  KernelLaunch(const Arch &arch, const AddressSpace &memory, const Dispatch &dispatch);

  const std::string &error() const { return error_; }
  unsigned lanes() const { return lanes_; }
  uint64_t entry() const { return entry_; }
  // Where hardware starts that does not preload arguments.
  uint64_t plain_entry() const { return preload_ & 0x7f ? entry_ - preloaded_entry : entry_; }
  unsigned waves_per_group() const { return waves_per_group_; } // of a full workgroup
  uint64_t groups() const { return groups_[0] * groups_[1] * groups_[2]; }
  uint64_t waves() const; // of the whole dispatch
  uint32_t lds_bytes() const { return dispatch_.group_segment_size; }
  uint32_t scratch_bytes() const { return scratch_bytes_; } // per lane
  unsigned vector_registers() const { return vector_registers_; }
  // What the descriptor takes of a SIMD, before it is rounded up: vector registers of a lane, with
  // accumulation registers where they share a file, and scalar ones of a wave.
  unsigned allocated_vgprs() const;
  unsigned allocated_sgprs() const;
  bool joins_compute_units() const;                         // WGP mode
  uint32_t kernarg_bytes() const { return kernarg_bytes_; } // 0 when the descriptor says nothing

  std::array<uint32_t, 3> group_id(uint64_t index) const;
  // Work-items of a workgroup in each dimension: fewer at the edge of the grid.
  std::array<uint32_t, 3> group_size(const std::array<uint32_t, 3> &id) const;

  // Registers, mode and pc of a wave. `w.vgpr`, `w.lanes` and `w.arch` are set; its registers are
  // cleared.
  void start(Wave &w, const std::array<uint32_t, 3> &group, unsigned wave) const;

private:
  void read_descriptor(const AddressSpace &memory);
  void check();
  unsigned user_registers() const;
  unsigned asked_user_registers() const;
  void set_scalars(Wave &w, const std::array<uint32_t, 3> &group, unsigned waves) const;
  void set_trap_registers(Wave &w, const std::array<uint32_t, 3> &group, unsigned wave) const;
  void set_work_item_ids(Wave &w, const std::array<uint32_t, 3> &size, unsigned wave) const;

  static constexpr uint64_t preloaded_entry = 256; // behind the entry

  const Arch &arch_;
  const Dispatch dispatch_;
  std::string error_;
  uint32_t rsrc1_ = 0, rsrc2_ = 0, rsrc3_ = 0;
  uint16_t properties_ = 0, preload_ = 0;
  std::array<uint32_t, 16> preloaded_{};
  unsigned lanes_ = 64, waves_per_group_ = 1, vector_registers_ = 256;
  uint64_t entry_ = 0;
  uint32_t scratch_bytes_ = 0, kernarg_bytes_ = 0;
  std::array<uint64_t, 3> groups_{};
};

} // namespace fade::sim
