// What HIP says about a device, against what the HSA runtime and the driver say.
#pragma once

#include "fade/hip_api.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fade::hip {

/// 0 and "": not known.
struct DeviceFacts {
  uint32_t pci_domain = 0, pci_bus = 0, pci_device = 0;
  uint64_t compute_units = 0, driver_compute_units = 0; ///< by HSA, by the driver
  uint64_t clock_khz = 0, memory_clock_khz = 0, memory_bus_bits = 0;
  uint64_t wave_size = 0, memory_bytes = 0, lds_bytes = 0, l2_bytes = 0;
  std::string isa; ///< gfx90a:sramecc+:xnack-
};

/// Who knows them; asked when the application first asks HIP.
void setDeviceFacts(std::vector<DeviceFacts> (*ask)(), bool correct) noexcept;

/// Which question a function answers.
enum class Asked : uint8_t { nothing, properties_old, properties, attribute };
constexpr Asked askedBy(uint16_t function) {
  for (const FunctionInfo &info : kFunctions)
    if (info.number == function) {
      const std::string_view name = info.name;
      if (name == "hipGetDevicePropertiesR0000" || name == "hipGetDeviceProperties")
        return Asked::properties_old;
      if (name == "hipGetDevicePropertiesR0600") return Asked::properties;
      if (name == "hipDeviceGetAttribute") return Asked::attribute;
    }
  return Asked::nothing;
}

/// After a call that has succeeded: compares, records what differs once, and changes the answer if
/// that was asked for.
void checkProperties(Asked asked, void *properties) noexcept;
/// `next`: HIP's own function, which also says which of several devices is meant.
using GetAttribute = uint32_t (*)(int32_t *value, uint32_t attribute, int32_t device);
void checkAttribute(GetAttribute next, int32_t *value, uint32_t attribute, int32_t device) noexcept;

} // namespace fade::hip
