#include "exec/kernel_launch.h"

#include "semantics/constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace fade::sim {
namespace {

// Offsets in the kernel descriptor. ROCr's built-in kernels have the older amd_kernel_code_t
// instead, which keeps these at the same places.
constexpr unsigned kernarg_size_at = 8, entry_offset_at = 16, rsrc3_at = 44, rsrc1_at = 48,
                   rsrc2_at = 52, properties_at = 56, preload_at = 58, descriptor_size = 64;

enum Property : unsigned {
  private_segment_buffer = 1 << 0,
  dispatch_ptr = 1 << 1,
  queue_ptr = 1 << 2,
  kernarg_segment_ptr = 1 << 3,
  dispatch_id = 1 << 4,
  flat_scratch_init = 1 << 5,
  private_segment_size = 1 << 6,
  wavefront_size32 = 1 << 10,
};

template <class T> T read_at(const uint8_t *p, unsigned offset) {
  T v;
  std::memcpy(&v, p + offset, sizeof v);
  return v;
}

// The most private memory that a wave can have: the width of COMPUTE_TMPRING_SIZE.WAVESIZE.
uint32_t wave_scratch_limit(const Arch &arch) {
  if (arch.gfx12) return ((1u << 18) - 1) * 256;
  return arch.gfx11 ? ((1u << 15) - 1) * 256 : ((1u << 13) - 1) * 1024;
}

// Buffer resource for private memory: 4-byte elements, interleaved between the lanes.
void scratch_resource(const Arch &arch, unsigned lanes, uint32_t *word) {
  constexpr uint32_t swizzle_enable = 1u << 31, add_tid_enable = 1u << 23;
  const uint32_t index_stride = lanes == 64 ? 3 : 2;
  word[0] = static_cast<uint32_t>(scratch_window_base);
  word[1] = static_cast<uint32_t>(scratch_window_base >> 32);
  word[2] = 0xffffffff;
  if (arch.gfx9) {
    word[1] |= swizzle_enable;
    word[3] = 4u << 12 | 4u << 15 | 1u << 19 | index_stride << 21 | add_tid_enable; // uint, 32 bits
  } else {
    word[1] |= arch.gfx11 ? 1u << 30 : swizzle_enable; // gfx11: two bits, 1 = 4-byte elements
    word[3] = 20u << 12 | index_stride << 21 | add_tid_enable | 1u << 24 | 2u << 28;
  }
}

} // namespace

KernelLaunch::KernelLaunch(const Arch &arch, const AddressSpace &memory, const Dispatch &dispatch)
    : arch_(arch), dispatch_(dispatch) {
  read_descriptor(memory);
  if (error_.empty()) check();
}

void KernelLaunch::read_descriptor(const AddressSpace &memory) {
  uint8_t d[descriptor_size];
  if (!memory.read(dispatch_.kernel_object, d, sizeof d)) {
    error_ = fmt::format("kernel object {:#x} is not in GPU memory", dispatch_.kernel_object);
    return;
  }
  rsrc1_ = read_at<uint32_t>(d, rsrc1_at);
  rsrc2_ = read_at<uint32_t>(d, rsrc2_at);
  rsrc3_ = read_at<uint32_t>(d, rsrc3_at);
  properties_ = read_at<uint16_t>(d, properties_at);
  const auto entry_offset = read_at<int64_t>(d, entry_offset_at);
  entry_ = dispatch_.kernel_object + static_cast<uint64_t>(entry_offset);
  lanes_ = arch_.gfx10_up && properties_ & wavefront_size32 ? 32 : 64;
  vector_registers_ = std::min(256u, allocated_vgprs());
  // These two are not in amd_kernel_code_t, whose code is at 256. So may be that of a descriptor;
  // if it preloads, the user registers are more than the others that it asks for.
  const uint16_t preload = read_at<uint16_t>(d, preload_at);
  const bool preloads = arch_.gfx9 && (preload & 0x7f) != 0 &&
                        user_registers() >= asked_user_registers() + (preload & 0x7f);
  if (entry_offset != 256 || preloads) kernarg_bytes_ = read_at<uint32_t>(d, kernarg_size_at);
  if (arch_.gfx9 && (entry_offset != 256 || preloads)) preload_ = preload;
  if (const unsigned count = preload_ & 0x7f) {
    const unsigned first = preload_ >> 7;
    if (count > preloaded_.size() ||
        !memory.read(dispatch_.kernarg_address + first * 4, preloaded_.data(), count * 4))
      error_ =
          fmt::format("kernel arguments at {:#x} cannot be preloaded", dispatch_.kernarg_address);
    entry_ += preloaded_entry; // the code before it loads what others preload
  }
}

unsigned KernelLaunch::user_registers() const { return rsrc2_ >> 1 & 31; }

// Before arguments that are preloaded.
unsigned KernelLaunch::asked_user_registers() const {
  constexpr unsigned pairs =
      dispatch_ptr | queue_ptr | kernarg_segment_ptr | dispatch_id | flat_scratch_init;
  return (properties_ & private_segment_buffer ? 4u : 0u) +
         2u * static_cast<unsigned>(std::popcount(properties_ & pairs)) +
         (properties_ & private_segment_size ? 1u : 0u);
}

unsigned KernelLaunch::allocated_vgprs() const {
  // Of what is encoded. Where there are two files, it is the size of each.
  const bool is_large = arch_.gfx9 ? arch_.unified_registers : lanes_ == 32;
  const unsigned granule = is_large ? 8 : 4;
  return ((rsrc1_ & 63) + 1) * granule;
}

unsigned KernelLaunch::allocated_sgprs() const { return ((rsrc1_ >> 6 & 15) / 2 + 1) * 16; }

bool KernelLaunch::joins_compute_units() const { return arch_.gfx10_up && rsrc1_ >> 29 & 1; }

void KernelLaunch::check() {
  uint64_t items = 1;
  for (unsigned d = 0; d < 3; d++) {
    if (dispatch_.workgroup[d] == 0 || dispatch_.grid[d] == 0) {
      error_ = "a dimension of the grid or workgroup is zero";
      return;
    }
    items *= dispatch_.workgroup[d];
    groups_[d] = (static_cast<uint64_t>(dispatch_.grid[d]) + dispatch_.workgroup[d] - 1) /
                 dispatch_.workgroup[d];
  }
  if (items > 1024)
    error_ = fmt::format("a workgroup of {} work-items is larger than 1024", items);
  else if (dispatch_.group_segment_size > arch_.lds_bytes)
    error_ = fmt::format("{} bytes of LDS are more than the {} of {}", dispatch_.group_segment_size,
                         arch_.lds_bytes, arch_.name);
  else if (const uint32_t limit = wave_scratch_limit(arch_) / lanes_;
           dispatch_.private_segment_size > limit)
    error_ = fmt::format("{} bytes of private memory per work-item are more than the {} of {}",
                         dispatch_.private_segment_size, limit, arch_.name);
  waves_per_group_ = static_cast<unsigned>((items + lanes_ - 1) / lanes_);
  scratch_bytes_ = (dispatch_.private_segment_size + 3) & ~3u;
}

std::array<uint32_t, 3> KernelLaunch::group_id(uint64_t i) const {
  return {static_cast<uint32_t>(i % groups_[0]), static_cast<uint32_t>(i / groups_[0] % groups_[1]),
          static_cast<uint32_t>(i / groups_[0] / groups_[1])};
}

std::array<uint32_t, 3> KernelLaunch::group_size(const std::array<uint32_t, 3> &id) const {
  std::array<uint32_t, 3> size;
  for (unsigned d = 0; d < 3; d++)
    size[d] = static_cast<uint32_t>(std::min<uint64_t>(
        dispatch_.workgroup[d],
        dispatch_.grid[d] - static_cast<uint64_t>(id[d]) * dispatch_.workgroup[d]));
  return size;
}

uint64_t KernelLaunch::waves() const {
  // Workgroups come in at most eight sizes: inside or at the edge, in each dimension.
  uint64_t sum = 0;
  for (unsigned corner = 0; corner < 8; corner++) {
    uint64_t count = 1, items = 1;
    for (unsigned d = 0; d < 3; d++) {
      const bool edge = corner >> d & 1;
      const uint64_t last = dispatch_.grid[d] - (groups_[d] - 1) * dispatch_.workgroup[d];
      count *= edge ? 1 : groups_[d] - 1;
      items *= edge ? last : dispatch_.workgroup[d];
    }
    sum += count * ((items + lanes_ - 1) / lanes_);
  }
  return sum;
}

void KernelLaunch::start(Wave &w, const std::array<uint32_t, 3> &group, unsigned wave) const {
  std::memset(w.vgpr, 0, vector_registers_ * sizeof(Row));
  if (arch_.has_agprs) std::memset(w.vgpr + agpr_base, 0, vector_registers_ * sizeof(Row));
  std::memset(w.sgpr, 0, sizeof w.sgpr);
  w.scc = false;
  w.pc = entry_;
  w.status = 0;
  w.gpr_index = 0;
  w.flat_scratch = arch_.architected_flat_scratch ? scratch_window_base : 0;
  // gfx12 has neither DX10_CLAMP nor IEEE; there the bits say something else.
  const uint32_t modes = arch_.gfx12 ? 0 : (rsrc1_ >> 21 & 1) << 8 | (rsrc1_ >> 23 & 1) << 9;
  w.set_mode((rsrc1_ >> 12 & 0xff) | modes);
  w.barrier_signaled = w.barrier_complete = false;
  w.state = WaveState::running;
  w.segment = nullptr;
  w.lds_use = LdsUse::none;
  w.time = 0;
  const auto size = group_size(group);
  const unsigned items = size[0] * size[1] * size[2];
  const unsigned mine = std::min(lanes_, items - wave * lanes_);
  w.set_exec(mine == 64 ? ~0ull : (1ull << mine) - 1);
  w.active_exec = ~w.exec(); // force expansion
  set_scalars(w, group, (items + lanes_ - 1) / lanes_);
  if (arch_.gfx12) set_trap_registers(w, group, wave);
  set_work_item_ids(w, size, wave);
}

void KernelLaunch::set_scalars(Wave &w, const std::array<uint32_t, 3> &group,
                               unsigned waves) const {
  unsigned n = 0;
  auto put64 = [&](uint64_t v) { w.set_sgpr64(n, v), n += 2; };
  if (properties_ & private_segment_buffer) scratch_resource(arch_, lanes_, w.sgpr + n), n += 4;
  if (properties_ & dispatch_ptr) put64(dispatch_.packet_address);
  if (properties_ & queue_ptr) put64(dispatch_.queue_address);
  if (properties_ & kernarg_segment_ptr) put64(dispatch_.kernarg_address);
  if (properties_ & dispatch_id) put64(dispatch_.dispatch_id);
  if (properties_ & flat_scratch_init) put64(scratch_window_base);
  if (properties_ & private_segment_size) w.sgpr[n++] = scratch_bytes_;
  for (unsigned i = 0; i < (preload_ & 0x7fu); i++) w.sgpr[n++] = preloaded_[i];

  n = user_registers(); // system registers follow the user registers
  for (unsigned d = 0; d < 3; d++)
    if (rsrc2_ >> (7 + d) & 1 && !arch_.gfx12) w.sgpr[n++] = group[d];
  if (rsrc2_ >> 10 & 1) w.sgpr[n++] = waves;
  if (rsrc2_ & 1 && !arch_.architected_flat_scratch)
    w.sgpr[n++] = 0; // offset of the wave's private memory
}

// gfx12 has the workgroup's number in registers of the trap handler. Y and Z share one of them.
void KernelLaunch::set_trap_registers(Wave &w, const std::array<uint32_t, 3> &group,
                                      unsigned wave) const {
  constexpr unsigned y_and_z = sreg::ttmp0 + 7, dispatch = sreg::ttmp0 + 8, x = sreg::ttmp0 + 9;
  constexpr uint32_t has_y_and_z = 1u << 30;
  w.sgpr[x] = group[0];
  w.sgpr[y_and_z] = (group[1] & 0xffff) | group[2] << 16;
  w.sgpr[dispatch] = has_y_and_z | (wave & 31) << 25 |
                     (static_cast<uint32_t>(dispatch_.packet_address / 64) & 0x1ffffff);
}

void KernelLaunch::set_work_item_ids(Wave &w, const std::array<uint32_t, 3> &size,
                                     unsigned wave) const {
  const unsigned ids = rsrc2_ >> 11 & 3; // 0: x, 1: x and y, 2: all
  for (unsigned lane = 0; lane < lanes_; lane++) {
    const uint32_t item = wave * lanes_ + lane;
    const uint32_t x = item % size[0], y = item / size[0] % size[1], z = item / size[0] / size[1];
    if (arch_.packed_ids) {
      w.vgpr[0][lane] = x | (ids >= 1 ? y << 10 : 0) | (ids >= 2 ? z << 20 : 0);
    } else {
      w.vgpr[0][lane] = x;
      if (ids >= 1) w.vgpr[1][lane] = y;
      if (ids >= 2) w.vgpr[2][lane] = z;
    }
  }
}

} // namespace fade::sim
