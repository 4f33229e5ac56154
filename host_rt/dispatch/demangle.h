// Names of kernels as people write them.
#pragma once

#include <string>

namespace fade {

/// "_Z4vaddPKfS0_Pfi" -> "vadd(float const*, float const*, float*, int)". A name that is not
/// mangled stays as it is.
std::string demangle(const std::string &symbol);

} // namespace fade
