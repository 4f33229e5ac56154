#include "wave/caches.h"

#include "wave/quad.h"

#include "fade/gpu.h"

#include <algorithm>

namespace fade::sim {
namespace {

using Mask = CacheLine::Mask;

template <class T> FADE_GPU_ACCESS void move_one(void *to, const void *from) {
  using Anywhere __attribute__((aligned(1), may_alias)) = T;
  *static_cast<volatile Anywhere *>(to) = *static_cast<const volatile Anywhere *>(from);
}
// How many bytes to move at once, so that what is aligned in memory is never torn: the host uses it
// too.
uint64_t piece_at(const std::byte *host, uint64_t n) {
  for (uint64_t piece : {16, 8, 4, 2})
    if (n >= piece && reinterpret_cast<uintptr_t>(host) % piece == 0) return piece;
  return 1;
}
FADE_GPU_ACCESS void read_memory(void *out, const std::byte *host, uint64_t n) {
  auto *to = static_cast<std::byte *>(out);
  for (uint64_t piece; n; to += piece, host += piece, n -= piece) {
    piece = piece_at(host, n);
    switch (piece) {
    case 16: *reinterpret_cast<LooseQuad *>(to) = load_quad(host, host_moves_quads); break;
    case 8: move_one<uint64_t>(to, host); break;
    case 4: move_one<uint32_t>(to, host); break;
    case 2: move_one<uint16_t>(to, host); break;
    default: move_one<uint8_t>(to, host);
    }
  }
}
FADE_GPU_ACCESS void write_memory(std::byte *host, const void *in, uint64_t n) {
  const auto *from = static_cast<const std::byte *>(in);
  for (uint64_t piece; n; from += piece, host += piece, n -= piece) {
    piece = piece_at(host, n);
    switch (piece) {
    case 16: store_quad(host, *reinterpret_cast<const LooseQuad *>(from), host_moves_quads); break;
    case 8: move_one<uint64_t>(host, from); break;
    case 4: move_one<uint32_t>(host, from); break;
    case 2: move_one<uint16_t>(host, from); break;
    default: move_one<uint8_t>(host, from);
    }
  }
}

// Calls f(first, count) for each run of set bits.
template <class F> void for_runs(Mask mask, F &&f) {
  if (!mask) return;
  for (unsigned i = 0; i < CacheLine::bytes;) {
    if (!(mask >> i & 1)) {
      ++i;
      continue;
    }
    unsigned end = i;
    while (end < CacheLine::bytes && (mask >> end & 1)) ++end;
    f(i, end - i);
    i = end;
  }
}

// Of the dirty bytes, those that `which` names are clean afterwards.
void write_back_bytes(std::byte *base, CacheLine &line, Mask which = ~Mask{0}) {
  for_runs(line.dirty & which,
           [&](unsigned at, unsigned n) { write_memory(base + at, line.data + at, n); });
  line.dirty &= ~which;
}

// The bytes of the region that share a line with these.
CachedBytes whole_line(const CachedBytes &b) {
  std::byte *base = CacheLine::base(b.host);
  CachedBytes all = b;
  all.host = std::max(base, b.begin);
  all.size = static_cast<uint32_t>(std::min(base + CacheLine::bytes, b.end) - all.host);
  return all;
}

std::byte *at(CacheLine &line, const std::byte *host) {
  return line.data + reinterpret_cast<uintptr_t>(host) % CacheLine::bytes;
}

constexpr auto drop = [](std::byte *, CacheLine &) {};

} // namespace

Caches::Caches(const Arch &arch)
    : dies_(std::max(1u, arch.gpu->card.dies)), shards_(std::make_unique<Shard[]>(shards)) {
  const size_t lines = arch.gpu->card.l2.kib * 1024ull / CacheLine::bytes / shards;
  for (unsigned i = 0; i < shards; i++)
    shards_[i].dies.assign(dies_, LineStore(std::max<size_t>(16, lines)));
  for (unsigned i = 0; i < dies_ * scalar_per_die; i++)
    scalars_.push_back(std::unique_ptr<Scalar>(new Scalar{{}, LineStore(128)})); // 16 KiB
}

CacheLine &Caches::line(Shard &shard, unsigned die, std::byte *host) {
  return shard.dies[die].get(CacheLine::base(host),
                             [](std::byte *base, CacheLine &old) { write_back_bytes(base, old); });
}

void Caches::load_locked(Shard &shard, unsigned die, const CachedBytes &from, void *to) {
  const Mask wanted = CacheLine::mask(from.host, from.size);
  if (from.caching == Caching::own) {
    // Only what is dirty is kept: what others write to memory is seen at once.
    read_memory(to, from.host, from.size);
    CacheLine *l = shard.dies[die].find(CacheLine::base(from.host));
    if (!l || !(l->dirty & wanted)) return;
    const auto shift = reinterpret_cast<uintptr_t>(from.host) % CacheLine::bytes;
    for_runs(l->dirty & wanted, [&](unsigned first, unsigned n) {
      std::memcpy(static_cast<std::byte *>(to) + (first - shift), l->data + first, n);
    });
    return;
  }
  CacheLine &l = line(shard, die, from.host);
  if ((l.valid & wanted) != wanted) {
    const CachedBytes all = whole_line(from);
    std::byte *base = CacheLine::base(from.host);
    for_runs(CacheLine::mask(all.host, all.size) & ~l.valid,
             [&](unsigned first, unsigned n) { read_memory(l.data + first, base + first, n); });
    l.valid |= CacheLine::mask(all.host, all.size);
  }
  std::memcpy(to, at(l, from.host), from.size);
}

void Caches::keep(Shard &shard, unsigned die, const CachedBytes &to, const void *from) {
  CacheLine &l = line(shard, die, to.host);
  std::memcpy(at(l, to.host), from, to.size);
  shard.dies[die].set_dirty(CacheLine::base(to.host), l, CacheLine::mask(to.host, to.size));
}

// These bytes are in memory, and in the L2 of this die no more.
void Caches::write_back(Shard &shard, unsigned die, const CachedBytes &what) {
  std::byte *base = CacheLine::base(what.host);
  CacheLine *l = shard.dies[die].find(base);
  if (!l) return;
  const Mask which = CacheLine::mask(what.host, what.size);
  write_back_bytes(base, *l, which);
  l->valid &= ~which;
}

void Caches::meet(Shard &shard, unsigned die, const CachedBytes &what) {
  for (unsigned other = 0; other < dies_; other++)
    if (other != die) write_back(shard, other, what);
}

void Caches::load(unsigned die, const CachedBytes &from, void *to, Reach reach) {
  if (from.caching == Caching::none) return read_memory(to, from.host, from.size);
  Shard &shard = shard_of(from.host);
  std::lock_guard lock(shard.mutex);
  // What is not dirty may be old, be it for others than those of this die.
  if (reach == Reach::system || (reach == Reach::device && dies_ > 1)) {
    meet(shard, die, from);
    if (CacheLine *l = shard.dies[die].find(CacheLine::base(from.host)))
      l->valid &= ~CacheLine::mask(from.host, from.size) | l->dirty;
  }
  load_locked(shard, die, from, to);
}

void Caches::store(unsigned die, const CachedBytes &to, const void *from, Reach reach) {
  if (to.caching == Caching::none) return write_memory(to.host, from, to.size);
  Shard &shard = shard_of(to.host);
  std::lock_guard lock(shard.mutex);
  if (reach == Reach::workgroup) return keep(shard, die, to, from);
  meet(shard, die, to);
  write_back(shard, die, to);
  write_memory(to.host, from, to.size);
}

void Caches::load_scalar(unsigned die, uint64_t group, const CachedBytes &from, void *to,
                         bool past) {
  if (past) return load(die, from, to, Reach::workgroup);
  Scalar &cache = scalar(die, group);
  std::lock_guard lock(cache.mutex);
  CacheLine &l = cache.lines.get(CacheLine::base(from.host), drop);
  const Mask wanted = CacheLine::mask(from.host, from.size);
  if ((l.valid & wanted) != wanted) {
    const CachedBytes all = whole_line(from);
    load(die, all, at(l, all.host), Reach::workgroup);
    l.valid = CacheLine::mask(all.host, all.size);
  }
  std::memcpy(to, at(l, from.host), from.size);
}

void Caches::store_scalar(unsigned die, uint64_t group, const CachedBytes &to, const void *from) {
  Scalar &cache = scalar(die, group);
  std::lock_guard lock(cache.mutex);
  if (CacheLine *l = cache.lines.find(CacheLine::base(to.host)))
    std::memcpy(at(*l, to.host), from, to.size);
  store(die, to, from, Reach::workgroup);
}

void Caches::write_back(unsigned die) {
  for (unsigned i = 0; i < shards; i++) {
    std::lock_guard lock(shards_[i].mutex);
    shards_[i].dies[die].clean(
        [](std::byte *base, CacheLine &line) { write_back_bytes(base, line); });
  }
}

void Caches::invalidate(unsigned die) {
  for (unsigned i = 0; i < shards; i++) {
    std::lock_guard lock(shards_[i].mutex);
    shards_[i].dies[die].invalidate();
  }
}

void Caches::invalidate_scalar(unsigned die, uint64_t group) {
  Scalar &cache = scalar(die, group);
  std::lock_guard lock(cache.mutex);
  cache.lines.clear();
}

void Caches::acquire(Reach reach) {
  if (reach == Reach::workgroup) return;
  for (auto &cache : scalars_) {
    std::lock_guard lock(cache->mutex);
    cache->lines.clear();
  }
  if (reach == Reach::device && dies_ == 1) return;
  for (unsigned die = 0; die < dies_; die++) invalidate(die);
}

void Caches::release(Reach reach) {
  if (reach == Reach::workgroup || (reach == Reach::device && dies_ == 1)) return;
  for (unsigned die = 0; die < dies_; die++) write_back(die);
}

void Caches::forget(std::byte *host, uint64_t size) {
  const auto is_inside = [&](const std::byte *base) {
    return base + CacheLine::bytes > host && base < host + size;
  };
  for (unsigned i = 0; i < shards; i++) {
    std::lock_guard lock(shards_[i].mutex);
    for (LineStore &lines : shards_[i].dies)
      lines.for_each([&](std::byte *base, CacheLine &line) {
        if (!is_inside(base)) return;
        write_back_bytes(base, line);
        line.valid = 0;
      });
  }
  for (auto &cache : scalars_) {
    std::lock_guard lock(cache->mutex);
    cache->lines.clear();
  }
}

void VectorCache::load(Caches &l2, unsigned die, const CachedBytes &from, void *to, Reach reach) {
  if (reach != Reach::workgroup) {
    forget(from);
    return l2.load(die, from, to, reach);
  }
  CacheLine &l = lines_.get(CacheLine::base(from.host), drop);
  const Mask wanted = CacheLine::mask(from.host, from.size);
  if ((l.valid & wanted) != wanted) {
    const CachedBytes all = whole_line(from);
    l2.load(die, all, at(l, all.host), reach);
    l.valid = CacheLine::mask(all.host, all.size);
  }
  std::memcpy(to, at(l, from.host), from.size);
}

void VectorCache::store(Caches &l2, unsigned die, const CachedBytes &to, const void *from,
                        Reach reach) {
  if (CacheLine *l = lines_.find(CacheLine::base(to.host)))
    std::memcpy(at(*l, to.host), from, to.size);
  l2.store(die, to, from, reach);
}

void VectorCache::forget(const CachedBytes &what) {
  if (CacheLine *l = lines_.find(CacheLine::base(what.host)))
    l->valid &= ~CacheLine::mask(what.host, what.size);
}

} // namespace fade::sim
