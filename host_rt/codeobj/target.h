// Which GPU a code object is for: "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", and what FADE knows
// of the processor.
#pragma once

#include "base/result.h"
#include "fade/gpu.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fade::codeobj {

/// gfx90a is {9, 0, 0xa}; gfx1030 is {10, 3, 0}. Generic targets carry the version of what they
/// stand for (gfx10-3-generic is {10, 3, 0}).
struct GfxVersion {
  unsigned major = 0;
  unsigned minor = 0;
  unsigned stepping = 0;
  bool operator==(const GfxVersion &) const = default;
  auto operator<=>(const GfxVersion &) const = default;
};

enum class Feature : uint8_t {
  Unsupported, ///< the processor has no such setting
  Any,         ///< the code runs with either setting
  Off,
  On,
};

struct Target {
  std::string processor; ///< "gfx90a", "gfx9-4-generic"
  GfxVersion version;
  const GpuInfo *gpu = nullptr; ///< null for a processor younger than this version of FADE
  bool generic = false;
  unsigned generic_version = 0; ///< from the ELF flags of version 6; 0 when not generic
  Feature sramecc = Feature::Unsupported;
  Feature xnack = Feature::Unsupported;

  /// "gfx90a:sramecc+:xnack-": a setting is named only when it is On or Off.
  std::string id() const;
  /// "amdgcn-amd-amdhsa--" + id().
  std::string isaName() const;
  /// gfx90a, gfx940 …: one register file split in VGPRs and AGPRs, 512 registers per lane.
  bool hasUnifiedRegisters() const;
  /// gfx908 and later of the gfx9 line.
  bool hasAccumulationRegisters() const;
};

/// Reads "gfx90a:xnack-", "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-" or the older
/// "…--gfx906+sram-ecc-xnack". A setting that is not named is Any if the processor has it.
std::optional<Target> parseTarget(std::string_view text);

/// From e_flags of a code object of version 2 to 6.
std::optional<Target> targetFromElfFlags(uint32_t flags, unsigned code_object_version);

/// Whether code for `code` may be loaded on an agent whose isa is `agent`.
bool runsOn(const Target &code, const Target &agent);

} // namespace fade::codeobj
