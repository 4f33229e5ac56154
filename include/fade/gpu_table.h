// The rows of gpu.h; include that.
//
// Sources:
//   [llvm]       AMDGPUUsage.rst (machine numbers, settings, generic processors) and LLVM's
//                AMDGPUBaseInfo.cpp (registers, granules, waves, LDS)
//   [specs]      AMD GPU specifications (compute units, memory, caches, register files),
//                https://rocm.docs.amd.com/en/latest/reference/gpu-specs.html
//   [mi100] [mi250] [mi300]  ROCm's pages on these architectures (operations per clock and compute
//                unit, clocks, bandwidth), https://rocm.docs.amd.com/en/latest/reference/gpu-arch
//   [mi350]      what AMD published of the Instinct MI355X: 2.4 GHz, 8 TB/s, 157.3 TFLOPS of f32,
//                8192 operations on 8 bits per clock and compute unit (ISSCC 2026)
//   [wmma]       AMD's operations per clock and compute unit of WMMA, for RDNA 3 and RDNA 4, as
//   quoted in a forum [published]  boost clocks, bandwidths and peak rates that AMD published with
//   a product, as other pages quote
//                them; rates are peaks divided by clock and compute units
#pragma once

#include "fade/gpu_info.h"

#include <array>

namespace fade::gpus {

// Compute units [llvm]. Not looked up anywhere, only used so for long: lines of 64 bytes up to
// gfx908 and of 128 from gfx90a and gfx10 on.
inline constexpr GpuUnit kGcn1 = {.smallest_wave = 64,
                                  .largest_wave = 64,
                                  .simds = 4,
                                  .waves_per_simd = 10,
                                  .vgprs = 256,
                                  .vgpr_granule = 4,
                                  .sgprs = 512,
                                  .lds_bytes = 32 << 10,
                                  .lds_banks = 32,
                                  .workgroups = 16,
                                  .line = 64};
constexpr GpuUnit with(GpuUnit unit, auto &&change) {
  change(unit);
  return unit;
}
inline constexpr GpuUnit kGcn2 = with(kGcn1, [](GpuUnit &u) { u.lds_bytes = 64 << 10; });
inline constexpr GpuUnit kGcn2Half = with(kGcn2, [](GpuUnit &u) { u.lds_banks = 16; });
inline constexpr GpuUnit kGcn3 = with(kGcn2, [](GpuUnit &u) { u.sgprs = 800; });
inline constexpr GpuUnit kGcn3Half = with(kGcn3, [](GpuUnit &u) { u.lds_banks = 16; });
inline constexpr GpuUnit kCdna1 = with(kGcn3, [](GpuUnit &u) { u.has_agprs = true; });
inline constexpr GpuUnit kCdna2 = with(kCdna1, [](GpuUnit &u) {
  u.waves_per_simd = 8, u.vgprs = 512, u.vgpr_granule = 8, u.unified_registers = true, u.line = 128,
  u.writes_back_l2 = true;
});
// 160 KiB in 64 banks: the manual of the CDNA 4 instruction set, chapter 11.
inline constexpr GpuUnit kCdna4 =
    with(kCdna2, [](GpuUnit &u) { u.lds_bytes = 160 << 10, u.lds_banks = 64; });
inline constexpr GpuUnit kRdna1 = {.smallest_wave = 32,
                                   .largest_wave = 64,
                                   .simds = 2,
                                   .waves_per_simd = 20,
                                   .vgprs = 1024,
                                   .vgpr_granule = 8,
                                   .lds_bytes = 64 << 10,
                                   .lds_banks = 32,
                                   .workgroups = 16,
                                   .line = 128,
                                   .writes_back_l2 = true};
inline constexpr GpuUnit kRdna2 =
    with(kRdna1, [](GpuUnit &u) { u.waves_per_simd = 16, u.vgpr_granule = 16; });
// Half as many registers again.
inline constexpr GpuUnit kRdna3 =
    with(kRdna2, [](GpuUnit &u) { u.vgprs = 1536, u.vgpr_granule = 24; });
inline constexpr GpuUnit kGfx1250 = with(kRdna2, [](GpuUnit &u) {
  u.largest_wave = 32, u.lds_bytes = 320 << 10, u.lds_banks = 0, u.line = 0;
});

// clang-format off
// Rates: vectors of f64, f32, f16; matrices of f64, f32, f16, bf16, f8, i8.
inline constexpr GpuRates kRates906 = {64, 128, 256}; // [published]
inline constexpr GpuRates kRates908 = {64, 128, 0, 0, 256, 1024, 512}; // [mi100]
inline constexpr GpuRates kRates90a = {128, 256, 0, 256, 256, 1024, 1024, 0, 1024}; // [mi250]
inline constexpr GpuRates kRates942 = {128, 256, 0, 256, 256, 2048, 2048, 4096, 4096}; // [mi300]
inline constexpr GpuRates kRates950 = {0, 256, 0, 0, 0, 0, 0, 8192, 8192}; // [mi350]
inline constexpr GpuRates kRatesRdna1 = {0, 128}; // [published]
inline constexpr GpuRates kRatesRdna2 = {8, 128, 256}; // [published]
inline constexpr GpuRates kRatesRdna3 = {8, 256, 512, 0, 0, 512, 512, 0, 512}; // [published] [wmma]
inline constexpr GpuRates kRatesRdna4 = {0, 256, 512, 0, 0, 1024, 1024, 2048, 2048}; // [published] [wmma]

// Cards: [specs] for compute units, memory and sizes of caches, [published] for clocks and bandwidth
// where the pages on the architecture do not have them. Clocks of emulated ones are as the driver
// says them, which may be more than the card is advertised with.
//   name, compute units, dies, MHz, GiB, GB/s, {KiB, line} of L1, L2, L3
inline constexpr GpuCard kMi60 = {"AMD Radeon Instinct MI60", 64, 1, 1800, 32, 1024, {16, 64}, {4096, 64}};
inline constexpr GpuCard kMi100 = {"AMD Instinct MI100", 120, 1, 1502, 32, 1228, {16, 64}, {8192, 64}};
inline constexpr GpuCard kMi210 = {"AMD Instinct MI210", 104, 1, 1700, 64, 1638, {16, 64}, {8192, 128}};
inline constexpr GpuCard kMi300x = {"AMD Instinct MI300X", 304, 8, 2100, 192, 5300, {32, 128}, {4096, 128}, {262144, 64}};
inline constexpr GpuCard kMi355x = {"AMD Instinct MI355X", 256, 8, 2400, 288, 8000, {32, 128}, {4096, 128}, {262144, 0}};
inline constexpr GpuCard kRx5700xt = {"AMD Radeon RX 5700 XT", 40, 1, 1905, 8, 448, {16, 128}, {4096, 128}};
inline constexpr GpuCard kRx6800xt = {"AMD Radeon RX 6800 XT", 72, 1, 2575, 16, 512, {16, 128}, {4096, 128}, {131072, 64}};
inline constexpr GpuCard kRx7900xtx = {"AMD Radeon RX 7900 XTX", 96, 1, 2482, 24, 960, {32, 128}, {6144, 128}, {98304, 64}};
inline constexpr GpuCard kRx7800xt = {"AMD Radeon RX 7800 XT", 60, 1, 2430, 16, 624, {32, 128}, {4096, 128}, {65536, 64}};
inline constexpr GpuCard kRx7600 = {"AMD Radeon RX 7600", 32, 1, 2655, 8, 288, {32, 128}, {2048, 128}, {32768, 64}};
inline constexpr GpuCard k8060s = {"AMD Radeon 8060S", 40, 1, 2900, 0, 256, {32, 128}, {2048, 128}, {32768, 64}}; // memory is the host's
inline constexpr GpuCard k890m = {"AMD Radeon 890M", 16, 1, 2900, 0, 120, {32, 128}, {2048, 128}}; // LPDDR5x-7500
inline constexpr GpuCard k860m = {"AMD Radeon 860M", 8, 1, 3000, 0, 128, {32, 128}, {1024, 128}}; // LPDDR5x-8000
inline constexpr GpuCard k840m = {"AMD Radeon 840M", 4, 1, 2900, 0, 128, {32, 128}, {1024, 128}}; // L2 as the 860M, not looked up
inline constexpr GpuCard kRx9060xt = {"AMD Radeon RX 9060 XT", 32, 1, 3130, 16, 320, {32, 0}, {4096, 128}, {32768, 0}};
inline constexpr GpuCard kRx9070xt = {"AMD Radeon RX 9070 XT", 64, 1, 2970, 16, 640, {32, 0}, {8192, 128}, {65536, 0}};

inline constexpr auto kTable = std::to_array<GpuInfo>({
    // name, machine, version, sramecc, xnack, family, unit, rates, card, emulated
    {"gfx600", 0x20, 6, 0, 0, false, false, "GCN 1", kGcn1},
    {"gfx601", 0x21, 6, 0, 1, false, false, "GCN 1", kGcn1},
    {"gfx602", 0x3a, 6, 0, 2, false, false, "GCN 1", kGcn1},
    {"gfx700", 0x22, 7, 0, 0, false, false, "GCN 2", kGcn2},
    {"gfx701", 0x23, 7, 0, 1, false, false, "GCN 2", kGcn2},
    {"gfx702", 0x24, 7, 0, 2, false, false, "GCN 2", kGcn2Half},
    {"gfx703", 0x25, 7, 0, 3, false, false, "GCN 2", kGcn2Half},
    {"gfx704", 0x26, 7, 0, 4, false, false, "GCN 2", kGcn2},
    {"gfx705", 0x3b, 7, 0, 5, false, false, "GCN 2", kGcn2Half},
    {"gfx801", 0x28, 8, 0, 1, false, true, "GCN 3", kGcn3},
    {"gfx802", 0x29, 8, 0, 2, false, false, "GCN 3", kGcn3},
    {"gfx803", 0x2a, 8, 0, 3, false, false, "GCN 3", kGcn3},
    {"gfx805", 0x3c, 8, 0, 5, false, false, "GCN 3", kGcn3},
    {"gfx810", 0x2b, 8, 1, 0, false, true, "GCN 3", kGcn3Half},
    {"gfx900", 0x2c, 9, 0, 0, false, true, "GCN 5", kGcn3},
    {"gfx902", 0x2d, 9, 0, 2, false, true, "GCN 5", kGcn3},
    {"gfx904", 0x2e, 9, 0, 4, false, true, "GCN 5", kGcn3},
    {"gfx906", 0x2f, 9, 0, 6, true, true, "GCN 5", kGcn3, kRates906, kMi60},
    {"gfx908", 0x30, 9, 0, 8, true, true, "CDNA 1", kCdna1, kRates908, kMi100, true},
    {"gfx909", 0x31, 9, 0, 9, false, true, "GCN 5", kGcn3},
    {"gfx90a", 0x3f, 9, 0, 0xa, true, true, "CDNA 2", kCdna2, kRates90a, kMi210, true},
    {"gfx90c", 0x32, 9, 0, 0xc, false, true, "GCN 5", kGcn3},
    {"gfx940", 0x40, 9, 4, 0, true, true, "CDNA 3", kCdna2},
    {"gfx941", 0x4b, 9, 4, 1, true, true, "CDNA 3", kCdna2},
    {"gfx942", 0x4c, 9, 4, 2, true, true, "CDNA 3", kCdna2, kRates942, kMi300x, true},
    {"gfx950", 0x4f, 9, 5, 0, true, true, "CDNA 4", kCdna4, kRates950, kMi355x, true},
    {"gfx1010", 0x33, 10, 1, 0, false, true, "RDNA 1", kRdna1, kRatesRdna1, kRx5700xt},
    {"gfx1011", 0x34, 10, 1, 1, false, true, "RDNA 1", kRdna1},
    {"gfx1012", 0x35, 10, 1, 2, false, true, "RDNA 1", kRdna1},
    {"gfx1013", 0x42, 10, 1, 3, false, true, "RDNA 1", kRdna1},
    {"gfx1030", 0x36, 10, 3, 0, false, false, "RDNA 2", kRdna2, kRatesRdna2, kRx6800xt, true},
    {"gfx1031", 0x37, 10, 3, 1, false, false, "RDNA 2", kRdna2},
    {"gfx1032", 0x38, 10, 3, 2, false, false, "RDNA 2", kRdna2},
    {"gfx1033", 0x39, 10, 3, 3, false, false, "RDNA 2", kRdna2},
    {"gfx1034", 0x3e, 10, 3, 4, false, false, "RDNA 2", kRdna2},
    {"gfx1035", 0x3d, 10, 3, 5, false, false, "RDNA 2", kRdna2},
    {"gfx1036", 0x45, 10, 3, 6, false, false, "RDNA 2", kRdna2},
    {"gfx1100", 0x41, 11, 0, 0, false, false, "RDNA 3", kRdna3, kRatesRdna3, kRx7900xtx, true},
    {"gfx1101", 0x46, 11, 0, 1, false, false, "RDNA 3", kRdna3, kRatesRdna3, kRx7800xt},
    {"gfx1102", 0x47, 11, 0, 2, false, false, "RDNA 3", kRdna2, kRatesRdna3, kRx7600},
    {"gfx1103", 0x44, 11, 0, 3, false, false, "RDNA 3", kRdna2},
    {"gfx1150", 0x43, 11, 5, 0, false, false, "RDNA 3.5", kRdna2, kRatesRdna3, k890m, true},
    {"gfx1151", 0x4a, 11, 5, 1, false, false, "RDNA 3.5", kRdna3, kRatesRdna3, k8060s, true},
    {"gfx1152", 0x55, 11, 5, 2, false, false, "RDNA 3.5", kRdna2, kRatesRdna3, k860m, true},
    {"gfx1153", 0x58, 11, 5, 3, false, false, "RDNA 3.5", kRdna2, kRatesRdna3, k840m, true},
    {"gfx1200", 0x48, 12, 0, 0, false, false, "RDNA 4", kRdna3, kRatesRdna4, kRx9060xt, true},
    {"gfx1201", 0x4e, 12, 0, 1, false, false, "RDNA 4", kRdna3, kRatesRdna4, kRx9070xt, true},
    {"gfx1250", 0x49, 12, 5, 0, true, true, "", kGfx1250},
    {"gfx1251", 0x5a, 12, 5, 1, true, true, "", kGfx1250},
    // Code for these runs on several processors; the version is that of what they stand for.
    {"gfx9-generic", 0x51, 9, 0, 0, false, true, "GCN 5", kGcn3},
    {"gfx9-4-generic", 0x5f, 9, 4, 0, true, true, "CDNA 3", kCdna2},
    {"gfx10-1-generic", 0x52, 10, 1, 0, false, true, "RDNA 1", kRdna1},
    {"gfx10-3-generic", 0x53, 10, 3, 0, false, false, "RDNA 2", kRdna2},
    {"gfx11-generic", 0x54, 11, 0, 0, false, false, "RDNA 3", kRdna2},
    {"gfx12-generic", 0x59, 12, 0, 0, false, false, "RDNA 4", kRdna3},
    {"gfx12-5-generic", 0x5b, 12, 5, 0, true, true, "", kGfx1250},
});
// clang-format on

} // namespace fade::gpus
