#include "base/program_files.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <unistd.h>

namespace fade::cli {

namespace fs = std::filesystem;

std::string programOf(const std::string &word) {
  std::error_code ignored;
  if (word.find('/') != std::string::npos) return fs::is_regular_file(word, ignored) ? word : "";
  const char *path = std::getenv("PATH");
  for (std::string_view rest = path ? path : ""; !rest.empty();) {
    const auto colon = std::min(rest.find(':'), rest.size());
    const fs::path place = fs::path(rest.substr(0, colon)) / word;
    if (fs::is_regular_file(place, ignored) && access(place.c_str(), X_OK) == 0) return place;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return "";
}

std::vector<std::string> ownLibraryFolders() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const fs::path prefix = program.parent_path().parent_path();
  std::vector<std::string> folders;
  for (const fs::path &place :
       {prefix / "lib", prefix / "lib64", prefix / FADE_LIBDIR, program.parent_path()})
    if (std::ranges::find(folders, place.string()) == folders.end()) folders.push_back(place);
  return folders;
}

std::optional<std::string> ownLibrary(const std::string &file) {
  std::error_code error;
  for (const std::string &folder : ownLibraryFolders())
    if (const fs::path place = fs::path(folder) / file; fs::exists(place, error))
      return place.string();
  return std::nullopt;
}

} // namespace fade::cli
