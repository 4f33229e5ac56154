#include "codeobj/made_from.h"

#include "base/fnv1a.h"

#include <cstring>
#include <fmt/format.h>

namespace fade::codeobj {
namespace {

constexpr char kMark[] = {'F', 'A', 'D', 'E'};

} // namespace

uint64_t identityOf(const CodeObject &object) {
  constexpr uint64_t kDescriptorBytes = 64;
  uint64_t hash = fnv1a("");
  for (std::size_t i = 0; i < object.kernelCount(); ++i) {
    const auto kernel = object.kernel(i);
    if (!kernel) continue;
    if (const auto code = object.code(kernel->code_address, kernel->code_size))
      hash = fnv1a(asText(*code), hash);
    if (const auto descriptor = object.code(kernel->descriptor_address, kDescriptorBytes))
      hash = fnv1a(asText(*descriptor), hash);
  }
  return hash;
}

std::string buildIdFor(uint64_t identity) {
  std::string digits;
  for (const char c : kMark) digits += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return digits + fmt::format("{:016x}", identity);
}

std::optional<uint64_t> madeFrom(const CodeObject &object) {
  const auto notes = object.elf().notes();
  if (!notes) return std::nullopt;
  for (const Note &note : *notes) {
    if (note.owner != "GNU" || note.type != NT_GNU_BUILD_ID ||
        note.content.size() != sizeof kMark + sizeof(uint64_t) ||
        std::memcmp(note.content.data(), kMark, sizeof kMark) != 0)
      continue;
    uint64_t identity = 0;
    for (std::size_t i = sizeof kMark; i < note.content.size(); ++i)
      identity = identity << 8 | static_cast<unsigned char>(note.content[i]);
    return identity;
  }
  return std::nullopt;
}

} // namespace fade::codeobj
