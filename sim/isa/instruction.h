// A decoded instruction: what the encoding said, in a form that is the same for all architectures.
#pragma once

#include <cstdint>

namespace fade::sim {

struct Wave;
struct Instruction;
struct Opcode;

using Handler = void (*)(Wave &, const Instruction &);

// Which encoding an instruction came in. The two VALU sub-encodings (SDWA, DPP) are told by
// `Instruction::select`.
enum class Encoding : uint8_t {
  sop1,
  sop2,
  sopk,
  sopc,
  sopp,
  smem,
  vop1,
  vop2,
  vopc,
  vop3,
  vop3p,
  vopd,
  ds,
  flat,
  global,
  scratch,
  mubuf,
  mtbuf,
  mimg,
  other
};

// How an instruction is counted.
enum class ExecClass : uint8_t {
  valu,
  salu,
  vmem_load,
  vmem_store,
  vmem_atomic,
  smem,
  lds,
  branch,
  mfma,
  other,
  count
};
const char *name_of(ExecClass c);

// What an instruction may do with LDS. Atomics count as writes: their order among each other is the
// hardware's to choose.
enum class LdsUse : uint8_t { none, reads, writes };

// Numbers of scalar registers as the software GPU keeps them. They are gfx9's encodings; where
// gfx11 numbers differently, the decoder translates.
namespace sreg {
constexpr uint16_t flat_scratch_lo = 102, flat_scratch_hi = 103, xnack_mask_lo = 104;
constexpr uint16_t vcc_lo = 106, vcc_hi = 107, ttmp0 = 108, m0 = 124, null = 125;
constexpr uint16_t exec_lo = 126, exec_hi = 127, count = 128;
} // namespace sreg

constexpr uint16_t agpr_base = 256; // rows of the vector register file: v0-v255, then a0-a255

// Type of an operand, as the instruction reads or writes it.
enum class Type : uint8_t {
  none,
  b16,
  i16,
  u16,
  f16,
  b32,
  i32,
  u32,
  f32,
  b64,
  i64,
  u64,
  f64,
  pk16, // two 16-bit values
  mask, // one bit per lane, in a scalar register (pair)
};

struct Operand {
  enum class Kind : uint8_t {
    none,
    vgpr,     // index: row of the vector register file
    sgpr,     // index: scalar register
    constant, // value: bits of an inline constant or literal, as the operand's type wants it (see
              // Decoder)
    special,  // index: source encoding 235-254 (apertures, vccz, execz, scc)
  };
  Kind kind = Kind::none;
  bool neg = false, abs = false, sext = false; // input modifiers
  uint8_t sdwa_sel = 6;                        // 0-3 byte, 4-5 word, 6 dword
  bool inline_float =
      false; // one of the constants 0.5 … 1/(2*pi): its bits depend on the operand's width
  bool literal = false;
  Type rows_type = Type::none; // that of `rows`
  uint16_t index = 0;
  // A constant is held in each width in which it may be read.
  uint64_t value = 0; // as 64 bits of the operand's own type
  // A constant of a vector instruction, as it reads it: the lower word once for each of 64 lanes,
  // then the upper one. The decoder has them.
  const uint32_t *rows = nullptr;

  bool is_vgpr() const { return kind == Kind::vgpr; }
};

// The bits of a constant operand when an instruction reads it as `type`.
uint64_t constant_bits(const Operand &o, Type type);

enum class LaneSelect : uint8_t { none, sdwa, dpp16, dpp8 };

struct Instruction {
  Handler run = nullptr;
  const Opcode *opcode = nullptr;
  uint64_t pc = 0;
  uint64_t target = 0; // branches: where to
  Encoding encoding = Encoding::other;
  uint8_t size = 0; // bytes
  ExecClass cls = ExecClass::other;
  // Changes EXEC, the mode or the flow of control: nothing that was derived from them holds behind
  // it.
  bool ends_segment = false;
  LdsUse lds_use = LdsUse::none;

  Operand src[4];
  Operand dst;  // vector or scalar destination
  Operand sdst; // second destination: carry, compare result

  // VALU modifiers.
  LaneSelect select = LaneSelect::none;
  bool clamp = false;
  uint8_t omod = 0;               // 0 none, 1 *2, 2 *4, 3 /2
  uint8_t op_sel = 0;             // VOP3: source halves, bit 3 the destination; VOP3P: op_sel
  uint8_t op_sel_hi = 0;          // VOP3P
  uint8_t neg_lo = 0, neg_hi = 0; // VOP3P; for VOP3P neg_hi of mixed instructions is abs
  uint16_t dpp_ctrl = 0;
  uint32_t dpp8 = 0;
  uint8_t row_mask = 0xf, bank_mask = 0xf;
  bool bound_ctrl = false, fetch_inactive = false;
  uint8_t dst_sel = 6, dst_unused = 0; // SDWA
  bool plain = false;                  // no modifier at all: operands can be used where they are

  // Memory.
  int32_t offset = 0;
  uint8_t offset1 = 0; // DS: second offset of two-address forms
  bool saddr = false;  // src[2] holds a scalar base
  // sc1: gfx942's scope beyond the workgroup. There glc is SC0, and slc is NT.
  bool glc = false, slc = false, sc1 = false, lds = false, gds = false, offen = false,
       idxen = false;
  uint8_t format = 0; // typed buffer accesses
  uint8_t dmask = 0;  // images
  bool unorm = false, a16 = false,
       d16 = false;      // images: coordinates in texels, 16-bit addresses, 16-bit data
  uint8_t nsa_count = 0; // images: address registers named one by one, after src[0]
  uint8_t nsa[12] = {};

  // SOPP, SOPK immediates, hardware register numbers, wait counts.
  int32_t imm = 0;

  // Matrix instructions.
  uint8_t cbsz = 0, abid = 0, blgp = 0;

  // VOPD: the second operation. Matrices with scales: where those are.
  const Instruction *paired = nullptr;
};

} // namespace fade::sim
