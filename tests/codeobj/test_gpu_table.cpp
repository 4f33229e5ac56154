// The table of GPUs, and that it is what the reader of code objects knows.
#include "codeobj/target.h"
#include "fade/gpu.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace fade::codeobj {
namespace {

TEST(GpuTable, NamesAndMachineNumbersAreUnique) {
  std::set<std::string> names;
  std::set<unsigned> machines;
  for (const GpuInfo &gpu : allGpus()) {
    EXPECT_TRUE(names.insert(gpu.name).second) << gpu.name;
    EXPECT_TRUE(machines.insert(gpu.elf_machine).second) << gpu.name;
  }
}

TEST(GpuTable, TheVersionIsTheName) {
  for (const GpuInfo &gpu : allGpus()) {
    if (gpu.isGeneric()) continue;
    char name[16];
    std::snprintf(name, sizeof name, "gfx%u%x%x", gpu.major, gpu.minor, gpu.stepping);
    EXPECT_STREQ(gpu.name, name);
  }
}

TEST(GpuTable, EveryProcessorIsReadFromItsNameAndItsFlags) {
  for (const GpuInfo &gpu : allGpus()) {
    const auto by_name = parseTarget(gpu.name);
    ASSERT_TRUE(by_name) << gpu.name;
    EXPECT_EQ(by_name->gpu, &gpu);
    EXPECT_EQ(by_name->generic, gpu.isGeneric());
    const auto by_flags = targetFromElfFlags(gpu.elf_machine, 4);
    ASSERT_TRUE(by_flags) << gpu.name;
    EXPECT_EQ(by_flags->gpu, &gpu);
  }
}

TEST(GpuTable, AProcessorOfTheFutureHasNoRow) {
  EXPECT_EQ(findGpu("gfx1399"), nullptr);
  EXPECT_EQ(findGpu(""), nullptr);
  const auto target = parseTarget("gfx1399");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->gpu, nullptr);
}

TEST(GpuTable, ComputeUnitsAreConsistent) {
  for (const GpuInfo &gpu : allGpus()) {
    SCOPED_TRACE(gpu.name);
    const GpuUnit &u = gpu.unit;
    EXPECT_TRUE(u.smallest_wave == 32 || u.smallest_wave == 64);
    EXPECT_TRUE(u.largest_wave == u.smallest_wave || u.largest_wave == 2 * u.smallest_wave);
    EXPECT_EQ(u.smallest_wave, gpu.major >= 10 ? 32 : 64);
    EXPECT_EQ(u.simds, gpu.major >= 10 ? 2 : 4);
    // A wave can name 256 registers, or 512 where accumulation registers are among them; a SIMD
    // that is full of waves has at least one granule for each.
    EXPECT_GE(u.vgprs, u.unified_registers ? 512 : 256);
    EXPECT_GE(u.vgprs / u.vgpr_granule, u.waves_per_simd);
    EXPECT_EQ(u.vgprs % u.vgpr_granule, 0);
    EXPECT_TRUE(!u.unified_registers || u.has_agprs);
    EXPECT_EQ(u.sgprs == 0, gpu.major >= 10);
    EXPECT_EQ(u.lds_bytes % 1024, 0u);
    EXPECT_TRUE(u.lds_banks == 0 || u.lds_banks == 16 || u.lds_banks == 32 || u.lds_banks == 64);
    EXPECT_TRUE(u.line == 0 || u.line == 64 || u.line == 128);
    EXPECT_GT(u.workgroups, 0);
  }
}

TEST(GpuTable, RegisterFilesAreAsLargeAsAmdSays) {
  // KiB of vector registers per compute unit: AMD GPU specifications.
  struct {
    const char *name;
    unsigned kib;
  } published[] = {{"gfx906", 256},  {"gfx90a", 512},  {"gfx942", 512},  {"gfx950", 512},
                   {"gfx1030", 256}, {"gfx1100", 384}, {"gfx1101", 384}, {"gfx1102", 256},
                   {"gfx1151", 384}, {"gfx1200", 384}, {"gfx1201", 384}};
  for (const auto &p : published) {
    const GpuUnit &u = findGpu(p.name)->unit;
    // The page counts two compute units of RDNA together.
    EXPECT_EQ(u.vgprs * u.smallest_wave * u.simds * 4u / 1024, p.kib) << p.name;
  }
}

TEST(GpuTable, CardsAreConsistent) {
  size_t cards = 0;
  for (const GpuInfo &gpu : allGpus()) {
    SCOPED_TRACE(gpu.name);
    const GpuCard &c = gpu.card;
    if (!*c.name) {
      EXPECT_EQ(c.compute_units + c.engine_mhz + c.memory_gb_per_s, 0u);
      EXPECT_EQ(gpu.rates.vector_f32, 0);
      continue;
    }
    cards++;
    EXPECT_FALSE(gpu.isGeneric());
    EXPECT_GT(c.compute_units, 0u);
    EXPECT_GT(c.dies, 0u);
    EXPECT_EQ(c.compute_units % c.dies, 0u);
    EXPECT_GT(c.engine_mhz, 500u);
    EXPECT_LT(c.engine_mhz, 4000u);
    EXPECT_GT(c.memory_gb_per_s, 100u);
    EXPECT_GT(c.l1.kib, 0u);
    EXPECT_GT(c.l2.kib, c.l1.kib);
    EXPECT_EQ(c.l2.line, gpu.unit.line);
    EXPECT_TRUE(c.l3.kib == 0 || c.l3.kib > c.l2.kib);
    // Each lane of a SIMD does a multiply-add per clock, and half as much or as much again for
    // narrow types.
    EXPECT_EQ(gpu.rates.vector_f32 % 128, 0);
    EXPECT_GT(gpu.rates.vector_f32, 0);
  }
  EXPECT_GE(cards, 16u); // so that rows with cards were looked at
}

TEST(GpuTable, PeakRatesAreThoseThatAmdPublishes) {
  // TFLOPS: the product of what the table has.
  struct {
    const char *name;
    uint16_t GpuRates::*rate;
    double tflops;
  } published[] = {
      {"gfx906", &GpuRates::vector_f16, 29.5},   {"gfx908", &GpuRates::vector_f64, 11.5},
      {"gfx908", &GpuRates::matrix_f16, 184.6},  {"gfx90a", &GpuRates::vector_f64, 22.6},
      {"gfx90a", &GpuRates::matrix_f16, 181.0},  {"gfx942", &GpuRates::vector_f64, 81.7},
      {"gfx942", &GpuRates::matrix_f16, 1307.4}, {"gfx942", &GpuRates::matrix_f8, 2614.9},
      {"gfx950", &GpuRates::vector_f32, 157.3},  {"gfx1010", &GpuRates::vector_f32, 9.75},
      {"gfx1102", &GpuRates::vector_f32, 21.75}, {"gfx1201", &GpuRates::vector_f32, 48.7},
      {"gfx1201", &GpuRates::vector_f16, 97.3}};
  for (const auto &p : published) {
    const GpuInfo &gpu = *findGpu(p.name);
    const double tflops = 1e-6 * gpu.rates.*p.rate * gpu.card.compute_units * gpu.card.engine_mhz;
    EXPECT_NEAR(tflops, p.tflops, p.tflops * 0.005) << p.name;
  }
}

} // namespace
} // namespace fade::codeobj
