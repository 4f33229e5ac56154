#include "base/program_files.h"

#include "base/fnv1a.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <string_view>
#include <sys/stat.h>
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

namespace {

/// A folder that is this user's alone; empty if there is none.
fs::path ownFolder() {
  const char *runtime = std::getenv("XDG_RUNTIME_DIR");
  for (const std::string &place : {std::string(runtime ? runtime : ""), std::string("/tmp")}) {
    if (place.empty() || !fitsInLists(place)) continue;
    const std::string folder = fmt::format("{}/fade-{}", place, getuid());
    mkdir(folder.c_str(), 0700);
    struct stat found {};
    if (lstat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == getuid() &&
        (found.st_mode & 077) == 0)
      return folder;
  }
  return {};
}

/// FADE's folder, by a name that fits in lists: a link to it, which stays.
fs::path listedPrefix(const fs::path &prefix) {
  if (fitsInLists(prefix.string())) return prefix;
  const fs::path folder = ownFolder();
  if (folder.empty()) return prefix;
  std::error_code error;
  const fs::path link = folder / fmt::format("{:016x}", fnv1a(prefix.string()));
  if (fs::read_symlink(link, error) == prefix) return link;
  const fs::path made = link.string() + "." + std::to_string(getpid());
  fs::create_directory_symlink(prefix, made, error);
  fs::rename(made, link, error);
  return fs::read_symlink(link, error) == prefix ? link : prefix;
}

} // namespace

bool fitsInLists(const std::string &path) {
  return path.find_first_of(" :\t\n") == std::string::npos;
}

std::vector<std::string> ownLibraryFolders() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const fs::path prefix = listedPrefix(program.parent_path().parent_path());
  std::vector<std::string> folders;
  for (const fs::path &place : {prefix / "lib", prefix / "lib64", prefix / FADE_LIBDIR,
                                prefix / program.parent_path().filename()})
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
