// What can be said of a program's GPU code before it runs.
#pragma once

#include <string>
#include <vector>

namespace fade::cli {

/// Says in a line on stderr if the program has GPU code, and none of it for one of these GPUs; and
/// which software GPU would fit.
void checkCode(const std::string &program, const std::vector<std::string> &gpus);

/// A software GPU that the program has code for, the usual one if it fits. Empty: not known.
std::string fittingGpu(const std::string &program);

/// Whether it is certain that neither the program nor one that it starts uses the GPU: it is not
/// linked with a library that does, and nothing in it can load one or start programs.
bool cannotUseGpu(const std::string &program);

/// Whether the program is linked with AddressSanitizer's library, which wants to be the first one.
bool isSanitized(const std::string &program);

/// Whether it runs with the rights of another user or group than who starts it.
bool isPrivileged(const std::string &program);

} // namespace fade::cli
