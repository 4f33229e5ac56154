// Code objects for replays: what is in them may come from anybody.
#include "device/code_object.h"

#include <cstring>
#include <elf.h>
#include <gtest/gtest.h>
#include <stdexcept>
#include <vector>

namespace fade::sim {
namespace {

// A code object with one page to load, `tables` symbol tables over the same symbols, whose names
// begin one byte apart in text that has no end.
std::vector<uint8_t> object_with_names(unsigned symbols, unsigned tables) {
  const uint64_t names_at = 4096, names_size = 65536;
  const uint64_t symbols_at = names_at + names_size,
                 sections_at = symbols_at + symbols * sizeof(Elf64_Sym);
  std::vector<uint8_t> bytes(sections_at + (tables + 2) * sizeof(Elf64_Shdr));
  const auto put = [&](uint64_t at, const auto &what) {
    std::memcpy(bytes.data() + at, &what, sizeof what);
  };
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_machine = 224;
  header.e_phoff = sizeof header;
  header.e_phnum = 1;
  header.e_shoff = sections_at;
  header.e_shnum = static_cast<uint16_t>(tables + 2);
  put(0, header);
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_filesz = segment.p_memsz = 4096;
  put(sizeof header, segment);
  std::memset(bytes.data() + names_at, 'x', names_size);
  for (unsigned i = 0; i < symbols; ++i) {
    Elf64_Sym symbol{};
    symbol.st_name = i;
    symbol.st_shndx = 1;
    put(symbols_at + i * sizeof symbol, symbol);
  }
  Elf64_Shdr strings{};
  strings.sh_type = SHT_STRTAB;
  strings.sh_offset = names_at;
  strings.sh_size = names_size;
  put(sections_at + sizeof strings, strings);
  for (unsigned i = 0; i < tables; ++i) {
    Elf64_Shdr table{};
    table.sh_type = SHT_DYNSYM;
    table.sh_offset = symbols_at;
    table.sh_size = symbols * sizeof(Elf64_Sym);
    table.sh_link = 1;
    put(sections_at + (i + 2) * sizeof table, table);
  }
  return bytes;
}

TEST(CodeObject, NamesThatShareTheirBytesDoNotTakeMemoryWithoutEnd) {
  AddressSpace memory;
  EXPECT_NO_THROW(CodeObject(object_with_names(10, 1), memory, 0x10000));
  EXPECT_THROW(CodeObject(object_with_names(4000, 1), memory, 0x10000), std::runtime_error);
}

TEST(CodeObject, TablesThatShareTheirBytesDoNotTakeTimeWithoutEnd) {
  AddressSpace memory;
  EXPECT_THROW(CodeObject(object_with_names(20, 60000), memory, 0x10000), std::runtime_error);
}

} // namespace
} // namespace fade::sim
