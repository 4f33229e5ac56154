#include "hip/hip_library.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

namespace fade::hip {
namespace {

struct LibrarySearch {
  std::string_view name;
  std::optional<LoadedLibrary> found;
};

int onLibrary(dl_phdr_info *info, std::size_t, void *data) {
  auto &search = *static_cast<LibrarySearch *>(data);
  const std::string_view path = info->dlpi_name ? info->dlpi_name : "";
  if (!path.substr(path.rfind('/') + 1).starts_with(search.name)) return 0;
  LoadedLibrary library;
  library.path = path;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) &header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    char *at = reinterpret_cast<char *>(info->dlpi_addr + header.p_vaddr);
    if (library.end) { // segments come in the order of their addresses
      const uintptr_t from = (reinterpret_cast<uintptr_t>(library.end) + page - 1) & ~(page - 1);
      const uintptr_t to = reinterpret_cast<uintptr_t>(at) & ~(page - 1);
      if (to > from) library.gaps.push_back({reinterpret_cast<char *>(from), to - from});
    }
    if (!library.begin || at < library.begin) library.begin = at;
    library.end = std::max(library.end, at + header.p_memsz);
    if ((header.p_flags & PF_X) != 0) library.code.push_back({at, header.p_memsz});
    if ((header.p_flags & PF_W) != 0 && header.p_memsz > header.p_filesz)
      library.zeroed.push_back({at + header.p_filesz, header.p_memsz - header.p_filesz});
  }
  search.found = std::move(library);
  return 1;
}

} // namespace

bool LoadedLibrary::isCode(const void *p) const {
  return std::ranges::any_of(code, [&](const Part &part) { return part.has(p); });
}

std::optional<LoadedLibrary> findLibrary(std::string_view name) {
  LibrarySearch search{name, std::nullopt};
  dl_iterate_phdr(onLibrary, &search);
  return std::move(search.found);
}

unsigned long long librariesLoaded() {
  unsigned long long loaded = 0;
  dl_iterate_phdr(
      [](dl_phdr_info *info, std::size_t, void *data) {
        *static_cast<unsigned long long *>(data) = info->dlpi_adds;
        return 1;
      },
      &loaded);
  return loaded;
}

FunctionTable tableAt(void *table, std::size_t most) {
  if (!table || reinterpret_cast<uintptr_t>(table) % alignof(void *) != 0) return {};
  std::size_t size = 0;
  std::memcpy(&size, table, sizeof size);
  if (size % sizeof(void *) != 0 || size < 2 * sizeof(void *) || size > (most + 1) * sizeof(void *))
    return {};
  return {static_cast<void **>(table) + 1, size / sizeof(void *) - 1};
}

bool registersTables(const LoadedLibrary &library) {
  constexpr const char *registers = "librocprofiler-register.so";
  // The first in the process of that name is not the library's own where one of FADE's is
  // preloaded.
  void *seen = dlsym(RTLD_DEFAULT, "rocprofiler_register_library_api_table");
  Dl_info info{};
  if (!seen || dladdr(seen, &info) == 0 || !info.dli_fname ||
      std::strstr(info.dli_fname, registers))
    return false;
  void *handle = dlopen(library.path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  link_map *map = nullptr;
  if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || !map) return false;
  const char *strings = nullptr;
  for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_STRTAB) strings = reinterpret_cast<const char *>(entry->d_un.d_ptr);
  bool needs = false;
  for (const ElfW(Dyn) *entry = map->l_ld; strings && entry->d_tag != DT_NULL; ++entry)
    needs |= entry->d_tag == DT_NEEDED &&
             std::strncmp(strings + entry->d_un.d_val, registers, std::strlen(registers)) == 0;
  dlclose(handle);
  return needs;
}

FunctionTable findTable(const LoadedLibrary &library, std::size_t least, std::size_t most) {
  for (const LoadedLibrary::Part &part : library.zeroed) {
    auto *word = reinterpret_cast<void **>((reinterpret_cast<uintptr_t>(part.at) + 7) & ~7ul);
    auto *const end =
        reinterpret_cast<void **>(reinterpret_cast<uintptr_t>(part.at + part.size) & ~7ul);
    for (; word < end; ++word) {
      const auto size = reinterpret_cast<uintptr_t>(*word);
      if (size % sizeof(void *) != 0 || size < (least + 1) * sizeof(void *) ||
          size > (most + 1) * sizeof(void *) ||
          size > static_cast<uintptr_t>(end - word) * sizeof(void *))
        continue;
      const std::size_t count = size / sizeof(void *) - 1;
      std::size_t known = 0, i = 1;
      for (; i <= count && (!word[i] || library.isCode(word[i])); ++i) known += word[i] != nullptr;
      if (i > count && known * 10 >= count * 9) return {word + 1, count};
    }
  }
  return {};
}

} // namespace fade::hip
