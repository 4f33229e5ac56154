// Readable names of kernels.
#pragma once

#include <string>
#include <string_view>

namespace fade::codeobj {

/// "_Z9templatedIfEvPKT_PS0_S0_" -> "void templated<float>(float const*, float*, float)". A name
/// that is not mangled, or not as compilers do it, comes back as it is.
std::string demangle(std::string_view name);

/// The same without return type and parameters: "templated<float>".
std::string demangleShort(std::string_view name);

} // namespace fade::codeobj
