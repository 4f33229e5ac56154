// Which code object a kernel is of, in 16 hexadecimal digits: two modules may have kernels of one
// name, and those are never added up. The same in every run and process as long as the bytes of the
// code object are.
#pragma once

#include "codeobj/bytes.h"

#include <string>

namespace fade::codeobj {

/// All bytes count. Some gigabytes in a second: the application waits for it when it loads code.
std::string moduleIdOf(ByteView code_object);

} // namespace fade::codeobj
