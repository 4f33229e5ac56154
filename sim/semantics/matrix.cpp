// Matrix instructions: MFMA (also of sparse matrices) of gfx90a and gfx942, WMMA of gfx11. Small
// matrices, D = A * B + C, are spread over the registers of the whole wave; EXEC does not matter.
//
// Sums are built one k after the other with fused multiply-adds in the accumulator's type. The
// hardware's order of additions is not documented, so the last bits of f16, bf16 and 8-bit products
// may differ from a real GPU's.
#include "semantics/valu.h"

#include "semantics/fp8.h"
#include "semantics/matrix_gfx12.h"
#include "semantics/matrix_product.h"
#include "semantics/opcodes.h"
#include "semantics/small_float.h"

namespace fade::sim {
namespace {

struct xf32 { // an f32 of which the multiplier sees 10 digits
  u32 bits = 0;
};

// How an element is stored, and what it is multiplied as.
template <class T> struct Element;
template <> struct Element<f64> {
  static constexpr unsigned width = 64;
  static f64 value(u64 b) { return as_f64(b); }
};
template <> struct Element<f32> {
  static constexpr unsigned width = 32;
  static f32 value(u64 b) { return as_f32(static_cast<u32>(b)); }
};
template <> struct Element<xf32> {
  static constexpr unsigned width = 32;
  static f32 value(u64 b) {
    const u32 v = static_cast<u32>(b);
    if (is_nan(as_f32(v))) return as_f32(v);
    return as_f32((v + 0xfff + (v >> 13 & 1)) & ~0x1fffu);
  }
};
template <> struct Element<f16> {
  static constexpr unsigned width = 16;
  static f32 value(u64 b) { return to_f32(as_f16(static_cast<u32>(b))); }
};
template <> struct Element<bf16> {
  static constexpr unsigned width = 16;
  static f32 value(u64 b) { return to_f32(bf16{static_cast<u16>(b)}); }
};
template <> struct Element<fp8> {
  static constexpr unsigned width = 8;
  static f32 value(u64 b) { return widen_small_float<fp8>(static_cast<u32>(b)); }
};
template <> struct Element<bf8> {
  static constexpr unsigned width = 8;
  static f32 value(u64 b) { return widen_small_float<bf8>(static_cast<u32>(b)); }
};
struct OcpFp8 {};
struct OcpBf8 {};
template <> struct Element<OcpFp8> {
  static constexpr unsigned width = 8;
  static f32 value(u64 b) { return widen_small<ocp_fp8>(static_cast<u32>(b)); }
};
template <> struct Element<OcpBf8> {
  static constexpr unsigned width = 8;
  static f32 value(u64 b) { return widen_small<ocp_bf8>(static_cast<u32>(b)); }
};
// What gfx950 takes the 8-bit formats of gfx942 for.
template <class T> struct OcpOf { using Format = T; };
template <> struct OcpOf<fp8> { using Format = OcpFp8; };
template <> struct OcpOf<bf8> { using Format = OcpBf8; };
template <class T> using Ocp = typename OcpOf<T>::Format;

template <> struct Element<i8> {
  static constexpr unsigned width = 8;
  static i32 value(u64 b) { return static_cast<i8>(b); }
};

template <class T> T multiply_add(T a, T b, T c) {
  if constexpr (std::is_same_v<T, i32>)
    return static_cast<i32>(static_cast<u32>(a) * static_cast<u32>(b) + static_cast<u32>(c));
  else if constexpr (sizeof(T) == 8)
    return __builtin_fma(a, b, c);
  else
    return __builtin_fmaf(a, b, c);
}

// Which NaN comes out of a sum is not documented; it is always the same one here.
template <class T> T one_nan(T sum) {
  if constexpr (!std::is_same_v<T, i32>)
    if (is_nan(sum)) return default_nan<T>();
  return sum;
}

// What products of elements are summed in. Sums of products of 8 bits are exact in f32, up to 1,023
// of them.
template <class Acc> using Sum = std::conditional_t<std::is_same_v<Acc, i32>, f32, Acc>;

// One block: D += A * B, with A given column by column.
template <class Acc, unsigned M, unsigned N, unsigned K>
void multiply(const Acc (&a)[K][M], const Acc (&b)[K][N], Acc (&d)[M][N]) {
  using V = RowVector<Acc, N>;
  multiply_rows<M, N, K>(
      a, b, [&](unsigned i, unsigned j) { return load_vector<V>(&d[i][j]); },
      [&](unsigned i, unsigned j, V sum) { store_vector(&d[i][j], with_one_nan<Acc>(sum)); });
}

// The bits of element `e` of a lane, elements lying one after the other in consecutive registers.
template <unsigned Width>
u64 element_bits(const Wave &w, const Operand &o, unsigned lane, unsigned e) {
  if constexpr (Width == 64)
    return u64{w.vgpr[o.index + 2 * e + 1][lane]} << 32 | w.vgpr[o.index + 2 * e][lane];
  else {
    const unsigned per_word = 32 / Width;
    return w.vgpr[o.index + e / per_word][lane] >> Width * (e % per_word) & (~0ull >> (64 - Width));
  }
}

template <class Acc>
constexpr Type accumulator_type = std::is_same_v<Acc, f64>   ? Type::f64
                                  : std::is_same_v<Acc, f32> ? Type::f32
                                                             : Type::i32;

// An accumulator that is a register holds one element per lane and row (two rows for f64), or it is
// one constant.
template <class Acc> Acc accumulator(const Wave &w, const Operand &o, unsigned reg, unsigned lane) {
  if (!o.is_vgpr()) {
    const u64 v = scalar_value(w, o, accumulator_type<Acc>);
    if constexpr (sizeof(Acc) == 8)
      return std::bit_cast<Acc>(v);
    else
      return std::bit_cast<Acc>(static_cast<u32>(v));
  }
  if constexpr (sizeof(Acc) == 8)
    return as_f64(element_bits<64>(w, o, lane, reg));
  else
    return std::bit_cast<Acc>(w.vgpr[o.index + reg][lane]);
}
template <class Acc>
void set_accumulator(Wave &w, const Operand &o, unsigned reg, unsigned lane, Acc v) {
  if constexpr (sizeof(Acc) == 8) {
    w.vgpr[o.index + 2 * reg][lane] = static_cast<u32>(bits(v));
    w.vgpr[o.index + 2 * reg + 1][lane] = static_cast<u32>(bits(v) >> 32);
  } else {
    w.vgpr[o.index + reg][lane] = std::bit_cast<u32>(v);
  }
}

// Where C and D keep the element (i, j) of a block.
struct Place {
  unsigned reg, lane;
};
template <class Acc, unsigned M, unsigned Blocks>
Place place(unsigned block, unsigned i, unsigned j) {
  if constexpr (std::is_same_v<Acc, f64>)
    return M == 4 ? Place{0, 16 * i + 4 * block + j} : Place{i / 4, 16 * (i % 4) + j};
  else if constexpr (M == 4)
    return {i, 4 * block + j};
  else { // groups of four rows go around the wave
    constexpr unsigned around = 64 / M;
    const unsigned group = i / 4;
    return {block * (M * M / 64) + 4 * (group / around) + i % 4, M * (group % around) + j};
  }
}

// The lane that B's data for `lane` comes from, as BLGP says.
unsigned broadcast_lane(unsigned blgp, unsigned lane) {
  switch (blgp) {
  case 1: return lane % 32;
  case 2: return lane % 32 + 32;
  case 3: return (lane + 16) % 64;
  case 4:
  case 5:
  case 6:
  case 7: return lane % 16 + 16 * (blgp - 4);
  default: return lane;
  }
}

// A block of A or B: for each k the M elements, which lie in neighbouring lanes unless `lane_map`
// sends them elsewhere.
template <class E, unsigned Blocks, class Acc, unsigned M, unsigned K>
void load_operand(const Wave &w, const Operand &o, unsigned block, const u8 *lane_map,
                  Acc (&out)[K][M]) {
  constexpr unsigned per_lane = M * K * Blocks / 64;
  for (unsigned k = 0; k < K; k++) {
    const unsigned first = M * Blocks * (k / per_lane) + M * block;
    if (lane_map)
      for (unsigned i = 0; i < M; i++)
        out[k][i] = E::value(element_bits<E::width>(w, o, lane_map[first + i], k % per_lane));
    else
      for (unsigned i = 0; i < M; i++)
        out[k][i] = E::value(element_bits<E::width>(w, o, first + i, k % per_lane));
  }
}
template <class Acc, unsigned M, unsigned Blocks>
void load_accumulator(const Wave &w, const Operand &o, unsigned block, Acc (&out)[M][M]) {
  for (unsigned i = 0; i < M; i++) {
    const Place p =
        place<Acc, M, Blocks>(block, i, 0); // the rest of the row follows in the next lanes
    for (unsigned j = 0; j < M; j++) out[i][j] = accumulator<Acc>(w, o, p.reg, p.lane + j);
  }
}

template <class Acc, unsigned R, unsigned C> void negate_matrix(Acc (&m)[R][C]) {
  for (auto &row : m)
    for (Acc &x : row) x = negated(x);
}

// Whether two ranges of registers share some.
bool overlap(unsigned first, unsigned second, unsigned registers, unsigned of_second) {
  return first < second + of_second && second < first + registers;
}

// C and D of 32 bits, as rows of the matrices lie in neighbouring lanes of the registers.
template <class Acc, unsigned M, unsigned Blocks> struct InRegisters {
  static constexpr unsigned registers = M * M * Blocks / 64;
  const Row *c = nullptr; // nullptr: all of C is one constant
  u32 constant = 0;
  Row *d = nullptr;
  bool flush = false;

  void multiply(unsigned block, const f32 (*a)[M], const f32 (*b)[M], auto k) const {
    using V = RowVector<f32, M>;
    using Words = RowVector<u32, M>;
    const InRegisters m = *this; // what is stored cannot change it
    auto of_c = [=](unsigned i, unsigned j) {
      const Place p = place<Acc, M, Blocks>(block, i, j);
      return m.c ? load_vector<Words>(&m.c[p.reg][p.lane]) : all_of<Words>(m.constant);
    };
    auto of_d = [=](unsigned i, unsigned j) {
      const Place p = place<Acc, M, Blocks>(block, i, j);
      return &m.d[p.reg][p.lane];
    };
    if constexpr (std::is_same_v<Acc, i32>) {
      multiply_rows<M, M, k()>(
          a, b, [](unsigned, unsigned) { return V{}; },
          [=](unsigned i, unsigned j, V sum) {
            const auto products = __builtin_convertvector(sum, RowVector<i32, M>);
            store_vector(of_d(i, j), of_c(i, j) + std::bit_cast<Words>(products));
          });
    } else {
      multiply_rows<M, M, k()>(
          a, b,
          [=](unsigned i, unsigned j) {
            const V v = std::bit_cast<V>(of_c(i, j));
            return m.flush ? without_denormals<f32>(v) : v;
          },
          [=](unsigned i, unsigned j, V sum) {
            const V v = with_one_nan<f32>(sum);
            store_vector(of_d(i, j), m.flush ? without_denormals<f32>(v) : v);
          });
    }
  }
};

// A and B may differ in type; both have M rows and columns, K products per element, and Blocks
// matrices at once.
template <class A, class B, class Acc, unsigned M, unsigned K, unsigned Blocks> struct Mfma {
  using Factor = Sum<Acc>;
  static constexpr bool is_f64 = std::is_same_v<Acc, f64>;
  const Instruction &in;
  unsigned group; // CBSZ: how many blocks share one of A. Never more than the instruction has.
  bool flush;     // gfx90a takes denormals of f16 and bf16, and denormal results, for 0
  bool mapped;
  u8 map[64];
  Factor a[K][M], b[K][M];

  Mfma(const Wave &w, const Instruction &instruction)
      : in(instruction), group(is_f64 ? 0 : ((1u << in.cbsz) - 1) & (Blocks - 1)),
        flush(Element<A>::width == 16 && w.arch->id == Gfx::gfx90a), mapped(!is_f64 && in.blgp) {
    if (mapped)
      for (unsigned i = 0; i < 64; i++) map[i] = static_cast<u8>(broadcast_lane(in.blgp, i));
  }
  void load(const Wave &w, unsigned block) {
    const unsigned block_of_a = (block & ~group) + (in.abid & group);
    load_operand<Element<A>, Blocks>(w, in.src[0], block_of_a, nullptr, a);
    load_operand<Element<B>, Blocks>(w, in.src[1], block, mapped ? map : nullptr, b);
    if constexpr (is_f64) { // BLGP holds signs
      if (in.blgp & 1) negate_matrix(a);
      if (in.blgp & 2) negate_matrix(b);
    }
    if constexpr (Element<A>::width == 16)
      if (flush) { // an f16 below 2^-14 is a denormal
        constexpr Factor limit =
            std::is_same_v<A, f16> ? Factor(0x1p-14) : std::numeric_limits<Factor>::min();
        for (auto *m : {&a, &b})
          for (auto &row : *m)
            for (Factor &x : row) x = magnitude(x) < limit ? x * 0 : x;
      }
  }
};

template <class A, class B, class Acc, unsigned M, unsigned K, unsigned Blocks>
void run_mfma(Wave &w, const Instruction &in) {
  Mfma<A, B, Acc, M, K, Blocks> m(w, in);
  if constexpr (m.is_f64) {
    Acc d[Blocks][M][M];
    for (unsigned block = 0; block < Blocks; block++) {
      m.load(w, block);
      load_accumulator<Acc, M, Blocks>(w, in.src[2], block, d[block]);
      if (in.blgp & 4) negate_matrix(d[block]);
      multiply(m.a, m.b, d[block]);
    }
    for (unsigned block = 0; block < Blocks; block++)
      for (unsigned i = 0; i < M; i++) {
        const Place p = place<Acc, M, Blocks>(block, i, 0);
        for (unsigned j = 0; j < M; j++)
          set_accumulator(w, in.dst, p.reg, p.lane + j, d[block][i][j]);
      }
  } else {
    InRegisters<Acc, M, Blocks> sums;
    constexpr unsigned registers = sums.registers;
    const bool from_registers = in.src[2].is_vgpr();
    if (from_registers)
      sums.c = &w.vgpr[in.src[2].index];
    else
      sums.constant = static_cast<u32>(scalar_value(w, in.src[2], accumulator_type<Acc>));
    sums.flush = m.flush;
    // D is written while it is computed, unless something there is still needed.
    auto covers = [&](const Operand &o, unsigned width) {
      const unsigned size = std::max(1u, M * K * Blocks * width / (32 * 64));
      return overlap(in.dst.index, o.index, registers, size);
    };
    const bool covers_c = from_registers && in.src[2].index != in.dst.index &&
                          overlap(in.dst.index, in.src[2].index, registers, registers);
    const bool covers_factors = Blocks > 1 && (covers(in.src[0], Element<A>::width) ||
                                               covers(in.src[1], Element<B>::width));
    alignas(64) Row room[registers];
    sums.d = covers_c || covers_factors ? room : &w.vgpr[in.dst.index];
    for (unsigned block = 0; block < Blocks; block++) {
      m.load(w, block);
      sums.multiply(block, m.a, m.b, std::integral_constant<unsigned, K>{});
    }
    if (sums.d == room) std::memcpy(w.vgpr[in.dst.index], room, sizeof room);
  }
}

// D += A * B where of every four neighbours in a row of A only two are stored; two bits each say
// which. Four, eight or sixteen such pairs of bits are used; ABID picks them out of a register that
// may hold several sets. Where B takes eight registers, the upper four have the lanes' part of the
// upper half of K.
template <class A, class B, class Acc, unsigned M, unsigned K>
void run_smfmac(Wave &w, const Instruction &in) {
  constexpr unsigned per_lane = M * K / 64; // of B; A has half as many
  const unsigned set = in.cbsz & 3 ? 0 : in.abid * per_lane % 32;
  constexpr unsigned parts = per_lane * Element<B>::width / 32 == 8 ? 2 : 1;
  constexpr unsigned run = per_lane / parts; // neighbours along k in a lane
  Acc b[K][M], d[M][M];
  for (unsigned j = 0; j < M; j++)
    for (unsigned k = 0; k < K; k++) {
      const unsigned lane = M * (k % (K / parts) / run) + j, e = run * (k / (K / parts)) + k % run;
      b[k][j] = Element<B>::value(element_bits<Element<B>::width>(w, in.src[1], lane, e));
    }
  for (unsigned i = 0; i < M; i++)
    for (unsigned j = 0; j < M; j++) {
      const Place p = place<Acc, M, 1>(0, i, j);
      d[i][j] = accumulator<Acc>(w, in.dst, p.reg, p.lane);
    }
  for (unsigned lane = 0; lane < 64; lane++) {
    const unsigned i = lane % M, first = per_lane * (lane / M);
    const u32 positions = w.vgpr[in.src[2].index][lane] >> set;
    for (unsigned e = 0; e < per_lane / 2; e++) {
      const Acc a = Element<A>::value(element_bits<Element<A>::width>(w, in.src[0], lane, e));
      const unsigned k = first + e / 2 * 4 + (positions >> 2 * e & 3);
      for (unsigned j = 0; j < M; j++) d[i][j] = multiply_add(a, b[k][j], d[i][j]);
    }
  }
  for (unsigned i = 0; i < M; i++)
    for (unsigned j = 0; j < M; j++) {
      const Place p = place<Acc, M, 1>(0, i, j);
      set_accumulator(w, in.dst, p.reg, p.lane, one_nan(d[i][j]));
    }
}

// WMMA: 16x16 times 16x16. A's row i and B's column j lie whole in a lane (and again in the lanes
// 16 further on); rows of C and D go around the wave.
template <class Acc> struct Wmma {
  Acc a[16][16], b[16][16], d[16][16]; // a: by columns
};

// f16 and bf16: signs as in packed instructions for A and B; C may be negated (neg_lo) after taking
// its magnitude (neg_hi).
template <class T, class Out> void run_wmma_float(Wave &w, const Instruction &in) {
  Wmma<f32> m;
  constexpr bool narrow = !std::is_same_v<Out, f32>;
  auto signed_value = [&](unsigned s, unsigned lane, unsigned k) {
    const f32 v = Element<T>::value(element_bits<16>(w, in.src[s], lane, k));
    return ((k & 1 ? in.neg_hi : in.neg_lo) >> s & 1) ? negated(v) : v;
  };
  for (unsigned k = 0; k < 16; k++)
    for (unsigned i = 0; i < 16; i++)
      m.a[k][i] = signed_value(0, i, k), m.b[k][i] = signed_value(1, i, k);

  const unsigned rows = w.lanes / 16, half = 16 * (in.op_sel >> 2 & 1);
  const bool negative = in.neg_lo & 4, absolute = in.neg_hi & 4;
  for (unsigned i = 0; i < 16; i++)
    for (unsigned j = 0; j < 16; j++) {
      const unsigned lane = 16 * (i % rows) + j;
      f32 c;
      if constexpr (narrow) {
        const u64 word = in.src[2].is_vgpr() ? w.vgpr[in.src[2].index + i / rows][lane] >> half
                                             : scalar_value(w, in.src[2], Type::f16);
        c = Element<Out>::value(word & 0xffff);
      } else {
        c = accumulator<f32>(w, in.src[2], i / rows, lane);
      }
      c = absolute ? magnitude(c) : c;
      m.d[i][j] = negative ? negated(c) : c;
    }
  multiply(m.a, m.b, m.d);
  for (unsigned i = 0; i < 16; i++)
    for (unsigned j = 0; j < 16; j++) {
      u32 &word = w.vgpr[in.dst.index + i / rows][16 * (i % rows) + j];
      if constexpr (!narrow)
        word = bits(m.d[i][j]);
      else {
        u32 v;
        if constexpr (std::is_same_v<Out, f16>)
          v = to_f16(m.d[i][j]).bits;
        else
          v = to_bf16(m.d[i][j]).bits;
        word = (word & ~(0xffffu << half)) | v << half;
      }
    }
}

// Integers: neg_lo says which operands are signed; clamp saturates the result.
template <unsigned Width> void run_wmma_int(Wave &w, const Instruction &in) {
  Wmma<f32> m{};
  auto value = [&](unsigned s, unsigned lane, unsigned k) {
    const u32 v = static_cast<u32>(element_bits<Width>(w, in.src[s], lane, k));
    return static_cast<f32>(in.neg_lo >> s & 1 ? static_cast<i32>(v << (32 - Width)) >> (32 - Width)
                                               : static_cast<i32>(v));
  };
  for (unsigned k = 0; k < 16; k++)
    for (unsigned i = 0; i < 16; i++) m.a[k][i] = value(0, i, k), m.b[k][i] = value(1, i, k);
  multiply(m.a, m.b, m.d);
  const unsigned rows = w.lanes / 16;
  i32 d[16][16];
  for (unsigned i = 0; i < 16; i++)
    for (unsigned j = 0; j < 16; j++) {
      const i64 sum = i64{accumulator<i32>(w, in.src[2], i / rows, 16 * (i % rows) + j)} +
                      static_cast<i32>(m.d[i][j]);
      d[i][j] = in.clamp ? saturate<i32>(sum) : static_cast<i32>(sum);
    }
  for (unsigned i = 0; i < 16; i++)
    for (unsigned j = 0; j < 16; j++)
      set_accumulator(w, in.dst, i / rows, 16 * (i % rows) + j, d[i][j]);
}

constexpr Opcode matrix(const char *name, Handler run) { return {name, run, ExecClass::mfma}; }

// gfx12 has the matrices in other lanes.
template <Handler Own, Handler On12> void either_layout(Wave &w, const Instruction &in) {
  (w.arch->gfx12 ? On12 : Own)(w, in);
}

// The handler for the GPU that the wave runs on, where 8-bit formats differ.
template <class A, Handler Own, Handler InOcp> void either_format(Wave &w, const Instruction &in) {
  (w.arch->ocp_fp8 ? InOcp : Own)(w, in);
}
template <class A, Handler Own, Handler InOcp>
constexpr Handler by_format = std::is_same_v<A, Ocp<A>> ? Own : either_format<A, Own, InOcp>;

} // namespace

// Rows (and columns), products per element, blocks.
#define MFMA(NAME, A, B, ACC, M, K, BLOCKS)                                                        \
  with(Form::matrix,                                                                               \
       matrix("v_mfma_" NAME, by_format<A, run_mfma<A, B, ACC, M, K, BLOCKS>,                      \
                                        run_mfma<Ocp<A>, Ocp<B>, ACC, M, K, BLOCKS>>))
#define SMFMAC(NAME, A, B, ACC, M, K)                                                              \
  with(Form::sparse_matrix,                                                                        \
       matrix("v_smfmac_" NAME,                                                                    \
              by_format<A, run_smfmac<A, B, ACC, M, K>, run_smfmac<Ocp<A>, Ocp<B>, ACC, M, K>>))

std::span<const Opcode> matrix_opcodes() {
  static constexpr Opcode table[] = {
      MFMA("f64_16x16x4f64", f64, f64, f64, 16, 4, 1),
      MFMA("f64_4x4x4f64", f64, f64, f64, 4, 4, 4),

      MFMA("f32_32x32x1f32", f32, f32, f32, 32, 1, 2),
      MFMA("f32_16x16x1f32", f32, f32, f32, 16, 1, 4),
      MFMA("f32_4x4x1f32", f32, f32, f32, 4, 1, 16),
      MFMA("f32_32x32x2f32", f32, f32, f32, 32, 2, 1),
      MFMA("f32_16x16x4f32", f32, f32, f32, 16, 4, 1),
      MFMA("f32_16x16x8_xf32", xf32, xf32, f32, 16, 8, 1),
      MFMA("f32_32x32x4_xf32", xf32, xf32, f32, 32, 4, 1),

      MFMA("f32_32x32x4f16", f16, f16, f32, 32, 4, 2),
      MFMA("f32_16x16x4f16", f16, f16, f32, 16, 4, 4),
      MFMA("f32_4x4x4f16", f16, f16, f32, 4, 4, 16),
      MFMA("f32_32x32x8f16", f16, f16, f32, 32, 8, 1),
      MFMA("f32_16x16x16f16", f16, f16, f32, 16, 16, 1),

      MFMA("f32_32x32x2bf16", bf16, bf16, f32, 32, 2, 2),
      MFMA("f32_16x16x2bf16", bf16, bf16, f32, 16, 2, 4),
      MFMA("f32_4x4x2bf16", bf16, bf16, f32, 4, 2, 16),
      MFMA("f32_32x32x4bf16", bf16, bf16, f32, 32, 4, 1),
      MFMA("f32_16x16x8bf16", bf16, bf16, f32, 16, 8, 1),
      MFMA("f32_32x32x4bf16_1k", bf16, bf16, f32, 32, 4, 2),
      MFMA("f32_16x16x4bf16_1k", bf16, bf16, f32, 16, 4, 4),
      MFMA("f32_4x4x4bf16_1k", bf16, bf16, f32, 4, 4, 16),
      MFMA("f32_32x32x8bf16_1k", bf16, bf16, f32, 32, 8, 1),
      MFMA("f32_16x16x16bf16_1k", bf16, bf16, f32, 16, 16, 1),

      MFMA("i32_32x32x4i8", i8, i8, i32, 32, 4, 2),
      MFMA("i32_16x16x4i8", i8, i8, i32, 16, 4, 4),
      MFMA("i32_4x4x4i8", i8, i8, i32, 4, 4, 16),
      MFMA("i32_32x32x8i8", i8, i8, i32, 32, 8, 1),
      MFMA("i32_16x16x16i8", i8, i8, i32, 16, 16, 1),
      MFMA("i32_32x32x16_i8", i8, i8, i32, 32, 16, 1),
      MFMA("i32_16x16x32_i8", i8, i8, i32, 16, 32, 1),

      // gfx950
      MFMA("f32_16x16x32_f16", f16, f16, f32, 16, 32, 1),
      MFMA("f32_32x32x16_f16", f16, f16, f32, 32, 16, 1),
      MFMA("f32_16x16x32_bf16", bf16, bf16, f32, 16, 32, 1),
      MFMA("f32_32x32x16_bf16", bf16, bf16, f32, 32, 16, 1),
      MFMA("i32_16x16x64_i8", i8, i8, i32, 16, 64, 1),
      MFMA("i32_32x32x32_i8", i8, i8, i32, 32, 32, 1),

      MFMA("f32_16x16x32_fp8_fp8", fp8, fp8, f32, 16, 32, 1),
      MFMA("f32_16x16x32_fp8_bf8", fp8, bf8, f32, 16, 32, 1),
      MFMA("f32_16x16x32_bf8_fp8", bf8, fp8, f32, 16, 32, 1),
      MFMA("f32_16x16x32_bf8_bf8", bf8, bf8, f32, 16, 32, 1),
      MFMA("f32_32x32x16_fp8_fp8", fp8, fp8, f32, 32, 16, 1),
      MFMA("f32_32x32x16_fp8_bf8", fp8, bf8, f32, 32, 16, 1),
      MFMA("f32_32x32x16_bf8_fp8", bf8, fp8, f32, 32, 16, 1),
      MFMA("f32_32x32x16_bf8_bf8", bf8, bf8, f32, 32, 16, 1),

      SMFMAC("f32_16x16x32_f16", f16, f16, f32, 16, 32),
      SMFMAC("f32_32x32x16_f16", f16, f16, f32, 32, 16),
      SMFMAC("f32_16x16x32_bf16", bf16, bf16, f32, 16, 32),
      SMFMAC("f32_32x32x16_bf16", bf16, bf16, f32, 32, 16),
      SMFMAC("i32_16x16x64_i8", i8, i8, i32, 16, 64),
      SMFMAC("i32_32x32x32_i8", i8, i8, i32, 32, 32),
      SMFMAC("f32_16x16x64_fp8_fp8", fp8, fp8, f32, 16, 64),
      SMFMAC("f32_32x32x32_fp8_fp8", fp8, fp8, f32, 32, 32),
      SMFMAC("f32_16x16x64_fp8_bf8", fp8, bf8, f32, 16, 64),
      SMFMAC("f32_32x32x32_fp8_bf8", fp8, bf8, f32, 32, 32),
      SMFMAC("f32_16x16x64_bf8_fp8", bf8, fp8, f32, 16, 64),
      SMFMAC("f32_32x32x32_bf8_fp8", bf8, fp8, f32, 32, 32),
      SMFMAC("f32_16x16x64_bf8_bf8", bf8, bf8, f32, 16, 64),
      SMFMAC("f32_32x32x32_bf8_bf8", bf8, bf8, f32, 32, 32),

      // gfx950
      SMFMAC("f32_16x16x64_f16", f16, f16, f32, 16, 64),
      SMFMAC("f32_32x32x32_f16", f16, f16, f32, 32, 32),
      SMFMAC("f32_16x16x64_bf16", bf16, bf16, f32, 16, 64),
      SMFMAC("f32_32x32x32_bf16", bf16, bf16, f32, 32, 32),
      SMFMAC("i32_16x16x128_i8", i8, i8, i32, 16, 128),
      SMFMAC("i32_32x32x64_i8", i8, i8, i32, 32, 64),
      SMFMAC("f32_16x16x128_fp8_fp8", OcpFp8, OcpFp8, f32, 16, 128),
      SMFMAC("f32_32x32x64_fp8_fp8", OcpFp8, OcpFp8, f32, 32, 64),
      SMFMAC("f32_16x16x128_fp8_bf8", OcpFp8, OcpBf8, f32, 16, 128),
      SMFMAC("f32_32x32x64_fp8_bf8", OcpFp8, OcpBf8, f32, 32, 64),
      SMFMAC("f32_16x16x128_bf8_fp8", OcpBf8, OcpFp8, f32, 16, 128),
      SMFMAC("f32_32x32x64_bf8_fp8", OcpBf8, OcpFp8, f32, 32, 64),
      SMFMAC("f32_16x16x128_bf8_bf8", OcpBf8, OcpBf8, f32, 16, 128),
      SMFMAC("f32_32x32x64_bf8_bf8", OcpBf8, OcpBf8, f32, 32, 64),

      matrix("v_wmma_f32_16x16x16_f16",
             either_layout<run_wmma_float<f16, f32>, run_wmma12_f32_f16>),
      matrix("v_wmma_f32_16x16x16_bf16",
             either_layout<run_wmma_float<bf16, f32>, run_wmma12_f32_bf16>),
      matrix("v_wmma_f16_16x16x16_f16",
             either_layout<run_wmma_float<f16, f16>, run_wmma12_f16_f16>),
      matrix("v_wmma_bf16_16x16x16_bf16",
             either_layout<run_wmma_float<bf16, bf16>, run_wmma12_bf16_bf16>),
      matrix("v_wmma_i32_16x16x16_iu8", either_layout<run_wmma_int<8>, run_wmma12_i32_iu8>),
      matrix("v_wmma_i32_16x16x16_iu4", either_layout<run_wmma_int<4>, run_wmma12_i32_iu4>),
  };
  return table;
}

} // namespace fade::sim
