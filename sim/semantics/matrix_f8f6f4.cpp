// gfx950's matrix instructions of small floats: D = A * B + C, where A and B have any of the
// formats fp8, bf8, fp6, bf6 and fp4, A's told by CBSZ and B's by BLGP, with or without a scale (a
// power of two, E8M0) for every 32 neighbours along k.
//
// Each lane has 32 numbers of a row of A, or of a column of B. Of fp6 and fp4 they are neighbours;
// of fp8 and bf8 they are 16 neighbours and the 16 that lie half of K further on.
//
// 32 products are summed one after the other in f32, multiplied by both scales and added to C. The
// hardware's order is not documented. Scales of one give what the instruction without scales gives.
#include "semantics/valu.h"

#include "semantics/matrix_product.h"
#include "semantics/opcodes.h"
#include "semantics/small_float.h"

namespace fade::sim {
namespace {

constexpr unsigned per_lane = 32, per_scale = 32;

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

// The scales of one matrix: lane M * block + i has the one of row (or column) i. A constant gives
// its exponent; of a register, op_sel says which byte.
template <unsigned M, unsigned Scales>
void load_scales(const Wave &w, const Instruction *load, unsigned s, f64 (&out)[Scales][M]) {
  for (unsigned lane = 0; lane < 64; lane++) {
    u32 exponent = 127;
    if (load) {
      const Operand &o = load->src[s];
      const unsigned byte = (load->op_sel >> s & 1) | (load->op_sel_hi >> s & 1) << 1;
      if (o.is_vgpr())
        exponent = w.vgpr[o.index][lane] >> 8 * byte & 0xff;
      else if (o.inline_float)
        exponent = static_cast<u32>(scalar_value(w, o, Type::f32)) >> 23 & 0xff;
      else
        exponent = static_cast<u32>(scalar_value(w, o, Type::b32)) >> 8 * byte & 0xff;
    }
    out[lane / M][lane % M] =
        exponent == 255 ? default_nan<f64>() : as_f64(u64{exponent + 1023 - 127} << 52);
  }
}

template <unsigned M, unsigned K> void run_f8f6f4(Wave &w, const Instruction &in) {
  constexpr unsigned scales = K / per_scale, around = 64 / M;
  f32 a[K][M], b[K][M], d[M][M];
  load_input(w, in.src[0], in.cbsz, a);
  load_input(w, in.src[1], in.blgp, b);
  f64 scale_a[scales][M], scale_b[scales][M];
  load_scales(w, in.paired, 0, scale_a);
  load_scales(w, in.paired, 1, scale_b);
  // Where C and D have the row i: groups of four go around the wave.
  auto reg = [](unsigned i) { return 4 * (i / 4 / around) + i % 4; };
  auto lane = [](unsigned i) { return M * (i / 4 % around); };

  const bool stays_finite = w.mode >> 23 & 1; // MODE.FP16_OVFL
  for (unsigned i = 0; i < M; i++)
    for (unsigned j = 0; j < M; j++)
      d[i][j] = in.src[2].is_vgpr()
                    ? as_f32(w.vgpr[in.src[2].index + reg(i)][lane(i) + j])
                    : as_f32(static_cast<u32>(scalar_value(w, in.src[2], Type::f32)));
  using V = RowVector<f32, M>;
  constexpr unsigned width = RowPart<f32, M>::width;
  for (unsigned block = 0; block < scales; block++)
    multiply_rows<M, M, per_scale>(
        a + per_scale * block, b + per_scale * block, [](unsigned, unsigned) { return V{}; },
        [&](unsigned i, unsigned j, V sum) {
          if (!in.paired) { // scales of one; in f64 the sum would be rounded to the same number
            store_vector(&d[i][j], sum + load_vector<V>(&d[i][j]));
            return;
          }
          const f64 scale = scale_a[block][i];
          for (unsigned x = 0; x < width; x++)
            d[i][j + x] =
                static_cast<f32>(f64{sum[x]} * (scale * scale_b[block][j + x]) + f64{d[i][j + x]});
        });
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
