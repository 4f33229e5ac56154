#include "write_file.h"

#include "run.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <fstream>

namespace fade::cli {

bool writeFile(const std::string &path, const std::string &contents) {
  errno = 0;
  if (isStdout(path)) {
    if (std::fwrite(contents.data(), 1, contents.size(), stdout) == contents.size() &&
        std::fflush(stdout) == 0)
      return true;
    complain(fmt::format("cannot write to stdout: {}", std::strerror(errno != 0 ? errno : EIO)));
    return false;
  }
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  if (out) out.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  if (out) out.close();
  if (out) return true;
  complain(fmt::format("cannot write {}: {}", path, std::strerror(errno != 0 ? errno : EIO)));
  return false;
}

} // namespace fade::cli
