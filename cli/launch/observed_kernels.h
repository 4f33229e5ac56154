// Whether the software GPU will observe a program's kernels as compiled, and so can count their
// instructions.
#pragma once

#include <string>
#include <vector>

namespace fade::cli {

/// `observe` and `cache`: what the run is given besides the environment, or empty. With twins the
/// software GPU would observe their originals instead of running them. Code that is compressed is
/// not looked into.
bool willObserve(const std::string &gpu, std::string observe, const std::string &cache,
                 const std::string &program);

/// The first word of a command that is a program with kernels, behind a launcher for example; the
/// program of the first word if there is none.
std::string hipProgramIn(const std::vector<std::string> &command);

} // namespace fade::cli
