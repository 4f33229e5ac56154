// Whole files: whatever the bytes, every question about them gets an answer or an error.
#include "codeobj/finder.h"
#include "codeobj/kernarg.h"
#include "codeobj/occupancy.h"
#include "codeobj/sites.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  using namespace fade::codeobj;
  auto object = CodeObject::open(Blob::borrow({data, size}, "input"));
  if (!object) {
    if (object.error().message().empty()) __builtin_trap();
    return 0;
  }
  const CodeObject &o = **object;
  for (std::size_t i = 0; i < o.kernelCount() && i < 64; ++i) {
    auto kernel = o.kernel(i);
    o.findClone(i);
    if (!kernel) continue;
    if (o.findKernel(kernel->symbol) != i) __builtin_trap();
    (void)KernargLayout::from(kernel->metadata).ok();
    occupancy(o.target(), *kernel);
    auto code = o.code(kernel->code_address, kernel->code_size);
    if (code && code->size() != kernel->code_size) __builtin_trap();
  }
  for (const Section &section : o.elf().sections()) (void)o.elf().contents(section).ok();
  (void)Sites::read(o).ok();
  return 0;
}
