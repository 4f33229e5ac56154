// --probe fade, second half: what a user does first. A HIP program is compiled with the compiler
// that is found, run in every mode, and one of its dispatches is captured and replayed. The modes
// are compared with each other and with what the kernel does.
#pragma once

#include "doctor/probe.h"

#include <string_view>

namespace fade::doctor {

struct UserProbe {
  ProbeOptions options;
  std::string fadeprobe; ///< path of this program
  std::string gpu;       ///< gfx90a
  std::string obstacle;  ///< why nothing can be tried; empty if it can
};

/// As stages fade-compile, fade-summary, fade-stream, fade-counts, fade-clocks and fade-capture.
std::vector<ProbeResult> probeAsUser(const UserProbe &probe);

/// hipcc in PATH, in $ROCM_PATH, in /opt/rocm or /opt/rocm/core*; else a clang++ that knows HIP.
/// Empty if there is none. `root` is put before all of these paths.
std::string findHipCompiler(const std::string &path_variable, const std::string &rocm_path,
                            const std::string &root = "");

// What is wrong with a report of the program below in JSON lines; empty if nothing is.
/// MemoryAnalysis: every access as often as the kernel does it.
std::string checkMemory(std::string_view json_lines);
/// MemoryAnalysis of two runs: the same numbers at every access.
std::string compareMemory(std::string_view summary, std::string_view stream);
/// BlockCounts: the loop ran as often as it must; the same counts as `other`, if that is given.
std::string checkCounts(std::string_view json_lines, std::string_view other = "");
/// BlockCounts in mode times: clocks that fit into the time that the kernel took.
std::string checkClocks(std::string_view json_lines);

/// The program's source.
extern const char *const kFirstRunSource;

} // namespace fade::doctor
