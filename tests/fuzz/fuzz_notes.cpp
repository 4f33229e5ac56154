// Metadata notes: the first byte chooses between MessagePack and the YAML of version 2.
#include "codeobj/metadata.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  using namespace fade::codeobj;
  if (size == 0) return 0;
  ByteView note(data + 1, size - 1);
  if (data[0] & 1) {
    auto old = readOldMetadata(asText(note));
    (void)old.ok();
    return 0;
  }
  auto index = indexMetadata(note);
  if (index)
    for (const MetadataIndex::Entry &entry : index->kernels) {
      auto kernel = readKernelMetadata(note, entry.position);
      if (kernel && (kernel->name != entry.name || kernel->symbol != entry.symbol))
        __builtin_trap();
    }
  return 0;
}
