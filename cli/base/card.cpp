#include "base/card.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <unistd.h>

namespace fade::cli {
namespace {

namespace fs = std::filesystem;

/// Whether the driver lists a GPU; true also where its list cannot be read, for then it is not
/// known.
bool listsGpu(const std::string &topology) {
  std::error_code error;
  bool is_readable = true, any = false;
  for (const auto &node : fs::directory_iterator(topology, error)) {
    std::ifstream properties(node.path() / "properties");
    is_readable &= properties.is_open();
    std::string key;
    for (uint64_t value = 0; properties >> key >> value;)
      if (key == "gfx_target_version" && value != 0) any = true;
  }
  return any || error || !is_readable;
}

} // namespace

std::string whyNoCard(const std::string &driver, const std::string &topology) {
  if (faccessat(AT_FDCWD, driver.c_str(), R_OK | W_OK, AT_EACCESS) != 0)
    return errno == ENOENT ? fmt::format("no AMD GPU found (no {})", driver)
                           : fmt::format("this machine's AMD GPU cannot be used ({}: {}; "
                                         "'fadeprobe doctor' says what helps)",
                                         driver, std::strerror(errno));
  if (!listsGpu(topology))
    return fmt::format("the driver lists no AMD GPU that ROCm supports ({}; 'fadeprobe doctor' "
                       "says more)",
                       topology);
  return "";
}

} // namespace fade::cli
