#include "open_library.h"

#include "outcome.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <glob.h>
#include <vector>

namespace fade::probe {
namespace {

std::vector<std::string> rocmFolders() {
  std::vector<std::string> folders;
  if (const char *path = std::getenv("ROCM_PATH"); path && *path)
    folders.push_back(std::string(path) + "/lib");
  for (const char *pattern : {"/opt/rocm/lib", "/opt/rocm/core*/lib", "/opt/rocm-*/lib"}) {
    glob_t found{};
    if (glob(pattern, 0, nullptr, &found) == 0) // in alphabetical order: newer versions are later
      for (std::size_t i = found.gl_pathc; i-- > 0;) folders.emplace_back(found.gl_pathv[i]);
    globfree(&found);
  }
  return folders;
}

} // namespace

void *openLibrary(std::initializer_list<const char *> names) {
  std::string last = "library", error;
  const auto open = [&](const std::string &path) -> void * {
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library) return library;
    const char *text = dlerror();
    // One that is there, and whose own libraries are not, is more interesting.
    if (text && !std::strstr(text, (path + ": cannot open").c_str())) error = text;
    return nullptr;
  };
  for (const char *name : names) {
    last = name;
    if (void *library = open(name)) return library;
  }
  for (const std::string &folder : rocmFolders())
    for (const char *name : names)
      if (void *library = open(folder + "/" + name)) return library;
  throw Skipped(error.empty() ? last + " is not installed" : error);
}

} // namespace fade::probe
