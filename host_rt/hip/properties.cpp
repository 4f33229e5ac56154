#include "hip/properties.h"

#include "fade/hip_structures.h"
#include "hip/recorder.h"

#include <algorithm>
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

namespace {

// hipDeviceAttribute_t, the same in HIP 5, 6 and 7.
enum Attribute : uint32_t {
  kClockRate = 5,
  kL2CacheSize = 19,
  kMemoryBusWidth = 59,
  kMemoryClockRate = 60,
  kMultiprocessorCount = 63,
  kPciBus = 67,
  kPciDevice = 68,
  kPciDomain = 69,
  kSharedMemoryPerBlock = 74,
  kWarpSize = 87
};

/// HIP may show fewer devices than there are, in another order: they are told apart by their place
/// on the PCI bus. Null if that is not known.
const DeviceFacts *factsOf(GetAttribute next, int32_t device) {
  const auto number = [&](Attribute attribute) -> uint32_t {
    int32_t value = 0;
    return next(&value, attribute, device) == 0 ? static_cast<uint32_t>(value) : UINT32_MAX;
  };
  const uint32_t bus = number(kPciBus), slot = number(kPciDevice);
  const auto isThere = [&](const DeviceFacts &one) {
    return one.pci_bus == bus && one.pci_device == slot;
  };
  const bool is_one = std::ranges::count_if(facts(), isThere) == 1;
  const uint32_t domain = is_one ? 0 : number(kPciDomain);
  for (const DeviceFacts &one : facts())
    if (isThere(one) && (is_one || one.pci_domain == domain)) return &one;
  return nullptr;
}

} // namespace

void checkAttribute(GetAttribute next, int32_t *value, uint32_t attribute,
                    int32_t device) noexcept {
  if (!value) return;
  struct Known {
    Attribute attribute;
    const char *name;
    uint64_t (*right)(const DeviceFacts &);
    uint64_t tolerance;
  };
  // What checkProperties() looks at, too: the two must not contradict each other.
  static constexpr std::array kAnswers = {
      Known{kMultiprocessorCount, "multiprocessor count", unitsOf, 0},
      Known{kClockRate, "clock rate", [](const DeviceFacts &one) { return one.clock_khz; }, 999},
      Known{kMemoryClockRate, "memory clock rate",
            [](const DeviceFacts &one) { return one.memory_clock_khz; }, 999},
      Known{kMemoryBusWidth, "memory bus width",
            [](const DeviceFacts &one) { return one.memory_bus_bits; }, 0},
      Known{kWarpSize, "warp size", [](const DeviceFacts &one) { return one.wave_size; }, 0},
      Known{kL2CacheSize, "L2 cache size", [](const DeviceFacts &one) { return one.l2_bytes; }, 0},
      Known{kSharedMemoryPerBlock, "shared memory per block",
            [](const DeviceFacts &one) { return one.lds_bytes; }, 0}};
  const auto *const known = std::ranges::find(kAnswers, attribute, &Known::attribute);
  if (known == kAnswers.end()) return;
  try {
    if (const DeviceFacts *one = factsOf(next, device))
      compare(placeOf(*one), known->name, static_cast<uint64_t>(*value), known->right(*one),
              known->tolerance, [&](uint64_t right) { *value = static_cast<int32_t>(right); });
  } catch (...) { // no memory
  }
}

} // namespace fade::hip
