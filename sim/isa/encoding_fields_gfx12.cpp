// Encodings that gfx12 has of its own: memory instructions of three words, with scopes and temporal
// hints in place of bits for single caches.
#include "isa/encoding_fields.h"

#include "isa/opcode.h"

#include <string_view>

namespace fade::sim {
namespace {

int32_t signed24(uint32_t v) { return static_cast<int32_t>(v << 8) >> 8; }

} // namespace

Encoding FieldReader::gfx12_encoding() const {
  const uint32_t w = dword_[0];
  switch (w >> 26) {
  case 0x31: return w >> 21 & 1 ? Encoding::mtbuf : Encoding::mubuf; // opcodes from 128 on: typed
  case 0x32: return Encoding::vopd;
  case 0x33: return Encoding::vop3p;
  case 0x35: return Encoding::vop3;
  case 0x36: return Encoding::ds;
  case 0x3b: {
    const unsigned segment = w >> 24 & 3;
    return segment == 0 ? Encoding::flat : segment == 1 ? Encoding::scratch : Encoding::global;
  }
  case 0x3d: return Encoding::smem;
  default: return Encoding::other; // images, exports
  }
}

// Scopes: compute unit, shader engine, device, system. An access goes past the nearest cache from
// the shader engine's on, and beyond its workgroup from the device's on; instructions that write
// back or invalidate caches do so with L2 at the system's (slc). Of atomics a hint says whether the
// old value is wanted.
void FieldReader::read_scope(Instruction &in, unsigned scope, unsigned hint) const {
  const bool is_atomic = in.cls == ExecClass::vmem_atomic;
  in.glc = is_atomic ? hint & 1 : scope >= 1;
  in.sc1 = scope >= 2;
  constexpr unsigned non_temporal = 1, last_use = 3, atomic_non_temporal = 2;
  const bool loads = in.cls == ExecClass::vmem_load;
  if (in.cls == ExecClass::other)
    in.slc = scope == 3;
  else if (is_atomic)
    in.slc = hint & atomic_non_temporal;
  else
    in.slc = hint == non_temporal || (loads && hint == last_use);
}

void FieldReader::read_smem12(Instruction &in) const {
  in.src[0] = scalar(field(0, 6) * 2);
  // Three registers are aligned like four; LLVM does not look at the lower bits.
  constexpr unsigned load_b96 = 5, buffer_load_b96 = 21;
  const unsigned opcode = field(13, 6);
  const bool is_aligned = opcode == load_b96 || opcode == buffer_load_b96;
  in.dst = scalar(is_aligned ? field(6, 7) & ~3u : field(6, 7));
  in.offset = signed24(static_cast<uint32_t>(field(32, 24)));
  read_scope(in, field(21, 2), field(23, 2));
  const unsigned soffset = field(57, 7);
  if (scalar_number(soffset) != sreg::null) in.src[1] = scalar(soffset);
}

void FieldReader::read_flat12(Instruction &in) const {
  in.offset = signed24(dword_[2] >> 8);
  read_scope(in, field(50, 2), field(52, 3));
  in.src[0] = vector(dword_[2] & 0xff);
  in.src[1] = vector(field(55, 8));
  in.dst = vector(field(32, 8));
  const unsigned saddr = field(0, 7);
  if (in.encoding != Encoding::flat && scalar_number(saddr) != sreg::null) {
    in.saddr = true;
    in.src[2] = scalar(saddr);
  }
  if (in.encoding == Encoding::scratch && !bit(49)) in.src[0] = none(); // no vector address
}

void FieldReader::read_buffer12(Instruction &in) const {
  in.offset = signed24(dword_[2] >> 8);
  in.offen = bit(62);
  in.idxen = bit(63);
  in.format = static_cast<uint8_t>(field(55, 7));
  read_scope(in, field(50, 2), field(52, 3));
  in.src[0] = vector(dword_[2] & 0xff);
  in.src[1] = vector(field(32, 8));
  in.dst = in.src[1];
  in.src[2] = scalar(field(41, 9));
  in.src[3] = scalar(field(0, 7));
}

// Conversions from 8-bit floats: OPSEL says which byte, with its bits the other way round, or which
// half.
void FieldReader::select_small_float(Instruction &in) {
  const std::string_view name = in.opcode->name;
  const bool is_pair = name == "v_cvt_pk_f32_fp8" || name == "v_cvt_pk_f32_bf8";
  const bool is_single = name == "v_cvt_f32_fp8" || name == "v_cvt_f32_bf8";
  if ((!is_pair && !is_single) || in.select != LaneSelect::none) return;
  constexpr uint8_t bytes[] = {0, 2, 1, 3};
  in.select = LaneSelect::sdwa;
  in.src[0].sdwa_sel = is_pair ? 4 + (in.op_sel & 1) : bytes[in.op_sel & 3];
}

} // namespace fade::sim
