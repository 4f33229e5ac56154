// Every instruction that has code of its own in the compiler does there what its handler does: for
// numbers of all kinds, with modifiers, with scalar operands, and in inactive lanes.
#include "code_bench.h"

#include "isa/arch.h"

#include <functional>

namespace fade::sim {
namespace {

class Operations : public testing::TestWithParam<unsigned> { // lanes
protected:
  const Arch &arch = *find_arch(GetParam() == 64 ? "gfx90a" : "gfx1100");
};

Operand source(const Opcode &op, unsigned s, unsigned dst) {
  if (op.src[s] == Type::mask) return scalar_register(20);
  if (op.reads_dst && s + 1u == op.sources) return vector_register(dst);
  return vector_register(2 + 4 * s);
}

Instruction vector_instruction(const Arch &arch, const Opcode &op, unsigned dst) {
  Instruction in = instruction_of(op);
  for (unsigned s = 0; s < op.sources; s++) in.src[s] = source(op, s, dst);
  if (op.dst != Type::mask) in.dst = vector_register(dst);
  if (op.dst == Type::mask || op.flag_out) in.sdst = scalar_register(dst);
  in.plain = !(is_16(op.dst) && (arch.gfx10_up || op.preserves_high));
  return in;
}

// An instruction in its forms, each with a destination of its own.
std::vector<Instruction> forms(const Arch &arch, const Opcode &op) {
  std::vector<Instruction> all;
  unsigned dst = 22;
  const auto add = [&](const std::function<void(Instruction &)> &change) {
    all.push_back(vector_instruction(arch, op, dst));
    change(all.back());
    dst += 2;
  };
  add([](Instruction &) {});
  const bool is_dual = std::string_view(op.name).starts_with("v_dual_");
  for (unsigned s = 0; s < op.sources; s++) {
    if (op.src[s] == Type::mask) continue;
    const bool is_accumulator = op.reads_dst && s + 1u == op.sources;
    if (!is_accumulator) {
      add([&](Instruction &in) { in.src[s] = scalar_register(40 + 2 * s); });
      add([&](Instruction &in) { in.src[s] = literal(0x40490fdb); });
    }
    if (is_float(op.src[s]) && !is_dual) {
      add([&](Instruction &in) { in.src[s].neg = true, in.plain = false; });
      add([&](Instruction &in) { in.src[s].abs = in.src[s].neg = true, in.plain = false; });
    }
    if (is_16(op.src[s]))
      add([&](Instruction &in) { in.op_sel = static_cast<uint8_t>(1 << s), in.plain = false; });
  }
  if (is_16(op.dst)) add([](Instruction &in) { in.op_sel = 8, in.plain = false; });
  if (is_float(op.dst) && !is_dual) {
    add([](Instruction &in) { in.clamp = true, in.plain = false; });
    add([](Instruction &in) { in.omod = 1, in.plain = false; });
  }
  if (op.dst != Type::mask && !op.reads_dst && op.src[0] != Type::mask)
    add([&](Instruction &in) { in.dst = in.src[0]; });
  if (is_dual) { // both read before either writes
    static std::vector<std::unique_ptr<Instruction>> seconds;
    for (Instruction &in : all) {
      seconds.push_back(std::make_unique<Instruction>(
          vector_instruction(arch, *opcodes().find("v_dual_mov_b32"), in.src[0].index % 64 ^ 1)));
      seconds.back()->src[0] = in.dst;
      in.paired = seconds.back().get();
    }
  }
  return all;
}

void compare(const CodeBench &bench, const Arch &arch, unsigned lanes, const std::string &what,
             unsigned rounds) {
  Words words(7);
  for (unsigned round = 0; round < rounds; round++) {
    BenchWave expected(arch, lanes), got(arch, lanes);
    words.fill(expected);
    got.copy(expected);
    bench.interpret(expected.wave);
    EXPECT_EQ(bench.run(got.wave), bench.segment().length);
    ASSERT_EQ(difference(expected, got), "") << what << ", round " << round;
  }
}

bool has_expression(const Opcode &op) { return op.cls == ExecClass::valu && op.lanes; }

TEST_P(Operations, VectorInstructionsDoWhatTheirHandlersDo) {
  unsigned translated = 0;
  for (const auto family : opcode_families())
    for (const Opcode &op : family) {
      if (!has_expression(op)) continue;
      // What changes EXEC ends a segment.
      std::vector<std::vector<Instruction>> segments{forms(arch, op)};
      if (op.has(Effect::writes_exec)) {
        const std::vector<Instruction> all = std::move(segments.front());
        segments.clear();
        for (unsigned n = 0; n < all.size(); n += 3) segments.push_back({all[n]});
      }
      for (const auto &instructions : segments) {
        const CodeBench bench(instructions, arch, GetParam());
        ASSERT_TRUE(bench.is_compiled()) << op.name;
        if (bench.code().called()) break;
        translated += &instructions == &segments.front();
        compare(bench, arch, GetParam(), op.name, 40);
        if (HasFatalFailure()) return;
      }
    }
  EXPECT_GE(translated, 290u);
}

TEST_P(Operations, ScalarInstructionsDoWhatTheirHandlersDo) {
  unsigned translated = 0;
  for (const Opcode &op : salu_opcodes()) {
    if (op.cls != ExecClass::salu) continue;
    std::vector<Instruction> all;
    for (unsigned form = 0; form < (op.has(Effect::writes_exec) ? 1 : 4); form++) {
      Instruction in = instruction_of(op);
      in.src[0] = form == 1 ? literal(0x80000001) : scalar_register(20 + 2 * form);
      in.src[1] = form == 2 ? literal(0x00050003) : scalar_register(40 + 2 * form);
      in.dst = form == 3 ? in.src[0] : scalar_register(60 + 2 * form);
      all.push_back(in);
    }
    const CodeBench bench(std::move(all), arch, GetParam());
    ASSERT_TRUE(bench.is_compiled()) << op.name;
    if (bench.code().called()) continue;
    translated++;
    compare(bench, arch, GetParam(), op.name, 60);
    if (HasFatalFailure()) return;
  }
  EXPECT_GE(translated, 90u);
}

TEST_P(Operations, LanesBecomeScalarsAndBack) {
  std::vector<Instruction> all;
  const auto add = [&](const char *name, Operand dst, Operand from, Operand lane) {
    Instruction in = instruction_of(*opcodes().find(name));
    in.dst = dst, in.src[0] = from, in.src[1] = lane;
    all.push_back(in);
  };
  add("v_readfirstlane_b32", scalar_register(4), vector_register(3), {});
  add("v_mov_b32", vector_register(3), scalar_register(4), {});
  all.back().plain = true;
  add("v_readlane_b32", scalar_register(5), vector_register(3), scalar_register(9));
  add("v_readlane_b32", scalar_register(6), vector_register(4), literal(77));
  add("v_writelane_b32", vector_register(3), scalar_register(6), literal(3));
  add("v_writelane_b32", vector_register(5), literal(12), scalar_register(5));
  add("v_mov_b32", vector_register(7), vector_register(3), {});
  all.back().plain = true;
  add("v_readfirstlane_b32", scalar_register(7), vector_register(7), {});
  const CodeBench bench(all, arch, GetParam());
  ASSERT_TRUE(bench.is_compiled());
  EXPECT_EQ(bench.code().called(), 0u);
  compare(bench, arch, GetParam(), "lanes", 200);
}

TEST_P(Operations, PairsOfNumbersPickTheirHalves) {
  Words words(3);
  for (const char *name : {"v_pk_add_f32", "v_pk_mul_f32", "v_pk_fma_f32", "v_pk_mov_b32"}) {
    std::vector<Instruction> all;
    for (unsigned n = 0; n < 30; n++) {
      Instruction in = instruction_of(*opcodes().find(name));
      in.encoding = Encoding::vop3p;
      in.op_sel = static_cast<uint8_t>(words.below(8));
      in.op_sel_hi = static_cast<uint8_t>(words.below(8));
      const bool is_move = in.opcode->sources == 0;
      if (!is_move && words.below(2)) {
        in.neg_lo = static_cast<uint8_t>(words.below(8));
        in.neg_hi = static_cast<uint8_t>(words.below(8));
      }
      for (unsigned s = 0; s < 3; s++)
        in.src[s] = words.below(4) ? vector_register(words.below(12)) : scalar_register(20);
      in.dst = vector_register(words.below(12));
      all.push_back(in);
    }
    const CodeBench bench(all, arch, GetParam());
    ASSERT_TRUE(bench.is_compiled());
    EXPECT_EQ(bench.code().called(), 0u);
    compare(bench, arch, GetParam(), name, 60);
  }
}

// Registers of few numbers, so that instructions meet in all ways; some have no code of their own.
class Mixture {
public:
  Mixture(const Arch &arch, unsigned seed) : arch_(arch), words_(seed) {
    for (const auto family : {valu_integer_opcodes(), valu_float_opcodes(), valu_compare_opcodes()})
      for (const Opcode &op : family)
        if (has_expression(op) && op.run != nullptr && !op.has(Effect::writes_exec))
          vector_.push_back(&op);
    for (const Opcode &op : salu_opcodes())
      if (op.cls == ExecClass::salu && op.effects == 0 && op.flow == Flow::next &&
          !std::string_view(op.name).starts_with("s_mov") &&
          !std::string_view(op.name).starts_with("s_getreg"))
        scalar_.push_back(&op);
  }
  std::vector<Instruction> instructions(unsigned count) {
    std::vector<Instruction> all;
    while (all.size() < count) all.push_back(words_.below(4) ? vector() : scalar());
    return all;
  }

private:
  Operand scalar_operand() {
    static constexpr unsigned some[] = {0, 2, 4, 6, sreg::vcc_lo, sreg::exec_lo};
    return scalar_register(some[words_.below(std::size(some))]);
  }
  Operand written() {
    static constexpr unsigned some[] = {0, 1, 2, 4, 6, sreg::vcc_lo};
    return scalar_register(some[words_.below(std::size(some))]);
  }
  Operand vector_operand() { return vector_register(words_.below(10)); }
  Instruction vector() {
    const Opcode &op = *vector_[words_.below(static_cast<uint32_t>(vector_.size()))];
    Instruction in = instruction_of(op);
    in.plain = !(is_16(op.dst) && (arch_.gfx10_up || op.preserves_high));
    in.dst = vector_operand();
    for (unsigned s = 0; s < op.sources; s++) {
      if (op.src[s] == Type::mask)
        in.src[s] = scalar_operand();
      else if (op.reads_dst && s + 1u == op.sources)
        in.src[s] = in.dst;
      else if (words_.below(5) == 0)
        in.src[s] = words_.below(2) ? scalar_operand() : literal(words_());
      else
        in.src[s] = vector_operand();
    }
    if (op.dst == Type::mask || op.flag_out) in.sdst = written();
    return in;
  }
  Instruction scalar() {
    const Opcode &op = *scalar_[words_.below(static_cast<uint32_t>(scalar_.size()))];
    Instruction in = instruction_of(op);
    in.src[0] = scalar_operand(), in.src[1] = scalar_operand(), in.dst = written();
    return in;
  }

  const Arch &arch_;
  Words words_;
  std::vector<const Opcode *> vector_, scalar_;
};

TEST_P(Operations, MixturesDoWhatTheirHandlersDo) {
  constexpr unsigned mixtures = FADE_LONG_TESTS ? 500 : 40;
  for (unsigned seed = 1; seed <= mixtures; seed++) {
    const CodeBench bench(Mixture(arch, seed).instructions(30), arch, GetParam());
    ASSERT_TRUE(bench.is_compiled());
    EXPECT_GT(bench.code().translated(), 5u);
    compare(bench, arch, GetParam(), "mixture " + std::to_string(seed), 20);
    if (HasFatalFailure()) {
      for (const Instruction &in : bench.segment().instructions)
        std::printf("%s dst %u sdst %u src %u %u %u\n", in.opcode->name, in.dst.index,
                    in.sdst.index, in.src[0].index, in.src[1].index, in.src[2].index);
      return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, Operations, testing::Values(64u, 32u),
                         [](const auto &i) { return "wave" + std::to_string(i.param); });

} // namespace
} // namespace fade::sim
