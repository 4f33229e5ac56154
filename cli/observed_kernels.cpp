#include "observed_kernels.h"

#include "fade/sites.h"
#include "gpu_choice.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace fade::cli {
namespace {

namespace fs = std::filesystem;

/// Whether the program has kernels of its own, and none of them was compiled with fadeprobe cc.
bool hasPlainKernels(const std::string &program) {
  constexpr std::size_t largest = 256 << 20;
  std::error_code error;
  if (program.empty() || fs::file_size(program, error) > largest || error) return false;
  std::ifstream in(program, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  return bytes.find(".hip_fatbin") != bytes.npos && bytes.find(FADE_SITES_SECTION) == bytes.npos;
}

} // namespace

bool willObserve(const std::string &gpu, std::string observe, const std::string &cache,
                 const std::string &program) {
  if (const char *set = std::getenv("FADE_OBSERVE"); observe.empty() && set) observe = set;
  if (!observe.empty() && observe != "auto") return observe == "gpu";
  return meansSoftwareGpu(gpu) && !std::getenv("FADE_KERNEL_CACHE") && cache.empty() &&
         hasPlainKernels(program);
}

} // namespace fade::cli
