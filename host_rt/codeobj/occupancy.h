// How many waves of a kernel fit on a SIMD at the same time, and what keeps it from being more.
#pragma once

#include "codeobj/code_object.h"

namespace fade::codeobj {

struct OccupancyInput {
  unsigned vgprs = 0; ///< per lane, with AGPRs where they share the file
  unsigned sgprs = 0; ///< per wave
  uint64_t lds = 0;   ///< bytes per workgroup, static and dynamic
  unsigned workgroup_size = 0;
  unsigned wavefront_size = 64;
  bool wgp_mode = false; ///< gfx10 and later: a workgroup may use both CUs of its processor
};

enum class OccupancyLimit : uint8_t {
  Waves, ///< nothing but what a SIMD can hold
  Vgprs,
  Sgprs,
  Lds,
  WorkgroupSize, ///< whole workgroups do not fill the rest
};
std::string_view to_string(OccupancyLimit limit);

struct Occupancy {
  unsigned max_waves = 0; ///< per SIMD, of this processor
  /// What each resource alone would allow, in waves per SIMD.
  unsigned by_vgprs = 0;
  unsigned by_sgprs = 0;
  unsigned by_lds = 0;
  unsigned by_workgroup = 0;
  /// With all of them, and with whole workgroups only.
  unsigned waves_per_simd = 0;
  unsigned workgroups = 0; ///< per CU; in WGP mode, per pair of CUs
  unsigned waves_per_workgroup = 0;
  bool fits = true; ///< the VGPRs of a workgroup into a CU, or a pair of them
  OccupancyLimit limit = OccupancyLimit::Waves;
};

/// Nothing for a processor this version of FADE does not know.
std::optional<Occupancy> occupancy(const Target &target, const OccupancyInput &input);

/// At the largest workgroup the kernel allows, with `dynamic_lds` bytes of LDS beside its own.
std::optional<Occupancy> occupancy(const Target &target, const Kernel &kernel,
                                   uint64_t dynamic_lds = 0);

/// What a kernel takes, with the largest workgroup that it allows.
OccupancyInput occupancyInput(const Kernel &kernel);

/// As a dispatch has it: work-items of a workgroup, and all its bytes of LDS.
struct Launch {
  uint64_t workgroup_size = 0, lds = 0;
};
std::optional<Occupancy> occupancy(const Target &target, const Kernel &kernel,
                                   const Launch &launch);

} // namespace fade::codeobj
