#include "hip_flags.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>

namespace fade::cli {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

bool compiles_hip(const Words &command) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::string &word = command[i];
    if (word == "-xhip" || (word == "-x" && i + 1 < command.size() && command[i + 1] == "hip"))
      return true;
    if (word.ends_with(".hip") && !word.starts_with("-")) return true;
  }
  return false;
}

bool has_option(const Words &command, std::string_view prefix) {
  return std::ranges::any_of(command, [&](const std::string &w) { return w.starts_with(prefix); });
}

bool chooses_rocm(const Words &command) {
  constexpr std::array<std::string_view, 4> options = {"--rocm-path", "--hip-path",
                                                       "--rocm-device-lib-path", "-nogpulib"};
  constexpr std::array<const char *, 3> variables = {"ROCM_PATH", "HIP_PATH",
                                                     "HIP_DEVICE_LIB_PATH"};
  return std::ranges::any_of(options, [&](auto option) { return has_option(command, option); }) ||
         std::ranges::any_of(variables, [](const char *name) {
           const char *value = std::getenv(name);
           return value && *value;
         });
}

/// Where the device libraries are: lib/amdgcn/bitcode, or the same for an architecture of the host.
std::optional<fs::path> device_libraries() {
  std::error_code error;
  const fs::path lib = "/usr/lib";
  const auto has_them = [&](const fs::path &place) { return fs::exists(place / "ocml.bc", error); };
  if (has_them(lib / "amdgcn/bitcode")) return lib / "amdgcn/bitcode";
  for (const auto &entry : fs::directory_iterator(lib, error))
    if (const fs::path place = entry.path() / "amdgcn/bitcode"; has_them(place)) return place;
  return std::nullopt;
}

/// 502 for HIP 5.2; 0 if it is not there.
int hip_version() {
  std::ifstream file("/usr/include/hip/hip_version.h");
  int major = 0, minor = 0;
  for (std::string define, name, value; file >> define;) {
    if (define != "#define" || !(file >> name)) continue;
    if (name == "HIP_VERSION_MAJOR" && file >> value) major = std::atoi(value.c_str());
    if (name == "HIP_VERSION_MINOR" && file >> value) minor = std::atoi(value.c_str());
  }
  return major * 100 + minor;
}

} // namespace

Words hip_flags_for(const Words &command) {
  std::error_code error;
  if (!compiles_hip(command) || chooses_rocm(command) || fs::exists("/opt/rocm", error)) return {};
  const int version = hip_version();
  const auto libraries = device_libraries();
  if (version == 0 || !libraries) return {};
  Words flags = {"--rocm-path=/usr", "--rocm-device-lib-path=" + libraries->string()};
  if (version < 505) {
    if (!has_option(command, "-mcode-object-version"))
      flags.emplace_back("-mcode-object-version=4");
    // HIP 5.2 crashes on kernels whose metadata lists these hidden arguments.
    for (const char *attribute : {"amdgpu-no-completion-action", "amdgpu-no-default-queue"})
      for (const char *word : {"-Xclang", "-default-function-attr", "-Xclang", attribute})
        flags.emplace_back(word);
  }
  return flags;
}

} // namespace fade::cli
