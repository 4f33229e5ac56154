#include "capture/writer.h"

#include "base/diagnostics.h"
#include "base/fnv1a.h"
#include "fade/json_writer.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

namespace fade::capture {
namespace {

namespace fs = std::filesystem;

constexpr PageHash kZeroPage{0, 0};

template <typename T> void put(std::string &to, const T &value) {
  to.append(reinterpret_cast<const char *>(&value), sizeof value);
}

/// All of it, on the disk.
Status writeFile(const std::string &path, std::string_view bytes) {
  OwnFile file = OwnFile::open(path, false);
  int error = file.is() ? file.write(bytes) : errno;
  if (error == 0 && fsync(file.fd()) != 0) error = errno;
  if (const int closed = file.close(); error == 0) error = closed;
  if (error != 0) return Error{path, "", 0, std::strerror(error)};
  return Done();
}

void syncFolder(const std::string &path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  (void)fsync(fd);
  (void)close(fd);
}

std::string hex(std::span<const uint8_t> bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const uint8_t byte : bytes) (text += digits[byte >> 4]) += digits[byte & 15];
  return text;
}

std::string_view asText(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

void describe(JsonWriter &json, const Description &d) {
  json.object([&] {
    json.field("type", "capture");
    json.field("version", kVersion);
    writeDispatch(json, d);
    json.field("dimensions", d.dimensions);
    json.field("private_segment", d.private_segment);
    json.field("group_segment", d.group_segment);
    json.field("kernel_object", d.kernel_object);
    json.field("kernarg_address", d.kernarg_address);
    json.field("queue_address", d.queue_address);
    json.field("arguments", hex(d.arguments));
    json.field("is_cooperative", d.is_cooperative);
  });
  for (const Region &region : d.regions)
    json.object([&] {
      json.field("type", "region");
      json.field("address", region.address);
      json.field("size", region.size);
      json.field("kind", kRegionKinds[static_cast<std::size_t>(region.kind)]);
      json.field("on_host", region.on_host);
      json.field("agent", region.agent);
      json.field("flags", region.flags);
      if (region.used != 0 && region.used != region.size) json.field("used", region.used);
    });
}

} // namespace

void writeDispatch(JsonWriter &json, const Description &d) {
  const auto three = [&](const char *name, const std::array<uint32_t, 3> &values) {
    json.list(name, [&] {
      for (const uint32_t value : values) json.value(value);
    });
  };
  json.field("fade", d.fade);
  json.field("runtime", d.runtime);
  json.field("gpu", d.gpu);
  json.field("isa", d.isa);
  json.field("kernel", d.kernel);
  if (!d.module.empty()) json.field("module", d.module);
  json.field("symbol", d.symbol);
  json.field("dispatch", d.dispatch);
  three("grid", d.grid);
  three("workgroup", d.workgroup);
  json.field("has_after", d.has_after);
  json.field("is_minimised", d.is_minimised);
  json.field("only_reachable", d.only_reachable);
  json.field("other_queues_busy", d.other_queues_busy);
  json.field("duration_ns", d.duration_ns);
}

std::string busyText(const Description &d) {
  return d.other_queues_busy == 1 ? "1 other queue, or copies"
                                  : fmt::format("{} other queues, or copies", d.other_queues_busy);
}

std::string folderName(std::string_view kernel) {
  constexpr std::size_t longest = 60;
  constexpr std::string_view signs = "._-";
  if (kernel.starts_with("void ")) kernel.remove_prefix(5);
  std::string name; // "ns::scan<int>(int*)" is ns-scan-int
  for (const char c : kernel.substr(0, kernel.find('('))) {
    if (name.size() == longest) break;
    const bool fits = std::isalnum(static_cast<unsigned char>(c)) || signs.find(c) != signs.npos;
    if (fits && !(name.empty() && c == '.'))
      name += c;
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  while (name.ends_with('-')) name.pop_back();
  return name.empty() ? "kernel" : name;
}

Result<std::unique_ptr<Writer>> Writer::create(const std::string &folder, const std::string &name) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return Error{folder, "", 0, error.message()};
  std::unique_ptr<Writer> writer(new Writer);
  constexpr unsigned most = 100000;
  for (unsigned n = 1;; ++n) {
    writer->path_ = fmt::format("{}/{}{}", folder, name, n == 1 ? "" : fmt::format("-{}", n));
    writer->partial_ = writer->path_ + std::string(kPartial);
    // Whoever makes the folder has the name, whatever other processes do.
    if (!fs::exists(writer->path_, error) && mkdir(writer->partial_.c_str(), 0755) == 0) break;
    if ((errno != EEXIST && !fs::exists(writer->path_, error)) || n == most) {
      Error failed{writer->partial_, "", 0, std::strerror(errno)};
      writer->partial_.clear();
      return failed;
    }
  }
  auto pages = PageStore::create(writer->partial_ + "/" + kPagesFile);
  if (!pages) return std::move(pages).error();
  writer->pages_ = std::move(*pages);
  return writer;
}

Writer::~Writer() {
  if (is_finished_ || partial_.empty()) return;
  pages_.reset();
  std::error_code ignored;
  fs::remove_all(partial_, ignored);
}

void Writer::begin(State state, std::size_t region) {
  state_ = state;
  region_ = region;
  page_ = 0;
  before_.resize(std::max(before_.size(), region + 1));
  after_.resize(before_.size());
  hashes_.resize(before_.size());
}

void Writer::leaveOut(std::size_t region) {
  const auto at = static_cast<std::ptrdiff_t>(region);
  for (auto *layout : {&before_, &after_})
    if (region < layout->size()) layout->erase(layout->begin() + at);
  if (region < hashes_.size()) hashes_.erase(hashes_.begin() + at);
}

void Writer::append(Run run) {
  std::vector<Run> &runs = state_ == State::before ? before_[region_] : after_[region_];
  page_ += run.count;
  if (!runs.empty()) {
    Run &last = runs.back();
    const bool fits = last.count <= UINT32_MAX - run.count;
    if (fits && last.kind == run.kind &&
        (run.kind == Run::kStored ? last.first + last.count == run.first
                                  : run.first == last.first)) {
      last.count += run.count;
      return;
    }
    // A single stored page may be the first of many equal ones.
    if (fits && run.kind == Run::kStored && run.first == last.first &&
        (last.kind == Run::kEqual || (last.kind == Run::kStored && last.count == 1))) {
      last.kind = Run::kEqual;
      last.count += run.count;
      return;
    }
  }
  runs.push_back(run);
}

Result<Run> Writer::place(const uint8_t *page) {
  const bool is_zero = PageHasher::isZero(page);
  const PageHash hash = is_zero ? kZeroPage : pages_->hash(page);
  if (state_ == State::before) {
    hashes_[region_].push_back(hash);
  } else if (page_ < hashes_[region_].size() && hashes_[region_][page_] == hash) {
    return Run{Run::kSame, 1, 0};
  } else {
    ++sizes_.changed;
  }
  if (is_zero) return Run{Run::kZero, 1, 0};
  auto number = pages_->add(page, hash);
  if (!number) return std::move(number).error();
  return Run{Run::kStored, 1, *number};
}

Status Writer::add(std::span<const uint8_t> pages) {
  if (state_ == State::before) sizes_.memory += pages.size();
  for (std::size_t at = 0; at + kPageSize <= pages.size(); at += kPageSize) {
    auto run = place(pages.data() + at);
    if (!run) return std::move(run).error();
    append(*run);
  }
  return Done();
}

void Writer::skip(uint64_t pages, Run::Kind kind) {
  if (state_ == State::before) {
    sizes_.memory += pages * kPageSize;
    hashes_[region_].resize(hashes_[region_].size() + pages, kZeroPage);
  }
  while (pages != 0) {
    const auto count = static_cast<uint32_t>(std::min<uint64_t>(pages, UINT32_MAX / 2));
    append({kind, count, 0});
    pages -= count;
  }
}

Status Writer::writeIndex(std::size_t regions) {
  std::string index("FADEPIDX");
  put(index, kVersion);
  put(index, static_cast<uint32_t>(kPageSize));
  put(index, pages_->count());
  put(index, static_cast<uint64_t>(pages_->blockSizes().size()));
  for (const uint32_t size : pages_->blockSizes()) put(index, size);
  for (auto *layout : {&before_, &after_}) {
    layout->resize(regions);
    for (const auto &runs : *layout) {
      put(index, static_cast<uint64_t>(runs.size()));
      for (const Run &run : runs) put(index, run);
    }
  }
  std::string packed(ZSTD_compressBound(index.size()), '\0');
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), index.data(), index.size(), 1);
  if (ZSTD_isError(size)) return Error{partial_, kIndexFile, 0, ZSTD_getErrorName(size)};
  packed.resize(size);
  index_bytes_ = size;
  index_checksum_ = fnv1a(packed);
  return writeFile(partial_ + "/" + kIndexFile, packed);
}

Status Writer::writeCode(std::span<const Code> code) const {
  const std::string folder = partial_ + "/code";
  if (mkdir(folder.c_str(), 0755) != 0) return Error{folder, "", 0, std::strerror(errno)};
  for (std::size_t i = 0; i < code.size(); ++i)
    if (Status written = writeFile(fmt::format("{}/{}.hsaco", folder, i), asText(code[i].bytes));
        !written)
      return written;
  syncFolder(folder);
  return Done();
}

Status Writer::writeManifest(const Description &description, std::span<const Code> code) {
  JsonWriter json;
  describe(json, description);
  sizes_.on_disk = index_bytes_ + pages_->bytes();
  for (const Code &each : code) {
    sizes_.on_disk += each.bytes.size();
    json.object([&] {
      json.field("type", "code");
      json.field("base", each.base);
      json.field("size", each.bytes.size());
      json.field("checksum", fnv1a(asText(each.bytes)));
    });
  }
  json.object([&] {
    json.field("type", "end");
    json.field("pages_bytes", pages_->bytes());
    json.field("index_bytes", index_bytes_);
    json.field("index_checksum", index_checksum_);
    json.field("changed", sizes_.changed);
    json.field("checksum", fnv1a(json.text()));
  });
  const std::string text = json.take();
  sizes_.on_disk += text.size();
  sizes_.stored = pages_->count();
  return writeFile(partial_ + "/" + kManifestFile, text);
}

Status Writer::rename() {
  syncFolder(partial_);
  if (::rename(partial_.c_str(), path_.c_str()) != 0)
    return Error{path_, "", 0, std::strerror(errno)};
  syncFolder(fs::path(path_).parent_path());
  is_finished_ = true;
  return Done();
}

Status Writer::finish(const Description &description, std::span<const Code> code) {
  if (Status closed = pages_->close(); !closed) return closed;
  if (Status written = writeIndex(description.regions.size()); !written) return written;
  if (Status written = writeCode(code); !written) return written;
  if (Status written = writeManifest(description, code); !written) return written;
  return rename();
}

} // namespace fade::capture
