// The caches of a GPU, for the mode in which memory behaves as on a card (FADE_GPU_CACHES=card).
// Without that mode there is no object of these classes, and memory is coherent.
//
//   wave ─ vector ─▶ L1 of the workgroup ─┐
//        └ scalar ─▶ scalar cache, shared ┴▶ L2 of the die ─▶ memory ◀─ host, copy engines
//
// L2 keeps what is written until it is written back, and of non-coherent memory also what was read;
// Caching says which, page by page. It has bytes that are valid and bytes that are dirty, so what
// it writes back is exactly what was stored. L1 and the scalar cache keep what was read and write
// through. Where a card has several dies, atomics and accesses at device scope meet: others' bytes
// are written back first. All caches have a limit: the line that came first goes first.
//
// Lines are known by their host address, so that memory that is mapped twice is cached once.
//
// Threads: an L1 belongs to a workgroup, which one worker runs at a time. All else has locks of its
// own, and no lock is held while another one is taken, but for that of a scalar cache over those of
// the L2.
#pragma once

#include "base/address_space.h"
#include "isa/arch.h"

#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fade::sim {

// How far an access must be seen, or has to look.
enum class Reach : uint8_t { workgroup, device, system };

// Some bytes of one region, which do not cross a line.
struct CachedBytes {
  std::byte *host;
  uint32_t size;
  // Host memory that may be looked at: the region's.
  std::byte *begin, *end;
  Caching caching;
};

struct CacheLine {
  static constexpr uint64_t bytes = 128;
  using Mask = unsigned __int128; // a bit for each byte

  Mask valid = 0, dirty = 0;
  uint64_t epoch = 0;     // of its store
  bool is_listed = false; // as one that may be dirty
  alignas(16) std::byte data[bytes];

  static std::byte *base(std::byte *host) {
    return reinterpret_cast<std::byte *>(reinterpret_cast<uintptr_t>(host) & ~(bytes - 1));
  }
  static Mask mask(const std::byte *host, uint64_t size) {
    const Mask ones = size >= bytes ? ~Mask{0} : (Mask{1} << size) - 1;
    return ones << (reinterpret_cast<uintptr_t>(host) % bytes);
  }
};

// Lines by address, the oldest of which make room for new ones. Packets come by the thousand, so
// neither invalidating nor finding what is dirty looks at all lines.
class LineStore {
public:
  explicit LineStore(size_t most) : most_(most) {}

  CacheLine *find(std::byte *base) {
    auto it = lines_.find(base);
    return it == lines_.end() ? nullptr : &current(it->second);
  }
  // `evict(base, line)` is told of a line that goes.
  template <class F> CacheLine &get(std::byte *base, F &&evict) {
    auto [it, is_new] = lines_.try_emplace(base);
    if (!is_new) return current(it->second);
    it->second.epoch = epoch_;
    CacheLine &line = it->second; // it stays where it is
    order_.push_back(base);
    while (order_.size() > most_) {
      auto old = lines_.find(order_.front());
      order_.pop_front();
      evict(old->first, old->second);
      lines_.erase(old);
    }
    return line;
  }
  void set_dirty(std::byte *base, CacheLine &line, CacheLine::Mask which) {
    line.dirty |= which;
    line.valid |= which;
    if (std::exchange(line.is_listed, true)) return;
    if (dirty_.size() > 2 * most_)
      std::erase_if(dirty_, [&](std::byte *b) { return !lines_.contains(b); });
    dirty_.push_back(base);
  }
  // f(base, line) for all that may have dirty bytes; none has afterwards.
  template <class F> void clean(F &&f) {
    for (std::byte *base : dirty_)
      if (auto it = lines_.find(base); it != lines_.end()) {
        f(base, it->second);
        it->second.is_listed = false;
      }
    dirty_.clear();
  }
  // What is not dirty is valid no more.
  void invalidate() { ++epoch_; }
  template <class F> void for_each(F &&f) {
    for (auto &[base, line] : lines_) f(base, current(line));
  }
  void clear() { lines_.clear(), order_.clear(), dirty_.clear(); }

private:
  CacheLine &current(CacheLine &line) const {
    if (line.epoch != epoch_) line.valid = line.dirty, line.epoch = epoch_;
    return line;
  }

  size_t most_;
  uint64_t epoch_ = 0;
  std::unordered_map<std::byte *, CacheLine> lines_;
  std::deque<std::byte *> order_;
  std::vector<std::byte *> dirty_; // those that are listed; some may have gone
};

// The L2 of all dies of a GPU, and its scalar caches.
class Caches {
public:
  explicit Caches(const Arch &arch);

  unsigned dies() const { return dies_; }

  // ---- accesses of vector and scalar memory instructions, behind their own caches
  void load(unsigned die, const CachedBytes &from, void *to, Reach reach);
  void store(unsigned die, const CachedBytes &to, const void *from, Reach reach);
  // Applies f to the bytes, which are aligned to their size, as one operation.
  template <class T, class F> T atomic(unsigned die, const CachedBytes &at, Reach reach, F &&f) {
    if (at.caching == Caching::none) return f(reinterpret_cast<T *>(at.host));
    Shard &shard = shard_of(at.host);
    std::lock_guard lock(shard.mutex);
    meet(shard, die, at);
    if (reach == Reach::system) {
      write_back(shard, die, at);
      return f(reinterpret_cast<T *>(at.host));
    }
    T value;
    load_locked(shard, die, at, &value);
    const T old = f(&value);
    keep(shard, die, at, &value);
    return old;
  }
  // Through one of the scalar caches.
  void load_scalar(unsigned die, uint64_t group, const CachedBytes &from, void *to, bool past);
  void store_scalar(unsigned die, uint64_t group, const CachedBytes &to, const void *from);

  // ---- cache control
  void write_back(unsigned die);
  void invalidate(unsigned die); // what may be old: of non-coherent memory, if it is not dirty
  void invalidate_scalar(unsigned die, uint64_t group);

  // ---- packets: the fences before and behind a dispatch, and what a copy engine asks for
  void acquire(Reach reach);
  void release(Reach reach);
  // Host memory that is about to go.
  void forget(std::byte *host, uint64_t size);

private:
  static constexpr unsigned shards = 64, scalar_per_die = 4;
  // Lines with the same number of all dies.
  struct Shard {
    std::mutex mutex;
    std::vector<LineStore> dies;
  };
  struct Scalar {
    std::mutex mutex;
    LineStore lines;
  };

  Shard &shard_of(const std::byte *host) {
    return shards_[reinterpret_cast<uintptr_t>(host) / CacheLine::bytes % shards];
  }
  Scalar &scalar(unsigned die, uint64_t group) {
    return *scalars_[die * scalar_per_die + group / dies_ % scalar_per_die];
  }
  // With the shard's lock.
  CacheLine &line(Shard &shard, unsigned die, std::byte *host);
  void load_locked(Shard &shard, unsigned die, const CachedBytes &from, void *to);
  void keep(Shard &shard, unsigned die, const CachedBytes &to, const void *from);
  void write_back(Shard &shard, unsigned die, const CachedBytes &what);
  void meet(Shard &shard, unsigned die, const CachedBytes &what);

  const unsigned dies_;
  std::unique_ptr<Shard[]> shards_;
  std::vector<std::unique_ptr<Scalar>> scalars_;
};

// The L1 of a workgroup.
class VectorCache {
public:
  void load(Caches &l2, unsigned die, const CachedBytes &from, void *to, Reach reach);
  void store(Caches &l2, unsigned die, const CachedBytes &to, const void *from, Reach reach);
  void forget(const CachedBytes &what);
  void clear() { lines_.clear(); }

private:
  LineStore lines_{128};
};

} // namespace fade::sim
