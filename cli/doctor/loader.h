// Which libraries the dynamic loader would take for a program, and why these: DT_NEEDED, RPATH and
// RUNPATH, LD_LIBRARY_PATH, the loader's cache, the usual folders. Reads files only; nothing is
// loaded or run.
#pragma once

#include "base/result.h"
#include "codeobj/bytes.h"
#include "doctor/tree.h"

namespace fade::doctor {

/// What the loader reads in a file.
struct Dynamic {
  uint16_t machine = 0;
  std::string soname, rpath, runpath;
  std::vector<std::string> needed;
};
Result<Dynamic> readDynamic(const codeobj::Blob &blob);

/// Names of libraries and their paths, as /etc/ld.so.cache has them.
Result<std::vector<std::pair<std::string, std::string>>> readLoaderCache(codeobj::ByteView bytes);

struct Loaded {
  std::string name;   ///< as it was asked for: libamdhip64.so.5
  std::string path;   ///< empty: not found
  std::string reason; ///< "RUNPATH of /x/app", "LD_LIBRARY_PATH", "ld.so.cache", …
  std::string by;     ///< the file that asks for it
};

struct LoaderOptions {
  std::string library_path; ///< LD_LIBRARY_PATH
  std::string preload;      ///< LD_PRELOAD
};

/// In the order in which they would be loaded; the program itself is not among them. An error if it
/// is no program or library.
Result<std::vector<Loaded>> librariesOf(const Tree &tree, const std::string &program,
                                        const LoaderOptions &options);

} // namespace fade::doctor
