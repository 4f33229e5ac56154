#include "dispatch/residency.h"

#include <algorithm>

namespace fade {
namespace {

template <typename T> T upTo(T value, T granule) {
  return (value + granule - 1) / granule * granule;
}

/// As the hardware allocates it: scalar registers by 16, LDS in blocks.
std::optional<uint64_t> resident(const codeobj::Target &target, codeobj::OccupancyInput input,
                                 const ResidentLaunch &launch, uint32_t lds) {
  if (!target.gpu) return std::nullopt;
  const uint64_t block = target.gpu->unit.lds_bytes > 64 << 10 ? 1280 : 512;
  input.sgprs = upTo(input.sgprs, 16u);
  input.lds = upTo<uint64_t>(std::max<uint64_t>(input.lds, lds), block);
  if (launch.workgroup_size != 0) input.workgroup_size = launch.workgroup_size;
  const auto found = codeobj::occupancy(target, input);
  if (!found) return std::nullopt;
  const bool in_pairs = input.wgp_mode && target.version.major >= 10;
  return uint64_t{found->workgroups} * (in_pairs ? launch.compute_units / 2 : launch.compute_units);
}

std::optional<codeobj::OccupancyInput> inputOf(const codeobj::CodeObject *object,
                                               const std::string &symbol) {
  const auto index = object ? object->findKernel(symbol) : std::nullopt;
  if (!index) return std::nullopt;
  const auto kernel = object->kernel(*index);
  if (!kernel) return std::nullopt;
  return codeobj::occupancyInput(*kernel);
}

} // namespace

std::optional<ResidencyNeeds> ResidencyNeeds::of(const codeobj::CodeObject *original,
                                                 const std::string &original_symbol,
                                                 const codeobj::CodeObject *replacement,
                                                 const std::string &replacement_symbol) {
  const auto before = inputOf(original, original_symbol),
             after = inputOf(replacement, replacement_symbol);
  if (!before || !after) return std::nullopt;
  return ResidencyNeeds{replacement->target(), *before, *after};
}

std::optional<Residency> residencyOf(const ResidencyNeeds &needs, const ResidentLaunch &launch) {
  if (launch.compute_units == 0) return std::nullopt;
  const auto original = resident(needs.target, needs.original, launch, launch.original_lds);
  const auto replacement =
      resident(needs.target, needs.replacement, launch, launch.replacement_lds);
  if (!original || !replacement) return std::nullopt;
  return Residency{launch.workgroups, *original, *replacement};
}

} // namespace fade
