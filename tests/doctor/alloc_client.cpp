// A program that loads HIP for itself alone, as Python's extensions do, and checks that its memory
// works. An LD_PRELOAD wrapper of hipMalloc would never be called. Its arguments say by which doors
// it gets memory: device, host, managed, region, virtual. Exit code 77: there is none.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <initializer_list>
#include <vector>

namespace {

void *hip = nullptr, *hsa = nullptr;

template <class F> F find(void *library, const char *name) {
  return reinterpret_cast<F>(library ? dlsym(library, name) : nullptr);
}

struct Door {
  void *(*open)(size_t size);
  bool (*close)(void *memory, size_t size);
};

// ---- HIP

template <const char *name, class... More> void *byHip(size_t size, More... more) {
  const auto function = find<int (*)(void **, size_t, More...)>(hip, name);
  void *memory = nullptr;
  return function && function(&memory, size, more...) == 0 ? memory : nullptr;
}
bool freeBy(const char *name, void *memory) {
  const auto function = find<int (*)(void *)>(hip, name);
  return function && function(memory) == 0;
}
constexpr char kMalloc[] = "hipMalloc", kHost[] = "hipHostMalloc", kManaged[] = "hipMallocManaged";

// ---- regions of HSA

struct Handle {
  uint64_t value;
};

/// The first coarse-grained region of a GPU.
int onRegion(Handle region, void *to) {
  const auto get = find<int (*)(Handle, int, void *)>(hsa, "hsa_region_get_info");
  uint32_t segment = 9, flags = 0;
  if (get(region, 0, &segment) != 0 || segment != 0) return 0; // only global memory
  if (get(region, 1, &flags) == 0 && (flags & 4) != 0)
    static_cast<Handle *>(to)->value = region.value;
  return 0;
}
int onAgent(Handle agent, void *to) {
  uint32_t type = 0;
  find<int (*)(Handle, int, void *)>(hsa, "hsa_agent_get_info")(agent, 17, &type);
  if (type != 1 || static_cast<Handle *>(to)->value != 0) return 0;
  return find<int (*)(Handle, int (*)(Handle, void *), void *)>(hsa, "hsa_agent_iterate_regions")(
      agent, onRegion, to);
}
void *byRegion(size_t size) {
  Handle region{0};
  find<int (*)(int (*)(Handle, void *), void *)>(hsa, "hsa_iterate_agents")(onAgent, &region);
  const auto allocate = find<int (*)(Handle, size_t, void **)>(hsa, "hsa_memory_allocate");
  void *memory = nullptr;
  return region.value && allocate(region, size, &memory) == 0 ? memory : nullptr;
}

// ---- virtual memory management

struct Properties { // hipMemAllocationProp
  int type = 1, handles = 0;
  struct {
    int type = 1, id = 0; // a device
  } location;
  void *meta = nullptr;
  unsigned char flags[8] = {};
};
struct Access { // hipMemAccessDesc
  struct {
    int type = 1, id = 0;
  } location;
  int flags = 3;
};
void *physical = nullptr;

void *byMapping(size_t size) {
  const auto create =
      find<int (*)(void **, size_t, const Properties *, unsigned long long)>(hip, "hipMemCreate");
  const auto reserve = find<int (*)(void **, size_t, size_t, void *, unsigned long long)>(
      hip, "hipMemAddressReserve");
  const auto map =
      find<int (*)(void *, size_t, size_t, void *, unsigned long long)>(hip, "hipMemMap");
  const auto allow = find<int (*)(void *, size_t, const Access *, size_t)>(hip, "hipMemSetAccess");
  const Properties properties;
  const Access access;
  void *memory = nullptr;
  if (!create || !reserve || !map || !allow || create(&physical, size, &properties, 0) != 0 ||
      reserve(&memory, size, 0, nullptr, 0) != 0 || map(memory, size, 0, physical, 0) != 0 ||
      allow(memory, size, &access, 1) != 0)
    return nullptr;
  return memory;
}
bool unmap(void *memory, size_t size) {
  return find<int (*)(void *, size_t)>(hip, "hipMemUnmap")(memory, size) == 0 &&
         find<int (*)(void *, size_t)>(hip, "hipMemAddressFree")(memory, size) == 0 &&
         freeBy("hipMemRelease", physical);
}

Door doorOf(const char *name) {
  const auto is = [&](const char *other) { return std::strcmp(name, other) == 0; };
  if (is("host"))
    return {[](size_t size) { return byHip<kHost>(size, 0u); },
            [](void *memory, size_t) { return freeBy("hipHostFree", memory); }};
  if (is("managed"))
    return {[](size_t size) { return byHip<kManaged>(size, 1u); },
            [](void *memory, size_t) { return freeBy("hipFree", memory); }};
  if (is("region"))
    return {byRegion, [](void *memory, size_t) {
              return find<int (*)(void *)>(hsa, "hsa_memory_free")(memory) == 0;
            }};
  if (is("virtual")) return {byMapping, unmap};
  return {[](size_t size) { return byHip<kMalloc>(size); },
          [](void *memory, size_t) { return freeBy("hipFree", memory); }};
}

/// HIP knows nothing of memory that it did not allocate, so kernels and copies of HSA's do it.
bool isRightInHsa(void *memory, size_t size, std::vector<unsigned char> &back) {
  const auto copy = find<int (*)(void *, const void *, size_t)>(hsa, "hsa_memory_copy");
  std::vector<unsigned char> pattern(size, 0x5a);
  return copy(memory, pattern.data(), size) == 0 && copy(back.data(), memory, size) == 0;
}

/// Gets memory by a door twice, uses it and gives it back. 0: all was right.
int use(const char *name) {
  const Door door = doorOf(name);
  const auto set = find<int (*)(void *, int, size_t)>(hip, "hipMemset");
  const auto copy = find<int (*)(void *, const void *, size_t, int)>(hip, "hipMemcpy");
  if (!set || !copy) return 2;
  for (const size_t size : {size_t{6} << 20, size_t{10} << 20}) {
    void *memory = door.open(size);
    if (!memory) return 77;
    std::vector<unsigned char> back(size);
    if (std::strcmp(name, "region") == 0) {
      if (!isRightInHsa(memory, size, back)) return 4;
    } else if (set(memory, 0x5a, size) != 0 || copy(back.data(), memory, size, 2) != 0) {
      return 4;
    }
    // Each byte is like its neighbor, and the first is right.
    if (back[0] != 0x5a || std::memcmp(back.data(), back.data() + 1, size - 1) != 0) return 5;
    if (!door.close(memory, size)) return 6;
  }
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  for (const char *name : {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"})
    if (!hip) hip = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  hsa = dlopen("libhsa-runtime64.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!hip || !hsa || find<int (*)(unsigned)>(hip, "hipInit")(0) != 0) return 2;
  for (int i = 1; i < argc; ++i) {
    std::fprintf(stderr, "door %s\n", argv[i]);
    if (const int wrong = use(argv[i])) return wrong;
  }
  std::puts("right");
  return 0;
}
