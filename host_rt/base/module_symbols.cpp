#include "base/module_symbols.h"

#include <algorithm>
#include <array>
#include <elf.h>
#include <link.h>
#include <span>
#include <unistd.h>

namespace fade {
namespace {

using Header = ElfW(Phdr);
using Symbol = ElfW(Sym);

constexpr uint64_t kPage = 4096;

/// The tables of a loaded file by which its exported functions are found.
struct DynamicTables {
  const Symbol *symbols = nullptr;
  const char *names = nullptr;
  uint64_t names_size = 0;
  const uint32_t *hash = nullptr, *gnu_hash = nullptr;

  DynamicTables(const ElfW(Dyn) * dynamic, uint64_t bias) {
    // Some loaders have added the bias, some have not.
    const auto at = [&](ElfW(Addr) address) { return address < bias ? bias + address : address; };
    for (; dynamic->d_tag != DT_NULL; ++dynamic) {
      const auto value = dynamic->d_un.d_ptr;
      switch (dynamic->d_tag) {
      case DT_SYMTAB: symbols = reinterpret_cast<const Symbol *>(at(value)); break;
      case DT_STRTAB: names = reinterpret_cast<const char *>(at(value)); break;
      case DT_STRSZ: names_size = dynamic->d_un.d_val; break;
      case DT_HASH: hash = reinterpret_cast<const uint32_t *>(at(value)); break;
      case DT_GNU_HASH: gnu_hash = reinterpret_cast<const uint32_t *>(at(value)); break;
      default: break;
      }
    }
  }

  std::span<const Symbol> all() const {
    if (!symbols || !names) return {};
    if (hash) return {symbols, hash[1]};
    return {symbols, gnu_hash ? countByGnuHash() : 0};
  }

private:
  /// The table has no count: the last chain ends with the last symbol.
  std::size_t countByGnuHash() const {
    const uint32_t buckets = gnu_hash[0], first = gnu_hash[1], filters = gnu_hash[2];
    const uint32_t *bucket = gnu_hash + 4 + filters * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t *chain = bucket + buckets;
    uint32_t last = 0;
    for (uint32_t i = 0; i < buckets; ++i) last = std::max(last, bucket[i]);
    if (last < first) return first; // nothing is exported
    while ((chain[last - first] & 1) == 0) ++last;
    return last + 1;
  }
};

void addFunction(ModuleSymbol &to, const ElfW(Dyn) * dynamic, uint64_t address) {
  const uint64_t bias = to.bias;
  const DynamicTables tables(dynamic, bias);
  const Symbol *best = nullptr;
  for (const Symbol &symbol : tables.all()) {
    const uint64_t value = bias + symbol.st_value;
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0 ||
        ELF64_ST_TYPE(symbol.st_info) == STT_TLS || address < value ||
        (symbol.st_size != 0 && address - value >= symbol.st_size) ||
        symbol.st_name >= tables.names_size)
      continue;
    if (!best || best->st_value < symbol.st_value) best = &symbol;
  }
  if (!best) return;
  to.function = tables.names + best->st_name;
  to.function_start = bias + best->st_value;
  to.function_size = best->st_size;
}

struct Search {
  uint64_t address;
  std::optional<ModuleSymbol> found;
};

/// While this is called nothing is loaded or unloaded.
int visit(dl_phdr_info *info, std::size_t, void *to) {
  Search &search = *static_cast<Search *>(to);
  const std::span<const Header> headers(info->dlpi_phdr, info->dlpi_phnum);
  const uint64_t bias = info->dlpi_addr;
  uint64_t start = UINT64_MAX;
  bool is_here = false;
  const ElfW(Dyn) *dynamic = nullptr;
  for (const Header &header : headers) {
    if (header.p_type == PT_DYNAMIC)
      dynamic = reinterpret_cast<const ElfW(Dyn) *>(bias + header.p_vaddr);
    if (header.p_type != PT_LOAD) continue;
    start = std::min<uint64_t>(start, (bias + header.p_vaddr) & ~(kPage - 1));
    is_here = is_here || search.address - (bias + header.p_vaddr) < header.p_memsz;
  }
  if (!is_here) return 0;
  try {
    ModuleSymbol &found = search.found.emplace();
    found.file = info->dlpi_name ? info->dlpi_name : "";
    found.bias = bias;
    found.start = start;
    if (dynamic) addFunction(found, dynamic, search.address);
  } catch (...) { // no memory, and below is C
    search.found.reset();
  }
  return 1;
}

} // namespace

std::optional<ModuleSymbol> moduleSymbolAt(uint64_t address) {
  Search search{address, std::nullopt};
  dl_iterate_phdr(visit, &search);
  if (search.found && search.found->file.empty()) {
    std::array<char, 4096> path;
    const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
    if (size > 0) search.found->file.assign(path.data(), static_cast<std::size_t>(size));
  }
  return std::move(search.found);
}

} // namespace fade
