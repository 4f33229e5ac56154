// Metadata notes: the first byte chooses between MessagePack and the YAML of version 2.
#include "codeobj/metadata.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  using namespace fade::codeobj;
  if (size == 0) return 0;
  ByteView note(data + 1, size - 1);
  if (data[0] & 1) {
    auto old = read_old_metadata(as_text(note));
    (void)old.index();
    return 0;
  }
  auto index = index_metadata(note);
  if (auto *found = std::get_if<MetadataIndex>(&index))
    for (const MetadataIndex::Entry &entry : found->kernels) {
      auto kernel = read_kernel_metadata(note, entry.position);
      if (auto *read = std::get_if<KernelMetadata>(&kernel))
        if (read->name != entry.name || read->symbol != entry.symbol) __builtin_trap();
    }
  return 0;
}
