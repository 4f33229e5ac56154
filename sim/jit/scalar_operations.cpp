#include "jit/scalar_operations.h"

#include "isa/opcode.h"
#include "jit/stage.h"

#include <string_view>
#include <unordered_map>

namespace fade::sim::jit {
namespace {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

struct Context {
  llvm::IRBuilder<> &b;
  ScalarFile &f;
  Value *const *s;

  Value *nonzero(Value *v) {
    f.set_scc(b.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType())));
    return v;
  }
  // The rule of s_*_saveexec: the old EXEC is the result.
  Value *save_exec(Value *next) {
    Value *old = f.exec();
    f.set_exec(next);
    nonzero(f.exec());
    return old;
  }
  Value *add(Value *carry) {
    Value *sum = b.CreateAdd(wide(s[0]), wide(s[1]));
    if (carry) sum = b.CreateAdd(sum, wide(carry));
    f.set_scc(b.CreateICmpUGT(sum, b.getInt64(0xffffffff)));
    return narrow(sum);
  }
  Value *sub(Value *borrow) {
    Value *take = wide(s[1]);
    if (borrow) take = b.CreateAdd(take, wide(borrow));
    f.set_scc(b.CreateICmpUGT(take, wide(s[0])));
    return narrow(b.CreateSub(wide(s[0]), take));
  }
  Value *overflowing(llvm::Intrinsic::ID id) {
    Value *both = b.CreateIntrinsic(id, {b.getInt32Ty()}, {s[0], s[1]});
    f.set_scc(b.CreateExtractValue(both, 1));
    return b.CreateExtractValue(both, 0);
  }
  Value *shift_add(unsigned by) {
    Value *sum = b.CreateAdd(b.CreateShl(wide(s[0]), by), wide(s[1]));
    f.set_scc(b.CreateICmpUGT(sum, b.getInt64(0xffffffff)));
    return narrow(sum);
  }
  Value *pick(llvm::CmpInst::Predicate first) {
    f.set_scc(b.CreateICmp(first, s[0], s[1]));
    return b.CreateSelect(f.scc(), s[0], s[1]);
  }
  Value *compare(llvm::CmpInst::Predicate p) {
    f.set_scc(b.CreateICmp(p, s[0], s[1]));
    return nullptr;
  }
  Value *select() { return b.CreateSelect(f.scc(), s[0], s[1]); }
  Value *amount(Value *v, unsigned bits) { // of a shift of so many bits
    v = b.CreateAnd(v, bits - 1);
    return bits == 64 ? wide(v) : v;
  }
  Value *has_bit(unsigned bits) {
    return b.CreateTrunc(b.CreateLShr(s[0], amount(s[1], bits)), b.getInt1Ty());
  }
  // A bit field; all that there is where it reaches beyond the end.
  Value *field(bool is_signed) {
    Value *offset = amount(s[1], 32), *width = b.CreateAnd(b.CreateLShr(s[1], 16), 0x7f);
    Value *end = b.CreateAdd(offset, width);
    Value *beyond = b.CreateICmpUGE(end, b.getInt32(32));
    Value *left = b.CreateSelect(beyond, b.getInt32(0), b.CreateSub(b.getInt32(32), end));
    Value *right = b.CreateSelect(beyond, offset, b.CreateSub(b.getInt32(32), width));
    right = b.CreateAnd(right, 31); // of no width at all, whose result is another one anyway
    Value *v = b.CreateShl(s[0], left);
    v = is_signed ? b.CreateAShr(v, right) : b.CreateLShr(v, right);
    return nonzero(b.CreateSelect(b.CreateICmpEQ(width, b.getInt32(0)), b.getInt32(0), v));
  }
  Value *wide(Value *v) { return b.CreateZExt(v, b.getInt64Ty()); }
  Value *wide_signed(Value *v) { return b.CreateSExt(v, b.getInt64Ty()); }
  Value *narrow(Value *v) { return b.CreateTrunc(v, b.getInt32Ty()); }
  Value *count(Value *v) {
    return b.CreateZExtOrTrunc(b.CreateUnaryIntrinsic(Intrinsic::ctpop, v), b.getInt32Ty());
  }
};

struct Operation {
  Type types[2]; // of its sources
  Value *(*make)(Context &);
};

#define OPERATION(NAME, FIRST, SECOND, ...)                                                        \
  {                                                                                                \
#NAME, {                                                                                       \
      {Type::FIRST, Type::SECOND}, [](Context &c) -> Value * { return __VA_ARGS__; }               \
    }                                                                                              \
  }
#define LOGIC(NAME, ...)                                                                           \
  OPERATION(NAME##_b32, u32, u32, c.nonzero(__VA_ARGS__)),                                         \
      OPERATION(NAME##_b64, u64, u64, c.nonzero(__VA_ARGS__))
#define SAVE_EXEC(NAME, ...)                                                                       \
  OPERATION(s_##NAME##_saveexec_b64, u64, none, c.save_exec(__VA_ARGS__)),                         \
      OPERATION(s_##NAME##_saveexec_b32, u32, none, c.narrow([&] {                                 \
        Value *const s[] = {c.wide(c.s[0])};                                                       \
        Context wide{c.b, c.f, s};                                                                 \
        return [](Context &c) { return c.save_exec(__VA_ARGS__); }(wide);                          \
      }()))
#define COMPARE(NAME, TYPE, PREDICATE)                                                             \
  OPERATION(s_cmp_##NAME##_##TYPE, TYPE, TYPE, c.compare(llvm::CmpInst::PREDICATE)),               \
      OPERATION(s_cmpk_##NAME##_##TYPE, TYPE, TYPE, c.compare(llvm::CmpInst::PREDICATE))

const std::unordered_map<std::string_view, Operation> &operations() {
  static const auto &table = *new std::unordered_map<std::string_view, Operation>{
      OPERATION(s_add_u32, u32, u32, c.add(nullptr)),
      OPERATION(s_addc_u32, u32, u32, c.add(c.f.scc())),
      OPERATION(s_sub_u32, u32, u32, c.sub(nullptr)),
      OPERATION(s_subb_u32, u32, u32, c.sub(c.f.scc())),
      OPERATION(s_add_i32, i32, i32, c.overflowing(Intrinsic::sadd_with_overflow)),
      OPERATION(s_addk_i32, i32, i32, c.overflowing(Intrinsic::sadd_with_overflow)),
      OPERATION(s_sub_i32, i32, i32, c.overflowing(Intrinsic::ssub_with_overflow)),
      OPERATION(s_add_u64, u64, u64, c.b.CreateAdd(c.s[0], c.s[1])),
      OPERATION(s_sub_u64, u64, u64, c.b.CreateSub(c.s[0], c.s[1])),
      OPERATION(s_mul_i32, u32, u32, c.b.CreateMul(c.s[0], c.s[1])),
      OPERATION(s_mulk_i32, u32, u32, c.b.CreateMul(c.s[0], c.s[1])),
      OPERATION(s_mul_hi_u32, u32, u32,
                c.narrow(c.b.CreateLShr(c.b.CreateMul(c.wide(c.s[0]), c.wide(c.s[1])), 32))),
      OPERATION(s_mul_hi_i32, i32, i32,
                c.narrow(c.b.CreateLShr(c.b.CreateMul(c.wide_signed(c.s[0]), c.wide_signed(c.s[1])),
                                        32))),
      OPERATION(s_min_i32, i32, i32, c.pick(llvm::CmpInst::ICMP_SLT)),
      OPERATION(s_max_i32, i32, i32, c.pick(llvm::CmpInst::ICMP_SGT)),
      OPERATION(s_min_u32, u32, u32, c.pick(llvm::CmpInst::ICMP_ULT)),
      OPERATION(s_max_u32, u32, u32, c.pick(llvm::CmpInst::ICMP_UGT)),
      OPERATION(s_lshl1_add_u32, u32, u32, c.shift_add(1)),
      OPERATION(s_lshl2_add_u32, u32, u32, c.shift_add(2)),
      OPERATION(s_lshl3_add_u32, u32, u32, c.shift_add(3)),
      OPERATION(s_lshl4_add_u32, u32, u32, c.shift_add(4)),

      LOGIC(s_and, c.b.CreateAnd(c.s[0], c.s[1])),
      LOGIC(s_or, c.b.CreateOr(c.s[0], c.s[1])),
      LOGIC(s_xor, c.b.CreateXor(c.s[0], c.s[1])),
      LOGIC(s_andn2, c.b.CreateAnd(c.s[0], c.b.CreateNot(c.s[1]))),
      LOGIC(s_orn2, c.b.CreateOr(c.s[0], c.b.CreateNot(c.s[1]))),
      LOGIC(s_nand, c.b.CreateNot(c.b.CreateAnd(c.s[0], c.s[1]))),
      LOGIC(s_nor, c.b.CreateNot(c.b.CreateOr(c.s[0], c.s[1]))),
      LOGIC(s_xnor, c.b.CreateNot(c.b.CreateXor(c.s[0], c.s[1]))),
      OPERATION(s_not_b32, u32, none, c.nonzero(c.b.CreateNot(c.s[0]))),
      OPERATION(s_not_b64, u64, none, c.nonzero(c.b.CreateNot(c.s[0]))),
      OPERATION(s_lshl_b32, u32, u32, c.nonzero(c.b.CreateShl(c.s[0], c.amount(c.s[1], 32)))),
      OPERATION(s_lshr_b32, u32, u32, c.nonzero(c.b.CreateLShr(c.s[0], c.amount(c.s[1], 32)))),
      OPERATION(s_ashr_i32, i32, u32, c.nonzero(c.b.CreateAShr(c.s[0], c.amount(c.s[1], 32)))),
      OPERATION(s_lshl_b64, u64, u32, c.nonzero(c.b.CreateShl(c.s[0], c.amount(c.s[1], 64)))),
      OPERATION(s_lshr_b64, u64, u32, c.nonzero(c.b.CreateLShr(c.s[0], c.amount(c.s[1], 64)))),
      OPERATION(s_ashr_i64, i64, u32, c.nonzero(c.b.CreateAShr(c.s[0], c.amount(c.s[1], 64)))),
      OPERATION(s_bfe_u32, u32, u32, c.field(false)),
      OPERATION(s_bfe_i32, i32, u32, c.field(true)),
      OPERATION(s_bcnt1_i32_b32, u32, none, c.nonzero(c.count(c.s[0]))),
      OPERATION(s_bcnt1_i32_b64, u64, none, c.nonzero(c.count(c.s[0]))),
      OPERATION(s_sext_i32_i8, u32, none,
                c.b.CreateSExt(c.b.CreateTrunc(c.s[0], c.b.getInt8Ty()), c.b.getInt32Ty())),
      OPERATION(s_sext_i32_i16, u32, none,
                c.b.CreateSExt(c.b.CreateTrunc(c.s[0], c.b.getInt16Ty()), c.b.getInt32Ty())),

      OPERATION(s_mov_b32, u32, none, c.s[0]),
      OPERATION(s_mov_b64, u64, none, c.s[0]),
      OPERATION(s_movk_i32, u32, i32, c.s[1]),
      OPERATION(s_cselect_b32, u32, u32, c.select()),
      OPERATION(s_cselect_b64, u64, u64, c.select()),

      COMPARE(eq, i32, ICMP_EQ),
      COMPARE(lg, i32, ICMP_NE),
      COMPARE(gt, i32, ICMP_SGT),
      COMPARE(ge, i32, ICMP_SGE),
      COMPARE(lt, i32, ICMP_SLT),
      COMPARE(le, i32, ICMP_SLE),
      COMPARE(eq, u32, ICMP_EQ),
      COMPARE(lg, u32, ICMP_NE),
      COMPARE(gt, u32, ICMP_UGT),
      COMPARE(ge, u32, ICMP_UGE),
      COMPARE(lt, u32, ICMP_ULT),
      COMPARE(le, u32, ICMP_ULE),
      COMPARE(eq, u64, ICMP_EQ),
      COMPARE(lg, u64, ICMP_NE),
      OPERATION(s_bitcmp0_b32, u32, u32, (c.f.set_scc(c.b.CreateNot(c.has_bit(32))), nullptr)),
      OPERATION(s_bitcmp1_b32, u32, u32, (c.f.set_scc(c.has_bit(32)), nullptr)),
      OPERATION(s_bitcmp0_b64, u64, u32, (c.f.set_scc(c.b.CreateNot(c.has_bit(64))), nullptr)),
      OPERATION(s_bitcmp1_b64, u64, u32, (c.f.set_scc(c.has_bit(64)), nullptr)),

      SAVE_EXEC(and, c.b.CreateAnd(c.s[0], c.f.exec())),
      SAVE_EXEC(or, c.b.CreateOr(c.s[0], c.f.exec())),
      SAVE_EXEC(xor, c.b.CreateXor(c.s[0], c.f.exec())),
      SAVE_EXEC(andn2, c.b.CreateAnd(c.s[0], c.b.CreateNot(c.f.exec()))),
      SAVE_EXEC(orn2, c.b.CreateOr(c.s[0], c.b.CreateNot(c.f.exec()))),
      OPERATION(s_andn1_saveexec_b64, u64, none,
                c.save_exec(c.b.CreateAnd(c.b.CreateNot(c.s[0]), c.f.exec()))),
      OPERATION(s_orn1_saveexec_b64, u64, none,
                c.save_exec(c.b.CreateOr(c.b.CreateNot(c.s[0]), c.f.exec()))),
  };
  return table;
}

const Operation *find(const Instruction &in) {
  const auto found = operations().find(in.opcode->name);
  return found == operations().end() ? nullptr : &found->second;
}

bool is_known_source(const Operand &o) {
  return o.kind == Operand::Kind::sgpr || o.kind == Operand::Kind::constant;
}

} // namespace

bool ScalarOperations::knows(const Instruction &in) const {
  const Operation *operation = find(in);
  if (!operation) return false;
  for (unsigned i = 0; i < 2; i++)
    if (operation->types[i] != Type::none && !is_known_source(in.src[i])) return false;
  return in.dst.kind == Operand::Kind::sgpr || in.dst.kind == Operand::Kind::none;
}

void ScalarOperations::add(const Instruction &in) {
  const Operation &operation = *find(in);
  const auto words = [](Type t) { return is_64(t) ? 2u : 1u; };
  bool waits = in.opcode->has(Effect::writes_exec);
  for (unsigned i = 0; i < 2; i++)
    if (operation.types[i] != Type::none && in.src[i].kind == Operand::Kind::sgpr)
      waits |= stage_.defines(in.src[i].index, words(operation.types[i]));
  // Two registers, whatever it writes: what the stage makes is not to come behind it. Nor is EXEC
  // to change before the stage has run.
  if (in.dst.kind == Operand::Kind::sgpr)
    waits |= stage_.defines(in.dst.index, 2) || in.dst.index + 1u >= sreg::exec_lo;
  if (waits) stage_.run();
  Value *sources[2] = {};
  for (unsigned i = 0; i < 2; i++) {
    const Operand &o = in.src[i];
    const Type type = operation.types[i];
    if (type == Type::none) continue;
    if (o.kind == Operand::Kind::sgpr)
      sources[i] = is_64(type) ? scalars_.pair(o.index) : scalars_.word(o.index);
    else if (is_64(type))
      sources[i] = b.getInt64(request_.constant(o, type));
    else
      sources[i] = b.getInt32(static_cast<uint32_t>(request_.constant(o, type)));
  }
  Context context{b, scalars_, sources};
  Value *result = operation.make(context);
  if (!result) return;
  if (result->getType()->isIntegerTy(64))
    scalars_.set_pair(in.dst.index, result);
  else
    scalars_.set_word(in.dst.index, result);
}

Value *ScalarOperations::condition(const Instruction &in) {
  const std::string_view name = in.opcode->name;
  const bool on_vcc = name == "s_cbranch_vccz" || name == "s_cbranch_vccnz";
  const bool on_exec = name == "s_cbranch_execz" || name == "s_cbranch_execnz";
  if (name == "s_cbranch_scc0") return b.CreateNot(scalars_.scc());
  if (name == "s_cbranch_scc1") return scalars_.scc();
  if (!on_vcc && !on_exec) return nullptr;
  stage_.run();
  Value *mask = on_vcc ? scalars_.mask(sreg::vcc_lo) : scalars_.exec();
  return name.ends_with("nz") ? b.CreateICmpNE(mask, b.getInt64(0))
                              : b.CreateICmpEQ(mask, b.getInt64(0));
}

} // namespace fade::sim::jit
