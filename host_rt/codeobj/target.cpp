#include "codeobj/target.h"

#include <algorithm>
#include <charconv>

namespace fade::codeobj {
namespace {

constexpr std::string_view kTriple = "amdgcn-amd-amdhsa-";

bool isGeneric(std::string_view name) { return name.ends_with("-generic"); }

Target makeTarget(const GpuInfo &gpu) {
  Target target;
  target.processor = gpu.name;
  target.gpu = &gpu;
  target.version = {gpu.major, gpu.minor, gpu.stepping};
  target.generic = gpu.isGeneric();
  target.sramecc = gpu.has_sramecc ? Feature::Any : Feature::Unsupported;
  target.xnack = gpu.has_xnack ? Feature::Any : Feature::Unsupported;
  return target;
}

/// A processor this table does not have yet: "gfx" major minor stepping, the last two one hex digit
/// each.
std::optional<Target> guessProcessor(std::string_view name) {
  if (!name.starts_with("gfx") || name.size() < 6 || name.size() > 8) return std::nullopt;
  auto number = [](std::string_view digits, int base) -> std::optional<unsigned> {
    unsigned value = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return value;
  };
  std::string_view digits = name.substr(3);
  auto major = number(digits.substr(0, digits.size() - 2), 10);
  auto minor = number(digits.substr(digits.size() - 2, 1), 16);
  auto stepping = number(digits.substr(digits.size() - 1), 16);
  if (!major || !minor || !stepping) return std::nullopt;
  Target target;
  target.processor = name;
  target.version = {*major, *minor, *stepping};
  target.sramecc = target.xnack = Feature::Any;
  return target;
}

/// "sramecc+" or "xnack-", from either spelling of the settings.
bool applySetting(Target &target, std::string_view name, char sign) {
  Feature *feature = nullptr;
  if (name == "sramecc" || name == "sram-ecc") feature = &target.sramecc;
  if (name == "xnack") feature = &target.xnack;
  if (feature == nullptr || (sign != '+' && sign != '-')) return false;
  *feature = sign == '+' ? Feature::On : Feature::Off;
  return true;
}

/// The settings of "gfx90a:sramecc+:xnack-": the sign follows the name.
bool applyModernSettings(Target &target, std::string_view text) {
  while (!text.empty()) {
    if (text.front() != ':') return false;
    text.remove_prefix(1);
    std::string_view item = text.substr(0, text.find(':'));
    text.remove_prefix(item.size());
    if (item.empty() || !applySetting(target, item.substr(0, item.size() - 1), item.back()))
      return false;
  }
  return true;
}

/// The settings of "gfx906+xnack-sram-ecc", written by compilers before version 4: what is not
/// named is off.
bool applyOldSettings(Target &target, std::string_view text) {
  auto offUnlessUnsupported = [](Feature &f) {
    if (f != Feature::Unsupported) f = Feature::Off;
  };
  offUnlessUnsupported(target.sramecc);
  offUnlessUnsupported(target.xnack);
  while (!text.empty()) {
    char sign = text.front();
    text.remove_prefix(1);
    std::string_view name;
    for (std::string_view known : {"sram-ecc", "sramecc", "xnack"})
      if (text.starts_with(known)) name = known;
    if (name.empty() || !applySetting(target, name, sign)) return false;
    text.remove_prefix(name.size());
  }
  return true;
}

bool settingAllows(Feature code, Feature agent) {
  if (code == Feature::Any || code == Feature::Unsupported) return true;
  // An agent that does not say which setting it has is given the benefit of the doubt.
  return agent == code || agent == Feature::Any;
}

} // namespace

std::string Target::id() const {
  std::string text = processor;
  auto add = [&](Feature f, const char *name) {
    if (f == Feature::On) text.append(":").append(name).append("+");
    if (f == Feature::Off) text.append(":").append(name).append("-");
  };
  add(sramecc, "sramecc");
  add(xnack, "xnack");
  return text;
}

std::string Target::isaName() const { return std::string(kTriple) + "-" + id(); }

bool Target::hasUnifiedRegisters() const {
  // What is younger than the table is taken for one more of its line.
  return gpu ? gpu->unit.unified_registers : version >= GfxVersion{9, 4, 0} && version.major == 9;
}

bool Target::hasAccumulationRegisters() const {
  return gpu ? gpu->unit.has_agprs : hasUnifiedRegisters();
}

std::optional<Target> parseTarget(std::string_view text) {
  // Everything up to the processor: "amdgcn-amd-amdhsa--", with or without an environment, and
  // since LLVM 24 "amdgpu9.0a-amd-amdhsa-unknown-".
  const std::size_t dash = text.find('-');
  if (text.starts_with(kTriple) || (text.starts_with("amdgpu") && dash != text.npos &&
                                    text.substr(dash).starts_with("-amd-amdhsa-"))) {
    text.remove_prefix(dash);
    std::size_t gfx = text.find("gfx");
    if (gfx == std::string_view::npos) return std::nullopt;
    text.remove_prefix(gfx);
  }
  std::size_t end = text.find_first_of(":+");
  std::string_view name = text.substr(0, end);
  if (findGpu(name) == nullptr && !isGeneric(name)) {
    // The old spelling may start its settings with '-': "gfx906-xnack".
    end = text.find_first_of(":+-");
    name = text.substr(0, end);
  }
  std::string_view settings = end == std::string_view::npos ? "" : text.substr(end);
  std::optional<Target> target;
  if (const GpuInfo *gpu = findGpu(name))
    target = makeTarget(*gpu);
  else
    target = guessProcessor(name);
  if (!target) return std::nullopt;
  if (settings.empty()) return target;
  bool good = settings.front() == ':' ? applyModernSettings(*target, settings)
                                      : applyOldSettings(*target, settings);
  return good ? target : std::nullopt;
}

std::optional<Target> targetFromElfFlags(uint32_t flags, unsigned code_object_version) {
  const auto gpus = allGpus();
  auto it = std::ranges::find(gpus, static_cast<uint8_t>(flags), &GpuInfo::elf_machine);
  if (it == gpus.end()) return std::nullopt;
  Target target = makeTarget(*it);
  auto fromBit = [&](Feature &feature, uint32_t bit) {
    if (feature != Feature::Unsupported) feature = flags & bit ? Feature::On : Feature::Off;
  };
  if (code_object_version < 4) {
    fromBit(target.xnack, 0x100);
    fromBit(target.sramecc, 0x200);
    return target;
  }
  target.xnack = static_cast<Feature>((flags >> 8) & 3);
  target.sramecc = static_cast<Feature>((flags >> 10) & 3);
  if (target.generic && code_object_version >= 6) target.generic_version = flags >> 24;
  return target;
}

bool runsOn(const Target &code, const Target &agent) {
  const GfxVersion v = agent.version;
  bool same_processor = code.processor == agent.processor ||
                        (code.generic && code.processor == genericOf(v.major, v.minor, v.stepping));
  return same_processor && settingAllows(code.xnack, agent.xnack) &&
         settingAllows(code.sramecc, agent.sramecc);
}

} // namespace fade::codeobj
