// What vector instructions do, as code for a chunk of lanes. Each must give what the expression of
// the same name in sim/semantics gives; tests compare them one by one.
#include "jit/lane_builder.h"

#include <unordered_map>

namespace fade::sim::jit {
namespace {

using llvm::Value;
using L = LaneBuilder;
namespace Intrinsic = llvm::Intrinsic;

Value *amount(L &l, Value *v, uint32_t mask = 31) { return l.b.CreateAnd(v, l.constant(mask)); }
Value *amount64(L &l, Value *v) { return l.b.CreateAnd(l.wide(v), l.constant64(63)); }
Value *shifted_left(L &l, Value *v, Value *by) { return l.b.CreateShl(v, amount(l, by)); }
Value *low24(L &l, Value *v) { return l.b.CreateAnd(v, l.constant(0xffffff)); }
Value *signed24(L &l, Value *v) {
  return l.b.CreateAShr(l.b.CreateShl(v, l.constant(8)), l.constant(8));
}
Value *high_product(L &l, Value *x, Value *y) {
  return l.narrow(l.b.CreateLShr(l.b.CreateMul(x, y), l.constant64(32)));
}
Value *smaller(L &l, Value *x, Value *y, bool is_signed) {
  return l.call(is_signed ? Intrinsic::smin : Intrinsic::umin, {x, y});
}
Value *larger(L &l, Value *x, Value *y, bool is_signed) {
  return l.call(is_signed ? Intrinsic::smax : Intrinsic::umax, {x, y});
}
Value *median(L &l, Value *const *s, bool is_signed) {
  Value *low = smaller(l, s[0], s[1], is_signed), *high = larger(l, s[0], s[1], is_signed);
  return smaller(l, larger(l, s[2], low, is_signed), high, is_signed);
}

// Carries: the third operand is a mask or null.
Value *add_carry(L &l, Value *x, Value *y, Value *carry) {
  Value *sum = l.b.CreateAdd(x, y);
  l.flag = l.b.CreateICmpULT(sum, x);
  if (!carry) return sum;
  Value *r = l.b.CreateAdd(sum, l.b.CreateZExt(carry, sum->getType()));
  l.flag = l.b.CreateOr(l.flag, l.b.CreateICmpULT(r, sum));
  return r;
}
Value *sub_borrow(L &l, Value *x, Value *y, Value *borrow) {
  Value *difference = l.b.CreateSub(x, y);
  l.flag = l.b.CreateICmpULT(x, y);
  if (!borrow) return difference;
  Value *r = l.b.CreateSub(difference, l.b.CreateZExt(borrow, x->getType()));
  l.flag = l.b.CreateOr(l.flag, l.b.CreateICmpULT(difference, r));
  return r;
}
Value *mad_unsigned(L &l, Value *const *s) {
  Value *product = l.b.CreateMul(l.wide(s[0]), l.wide(s[1]));
  Value *r = l.b.CreateAdd(product, s[2]);
  l.flag = l.b.CreateICmpULT(r, s[2]);
  return r;
}

Value *bit_field(L &l, Value *x, Value *offset, Value *width) {
  Value *mask = l.b.CreateSub(shifted_left(l, l.constant(1), width), l.constant(1));
  return l.b.CreateAnd(l.b.CreateLShr(x, amount(l, offset)), mask);
}
Value *signed_bit_field(L &l, Value *x, Value *offset, Value *width) {
  Value *n = amount(l, width), *field = l.b.CreateAShr(x, amount(l, offset));
  Value *away = amount(l, l.b.CreateSub(l.constant(32), n));
  Value *r = l.b.CreateAShr(l.b.CreateShl(field, away), away);
  return l.b.CreateSelect(l.b.CreateICmpEQ(n, l.constant(0)), l.constant(0), r);
}
Value *first_bit(L &l, Value *x, llvm::Intrinsic::ID count) {
  Value *n = l.b.CreateIntrinsic(count, {x->getType()}, {x, l.b.getFalse()});
  return l.b.CreateSelect(l.b.CreateICmpEQ(x, l.constant(0)), l.constant(~0u), n);
}
Value *bits_below_lane(L &l, Value *x, Value *lane, bool is_high) {
  Value *number = is_high ? l.b.CreateSub(lane, l.constant(32)) : lane;
  Value *below = l.b.CreateSub(shifted_left(l, l.constant(1), number), l.constant(1));
  Value *in_low = l.b.CreateICmpULT(lane, l.constant(32));
  Value *mask = is_high ? l.b.CreateSelect(in_low, l.constant(0), below)
                        : l.b.CreateSelect(in_low, below, l.constant(~0u));
  return l.call(Intrinsic::ctpop, {l.b.CreateAnd(x, mask)});
}

Value *fma(L &l, Value *x, Value *y, Value *z) {
  return l.arithmetic(l.call(Intrinsic::fma, {x, y, z}), {x, y, z});
}
Value *rounded(L &l, llvm::Intrinsic::ID how, Value *x) {
  return l.b.CreateSelect(l.is_nan(x), l.quiet(x), l.call(how, {x}));
}
Value *fract(L &l, Value *x) {
  Value *whole = l.call(Intrinsic::floor, {x});
  Value *r = l.arithmetic(l.b.CreateFSub(x, whole), {x, whole});
  const bool is_double = x->getType()->getScalarSizeInBits() == 64;
  Value *below_one =
      l.to_float(is_double ? l.constant64(0x3fefffffffffffff) : l.constant(0x3f7fffff));
  return l.b.CreateSelect(l.b.CreateFCmpULT(r, below_one), r, below_one);
}
Value *root(L &l, Value *x) { return l.arithmetic(l.call(Intrinsic::sqrt, {x}), {x}); }
// Denormal numbers count as zero.
Value *flushed(L &l, Value *x) {
  Value *bits = l.to_bits(x);
  Value *is_small = l.b.CreateICmpEQ(l.b.CreateAnd(bits, l.constant(0x7f800000)), l.constant(0));
  Value *sign = l.b.CreateAnd(bits, l.constant(0x80000000));
  return l.to_float(l.b.CreateSelect(is_small, sign, bits));
}
Value *ldexp(L &l, Value *x, Value *n) {
  n = smaller(l, larger(l, n, l.constant(static_cast<uint32_t>(-400)), true), l.constant(400),
              true);
  Value *exponent =
      l.b.CreateShl(l.wide_signed(l.b.CreateAdd(n, l.constant(1023))), l.constant64(52));
  Value *r = l.b.CreateFMul(l.b.CreateFPExt(x, l.type(Type::f64)), l.to_float(exponent));
  return l.b.CreateSelect(l.is_nan(x), l.quiet(x), l.b.CreateFPTrunc(r, l.type(Type::f32)));
}
Value *to_single(L &l, Value *x) {
  Value *usual = l.b.CreateFPTrunc(x, l.type(Type::f32));
  return l.unless_nan({x}, usual, [&] {
    Value *bits = l.to_bits(l.quiet(x));
    Value *payload = l.b.CreateAnd(l.b.CreateLShr(bits, l.constant64(29)), l.constant64(0x7fffff));
    Value *sign = l.b.CreateAnd(l.b.CreateLShr(bits, l.constant64(32)), l.constant64(0x80000000));
    Value *nan = l.b.CreateOr(l.narrow(l.b.CreateOr(payload, sign)), l.constant(0x7f800000));
    return l.b.CreateSelect(l.is_nan(x), l.to_float(nan), usual);
  });
}
Value *to_double(L &l, Value *x) {
  Value *usual = l.b.CreateFPExt(x, l.type(Type::f64));
  return l.unless_nan({x}, usual, [&] {
    Value *bits = l.wide(l.to_bits(l.quiet(x)));
    Value *payload = l.b.CreateShl(l.b.CreateAnd(bits, l.constant64(0x7fffff)), l.constant64(29));
    Value *sign = l.b.CreateShl(l.b.CreateAnd(bits, l.constant64(0x80000000)), l.constant64(32));
    Value *nan = l.b.CreateOr(l.b.CreateOr(payload, sign), l.constant64(0x7ff0000000000000));
    return l.b.CreateSelect(l.is_nan(x), l.to_float(nan), usual);
  });
}
Value *to_int(L &l, Value *x, bool is_signed) {
  return l.b.CreateIntrinsic(is_signed ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat,
                             {l.type(Type::u32), x->getType()}, {x});
}
Value *byte_to_single(L &l, Value *x, unsigned n) {
  Value *byte = l.b.CreateAnd(l.b.CreateLShr(x, l.constant(8 * n)), l.constant(0xff));
  return l.b.CreateUIToFP(byte, l.type(Type::f32));
}

Value *byte(L &l, Value *x, unsigned n) {
  return l.b.CreateAnd(l.b.CreateLShr(x, l.constant(8 * n)), l.constant(0xff));
}
Value *has_bits(L &l, Value *x, uint32_t bits) {
  return l.b.CreateICmpNE(l.b.CreateAnd(x, l.constant(bits)), l.constant(0));
}
// See permute_bytes() of the interpreter.
Value *permute_bytes(L &l, Value *const *s) {
  Value *result = l.constant(0);
  for (unsigned n = 0; n < 4; n++) {
    Value *selector = byte(l, s[2], n);
    Value *by = l.b.CreateShl(amount(l, selector, 3), l.constant(3));
    Value *word = l.b.CreateSelect(has_bits(l, selector, 4), s[0], s[1]);
    Value *picked = l.b.CreateAnd(l.b.CreateLShr(word, by), l.constant(0xff));
    word = l.b.CreateSelect(has_bits(l, selector, 2), s[0], s[1]);
    word = l.b.CreateSelect(has_bits(l, selector, 1), word, l.b.CreateShl(word, l.constant(16)));
    Value *sign = l.b.CreateAnd(l.b.CreateAShr(word, l.constant(31)), l.constant(0xff));
    Value *rest = l.b.CreateSelect(l.b.CreateICmpEQ(selector, l.constant(12)), l.constant(0),
                                   l.constant(0xff));
    Value *upper = l.b.CreateSelect(l.b.CreateICmpULT(selector, l.constant(12)), sign, rest);
    Value *one = l.b.CreateSelect(l.b.CreateICmpULT(selector, l.constant(8)), picked, upper);
    result = l.b.CreateOr(result, l.b.CreateShl(one, l.constant(8 * n)));
  }
  return result;
}

// Multiply-add with two roundings that knows no denormals.
Value *mad(L &l, Value *x, Value *y, Value *z) {
  x = flushed(l, x), y = flushed(l, y), z = flushed(l, z);
  Value *product = flushed(l, l.arithmetic(l.b.CreateFMul(x, y), {x, y}));
  return flushed(l, l.arithmetic(l.b.CreateFAdd(product, z), {product, z}));
}

// Sums of p * t + c in f64, as sim/semantics/transcendental.h has them.
Value *polynomial(L &l, Value *t, std::initializer_list<double> coefficients) {
  Value *p = nullptr;
  for (const double c : coefficients)
    p = p ? l.b.CreateFAdd(l.b.CreateFMul(p, t), l.real(c, true)) : l.real(c, true);
  return p;
}
Value *exp2_of(L &l, Value *x) {
  Value *above = l.b.CreateFCmpOGT(x, l.real(-200)), *below = l.b.CreateFCmpOLT(x, l.real(200));
  Value *bounded = l.b.CreateSelect(above, l.b.CreateSelect(below, x, l.real(200)), l.real(-200));
  Value *wide = l.b.CreateFPExt(bounded, l.type(Type::f64));
  Value *n = l.call(Intrinsic::roundeven, {wide}), *t = l.b.CreateFSub(wide, n);
  Value *p = polynomial(l, t,
                        {0.0001546144469856913, 0.0013400428177615838, 0.009618056678524637,
                         0.05550327226670302, 0.24022650922288757, 0.6931472067028326, 1.0});
  Value *whole = l.wide_signed(l.b.CreateFPToSI(n, l.type(Type::u32)));
  Value *power = l.b.CreateShl(l.b.CreateAdd(whole, l.constant64(1023)), l.constant64(52));
  Value *r = flushed(l, l.b.CreateFPTrunc(l.b.CreateFMul(p, l.to_float(power)), l.type(Type::f32)));
  return l.b.CreateSelect(l.is_nan(x), l.quiet(x), r);
}
Value *log2_of_normal(L &l, Value *x) {
  constexpr uint64_t sqrt_half = 0x3fe6a09e667f3bcd, one = 0x3ff0000000000000;
  Value *bits = l.to_bits(l.b.CreateFPExt(x, l.type(Type::f64)));
  Value *e = l.b.CreateSub(
      l.b.CreateLShr(l.b.CreateAdd(bits, l.constant64(one - sqrt_half)), l.constant64(52)),
      l.constant64(1023));
  Value *m = l.to_float(l.b.CreateSub(bits, l.b.CreateShl(e, l.constant64(52))));
  Value *unit = l.real(1, true);
  Value *s = l.b.CreateFDiv(l.b.CreateFSub(m, unit), l.b.CreateFAdd(m, unit));
  Value *p = polynomial(l, l.b.CreateFMul(s, s),
                        {0.3407120415619086, 0.41167376623771057, 0.5770835660048659,
                         0.9617966734515485, 2.885390081789987});
  Value *whole = l.b.CreateSIToFP(l.narrow(e), l.type(Type::f64));
  return l.b.CreateFPTrunc(l.b.CreateFAdd(whole, l.b.CreateFMul(p, s)), l.type(Type::f32));
}
Value *log2_of(L &l, Value *x) {
  Value *v = flushed(l, x), *zero = l.real(0);
  Value *infinite = l.to_float(l.constant(0x7f800000));
  Value *positive = l.b.CreateFCmpOGT(v, zero);
  Value *usual = l.b.CreateAnd(positive, l.b.CreateFCmpOLT(v, infinite));
  Value *r = log2_of_normal(l, l.b.CreateSelect(usual, v, l.real(1)));
  Value *other = l.b.CreateSelect(positive, v, l.nan_of({v}));
  other = l.b.CreateSelect(l.b.CreateFCmpOEQ(v, zero), l.to_float(l.constant(0xff800000)), other);
  return l.b.CreateSelect(usual, r, other);
}
Value *reciprocal_root(L &l, Value *x) {
  Value *wide = l.call(Intrinsic::sqrt, {l.b.CreateFPExt(x, l.type(Type::f64))});
  Value *r = l.b.CreateFPTrunc(l.b.CreateFDiv(l.real(1, true), wide), l.type(Type::f32));
  return l.arithmetic(r, {x});
}
Value *reciprocal(L &l, Value *operand) {
  Value *x = flushed(l, operand);
  return flushed(l, l.arithmetic(l.b.CreateFDiv(l.real(1), x), {x}));
}

#define OPERATION(NAME, ...)                                                                       \
  {                                                                                                \
#NAME, [](L &l, Value *const *s) -> Value * {                                                   \
     (void)l, (void)s;                                                                             \
     return __VA_ARGS__;                                                                           \
   }  \
  }

#define COMPARE(NAME, TYPE, PREDICATE)                                                             \
  OPERATION(v_cmp_##NAME##_##TYPE, l.b.CreateCmp(llvm::CmpInst::PREDICATE, s[0], s[1]))
#define COMPARE_INTEGERS(S, SIGN)                                                                  \
  COMPARE(lt, S, ICMP_##SIGN##LT), COMPARE(le, S, ICMP_##SIGN##LE),                                \
      COMPARE(gt, S, ICMP_##SIGN##GT), COMPARE(ge, S, ICMP_##SIGN##GE), COMPARE(eq, S, ICMP_EQ),   \
      COMPARE(ne, S, ICMP_NE)
#define COMPARE_FLOATS(T)                                                                          \
  COMPARE(lt, T, FCMP_OLT), COMPARE(le, T, FCMP_OLE), COMPARE(gt, T, FCMP_OGT),                    \
      COMPARE(ge, T, FCMP_OGE), COMPARE(eq, T, FCMP_OEQ), COMPARE(lg, T, FCMP_ONE),                \
      COMPARE(o, T, FCMP_ORD), COMPARE(u, T, FCMP_UNO), COMPARE(nge, T, FCMP_ULT),                 \
      COMPARE(nlg, T, FCMP_UEQ), COMPARE(ngt, T, FCMP_ULE), COMPARE(nle, T, FCMP_UGT),             \
      COMPARE(neq, T, FCMP_UNE), COMPARE(nlt, T, FCMP_UGE)

const std::unordered_map<std::string_view, VectorOperation> &integers() {
  static const auto &table = *new std::unordered_map<std::string_view, VectorOperation>{
      OPERATION(v_mov_b32, s[0]),
      OPERATION(v_not_b32, l.b.CreateNot(s[0])),
      OPERATION(v_and_b32, l.b.CreateAnd(s[0], s[1])),
      OPERATION(v_or_b32, l.b.CreateOr(s[0], s[1])),
      OPERATION(v_xor_b32, l.b.CreateXor(s[0], s[1])),
      OPERATION(v_xnor_b32, l.b.CreateNot(l.b.CreateXor(s[0], s[1]))),
      OPERATION(v_and_or_b32, l.b.CreateOr(l.b.CreateAnd(s[0], s[1]), s[2])),
      OPERATION(v_or3_b32, l.b.CreateOr(l.b.CreateOr(s[0], s[1]), s[2])),
      OPERATION(v_xor3_b32, l.b.CreateXor(l.b.CreateXor(s[0], s[1]), s[2])),
      OPERATION(v_lshl_or_b32, l.b.CreateOr(shifted_left(l, s[0], s[1]), s[2])),
      OPERATION(v_lshlrev_b32, shifted_left(l, s[1], s[0])),
      OPERATION(v_lshrrev_b32, l.b.CreateLShr(s[1], amount(l, s[0]))),
      OPERATION(v_ashrrev_i32, l.b.CreateAShr(s[1], amount(l, s[0]))),
      OPERATION(v_bfe_u32, bit_field(l, s[0], s[1], s[2])),
      OPERATION(v_bfe_i32, signed_bit_field(l, s[0], s[1], s[2])),
      OPERATION(v_bfi_b32,
                l.b.CreateOr(l.b.CreateAnd(s[0], s[1]), l.b.CreateAnd(l.b.CreateNot(s[0]), s[2]))),
      OPERATION(v_bfm_b32,
                shifted_left(l, l.b.CreateSub(shifted_left(l, l.constant(1), s[0]), l.constant(1)),
                             s[1])),
      OPERATION(v_bfrev_b32, l.call(Intrinsic::bitreverse, {s[0]})),
      OPERATION(v_ffbh_u32, first_bit(l, s[0], Intrinsic::ctlz)),
      OPERATION(v_ffbl_b32, first_bit(l, s[0], Intrinsic::cttz)),
      OPERATION(v_bcnt_u32_b32, l.b.CreateAdd(l.call(Intrinsic::ctpop, {s[0]}), s[1])),
      OPERATION(v_alignbit_b32, l.call(Intrinsic::fshr, {s[0], s[1], s[2]})),
      OPERATION(
          v_alignbyte_b32,
          l.call(Intrinsic::fshr, {s[0], s[1], l.b.CreateShl(amount(l, s[2], 3), l.constant(3))})),
      OPERATION(v_cndmask_b32, l.b.CreateSelect(s[2], s[1], s[0])),
      OPERATION(v_mbcnt_lo_u32_b32,
                l.b.CreateAdd(bits_below_lane(l, s[0], l.lane_numbers(), false), s[1])),
      OPERATION(v_mbcnt_hi_u32_b32,
                l.b.CreateAdd(bits_below_lane(l, s[0], l.lane_numbers(), true), s[1])),

      OPERATION(v_add_u32, l.b.CreateAdd(s[0], s[1])),
      OPERATION(v_sub_u32, l.b.CreateSub(s[0], s[1])),
      OPERATION(v_subrev_u32, l.b.CreateSub(s[1], s[0])),
      OPERATION(v_add_i32, l.b.CreateAdd(s[0], s[1])),
      OPERATION(v_sub_i32, l.b.CreateSub(s[0], s[1])),
      OPERATION(v_add3_u32, l.b.CreateAdd(l.b.CreateAdd(s[0], s[1]), s[2])),
      OPERATION(v_lshl_add_u32, l.b.CreateAdd(shifted_left(l, s[0], s[1]), s[2])),
      OPERATION(v_add_lshl_u32, shifted_left(l, l.b.CreateAdd(s[0], s[1]), s[2])),
      OPERATION(v_xad_u32, l.b.CreateAdd(l.b.CreateXor(s[0], s[1]), s[2])),
      OPERATION(v_mul_lo_u32, l.b.CreateMul(s[0], s[1])),
      OPERATION(v_mul_hi_u32, high_product(l, l.wide(s[0]), l.wide(s[1]))),
      OPERATION(v_mul_hi_i32, high_product(l, l.wide_signed(s[0]), l.wide_signed(s[1]))),
      OPERATION(v_mul_u32_u24, l.b.CreateMul(low24(l, s[0]), low24(l, s[1]))),
      OPERATION(v_mul_i32_i24, l.b.CreateMul(signed24(l, s[0]), signed24(l, s[1]))),
      OPERATION(v_mul_hi_u32_u24, high_product(l, l.wide(low24(l, s[0])), l.wide(low24(l, s[1])))),
      OPERATION(v_mad_u32_u24, l.b.CreateAdd(l.b.CreateMul(low24(l, s[0]), low24(l, s[1])), s[2])),
      OPERATION(v_mad_i32_i24,
                l.b.CreateAdd(l.b.CreateMul(signed24(l, s[0]), signed24(l, s[1])), s[2])),
      OPERATION(v_min_i32, smaller(l, s[0], s[1], true)),
      OPERATION(v_max_i32, larger(l, s[0], s[1], true)),
      OPERATION(v_min_u32, smaller(l, s[0], s[1], false)),
      OPERATION(v_max_u32, larger(l, s[0], s[1], false)),
      OPERATION(v_min3_i32, smaller(l, smaller(l, s[0], s[1], true), s[2], true)),
      OPERATION(v_max3_i32, larger(l, larger(l, s[0], s[1], true), s[2], true)),
      OPERATION(v_min3_u32, smaller(l, smaller(l, s[0], s[1], false), s[2], false)),
      OPERATION(v_max3_u32, larger(l, larger(l, s[0], s[1], false), s[2], false)),
      OPERATION(v_med3_i32, median(l, s, true)),
      OPERATION(v_med3_u32, median(l, s, false)),

      OPERATION(v_add_co_u32, add_carry(l, s[0], s[1], nullptr)),
      OPERATION(v_sub_co_u32, sub_borrow(l, s[0], s[1], nullptr)),
      OPERATION(v_subrev_co_u32, sub_borrow(l, s[1], s[0], nullptr)),
      OPERATION(v_addc_co_u32, add_carry(l, s[0], s[1], s[2])),
      OPERATION(v_subb_co_u32, sub_borrow(l, s[0], s[1], s[2])),
      OPERATION(v_subbrev_co_u32, sub_borrow(l, s[1], s[0], s[2])),
      OPERATION(v_mad_u64_u32, mad_unsigned(l, s)),

      OPERATION(v_mov_b64, s[0]),
      OPERATION(v_lshl_add_u64,
                l.b.CreateAdd(l.b.CreateShl(s[0], l.wide(amount(l, s[1], 7))), s[2])),
      OPERATION(v_lshlrev_b64, l.b.CreateShl(s[1], amount64(l, s[0]))),
      OPERATION(v_lshrrev_b64, l.b.CreateLShr(s[1], amount64(l, s[0]))),
      OPERATION(v_ashrrev_i64, l.b.CreateAShr(s[1], amount64(l, s[0]))),

      OPERATION(v_perm_b32, permute_bytes(l, s)),
      OPERATION(v_accvgpr_read_b32, s[0]),
      OPERATION(v_accvgpr_write_b32, s[0]),
      OPERATION(v_accvgpr_mov_b32, s[0]),

      // 16 bits: operands are extended as their types say, results cut off.
      OPERATION(v_add_u16, l.b.CreateAdd(s[0], s[1])),
      OPERATION(v_sub_u16, l.b.CreateSub(s[0], s[1])),
      OPERATION(v_subrev_u16, l.b.CreateSub(s[1], s[0])),
      OPERATION(v_add_i16, l.b.CreateAdd(s[0], s[1])),
      OPERATION(v_sub_i16, l.b.CreateSub(s[0], s[1])),
      OPERATION(v_mul_lo_u16, l.b.CreateMul(s[0], s[1])),
      OPERATION(v_mad_u16, l.b.CreateAdd(l.b.CreateMul(s[0], s[1]), s[2])),
      OPERATION(v_mad_i16, l.b.CreateAdd(l.b.CreateMul(s[0], s[1]), s[2])),
      OPERATION(v_mad_u32_u16, l.b.CreateAdd(l.b.CreateMul(s[0], s[1]), s[2])),
      OPERATION(v_mad_i32_i16, l.b.CreateAdd(l.b.CreateMul(s[0], s[1]), s[2])),
      OPERATION(v_min_i16, smaller(l, s[0], s[1], true)),
      OPERATION(v_max_i16, larger(l, s[0], s[1], true)),
      OPERATION(v_min_u16, smaller(l, s[0], s[1], false)),
      OPERATION(v_max_u16, larger(l, s[0], s[1], false)),
      OPERATION(v_lshlrev_b16, l.b.CreateShl(s[1], amount(l, s[0], 15))),
      OPERATION(v_lshrrev_b16, l.b.CreateLShr(s[1], amount(l, s[0], 15))),
      OPERATION(v_ashrrev_i16, l.b.CreateAShr(s[1], amount(l, s[0], 15))),
      OPERATION(v_mov_b16, s[0]),
      OPERATION(v_not_b16, l.b.CreateNot(s[0])),
      OPERATION(v_and_b16, l.b.CreateAnd(s[0], s[1])),
      OPERATION(v_or_b16, l.b.CreateOr(s[0], s[1])),
      OPERATION(v_xor_b16, l.b.CreateXor(s[0], s[1])),
      OPERATION(v_cndmask_b16, l.b.CreateSelect(s[2], s[1], s[0])),
      OPERATION(v_cvt_i32_i16, s[0]),
      OPERATION(v_cvt_u32_u16, s[0]),

      OPERATION(v_dual_mov_b32, s[0]),
      OPERATION(v_dual_and_b32, l.b.CreateAnd(s[0], s[1])),
      OPERATION(v_dual_add_nc_u32, l.b.CreateAdd(s[0], s[1])),
      OPERATION(v_dual_lshlrev_b32, shifted_left(l, s[1], s[0])),
      OPERATION(v_dual_cndmask_b32, l.b.CreateSelect(s[2], s[1], s[0])),

      COMPARE_INTEGERS(i16, S),
      COMPARE_INTEGERS(u16, U),
      COMPARE_INTEGERS(i32, S),
      COMPARE_INTEGERS(u32, U),
      COMPARE_INTEGERS(i64, S),
      COMPARE_INTEGERS(u64, U),
  };
  return table;
}

#define ADD(X, Y) l.arithmetic(l.b.CreateFAdd(X, Y), {X, Y})
#define SUB(X, Y) l.arithmetic(l.b.CreateFSub(X, Y), {X, Y})
#define MUL(X, Y) l.arithmetic(l.b.CreateFMul(X, Y), {X, Y})
#define MIN(X, Y) l.unless_nan({X, Y}, l.min_of(X, Y), [&] { return l.min_num(X, Y); })
#define MAX(X, Y) l.unless_nan({X, Y}, l.max_of(X, Y), [&] { return l.max_num(X, Y); })

#define MIN_NUMBER(X, Y)                                                                           \
  l.unless_nan({X, Y}, l.min_of(X, Y), [&] { return l.minimum_number(X, Y); })
#define MAX_NUMBER(X, Y)                                                                           \
  l.unless_nan({X, Y}, l.max_of(X, Y), [&] { return l.maximum_number(X, Y); })

const std::unordered_map<std::string_view, VectorOperation> &floats() {
  static const auto &table = *new std::unordered_map<std::string_view, VectorOperation>{
      // The operands of subrev are told apart where the result is NaN: the first one's wins.
      OPERATION(v_add_f32, ADD(s[0], s[1])),
      OPERATION(v_sub_f32, SUB(s[0], s[1])),
      OPERATION(v_subrev_f32, l.arithmetic(l.b.CreateFSub(s[1], s[0]), {s[0], s[1]})),
      OPERATION(v_mul_f32, MUL(s[0], s[1])),
      OPERATION(v_fma_f32, fma(l, s[0], s[1], s[2])),
      OPERATION(v_fmac_f32, fma(l, s[0], s[1], s[2])),
      OPERATION(v_fmamk_f32, fma(l, s[0], s[1], s[2])),
      OPERATION(v_fmaak_f32, fma(l, s[0], s[1], s[2])),
      OPERATION(v_min_f32, MIN(s[0], s[1])),
      OPERATION(v_max_f32, MAX(s[0], s[1])),
      OPERATION(v_min3_f32, l.unless_nan({s[0], s[1], s[2]}, l.min_of(l.min_of(s[0], s[1]), s[2]),
                                         [&] { return l.min_num(l.min_num(s[0], s[1]), s[2]); })),
      OPERATION(v_max3_f32, l.unless_nan({s[0], s[1], s[2]}, l.max_of(l.max_of(s[0], s[1]), s[2]),
                                         [&] { return l.max_num(l.max_num(s[0], s[1]), s[2]); })),
      OPERATION(v_fract_f32, fract(l, s[0])),
      OPERATION(v_trunc_f32, rounded(l, Intrinsic::trunc, s[0])),
      OPERATION(v_ceil_f32, rounded(l, Intrinsic::ceil, s[0])),
      OPERATION(v_floor_f32, rounded(l, Intrinsic::floor, s[0])),
      OPERATION(v_rndne_f32, rounded(l, Intrinsic::roundeven, s[0])),
      OPERATION(v_sqrt_f32, root(l, s[0])),
      OPERATION(v_rcp_f32, reciprocal(l, s[0])),
      OPERATION(v_rcp_iflag_f32, reciprocal(l, s[0])),
      OPERATION(v_rsq_f32, reciprocal_root(l, flushed(l, s[0]))),
      OPERATION(v_exp_f32, exp2_of(l, s[0])),
      OPERATION(v_log_f32, log2_of(l, s[0])),
      OPERATION(v_mad_f32, mad(l, s[0], s[1], s[2])),
      OPERATION(v_mac_f32, mad(l, s[0], s[1], s[2])),
      OPERATION(v_madmk_f32, mad(l, s[0], s[1], s[2])),
      OPERATION(v_madak_f32, mad(l, s[0], s[1], s[2])),
      OPERATION(v_min_num_f32, MIN_NUMBER(s[0], s[1])),
      OPERATION(v_max_num_f32, MAX_NUMBER(s[0], s[1])),
      OPERATION(v_min_num_f64, MIN_NUMBER(s[0], s[1])),
      OPERATION(v_max_num_f64, MAX_NUMBER(s[0], s[1])),
      OPERATION(v_ldexp_f32, ldexp(l, s[0], s[1])),

      OPERATION(v_dual_fmac_f32, fma(l, s[0], s[1], s[2])),
      OPERATION(v_dual_fmamk_f32, fma(l, s[0], s[1], s[2])),
      OPERATION(v_dual_fmaak_f32, fma(l, s[0], s[1], s[2])),
      OPERATION(v_dual_mul_f32, MUL(s[0], s[1])),
      OPERATION(v_dual_add_f32, ADD(s[0], s[1])),
      OPERATION(v_dual_sub_f32, SUB(s[0], s[1])),
      OPERATION(v_dual_subrev_f32, SUB(s[1], s[0])),

      OPERATION(v_add_f64, ADD(s[0], s[1])),
      OPERATION(v_mul_f64, MUL(s[0], s[1])),
      OPERATION(v_fma_f64, fma(l, s[0], s[1], s[2])),
      OPERATION(v_fmac_f64, fma(l, s[0], s[1], s[2])),
      OPERATION(v_min_f64, MIN(s[0], s[1])),
      OPERATION(v_max_f64, MAX(s[0], s[1])),
      OPERATION(v_fract_f64, fract(l, s[0])),
      OPERATION(v_trunc_f64, rounded(l, Intrinsic::trunc, s[0])),
      OPERATION(v_ceil_f64, rounded(l, Intrinsic::ceil, s[0])),
      OPERATION(v_floor_f64, rounded(l, Intrinsic::floor, s[0])),
      OPERATION(v_rndne_f64, rounded(l, Intrinsic::roundeven, s[0])),
      OPERATION(v_sqrt_f64, root(l, s[0])),
      OPERATION(v_rcp_f64, l.arithmetic(l.b.CreateFDiv(l.real(1, true), s[0]), {s[0]})),

      OPERATION(v_cvt_f32_i32, l.b.CreateSIToFP(s[0], l.type(Type::f32))),
      OPERATION(v_cvt_f32_u32, l.b.CreateUIToFP(s[0], l.type(Type::f32))),
      OPERATION(v_cvt_f64_i32, l.b.CreateSIToFP(s[0], l.type(Type::f64))),
      OPERATION(v_cvt_f64_u32, l.b.CreateUIToFP(s[0], l.type(Type::f64))),
      OPERATION(v_cvt_f32_f64, to_single(l, s[0])),
      OPERATION(v_cvt_f64_f32, to_double(l, s[0])),
      OPERATION(v_cvt_i32_f32, to_int(l, s[0], true)),
      OPERATION(v_cvt_u32_f32, to_int(l, s[0], false)),
      OPERATION(v_cvt_i32_f64, to_int(l, s[0], true)),
      OPERATION(v_cvt_u32_f64, to_int(l, s[0], false)),
      OPERATION(v_cvt_f32_ubyte0, byte_to_single(l, s[0], 0)),
      OPERATION(v_cvt_f32_ubyte1, byte_to_single(l, s[0], 1)),
      OPERATION(v_cvt_f32_ubyte2, byte_to_single(l, s[0], 2)),
      OPERATION(v_cvt_f32_ubyte3, byte_to_single(l, s[0], 3)),

      COMPARE_FLOATS(f32),
      COMPARE_FLOATS(f64),
  };
  return table;
}

} // namespace

VectorOperation find_vector_operation(std::string_view name) {
  for (const auto *table : {&integers(), &floats()})
    if (const auto found = table->find(name); found != table->end()) return found->second;
  return nullptr;
}

} // namespace fade::sim::jit
