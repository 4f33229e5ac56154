#include "codeobj/descriptor.h"

namespace fade::codeobj {
namespace {

constexpr uint32_t bits(uint32_t word, unsigned shift, unsigned width) {
  return (word >> shift) & ((1u << width) - 1);
}
constexpr bool bit(uint32_t word, unsigned shift) { return (word >> shift) & 1; }

void decodeRegisters(KernelDescriptor &d, const Target &target) {
  unsigned major = target.version.major;
  if (target.hasUnifiedRegisters())
    d.vgpr_granule = 8;
  else if (target.version >= GfxVersion{12, 5, 0})
    d.vgpr_granule = 16;
  else
    d.vgpr_granule = major >= 10 && d.wavefront_size == 32 ? 8 : 4;
  d.vgprs = (bits(d.rsrc1, 0, 6) + 1) * d.vgpr_granule;

  unsigned granulated = bits(d.rsrc1, 6, 4);
  if (major <= 8) {
    d.sgpr_granule = 8;
    d.sgprs = (granulated + 1) * 8;
  } else if (major == 9) {
    d.sgpr_granule = 16;
    d.sgprs = (granulated / 2 + 1) * 16;
  } else {
    d.sgprs = 128;
  }
  if (target.hasUnifiedRegisters()) {
    d.accum_offset = (bits(d.rsrc3, 0, 6) + 1) * 4;
    d.tg_split = bit(d.rsrc3, 16);
  }
  if (major == 10 || major == 11) d.shared_vgprs = bits(d.rsrc3, 0, 4) * 8;
  if (major == 11) d.instruction_prefetch = bits(d.rsrc3, 4, 6);
  if (major >= 12) d.instruction_prefetch = bits(d.rsrc3, 4, 8);
}

void decodeModes(KernelDescriptor &d, const Target &target) {
  unsigned major = target.version.major;
  uint32_t r1 = d.rsrc1;
  d.priority = bits(r1, 10, 2);
  d.float_mode.round_32 = bits(r1, 12, 2);
  d.float_mode.round_16_64 = bits(r1, 14, 2);
  d.float_mode.denorm_32 = bits(r1, 16, 2);
  d.float_mode.denorm_16_64 = bits(r1, 18, 2);
  d.float_mode.dx10_clamp = major < 12 && bit(r1, 21);
  d.float_mode.ieee = major < 12 && bit(r1, 23);
  d.float_mode.fp16_overflow = major >= 9 && bit(r1, 26);
  if (major >= 10) {
    d.wgp_mode = bit(r1, 29);
    d.mem_ordered = bit(r1, 30);
    d.forward_progress = bit(r1, 31);
  }
  uint32_t r2 = d.rsrc2;
  d.system.private_segment = bit(r2, 0);
  d.user_sgprs.count = bits(r2, 1, target.version >= GfxVersion{12, 5, 0} ? 6 : 5);
  d.system.workgroup_id_x = bit(r2, 7);
  d.system.workgroup_id_y = bit(r2, 8);
  d.system.workgroup_id_z = bit(r2, 9);
  d.system.workgroup_info = bit(r2, 10);
  d.system.workitem_id = bits(r2, 11, 2);
  d.exceptions = {bit(r2, 24), bit(r2, 25), bit(r2, 26), bit(r2, 27),
                  bit(r2, 28), bit(r2, 29), bit(r2, 30)};
}

void decodeProperties(KernelDescriptor &d) {
  d.user_sgprs.private_segment_buffer = bit(d.properties, 0);
  d.user_sgprs.dispatch_ptr = bit(d.properties, 1);
  d.user_sgprs.queue_ptr = bit(d.properties, 2);
  d.user_sgprs.kernarg_segment_ptr = bit(d.properties, 3);
  d.user_sgprs.dispatch_id = bit(d.properties, 4);
  d.user_sgprs.flat_scratch_init = bit(d.properties, 5);
  d.user_sgprs.private_segment_size = bit(d.properties, 6);
}

} // namespace

std::optional<KernelDescriptor> decodeDescriptor(ByteView bytes, const Target &target) {
  auto raw = part(bytes, 0, kDescriptorSize);
  if (!raw) return std::nullopt;
  KernelDescriptor d;
  d.group_segment_fixed_size = *read<uint32_t>(*raw, 0);
  d.private_segment_fixed_size = *read<uint32_t>(*raw, 4);
  d.kernarg_size = *read<uint32_t>(*raw, 8);
  d.entry_offset = *read<int64_t>(*raw, 16);
  d.rsrc3 = *read<uint32_t>(*raw, 44);
  d.rsrc1 = *read<uint32_t>(*raw, 48);
  d.rsrc2 = *read<uint32_t>(*raw, 52);
  d.properties = *read<uint16_t>(*raw, 56);
  uint16_t preload = *read<uint16_t>(*raw, 58);
  d.user_sgprs.kernarg_preload_length = bits(preload, 0, 7);
  d.user_sgprs.kernarg_preload_offset = bits(preload, 7, 9);
  d.wavefront_size = target.version.major >= 10 && bit(d.properties, 10) ? 32 : 64;
  d.dynamic_stack = bit(d.properties, 11);
  decodeRegisters(d, target);
  decodeModes(d, target);
  decodeProperties(d);
  return d;
}

std::optional<KernelDescriptor> decodeOldDescriptor(ByteView bytes, const Target &target) {
  auto raw = part(bytes, 0, kOldDescriptorSize);
  if (!raw) return std::nullopt;
  KernelDescriptor d;
  d.entry_offset = *read<int64_t>(*raw, 16);
  d.rsrc1 = *read<uint32_t>(*raw, 48);
  d.rsrc2 = *read<uint32_t>(*raw, 52);
  auto properties = *read<uint32_t>(*raw, 56);
  d.properties = static_cast<uint16_t>(properties);
  d.private_segment_fixed_size = *read<uint32_t>(*raw, 60);
  d.group_segment_fixed_size = *read<uint32_t>(*raw, 64);
  d.kernarg_size = static_cast<uint32_t>(*read<uint64_t>(*raw, 72));
  d.wavefront_size = *read<uint8_t>(*raw, 103) == 5 ? 32 : 64;
  d.dynamic_stack = bit(properties, 20);
  decodeRegisters(d, target);
  decodeModes(d, target);
  decodeProperties(d);
  return d;
}

} // namespace fade::codeobj
