// 128 bits that no other thread sees half of.
//
// x86-64 processors with AVX move 16 aligned bytes at once, and so do those of arm64 with LSE2 in
// LDP and STP of two registers. On older ones each place has a lock, out of a table: slower, but
// whole all the same between the workers, who are the only ones that move 128 bits at a time.
// Addresses that are no multiple of 16 promise nothing beyond what their parts do.
#pragma once

#include <cstddef>
#include <cstdint>

// GPU programs may race; that is theirs to say. The thread sanitizer watches the simulator, not the
// program in it.
#define FADE_GPU_ACCESS __attribute__((no_sanitize("thread")))

namespace fade::sim {

using Quad __attribute__((vector_size(16), may_alias)) = uint32_t;
using LooseQuad __attribute__((vector_size(16), aligned(1), may_alias)) = uint32_t; // anywhere

// What this processor can do. Tests clear it to try the locks, before anything runs.
extern bool host_moves_quads;

Quad load_quad_locked(const std::byte *p);
void store_quad_locked(std::byte *p, Quad q);

inline bool is_aligned_quad(const std::byte *p) {
  return reinterpret_cast<uintptr_t>(p) % sizeof(Quad) == 0;
}

// `whole` is host_moves_quads, read once by those who move many.
FADE_GPU_ACCESS inline Quad load_quad(const std::byte *p, bool whole) {
  if (!is_aligned_quad(p)) [[unlikely]]
    return *reinterpret_cast<const volatile LooseQuad *>(p);
  if (!whole) [[unlikely]]
    return load_quad_locked(p);
#if defined(__aarch64__)
  using Pair __attribute__((vector_size(16))) = uint64_t;
  uint64_t low, high;
  asm volatile("ldp %0, %1, [%2]" : "=r"(low), "=r"(high) : "r"(p) : "memory");
  return reinterpret_cast<Quad>(Pair{low, high});
#else
  return *reinterpret_cast<const volatile Quad *>(p);
#endif
}

FADE_GPU_ACCESS inline void store_quad(std::byte *p, Quad q, bool whole) {
  if (!is_aligned_quad(p)) [[unlikely]] {
    *reinterpret_cast<volatile LooseQuad *>(p) = q;
    return;
  }
  if (!whole) [[unlikely]]
    return store_quad_locked(p, q);
#if defined(__aarch64__)
  using Pair __attribute__((vector_size(16))) = uint64_t;
  const Pair both = reinterpret_cast<Pair>(q);
  asm volatile("stp %0, %1, [%2]" ::"r"(both[0]), "r"(both[1]), "r"(p) : "memory");
#else
  *reinterpret_cast<volatile Quad *>(p) = q;
#endif
}

// Four quads to four others: word k of quad i becomes word i of quad k.
inline void transpose(Quad *q) {
  const Quad low01 = __builtin_shufflevector(q[0], q[1], 0, 4, 1, 5);
  const Quad low23 = __builtin_shufflevector(q[2], q[3], 0, 4, 1, 5);
  const Quad high01 = __builtin_shufflevector(q[0], q[1], 2, 6, 3, 7);
  const Quad high23 = __builtin_shufflevector(q[2], q[3], 2, 6, 3, 7);
  q[0] = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
  q[1] = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
  q[2] = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
  q[3] = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
}

} // namespace fade::sim
