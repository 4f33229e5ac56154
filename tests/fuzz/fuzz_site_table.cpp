// The section that the instrumentation leaves in a code object.
#include "codeobj/sites.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  std::string error;
  auto tables = fade::parseSiteTables(std::as_bytes(std::span(data, size)), error);
  for (const fade::SiteTable &table : tables) {
    for (std::uint32_t i = 0; i < table.sites().size(); ++i) {
      fade::codeobj::Sites::stack(table, i);
      for (const fade_site_line &line : table.lines(table.sites()[i]))
        (void)table.string(line.file).size();
    }
    for (const fade_site_kernel &kernel : table.kernels()) (void)table.string(kernel.clone).size();
  }
  return 0;
}
