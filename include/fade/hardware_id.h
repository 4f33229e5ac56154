// Where a wave ran, from its announcement (fade_wave_begin): the bits of HW_ID and HW_ID1 mean
// something else in each generation. Header-only.
//
//   gfx9   HW_ID    wave 3:0, SIMD 5:4, CU 11:8, shader array 12, shader engine 14:13; gfx908,
//                   gfx90a and the gfx94 and gfx95 processors have eight engines: 15:13
//   gfx10  HW_ID1   wave 4:0, SIMD 9:8, workgroup processor 13:10, shader array 16, engine 19:18
//   gfx11  HW_ID1   the same, engine 20:18; gfx12 likewise
//
// A workgroup processor has two compute units with two SIMDs each. As HIP's __smid and the tests of
// ROCr have them.
#pragma once

#include "gpu.h"
#include "message.h"

#include <compare>
#include <cstdint>
#include <string_view>

namespace fade {

struct HardwarePlace {
  uint32_t xcc = 0;    ///< die, on GPUs with several
  uint32_t engine = 0; ///< shader engine
  uint32_t array = 0;  ///< shader array in it
  uint32_t unit = 0;   ///< compute unit in that
  uint32_t simd = 0;   ///< in the compute unit
  uint32_t slot = 0;   ///< of the SIMD: which of its waves

  auto operator<=>(const HardwarePlace &) const = default;
};

/// `target`: gfx90a; a processor that is not known is read like its generation.
constexpr HardwarePlace hardwarePlace(std::string_view target, const fade_wave_begin &wave) {
  const uint32_t id = wave.hardware_id;
  const auto bits = [id](unsigned low, unsigned count) { return id >> low & ((1u << count) - 1); };
  const GpuInfo *gpu = findGpu(target);
  const unsigned major = gpu ? gpu->major : target.starts_with("gfx1") ? 11 : 9;
  HardwarePlace place;
  place.xcc = wave.header.encoding >> FADE_WAVE_XCC_SHIFT;
  if (major >= 10) {
    place.slot = bits(0, 5);
    place.simd = bits(8, 1);
    place.unit = 2 * bits(10, 4) + bits(9, 1);
    place.array = bits(16, 1);
    place.engine = bits(18, major == 10 ? 2 : 3);
    return place;
  }
  const bool has_eight = gpu && gpu->unit.has_agprs; // CDNA
  place.slot = bits(0, 4);
  place.simd = bits(4, 2);
  place.unit = bits(8, 4);
  place.array = bits(12, 1);
  place.engine = bits(13, has_eight ? 3 : 2);
  return place;
}

} // namespace fade
