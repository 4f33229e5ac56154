// Writes pages.zst: pages one after the other, in blocks that are zstd frames of their own, each
// page content once. Zero pages are not stored at all.
#pragma once

#include "base/own_file.h"
#include "base/result.h"
#include "capture/page_hash.h"

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

struct ZSTD_CCtx_s;

namespace fade::capture {

class PageStore {
public:
  static Result<std::unique_ptr<PageStore>> create(const std::string &path);
  ~PageStore();

  /// The number of the page's content, which is stored unless it is known already.
  Result<uint32_t> add(const uint8_t *page, const PageHash &hash);
  /// Nothing can be added any more. All of it is on the disk.
  Status close();

  PageHash hash(const uint8_t *page) const { return hasher_(page); }
  uint64_t count() const { return count_; }
  uint64_t bytes() const { return bytes_; }
  const std::vector<uint32_t> &blockSizes() const { return block_sizes_; } ///< compressed

private:
  PageStore();
  Status flush();

  struct HashOfHash {
    std::size_t operator()(const PageHash &h) const { return static_cast<std::size_t>(h.low); }
  };

  OwnFile file_;
  PageHasher hasher_;
  ZSTD_CCtx_s *context_ = nullptr;
  std::vector<uint8_t> block_, compressed_;
  std::vector<uint32_t> block_sizes_;
  std::unordered_map<PageHash, uint32_t, HashOfHash> known_;
  uint64_t count_ = 0, bytes_ = 0;
};

} // namespace fade::capture
