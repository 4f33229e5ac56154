// The same instructions twice: by their handlers, and as compiled code. For tests that compare what
// is left behind.
#pragma once

#include "exec/jit.h"
#include "exec/program.h"
#include "semantics/opcodes.h"
#include "wave/stats.h"
#include "wave/wave.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace fade::sim {

constexpr unsigned bench_rows = 512 + 1;

struct BenchWave {
  explicit BenchWave(const Arch &arch, unsigned lanes) : rows(new Row[bench_rows]{}) {
    wave.arch = &arch;
    wave.lanes = lanes;
    wave.vgpr = rows.get();
    wave.stats = &stats;
    wave.set_mode(0x3f0);
    wave.set_exec(~0ull);
  }
  void copy(const BenchWave &from) {
    std::memcpy(rows.get(), from.rows.get(), bench_rows * sizeof(Row));
    std::memcpy(wave.sgpr, from.wave.sgpr, sizeof wave.sgpr);
    wave.scc = from.wave.scc;
    wave.set_mode(from.wave.mode);
  }

  std::unique_ptr<Row[]> rows;
  DispatchStats stats;
  Wave wave;
};

inline Operand vector_register(unsigned index) {
  Operand o;
  o.kind = Operand::Kind::vgpr, o.index = static_cast<uint16_t>(index);
  return o;
}
inline Operand scalar_register(unsigned index) {
  Operand o;
  o.kind = Operand::Kind::sgpr, o.index = static_cast<uint16_t>(index);
  return o;
}
inline Operand literal(uint32_t value) {
  Operand o;
  o.kind = Operand::Kind::constant, o.literal = true, o.value = value;
  return o;
}

inline Instruction instruction_of(const Opcode &op) {
  Instruction in;
  in.opcode = &op, in.run = op.run, in.cls = op.cls, in.size = 4;
  in.encoding = std::string_view(op.name).starts_with("v_dual_") ? Encoding::vopd
                : op.cls == ExecClass::valu                      ? Encoding::vop3
                                                                 : Encoding::sop2;
  in.ends_segment = op.has(Effect::writes_exec);
  return in;
}

// Instructions as one segment, compiled.
class CodeBench {
public:
  CodeBench(std::vector<Instruction> instructions, const Arch &arch, unsigned lanes) {
    segment_.start = 0x1000;
    uint64_t pc = segment_.start;
    std::array<uint16_t, static_cast<size_t>(ExecClass::count)> counts{};
    for (Instruction &in : instructions) {
      in.pc = pc, pc += in.size;
      counts[static_cast<size_t>(in.cls)]++;
    }
    segment_.end = pc;
    segment_.instructions = std::move(instructions);
    segment_.length = segment_.instructions.size();
    for (size_t c = 0; c < counts.size(); c++)
      if (counts[c]) segment_.counts.push_back({static_cast<ExecClass>(c), counts[c]});
    const Segment *region[] = {&segment_};
    code_ = JitCode::compile(region, arch, lanes);
    if (code_) code_->publish(region);
  }

  bool is_compiled() const { return code_ != nullptr; }
  const JitCode &code() const { return *code_; }

  void interpret(Wave &w) const {
    w.pc = segment_.end;
    w.expand_exec();
    for (const Segment::Count &c : segment_.counts) {
      auto &total = w.stats->classes[static_cast<size_t>(c.cls)];
      total.waves += c.instructions, total.lanes += c.instructions * w.active_count;
    }
    for (const Instruction &in : segment_.instructions) in.run(w, in);
  }
  uint64_t run(Wave &w) const {
    const Instruction *current = nullptr;
    JitFrame frame{&current, nullptr};
    const JitEntry *entry = segment_.code.load();
    return entry->run(w, frame, 0, 1, entry->number);
  }
  const Segment &segment() const { return segment_; }

private:
  Segment segment_;
  std::unique_ptr<JitCode> code_;
};

// What differs between two waves; empty if nothing does.
inline std::string difference(const BenchWave &expected, const BenchWave &got) {
  const auto hex = [](uint32_t v) {
    char text[16];
    std::snprintf(text, sizeof text, "%08x", v);
    return std::string(text);
  };
  for (unsigned r = 0; r < bench_rows; r++)
    for (unsigned i = 0; i < 64; i++)
      if (expected.rows[r][i] != got.rows[r][i])
        return "v" + std::to_string(r) + " lane " + std::to_string(i) + ": " +
               hex(expected.rows[r][i]) + " expected, " + hex(got.rows[r][i]);
  for (unsigned i = 0; i < sreg::count; i++)
    if (expected.wave.sgpr[i] != got.wave.sgpr[i])
      return "s" + std::to_string(i) + ": " + hex(expected.wave.sgpr[i]) + " expected, " +
             hex(got.wave.sgpr[i]);
  if (expected.wave.scc != got.wave.scc) return "scc";
  if (expected.wave.pc != got.wave.pc) return "pc";
  for (size_t c = 0; c < expected.stats.classes.size(); c++)
    if (expected.stats.classes[c].waves != got.stats.classes[c].waves ||
        expected.stats.classes[c].lanes != got.stats.classes[c].lanes)
      return std::string("count of ") + name_of(static_cast<ExecClass>(c));
  return "";
}

// Words that are odd for some type, and random ones.
class Words {
public:
  explicit Words(unsigned seed) : random_(seed) {}
  uint32_t operator()() {
    static constexpr uint32_t odd[] = {
        0,          1,          2,          31,         32,         33,         64,
        0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 0x3f800000, 0xbf800000, 0x40490fdb,
        0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0xffc12345, 0x7fa00000, 0x00800000,
        0x007fffff, 0x80400000, 0x7f7fffff, 0xff7fffff, 0x4f000000, 0xcf000000, 0x4f800000,
        0x3effffff, 0x3f000000, 0x4b000001, 0x33800000, 0x7ff00000, 0xfff00000, 0x7ff80000,
        0x7ff00001, 0x3ff00000, 0x41e00000, 0x43e00000, 0xffff0000, 0x0000ffff, 0x00ff00ff};
    return random_() % 3 ? odd[random_() % std::size(odd)] : static_cast<uint32_t>(random_());
  }
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  uint64_t mask() {
    switch (below(4)) {
    case 0: return ~0ull;
    case 1: return below(2) ? 0 : 1ull << below(64);
    default: return random_();
    }
  }
  void fill(BenchWave &w) {
    for (unsigned r = 0; r < 64; r++)
      for (unsigned i = 0; i < 64; i++) w.rows[r][i] = (*this)();
    for (unsigned i = 0; i < sreg::exec_lo; i++) w.wave.sgpr[i] = (*this)();
    w.wave.sgpr[sreg::null] = 0;
    w.wave.scc = below(2);
    w.wave.set_mode(below(2) ? 0x3f0 : 0x1f0); // with and without IEEE rules
    w.wave.set_exec(mask());
  }

private:
  std::mt19937_64 random_;
};

} // namespace fade::sim
