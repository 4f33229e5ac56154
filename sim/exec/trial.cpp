#include "exec/trial.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

namespace fade::sim {
namespace {

struct Register {
  bool vector;
  uint16_t number;
  bool operator==(const Register &) const = default;
};

void add(std::vector<Register> &all, Register r) {
  if (std::ranges::find(all, r) == all.end()) all.push_back(r);
}

void add(std::vector<Register> &all, const std::vector<ObservedRange> &ranges) {
  for (const ObservedRange &range : ranges)
    for (uint16_t i = 0; i < range.count; i++)
      add(all, {range.vector, static_cast<uint16_t>(range.first + i)});
}

// What an instruction of this kind can touch, so that it can be put back.
class Snapshot {
public:
  Snapshot(const Wave &w, std::vector<Register> registers) : registers_(std::move(registers)) {
    std::memcpy(sgpr_, w.sgpr, sizeof sgpr_);
    scc_ = w.scc;
    rows_.resize(registers_.size() * 64);
    for (size_t i = 0; i < registers_.size(); i++)
      if (registers_[i].vector) std::memcpy(&rows_[i * 64], w.vgpr[registers_[i].number], 256);
  }
  void restore(Wave &w) const {
    std::memcpy(w.sgpr, sgpr_, sizeof sgpr_);
    w.scc = scc_;
    for (size_t i = 0; i < registers_.size(); i++)
      if (registers_[i].vector) std::memcpy(w.vgpr[registers_[i].number], &rows_[i * 64], 256);
  }
  // Of a register: the same value in all lanes if it is a scalar one.
  uint32_t value(Register r, unsigned lane) const {
    if (!r.vector) return r.number == kObservedScc ? scc_ : sgpr_[r.number];
    const auto at = std::ranges::find(registers_, r) - registers_.begin();
    return rows_[static_cast<size_t>(at) * 64 + lane];
  }

private:
  std::vector<Register> registers_;
  uint32_t sgpr_[sreg::count + 2];
  bool scc_;
  std::vector<uint32_t> rows_;
};

// The values that are tried: the same byte everywhere, or what another operand has, which is how a
// comparison for equality shows that it depends on them.
constexpr uint8_t fills[] = {0x00, 0xff, 0x7f, 0x80};
constexpr unsigned most_sources = 3;

std::optional<uint32_t> filled(const Instruction &in, const Snapshot &before, unsigned round,
                               unsigned dword, unsigned lane) {
  if (round < std::size(fills)) return fills[round] * 0x01010101u;
  const Operand &o = in.src[round - std::size(fills)];
  const auto number = static_cast<uint16_t>(o.index + dword);
  switch (o.kind) {
  case Operand::Kind::vgpr:
    if (number >= 2 * agpr_base) return std::nullopt;
    return before.value({true, number}, lane);
  case Operand::Kind::sgpr: return before.value({false, number}, lane);
  case Operand::Kind::constant: return static_cast<uint32_t>(o.value >> (dword ? 32 : 0));
  default: return std::nullopt;
  }
}

uint32_t mask_of(const ObservedBytes &bytes, unsigned lane) {
  uint32_t mask = 0;
  for (unsigned b = 0; b < 4; b++)
    if (bytes.lanes[b] >> lane & 1) mask |= 0xffu << (8 * b);
  return mask;
}

// Which of the instruction's sources the register is part of: its dword there.
unsigned dword_of(const RegisterUse &use, const ObservedBytes &bytes) {
  for (const ObservedRange &range : use.reads)
    if (range.vector == bytes.vector && bytes.number >= range.first &&
        bytes.number < range.first + range.count)
      return bytes.number - range.first;
  return 0;
}

// False if the round has nothing to try.
bool put(Wave &w, const Instruction &in, const RegisterUse &use, const Snapshot &before,
         const ObservedBytes &bytes, unsigned round) {
  if (!bytes.vector && bytes.number == kObservedScc) {
    w.scc = round % 2;
    return true;
  }
  const unsigned dword = dword_of(use, bytes);
  for (unsigned lane = 0; lane < (bytes.vector ? w.lanes : 1); lane++) {
    const uint32_t mask = mask_of(bytes, lane);
    if (!mask) continue;
    const auto value = filled(in, before, round, dword, lane);
    if (!value) return false;
    uint32_t &at = bytes.vector ? w.vgpr[bytes.number][lane] : w.sgpr[bytes.number];
    at = (at & ~mask) | (*value & mask);
  }
  return true;
}

uint32_t now(const Wave &w, Register r, unsigned lane) {
  if (r.vector) return w.vgpr[r.number][lane];
  return r.number == kObservedScc ? w.scc : w.sgpr[r.number];
}

} // namespace

bool can_be_tried(const Wave &w, const Instruction &in) {
  // With an index, registers are others than the instruction names.
  const bool indexed = w.gpr_index != 0 || std::strstr(in.opcode->name, "movrel");
  // Between lanes, by way of LDS, but without any of its memory.
  const bool crosses_lanes = in.encoding == Encoding::ds && in.opcode->lds_use == LdsUse::none;
  return !indexed && (in.cls == ExecClass::valu || in.cls == ExecClass::salu || crosses_lanes) &&
         (in.opcode->effects & ~(static_cast<uint32_t>(Effect::writes_exec) |
                                 static_cast<uint32_t>(Effect::crosses_lanes))) == 0 &&
         in.opcode->flow == Flow::next;
}

uint32_t Trial::depends(const ObservedBytes *inputs, uint32_t count, ObservedBytes *results,
                        uint32_t room) const {
  std::vector<Register> written, touched;
  add(written, use_.writes);
  if (in_.opcode->has(Effect::writes_exec))
    for (uint16_t i = 0; i < 2; i++)
      add(written, {false, static_cast<uint16_t>(sreg::exec_lo + i)});
  touched = written;
  add(touched, use_.reads);
  for (const Operand &o : in_.src) // the other values to try, which need not be read as dwords
    for (uint16_t i = 0; i < 2; i++)
      if (o.is_vgpr() && o.index + i < 2 * agpr_base)
        add(touched, {true, static_cast<uint16_t>(o.index + i)});
  for (uint32_t i = 0; i < count; i++) add(touched, {inputs[i].vector, inputs[i].number});
  const Snapshot before(w_, touched);

  in_.run(w_, in_);
  const Snapshot as_is(w_, written);
  before.restore(w_);
  uint32_t found = 0;
  for (const Register r : written)
    if (found < room) results[found++] = {r.vector, r.number, {}};
  for (unsigned round = 0; round < std::size(fills) + most_sources; round++) {
    bool is_new = false;
    for (uint32_t i = 0; i < count; i++) is_new |= put(w_, in_, use_, before, inputs[i], round);
    if (is_new) in_.run(w_, in_);
    for (uint32_t n = 0; is_new && n < found; n++)
      for (unsigned lane = 0; lane < (results[n].vector ? w_.lanes : 1); lane++) {
        const Register r{results[n].vector, results[n].number};
        const uint32_t changed = now(w_, r, lane) ^ as_is.value(r, lane);
        for (unsigned b = 0; b < 4; b++)
          if (changed >> (8 * b) & 0xff) results[n].lanes[b] |= uint64_t{1} << lane;
      }
    before.restore(w_);
  }
  return found;
}

} // namespace fade::sim
