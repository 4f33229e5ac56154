#include "base/write_file.h"

#include "base/messages.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <unistd.h>

namespace fade::cli {
namespace {
const std::string *private_folder = nullptr;
} // namespace

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

const std::string &privateFolder() {
  static const std::string folder = [] {
    std::error_code error;
    const std::filesystem::path base = std::filesystem::temp_directory_path(error);
    std::string name =
        ((error ? std::filesystem::path("/tmp") : base) / "fadeprobe-XXXXXX").string();
    if (!mkdtemp(name.data())) {
      complain(fmt::format("cannot create folder {}: {}", name, std::strerror(errno)));
      return std::string();
    }
    private_folder = new std::string(name); // outlives exit handlers
    std::atexit(removePrivateFolder);
    return name;
  }();
  return folder;
}

void removePrivateFolder() {
  if (private_folder) (void)rmdir(private_folder->c_str());
}

bool removeLeftover(const std::string &path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return true;
  complain(
      errno == ENAMETOOLONG || errno == ENOTDIR
          ? fmt::format("cannot write {}: {}", path, std::strerror(errno))
          : fmt::format("{} is in the way and cannot be removed: {}", path, std::strerror(errno)));
  return false;
}

} // namespace fade::cli
