#include "device/code_object.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace fade::sim {
namespace {

constexpr uint64_t largest_image = 1ull << 32;
constexpr uint32_t r_amdgpu_abs64 = 3, r_amdgpu_relative64 = 13;

template <class T> T at(std::span<const uint8_t> bytes, uint64_t offset, const char *what) {
  if (offset > bytes.size() || sizeof(T) > bytes.size() - offset)
    throw std::runtime_error(std::string("code object ends inside its ") + what);
  T v;
  std::memcpy(&v, bytes.data() + offset, sizeof v);
  return v;
}

/// What a section table lets be read in all: not more than the file has room for, however often its
/// sections name the same bytes.
class Budget {
public:
  Budget(uint64_t bytes, const char *what) : left_(bytes), what_(what) {}
  void take(uint64_t bytes) {
    if (bytes > left_) throw std::runtime_error(std::string("code object has too many ") + what_);
    left_ -= bytes;
  }

private:
  uint64_t left_;
  const char *what_;
};

std::string string_at(std::span<const uint8_t> bytes, uint64_t offset, uint64_t end) {
  end = std::min<uint64_t>(end, bytes.size());
  std::string s;
  while (offset < end && bytes[offset]) s += static_cast<char>(bytes[offset++]);
  return s;
}

} // namespace

CodeObject::CodeObject(std::span<const uint8_t> elf, AddressSpace &memory, uint64_t va)
    : memory_(memory), va_(va) {
  load(elf);
  memory_.map(va_, size_, image_.get());
}

CodeObject::~CodeObject() { memory_.unmap(va_, size_); }

uint64_t CodeObject::symbol(const std::string &name) const {
  auto it = symbols_.find(name);
  return it == symbols_.end() ? 0 : it->second;
}

void CodeObject::load(std::span<const uint8_t> elf) {
  const auto header = at<Elf64_Ehdr>(elf, 0, "header");
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_machine != 224 /* EM_AMDGPU */)
    throw std::runtime_error("not an AMDGPU code object");
  for (unsigned i = 0; i < header.e_phnum; i++) {
    const auto p = at<Elf64_Phdr>(elf, header.e_phoff + i * sizeof(Elf64_Phdr), "program headers");
    if (p.p_type != PT_LOAD) continue;
    if (p.p_vaddr > largest_image || p.p_memsz > largest_image)
      throw std::runtime_error("code object has no sensible size");
    size_ = std::max<uint64_t>(size_, p.p_vaddr + p.p_memsz);
  }
  if (size_ == 0 || size_ > largest_image)
    throw std::runtime_error("code object has no sensible size");
  size_ = (size_ + 4095) & ~4095ull;
  image_ = std::make_unique<std::byte[]>(size_);
  for (unsigned i = 0; i < header.e_phnum; i++) {
    const auto p = at<Elf64_Phdr>(elf, header.e_phoff + i * sizeof(Elf64_Phdr), "program headers");
    if (p.p_type != PT_LOAD) continue;
    if (p.p_offset > elf.size() || p.p_filesz > elf.size() - p.p_offset || p.p_filesz > p.p_memsz)
      throw std::runtime_error("code object ends inside a segment");
    std::memcpy(image_.get() + p.p_vaddr, elf.data() + p.p_offset, p.p_filesz);
  }
  // Names may end alike and share their bytes, which does not make much of them.
  Budget symbols(elf.size(), "symbols"), relocations(elf.size(), "relocations"),
      names(16 * elf.size(), "names");
  for (unsigned i = 0; i < header.e_shnum; i++) {
    const auto s = at<Elf64_Shdr>(elf, header.e_shoff + i * sizeof(Elf64_Shdr), "section headers");
    if (s.sh_type == SHT_DYNSYM) {
      symbols.take(s.sh_size);
      const auto strings =
          at<Elf64_Shdr>(elf, header.e_shoff + s.sh_link * sizeof(Elf64_Shdr), "section headers");
      for (uint64_t o = 0; o + sizeof(Elf64_Sym) <= s.sh_size; o += sizeof(Elf64_Sym)) {
        const auto symbol = at<Elf64_Sym>(elf, s.sh_offset + o, "symbols");
        if (symbol.st_shndx == SHN_UNDEF) continue;
        std::string name =
            string_at(elf, strings.sh_offset + symbol.st_name, strings.sh_offset + strings.sh_size);
        names.take(name.size());
        symbols_[std::move(name)] = va_ + symbol.st_value;
      }
    } else if (s.sh_type == SHT_RELA) {
      relocations.take(s.sh_size);
      const auto of_symbols =
          at<Elf64_Shdr>(elf, header.e_shoff + s.sh_link * sizeof(Elf64_Shdr), "section headers");
      for (uint64_t o = 0; o + sizeof(Elf64_Rela) <= s.sh_size; o += sizeof(Elf64_Rela)) {
        const auto r = at<Elf64_Rela>(elf, s.sh_offset + o, "relocations");
        uint64_t value = va_ + static_cast<uint64_t>(r.r_addend);
        if (ELF64_R_TYPE(r.r_info) == r_amdgpu_abs64)
          value +=
              at<Elf64_Sym>(elf, of_symbols.sh_offset + ELF64_R_SYM(r.r_info) * sizeof(Elf64_Sym),
                            "symbols")
                  .st_value;
        else if (ELF64_R_TYPE(r.r_info) != r_amdgpu_relative64)
          throw std::runtime_error("code object has a relocation of unknown type");
        if (r.r_offset > size_ - 8)
          throw std::runtime_error("code object relocates what lies outside of it");
        std::memcpy(image_.get() + r.r_offset, &value, sizeof value);
      }
    }
  }
}

} // namespace fade::sim
