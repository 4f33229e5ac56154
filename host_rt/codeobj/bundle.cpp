#include "codeobj/bundle.h"

#include "codeobj/inflate.h"

#include <algorithm>
#include <fmt/format.h>

namespace fade::codeobj {
namespace {

constexpr std::string_view kMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressedMagic = "CCOB";

/// A file with more broken bundles than this is not worth a longer list.
constexpr std::size_t kMostErrors = 16;

/// An entry's three numbers; also the least an entry can take, which bounds the count.
constexpr uint64_t kEntryHeader = 24;

/// Code objects shrink by 5 to 20; what claims to shrink by much more is not one.
uint64_t inflateLimit(uint64_t compressed_size) {
  return (uint64_t(16) << 20) + 512 * compressed_size;
}

bool starts_with(ByteView bytes, std::string_view magic) {
  return asText(bytes).starts_with(magic);
}

/// "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-" -> "gfx90a:xnack-": what a person calls the entry.
std::string_view shortId(std::string_view id) {
  std::size_t gfx = id.find("gfx");
  return gfx == std::string_view::npos ? id : id.substr(gfx);
}

/// Where the next bundle starts. Looks window by window, so that a search for one magic never runs
/// through the whole file past the other one.
std::optional<uint64_t> findMagic(ByteView bytes, uint64_t from) {
  constexpr uint64_t kWindow = 1 << 16;
  std::string_view text = asText(bytes);
  for (; from < text.size(); from += kWindow) {
    std::string_view window = text.substr(from, kWindow + kMagic.size() - 1);
    std::size_t first = std::min(window.find(kMagic), window.find(kCompressedMagic));
    if (first != std::string_view::npos) return from + first;
  }
  return std::nullopt;
}

struct RawEntry {
  uint64_t offset, size;
  std::string_view id;
};

Result<std::vector<RawEntry>> readEntries(const Blob &blob) {
  ByteView bytes = blob.bytes();
  auto fail = [&](uint64_t offset, std::string what) {
    return blob.error("bundle header", offset, std::move(what));
  };
  auto count = read<uint64_t>(bytes, kMagic.size());
  if (!count) return fail(kMagic.size(), "ends early");
  if (*count > bytes.size() / kEntryHeader)
    return fail(kMagic.size(), fmt::format("{} entries do not fit", *count));
  std::vector<RawEntry> entries;
  uint64_t at = kMagic.size() + 8;
  for (uint64_t i = 0; i < *count; ++i) {
    auto offset = read<uint64_t>(bytes, at);
    auto size = read<uint64_t>(bytes, at + 8);
    auto length = read<uint64_t>(bytes, at + 16);
    if (!offset || !size || !length) return fail(at, "ends early");
    auto id = part(bytes, at + kEntryHeader, *length);
    if (!id || *length > kLongestString) return fail(at, "name of an entry runs past the end");
    if (!part(bytes, *offset, *size))
      return fail(at, fmt::format("entry '{}' [{:#x}, +{:#x}) is outside the bundle", asText(*id),
                                  *offset, *size));
    entries.push_back({*offset, *size, asText(*id)});
    at += kEntryHeader + *length;
  }
  return entries;
}

uint64_t endOf(const std::vector<RawEntry> &entries) {
  uint64_t end = kMagic.size() + 8;
  for (const RawEntry &entry : entries) end += kEntryHeader + entry.id.size();
  for (const RawEntry &entry : entries) end = std::max(end, entry.offset + entry.size);
  return end;
}

} // namespace

bool Bundle::looksLike(ByteView bytes) {
  return starts_with(bytes, kMagic) || starts_with(bytes, kCompressedMagic);
}

Result<Bundle> Bundle::open(Blob blob) {
  if (starts_with(blob.bytes(), kCompressedMagic)) return openCompressed(std::move(blob));
  if (!starts_with(blob.bytes(), kMagic)) return blob.error("bundle header", 0, "not a bundle");
  auto entries = readEntries(blob);
  if (!entries) return std::move(entries).error();
  Bundle bundle;
  bundle.blob_ = blob.slice(blob.bytes().first(endOf(*entries)), blob.name());
  return bundle;
}

Result<Bundle> Bundle::openCompressed(Blob blob) {
  ByteView bytes = blob.bytes();
  auto fail = [&](uint64_t offset, std::string what) {
    return blob.error("compressed bundle header", offset, std::move(what));
  };
  auto version = read<uint16_t>(bytes, 4);
  auto method = read<uint16_t>(bytes, 6);
  if (!version || !method) return fail(4, "ends early");
  if (*version < 1 || *version > 3) return fail(4, fmt::format("version {} is unknown", *version));
  if (*method > 1) return fail(6, fmt::format("compression method {} is unknown", *method));
  Bundle bundle;
  bundle.version_ = *version;
  bundle.method_ = static_cast<Method>(*method);
  std::optional<uint64_t> total, inflated;
  if (*version == 1) {
    bundle.header_size_ = 20;
    inflated = read<uint32_t>(bytes, 8);
    // Version 1 does not say where it ends; the next bundle does.
    total = findMagic(bytes, std::min<uint64_t>(20, bytes.size())).value_or(bytes.size());
  } else if (*version == 2) {
    bundle.header_size_ = 24;
    total = read<uint32_t>(bytes, 8);
    inflated = read<uint32_t>(bytes, 12);
  } else {
    bundle.header_size_ = 32;
    total = read<uint64_t>(bytes, 8);
    inflated = read<uint64_t>(bytes, 16);
  }
  if (bytes.size() < bundle.header_size_ || !total || !inflated) return fail(8, "ends early");
  if (*total < bundle.header_size_ || *total > bytes.size())
    return fail(8, fmt::format("size {} is not between {} and {}", *total, bundle.header_size_,
                               bytes.size()));
  bundle.inflated_size_ = *inflated;
  bundle.blob_ = blob.slice(bytes.first(*total), blob.name());
  return bundle;
}

Result<Blob> Bundle::inflate() const {
  ByteView compressed = blob_.bytes().subspan(header_size_);
  uint64_t limit = std::min(inflated_size_, inflateLimit(compressed.size()));
  Inflated result =
      method_ == Method::Zstd ? inflateZstd(compressed, limit) : inflateZlib(compressed, limit);
  if (!result)
    return blob_.error("compressed bundle", header_size_ + result.error().offset,
                       result.error().what);
  auto &bytes = *result;
  if (bytes.size() != inflated_size_)
    return blob_.error(
        "compressed bundle", 0,
        fmt::format("holds {} bytes, not the {} it says", bytes.size(), inflated_size_));
  return Blob::own(std::move(bytes), blob_.name());
}

Result<std::vector<BundleEntry>> Bundle::entries() const {
  Blob whole = blob_;
  if (compressed()) {
    auto inflated = inflate();
    if (!inflated) return std::move(inflated).error();
    whole = *std::move(inflated);
    if (!starts_with(whole.bytes(), kMagic))
      return blob_.error("compressed bundle", 0, "does not hold a bundle");
  }
  auto raw = readEntries(whole);
  if (!raw) return std::move(raw).error();
  std::vector<BundleEntry> entries;
  entries.reserve(raw->size());
  for (const RawEntry &entry : *raw) {
    std::string name = fmt::format("{}[{}]", whole.name(), shortId(entry.id));
    entries.push_back(
        {std::string(entry.id),
         whole.slice(whole.bytes().subspan(entry.offset, entry.size), std::move(name)),
         entry.offset});
  }
  return entries;
}

std::vector<PlacedBundle> findBundles(const Blob &blob, std::vector<Error> &errors) {
  std::vector<PlacedBundle> bundles;
  uint64_t at = 0;
  while (auto next = findMagic(blob.bytes(), at)) {
    at = *next;
    auto bundle = Bundle::open(blob.slice(blob.bytes().subspan(at), blob.name()));
    if (bundle) {
      uint64_t size = bundle->size();
      bundles.push_back({at, *std::move(bundle)});
      at += size;
    } else {
      Error error = std::move(bundle).error();
      error.offset += at;
      errors.push_back(std::move(error));
      if (errors.size() >= kMostErrors) break;
      at += kCompressedMagic.size();
    }
  }
  return bundles;
}

} // namespace fade::codeobj
