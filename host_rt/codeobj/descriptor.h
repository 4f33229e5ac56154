// The kernel descriptor: the 64 bytes the command processor reads before it starts a kernel
// (amd_kernel_code_t, 256 bytes, in version 2), decoded into what it means on a given processor.
#pragma once

#include "codeobj/bytes.h"
#include "codeobj/target.h"

namespace fade::codeobj {

inline constexpr std::size_t kDescriptorSize = 64;
inline constexpr std::size_t kOldDescriptorSize = 256;

struct KernelDescriptor {
  uint32_t group_segment_fixed_size = 0;
  uint32_t private_segment_fixed_size = 0;
  uint32_t kernarg_size = 0;
  int64_t entry_offset = 0; ///< of the first instruction, relative to the descriptor
  uint32_t rsrc1 = 0;
  uint32_t rsrc2 = 0;
  uint32_t rsrc3 = 0;
  uint16_t properties = 0;

  unsigned wavefront_size = 64;
  /// Registers a wave is given: counts rounded up to what the hardware allocates by.
  unsigned vgprs = 0;
  unsigned vgpr_granule = 0;
  unsigned sgprs = 0;
  unsigned sgpr_granule = 0; ///< 0 where every wave has the same number (gfx10 and later)
  /// Of the unified register file of gfx90a and its line: the first AGPR, i.e. the VGPRs without
  /// AGPRs.
  unsigned accum_offset = 0;
  unsigned shared_vgprs = 0; ///< gfx10, gfx11, wave64

  struct UserSgprs {
    bool private_segment_buffer = false;
    bool dispatch_ptr = false;
    bool queue_ptr = false;
    bool kernarg_segment_ptr = false;
    bool dispatch_id = false;
    bool flat_scratch_init = false;
    bool private_segment_size = false;
    unsigned kernarg_preload_length = 0; ///< in dwords
    unsigned kernarg_preload_offset = 0; ///< in dwords
    unsigned count = 0;
  } user_sgprs;

  struct SystemRegisters {
    bool workgroup_id_x = false;
    bool workgroup_id_y = false;
    bool workgroup_id_z = false;
    bool workgroup_info = false;
    unsigned workitem_id = 0; ///< 0: x; 1: x, y; 2: x, y, z
    bool private_segment = false;
  } system;

  struct FloatMode {
    unsigned round_32 = 0;
    unsigned round_16_64 = 0;
    unsigned denorm_32 = 0;
    unsigned denorm_16_64 = 0;
    bool dx10_clamp = false;
    bool ieee = false;
    bool fp16_overflow = false;
  } float_mode;

  struct Exceptions {
    bool fp_invalid = false;
    bool fp_denormal = false;
    bool fp_divide_by_zero = false;
    bool fp_overflow = false;
    bool fp_underflow = false;
    bool fp_inexact = false;
    bool int_divide_by_zero = false;
  } exceptions;

  unsigned priority = 0;
  bool dynamic_stack = false;
  bool tg_split = false;    ///< gfx90a and its line: waves of a workgroup may be on different CUs
  bool wgp_mode = false;    ///< gfx10 and later: a workgroup may use both CUs of the processor
  bool mem_ordered = false; ///< gfx10 and later
  bool forward_progress = false;     ///< gfx10 and later
  unsigned instruction_prefetch = 0; ///< gfx11 and later, in units of 128 bytes
};

/// `bytes` starts at the descriptor; nothing if there are fewer than kDescriptorSize.
std::optional<KernelDescriptor> decodeDescriptor(ByteView bytes, const Target &target);

/// The same from an amd_kernel_code_t.
std::optional<KernelDescriptor> decodeOldDescriptor(ByteView bytes, const Target &target);

} // namespace fade::codeobj
