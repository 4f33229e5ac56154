#include "device/observer_library.h"

#include "base/trace.h"

#include <cstdlib>
#include <dlfcn.h>

namespace fade::sim {

bool MemoryForObservers::find(uint64_t address, ObservedRegion &region) const {
  const auto found = space_.find(address);
  if (!found) return false;
  region = {found->va, found->size, found->writable, found->local};
  return true;
}

bool MemoryForObservers::read(uint64_t address, void *to, uint64_t size) const {
  return space_.read(address, to, size);
}

void *MemoryForObservers::host(uint64_t address, uint64_t size) const {
  return space_.translate(address, size);
}

Observer *load_observer(const char *gpu, const ObservedMemory &memory) {
  constexpr const char *variable = "FADE_GPU_OBSERVER";
  const char *path = std::getenv(variable);
  if (!path || !*path) return nullptr;
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    say("%s: %s", variable, dlerror());
    return nullptr;
  }
  const auto entry = reinterpret_cast<FadeObserverEntry>(dlsym(library, FADE_OBSERVER_ENTRY));
  if (!entry) {
    say("%s: %s has no function %s", variable, path, FADE_OBSERVER_ENTRY);
    return nullptr;
  }
  Observer *observer = entry(FADE_OBSERVER_VERSION, gpu, &memory);
  if (!observer)
    say("%s: %s does not want to observe; is it compiled for version %d of fade/observer.h?",
        variable, path, FADE_OBSERVER_VERSION);
  return observer;
}

} // namespace fade::sim
