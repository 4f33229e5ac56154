// Offload bundles: several code objects, for several processors, in one piece, possibly compressed.
//
//   __CLANG_OFFLOAD_BUNDLE__ | count | { offset, size, id length, id } … | code objects …
//   CCOB | version | method | [file size] | size when uncompressed | hash | a bundle as above, zlib
//   or zstd
//
// Finding bundles and reading their sizes touches only their headers; a compressed one is inflated
// when its entries are asked for, and the memory goes when the entries do.
#pragma once

#include "codeobj/bytes.h"

namespace fade::codeobj {

struct BundleEntry {
  std::string id;      ///< "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-"
  Blob blob;           ///< its name is the file's with the target behind it
  uint64_t offset = 0; ///< in the uncompressed bundle
};

class Bundle {
public:
  static bool looksLike(ByteView bytes);
  /// The bundle at the start of the blob, which may go on behind it.
  static Result<Bundle> open(Blob blob);

  bool compressed() const { return version_ != 0; }
  /// Of the compressed format: 1, 2 or 3; 0 when not compressed.
  unsigned version() const { return version_; }
  /// Bytes the bundle takes in its file.
  uint64_t size() const { return blob_.bytes().size(); }

  Result<std::vector<BundleEntry>> entries() const;

private:
  enum class Method : uint16_t { Zlib = 0, Zstd = 1 };
  static Result<Bundle> openCompressed(Blob blob);
  Result<Blob> inflate() const;

  Blob blob_; ///< exactly this bundle
  unsigned version_ = 0;
  Method method_ = Method::Zlib;
  std::size_t header_size_ = 0;
  uint64_t inflated_size_ = 0;
};

struct PlacedBundle {
  uint64_t offset = 0;
  Bundle bundle;
};

/// All bundles in `blob`, one behind the other with any padding between them. A bundle that cannot
/// be read is reported through `errors` and the search goes on behind it.
std::vector<PlacedBundle> findBundles(const Blob &blob, std::vector<Error> &errors);

} // namespace fade::codeobj
