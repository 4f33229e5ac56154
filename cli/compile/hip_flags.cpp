#include "compile/hip_flags.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <optional>
#include <string_view>

namespace fade::cli {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

bool compilesHip(const Words &command) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::string &word = command[i];
    if (word == "-xhip" || (word == "-x" && i + 1 < command.size() && command[i + 1] == "hip"))
      return true;
    if (word.ends_with(".hip") && !word.starts_with("-")) return true;
  }
  return false;
}

bool hasOption(const Words &command, std::string_view prefix) {
  return std::ranges::any_of(command, [&](const std::string &w) { return w.starts_with(prefix); });
}

/// The value of an option such as --rocm-path=/usr, or else of the variable; the last one counts.
std::string chosen(const Words &command, std::string_view option, const char *variable) {
  for (auto word = command.rbegin(); word != command.rend(); ++word)
    if (word->starts_with(option)) return word->substr(option.size());
  const char *value = std::getenv(variable);
  return value ? value : "";
}

/// Whether the command takes no device libraries, or names its own.
bool hasOwnLibraries(const Words &command) {
  return hasOption(command, "-nogpulib") || hasOption(command, "--no-offloadlib") ||
         !chosen(command, "--rocm-device-lib-path=", "HIP_DEVICE_LIB_PATH").empty() ||
         !chosen(command, "--hip-device-lib-path=", "HIP_DEVICE_LIB_PATH").empty();
}

/// The ROCm whose HIP the command uses.
fs::path rocmOf(const Words &command) {
  std::error_code error;
  const std::string own_hip = chosen(command, "--hip-path=", "HIP_PATH");
  if (!own_hip.empty()) return own_hip;
  const std::string own_rocm = chosen(command, "--rocm-path=", "ROCM_PATH");
  if (!own_rocm.empty()) return own_rocm;
  return fs::exists("/opt/rocm", error) ? "/opt/rocm" : "/usr";
}

/// gfx90a of --offload-arch=gfx90a:xnack-,gfx1030 and so on.
Words gpusOf(const Words &command) {
  Words gpus;
  for (const std::string &word : command) {
    constexpr std::string_view option = "--offload-arch=";
    if (!word.starts_with(option)) continue;
    std::string_view rest = std::string_view(word).substr(option.size());
    while (!rest.empty()) {
      const std::string_view item = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(item.size() + 1, rest.size()));
      if (item.starts_with("gfx")) gpus.emplace_back(item.substr(0, item.find(':')));
    }
  }
  return gpus;
}

/// 502 for HIP 5.2; 0 if it is not there.
int hipVersion(const fs::path &root) {
  std::ifstream file(root / "include/hip/hip_version.h");
  int major = 0, minor = 0;
  for (std::string define, name, value; file >> define;) {
    if (define != "#define" || !(file >> name)) continue;
    if (name == "HIP_VERSION_MAJOR" && file >> value) major = std::atoi(value.c_str());
    if (name == "HIP_VERSION_MINOR" && file >> value) minor = std::atoi(value.c_str());
  }
  return major * 100 + minor;
}

} // namespace

std::optional<std::string> deviceLibraries(const std::string &lib, unsigned clang) {
  std::error_code error;
  const auto hasThem = [&](const fs::path &place) { return fs::exists(place / "ocml.bc", error); };
  if (fs::path place = fs::path(lib) / "amdgcn/bitcode"; hasThem(place)) return place;
  for (const auto &entry : fs::directory_iterator(lib, error))
    if (fs::path place = entry.path() / "amdgcn/bitcode"; hasThem(place)) return place;
  for (unsigned version = clang; version > 0; --version)
    if (fs::path place = fmt::format("{0}/llvm-{1}/lib/clang/{1}/amdgcn/bitcode", lib, version);
        hasThem(place))
      return place;
  return std::nullopt;
}

Words hipFlagsFor(const Words &command, unsigned clang) {
  if (!compilesHip(command)) return {};
  std::error_code error;
  const fs::path root = rocmOf(command);
  const int version = hipVersion(root);
  if (version == 0) return {};

  Words flags;
  if (fs::equivalent(root, "/usr", error)) {
    const bool is_chosen = !chosen(command, "--hip-path=", "HIP_PATH").empty() ||
                           !chosen(command, "--rocm-path=", "ROCM_PATH").empty();
    const auto libraries = deviceLibraries("/usr/lib", clang);
    if (!is_chosen && libraries) flags.emplace_back("--rocm-path=/usr");
    if (!hasOwnLibraries(command) && libraries)
      flags.push_back("--rocm-device-lib-path=" + *libraries);
  }
  if (version >= 505) return flags;
  if (!hasOption(command, "-mcode-object-version")) flags.emplace_back("-mcode-object-version=4");
  // HIP 5.2 crashes on kernels whose metadata lists these hidden arguments.
  for (const char *attribute : {"amdgpu-no-completion-action", "amdgpu-no-default-queue"})
    if (!hasOption(command, attribute))
      for (const char *word : {"-Xclang", "-default-function-attr", "-Xclang", attribute})
        flags.emplace_back(word);
  return flags;
}

std::string unknownGpusIn(const Words &command, unsigned clang) {
  std::error_code error;
  if (!compilesHip(command) || hasOwnLibraries(command)) return {};
  const auto libraries = deviceLibraries("/usr/lib", clang);
  if (!libraries || !fs::equivalent(rocmOf(command), "/usr", error)) return {};
  return unknownGpusIn(command, *libraries);
}

std::string unknownGpusIn(const Words &command, const std::string &libraries) {
  const auto knows = [&](std::string_view gpu) {
    std::error_code error;
    return fs::exists(fmt::format("{}/oclc_isa_version_{}.bc", libraries, gpu.substr(3)), error);
  };
  Words unknown;
  for (const std::string &gpu : gpusOf(command))
    if (!knows(gpu) && std::ranges::find(unknown, gpu) == unknown.end()) unknown.push_back(gpu);
  if (unknown.empty()) return {};
  Words known;
  for (const char *gpu : {"gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"})
    if (knows(gpu)) known.emplace_back(gpu);
  return fmt::format(
      "the device libraries in {} do not know {}: compile for another GPU{}, or with "
      "a newer ROCm (--rocm-path, --rocm-device-lib-path)",
      libraries, fmt::join(unknown, ", "),
      known.empty() ? "" : fmt::format(" ({}, ...)", fmt::join(known, ", ")));
}

} // namespace fade::cli
