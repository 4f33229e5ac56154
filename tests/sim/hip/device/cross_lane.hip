// What lanes of a wave can read from each other: every DPP control with its masks, swizzles,
// permutes and broadcasts. The host says where each lane's value must come from.
#include "../check.h"

#include <functional>

constexpr int lanes = 64, outside = -1;

#if defined(__gfx90a__) || defined(__gfx942__)
#define WAVE_SHIFTS 1
#endif

// DPP with the old value `outside`: what lanes without a source, or behind a mask, keep.
#define DPP(control, rows, banks, zero)                                                            \
  __builtin_amdgcn_update_dpp(outside, v, control, rows, banks, zero)

__global__ void cross(const int *in, int *out) {
  const int lane = threadIdx.x, v = in[lane];
  int row = 0;
  auto put = [&](int value) { out[row++ * lanes + lane] = value; };
  put(DPP(0x1b, 0xf, 0xf, false));             // quad_perm 3,2,1,0
  put(DPP(0x101, 0xf, 0xf, false));            // row_shl 1
  put(DPP(0x113, 0xf, 0xf, false));            // row_shr 3
  put(DPP(0x113, 0xf, 0xf, true));             // the same, zero where there is no source
  put(DPP(0x125, 0xf, 0xf, false));            // row_ror 5
  put(DPP(0x140, 0xf, 0xf, false));            // row_mirror
  put(DPP(0x141, 0xf, 0xf, false));            // row_half_mirror
  put(DPP(0x1b, 0x5, 0xf, false));             // rows 0 and 2 only
  put(DPP(0x1b, 0xf, 0xa, false));             // banks 1 and 3 only
  put(__builtin_amdgcn_ds_swizzle(v, 0x804e)); // quads, 2,3,0,1
  put(__builtin_amdgcn_ds_swizzle(v, 5 << 10 | 2 << 5 | 0x1c)); // xor 5, or 2, and 0x1c
  put(__builtin_amdgcn_ds_bpermute((lane * 5 + 3) % 32 * 4, v));
  put(__builtin_amdgcn_readlane(v, 13));
  put(__builtin_amdgcn_readfirstlane(v));
  put(__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)));
#ifdef WAVE_SHIFTS
  put(DPP(0x138, 0xf, 0xf, false)); // wave_shr 1
  put(DPP(0x130, 0xf, 0xf, false)); // wave_shl 1
  put(DPP(0x134, 0xf, 0xf, false)); // wave_rol 1
  put(DPP(0x13c, 0xf, 0xf, false)); // wave_ror 1
  put(DPP(0x142, 0xf, 0xf, false)); // row_bcast 15
  put(DPP(0x143, 0xf, 0xf, false)); // row_bcast 31
#else
  put(DPP(0x155, 0xf, 0xf, false)); // row_share 5
  put(DPP(0x163, 0xf, 0xf, false)); // row_xmask 3
  put(__builtin_amdgcn_permlane16(v, v, 0x76543210, 0x01234567, false, false));
  put(__builtin_amdgcn_permlanex16(v, v, 0x76543210, 0xfedcba98, false, false));
  put(__builtin_amdgcn_mov_dpp8(v, 0x053977)); // lanes 7 6 5 4 3 2 1 0 of each eight
#endif
}

int main() {
  const std::string arch = check::architecture();
  const bool wave_shifts = arch == "gfx90a" || arch == "gfx942";
  const int wave = wave_shifts ? 64 : 32;
  std::vector<int> in(lanes);
  for (int i = 0; i < lanes; ++i) in[i] = i * 1001 + 5;
  check::Device<int> from(in), to(21 * lanes);
  LAUNCH(cross, 1, lanes, from.get(), to.get());
  const std::vector<int> got = to.read();

  int row = 0;
  auto expect = [&](const char *what, const std::function<int(int)> &want) {
    std::vector<int> wanted(lanes),
        values(got.begin() + row * lanes, got.begin() + (row + 1) * lanes);
    for (int i = 0; i < lanes; ++i) wanted[i] = want(i);
    check::same(values, wanted, what, __FILE__, __LINE__);
    ++row;
  };
  auto first = [&](int i) { return i / wave * wave; };
  expect("quad_perm", [&](int i) { return in[i ^ 3]; });
  expect("row_shl", [&](int i) { return i % 16 == 15 ? outside : in[i + 1]; });
  expect("row_shr", [&](int i) { return i % 16 < 3 ? outside : in[i - 3]; });
  expect("row_shr with zeros", [&](int i) { return i % 16 < 3 ? 0 : in[i - 3]; });
  expect("row_ror", [&](int i) { return in[i / 16 * 16 + (i + 11) % 16]; });
  expect("row_mirror", [&](int i) { return in[i ^ 15]; });
  expect("row_half_mirror", [&](int i) { return in[i ^ 7]; });
  expect("row mask", [&](int i) { return i % wave / 16 % 2 ? outside : in[i ^ 3]; });
  expect("bank mask", [&](int i) { return i / 4 % 2 ? in[i ^ 3] : outside; });
  expect("swizzled quads", [&](int i) { return in[i ^ 2]; });
  expect("swizzled bits", [&](int i) { return in[i / 32 * 32 + (((i & 0x1c) | 2) ^ 5)]; });
  expect("bpermute", [&](int i) { return in[first(i) + (i * 5 + 3) % 32]; });
  expect("readlane", [&](int i) { return in[first(i) + 13]; });
  expect("readfirstlane", [&](int i) { return in[first(i)]; });
  expect("mbcnt", [&](int i) { return i % wave; });
  if (wave_shifts) {
    expect("wave_shr", [&](int i) { return i == 0 ? outside : in[i - 1]; });
    expect("wave_shl", [&](int i) { return i == 63 ? outside : in[i + 1]; });
    expect("wave_rol", [&](int i) { return in[(i + 1) % 64]; });
    expect("wave_ror", [&](int i) { return in[(i + 63) % 64]; });
    expect("row_bcast 15", [&](int i) { return in[i < 16 ? i : i / 16 * 16 - 1]; });
    expect("row_bcast 31", [&](int i) { return in[i < 32 ? i : 31]; });
    return check::result();
  }
  auto selected = [](uint32_t low, uint32_t high, int i) {
    return static_cast<int>((i % 16 < 8 ? low : high) >> (4 * (i % 8)) & 15);
  };
  expect("row_share", [&](int i) { return in[i / 16 * 16 + 5]; });
  expect("row_xmask", [&](int i) { return in[i ^ 3]; });
  expect("permlane16",
         [&](int i) { return in[i / 16 * 16 + selected(0x76543210, 0x01234567, i)]; });
  expect("permlanex16",
         [&](int i) { return in[(i / 16 * 16 ^ 16) + selected(0x76543210, 0xfedcba98, i)]; });
  expect("dpp8", [&](int i) { return in[i ^ 7]; });
  return check::result();
}
