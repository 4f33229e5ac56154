// --gpu: the real GPU, or which software GPU.
#pragma once

#include "launch/run.h"

namespace fade::cli {

inline constexpr const char *kPreload = "LD_PRELOAD";
inline constexpr const char *kSoftwareGpu = "libfadegpu.so";

/// Adds the variables that choose the GPU. False, after a line that says why, if there is no such
/// GPU. With `only_shown` nothing will run here, and the real GPU may be another machine's.
bool chooseGpu(const std::string &gpu, bool only_shown, Variables &out);

/// Whether --gpu means the software GPU, given or for want of another.
bool meansSoftwareGpu(const std::string &gpu);

/// The GPUs that the application will see with these variables, by name: gfx90a. Empty if it is not
/// known.
std::vector<std::string> gpusOf(const Variables &variables);

/// Whether the list in a variable names the library.
bool hasLibrary(const char *list, const char *file);
/// The variable's list with the library in front, unless it is in it.
std::string withFront(const char *variable, const std::string &library, char separator);
/// The variables that name libraries are lists, without a way to quote. False, after a line that
/// says so, if a path does not fit.
bool fitsInList(const std::string &library);

} // namespace fade::cli
