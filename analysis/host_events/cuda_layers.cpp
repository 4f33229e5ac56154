#include "analysis/host_events/cuda_layers.h"

#include "codeobj/elf.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace fade::host_trace {
namespace {

constexpr uintmax_t kLargest = 256u << 20; ///< bytes of a file whose symbols are read
constexpr std::size_t kNamed = 4;          ///< functions in a line

struct LibraryNames {
  std::set<std::string> given, taken;
};

/// CUDA's names in a library; none if it cannot be read.
LibraryNames namesIn(const std::string &path) {
  LibraryNames names;
  std::error_code error;
  if (const auto size = std::filesystem::file_size(path, error); error || size > kLargest)
    return names;
  const auto blob = codeobj::Blob::mapFile(path);
  if (!blob) return names;
  const auto elf = codeobj::Elf::open(*blob);
  if (!elf) return names;
  const auto symbols = elf->symbols();
  if (!symbols) return names;
  for (const codeobj::Symbol &symbol : *symbols) {
    const std::string_view name = symbol.name.substr(0, symbol.name.find('@')); // and its version
    if (symbol.binding == STB_LOCAL || !isCudaName(name)) continue;
    (symbol.section == SHN_UNDEF ? names.taken : names.given).emplace(name);
  }
  return names;
}

std::string listOf(const std::vector<std::string> &names) {
  const auto shown = std::min(names.size(), kNamed);
  std::string text = fmt::format("{}", fmt::join(names.begin(), names.begin() + shown, ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

} // namespace

bool isCudaLibrary(std::string_view path) {
  const std::string name = fileName(path);
  for (const char *begin : {"libcuda.", "libcuda-", "libcudart", "libcublas", "libcudnn",
                            "libcufft", "libcusparse", "libcurand", "libcusolver", "libnvrtc",
                            "libnccl", "libnvcuda", "libzluda", "libnvml", "libnvidia-ml"})
    if (name.starts_with(begin)) return true;
  return name.find("zluda") != name.npos;
}

bool isCudaName(std::string_view function) {
  if (function.starts_with("__cuda")) return true;
  if (!function.starts_with("cu")) return false;
  for (const char *begin : {"cuda", "cublas", "cudnn", "cufft", "cusparse", "curand", "cusolver"})
    if (function.starts_with(begin)) return true;
  return function.size() > 2 && function[2] >= 'A' && function[2] <= 'Z';
}

std::string fileName(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

std::vector<std::string> layersBySymbols(const Process &process) {
  std::map<std::string, LibraryNames> files; // by path
  for (const Library &library : process.libraries)
    if (isCudaLibrary(library.path)) files.try_emplace(std::string(library.path));
  if (files.empty()) return {};
  const std::set<std::string> layers = [&] {
    std::set<std::string> paths;
    for (const auto &[path, names] : files) paths.insert(path);
    return paths;
  }();
  for (const Library &library : process.libraries) files.try_emplace(std::string(library.path));
  for (auto &[path, names] : files) names = namesIn(path);

  std::vector<std::string> lines;
  for (const std::string &layer : layers) {
    const std::set<std::string> &given = files[layer].given;
    bool is_linked = false;
    for (const auto &[path, names] : files) {
      std::vector<std::string> both;
      std::ranges::set_intersection(names.taken, given, std::back_inserter(both));
      if (both.empty()) continue;
      is_linked = true;
      lines.push_back(
          fmt::format("{} takes from {}: {}", fileName(path), fileName(layer), listOf(both)));
    }
    if (!is_linked && !given.empty())
      lines.push_back(fmt::format("{} has {} of CUDA's functions; nothing is linked with it",
                                  fileName(layer), given.size()));
  }
  return lines;
}

} // namespace fade::host_trace
