#include "launch/gpu_choice.h"

#include "base/card.h"
#include "base/program_files.h"
#include "fade/gpu.h"
#include "fade/options.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace fade::cli {
namespace {

constexpr const char *kDefaultGpu = "gfx90a";

/// Whether each name of the list is one that the software GPU knows.
bool checkNames(const char *source, std::string_view list) {
  constexpr std::array<std::string_view, 2> words = {"auto", "real"};
  for (bool is_last = false; !is_last;) {
    const auto comma = std::min(list.find(','), list.size());
    const auto name = list.substr(0, comma);
    if (const GpuInfo *gpu = findGpu(name); !gpu || !gpu->is_emulated) {
      complain(fmt::format("{}: '{}' is not a GPU that can be emulated ({}, or a list such as "
                           "gfx90a,gfx90a){}",
                           source, name, emulatedGpuNames(), suggestion(name, words)));
      return false;
    }
    is_last = comma == list.size();
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return true;
}

bool checkReal() {
  if (hasLibrary(std::getenv(kPreload), kSoftwareGpu)) {
    complain(fmt::format("--gpu real: {} contains the software GPU", kPreload));
    return false;
  }
  const std::string why = whyNoCard();
  if (!why.empty()) complain("--gpu real: " + why);
  return why.empty();
}

} // namespace

bool hasLibrary(const char *list, const char *file) {
  return list && std::string_view(list).find(file) != std::string_view::npos;
}

std::string withFront(const char *variable, const std::string &library, char separator) {
  const char *old = std::getenv(variable);
  if (!old || !*old || hasLibrary(old, library.c_str())) return old && *old ? old : library;
  return library + separator + old;
}

bool fitsInList(const std::string &library) {
  if (fitsInLists(library)) return true;
  complain(fmt::format("{} cannot be loaded from there: LD_PRELOAD and HSA_TOOLS_LIB cannot hold a "
                       "path with a '{}'; move FADE to another folder",
                       library, library[library.find_first_of(" :\t\n")]));
  return false;
}

std::vector<std::string> gpusOf(const Variables &variables) {
  std::vector<std::string> names;
  if (hasLibrary(valueOf(variables, kPreload).c_str(), kSoftwareGpu)) {
    const std::string list = valueOf(variables, "FADE_GPU");
    std::istringstream words(list.empty() ? kDefaultGpu : list);
    for (std::string name; std::getline(words, name, ',');) names.push_back(name);
    return names;
  }
  std::error_code error;
  for (const auto &node : std::filesystem::directory_iterator(kTopology, error)) {
    std::ifstream properties(node.path() / "properties");
    std::string key;
    for (uint64_t value = 0; properties >> key >> value;)
      if (key == "gfx_target_version" && value != 0) // 90010 is gfx90a
        names.push_back(
            fmt::format("gfx{}{:x}{:x}", value / 10000, value / 100 % 100, value % 100));
  }
  return names;
}

bool meansSoftwareGpu(const std::string &gpu) {
  if (gpu != "auto") return gpu != "real";
  return hasLibrary(std::getenv(kPreload), kSoftwareGpu) || !whyNoCard().empty();
}

bool chooseGpu(const std::string &gpu, bool only_shown, Variables &out) {
  const bool named = gpu != "auto" && gpu != "real";
  if (named && !checkNames("--gpu", gpu)) return false;
  if (gpu == "real") return only_shown || checkReal();
  const bool is_preloaded = hasLibrary(std::getenv(kPreload), kSoftwareGpu);
  const std::string why = named || is_preloaded ? "" : whyNoCard();
  if (gpu == "auto" && !is_preloaded && why.empty()) return true;
  const char *inherited = std::getenv("FADE_GPU");
  const bool has_inherited = inherited && *inherited;
  if (!named && has_inherited && !checkNames("FADE_GPU", inherited)) return false;
  if (is_preloaded && !named) return true;
  const auto library = ownLibrary(kSoftwareGpu);
  if (!library) {
    complain(named ? fmt::format("--gpu {}: {} is not installed", gpu, kSoftwareGpu)
                   : fmt::format("{}, and {} is not installed", why, kSoftwareGpu));
    return false;
  }
  if (!fitsInList(*library)) return false;
  out.emplace_back(kPreload, withFront(kPreload, *library, ':'));
  if (named)
    out.emplace_back("FADE_GPU", gpu);
  else if (!only_shown)
    complain(fmt::format("{}: running on the software GPU as {}", why,
                         has_inherited ? inherited : kDefaultGpu));
  return true;
}

} // namespace fade::cli
