#include "bundle_writer.h"

#include <stdexcept>
#include <zlib.h>
#include <zstd.h>

namespace fade::codeobj::testing {
namespace {

template <class T> void append(std::vector<std::uint8_t> &out, T value) {
  const auto *bytes = reinterpret_cast<const std::uint8_t *>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}
void append_text(std::vector<std::uint8_t> &out, std::string_view text) {
  out.insert(out.end(), text.begin(), text.end());
}

std::vector<std::uint8_t> compressed(const std::vector<std::uint8_t> &in, Compression method) {
  std::vector<std::uint8_t> out;
  if (method == Compression::Zstd) {
    out.resize(ZSTD_compressBound(in.size()));
    out.resize(ZSTD_compress(out.data(), out.size(), in.data(), in.size(), 3));
    return out;
  }
  uLongf size = compressBound(in.size());
  out.resize(size);
  if (::compress(out.data(), &size, in.data(), in.size()) != Z_OK) throw std::runtime_error("zlib");
  out.resize(size);
  return out;
}

} // namespace

std::vector<std::uint8_t> write_bundle(const std::vector<BundlePart> &parts,
                                       std::size_t alignment) {
  auto align = [&](std::uint64_t n) { return (n + alignment - 1) / alignment * alignment; };
  std::uint64_t header = 32;
  for (const BundlePart &part : parts) header += 24 + part.id.size();
  std::vector<std::uint8_t> out;
  append_text(out, "__CLANG_OFFLOAD_BUNDLE__");
  append<std::uint64_t>(out, parts.size());
  std::uint64_t at = align(header);
  for (const BundlePart &part : parts) {
    append<std::uint64_t>(out, at);
    append<std::uint64_t>(out, part.bytes.size());
    append<std::uint64_t>(out, part.id.size());
    append_text(out, part.id);
    at = align(at + part.bytes.size());
  }
  for (const BundlePart &part : parts) {
    out.resize(align(out.size()));
    out.insert(out.end(), part.bytes.begin(), part.bytes.end());
  }
  return out;
}

std::vector<std::uint8_t> compress_bundle(const std::vector<std::uint8_t> &bundle, unsigned version,
                                          Compression method) {
  std::vector<std::uint8_t> body = compressed(bundle, method), out;
  append_text(out, "CCOB");
  append<std::uint16_t>(out, static_cast<std::uint16_t>(version));
  append(out, static_cast<std::uint16_t>(method));
  if (version == 2) append<std::uint32_t>(out, static_cast<std::uint32_t>(24 + body.size()));
  if (version == 3) append<std::uint64_t>(out, 32 + body.size());
  if (version == 3)
    append<std::uint64_t>(out, bundle.size());
  else
    append<std::uint32_t>(out, static_cast<std::uint32_t>(bundle.size()));
  append<std::uint64_t>(out, 0); // nobody checks the hash
  out.insert(out.end(), body.begin(), body.end());
  return out;
}

} // namespace fade::codeobj::testing
