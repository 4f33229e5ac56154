#include "wave/quad.h"

#include <atomic>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace fade::sim {
namespace {

bool ask_processor() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx"); // Intel and AMD promise it with AVX, whoever uses it
#elif defined(__aarch64__)
  constexpr unsigned long uscat = 1ul << 25; // HWCAP_USCAT: LSE2
  return getauxval(AT_HWCAP) & uscat;
#else
  return false;
#endif
}

class Place {
public:
  explicit Place(const std::byte *p)
      : taken_(table[reinterpret_cast<uintptr_t>(p) / 16 % count].taken) {
    while (taken_.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~Place() { taken_.clear(std::memory_order_release); }
  Place(const Place &) = delete;
  Place &operator=(const Place &) = delete;

private:
  static constexpr size_t count = 1024;
  struct Entry {
    std::atomic_flag taken;
  };
  static Entry table[count];
  std::atomic_flag &taken_;
};
Place::Entry Place::table[Place::count];

} // namespace

bool host_moves_quads = ask_processor();

// In pairs, so that 64-bit accesses of others are whole too.
FADE_GPU_ACCESS Quad load_quad_locked(const std::byte *p) {
  using Pair __attribute__((vector_size(16))) = uint64_t;
  using Half __attribute__((may_alias)) = uint64_t;
  const Place place(p);
  const auto *half = reinterpret_cast<const volatile Half *>(p);
  return reinterpret_cast<Quad>(Pair{half[0], half[1]});
}

FADE_GPU_ACCESS void store_quad_locked(std::byte *p, Quad q) {
  using Pair __attribute__((vector_size(16))) = uint64_t;
  using Half __attribute__((may_alias)) = uint64_t;
  const Place place(p);
  const Pair both = reinterpret_cast<Pair>(q);
  auto *half = reinterpret_cast<volatile Half *>(p);
  half[0] = both[0];
  half[1] = both[1];
}

} // namespace fade::sim
