// Code objects whose kernels get twins: what is damaged is refused, and what is written is a code
// object.
#include "codeobj/code_object.h"
#include "fade/sites.h"
#include "rewrite/rewrite.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  using namespace fade;
  if (size == 0) return 0;
  constexpr std::array modes = {FADE_MODE_COUNTS, FADE_MODE_ACCESSES, FADE_MODE_BLOCKS,
                                FADE_MODE_ACCESSES | FADE_MODE_COUNTS};
  const auto object =
      codeobj::CodeObject::open(codeobj::Blob::copy({data + 1, size - 1}, "damaged"));
  if (!object) return 0;
  const auto all = [](const std::string &) { return true; };
  const auto result = rewrite::rewriteObject(*object, modes[*data % modes.size()], all);
  if (!result || result->file.empty()) return 0;
  if (!codeobj::CodeObject::open(codeobj::Blob::copy(result->file, "rewritten"))) __builtin_trap();
  return 0;
}
