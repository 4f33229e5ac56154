#include "launch/observed_kernels.h"

#include "base/temporary.h"
#include "fade/sites.h"
#include "launch/gpu_choice.h"
#include "launch/run.h"

#include <cstdlib>
#include <filesystem>

namespace fade::cli {
namespace {

namespace fs = std::filesystem;

/// Empty if it is too large to be looked into.
std::string bytesOf(const std::string &program) {
  constexpr std::size_t largest = 256 << 20;
  std::error_code error;
  if (program.empty() || fs::file_size(program, error) > largest || error) return "";
  return contentsOf(program);
}

bool hasKernels(const std::string &bytes) { return bytes.find(".hip_fatbin") != bytes.npos; }

/// Whether the program has kernels of its own, and none of them was compiled with fadeprobe cc.
bool hasPlainKernels(const std::string &program) {
  const std::string bytes = bytesOf(program);
  return hasKernels(bytes) && bytes.find(FADE_SITES_SECTION) == bytes.npos;
}

} // namespace

bool willObserve(const std::string &gpu, std::string observe, const std::string &cache,
                 const std::string &program) {
  if (const char *set = std::getenv("FADE_OBSERVE"); observe.empty() && set) observe = set;
  if (!observe.empty() && observe != "auto") return observe == "gpu";
  return meansSoftwareGpu(gpu) && !std::getenv("FADE_KERNEL_CACHE") && cache.empty() &&
         hasPlainKernels(program);
}

std::string hipProgramIn(const std::vector<std::string> &command) {
  for (const std::string &word : command)
    if (const std::string program = programOf(word);
        !program.empty() && hasKernels(bytesOf(program)))
      return program;
  return command.empty() ? "" : programOf(command[0]);
}

} // namespace fade::cli
