#include "hip/properties.h"

#include "fade/hip_structures.h"
#include "hip/recorder.h"

#include <array>
#include <atomic>
#include <cstring>
#include <fmt/format.h>
#include <mutex>
#include <set>

namespace fade::hip {
namespace {

/// Where things are in hipDeviceProp_t.
struct Layout {
  unsigned memory, lds, wave, clock, memory_clock, memory_bus, units, l2, domain, bus, device, arch;
};
consteval Layout layoutOf(std::string_view structure) {
  const auto at = [&](std::string_view path) {
    for (const Member &member : membersOf(structure, 0))
      if (member.path == path) return member.offset;
    throw "there is no such member"; // does not compile then
  };
  return {at("totalGlobalMem"),
          at("sharedMemPerBlock"),
          at("warpSize"),
          at("clockRate"),
          at("memoryClockRate"),
          at("memoryBusWidth"),
          at("multiProcessorCount"),
          at("l2CacheSize"),
          at("pciDomainID"),
          at("pciBusID"),
          at("pciDeviceID"),
          at("gcnArchName")};
}
constexpr Layout kOld = layoutOf("hipDeviceProp_tR0000"), kNew = layoutOf("hipDeviceProp_tR0600");
constexpr std::size_t kArchBytes = 256;

std::vector<DeviceFacts> (*ask_facts)() = nullptr;
std::atomic<bool> corrects{false};

const std::vector<DeviceFacts> &facts() {
  static const auto &all =
      *new std::vector<DeviceFacts>(ask_facts ? ask_facts() : std::vector<DeviceFacts>());
  return all;
}

template <typename T> T get(const char *at, unsigned offset) {
  T value;
  std::memcpy(&value, at + offset, sizeof value);
  return value;
}
template <typename T> void put(char *at, unsigned offset, T value) {
  std::memcpy(at + offset, &value, sizeof value);
}

/// Once for each thing that is said.
void report(const std::string &text) {
  static std::mutex said_mutex;
  static auto &said = *new std::set<std::string>;
  {
    const std::unique_lock lock(said_mutex, std::try_to_lock); // a child of fork must not wait
    if (!lock || !hasRecorder() || !isRecording() || !said.insert(text).second) return;
  }
  events::FindingEvent event{};
  event.header.kind = events::EventKind::finding;
  event.kind = corrects ? events::FindingKind::corrected : events::FindingKind::property;
  event.size = static_cast<uint16_t>(text.size());
  event.call = currentCall();
  event.time_ns = nowNs();
  (void)recordEvent(event, text);
}

std::string placeOf(const DeviceFacts &device) {
  return fmt::format("device {:04x}:{:02x}:{:02x} ({})", device.pci_domain, device.pci_bus,
                     device.pci_device, device.isa);
}

/// What is right: the driver, then HSA. 0 if neither knows.
uint64_t unitsOf(const DeviceFacts &device) {
  if (device.driver_compute_units == 0) return device.compute_units;
  if (device.compute_units != 0 && device.compute_units != device.driver_compute_units)
    report(fmt::format("{}: HSA says {} compute units, the driver says {}", placeOf(device),
                       device.compute_units, device.driver_compute_units));
  return device.driver_compute_units;
}

/// Whether two numbers differ by more than rounding: HIP has kHz where HSA has MHz.
bool differs(uint64_t theirs, uint64_t right, uint64_t tolerance) {
  if (right == 0) return false;
  return theirs > right ? theirs - right > tolerance : right - theirs > tolerance;
}

void compare(const std::string &where, const char *name, uint64_t theirs, uint64_t right,
             uint64_t tolerance, auto change) {
  if (!differs(theirs, right, tolerance)) return;
  report(fmt::format("{}: HIP says {} {}, HSA says {}", where, name, theirs, right));
  if (corrects) change(right);
}

void compareAll(char *at, const Layout &layout, const DeviceFacts &device) {
  const std::string where = placeOf(device);
  const auto number = [&](const char *name, unsigned offset, uint64_t right, uint64_t tolerance) {
    const auto theirs = static_cast<uint64_t>(get<int32_t>(at, offset));
    compare(where, name, theirs, right, tolerance,
            [&](uint64_t value) { put(at, offset, static_cast<int32_t>(value)); });
  };
  const auto size = [&](const char *name, unsigned offset, uint64_t right, uint64_t tolerance) {
    compare(where, name, get<uint64_t>(at, offset), right, tolerance,
            [&](uint64_t value) { put(at, offset, value); });
  };
  number("multiProcessorCount", layout.units, unitsOf(device), 0);
  number("clockRate", layout.clock, device.clock_khz, 999);
  number("memoryClockRate", layout.memory_clock, device.memory_clock_khz, 999);
  number("memoryBusWidth", layout.memory_bus, device.memory_bus_bits, 0);
  number("warpSize", layout.wave, device.wave_size, 0);
  number("l2CacheSize", layout.l2, device.l2_bytes, 0);
  size("totalGlobalMem", layout.memory, device.memory_bytes, device.memory_bytes / 64);
  size("sharedMemPerBlock", layout.lds, device.lds_bytes, 0);
  const char *arch = at + layout.arch;
  const std::string theirs(arch, strnlen(arch, kArchBytes));
  if (device.isa.empty() || theirs == device.isa) return;
  report(fmt::format("{}: HIP says gcnArchName {}, HSA says {}", where, theirs, device.isa));
  if (corrects && device.isa.size() < kArchBytes) std::strcpy(at + layout.arch, device.isa.c_str());
}

} // namespace

void setDeviceFacts(std::vector<DeviceFacts> (*ask)(), bool correct) noexcept {
  ask_facts = ask;
  corrects.store(correct);
}

void checkProperties(Asked asked, void *properties) noexcept {
  if (!properties) return;
  try {
    auto *at = static_cast<char *>(properties);
    const Layout &layout = asked == Asked::properties_old ? kOld : kNew;
    for (const DeviceFacts &device : facts())
      if (get<uint32_t>(at, layout.domain) == device.pci_domain &&
          get<uint32_t>(at, layout.bus) == device.pci_bus &&
          get<uint32_t>(at, layout.device) == device.pci_device)
        return compareAll(at, layout, device);
  } catch (...) { // no memory
  }
}

void checkAttribute(int32_t *value, uint32_t attribute, int32_t device) noexcept {
  // HIP may show fewer devices than there are, in another order; of one there is no doubt.
  if (!value) return;
  try {
    if (facts().size() != 1 || device != 0) return;
    const DeviceFacts &one = facts()[0];
    struct Known {
      uint32_t attribute;
      const char *name;
      uint64_t right, tolerance;
    };
    // hipDeviceAttribute_t, the same in HIP 5, 6 and 7.
    const std::array answers = {Known{63, "multiprocessor count", unitsOf(one), 0},
                                Known{5, "clock rate", one.clock_khz, 999},
                                Known{60, "memory clock rate", one.memory_clock_khz, 999},
                                Known{59, "memory bus width", one.memory_bus_bits, 0},
                                Known{87, "warp size", one.wave_size, 0}};
    for (const Known &each : answers)
      if (each.attribute == attribute)
        compare(placeOf(one), each.name, static_cast<uint64_t>(*value), each.right, each.tolerance,
                [&](uint64_t right) { *value = static_cast<int32_t>(right); });
  } catch (...) { // no memory
  }
}

} // namespace fade::hip
