#include "isa/encoding_fields.h"

#include <algorithm>
#include <cstring>

namespace fade::sim {
namespace {

constexpr unsigned literal_code = 255, sdwa_code = 249, dpp16_code = 250, dpp8_code = 233,
                   dpp8_fi_code = 234;

int32_t sign_extend(uint64_t v, unsigned width) {
  return static_cast<int32_t>(static_cast<uint32_t>(v) << (32 - width)) >> (32 - width);
}

bool is_mask_type(Type t) { return t == Type::mask; }

} // namespace

FieldReader::FieldReader(const Arch &arch, unsigned lanes, std::span<const uint8_t> bytes)
    : arch_(arch), lanes_(lanes), dwords_(static_cast<unsigned>(bytes.size() / 4)) {
  std::memcpy(dword_, bytes.data(), std::min<size_t>(bytes.size(), sizeof dword_));
  word_ = static_cast<uint64_t>(dword_[1]) << 32 | dword_[0];
}

Encoding FieldReader::encoding() const {
  const uint32_t w = dword_[0];
  if (!(w >> 31)) {
    switch (w >> 25) {
    case 0x3e: return Encoding::vopc;
    case 0x3f: return Encoding::vop1;
    default: return Encoding::vop2;
    }
  }
  if (w >> 30 == 2) {
    switch (w >> 23) {
    case 0x17d: return Encoding::sop1;
    case 0x17e: return Encoding::sopc;
    case 0x17f: return Encoding::sopp;
    default: return w >> 28 == 0xb ? Encoding::sopk : Encoding::sop2;
    }
  }
  const bool gfx11 = arch_.gfx11;
  if (arch_.gfx12 && w >> 30 == 3) return gfx12_encoding();
  switch (w >> 26) {
  case 0x30: return arch_.gfx9 ? Encoding::smem : Encoding::other;
  case 0x3d: return arch_.gfx10_up ? Encoding::smem : Encoding::other;
  case 0x34:
    return arch_.gfx9 ? (w >> 23 == 0x1a7 ? Encoding::vop3p : Encoding::vop3) : Encoding::other;
  case 0x35: return arch_.gfx10_up ? Encoding::vop3 : Encoding::other;
  case 0x33: return arch_.gfx10_up ? Encoding::vop3p : Encoding::other;
  case 0x32: return gfx11 ? Encoding::vopd : Encoding::other;
  case 0x36: return Encoding::ds;
  case 0x37: {
    const unsigned segment = w >> (gfx11 ? 16 : 14) & 3;
    return segment == 0 ? Encoding::flat : segment == 1 ? Encoding::scratch : Encoding::global;
  }
  case 0x38: return Encoding::mubuf;
  case 0x3a: return Encoding::mtbuf;
  case 0x3c: return Encoding::mimg;
  default: return Encoding::other;
  }
}

unsigned FieldReader::scalar_number(unsigned n) const {
  if (arch_.gfx11 && (n == 124 || n == 125)) return n ^ 1; // gfx11 swapped null and m0
  return n;
}

Operand FieldReader::vector(unsigned number) const {
  Operand o;
  o.kind = Operand::Kind::vgpr;
  o.index = static_cast<uint16_t>(number);
  return o;
}

Operand FieldReader::literal_operand() const {
  Operand o;
  o.kind = Operand::Kind::constant;
  o.literal = true;
  o.value = dword_[dwords_ - 1];
  return o;
}

Operand FieldReader::scalar(unsigned n) const {
  Operand o;
  n = scalar_number(n);
  if (n < 128) {
    o.kind = Operand::Kind::sgpr;
    o.index = static_cast<uint16_t>(n);
  } else if (n <= 208) {
    o.kind = Operand::Kind::constant;
    o.value = static_cast<uint64_t>(n <= 192 ? static_cast<int64_t>(n) - 128
                                             : 192 - static_cast<int64_t>(n));
  } else if (n >= 240 && n <= 248) {
    o.kind = Operand::Kind::constant;
    o.inline_float = true;
    o.index = static_cast<uint16_t>(n);
  } else if (n == literal_code) {
    return literal_operand();
  } else {
    o.kind = Operand::Kind::special;
    o.index = static_cast<uint16_t>(n);
  }
  return o;
}

Operand FieldReader::source(unsigned n) const { return n >= 256 ? vector(n - 256) : scalar(n); }

bool FieldReader::is_dual() const { return encoding() == Encoding::vopd; }

bool FieldReader::read(Instruction &in) {
  in.encoding = encoding();
  switch (in.encoding) {
  case Encoding::sop1:
  case Encoding::sop2:
  case Encoding::sopc:
  case Encoding::sopk:
  case Encoding::sopp: read_sop(in); return true;
  case Encoding::smem: arch_.gfx12 ? read_smem12(in) : read_smem(in); return true;
  case Encoding::vop1:
  case Encoding::vop2:
  case Encoding::vopc: read_vop12c(in); return true;
  case Encoding::vop3:
    read_vop3(in);
    if (arch_.gfx12 && in.op_sel) select_small_float(in);
    return true;
  case Encoding::vop3p: return read_vop3p(in);
  case Encoding::ds: read_ds(in); return true;
  case Encoding::flat:
  case Encoding::global:
  case Encoding::scratch: arch_.gfx12 ? read_flat12(in) : read_flat(in); return true;
  case Encoding::mubuf: arch_.gfx12 ? read_buffer12(in) : read_mubuf(in); return true;
  case Encoding::mtbuf: arch_.gfx12 ? read_buffer12(in) : read_mtbuf(in); return true;
  case Encoding::mimg: read_mimg(in); return true;
  default: return false;
  }
}

void FieldReader::read_sop(Instruction &in) const {
  const int32_t simm = static_cast<int16_t>(dword_[0]);
  switch (in.encoding) {
  case Encoding::sop2: {
    const Form form = in.opcode->form;
    in.dst = scalar(field(16, 7));
    Operand *to = in.src;
    *to++ = scalar(field(0, 8));
    if (form == Form::literal_in_middle) *to++ = literal_operand();
    *to++ = scalar(field(8, 8));
    if (form == Form::literal_at_end) *to++ = literal_operand();
    if (in.opcode->reads_dst) *to++ = in.dst;
    break;
  }
  case Encoding::sop1:
    in.src[0] = scalar(field(0, 8));
    in.dst = scalar(field(16, 7));
    break;
  case Encoding::sopc:
    in.src[0] = scalar(field(0, 8));
    in.src[1] = scalar(field(8, 8));
    in.imm = static_cast<int32_t>(field(8, 8)); // s_set_gpr_idx_on: enable bits
    break;
  case Encoding::sopk: {
    in.dst = scalar(field(16, 7));
    in.src[0] = in.dst;
    in.imm = simm;
    in.src[1].kind = Operand::Kind::constant;
    in.src[1].value = in.opcode->form == Form::unsigned_immediate
                          ? static_cast<uint64_t>(simm & 0xffff)
                          : static_cast<uint64_t>(static_cast<int64_t>(simm));
    if (dwords_ > 1) in.src[2] = literal_operand(); // s_setreg_imm32_b32
    break;
  }
  default: in.imm = simm;
  }
}

void FieldReader::read_smem(Instruction &in) const {
  in.src[0] = scalar(field(0, 6) * 2);
  in.dst = scalar(field(6, 7));
  in.offset = sign_extend(field(32, 21), 21);
  const unsigned soffset = field(57, 7);
  if (arch_.gfx9) {
    in.glc = bit(16);
    const bool imm = bit(17), soe = bit(14);
    if (soe) in.src[1] = scalar(soffset);
    if (!imm) {
      if (!soe) in.src[1] = scalar(field(32, 7));
      in.offset = 0;
    }
  } else {
    in.glc = bit(arch_.gfx11 ? 14 : 16);
    if (scalar_number(soffset) != sreg::null) in.src[1] = scalar(soffset);
  }
}

// Puts the operands that the encoding names where the opcode's parameters want them. A parameter
// that the encoding does not name is the destination (v_fmac) or VCC (carry in, v_cndmask,
// v_div_fmas).
void FieldReader::place_sources(Instruction &in, const Operand *given, unsigned count) const {
  const Opcode &op = *in.opcode;
  unsigned n = 0;
  for (unsigned s = 0; s < 4; s++) {
    if (n < count && s < std::max<unsigned>(op.sources, count)) {
      in.src[s] = given[n++];
      continue;
    }
    if (s >= op.sources) break;
    if (is_mask_type(op.src[s])) {
      in.src[s].kind = Operand::Kind::sgpr;
      in.src[s].index = sreg::vcc_lo;
    } else if (op.reads_dst) {
      in.src[s] = in.dst;
    }
  }
}

// gfx11 names the halves of a 16-bit register in the short encodings: bit 7 of the number is the
// high half.
void FieldReader::split_half_registers(Instruction &in) const {
  if (!arch_.gfx11) return;
  for (unsigned s = 0; s < in.opcode->sources; s++)
    if (is_16(in.opcode->src[s]) && in.src[s].is_vgpr() && in.src[s].index & 0x80) {
      in.src[s].index &= 0x7f;
      in.op_sel |= static_cast<uint8_t>(1u << s);
    }
  if (is_16(in.opcode->dst) && in.dst.is_vgpr() && in.dst.index & 0x80) {
    in.dst.index &= 0x7f;
    in.op_sel |= 8;
  }
}

void FieldReader::place_vector_result(Instruction &in, unsigned number) const {
  const Opcode &op = *in.opcode;
  if (op.form == Form::scalar_result)
    in.dst = scalar(number);
  else if (op.dst != Type::mask)
    in.dst = vector(number);
}

void FieldReader::read_vop12c(Instruction &in) const {
  const Opcode &op = *in.opcode;
  const unsigned src0 = field(0, 9);
  if (in.encoding != Encoding::vopc) place_vector_result(in, field(17, 8));
  if (op.dst == Type::mask || op.flag_out) {
    in.sdst.kind = Operand::Kind::sgpr;
    in.sdst.index = sreg::vcc_lo;
    if (op.has(Effect::writes_exec) && arch_.gfx10_up) in.sdst = none();
  }
  Operand given[3];
  unsigned count = 0;
  const bool extended =
      src0 == sdwa_code || src0 == dpp16_code || src0 == dpp8_code || src0 == dpp8_fi_code;
  given[count++] = extended ? vector(dword_[1] & 0xff) : source(src0);
  if (op.form == Form::literal_in_middle) given[count++] = literal_operand();
  if (in.encoding != Encoding::vop1) given[count++] = vector(field(9, 8));
  if (op.form == Form::literal_at_end) given[count++] = literal_operand();
  place_sources(in, given, count);
  if (src0 == sdwa_code)
    read_sdwa(in);
  else if (extended)
    read_dpp(in, 1, src0 != dpp16_code);
  split_half_registers(in);
  if (src0 == dpp8_fi_code) in.fetch_inactive = true;
  if (op.form == Form::accumulator_move) {
    in.dst.index += agpr_base;
    if (in.src[0].is_vgpr()) in.src[0].index += agpr_base; // LLVM lets others pass
  }
}

void FieldReader::read_sdwa(Instruction &in) const {
  const uint32_t w = dword_[1];
  in.select = LaneSelect::sdwa;
  if (w >> 23 & 1) in.src[0] = scalar(w & 0xff);
  in.src[0].sdwa_sel = w >> 16 & 7;
  in.src[0].sext = w >> 19 & 1;
  in.src[0].neg = w >> 20 & 1;
  in.src[0].abs = w >> 21 & 1;
  if (in.encoding != Encoding::vop1) {
    if (w >> 31) in.src[1] = scalar(field(9, 8));
    in.src[1].sdwa_sel = w >> 24 & 7;
    in.src[1].sext = w >> 27 & 1;
    in.src[1].neg = w >> 28 & 1;
    in.src[1].abs = w >> 29 & 1;
  }
  if (in.encoding == Encoding::vopc) {
    if (w >> 15 & 1) in.sdst = scalar(w >> 8 & 0x7f);
  } else {
    in.dst_sel = w >> 8 & 7;
    in.dst_unused = w >> 11 & 3;
    in.clamp = w >> 13 & 1;
    in.omod = w >> 14 & 3;
  }
}

void FieldReader::read_dpp(Instruction &in, unsigned at, bool dpp8) const {
  const uint32_t w = dword_[at];
  if (dpp8) {
    in.select = LaneSelect::dpp8;
    in.dpp8 = w >> 8;
    return;
  }
  in.select = LaneSelect::dpp16;
  in.dpp_ctrl = w >> 8 & 0x1ff;
  in.fetch_inactive = arch_.gfx10_up && (w >> 18 & 1);
  in.bound_ctrl = w >> 19 & 1;
  in.src[0].neg ^= w >> 20 & 1;
  in.src[0].abs |= w >> 21 & 1;
  in.src[1].neg ^= w >> 22 & 1;
  in.src[1].abs |= w >> 23 & 1;
  in.bank_mask = w >> 24 & 15;
  in.row_mask = w >> 28 & 15;
}

void FieldReader::read_vop3(Instruction &in) const {
  const Opcode &op = *in.opcode;
  const unsigned vdst = field(0, 8);
  place_vector_result(in, vdst);
  const unsigned src0 = field(32, 9);
  const bool dpp8 = src0 == dpp8_code || src0 == dpp8_fi_code, dpp16 = src0 == dpp16_code;
  const bool extended = arch_.gfx11 && (dpp8 || dpp16);
  Operand given[3] = {extended ? vector(dword_[2] & 0xff) : source(src0), source(field(41, 9)),
                      source(field(50, 9))};
  unsigned count = 0; // operands that the opcode has in this encoding
  for (unsigned s = 0; s < op.sources && s < 3; s++)
    if (!(op.reads_dst && s + 1 == op.sources)) count++;
  if (op.lanes == nullptr)
    count = 3; // instructions with a handler of their own take what they need
  place_sources(in, given, count);
  if (op.dst == Type::mask) { // compare
    in.sdst = scalar(vdst);
    if (op.has(Effect::writes_exec) && arch_.gfx10_up) in.sdst = none();
  }
  if (op.flag_out) {
    in.sdst = scalar(field(8, 7));
  } else {
    for (unsigned s = 0; s < 3; s++) in.src[s].abs = bit(8 + s);
    in.op_sel = static_cast<uint8_t>(field(11, 4));
  }
  for (unsigned s = 0; s < 3; s++) in.src[s].neg = bit(61 + s);
  in.clamp = bit(15);
  in.omod = static_cast<uint8_t>(field(59, 2));
  if (extended) {
    read_dpp(in, 2, dpp8);
    in.fetch_inactive |= src0 == dpp8_fi_code;
  }
}

bool FieldReader::read_vop3p(Instruction &in) const {
  in.dst = vector(field(0, 8));
  const Form form = in.opcode->form;
  for (unsigned s = 0; s < 3; s++) in.src[s] = source(field(32 + 9 * s, 9));
  // Accumulator moves: which side is the accumulator goes without saying.
  if (form == Form::accumulator_read || form == Form::accumulator_write) {
    (form == Form::accumulator_read ? in.src[0] : in.dst).index += agpr_base;
    return true;
  }
  // Matrix instructions use the modifier bits otherwise, and may name accumulators.
  if (form == Form::matrix || form == Form::sparse_matrix) {
    in.cbsz = static_cast<uint8_t>(field(8, 3));
    in.abid = static_cast<uint8_t>(field(11, 4));
    in.blgp = static_cast<uint8_t>(field(61, 3));
    auto accumulator = [](Operand &o, bool acc) {
      if (o.is_vgpr() && acc) o.index += agpr_base;
    };
    const bool acc_cd = bit(15) || !arch_.unified_registers; // gfx908 adds to accumulators only
    accumulator(in.src[0], bit(59));
    accumulator(in.src[1], bit(60));
    accumulator(in.src[2],
                acc_cd && form != Form::sparse_matrix); // there, positions in a vector register
    accumulator(in.dst, acc_cd);
    return true;
  }
  const unsigned src0 = field(32, 9);
  if (src0 == dpp16_code || src0 == dpp8_code ||
      src0 == dpp8_fi_code) { // gfx11: mixed precision and dot products
    in.src[0] = vector(dword_[2] & 0xff);
    read_dpp(in, 2, src0 != dpp16_code);
    in.fetch_inactive |= src0 == dpp8_fi_code;
  }
  in.neg_hi = static_cast<uint8_t>(field(8, 3));
  in.neg_lo = static_cast<uint8_t>(field(61, 3));
  in.op_sel = static_cast<uint8_t>(field(11, 3));
  in.op_sel_hi = static_cast<uint8_t>(field(59, 2) | field(14, 1) << 2);
  in.clamp = bit(15);
  return true;
}

void FieldReader::read_scales(Instruction &in) const {
  in.encoding = Encoding::vop3p;
  for (unsigned s = 0; s < 2; s++) in.src[s] = source(field(32 + 9 * s, 9));
  in.op_sel = static_cast<uint8_t>(field(11, 2));
  in.op_sel_hi = static_cast<uint8_t>(field(59, 2));
}

void FieldReader::read_ds(Instruction &in) const {
  in.gds = !arch_.gfx12 && bit(arch_.gfx9 ? 16 : 17);
  if (in.opcode->form == Form::two_addresses) {
    in.offset = static_cast<int32_t>(field(0, 8));
    in.offset1 = static_cast<uint8_t>(field(8, 8));
  } else {
    in.offset = static_cast<int32_t>(field(0, 16));
  }
  const unsigned acc = arch_.unified_registers && bit(25) ? agpr_base : 0;
  in.src[0] = vector(field(32, 8));
  in.src[1] = vector(field(40, 8) + acc);
  in.src[2] = vector(field(48, 8) + acc);
  in.dst = vector(field(56, 8) + acc);
}

void FieldReader::read_flat(Instruction &in) const {
  const bool gfx11 = arch_.gfx11;
  const unsigned width = arch_.gfx9 || gfx11 ? 13 : 12;
  if (in.encoding == Encoding::flat && !gfx11)
    in.offset = static_cast<int32_t>(field(0, width - 1)); // unsigned
  else
    in.offset = sign_extend(field(0, width), width);
  in.glc = bit(gfx11 ? 14 : 16);
  in.slc = bit(gfx11 ? 15 : 17);
  in.sc1 = arch_.gfx94 && bit(25);
  in.src[0] = vector(field(32, 8));
  const unsigned acc = arch_.unified_registers && bit(55) ? agpr_base : 0;
  in.src[1] = vector(field(40, 8) + acc);
  in.dst = vector(field(56, 8) + acc);

  const unsigned saddr = field(48, 7);
  const bool off = saddr == 0x7f || scalar_number(saddr) == sreg::null;
  if (in.encoding != Encoding::flat && !off) {
    in.saddr = true;
    in.src[2] = scalar(saddr);
  }
  if (in.encoding == Encoding::scratch) {
    // Whether a vector address takes part: told by a bit of its own, or by how "no scalar address"
    // is spelled.
    bool vaddr;
    if (gfx11)
      vaddr = bit(55);
    else if (arch_.gfx94)
      vaddr = bit(13);
    else if (arch_.gfx9)
      vaddr = off;
    else
      vaddr = saddr == 0x7d;
    if (!vaddr) in.src[0] = none();
  } else if (!gfx11) {
    in.lds = bit(13);
  }
}

void FieldReader::read_mubuf(Instruction &in) const {
  const bool gfx11 = arch_.gfx11;
  in.offset = static_cast<int32_t>(field(0, 12));
  in.offen = bit(gfx11 ? 54 : 12);
  in.idxen = bit(gfx11 ? 55 : 13);
  in.glc = bit(14);
  in.slc = bit(gfx11 ? 12 : arch_.gfx9 ? 17 : 54);
  in.sc1 = arch_.gfx94 && bit(15);
  in.lds = !gfx11 && bit(16);
  const unsigned acc = arch_.unified_registers && bit(55) ? agpr_base : 0;
  in.src[0] = vector(field(32, 8));
  in.src[1] = vector(field(40, 8) + acc);
  in.dst = in.src[1];
  in.src[2] = scalar(field(48, 5) * 4);
  in.src[3] = scalar(field(56, 8));
}

void FieldReader::read_mtbuf(Instruction &in) const {
  read_mubuf(in);
  in.lds = false;
  in.format = static_cast<uint8_t>(field(19, 7)); // gfx9: data format [3:0], number format [6:4]
}

void FieldReader::read_mimg(Instruction &in) const {
  const bool gfx11 = arch_.gfx11;
  in.dmask = static_cast<uint8_t>(field(8, 4));
  in.glc = bit(gfx11 ? 14 : 13);
  in.src[0] = vector(field(32, 8));
  in.dst = vector(field(40, 8));
  in.src[1] = scalar(field(48, 5) * 4);
  in.src[2] = scalar(field(gfx11 ? 58 : 53, 5) * 4);
  in.imm = arch_.gfx9 ? -1 : static_cast<int32_t>(gfx11 ? field(2, 3) : field(3, 3)); // dimension
  in.unorm = bit(gfx11 ? 7 : 12);
  in.a16 = bit(arch_.gfx9 ? 15 : gfx11 ? 16 : 62);
  in.d16 = bit(gfx11 ? 17 : 63);
  for (unsigned i = 2; i < dwords_ && i < 5; i++)
    for (unsigned b = 0; b < 4; b++)
      in.nsa[in.nsa_count++] = static_cast<uint8_t>(dword_[i] >> 8 * b);
}

bool FieldReader::read_dual(Instruction &x, Instruction &y, const OpcodeTable &opcodes) {
  static constexpr const char *names[32] = {"v_dual_fmac_f32",
                                            "v_dual_fmaak_f32",
                                            "v_dual_fmamk_f32",
                                            "v_dual_mul_f32",
                                            "v_dual_add_f32",
                                            "v_dual_sub_f32",
                                            "v_dual_subrev_f32",
                                            "v_dual_mul_dx9_zero_f32",
                                            "v_dual_mov_b32",
                                            "v_dual_cndmask_b32",
                                            "v_dual_max_f32",
                                            "v_dual_min_f32",
                                            "v_dual_dot2acc_f32_f16",
                                            "v_dual_dot2acc_f32_bf16",
                                            nullptr,
                                            nullptr,
                                            "v_dual_add_nc_u32",
                                            "v_dual_lshlrev_b32",
                                            "v_dual_and_b32"};
  const unsigned dst_x = field(56, 8);
  auto half = [&](Instruction &in, unsigned op, unsigned src0, unsigned vsrc1, unsigned vdst) {
    in.encoding = Encoding::vopd;
    const char *name = names[op];
    if (!name) return false;
    if (arch_.gfx12 && (op == 10 || op == 11))
      name = op == 10 ? "v_dual_max_num_f32" : "v_dual_min_num_f32";
    in.opcode = opcodes.find(name);
    if (!in.opcode) return false;
    in.run = in.opcode->run;
    in.cls = in.opcode->cls;
    in.dst = vector(vdst);
    Operand given[3];
    unsigned count = 0;
    given[count++] = source(src0);
    const Form form = in.opcode->form;
    if (form == Form::literal_in_middle) given[count++] = literal_operand();
    if (in.opcode->sources > 1) given[count++] = vector(vsrc1);
    if (form == Form::literal_at_end) given[count++] = literal_operand();
    place_sources(in, given, count);
    in.plain = true;
    return true;
  };
  // The two destinations lie in registers of different parity; only the upper bits of Y's are
  // encoded.
  const unsigned dst_y = static_cast<unsigned>(field(49, 7)) << 1 | (~dst_x & 1);
  if (!half(x, field(22, 4), field(0, 9), field(9, 8), dst_x)) return false;
  if (!half(y, field(17, 5), field(32, 9), field(41, 8), dst_y)) return false;
  x.paired = &y;
  return true;
}

} // namespace fade::sim
