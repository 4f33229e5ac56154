#include "replay/hsa/steering.h"

#include <algorithm>
#include <cstdio>
#include <dlfcn.h>
#include <fstream>
#include <mutex>
#include <sstream>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace fade::replay {
namespace {

using Mmap = void *(*)(void *, size_t, int, int, int, off_t);
using Munmap = int (*)(void *, size_t);

// The next ones: the software GPU's, or libc's.
Mmap nextMmap() {
  static const auto next = reinterpret_cast<Mmap>(dlsym(RTLD_NEXT, "mmap"));
  return next;
}
Munmap nextMunmap() {
  static const auto next = reinterpret_cast<Munmap>(dlsym(RTLD_NEXT, "munmap"));
  return next;
}

constexpr int kReserve = MAP_ANONYMOUS | MAP_NORESERVE | MAP_PRIVATE;
constexpr uint64_t kGuard = 4096, kStep = uint64_t{1} << 21;
constexpr uint64_t kElsewhere = 0x500000000000, kHighest = 0x7f0000000000;

thread_local Range wished_range;

struct Steering {
  std::mutex mutex;
  bool is_on = false;
  std::vector<Range> ranges;
  std::vector<Range> lent; ///< promised without being mapped; the runtime gives it back at once
  uint64_t next = kElsewhere;
};
Steering &steering() {
  static auto *state = new Steering; // mmap is called to the very end
  return *state;
}

bool overlap(const Range &a, uint64_t address, uint64_t size) {
  return address < a.address + a.size + kStep && address + size + kStep > a.address;
}

/// The runtime asked for a little more, to align it and for guard pages: that is not really mapped,
/// for neighbors may lie there.
void *giveWish(size_t asked) {
  const Range range = std::exchange(wished_range, {});
  uint64_t guard = kGuard;
  if (asked < range.size + 2 * guard) guard = (asked - range.size) / 2 & ~(kGuard - 1);
  void *at = reinterpret_cast<void *>(range.address);
  (void)nextMunmap()(at, range.size); // it was held
  if (nextMmap()(at, range.size, PROT_NONE, kReserve | MAP_FIXED_NOREPLACE, -1, 0) != at)
    return MAP_FAILED;
  const uint64_t begin = range.address - guard;
  Steering &state = steering();
  const std::lock_guard lock(state.mutex);
  if (guard != 0) state.lent.push_back({begin, guard});
  if (begin + asked > range.address + range.size)
    state.lent.push_back({range.address + range.size, begin + asked - range.address - range.size});
  return reinterpret_cast<void *>(begin);
}

void *giveElsewhere(size_t asked) {
  Steering &state = steering();
  const std::lock_guard lock(state.mutex);
  while (state.next < kHighest) {
    const uint64_t at = state.next;
    state.next += (asked + kStep) / kStep * kStep;
    if (std::ranges::any_of(state.ranges,
                            [&](const Range &range) { return overlap(range, at, asked); }))
      continue;
    void *wanted = reinterpret_cast<void *>(at);
    void *got = nextMmap()(wanted, asked, PROT_NONE, kReserve | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == wanted) return got;
    if (got != MAP_FAILED) (void)nextMunmap()(got, asked);
  }
  return MAP_FAILED;
}

/// Of a line of /proc/self/maps that overlaps.
std::string ownerOf(const Range &range) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uint64_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) != 2) continue;
    if (begin >= range.address + range.size || end <= range.address) continue;
    std::istringstream fields(line);
    std::string field, name;
    for (int i = 0; i < 6 && fields >> field; ++i) name = i == 5 ? field : "";
    return (name.empty() ? "memory of this process" : name) + " is at this address";
  }
  return "beyond this machine's address space";
}

} // namespace

std::optional<Conflict> holdRanges(const std::vector<Range> &ranges) {
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    void *wanted = reinterpret_cast<void *>(ranges[i].address);
    void *got =
        nextMmap()(wanted, ranges[i].size, PROT_NONE, kReserve | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == wanted) continue;
    if (got != MAP_FAILED) (void)nextMunmap()(got, ranges[i].size);
    Conflict conflict{ranges[i], ownerOf(ranges[i])};
    for (std::size_t k = 0; k < i; ++k)
      (void)nextMunmap()(reinterpret_cast<void *>(ranges[k].address), ranges[k].size);
    return conflict;
  }
  return std::nullopt;
}

void startSteering(const std::vector<Range> &ranges) {
  Steering &state = steering();
  const std::lock_guard lock(state.mutex);
  state.ranges = ranges;
  state.is_on = true;
}

Wish::Wish(Range range) { wished_range = range; }
Wish::~Wish() { wished_range = {}; }

bool mapHere(Range range) {
  void *at = reinterpret_cast<void *>(range.address);
  return nextMmap()(at, range.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                    -1, 0) == at;
}

} // namespace fade::replay

#define FADE_EXPORT extern "C" __attribute__((visibility("default")))

FADE_EXPORT void *mmap(void *address, size_t size, int protection, int flags, int fd,
                       off_t offset) noexcept {
  using namespace fade::replay;
  const bool is_reservation =
      !address && protection == PROT_NONE && flags == kReserve && fd == -1 && steering().is_on;
  if (!is_reservation) return nextMmap()(address, size, protection, flags, fd, offset);
  return wished_range.size != 0 && size >= wished_range.size ? giveWish(size) : giveElsewhere(size);
}

FADE_EXPORT void *mmap64(void *address, size_t size, int protection, int flags, int fd,
                         off64_t offset) noexcept {
  return mmap(address, size, protection, flags, fd, offset);
}

FADE_EXPORT int munmap(void *address, size_t size) noexcept {
  using namespace fade::replay;
  {
    Steering &state = steering();
    const std::lock_guard lock(state.mutex);
    const auto at = std::ranges::find_if(state.lent, [&](const Range &range) {
      return range.address == reinterpret_cast<uint64_t>(address) && range.size == size;
    });
    if (at != state.lent.end()) {
      state.lent.erase(at);
      return 0;
    }
  }
  return nextMunmap()(address, size);
}
