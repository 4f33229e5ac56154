// Names and disassembly text, which come from files and from libraries.
#include "codeobj/demangle.h"
#include "codeobj/instruction.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), std::min<std::size_t>(size, 256));
  fade::codeobj::InstructionInfo info = fade::codeobj::classify(text);
  (void)fade::codeobj::to_string(info.unit);
  fade::codeobj::demangleShort(text);
  return 0;
}
