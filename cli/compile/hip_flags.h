// The flags that clang needs to compile HIP with the ROCm of a Linux distribution. clang looks for
// AMD's own tree (/opt/rocm); a distribution has the same things in other places, and HIP
// before 5.5 reads older code objects than clang writes.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace fade::cli {

/// Those flags, without what the command says already. A command or a variable may choose a ROCm:
/// then only what that one's HIP needs. Empty if the command compiles no HIP or there is none.
/// `clang` is the compiler's major version.
std::vector<std::string> hipFlagsFor(const std::vector<std::string> &command, unsigned clang);

/// Where distributions have the device libraries, below /usr/lib: in amdgcn/bitcode, in the same
/// folder for an architecture of the host, or with the clang that made them (Ubuntu 24.04, newer
/// Debian), which must not be newer than the one that reads them.
std::optional<std::string> deviceLibraries(const std::string &lib, unsigned clang);

/// One line if the command compiles for GPUs that the device libraries of the distribution do not
/// know (clang will say that it cannot find them); else empty.
std::string unknownGpusIn(const std::vector<std::string> &command, unsigned clang);
/// The same for a folder of device libraries.
std::string unknownGpusIn(const std::vector<std::string> &command, const std::string &libraries);

} // namespace fade::cli
