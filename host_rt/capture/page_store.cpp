#include "capture/page_store.h"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <random>
#include <unistd.h>
#include <zstd.h>

namespace fade::capture {
namespace {

// zstd's fastest strategy, which does not look for short matches, at every eighth place only while
// it finds none; what remains is still coded by frequency. 1.3 to 1.4 times as fast as level 1 on
// arrays of numbers, and hardly larger; text is.
constexpr int kLevel = 1, kShortestMatch = 7, kSkip = 8, kCodeLiterals = 1;
constexpr auto kLiteralMode = ZSTD_c_experimentalParam5; ///< of literals: 1 is "always coded"
/// Beyond so many different pages (16 GiB) it is no longer worth the memory to look for equal ones.
constexpr std::size_t kMostKnown = std::size_t{4} << 20;
constexpr std::size_t kBlockBytes = kPageSize * kPagesPerBlock;

} // namespace

PageHasher::PageHasher() {
  std::random_device random;
  for (uint64_t &key : keys_) key = (uint64_t{random()} << 32 | random()) | 1;
}

PageStore::PageStore() : context_(ZSTD_createCCtx()) {
  block_.reserve(kBlockBytes);
  compressed_.resize(ZSTD_compressBound(kBlockBytes));
}

PageStore::~PageStore() { ZSTD_freeCCtx(context_); }

Result<std::unique_ptr<PageStore>> PageStore::create(const std::string &path) {
  std::unique_ptr<PageStore> store(new PageStore);
  if (!store->context_) return Error{path, "", 0, "no memory to compress with"};
  (void)ZSTD_CCtx_setParameter(store->context_, ZSTD_c_compressionLevel, kLevel);
  (void)ZSTD_CCtx_setParameter(store->context_, ZSTD_c_checksumFlag, 1);
  if (!ZSTD_isError(ZSTD_CCtx_setParameter(store->context_, kLiteralMode, kCodeLiterals))) {
    (void)ZSTD_CCtx_setParameter(store->context_, ZSTD_c_minMatch, kShortestMatch);
    (void)ZSTD_CCtx_setParameter(store->context_, ZSTD_c_targetLength, kSkip);
  }
  store->file_ = OwnFile::open(path, false);
  if (!store->file_.is()) return Error{path, "", 0, std::strerror(errno)};
  return store;
}

Result<uint32_t> PageStore::add(const uint8_t *page, const PageHash &hash) {
  if (const auto at = known_.find(hash); at != known_.end()) return at->second;
  if (count_ >= UINT32_MAX) return Error{file_.path(), "", 0, "more than 16 TiB of pages"};
  const auto number = static_cast<uint32_t>(count_++);
  if (known_.size() < kMostKnown) known_.emplace(hash, number);
  block_.insert(block_.end(), page, page + kPageSize);
  if (block_.size() == kBlockBytes)
    if (Status flushed = flush(); !flushed) return std::move(flushed).error();
  return number;
}

Status PageStore::flush() {
  if (block_.empty()) return Done();
  const std::size_t size = ZSTD_compress2(context_, compressed_.data(), compressed_.size(),
                                          block_.data(), block_.size());
  if (ZSTD_isError(size)) return Error{file_.path(), "", bytes_, ZSTD_getErrorName(size)};
  block_.clear();
  if (const int error = file_.write({reinterpret_cast<const char *>(compressed_.data()), size}))
    return Error{file_.path(), "", bytes_, std::strerror(error)};
  block_sizes_.push_back(static_cast<uint32_t>(size));
  bytes_ += size;
  return Done();
}

Status PageStore::close() {
  if (Status flushed = flush(); !flushed) return flushed;
  known_.clear();
  const int synced = fsync(file_.fd()) == 0 ? 0 : errno;
  const std::string path = file_.path();
  if (const int error = file_.close(); error || synced)
    return Error{path, "", bytes_, std::strerror(error ? error : synced)};
  return Done();
}

} // namespace fade::capture
