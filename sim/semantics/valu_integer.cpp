// Vector instructions on integers and bits.
#include "semantics/opcodes.h"
#include "semantics/valu.h"

namespace fade::sim {
namespace {

using wide = __int128;

i32 sext24(u32 x) { return static_cast<i32>(x << 8) >> 8; }
u32 zext24(u32 x) { return x & 0xffffff; }

u32 difference(u32 a, u32 b) { return a > b ? a - b : b - a; }
u32 byte(u32 x, unsigned n) { return x >> 8 * n & 0xff; }

// Sums of absolute differences of bytes; `masked` leaves out bytes whose reference is zero.
u32 sad_bytes(u32 a, u32 b, bool masked) {
  u32 sum = 0;
  for (unsigned n = 0; n < 4; n++) {
    const u32 d = difference(byte(a, n), byte(b, n));
    sum += masked && byte(b, n) == 0 ? 0 : d;
  }
  return sum;
}
u32 sad_words(u32 a, u32 b) {
  return difference(a & 0xffff, b & 0xffff) + difference(a >> 16, b >> 16);
}
// Four sums over a window that slides by a byte, packed as four 16-bit accumulators.
u64 quad_sad(u64 a, u32 b, u64 c, bool masked, bool clamp) {
  u64 r = 0;
  for (unsigned n = 0; n < 4; n++) {
    const u32 sum =
        sad_bytes(static_cast<u32>(a >> 8 * n), b, masked) + static_cast<u32>(c >> 16 * n & 0xffff);
    r |= static_cast<u64>(clamp && sum > 0xffff ? 0xffff : sum & 0xffff) << 16 * n;
  }
  return r;
}

u32 lerp_bytes(u32 a, u32 b, u32 c) {
  u32 r = 0;
  for (unsigned n = 0; n < 4; n++) r |= (byte(a, n) + byte(b, n) + (byte(c, n) & 1)) >> 1 << 8 * n;
  return r;
}

// A selector byte: 0-7 a byte of the eight, 8-11 the sign of byte 1, 3, 5 or 7, 12 zero, above
// ones.
u32 permute_bytes(u32 a, u32 b, u32 sel) {
  u32 r = 0;
  for (unsigned n = 0; n < 4; n++) {
    const u32 s = byte(sel, n);
    const u32 picked = (s & 4 ? a : b) >> 8 * (s & 3) & 0xff;
    const u32 sign = (s & 2 ? a : b) >> (16 * (s & 1) + 15) & 1 ? 0xff : 0;
    r |= (s < 8 ? picked : s < 12 ? sign : s == 12 ? 0 : 0xff) << 8 * n;
  }
  return r;
}

u32 reverse_bits(u32 x) {
  x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
  x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
  x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
  return __builtin_bswap32(x);
}
i32 first_bit_high(u32 x) { return x ? std::countl_zero(x) : -1; }
i32 first_bit_low(u32 x) { return x ? std::countr_zero(x) : -1; }
i32 first_bit_signed(i32 x) { // first bit that differs from the sign
  return first_bit_high(static_cast<u32>(x < 0 ? ~x : x));
}

u32 bfe_unsigned(u32 x, u32 offset, u32 width) {
  return x >> (offset & 31) & ((1u << (width & 31)) - 1);
}
i32 bfe_signed(i32 x, u32 offset, u32 width) {
  const u32 n = width & 31, field = static_cast<u32>(x >> (offset & 31));
  return n ? static_cast<i32>(field << (32 - n)) >> (32 - n) : 0;
}

template <class T> T median(T a, T b, T c) {
  const T low = a < b ? a : b, high = a < b ? b : a;
  return c < low ? low : c > high ? high : c;
}
template <class T> T smaller(T a, T b) { return a < b ? a : b; }
template <class T> T larger(T a, T b) { return a < b ? b : a; }

// Without wider numbers, of which a vector of the host holds half as many.
Flagged<u32> add_carry(u32 a, u32 b, bool carry) {
  const u32 sum = a + b, r = sum + carry;
  return {r, sum < a || r < sum};
}
Flagged<u32> sub_borrow(u32 a, u32 b, bool borrow) {
  const u32 difference = a - b, r = difference - borrow;
  return {r, a < b || difference < r};
}
Flagged<u32> saturated_add(Flagged<u32> r) { return {r.flag ? 0xffffffff : r.value, r.flag}; }
Flagged<u32> saturated_sub(Flagged<u32> r) { return {r.flag ? 0 : r.value, r.flag}; }

Flagged<u64> mad_unsigned(u32 a, u32 b, u64 c) {
  const u64 product = static_cast<u64>(a) * b, r = product + c;
  return {r, r < c};
}
Flagged<i64> mad_signed(i32 a, i32 b, i64 c) {
  const i64 product = static_cast<i64>(a) * b;
  const i64 r = static_cast<i64>(static_cast<u64>(product) + static_cast<u64>(c));
  // The flag is bit 64 of the sum of the sign-extended operands.
  return {r, ((static_cast<wide>(product) + c) >> 64 & 1) != 0};
}

u32 saturated_pair(u32 a, u32 b) {
  return (a > 0xffff ? 0xffff : a) | (b > 0xffff ? 0xffff : b) << 16;
}
u32 saturated_pair(i32 a, i32 b) {
  return static_cast<u16>(saturate<i16>(a)) | static_cast<u32>(static_cast<u16>(saturate<i16>(b)))
                                                  << 16;
}
u32 saturated_byte(i16 x) { return x < 0 ? 0 : x > 255 ? 255 : static_cast<u32>(x); }

} // namespace

// An expression in i64, cut off to T; with the clamp bit it saturates instead.
#define CLAMPABLE(NAME, T, PARAMS, ...)                                                            \
  clamped<[] PARAMS { return saturate<T>(static_cast<i64>(__VA_ARGS__)); }>(                       \
      VALU(NAME, PARAMS, static_cast<T>(__VA_ARGS__)))

std::span<const Opcode> valu_integer_opcodes() {
  static constexpr Opcode table[] = {
      // 32 bits
      CLAMPABLE(v_add_u32, u32, (u32 a, u32 b), i64{a} + b),
      CLAMPABLE(v_sub_u32, u32, (u32 a, u32 b), i64{a} - b),
      CLAMPABLE(v_subrev_u32, u32, (u32 a, u32 b), i64{b} - a),
      CLAMPABLE(v_add_i32, i32, (i32 a, i32 b), i64{a} + b),
      CLAMPABLE(v_sub_i32, i32, (i32 a, i32 b), i64{a} - b),
      VALU(v_add3_u32, (u32 a, u32 b, u32 c), a + b + c),
      VALU(v_lshl_add_u32, (u32 a, u32 b, u32 c), (a << (b & 31)) + c),
      VALU(v_add_lshl_u32, (u32 a, u32 b, u32 c), (a + b) << (c & 31)),
      VALU(v_xad_u32, (u32 a, u32 b, u32 c), (a ^ b) + c),
      VALU(v_mul_lo_u32, (u32 a, u32 b), a * b),
      VALU(v_mul_hi_u32, (u32 a, u32 b), static_cast<u32>(u64{a} * b >> 32)),
      VALU(v_mul_hi_i32, (i32 a, i32 b), static_cast<i32>(i64{a} * b >> 32)),
      CLAMPABLE(v_mul_u32_u24, u32, (u32 a, u32 b), i64{zext24(a)} * zext24(b)),
      CLAMPABLE(v_mul_i32_i24, i32, (u32 a, u32 b), i64{sext24(a)} * sext24(b)),
      VALU(v_mul_hi_u32_u24, (u32 a, u32 b), static_cast<u32>(u64{zext24(a)} * zext24(b) >> 32)),
      VALU(v_mul_hi_i32_i24, (u32 a, u32 b), static_cast<i32>(i64{sext24(a)} * sext24(b) >> 32)),
      CLAMPABLE(v_mad_u32_u24, u32, (u32 a, u32 b, u32 c), i64{zext24(a)} * zext24(b) + c),
      CLAMPABLE(v_mad_i32_i24, i32, (u32 a, u32 b, i32 c), i64{sext24(a)} * sext24(b) + c),
      CLAMPABLE(v_mad_u32_u16, u32, (u16 a, u16 b, u32 c), i64{a} * b + c),
      CLAMPABLE(v_mad_i32_i16, i32, (i16 a, i16 b, i32 c), i64{a} * b + c),
      VALU(v_min_i32, (i32 a, i32 b), smaller(a, b)),
      VALU(v_max_i32, (i32 a, i32 b), larger(a, b)),
      VALU(v_min_u32, (u32 a, u32 b), smaller(a, b)),
      VALU(v_max_u32, (u32 a, u32 b), larger(a, b)),
      VALU(v_min3_i32, (i32 a, i32 b, i32 c), smaller(smaller(a, b), c)),
      VALU(v_max3_i32, (i32 a, i32 b, i32 c), larger(larger(a, b), c)),
      VALU(v_med3_i32, (i32 a, i32 b, i32 c), median(a, b, c)),
      VALU(v_min3_u32, (u32 a, u32 b, u32 c), smaller(smaller(a, b), c)),
      VALU(v_max3_u32, (u32 a, u32 b, u32 c), larger(larger(a, b), c)),
      VALU(v_med3_u32, (u32 a, u32 b, u32 c), median(a, b, c)),
      VALU(v_maxmin_i32, (i32 a, i32 b, i32 c), smaller(larger(a, b), c)),
      VALU(v_minmax_i32, (i32 a, i32 b, i32 c), larger(smaller(a, b), c)),
      VALU(v_maxmin_u32, (u32 a, u32 b, u32 c), smaller(larger(a, b), c)),
      VALU(v_minmax_u32, (u32 a, u32 b, u32 c), larger(smaller(a, b), c)),

      // Carries
      clamped<[](u32 a, u32 b) { return saturated_add(add_carry(a, b, false)); }>(
          VALU(v_add_co_u32, (u32 a, u32 b), add_carry(a, b, false))),
      clamped<[](u32 a, u32 b) { return saturated_sub(sub_borrow(a, b, false)); }>(
          VALU(v_sub_co_u32, (u32 a, u32 b), sub_borrow(a, b, false))),
      clamped<[](u32 a, u32 b) { return saturated_sub(sub_borrow(b, a, false)); }>(
          VALU(v_subrev_co_u32, (u32 a, u32 b), sub_borrow(b, a, false))),
      clamped<[](u32 a, u32 b, bool c) { return saturated_add(add_carry(a, b, c)); }>(
          VALU(v_addc_co_u32, (u32 a, u32 b, bool c), add_carry(a, b, c))),
      clamped<[](u32 a, u32 b, bool c) { return saturated_sub(sub_borrow(a, b, c)); }>(
          VALU(v_subb_co_u32, (u32 a, u32 b, bool c), sub_borrow(a, b, c))),
      clamped<[](u32 a, u32 b, bool c) { return saturated_sub(sub_borrow(b, a, c)); }>(
          VALU(v_subbrev_co_u32, (u32 a, u32 b, bool c), sub_borrow(b, a, c))),

      // Bits
      VALU(v_mov_b32, (u32 a), a),
      VALU(v_not_b32, (u32 a), ~a),
      VALU(v_and_b32, (u32 a, u32 b), a & b),
      VALU(v_or_b32, (u32 a, u32 b), a | b),
      VALU(v_xor_b32, (u32 a, u32 b), a ^ b),
      VALU(v_xnor_b32, (u32 a, u32 b), ~(a ^ b)),
      VALU(v_and_or_b32, (u32 a, u32 b, u32 c), (a & b) | c),
      VALU(v_lshl_or_b32, (u32 a, u32 b, u32 c), (a << (b & 31)) | c),
      VALU(v_or3_b32, (u32 a, u32 b, u32 c), a | b | c),
      VALU(v_xor3_b32, (u32 a, u32 b, u32 c), a ^ b ^ c),
      VALU(v_lshlrev_b32, (u32 a, u32 b), b << (a & 31)),
      VALU(v_lshrrev_b32, (u32 a, u32 b), b >> (a & 31)),
      VALU(v_ashrrev_i32, (u32 a, i32 b), b >> (a & 31)),
      VALU(v_bfe_u32, (u32 a, u32 b, u32 c), bfe_unsigned(a, b, c)),
      VALU(v_bfe_i32, (i32 a, u32 b, u32 c), bfe_signed(a, b, c)),
      VALU(v_bfi_b32, (u32 a, u32 b, u32 c), (a & b) | (~a & c)),
      VALU(v_bfm_b32, (u32 a, u32 b), ((1u << (a & 31)) - 1) << (b & 31)),
      VALU(v_bfrev_b32, (u32 a), reverse_bits(a)),
      VALU(v_ffbh_u32, (u32 a), first_bit_high(a)),
      VALU(v_ffbh_i32, (i32 a), first_bit_signed(a)),
      VALU(v_ffbl_b32, (u32 a), first_bit_low(a)),
      VALU(v_bcnt_u32_b32, (u32 a, u32 b), static_cast<u32>(std::popcount(a)) + b),
      VALU(v_alignbit_b32, (u32 a, u32 b, u32 c), static_cast<u32>((u64{a} << 32 | b) >> (c & 31))),
      VALU(v_alignbyte_b32, (u32 a, u32 b, u32 c),
           static_cast<u32>((u64{a} << 32 | b) >> 8 * (c & 3))),
      VALU(v_perm_b32, (u32 a, u32 b, u32 c), permute_bytes(a, b, c)),
      VALU(v_cndmask_b32, (u32 a, u32 b, bool c), c ? b : a),
      VALU(v_mbcnt_lo_u32_b32, (u32 a, u32 b, Lane l),
           static_cast<u32>(std::popcount(a & (l.number < 32 ? (1u << l.number) - 1 : ~0u))) + b),
      VALU(v_mbcnt_hi_u32_b32, (u32 a, u32 b, Lane l),
           static_cast<u32>(std::popcount(a & (l.number < 32 ? 0u : (1u << (l.number - 32)) - 1))) +
               b),

      // 64 bits
      VALU(v_mov_b64, (u64 a), a),
      VALU(v_lshl_add_u64, (u64 a, u32 b, u64 c), (a << (b & 7)) + c),
      VALU(v_lshlrev_b64, (u32 a, u64 b), b << (a & 63)),
      VALU(v_lshrrev_b64, (u32 a, u64 b), b >> (a & 63)),
      VALU(v_ashrrev_i64, (u32 a, i64 b), b >> (a & 63)),
      clamped<[](u32 a, u32 b, u64 c) {
        const Flagged<u64> r = mad_unsigned(a, b, c);
        return Flagged<u64>{r.flag ? ~0ull : r.value, r.flag};
      }>(VALU(v_mad_u64_u32, (u32 a, u32 b, u64 c), mad_unsigned(a, b, c))),
      clamped<[](i32 a, i32 b, i64 c) {
        return Flagged<i64>{saturate<i64>(static_cast<wide>(i64{a} * b) + c),
                            mad_signed(a, b, c).flag};
      }>(VALU(v_mad_i64_i32, (i32 a, i32 b, i64 c), mad_signed(a, b, c))),

      // 16 bits
      CLAMPABLE(v_add_u16, u16, (u16 a, u16 b), i64{a} + b),
      CLAMPABLE(v_sub_u16, u16, (u16 a, u16 b), i64{a} - b),
      CLAMPABLE(v_subrev_u16, u16, (u16 a, u16 b), i64{b} - a),
      preserve(CLAMPABLE(v_add_i16, i16, (i16 a, i16 b), i64{a} + b)),
      preserve(CLAMPABLE(v_sub_i16, i16, (i16 a, i16 b), i64{a} - b)),
      CLAMPABLE(v_mul_lo_u16, u16, (u16 a, u16 b), i64{a} * b),
      preserve(CLAMPABLE(v_mad_u16, u16, (u16 a, u16 b, u16 c), i64{a} * b + c)),
      preserve(CLAMPABLE(v_mad_i16, i16, (i16 a, i16 b, i16 c), i64{a} * b + c)),
      CLAMPABLE(v_mad_legacy_u16, u16, (u16 a, u16 b, u16 c), i64{a} * b + c),
      CLAMPABLE(v_mad_legacy_i16, i16, (i16 a, i16 b, i16 c), i64{a} * b + c),
      VALU(v_min_i16, (i16 a, i16 b), smaller(a, b)),
      VALU(v_max_i16, (i16 a, i16 b), larger(a, b)),
      VALU(v_min_u16, (u16 a, u16 b), smaller(a, b)),
      VALU(v_max_u16, (u16 a, u16 b), larger(a, b)),
      preserve(VALU(v_min3_i16, (i16 a, i16 b, i16 c), smaller(smaller(a, b), c))),
      preserve(VALU(v_max3_i16, (i16 a, i16 b, i16 c), larger(larger(a, b), c))),
      preserve(VALU(v_med3_i16, (i16 a, i16 b, i16 c), median(a, b, c))),
      preserve(VALU(v_min3_u16, (u16 a, u16 b, u16 c), smaller(smaller(a, b), c))),
      preserve(VALU(v_max3_u16, (u16 a, u16 b, u16 c), larger(larger(a, b), c))),
      preserve(VALU(v_med3_u16, (u16 a, u16 b, u16 c), median(a, b, c))),
      VALU(v_lshlrev_b16, (u16 a, u16 b), static_cast<u16>(b << (a & 15))),
      VALU(v_lshrrev_b16, (u16 a, u16 b), static_cast<u16>(b >> (a & 15))),
      VALU(v_ashrrev_i16, (u16 a, i16 b), static_cast<i16>(b >> (a & 15))),
      VALU(v_mov_b16, (u16 a), a),
      VALU(v_not_b16, (u16 a), static_cast<u16>(~a)),
      VALU(v_and_b16, (u16 a, u16 b), static_cast<u16>(a & b)),
      VALU(v_or_b16, (u16 a, u16 b), static_cast<u16>(a | b)),
      VALU(v_xor_b16, (u16 a, u16 b), static_cast<u16>(a ^ b)),
      VALU(v_cndmask_b16, (u16 a, u16 b, bool c), c ? b : a),
      VALU(v_cvt_i32_i16, (i16 a), i32{a}),
      VALU(v_cvt_u32_u16, (u16 a), u32{a}),
      VALU(v_cvt_pk_u16_u32, (u32 a, u32 b), saturated_pair(a, b)),
      VALU(v_cvt_pk_i16_i32, (i32 a, i32 b), saturated_pair(a, b)),
      VALU(v_sat_pk_u8_i16, (u32 a),
           static_cast<u16>(saturated_byte(static_cast<i16>(a)) |
                            saturated_byte(static_cast<i16>(a >> 16)) << 8)),

      // Sums of absolute differences
      CLAMPABLE(v_sad_u8, u32, (u32 a, u32 b, u32 c), i64{sad_bytes(a, b, false)} + c),
      CLAMPABLE(v_msad_u8, u32, (u32 a, u32 b, u32 c), i64{sad_bytes(a, b, true)} + c),
      CLAMPABLE(v_sad_hi_u8, u32, (u32 a, u32 b, u32 c), (i64{sad_bytes(a, b, false)} << 16) + c),
      CLAMPABLE(v_sad_u16, u32, (u32 a, u32 b, u32 c), i64{sad_words(a, b)} + c),
      CLAMPABLE(v_sad_u32, u32, (u32 a, u32 b, u32 c), i64{difference(a, b)} + c),
      clamped<[](u64 a, u32 b, u64 c) { return quad_sad(a, b, c, false, true); }>(
          VALU(v_qsad_pk_u16_u8, (u64 a, u32 b, u64 c), quad_sad(a, b, c, false, false))),
      clamped<[](u64 a, u32 b, u64 c) { return quad_sad(a, b, c, true, true); }>(
          VALU(v_mqsad_pk_u16_u8, (u64 a, u32 b, u64 c), quad_sad(a, b, c, true, false))),
      VALU(v_lerp_u8, (u32 a, u32 b, u32 c), lerp_bytes(a, b, c)),
  };
  return table;
}

} // namespace fade::sim
