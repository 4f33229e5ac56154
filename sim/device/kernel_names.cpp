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

// The symbol of the descriptor at `offset`, without ".kd".
std::optional<std::string> symbol_at(const LoadedImage &image, uint64_t offset) {
  auto table = dynamic_symbols(image);
  if (!table) return std::nullopt;
  auto count = image.read<uint32_t>(table->hash + 4); // nchain: as many as there are symbols
  for (uint32_t i = 0; count && i < *count; ++i) {
    auto symbol = image.read<Elf64_Sym>(table->symbols + uint64_t{i} * sizeof(Elf64_Sym));
    if (!symbol) break;
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_value != offset) continue;
    std::string_view name = image.string(table->strings + symbol->st_name);
    if (name.ends_with(".kd")) return std::string(name.substr(0, name.size() - 3));
  }
  return std::nullopt;
}

// FNV-1a over a descriptor and its code up to the first s_endpgm: the same wherever it was loaded.
std::optional<uint64_t> code_number(const LoadedImage &image, uint64_t offset) {
  constexpr uint32_t end_of_program = 0xbf810000, end_of_program_gfx11 = 0xbfb00000;
  constexpr uint64_t descriptor_size = 64, entry_offset_at = 16, longest = 1 << 16;
  auto entry_offset = image.read<int64_t>(offset + entry_offset_at);
  if (!entry_offset) return std::nullopt;
  uint64_t hash = 0xcbf29ce484222325;
  auto add = [&](uint32_t dword) {
    for (unsigned shift = 0; shift < 32; shift += 8)
      hash = (hash ^ (dword >> shift & 0xff)) * 0x100000001b3;
  };
  for (uint64_t at = 0; at < descriptor_size; at += 4)
    if (auto dword = image.read<uint32_t>(offset + at)) add(*dword);
  const uint64_t entry = offset + static_cast<uint64_t>(*entry_offset);
  for (uint64_t at = 0; at < longest; at += 4) {
    auto dword = image.read<uint32_t>(entry + at);
    if (!dword) break;
    add(*dword);
    if (*dword == end_of_program || *dword == end_of_program_gfx11) break;
  }
  return hash;
}

} // namespace

std::string KernelNames::look_up(uint64_t kernel_object) const {
  char text[40];
  std::snprintf(text, sizeof text, "0x%" PRIx64, kernel_object);
  auto region = memory_.find(kernel_object);
  if (!region) return text;
  LoadedImage image(*region);
  const uint64_t offset = kernel_object - region->va;
  if (auto symbol = symbol_at(image, offset)) return *symbol;
  if (auto number = code_number(image, offset))
    std::snprintf(text, sizeof text, "unnamed_%016" PRIx64, *number);
  return text;
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
