// What a GPU is: one table for everything that counts, models or describes.
//
// A row is a processor, as LLVM names it (gfx90a), with what its compute units have. Processors
// that were looked up also have a card: one product, the one that the software GPU says it is where
// there is one. Other products with the same processor differ in what GpuCard says, so on a real
// machine the runtime is to be asked for that.
//
// 0 stands for what is not known or not there. Add only what you can cite: gpu_table.h names the
// sources, and the few values that have none.
#pragma once

#include "fade/gpu_info.h"
#include "fade/gpu_table.h"

#include <span>
#include <string>
#include <string_view>

namespace fade {

/// Where a processor is not in the table, or the table does not know.
inline constexpr uint32_t kUsualLine = 128, kUsualBanks = 32;

constexpr std::span<const GpuInfo> allGpus() { return gpus::kTable; }

/// The generic target whose code runs on that processor too ("gfx11-generic" for gfx1153); empty if
/// there is none.
constexpr std::string_view genericOf(unsigned major, unsigned minor, unsigned stepping) {
  switch (major) {
  case 9:
    if (minor == 0 && stepping != 8 && stepping != 0xa) return "gfx9-generic";
    return minor == 5 || (minor == 4 && stepping >= 2) ? "gfx9-4-generic" : "";
  case 10: return minor == 1 ? "gfx10-1-generic" : minor == 3 ? "gfx10-3-generic" : "";
  case 11: return "gfx11-generic";
  case 12: return minor == 0 ? "gfx12-generic" : minor == 5 ? "gfx12-5-generic" : "";
  default: return "";
  }
}

/// By name, also of processors that the table does not have: "gfx", major, and one hexadecimal
/// digit each for minor and stepping.
constexpr std::string_view genericOf(std::string_view processor) {
  if (!processor.starts_with("gfx") || processor.size() < 6 || processor.size() > 8) return "";
  const std::string_view digits = processor.substr(3);
  const auto hex = [](char c) { return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c - '0'; };
  unsigned major = 0;
  for (const char c : digits.substr(0, digits.size() - 2))
    major = major * 10 + static_cast<unsigned>(c - '0');
  return genericOf(major, static_cast<unsigned>(hex(digits[digits.size() - 2])),
                   static_cast<unsigned>(hex(digits.back())));
}

/// By name, without settings such as ":xnack-"; null if it is not in the table.
constexpr const GpuInfo *findGpu(std::string_view name) {
  for (const GpuInfo &gpu : allGpus())
    if (name == gpu.name) return &gpu;
  return nullptr;
}

/// "gfx908, gfx90a, ...": those that there is a software GPU for.
inline std::string emulatedGpuNames() {
  std::string names;
  for (const GpuInfo &gpu : allGpus())
    if (gpu.is_emulated) names.append(names.empty() ? "" : ", ").append(gpu.name);
  return names;
}

} // namespace fade
