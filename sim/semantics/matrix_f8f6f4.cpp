// gfx950's matrix instructions of small floats: D = A * B + C, where A and B have any of the
// formats fp8, bf8, fp6, bf6 and fp4, A's told by CBSZ and B's by BLGP, with or without a scale (a
// power of two, E8M0) for every 32 neighbours along k.
//
// Each lane has 32 numbers of a row of A, or of a column of B. Of fp6 and fp4 they are neighbours;
// of fp8 and bf8 they are 16 neighbours and the 16 that lie half of K further on.
//
// 32 products are summed one after the other in f32, multiplied by both scales and added to C. The
// hardware's order is not documented. Scales of one give what the instruction without scales gives.
// Very large and very small scales: sums are kept in f64, so that none overflows on the way.
#include "semantics/valu.h"

#include "semantics/matrix_product.h"
#include "semantics/opcodes.h"
#include "semantics/small_float.h"

namespace fade::sim {
namespace {

constexpr unsigned per_lane = 32, per_scale = 32; // numbers

// A by columns, or B by rows.
template <const SmallFormat &F, unsigned M, unsigned K>
void load_format(const Wave &w, const Operand &o, f32 (&out)[K][M]) {
  constexpr unsigned width = static_cast<unsigned>(F.width());
  for (unsigned e = 0; e < per_lane; e++) {
    const unsigned bit = e * width, word = bit / 32, shift = bit % 32;
    const bool crosses = shift + width > 32;
    const Row &low = w.vgpr[o.index + word], &high = w.vgpr[o.index + word + crosses];
    const u32 from_high = crosses ? ~0u : 0, high_shift = crosses ? 32 - shift : 0;
    for (unsigned group = 0; group < 64 / M; group++) {
      const unsigned k = width == 8 ? e / 16 * (K / 2) + 16 * group + e % 16 : per_lane * group + e;
      for (unsigned i = 0; i < M; i++) {
        const unsigned lane = M * group + i;
        out[k][i] = widen_small<F>(low[lane] >> shift | (high[lane] & from_high) << high_shift);
      }
    }
  }
}
// As CBSZ and BLGP number the formats. Which 5 to 7 are is not defined; the last one is taken.
template <unsigned M, unsigned K>
void load_input(const Wave &w, const Operand &o, unsigned format, f32 (&out)[K][M]) {
  switch (format) {
  case 0: return load_format<ocp_fp8>(w, o, out);
  case 1: return load_format<ocp_bf8>(w, o, out);
  case 2: return load_format<ocp_fp6>(w, o, out);
  case 3: return load_format<ocp_bf6>(w, o, out);
  default: return load_format<ocp_fp4>(w, o, out);
  }
}

// The scales of one matrix, as exponents: lane M * block + i has the one of row (or column) i. A
// constant gives its exponent; of a register, op_sel says which byte.
struct Scales {
  u32 exponent[64];
  bool is_usual = true; // of all: products of two such scales, and of those and sums, fit into f32

  static constexpr u32 lowest = 127 - 40, highest = 127 + 40;
};
Scales load_scales(const Wave &w, const Instruction &load, unsigned s) {
  const Operand &o = load.src[s];
  const unsigned shift = 8 * ((load.op_sel >> s & 1) | (load.op_sel_hi >> s & 1) << 1);
  Scales out;
  if (o.is_vgpr()) {
    const Row &row = w.vgpr[o.index];
    for (unsigned lane = 0; lane < 64; lane++) out.exponent[lane] = row[lane] >> shift & 0xff;
  } else {
    const auto value = static_cast<u32>(scalar_value(w, o, o.inline_float ? Type::f32 : Type::b32));
    std::ranges::fill(out.exponent, value >> (o.inline_float ? 23 : shift) & 0xff);
  }
  u32 unusual = 0;
  for (u32 e : out.exponent) unusual |= e - Scales::lowest > Scales::highest - Scales::lowest;
  out.is_usual = !unusual;
  return out;
}
f32 usual_scale(u32 exponent) { return as_f32(exponent << 23); }
f64 any_scale(u32 exponent) {
  return exponent == 255 ? default_nan<f64>() : as_f64(u64{exponent + 1023 - 127} << 52);
}

// D = A * B + C, where D is C at first: one block of numbers with the same scale after the other.
template <unsigned M, unsigned K>
void multiply_plain(const f32 (&a)[K][M], const f32 (&b)[K][M], f32 (&d)[M][M]) {
  using V = RowVector<f32, M>;
  for (unsigned k = 0; k < K; k += per_scale)
    multiply_rows<M, M, per_scale>(
        a + k, b + k, [](unsigned, unsigned) { return V{}; },
        [&](unsigned i, unsigned j, V sum) {
          store_vector(&d[i][j], sum + load_vector<V>(&d[i][j]));
        });
}
template <unsigned M, unsigned K>
void multiply_scaled(const f32 (&a)[K][M], const f32 (&b)[K][M], const Scales &of_a,
                     const Scales &of_b, f32 (&d)[M][M]) {
  using V = RowVector<f32, M>;
  for (unsigned block = 0; block < K / per_scale; block++) {
    f32 scale_a[M], scale_b[M];
    for (unsigned i = 0; i < M; i++) {
      scale_a[i] = usual_scale(of_a.exponent[M * block + i]);
      scale_b[i] = usual_scale(of_b.exponent[M * block + i]);
    }
    multiply_rows<M, M, per_scale>(
        a + per_scale * block, b + per_scale * block, [](unsigned, unsigned) { return V{}; },
        [&](unsigned i, unsigned j, V sum) {
          const V scale = all_of<V>(scale_a[i]) * load_vector<V>(&scale_b[j]);
          store_vector(&d[i][j], fused(sum, scale, load_vector<V>(&d[i][j])));
        });
  }
}
template <unsigned M, unsigned K>
void multiply_widely_scaled(const f32 (&a)[K][M], const f32 (&b)[K][M], const Scales &of_a,
                            const Scales &of_b, f32 (&d)[M][M]) {
  using V = RowVector<f32, M>;
  f64 total[M][M];
  for (unsigned i = 0; i < M; i++)
    for (unsigned j = 0; j < M; j++) total[i][j] = d[i][j];
  for (unsigned block = 0; block < K / per_scale; block++)
    multiply_rows<M, M, per_scale>(
        a + per_scale * block, b + per_scale * block, [](unsigned, unsigned) { return V{}; },
        [&](unsigned i, unsigned j, V sum) {
          const f64 scale = any_scale(of_a.exponent[M * block + i]);
          for (unsigned x = 0; x < RowPart<f32, M>::width; x++)
            total[i][j + x] += f64{sum[x]} * (scale * any_scale(of_b.exponent[M * block + j + x]));
        });
  for (unsigned i = 0; i < M; i++)
    for (unsigned j = 0; j < M; j++) d[i][j] = static_cast<f32>(total[i][j]);
}

template <unsigned M, unsigned K> void run_f8f6f4(Wave &w, const Instruction &in) {
  constexpr unsigned around = 64 / M;
  f32 a[K][M], b[K][M], d[M][M];
  load_input(w, in.src[0], in.cbsz, a);
  load_input(w, in.src[1], in.blgp, b);
  // Where C and D have the row i: groups of four go around the wave.
  auto reg = [](unsigned i) { return 4 * (i / 4 / around) + i % 4; };
  auto lane = [](unsigned i) { return M * (i / 4 % around); };

  const bool stays_finite = w.mode >> 23 & 1; // MODE.FP16_OVFL
  for (unsigned i = 0; i < M; i++)
    for (unsigned j = 0; j < M; j++)
      d[i][j] = in.src[2].is_vgpr()
                    ? as_f32(w.vgpr[in.src[2].index + reg(i)][lane(i) + j])
                    : as_f32(static_cast<u32>(scalar_value(w, in.src[2], Type::f32)));
  if (in.paired) {
    const Scales of_a = load_scales(w, *in.paired, 0), of_b = load_scales(w, *in.paired, 1);
    if (of_a.is_usual && of_b.is_usual)
      multiply_scaled(a, b, of_a, of_b, d);
    else
      multiply_widely_scaled(a, b, of_a, of_b, d);
  } else {
    multiply_plain(a, b, d);
  }
  for (auto &row : d)
    for (f32 &x : row) {
      if (stays_finite && is_infinite(x))
        x = with_sign(std::numeric_limits<f32>::max(), sign_of(x));
      x = is_nan(x) ? default_nan<f32>() : x;
    }
  for (unsigned i = 0; i < M; i++)
    for (unsigned j = 0; j < M; j++) w.vgpr[in.dst.index + reg(i)][lane(i) + j] = bits(d[i][j]);
}

constexpr Opcode small_matrix(const char *name, Handler run) {
  return with(Form::matrix, Opcode{name, run, ExecClass::mfma});
}

} // namespace

std::span<const Opcode> matrix_f8f6f4_opcodes() {
  static constexpr Opcode table[] = {
      small_matrix("v_mfma_f32_16x16x128_f8f6f4", run_f8f6f4<16, 128>),
      small_matrix("v_mfma_f32_32x32x64_f8f6f4", run_f8f6f4<32, 64>),
      small_matrix("v_mfma_scale_f32_16x16x128_f8f6f4", run_f8f6f4<16, 128>),
      small_matrix("v_mfma_scale_f32_32x32x64_f8f6f4", run_f8f6f4<32, 64>),
  };
  return table;
}

} // namespace fade::sim
