// Whether the software GPU will observe a program's kernels as compiled, and so can count their
// instructions.
#pragma once

#include <string>

namespace fade::cli {

/// `observe` and `cache`: what the run is given besides the environment, or empty. With twins the
/// software GPU would observe their originals instead of running them. Code that is compressed is
/// not looked into.
bool willObserve(const std::string &gpu, std::string observe, const std::string &cache,
                 const std::string &program);

} // namespace fade::cli
