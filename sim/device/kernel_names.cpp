#include "device/kernel_names.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <elf.h>
#include <optional>
#include <string_view>

namespace fade::sim {
namespace {

// A code object as it lies in memory: offsets from its start are virtual addresses. Everything read
// is checked against the region, for the bytes come from the application.
class LoadedImage {
public:
  explicit LoadedImage(const Region &region) : region_(region) {}

  template <class T> std::optional<T> read(uint64_t offset) const {
    if (offset > region_.size || region_.size - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, region_.host + offset, sizeof value);
    return value;
  }
  std::string_view string(uint64_t offset) const {
    if (offset >= region_.size) return {};
    auto *text = reinterpret_cast<const char *>(region_.host + offset);
    return {text, strnlen(text, region_.size - offset)};
  }

private:
  Region region_;
};

struct SymbolTable {
  uint64_t symbols = 0, strings = 0, hash = 0;
};

std::optional<SymbolTable> dynamic_symbols(const LoadedImage &image) {
  auto header = image.read<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
  SymbolTable table;
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    auto segment = image.read<Elf64_Phdr>(header->e_phoff + uint64_t{i} * sizeof(Elf64_Phdr));
    if (!segment) return std::nullopt;
    if (segment->p_type != PT_DYNAMIC) continue;
    for (uint64_t at = 0; at < segment->p_memsz; at += sizeof(Elf64_Dyn)) {
      auto entry = image.read<Elf64_Dyn>(segment->p_vaddr + at);
      if (!entry || entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_SYMTAB) table.symbols = entry->d_un.d_ptr;
      if (entry->d_tag == DT_STRTAB) table.strings = entry->d_un.d_ptr;
      if (entry->d_tag == DT_HASH) table.hash = entry->d_un.d_ptr;
    }
  }
  if (!table.symbols || !table.strings || !table.hash) return std::nullopt;
  return table;
}

} // namespace

std::string KernelNames::look_up(uint64_t kernel_object) const {
  char address[24];
  std::snprintf(address, sizeof address, "0x%" PRIx64, kernel_object);
  auto region = memory_.find(kernel_object);
  if (!region) return address;
  LoadedImage image(*region);
  auto table = dynamic_symbols(image);
  if (!table) return address;
  auto count = image.read<uint32_t>(table->hash + 4); // nchain: as many as there are symbols
  for (uint32_t i = 0; count && i < *count; ++i) {
    auto symbol = image.read<Elf64_Sym>(table->symbols + uint64_t{i} * sizeof(Elf64_Sym));
    if (!symbol) break;
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_value != kernel_object - region->va) continue;
    std::string_view name = image.string(table->strings + symbol->st_name);
    if (name.ends_with(".kd")) return std::string(name.substr(0, name.size() - 3));
  }
  return address;
}

std::string KernelNames::find(uint64_t kernel_object) {
  std::lock_guard lock(mutex_);
  if (uint64_t now = memory_.generation(); now != generation_) {
    names_.clear();
    generation_ = now;
  }
  auto [it, added] = names_.try_emplace(kernel_object);
  if (added) it->second = look_up(kernel_object);
  return it->second;
}

} // namespace fade::sim
