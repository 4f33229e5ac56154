#include "replay/memory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace fade::replay {
namespace {

using capture::kPageSize;
using capture::Run;

/// Bytes that will really be there.
uint64_t stored(const capture::Reader &reader) {
  uint64_t pages = 0;
  for (std::size_t i = 0; i < reader.description().regions.size(); ++i)
    for (const Run &run : reader.runs(capture::State::before, i))
      if (run.kind == Run::kStored || run.kind == Run::kEqual) pages += run.count;
  return pages * kPageSize;
}

} // namespace

Memory::~Memory() {
  if (work_) munmap(work_, size_);
  if (original_) munmap(original_, size_);
  if (file_ >= 0) close(file_);
  if (page_map_ >= 0) close(page_map_);
}

Result<std::unique_ptr<Memory>> Memory::load(capture::Reader &reader, const Progress &progress) {
  std::unique_ptr<Memory> memory(new Memory(reader));
  if (Status done = memory->allocate(); !done) return std::move(done).error();
  if (Status done = memory->fill(progress); !done) return std::move(done).error();
  memory->map();
  return memory;
}

Status Memory::allocate() {
  constexpr uint64_t most = uint64_t{1} << 46;
  for (const capture::Region &region : reader_.description().regions) {
    offsets_.push_back(size_);
    if (region.size > most || size_ + region.size > most)
      return Error{reader_.folder(), "", 0, "more memory than any process can have"};
    size_ += region.size;
  }
  const uint64_t needed = stored(reader_);
  const uint64_t machine =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  if (needed > machine)
    return Error{reader_.folder(), "", 0,
                 fmt::format("{} MiB of memory were captured; this machine has {} MiB",
                             needed >> 20, machine >> 20)};
  if (size_ == 0) return Error{reader_.folder(), "", 0, "no memory was captured"};
  file_ = memfd_create("fade-replay", MFD_CLOEXEC);
  if (file_ < 0 || ftruncate(file_, static_cast<off_t>(size_)) != 0)
    return Error{reader_.folder(), "", 0, fmt::format("no memory: {}", std::strerror(errno))};
  void *original =
      mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  if (original == MAP_FAILED)
    return Error{reader_.folder(), "", 0, fmt::format("no memory: {}", std::strerror(errno))};
  original_ = static_cast<uint8_t *>(original);
  void *work = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file_, 0);
  if (work == MAP_FAILED)
    return Error{reader_.folder(), "", 0, fmt::format("no memory: {}", std::strerror(errno))};
  work_ = static_cast<uint8_t *>(work);
  page_map_ = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  return Done();
}

Status Memory::fill(const Progress &progress) {
  for (std::size_t i = 0; i < regions(); ++i) {
    uint64_t done = 0;
    const Status read =
        reader_.forStored(capture::State::before, i, [&](uint64_t page, const uint8_t *bytes) {
          std::memcpy(original_ + offset({i, page}), bytes, kPageSize);
          done += kPageSize;
          if (progress && done % (kPageSize << 8) == 0) progress(done);
        });
    if (!read) return read;
  }
  return Done();
}

void Memory::map() {
  for (std::size_t i = 0; i < regions(); ++i) {
    const capture::Region &r = region(i);
    space_.map(r.address, r.size, work_ + offsets_[i], true, !r.on_host);
    uint64_t page = 0;
    for (const Run &run : reader_.runs(capture::State::before, i)) {
      if (run.kind == Run::kAbsent)
        space_.unmap(r.address + page * kPageSize, run.count * kPageSize);
      page += run.count;
    }
  }
}

std::size_t Memory::find(uint64_t address) const {
  const auto &all = reader_.description().regions;
  const auto after = std::ranges::upper_bound(all, address, {}, &capture::Region::address);
  if (after == all.begin() || !std::prev(after)->contains(address, 1)) return all.size();
  return static_cast<std::size_t>(std::prev(after) - all.begin());
}

bool Memory::patch(uint64_t address, const void *bytes, std::size_t size) {
  const std::size_t index = find(address);
  if (index == regions() || !region(index).contains(address, size)) return false;
  std::memcpy(original_ + offsets_[index] + (address - region(index).address), bytes, size);
  return true;
}

void Memory::restore() { (void)madvise(work_, size_, MADV_DONTNEED); }

/// A page of the file that was written to is no longer the file's. Whoever may not ask the system
/// compares.
std::vector<PageId> Memory::written() const {
  constexpr uint64_t present = uint64_t{1} << 63, swapped = uint64_t{1} << 62,
                     of_file = uint64_t{1} << 61;
  std::vector<PageId> found;
  std::vector<uint64_t> entries;
  const auto system_page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  for (std::size_t i = 0; i < regions(); ++i) {
    for (uint64_t page = 0; page < region(i).pages();) {
      const uint64_t count = std::min<uint64_t>(region(i).pages() - page, 1 << 16);
      entries.assign(count, present);
      const auto at = reinterpret_cast<uint64_t>(now({i, page})) / system_page * sizeof(uint64_t);
      const bool is_known = page_map_ >= 0 && system_page == kPageSize &&
                            pread(page_map_, entries.data(), count * 8, static_cast<off_t>(at)) ==
                                static_cast<ssize_t>(count * 8);
      for (uint64_t k = 0; k < count; ++k) {
        const PageId id{i, page + k};
        const bool is_written =
            is_known ? (entries[k] & (present | swapped)) != 0 && (entries[k] & of_file) == 0
                     : std::memcmp(now(id), captured(id), kPageSize) != 0;
        if (is_written) found.push_back(id);
      }
      page += count;
    }
  }
  return found;
}

std::string Memory::whyNotAt(uint64_t address) const {
  const capture::Description &d = reader_.description();
  if (find(address) == regions())
    return d.only_reachable
               ? "; it was not captured: --reachable skips memory that no pointer leads to"
               : "; it was not captured";
  return d.is_minimised ? "; the page was left out by --minimise"
                        : "; the page could not be read when it was captured";
}

} // namespace fade::replay
