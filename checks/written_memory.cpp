#include "checks/written_memory.h"

#include <algorithm>
#include <bit>
#include <fcntl.h>
#include <mutex>
#include <unistd.h>

namespace fade::checks {
namespace {

/// Calls f(word, mask) for the words of a chunk's map that [begin, end) has bits in.
template <class F> void forWords(uint64_t begin, uint64_t end, F &&f) {
  for (uint64_t at = begin; at < end;) {
    const uint64_t n = std::min<uint64_t>(64 - at % 64, end - at);
    f(at / 64, (n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1) << at % 64);
    at += n;
  }
}

/// The chunks that a thread used last. They are never given back.
struct LastChunk {
  uint64_t number = ~uint64_t{0};
  WrittenMemory::Chunk *chunk = nullptr;
};
constexpr unsigned kSlotBits = 6;
thread_local std::array<LastChunk, 1 << kSlotBits> last_chunks;

/// Arrays are often a power of two apart: all bits have a part in it.
std::size_t slotOf(uint64_t number) {
  return static_cast<std::size_t>(number * 0x9E3779B97F4A7C15 >> (64 - kSlotBits));
}

uint64_t pageSize() {
  static const auto size = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return size;
}

bool hostHasTouched(uint64_t page) {
  static const int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  uint64_t entry = 0;
  if (file < 0 || pread(file, &entry, sizeof entry, static_cast<off_t>(page * sizeof entry)) !=
                      static_cast<ssize_t>(sizeof entry))
    return true; // not known: nobody is accused
  constexpr uint64_t present = uint64_t{1} << 63, swapped = uint64_t{1} << 62;
  return (entry & (present | swapped)) != 0;
}

} // namespace

bool HostPages::isTouched(uint64_t address) {
  const uint64_t page = address / pageSize();
  if (page != page_) is_touched_ = hostHasTouched(page), page_ = page;
  return is_touched_;
}

WrittenMemory &WrittenMemory::instance() {
  static auto *memory = new WrittenMemory; // outlives every exit handler
  return *memory;
}

WrittenMemory::Chunk *WrittenMemory::find(uint64_t address) const {
  const uint64_t number = address / kChunk;
  LastChunk &last = last_chunks[slotOf(number)];
  if (number == last.number) return last.chunk;
  const std::shared_lock lock(mutex_);
  const auto at = chunks_.find(number);
  if (at == chunks_.end()) return nullptr;
  last = {number, at->second.get()};
  return last.chunk;
}

WrittenMemory::Chunk &WrittenMemory::make(uint64_t address) {
  if (Chunk *chunk = find(address)) return *chunk;
  const std::unique_lock lock(mutex_);
  auto &chunk = chunks_[address / kChunk];
  if (!chunk) chunk = std::make_unique<Chunk>();
  return *chunk;
}

void WrittenMemory::clear(uint64_t address, uint64_t size) {
  const uint64_t end = address + size;
  {
    const std::lock_guard lock(copied_mutex_);
    std::erase_if(copied_, [&](const auto &one) {
      return one.first >= address / pageSize() && one.first * pageSize() < end;
    });
  }
  unmark(address, size);
}

void WrittenMemory::unmark(uint64_t address, uint64_t size) {
  const uint64_t end = address + size;
  for (uint64_t at = address; at < end;) {
    const uint64_t next = std::min(end, (at / kChunk + 1) * kChunk), base = at / kChunk * kChunk;
    if (Chunk *chunk = find(at))
      forWords(at - base, next - base,
               [&](uint64_t word, uint64_t mask) { chunk->bits[word].fetch_and(~mask); });
    at = next;
  }
  times_unmarked_.fetch_add(1, std::memory_order_relaxed);
}

void WrittenMemory::mark(uint64_t address, uint64_t size) {
  const uint64_t end = address + size;
  for (uint64_t at = address; at < end;) {
    const uint64_t next = std::min(end, (at / kChunk + 1) * kChunk), base = at / kChunk * kChunk;
    Chunk &chunk = make(at);
    forWords(at - base, next - base, [&](uint64_t word, uint64_t mask) {
      if ((chunk.bits[word].load(std::memory_order_relaxed) & mask) != mask)
        chunk.bits[word].fetch_or(mask, std::memory_order_relaxed);
    });
    at = next;
  }
}

void WrittenMemory::markHostCopy(uint64_t address, uint64_t size) {
  if (size == 0) return;
  mark(address, size);
  constexpr std::size_t most = 1 << 16;
  const std::lock_guard lock(copied_mutex_);
  // Of the pages between these, all was written.
  for (const uint64_t at : {address, address + size - 1})
    if (copied_.size() < most) copied_.try_emplace(at / pageSize(), Copied::unseen);
}

bool WrittenMemory::isExplainedPage(uint64_t page) {
  const std::lock_guard lock(copied_mutex_);
  const auto at = copied_.find(page);
  if (at == copied_.end()) return false;
  if (at->second != Copied::unseen) return at->second == Copied::only_copies;
  const auto *bytes = reinterpret_cast<const char *>(page * pageSize());
  at->second = Copied::only_copies;
  for (uint64_t i = 0; i < pageSize(); ++i)
    if (bytes[i] && !isWritten(page * pageSize() + i, 1)) at->second = Copied::others;
  return at->second == Copied::only_copies;
}

bool WrittenMemory::isExplained(uint64_t begin, uint64_t end) {
  if (!explains_ || !isExplainedPage(begin / pageSize())) return false;
  const auto *bytes = reinterpret_cast<const char *>(begin);
  return std::all_of(bytes, bytes + (end - begin), [](char c) { return c == 0; });
}

bool WrittenMemory::isWritten(uint64_t address, uint64_t size) const {
  const uint64_t end = address + size;
  bool is_written = true;
  for (uint64_t at = address; at < end && is_written;) {
    const uint64_t next = std::min(end, (at / kChunk + 1) * kChunk), base = at / kChunk * kChunk;
    const Chunk *chunk = find(at);
    if (!chunk) return false;
    forWords(at - base, next - base, [&](uint64_t word, uint64_t mask) {
      is_written &= (chunk->bits[word].load(std::memory_order_relaxed) & mask) == mask;
    });
    at = next;
  }
  return is_written;
}

bool WrittenMemory::isTouched(uint64_t address, uint64_t size) const {
  const uint64_t end = address + size;
  bool is_written = false;
  for (uint64_t at = address; at < end && !is_written;) {
    const uint64_t next = std::min(end, (at / kChunk + 1) * kChunk), base = at / kChunk * kChunk;
    if (const Chunk *chunk = find(at))
      forWords(at - base, next - base, [&](uint64_t word, uint64_t mask) {
        is_written |= (chunk->bits[word].load(std::memory_order_relaxed) & mask) != 0;
      });
    at = next;
  }
  return is_written;
}

bool WrittenMemory::isKnownUnwritten(uint64_t address, uint64_t size, HostPages &pages) {
  bool is_unwritten = !isTouched(address, size);
  for (uint64_t at = address, end = address + size, next = 0; at < end && is_unwritten; at = next) {
    next = std::min(end, (at / pageSize() + 1) * pageSize());
    is_unwritten = !pages.isTouched(at) || isExplained(at, next);
  }
  return is_unwritten;
}

bool WrittenMemory::isUnwritten(uint64_t address, uint64_t size, HostPages &pages) {
  if (isKnownUnwritten(address, size, pages)) return true;
  if (isTouched(address, size)) return false;
  for (uint64_t at = address / pageSize() * pageSize(); at < address + size; at += pageSize())
    if (pages.isTouched(at) &&
        !isExplained(std::max(at, address), std::min(at + pageSize(), address + size)))
      mark(at, pageSize());
  return false;
}

} // namespace fade::checks
