// Writes bundles for the tests, in the forms that the installed bundler cannot write itself.
#pragma once

#include "codeobj/bytes.h"

#include <string>
#include <vector>

namespace fade::codeobj::testing {

struct BundlePart {
  std::string id;
  std::vector<std::uint8_t> bytes;
};

enum class Compression : std::uint16_t { Zlib = 0, Zstd = 1 };

std::vector<std::uint8_t> write_bundle(const std::vector<BundlePart> &parts,
                                       std::size_t alignment = 4096);
/// Versions 1 to 3.
std::vector<std::uint8_t> compress_bundle(const std::vector<std::uint8_t> &bundle, unsigned version,
                                          Compression method);

} // namespace fade::codeobj::testing
