// A capture folder: the lines of its manifest, its index and its pages. Checksums and sizes are put
// right, else nothing behind them would ever be looked at.
#include "base/fnv1a.h"
#include "capture/reader.h"
#include "files.h"

#include <fmt/format.h>
#include <zstd.h>

namespace {

using namespace fade::capture;
using namespace fade::fuzz;

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char *>(data), size);
  std::string manifest(next(rest));
  const std::size_t index_size = rest.empty() ? 0 : static_cast<unsigned char>(rest[0]) * 4u;
  const std::string_view index = rest.substr(std::min<std::size_t>(1, rest.size()), index_size);
  const std::string_view pages = rest.substr(std::min(1 + index_size, rest.size()));
  std::string packed(ZSTD_compressBound(index.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), index.data(), index.size(), 1));
  manifest += fmt::format("{{\"type\":\"end\",\"pages_bytes\":{},\"index_bytes\":{},"
                          "\"index_checksum\":{},\"changed\":0",
                          pages.size(), packed.size(), fade::fnv1a(packed));
  manifest += fmt::format(",\"checksum\":{}}}\n", fade::fnv1a(manifest));
  put(kManifestFile, manifest);
  put(kIndexFile, packed);
  put(kPagesFile, pages);
  auto reader = Reader::open(folder());
  if (!reader) {
    if (reader.error().message().find('\n') != std::string::npos) abort();
    return 0;
  }
  uint64_t seen = 0; // a short index may stand for any number of pages
  for (std::size_t i = 0; i < (*reader)->description().regions.size(); ++i)
    for (const State state : {State::before, State::after})
      for (const Run &run : (*reader)->runs(state, i))
        if (run.kind == Run::kStored && ++seen < 100) (void)(*reader)->page(run.first);
  return 0;
}
