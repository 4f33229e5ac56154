// Calls through pointers. Pointers hold addresses of the original code, wherever they come from:
// the copy compares them with the functions that it has copies of, and calls those. What is not
// among them is called as it is.
#pragma once

#include "rewrite/copied_code.h"
#include "rewrite/dialect.h"

#include <functional>

namespace fade::rewrite {

/// Puts one of Program::pointer_calls. `leave` puts what is executed before code that is not
/// copied; all registers must be as before then, but for SCC and where the call writes its return
/// address.
void putPointerCall(CopiedCode &copy, const Dialect &dialect, const Program &program,
                    const Instruction &call, const std::function<void()> &leave);

} // namespace fade::rewrite
