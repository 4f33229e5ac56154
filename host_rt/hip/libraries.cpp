#include "hip/libraries.h"

#include "hip/recorder.h"

#include <algorithm>
#include <dlfcn.h>
#include <link.h>
#include <map>
#include <mutex>
#include <unistd.h>

namespace fade::hip {
namespace {

struct Place {
  std::string path;
  uint64_t bias = 0, begin = UINT64_MAX, end = 0;
};
using Places = std::map<uint64_t, Place>; ///< by where they begin

std::mutex libraries_mutex;
/// Never destroyed: libraries are also asked for by what runs at the very end of a process.
Places &knownPlaces() {
  static auto *const places = new Places;
  return *places;
}
uint64_t seen_adds = 0, seen_subs = 0; ///< what the loader has counted when we looked
pid_t looked_in = 0;

void recordPlace(const Place &place, uint16_t flags, const std::string &who = "") noexcept {
  try {
    events::LibraryEvent event{};
    event.header.kind = events::EventKind::library;
    event.flags = flags;
    event.time_ns = nowNs();
    event.bias = place.bias;
    if (place.end != 0) {
      event.begin = place.begin;
      event.end = place.end;
    }
    std::string texts = place.path.substr(0, 4096) + '\0';
    texts += who.substr(0, 4096) + '\0';
    (void)recordEvent(event, texts);
  } catch (...) { // no memory for two paths
  }
}

int onPlace(dl_phdr_info *info, std::size_t, void *data) {
  auto &places = *static_cast<Places *>(data);
  Place place;
  place.path = info->dlpi_name ? info->dlpi_name : "";
  place.bias = info->dlpi_addr;
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) &header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    place.begin = std::min<uint64_t>(place.begin, info->dlpi_addr + header.p_vaddr);
    place.end = std::max<uint64_t>(place.end, info->dlpi_addr + header.p_vaddr + header.p_memsz);
  }
  if (place.end == 0) return 0;
  if (place.path.empty() && places.empty()) { // the program itself
    char path[4096];
    const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
    if (size > 0) place.path.assign(path, static_cast<std::size_t>(size));
  }
  places[place.begin] = std::move(place);
  return 0;
}

/// Whether anything was loaded or unloaded since.
bool isNews() noexcept {
  struct Counts {
    uint64_t adds, subs;
  } counts{};
  dl_iterate_phdr(
      [](dl_phdr_info *info, std::size_t, void *data) {
        *static_cast<Counts *>(data) = {info->dlpi_adds, info->dlpi_subs};
        return 1;
      },
      &counts);
  const bool is_news =
      counts.adds != seen_adds || counts.subs != seen_subs || looked_in != getpid();
  seen_adds = counts.adds;
  seen_subs = counts.subs;
  return is_news;
}

} // namespace

uint64_t librariesUnloaded() noexcept {
  uint64_t unloaded = 0;
  dl_iterate_phdr(
      [](dl_phdr_info *info, std::size_t, void *data) {
        *static_cast<uint64_t *>(data) = info->dlpi_subs;
        return 1;
      },
      &unloaded);
  return unloaded;
}

void recordRequest(const char *file, const void *caller) noexcept {
  if (!isRecording()) return;
  try {
    recordLibraries();
    Dl_info info{}, own{};
    const bool is_known = dladdr(caller, &info) != 0 && info.dli_fname;
    const bool knows_own = dladdr(reinterpret_cast<void *>(&recordRequest), &own) != 0;
    if (is_known && knows_own && info.dli_fbase == own.dli_fbase) return; // FADE itself
    Place asked;
    asked.path = file;
    recordPlace(asked, events::kLibraryRequested, is_known ? info.dli_fname : "");
  } catch (...) { // no memory for a path
  }
}

void recordLibraries() noexcept {
  if (!isRecording()) return;
  try {
    // Somebody else is at it, or was when this process was forked.
    const std::unique_lock lock(libraries_mutex, std::try_to_lock);
    if (!lock || !isNews()) return;
    Places &known_places = knownPlaces();
    if (looked_in != getpid()) known_places.clear(); // a child tells everything once more
    looked_in = getpid();
    Places now;
    dl_iterate_phdr(onPlace, &now);
    for (const auto &[begin, place] : known_places)
      if (const auto at = now.find(begin); at == now.end() || at->second.path != place.path)
        recordPlace(place, events::kLibraryUnloaded);
    for (const auto &[begin, place] : now)
      if (const auto at = known_places.find(begin);
          at == known_places.end() || at->second.path != place.path)
        recordPlace(place, 0);
    known_places = std::move(now);
  } catch (...) { // no memory, or the lock cannot be had: the next one says it
  }
}

AddressRange rangeAround(const void *address) noexcept {
  struct Search {
    uint64_t address;
    AddressRange found;
  } search{reinterpret_cast<uint64_t>(address), {}};
  dl_iterate_phdr(
      [](dl_phdr_info *info, std::size_t, void *data) {
        auto &wanted = *static_cast<Search *>(data);
        AddressRange range{UINT64_MAX, 0};
        for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr) &header = info->dlpi_phdr[i];
          if (header.p_type != PT_LOAD) continue;
          const uint64_t begin = info->dlpi_addr + header.p_vaddr;
          range.begin = std::min<uint64_t>(range.begin, begin);
          range.end = std::max<uint64_t>(range.end, begin + header.p_memsz);
        }
        if (!range.has(wanted.address)) return 0;
        wanted.found = range;
        return 1;
      },
      &search);
  return search.found;
}

} // namespace fade::hip
