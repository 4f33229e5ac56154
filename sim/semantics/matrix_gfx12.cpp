// Matrix instructions of gfx12: WMMA, and SWMMAC with a sparse A. D = A * B + C, spread over the
// registers of the whole wave; EXEC does not matter. No element is held twice, unlike on gfx11.
//
// Where an element is: "Matrix Element Storage in VGPRs" of the RDNA4 manual, and AMD's matrix
// instruction calculator, which has the formulas for sparse matrices. Sums are built one k after
// the other in f32, as for other matrix instructions; hardware's order is not documented.
#include "semantics/matrix_gfx12.h"

#include "semantics/matrix_product.h"
#include "semantics/opcodes.h"
#include "semantics/small_float.h"
#include "semantics/valu.h"

namespace fade::sim {
namespace {

// Where the elements of A's column k and of B's row k are: for row or column i, in lane `lane` + i.
struct Spot {
  u8 lane, reg, bit;
};
constexpr Spot at(unsigned lane, unsigned reg, unsigned bit) {
  return {static_cast<u8>(lane), static_cast<u8>(reg), static_cast<u8>(bit)};
}

template <unsigned Width, unsigned K> constexpr Spot dense_spot(unsigned lanes, unsigned k) {
  const unsigned bit = Width * (k % (32 / Width));
  if (lanes == 32) {
    if (Width == 16) return at(16 * (k / 4 % 2), 2 * (k / 8) + k / 2 % 2, bit);
    if (Width == 8) return at(16 * (k / 8), k / 4 % 2, bit);
    return K == 16 ? at(16 * (k / 8), 0, bit) : at(16 * (k / 16), k / 8 % 2, bit);
  }
  if (Width == 16) return at(32 * (k / 8 % 2) + 16 * (k / 4 % 2), k / 2 % 2, bit);
  if (Width == 8) return at(32 * (k / 4 % 2) + 16 * (k / 8 % 2), 0, bit);
  if (K == 16) return at(16 * (k / 8), 0, bit); // half of the wave
  return at(32 * (k / 8 % 2) + 16 * (k / 16 % 2), 0, bit);
}

// B beside a sparse A, which is twice as long.
template <unsigned Width, unsigned K> constexpr Spot long_spot(unsigned lanes, unsigned k) {
  const unsigned bit = Width * (k % (32 / Width));
  if (lanes == 32) {
    if (Width == 16) return at(16 * (k / 8 % 2), 4 * (k / 16) + k / 2 % 4, bit);
    if (Width == 8) return at(16 * (k / 16), k / 4 % 4, bit);
    return K == 32 ? at(16 * (k / 16), k / 8 % 2, bit) : at(16 * (k / 32), k / 8 % 4, bit);
  }
  if (Width == 16) return at(16 * (k / 8), k / 2 % 4, bit);
  if (Width == 8) return at(32 * (k / 8 % 2) + 16 * (k / 16), k / 4 % 2, bit);
  if (K == 32) return at(32 * (k / 8 % 2) + 16 * (k / 16), 0, bit);
  return at(32 * (k / 16 % 2) + 16 * (k / 32), k / 8 % 2, bit);
}

// Of a sparse A, the two elements that stand for columns k to k + 3 lie side by side.
template <unsigned Width, unsigned K> constexpr Spot sparse_spot(unsigned lanes, unsigned k) {
  const unsigned bit = Width == 16 ? 0 : 2 * Width * (k / 4 % (16 / Width));
  if (lanes == 32) {
    if (Width == 16) return at(16 * (k / 8 % 2), 2 * (k / 16) + k / 4 % 2, bit);
    if (Width == 8) return at(16 * (k / 16), k / 8 % 2, bit);
    return K == 32 ? at(16 * (k / 16), 0, bit) : at(16 * (k / 32), k / 16 % 2, bit);
  }
  if (Width == 16) return at(16 * (k / 8), k / 4 % 2, bit);
  if (Width == 8) return at(32 * (k / 8 % 2) + 16 * (k / 16), 0, bit);
  if (K == 32) return at(16 * (k / 16), 0, bit);
  return at(32 * (k / 16 % 2) + 16 * (k / 32), 0, bit);
}
// The bits of the lane's index register that say which of the four they are, in the first set.
template <unsigned Width, unsigned K> constexpr unsigned index_bit(unsigned lanes, unsigned k) {
  if (lanes == 32) {
    if (Width == 16) return 8 * (k / 16) + 4 * (k / 4 % 2);
    return 4 * (k / 4 % (Width == 8 || K == 32 ? 4 : 8));
  }
  return 4 * (k / 4 % (Width == 4 ? 4 : 2));
}
template <unsigned Width, unsigned K> constexpr unsigned index_sets(unsigned lanes) {
  if (lanes == 32) return Width == 4 && K == 64 ? 1 : 2;
  return Width == 4 ? 2 : 4;
}

// Rows of C and D: eight (four in wave64) follow each other in the registers of a lane.
constexpr unsigned result_lane(unsigned lanes, unsigned row) {
  return 16 * (row / 8) + (lanes == 64 ? 32 * (row / 4 % 2) : 0);
}
constexpr unsigned result_register(unsigned lanes, unsigned row) {
  return row % (lanes == 64 ? 4 : 8);
}

// Formats: how wide an element is, and the value of the one that begins at `bit` of a word.
template <class T> struct Format12;
template <> struct Format12<f16> {
  static constexpr unsigned width = 16;
  static f32 value(u32 word, unsigned bit) { return to_f32(as_f16(word >> bit & 0xffff)); }
};
template <> struct Format12<bf16> {
  static constexpr unsigned width = 16;
  static f32 value(u32 word, unsigned bit) {
    return to_f32(bf16{static_cast<u16>(word >> bit & 0xffff)});
  }
};
template <const SmallFormat &F> struct Small12 {
  static constexpr unsigned width = 8;
  static f32 value(u32 word, unsigned bit) { return widen_upper<F>(word << (24 - bit)); }
  // The same of numbers that are finite.
  static f32 finite(u32 word, unsigned bit) { return widen_upper<F, false>(word << (24 - bit)); }
  static u32 specials(u32 word) { return special_bytes<F>(word); }
};
struct Fp8 {};
struct Bf8 {};
template <> struct Format12<Fp8> : Small12<ocp_fp8> {};
template <> struct Format12<Bf8> : Small12<ocp_bf8> {};

// Elements of source s, which begin at `bit` of a word: floats with the sign that NEG and NEG_HI
// give to even and odd ones, integers signed or not, as NEG says.
template <class T> struct Floats {
  using Value = f32;
  using Format = Format12<T>;
  static constexpr unsigned width = Format::width;
  static bool modifier(const Instruction &in, unsigned s, unsigned bit) {
    return width == 16 && (bit ? in.neg_hi : in.neg_lo) >> s & 1;
  }
  static f32 get(bool negate, unsigned bit, u32 word) {
    const f32 v = Format::value(word, bit);
    return negate ? negated(v) : v;
  }
};
template <unsigned Width> struct Integers {
  using Value = i32;
  static constexpr unsigned width = Width;
  static bool modifier(const Instruction &in, unsigned s, unsigned) { return in.neg_lo >> s & 1; }
  static f32 get(bool is_signed, unsigned bit, u32 word) {
    const u32 upper = word << (32 - Width - bit);
    return static_cast<f32>(is_signed ? static_cast<i32>(upper) >> (32 - Width)
                                      : static_cast<i32>(upper >> (32 - Width)));
  }
};

// Integers, too, are multiplied and summed as f32: at most 64 products of 16 bits are exact there.
template <class E, unsigned K>
void load_operand12(const Wave &w, const Instruction &in, unsigned s, bool is_long,
                    f32 (&out)[K][16]) {
  constexpr unsigned per_word = 32 / E::width;
  for (unsigned k = 0; k < K; k += per_word) {
    const Spot spot =
        is_long ? long_spot<E::width, K>(w.lanes, k) : dense_spot<E::width, K>(w.lanes, k);
    const u32 *row = w.vgpr[in.src[s].index + spot.reg] + spot.lane;
    if constexpr (requires { E::Format::finite; }) {
      u32 specials = 0;
      for (unsigned i = 0; i < 16; i++) specials |= E::Format::specials(row[i]);
      if (!specials) {
#pragma GCC unroll 8
        for (unsigned n = 0; n < per_word; n++)
          for (unsigned i = 0; i < 16; i++) out[k + n][i] = E::Format::finite(row[i], 8 * n);
        continue;
      }
    }
#pragma GCC unroll 8 // so that shifts are constants
    for (unsigned n = 0; n < per_word; n++) {
      const unsigned bit = n * E::width;
      if (E::modifier(in, s, bit)) // outside of the loop: what it means is not asked 16 times
        for (unsigned i = 0; i < 16; i++) out[k + n][i] = E::get(true, bit, row[i]);
      else
        for (unsigned i = 0; i < 16; i++) out[k + n][i] = E::get(false, bit, row[i]);
    }
  }
}

template <class Out> u32 constant_addend(const Wave &w, const Operand &o) {
  if constexpr (std::is_same_v<Out, f16>) return static_cast<u32>(scalar_value(w, o, Type::f16));
  const auto v =
      static_cast<u32>(scalar_value(w, o, std::is_same_v<Out, i32> ? Type::i32 : Type::f32));
  return std::is_same_v<Out, bf16> ? v >> 16 : v;
}

template <class Out>
constexpr bool is_narrow = std::is_same_v<Out, f16> || std::is_same_v<Out, bf16>;

template <class Out> auto widened(u32 b) {
  if constexpr (std::is_same_v<Out, i32>)
    return static_cast<i32>(b);
  else if constexpr (std::is_same_v<Out, f32>)
    return as_f32(b);
  else
    return Format12<Out>::value(b, 0);
}
// A sum as it is stored. Integers: that of the products, to which the addend comes now.
template <class Out, class Value> u32 narrowed(f32 v, [[maybe_unused]] Value c, bool clamp) {
  if constexpr (std::is_same_v<Out, i32>) {
    const i32 products = static_cast<i32>(v);
    const u32 sum = static_cast<u32>(products) + static_cast<u32>(c);
    const bool overflows =
        static_cast<i32>((sum ^ static_cast<u32>(c)) & (sum ^ static_cast<u32>(products))) < 0;
    return clamp && overflows ? static_cast<u32>(c >> 31) ^ 0x7fffffffu : sum;
  } else {
    const f32 r = is_nan(v) ? default_nan<f32>() : v; // which NaN is not documented
    if constexpr (std::is_same_v<Out, f32>) return bits(r);
    if constexpr (std::is_same_v<Out, f16>) return to_f16(r).bits;
    if constexpr (std::is_same_v<Out, bf16>) return to_bf16(r).bits;
  }
}

// What sums begin with.
template <class Out, class Value> f32 first_of([[maybe_unused]] Value c) {
  if constexpr (std::is_same_v<Out, i32>)
    return 0;
  else
    return c;
}

template <class Out, class Value>
void store_results(Wave &w, const Instruction &in, const f32 (&d)[16][16],
                   const Value (&c)[16][16]) {
  const bool clamp = in.clamp;
  for (unsigned i = 0; i < 16; i++) {
    const unsigned reg = result_register(w.lanes, i), half = 16 * (reg % 2);
    u32 *to = w.vgpr[in.dst.index + (is_narrow<Out> ? reg / 2 : reg)] + result_lane(w.lanes, i);
    for (unsigned j = 0; j < 16; j++) {
      const u32 result = narrowed<Out>(d[i][j], c[i][j], clamp);
      to[j] = is_narrow<Out> ? (to[j] & ~(0xffffu << half)) | result << half : result;
    }
  }
}
// A matrix like D in `o`, from where it is.
template <class Out, class Value>
void load_results(const Wave &w, const Operand &o, Value (&c)[16][16]) {
  for (unsigned i = 0; i < 16; i++) {
    const unsigned reg = result_register(w.lanes, i), half = 16 * (reg % 2);
    const u32 *from = w.vgpr[o.index + (is_narrow<Out> ? reg / 2 : reg)] + result_lane(w.lanes, i);
    for (unsigned j = 0; j < 16; j++)
      c[i][j] = widened<Out>(is_narrow<Out> ? from[j] >> half & 0xffff : from[j]);
  }
}

template <class A, class B, class Out, unsigned K> void run_wmma12(Wave &w, const Instruction &in) {
  using Value = typename A::Value;
  f32 a[K][16], b[K][16], d[16][16];
  Value c[16][16];
  load_operand12<A>(w, in, 0, false, a);
  load_operand12<B>(w, in, 1, false, b);
  if (in.src[2].is_vgpr())
    load_results<Out>(w, in.src[2], c);
  else
    for (auto &row : c)
      for (Value &x : row) x = widened<Out>(constant_addend<Out>(w, in.src[2]));
  const bool absolute = in.neg_hi & 4, negative = in.neg_lo & 4;
  for (unsigned i = 0; i < 16; i++)
    for (unsigned j = 0; j < 16; j++) {
      if constexpr (std::is_same_v<Value, f32>) {
        const f32 x = absolute ? magnitude(c[i][j]) : c[i][j];
        c[i][j] = negative ? negated(x) : x;
      }
      d[i][j] = first_of<Out>(c[i][j]);
    }
  using V = RowVector<f32, 16>;
  multiply_rows<16, 16, K>(
      a, b, [&](unsigned i, unsigned j) { return load_vector<V>(&d[i][j]); },
      [&](unsigned i, unsigned j, V sum) { store_vector(&d[i][j], sum); });
  store_results<Out>(w, in, d, c);
}

// D += A * B. Of each four neighbours in a row of A two are stored, and two numbers of two bits say
// which: the first one is not the last of the four, the second one not the first.
template <class A, class B, class Out, unsigned K> void run_swmmac(Wave &w, const Instruction &in) {
  using Value = typename A::Value;
  constexpr unsigned width = A::width;
  f32 b[K][16], d[16][16];
  Value c[16][16];
  load_operand12<B>(w, in, 1, true, b);
  const unsigned sets = index_sets<width, K>(w.lanes);
  const unsigned set = (in.op_sel & 3) % sets * (32 / sets);
  const u32 *index = w.vgpr[in.src[2].index];
  load_results<Out>(w, in.dst, c);
  for (unsigned i = 0; i < 16; i++) {
    f32 row[16];
    for (unsigned j = 0; j < 16; j++) row[j] = first_of<Out>(c[i][j]);
    for (unsigned k = 0; k < K; k += 4) {
      const Spot spot = sparse_spot<width, K>(w.lanes, k);
      const unsigned lane = spot.lane + i;
      const u32 word = w.vgpr[in.src[0].index + spot.reg][lane];
      const u32 which = index[lane] >> (set + index_bit<width, K>(w.lanes, k));
      const unsigned first = which & 3, second = which >> 2 & 3;
      const f32 v[2] = {A::get(A::modifier(in, 0, spot.bit), spot.bit, word),
                        A::get(A::modifier(in, 0, spot.bit + width), spot.bit + width, word)};
      if (first != 3)
        for (unsigned j = 0; j < 16; j++) row[j] = __builtin_fmaf(v[0], b[k + first][j], row[j]);
      if (second != 0 && second != first)
        for (unsigned j = 0; j < 16; j++) row[j] = __builtin_fmaf(v[1], b[k + second][j], row[j]);
    }
    for (unsigned j = 0; j < 16; j++) d[i][j] = row[j];
  }
  store_results<Out>(w, in, d, c);
}

constexpr Opcode matrix12(const char *name, Handler run) { return {name, run, ExecClass::mfma}; }

} // namespace

void run_wmma12_f32_f16(Wave &w, const Instruction &in) {
  run_wmma12<Floats<f16>, Floats<f16>, f32, 16>(w, in);
}
void run_wmma12_f32_bf16(Wave &w, const Instruction &in) {
  run_wmma12<Floats<bf16>, Floats<bf16>, f32, 16>(w, in);
}
void run_wmma12_f16_f16(Wave &w, const Instruction &in) {
  run_wmma12<Floats<f16>, Floats<f16>, f16, 16>(w, in);
}
void run_wmma12_bf16_bf16(Wave &w, const Instruction &in) {
  run_wmma12<Floats<bf16>, Floats<bf16>, bf16, 16>(w, in);
}
void run_wmma12_i32_iu8(Wave &w, const Instruction &in) {
  run_wmma12<Integers<8>, Integers<8>, i32, 16>(w, in);
}
void run_wmma12_i32_iu4(Wave &w, const Instruction &in) {
  run_wmma12<Integers<4>, Integers<4>, i32, 16>(w, in);
}

#define WMMA8(NAME, A, B)                                                                          \
  matrix12("v_wmma_f32_16x16x16_" NAME, run_wmma12<Floats<A>, Floats<B>, f32, 16>)
#define SWMMAC(NAME, A, B, OUT, K) matrix12("v_swmmac_" NAME, run_swmmac<A, B, OUT, K>)

std::span<const Opcode> matrix_gfx12_opcodes() {
  static constexpr Opcode table[] = {
      WMMA8("fp8_fp8", Fp8, Fp8),
      WMMA8("fp8_bf8", Fp8, Bf8),
      WMMA8("bf8_fp8", Bf8, Fp8),
      WMMA8("bf8_bf8", Bf8, Bf8),
      matrix12("v_wmma_i32_16x16x32_iu4", run_wmma12<Integers<4>, Integers<4>, i32, 32>),
      SWMMAC("f32_16x16x32_f16", Floats<f16>, Floats<f16>, f32, 32),
      SWMMAC("f32_16x16x32_bf16", Floats<bf16>, Floats<bf16>, f32, 32),
      SWMMAC("f16_16x16x32_f16", Floats<f16>, Floats<f16>, f16, 32),
      SWMMAC("bf16_16x16x32_bf16", Floats<bf16>, Floats<bf16>, bf16, 32),
      SWMMAC("i32_16x16x32_iu8", Integers<8>, Integers<8>, i32, 32),
      SWMMAC("i32_16x16x32_iu4", Integers<4>, Integers<4>, i32, 32),
      SWMMAC("i32_16x16x64_iu4", Integers<4>, Integers<4>, i32, 64),
      SWMMAC("f32_16x16x32_fp8_fp8", Floats<Fp8>, Floats<Fp8>, f32, 32),
      SWMMAC("f32_16x16x32_fp8_bf8", Floats<Fp8>, Floats<Bf8>, f32, 32),
      SWMMAC("f32_16x16x32_bf8_fp8", Floats<Bf8>, Floats<Fp8>, f32, 32),
      SWMMAC("f32_16x16x32_bf8_bf8", Floats<Bf8>, Floats<Bf8>, f32, 32),
  };
  return table;
}

} // namespace fade::sim
