#include "codeobj/target.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace fade::codeobj {
namespace {

struct Processor {
  std::string_view name;
  std::uint8_t machine; ///< low byte of e_flags
  GfxVersion version;
  bool has_sramecc;
  bool has_xnack;
};

constexpr std::array kProcessors = {
    Processor{"gfx600", 0x20, {6, 0, 0}, false, false},
    Processor{"gfx601", 0x21, {6, 0, 1}, false, false},
    Processor{"gfx602", 0x3a, {6, 0, 2}, false, false},
    Processor{"gfx700", 0x22, {7, 0, 0}, false, false},
    Processor{"gfx701", 0x23, {7, 0, 1}, false, false},
    Processor{"gfx702", 0x24, {7, 0, 2}, false, false},
    Processor{"gfx703", 0x25, {7, 0, 3}, false, false},
    Processor{"gfx704", 0x26, {7, 0, 4}, false, false},
    Processor{"gfx705", 0x3b, {7, 0, 5}, false, false},
    Processor{"gfx801", 0x28, {8, 0, 1}, false, true},
    Processor{"gfx802", 0x29, {8, 0, 2}, false, false},
    Processor{"gfx803", 0x2a, {8, 0, 3}, false, false},
    Processor{"gfx805", 0x3c, {8, 0, 5}, false, false},
    Processor{"gfx810", 0x2b, {8, 1, 0}, false, true},
    Processor{"gfx900", 0x2c, {9, 0, 0}, false, true},
    Processor{"gfx902", 0x2d, {9, 0, 2}, false, true},
    Processor{"gfx904", 0x2e, {9, 0, 4}, false, true},
    Processor{"gfx906", 0x2f, {9, 0, 6}, true, true},
    Processor{"gfx908", 0x30, {9, 0, 8}, true, true},
    Processor{"gfx909", 0x31, {9, 0, 9}, false, true},
    Processor{"gfx90a", 0x3f, {9, 0, 0xa}, true, true},
    Processor{"gfx90c", 0x32, {9, 0, 0xc}, false, true},
    Processor{"gfx940", 0x40, {9, 4, 0}, true, true},
    Processor{"gfx941", 0x4b, {9, 4, 1}, true, true},
    Processor{"gfx942", 0x4c, {9, 4, 2}, true, true},
    Processor{"gfx950", 0x4f, {9, 5, 0}, true, true},
    Processor{"gfx1010", 0x33, {10, 1, 0}, false, true},
    Processor{"gfx1011", 0x34, {10, 1, 1}, false, true},
    Processor{"gfx1012", 0x35, {10, 1, 2}, false, true},
    Processor{"gfx1013", 0x42, {10, 1, 3}, false, true},
    Processor{"gfx1030", 0x36, {10, 3, 0}, false, false},
    Processor{"gfx1031", 0x37, {10, 3, 1}, false, false},
    Processor{"gfx1032", 0x38, {10, 3, 2}, false, false},
    Processor{"gfx1033", 0x39, {10, 3, 3}, false, false},
    Processor{"gfx1034", 0x3e, {10, 3, 4}, false, false},
    Processor{"gfx1035", 0x3d, {10, 3, 5}, false, false},
    Processor{"gfx1036", 0x45, {10, 3, 6}, false, false},
    Processor{"gfx1100", 0x41, {11, 0, 0}, false, false},
    Processor{"gfx1101", 0x46, {11, 0, 1}, false, false},
    Processor{"gfx1102", 0x47, {11, 0, 2}, false, false},
    Processor{"gfx1103", 0x44, {11, 0, 3}, false, false},
    Processor{"gfx1150", 0x43, {11, 5, 0}, false, false},
    Processor{"gfx1151", 0x4a, {11, 5, 1}, false, false},
    Processor{"gfx1152", 0x55, {11, 5, 2}, false, false},
    Processor{"gfx1153", 0x58, {11, 5, 3}, false, false},
    Processor{"gfx1200", 0x48, {12, 0, 0}, false, false},
    Processor{"gfx1201", 0x4e, {12, 0, 1}, false, false},
    Processor{"gfx1250", 0x49, {12, 5, 0}, true, true},
    Processor{"gfx1251", 0x5a, {12, 5, 1}, true, true},
    Processor{"gfx9-generic", 0x51, {9, 0, 0}, false, true},
    Processor{"gfx9-4-generic", 0x5f, {9, 4, 0}, true, true},
    Processor{"gfx10-1-generic", 0x52, {10, 1, 0}, false, true},
    Processor{"gfx10-3-generic", 0x53, {10, 3, 0}, false, false},
    Processor{"gfx11-generic", 0x54, {11, 0, 0}, false, false},
    Processor{"gfx12-generic", 0x59, {12, 0, 0}, false, false},
    Processor{"gfx12-5-generic", 0x5b, {12, 5, 0}, true, true},
};

constexpr std::string_view kTriple = "amdgcn-amd-amdhsa-";

const Processor *find_processor(std::string_view name) {
  auto it = std::ranges::find(kProcessors, name, &Processor::name);
  return it == kProcessors.end() ? nullptr : &*it;
}

bool is_generic(std::string_view name) { return name.ends_with("-generic"); }

Target make_target(const Processor &processor) {
  Target target;
  target.processor = processor.name;
  target.version = processor.version;
  target.generic = is_generic(processor.name);
  target.sramecc = processor.has_sramecc ? Feature::Any : Feature::Unsupported;
  target.xnack = processor.has_xnack ? Feature::Any : Feature::Unsupported;
  return target;
}

/// A processor this table does not have yet: "gfx" major minor stepping, the last two one hex digit
/// each.
std::optional<Target> guess_processor(std::string_view name) {
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
  target.known = false;
  target.version = {*major, *minor, *stepping};
  target.sramecc = target.xnack = Feature::Any;
  return target;
}

/// "sramecc+" or "xnack-", from either spelling of the settings.
bool apply_setting(Target &target, std::string_view name, char sign) {
  Feature *feature = nullptr;
  if (name == "sramecc" || name == "sram-ecc") feature = &target.sramecc;
  if (name == "xnack") feature = &target.xnack;
  if (feature == nullptr || (sign != '+' && sign != '-')) return false;
  *feature = sign == '+' ? Feature::On : Feature::Off;
  return true;
}

/// The settings of "gfx90a:sramecc+:xnack-": the sign follows the name.
bool apply_modern_settings(Target &target, std::string_view text) {
  while (!text.empty()) {
    if (text.front() != ':') return false;
    text.remove_prefix(1);
    std::string_view item = text.substr(0, text.find(':'));
    text.remove_prefix(item.size());
    if (item.empty() || !apply_setting(target, item.substr(0, item.size() - 1), item.back()))
      return false;
  }
  return true;
}

/// The settings of "gfx906+xnack-sram-ecc", written by compilers before version 4: what is not
/// named is off.
bool apply_old_settings(Target &target, std::string_view text) {
  auto off_unless_unsupported = [](Feature &f) {
    if (f != Feature::Unsupported) f = Feature::Off;
  };
  off_unless_unsupported(target.sramecc);
  off_unless_unsupported(target.xnack);
  while (!text.empty()) {
    char sign = text.front();
    text.remove_prefix(1);
    std::string_view name;
    for (std::string_view known : {"sram-ecc", "sramecc", "xnack"})
      if (text.starts_with(known)) name = known;
    if (name.empty() || !apply_setting(target, name, sign)) return false;
    text.remove_prefix(name.size());
  }
  return true;
}

/// Generic targets and the processors they cover.
bool covers(std::string_view generic, const Target &agent) {
  const GfxVersion v = agent.version;
  if (generic == "gfx9-generic")
    return v.major == 9 && v.minor == 0 && v.stepping != 8 && v.stepping != 0xa;
  if (generic == "gfx9-4-generic")
    return v.major == 9 && (v.minor == 5 || (v.minor == 4 && v.stepping >= 2));
  if (generic == "gfx10-1-generic") return v.major == 10 && v.minor == 1;
  if (generic == "gfx10-3-generic") return v.major == 10 && v.minor == 3;
  if (generic == "gfx11-generic") return v.major == 11;
  if (generic == "gfx12-generic") return v.major == 12 && v.minor == 0;
  if (generic == "gfx12-5-generic") return v.major == 12 && v.minor == 5;
  return false;
}

bool setting_allows(Feature code, Feature agent) {
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

std::string Target::isa_name() const { return std::string(kTriple) + "-" + id(); }

bool Target::has_unified_registers() const {
  return version.major == 9 &&
         (version.minor >= 4 || (version.minor == 0 && version.stepping == 0xa));
}

bool Target::has_accumulation_registers() const {
  return has_unified_registers() || version == GfxVersion{9, 0, 8};
}

std::optional<Target> parse_target(std::string_view text) {
  // Everything up to the processor: "amdgcn-amd-amdhsa--", with or without an environment.
  if (text.starts_with(kTriple)) {
    text.remove_prefix(kTriple.size());
    std::size_t gfx = text.find("gfx");
    if (gfx == std::string_view::npos) return std::nullopt;
    text.remove_prefix(gfx);
  }
  std::size_t end = text.find_first_of(":+");
  std::string_view name = text.substr(0, end);
  if (find_processor(name) == nullptr && !is_generic(name)) {
    // The old spelling may start its settings with '-': "gfx906-xnack".
    end = text.find_first_of(":+-");
    name = text.substr(0, end);
  }
  std::string_view settings = end == std::string_view::npos ? "" : text.substr(end);
  std::optional<Target> target;
  if (const Processor *processor = find_processor(name))
    target = make_target(*processor);
  else
    target = guess_processor(name);
  if (!target) return std::nullopt;
  if (settings.empty()) return target;
  bool good = settings.front() == ':' ? apply_modern_settings(*target, settings)
                                      : apply_old_settings(*target, settings);
  return good ? target : std::nullopt;
}

std::optional<Target> target_from_elf_flags(std::uint32_t flags, unsigned code_object_version) {
  auto it = std::ranges::find(kProcessors, static_cast<std::uint8_t>(flags), &Processor::machine);
  if (it == kProcessors.end()) return std::nullopt;
  Target target = make_target(*it);
  auto from_bit = [&](Feature &feature, std::uint32_t bit) {
    if (feature != Feature::Unsupported) feature = flags & bit ? Feature::On : Feature::Off;
  };
  if (code_object_version < 4) {
    from_bit(target.xnack, 0x100);
    from_bit(target.sramecc, 0x200);
    return target;
  }
  target.xnack = static_cast<Feature>((flags >> 8) & 3);
  target.sramecc = static_cast<Feature>((flags >> 10) & 3);
  if (target.generic && code_object_version >= 6) target.generic_version = flags >> 24;
  return target;
}

bool runs_on(const Target &code, const Target &agent) {
  bool same_processor =
      code.processor == agent.processor || (code.generic && covers(code.processor, agent));
  return same_processor && setting_allows(code.xnack, agent.xnack) &&
         setting_allows(code.sramecc, agent.sramecc);
}

} // namespace fade::codeobj
