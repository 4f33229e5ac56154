#include "codeobj/module_id.h"

#include <algorithm>
#include <fmt/format.h>

namespace fade::codeobj {
namespace {

/// Both halves of a product of 128 bits, as wyhash does.
uint64_t fold(uint64_t x, uint64_t y) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(x) * y;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

constexpr uint64_t kStart = 0x9e3779b97f4a7c15, kOther = 0xc2b2ae3d27d4eb4f;

} // namespace

std::string moduleIdOf(ByteView code_object) {
  uint64_t hash = fold(code_object.size() ^ kStart, kOther);
  while (!code_object.empty()) {
    uint64_t words[2] = {0, 0}; // zeros behind the end: the size counts, too
    const std::size_t taken = std::min(code_object.size(), sizeof words);
    std::memcpy(words, code_object.data(), taken);
    hash = fold(hash ^ words[0], kOther ^ words[1]);
    code_object = code_object.subspan(taken);
  }
  return fmt::format("{:016x}", fold(hash ^ kStart, kOther));
}

} // namespace fade::codeobj
