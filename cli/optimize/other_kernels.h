// Kernels of which there is no capture: nobody can say whether a changed one is right, so they have
// to stay as they are.
#pragma once

#include "base/result.h"

#include <map>
#include <set>
#include <string>
#include <utility>

namespace fade::cli {

/// Arguments, bounds and machine code as text, by name and GPU. Where code lies is not part of it.
using OtherKernels = std::map<std::pair<std::string, std::string>, std::string>;

/// Those in a code object, a bundle or a program that are for one of the GPUs of `captured` (names
/// and GPUs) and not among them.
Result<OtherKernels> otherKernels(const std::string &path,
                                  const std::set<std::pair<std::string, std::string>> &captured);
/// What is not as it was, for people; empty: all are. There may be more than before.
std::string changeOf(const OtherKernels &before, const OtherKernels &after);

} // namespace fade::cli
