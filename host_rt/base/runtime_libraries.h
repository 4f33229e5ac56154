// Which libraries stand between an application and the GPU: whoever looks for the caller of a
// function of HIP or HSA goes past them.
#pragma once

#include <string_view>

namespace fade {

inline std::string_view fileNameOf(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

/// HIP, HSA and what they use, and FADE itself. By its path or its file's name.
inline bool isRuntimeLibrary(std::string_view path) {
  const std::string_view name = fileNameOf(path);
  for (const std::string_view begin :
       {"libfade", "libhsa-runtime64", "libamdhip64", "libhsakmt", "libamd_comgr"})
    if (name.starts_with(begin)) return true;
  return false;
}

/// The C and C++ libraries. Runtimes call themselves through these, to do something once.
inline bool isLanguageLibrary(std::string_view path) {
  const std::string_view name = fileNameOf(path);
  for (const std::string_view begin :
       {"libc.so", "libc-2.", "libpthread", "libstdc++", "ld-linux", "ld-2."})
    if (name.starts_with(begin)) return true;
  return false;
}

} // namespace fade
