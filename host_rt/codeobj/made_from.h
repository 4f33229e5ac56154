// Which code object another one was made from. A kernel's name and arguments do not tell: Triton
// compiles a kernel once for each choice of block sizes, all with the same name. The mark is the
// build id of the code object that was made, which any linker can write.
#pragma once

#include "codeobj/code_object.h"

namespace fade::codeobj {

/// A number for the code of its kernels; the same however the file around it was stripped.
uint64_t identityOf(const CodeObject &object);

/// The build id, in hexadecimal digits, of what is made from a code object with that identity.
std::string buildIdFor(uint64_t identity);

/// The identity of what a code object was made from; nothing if it has no such mark.
std::optional<uint64_t> madeFrom(const CodeObject &object);

} // namespace fade::codeobj
