// libfade.so, for the libraries that are preloaded: they need no more of FADE than this, because
// they are in every process, also in those that never use a GPU.
#pragma once

#include <cstdint>
#include <string>

#define FADE_EXPORT extern "C" __attribute__((visibility("default")))

namespace fade::preload {

/// The folder of this library, with a slash at its end; empty: nobody knows.
std::string ownFolder();
/// The path of this library itself.
const char *ownPath();

/// A function of libfade.so beside this library. It is loaded if something is to be recorded
/// (FADE_TRACE) and it is not there yet. Null: there is none.
void *fadeFunction(const char *name) noexcept;
template <typename Function> Function *fadeFunctionOf(const char *name) noexcept {
  return reinterpret_cast<Function *>(fadeFunction(name));
}

/// HIP or hiprtc, by whichever way.
bool isHipLoaded() noexcept;

/// Makes the HSA runtime load libfade.so.
void addToTools();

} // namespace fade::preload
