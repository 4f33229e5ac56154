// Loops of one matrix instruction each, by its name (matrix.cpp). Registers are fixed, so that instructions that the assembler does not know can be given as words: A is in v[16:23], B in
// v[24:31], the sum in v[0:15].
#define REGISTERS                                                                                  \
  "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14",   \
      "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27",   \
      "v28", "v29", "v30", "v31"
#define LOOP(name, text) LOOP_AFTER("", name, text)
#define LOOP_AFTER(first, name, text)                                                              \
  kernel void name(uint turns) {                                                                   \
    __asm__ volatile(first ::: REGISTERS);                                                         \
    for (uint i = 0; i < turns; i++)                                                               \
      __asm__ volatile(text "\n" text "\n" text "\n" text ::: REGISTERS);                          \
  }
#define A2 "v[16:17]"
#define B2 "v[24:25]"
#define A4 "v[16:19]"
#define B4 "v[24:27]"

#if defined(__gfx942__)
LOOP(f16, "v_mfma_f32_32x32x8_f16 v[0:15], " A2 ", " B2 ", v[0:15]")
LOOP(bf16, "v_mfma_f32_32x32x8_bf16 v[0:15], " A2 ", " B2 ", v[0:15]")
LOOP(fp8, "v_mfma_f32_32x32x16_fp8_fp8 v[0:15], " A2 ", " B2 ", v[0:15]")
LOOP(bf8, "v_mfma_f32_32x32x16_bf8_bf8 v[0:15], " A2 ", " B2 ", v[0:15]")
LOOP(i8, "v_mfma_i32_32x32x16_i8 v[0:15], " A2 ", " B2 ", v[0:15]")

// Whole products, C = A * B^T: a wave computes 64 x 64 elements of C and reads what it needs from memory, 16 bytes of a row in a lane. Both sides take the elements of a row in the same order.
typedef half half4 __attribute__((ext_vector_type(4)));
typedef short short4_ __attribute__((ext_vector_type(4)));
typedef float sum_f32 __attribute__((ext_vector_type(16)));
typedef int sum_i32 __attribute__((ext_vector_type(16)));
#define PRODUCT(name, element, part, parts, sum, multiply)                                         \
  kernel void name(global const element *a, global const element *b, global void *c, uint n,       \
                   uint k) {                                                                       \
    const uint lane = __builtin_amdgcn_workitem_id_x(), of_lane = 16 / sizeof(element),            \
               row = __builtin_amdgcn_workgroup_id_y() * 64,                                       \
               column = __builtin_amdgcn_workgroup_id_x() * 64,                                    \
               at = lane % 32 * k + lane / 32 * of_lane;                                           \
    sum s[2][2] = {};                                                                              \
    for (uint i = 0; i < k; i += 2 * of_lane) {                                                    \
      part l[2][parts], r[2][parts];                                                               \
      for (uint h = 0; h < 2; h++) {                                                               \
        *(uint4 *)l[h] = *(global const uint4 *)(a + (row + 32 * h) * k + at + i);                 \
        *(uint4 *)r[h] = *(global const uint4 *)(b + (column + 32 * h) * k + at + i);              \
      }                                                                                            \
      for (uint p = 0; p < parts; p++)                                                             \
        for (uint y = 0; y < 2; y++)                                                               \
          for (uint x = 0; x < 2; x++) s[y][x] = multiply(l[y][p], r[x][p], s[y][x], 0, 0, 0);     \
    }                                                                                              \
    for (uint y = 0; y < 2; y++)                                                                   \
      for (uint x = 0; x < 2; x++)                                                                 \
        for (uint i = 0; i < 16; i++)                                                              \
          ((global uint *)c)[(row + 32 * y + i / 4 * 8 + lane / 32 * 4 + i % 4) * n + column +     \
                             32 * x + lane % 32] = as_uint(s[y][x][i]);                            \
  }
PRODUCT(gemm_f32, float, float, 4, sum_f32, __builtin_amdgcn_mfma_f32_32x32x2f32)
PRODUCT(gemm_f16, ushort, half4, 2, sum_f32, __builtin_amdgcn_mfma_f32_32x32x8f16)
PRODUCT(gemm_bf16, ushort, short4_, 2, sum_f32, __builtin_amdgcn_mfma_f32_32x32x8bf16_1k)
PRODUCT(gemm_i8, uchar, long, 2, sum_i32, __builtin_amdgcn_mfma_i32_32x32x16_i8)
PRODUCT(gemm_fp8, uchar, long, 2, sum_f32, __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8)
#elif defined(__gfx950__)
// v_mfma_f32_32x32x16_f16, _bf16, 32x32x64_f8f6f4 and v_mfma_i32_32x32x32_i8 v[0:15], v[16:…], v[24:…], v[0:15]
LOOP(f16, ".long 0xd3d50000, 0x04023110")
LOOP(bf16, ".long 0xd3b70000, 0x04023110")
LOOP(fp8, ".long 0xd3ae0000, 0x04023110")
LOOP(bf8, ".long 0xd3ae0100, 0x24023110")
LOOP(fp6, ".long 0xd3ae0200, 0x44023110")
LOOP(bf6, ".long 0xd3ae0300, 0x64023110")
LOOP(fp4, ".long 0xd3ae0400, 0x84023110")
#define SCALES(exponents) "v_mov_b32 v30, " exponents "\n v_mov_b32 v31, " exponents
LOOP_AFTER(SCALES("0x7f7f7f7f"), fp4_scaled, ".long 0xd3ac0000, 0x00023f1e, 0xd3ae0c00, 0x84023110")
// Scales that f32 has no room for: sums are kept in f64.
LOOP_AFTER(SCALES("0x04040404"), fp4_far, ".long 0xd3ac0000, 0x00023f1e, 0xd3ae0c00, 0x84023110")
LOOP(i8, ".long 0xd3b80000, 0x04023110")
#elif defined(__gfx1201__)
LOOP(f16, "v_wmma_f32_16x16x16_f16 v[0:7], " A4 ", " B4 ", v[0:7]")
LOOP(bf16, "v_wmma_f32_16x16x16_bf16 v[0:7], " A4 ", " B4 ", v[0:7]")
LOOP(fp8, "v_wmma_f32_16x16x16_fp8_fp8 v[0:7], " A2 ", " B2 ", v[0:7]")
LOOP(bf8, "v_wmma_f32_16x16x16_bf8_bf8 v[0:7], " A2 ", " B2 ", v[0:7]")
LOOP(i8, "v_wmma_i32_16x16x16_iu8 v[0:7], " A2 ", " B2 ", v[0:7]")
#elif defined(__gfx1151__)
LOOP(f16, "v_wmma_f32_16x16x16_f16 v[0:7], v[16:23], v[24:31], v[0:7]")
LOOP(bf16, "v_wmma_f32_16x16x16_bf16 v[0:7], v[16:23], v[24:31], v[0:7]")
LOOP(i8, "v_wmma_i32_16x16x16_iu8 v[0:7], " A4 ", " B4 ", v[0:7]")
#endif
