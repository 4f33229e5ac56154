// The arguments of a kernel by name and type, from what its compiler left in the code object.
#pragma once

#include "dispatch/loaded_code.h"
#include "stream/kernel_arguments.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fade {

/// Without those that the runtime fills in. Names come from the metadata or, with -g, from the
/// debug information; types from the metadata or the demangled name. Empty if nothing is known.
std::shared_ptr<const KernelArguments> argumentsOf(const LoadedCode &code,
                                                   const std::string &symbol);

/// "f(int, a<b, c>*)": int and a<b, c>*.
std::vector<std::string> parameterTypes(std::string_view demangled);

} // namespace fade
