// Options of fadeprobe replay and import, which libfadereplay.so implements; fadeprobe, which does
// not contain the software GPU, loads it when needed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace fade::replay {

struct Tolerance {
  uint64_t ulp = 0; ///< distance of floating-point numbers in units of the last place
  /// A difference of up to `absolute` plus this part of the expected value: as numpy.allclose().
  double relative = 0, absolute = 0;

  bool isNone() const { return ulp == 0 && relative == 0 && absolute == 0; }
};

struct Options {
  std::string folder;
  bool check = false;
  uint32_t iterations = 0; ///< 0: as many as make sense
  bool recopy = true;      ///< memory is as captured before each iteration
  std::string code; ///< another version of the kernel: a code object; empty: the captured one
  bool minimise = false;
  std::string output;         ///< of minimise
  uint64_t change_inputs = 0; ///< seed for random changes of memory; 0: memory as captured
  Tolerance tolerance;
  unsigned workers = 0; ///< threads of the executor; 0: one per core
  double timeout = 0;   ///< time limit in seconds for one run of the kernel; 0: no limit
  bool json = false;
  bool progress = true;
};

/// fadeprobe import: converts a capture of another tool.
struct ImportOptions {
  std::string folder;
  std::string output; ///< folder for the capture
  bool json = false;
};

// Exit codes.
inline constexpr int kEqual = 0, kDiffers = 1, kCannotRun = 2;

} // namespace fade::replay

extern "C" {
using FadeReplayEntry = int (*)(const fade::replay::Options *options);
using FadeImportEntry = int (*)(const fade::replay::ImportOptions *options);
}
#define FADE_REPLAY_ENTRY "fade_replay_4"
#define FADE_IMPORT_ENTRY "fade_import_1"
