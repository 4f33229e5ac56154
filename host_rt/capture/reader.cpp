#include "capture/reader.h"

#include "base/fnv1a.h"
#include "capture/folder_file.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <zstd.h>

namespace fade::capture {
namespace {

constexpr uint64_t kMostManifest = uint64_t{256} << 20, kMostIndex = uint64_t{1} << 30;
constexpr std::size_t kCachedBlocks = 256; // 16 MiB
constexpr std::size_t kUnpackedBlock = kPageSize * kPagesPerBlock;

/// The bytes of the index, one value after the other.
class Cursor {
public:
  explicit Cursor(std::string_view bytes) : rest_(bytes) {}
  template <typename T> bool take(T &value) {
    if (rest_.size() < sizeof value) return false;
    std::memcpy(&value, rest_.data(), sizeof value);
    rest_.remove_prefix(sizeof value);
    return true;
  }
  template <typename T> bool take(std::vector<T> &values, uint64_t count) {
    if (count > rest_.size() / sizeof(T)) return false;
    values.resize(static_cast<std::size_t>(count));
    if (count != 0) std::memcpy(values.data(), rest_.data(), values.size() * sizeof(T));
    rest_.remove_prefix(values.size() * sizeof(T));
    return true;
  }
  bool isAtEnd() const { return rest_.empty(); }

private:
  std::string_view rest_;
};

} // namespace

Reader::~Reader() { ZSTD_freeDCtx(context_); }

Error Reader::wrong(const char *file, std::string what) const {
  return {folder_ + "/" + file, "", 0, std::move(what)};
}

Result<std::unique_ptr<Reader>> Reader::open(const std::string &folder) {
  std::unique_ptr<Reader> reader(new Reader);
  reader->folder_ = folder;
  while (reader->folder_.size() > 1 && reader->folder_.ends_with('/')) reader->folder_.pop_back();
  if (reader->folder_.ends_with(kPartial))
    return Error{folder, "", 0, "not a capture: it was not finished"};
  for (const auto step :
       {&Reader::readManifest, &Reader::readCode, &Reader::readIndex, &Reader::openPages})
    if (Status done = (reader.get()->*step)(); !done) return std::move(done).error();
  return reader;
}

Status Reader::readManifest() {
  const std::string path = folder_ + "/" + kManifestFile;
  const auto text = FolderFile::readAll(folder_, kManifestFile, kMostManifest);
  if (!text) return text.error();
  auto manifest = Manifest::parse(*text, path);
  if (!manifest) return std::move(manifest).error();
  manifest_ = std::move(*manifest);
  sizes_.on_disk = text->size();
  sizes_.changed = manifest_.changed;
  for (const Region &region : manifest_.description.regions) sizes_.memory += region.size;
  return Done();
}

Status Reader::readCode() {
  for (std::size_t i = 0; i < manifest_.code.size(); ++i) {
    const auto &entry = manifest_.code[i];
    const std::string name = fmt::format("code/{}.hsaco", i);
    const auto bytes = FolderFile::readAll(folder_, name, entry.size);
    if (!bytes) return bytes.error();
    if (bytes->size() != entry.size || fnv1a(*bytes) != entry.checksum)
      return Error{folder_ + "/" + name, "", 0, "it is not the file that the manifest describes"};
    code_.push_back({{bytes->begin(), bytes->end()}, entry.base});
    sizes_.on_disk += entry.size;
  }
  return Done();
}

Status Reader::checkRuns(const std::vector<Run> &runs, std::size_t region, State state) const {
  const uint64_t pages = manifest_.description.regions[region].pages();
  uint64_t count = 0;
  for (const Run &run : runs) {
    count += run.count;
    const uint64_t stored = run.kind == Run::kStored ? run.count : run.kind == Run::kEqual ? 1 : 0;
    if (run.kind > Run::kAbsent || run.count == 0 || count > pages ||
        (run.kind == Run::kSame && state == State::before) ||
        (stored != 0 && (run.first >= stored_ || stored > stored_ - run.first)))
      return wrong(kIndexFile, fmt::format("a run of region {} is invalid", region));
  }
  if (count != pages && !(state == State::after && runs.empty()))
    return wrong(kIndexFile,
                 fmt::format("region {} has {} pages instead of {}", region, count, pages));
  return Done();
}

Status Reader::readIndex() {
  const auto packed = FolderFile::readAll(folder_, kIndexFile, kMostIndex);
  if (!packed) return packed.error();
  if (packed->size() != manifest_.index_bytes || fnv1a(*packed) != manifest_.index_checksum)
    return wrong(kIndexFile, "it is not the file that the manifest describes");
  const unsigned long long size = ZSTD_getFrameContentSize(packed->data(), packed->size());
  if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR || size > kMostIndex)
    return wrong(kIndexFile, "it is not a compressed index");
  std::string index(size, '\0');
  const std::size_t got =
      ZSTD_decompress(index.data(), index.size(), packed->data(), packed->size());
  if (ZSTD_isError(got) || got != size) return wrong(kIndexFile, "it cannot be decompressed");
  Cursor cursor(index);
  char magic[8];
  uint32_t version = 0, page_size = 0;
  uint64_t blocks = 0;
  if (!cursor.take(magic) || std::memcmp(magic, "FADEPIDX", 8) != 0 || !cursor.take(version) ||
      version != kVersion || !cursor.take(page_size) || page_size != kPageSize ||
      !cursor.take(stored_) || !cursor.take(blocks))
    return wrong(kIndexFile, "it does not begin like an index of this version");
  std::vector<uint32_t> sizes;
  if (stored_ > UINT32_MAX || blocks != (stored_ + kPagesPerBlock - 1) / kPagesPerBlock ||
      !cursor.take(sizes, blocks))
    return wrong(kIndexFile, "its number of blocks is invalid");
  blocks_.push_back(0);
  for (const uint32_t block : sizes) {
    if (block == 0 || block > ZSTD_compressBound(kUnpackedBlock))
      return wrong(kIndexFile, "the size of a block is invalid");
    blocks_.push_back(blocks_.back() + block);
  }
  sizes_.stored = stored_;
  const std::size_t regions = manifest_.description.regions.size();
  for (const State state : {State::before, State::after}) {
    Layout &layout = state == State::before ? before_ : after_;
    layout.resize(regions);
    for (std::size_t i = 0; i < regions; ++i) {
      uint64_t count = 0;
      if (!cursor.take(count) || !cursor.take(layout[i], count))
        return wrong(kIndexFile, "it is cut short");
      if (Status checked = checkRuns(layout[i], i, state); !checked) return checked;
    }
  }
  if (!cursor.isAtEnd()) return wrong(kIndexFile, "it has more data than its index says");
  sizes_.on_disk += packed->size();
  return Done();
}

Status Reader::openPages() {
  auto file = FolderFile::open(folder_, kPagesFile);
  if (!file) return std::move(file).error();
  pages_ = std::move(*file);
  if (pages_.size() != blocks_.back() || blocks_.back() != manifest_.pages_bytes)
    return wrong(kPagesFile, "its length is not the one in the index");
  sizes_.on_disk += blocks_.back();
  context_ = ZSTD_createDCtx();
  if (!context_) return wrong(kPagesFile, "no memory to decompress with");
  return Done();
}

Result<const Reader::Block *> Reader::block(std::size_t number) {
  if (const auto at = cached_.find(number); at != cached_.end()) {
    cache_.splice(cache_.begin(), cache_, at->second);
    return &cache_.front();
  }
  const uint64_t begin = blocks_[number];
  packed_.resize(static_cast<std::size_t>(blocks_[number + 1] - begin));
  if (Status read = pages_.read(packed_, begin); !read) return std::move(read).error();
  Block fresh{number, {}};
  if (cache_.size() >= kCachedBlocks) { // its memory is used again
    cached_.erase(cache_.back().number);
    fresh.bytes = std::move(cache_.back().bytes);
    cache_.pop_back();
  }
  const uint64_t pages = std::min<uint64_t>(kPagesPerBlock, stored_ - number * kPagesPerBlock);
  fresh.bytes.resize(static_cast<std::size_t>(pages * kPageSize));
  const std::size_t got = ZSTD_decompressDCtx(context_, fresh.bytes.data(), fresh.bytes.size(),
                                              packed_.data(), packed_.size());
  if (ZSTD_isError(got) || got != fresh.bytes.size())
    return Error{folder_ + "/" + kPagesFile, "", begin, "a block of pages is damaged"};
  cache_.push_front(std::move(fresh));
  cached_[number] = cache_.begin();
  return &cache_.front();
}

Result<const uint8_t *> Reader::page(uint32_t number) {
  if (number >= stored_) return wrong(kPagesFile, fmt::format("there is no page {}", number));
  auto found = block(number / kPagesPerBlock);
  if (!found) return std::move(found).error();
  return (*found)->bytes.data() + number % kPagesPerBlock * kPageSize;
}

Status Reader::forStored(State state, std::size_t region,
                         const std::function<void(uint64_t, const uint8_t *)> &use) {
  static const std::vector<uint8_t> zeros(kPageSize);
  uint64_t at = 0;
  for (const Run &run : runs(state, region)) {
    for (uint32_t i = 0; i < run.count; ++i) {
      if (run.kind == Run::kStored || run.kind == Run::kEqual) {
        const auto bytes = page(run.kind == Run::kStored ? run.first + i : run.first);
        if (!bytes) return bytes.error();
        use(at + i, *bytes);
      } else if (run.kind == Run::kZero && state == State::after) {
        use(at + i, zeros.data());
      } else {
        break;
      }
    }
    at += run.count;
  }
  return Done();
}

} // namespace fade::capture
