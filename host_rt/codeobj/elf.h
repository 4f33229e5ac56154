// A checked view of a 64-bit little-endian ELF file: sections, segments, symbols and notes.
// Tables are read where they lie; only the section list is copied.
#pragma once

#include "codeobj/bytes.h"

#include <elf.h>
#include <vector>

namespace fade::codeobj {

struct Section {
  std::string_view name;
  uint32_t index = 0;
  uint32_t type = 0;
  uint64_t flags = 0;
  uint64_t address = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint32_t link = 0;
};

struct Symbol {
  std::string_view name;
  uint64_t value = 0;
  uint64_t size = 0;
  uint8_t type = 0;
  uint8_t binding = 0;
  uint16_t section = 0;
  bool has_guessed_size = false; ///< the file has none, as of hand-written assembly
};

struct Note {
  std::string_view owner;
  uint32_t type = 0;
  ByteView content;
};

class Elf {
public:
  static bool looksLike(ByteView bytes);
  static Result<Elf> open(Blob blob);

  const Blob &blob() const { return blob_; }
  const Elf64_Ehdr &header() const { return header_; }
  const std::vector<Section> &sections() const { return sections_; }
  const Section *findSection(std::string_view name) const;
  /// The bytes of a section in the file; none for SHT_NOBITS.
  Result<ByteView> contents(const Section &section) const;

  /// The symbols of .symtab if there is one, else those the loader uses (.dynsym, or PT_DYNAMIC in
  /// a file without section headers).
  Result<std::vector<Symbol>> symbols() const;
  Result<std::vector<Note>> notes() const;

  /// The bytes at a virtual address, from there to the end of what the file holds of its segment.
  /// In a relocatable file addresses are relative to the section `section`.
  Result<ByteView> atAddress(uint64_t address, uint16_t section) const;

private:
  Elf() = default;
  Status readSections();
  Status readSegments();
  Result<std::vector<Symbol>> readSymbols(ByteView table, ByteView strings,
                                          const std::string &where) const;
  Result<std::vector<Symbol>> dynamicSymbols() const;
  Status appendNotes(ByteView bytes, const std::string &where, std::vector<Note> &notes) const;

  Blob blob_;
  Elf64_Ehdr header_{};
  std::vector<Section> sections_;
  std::vector<Elf64_Phdr> segments_;
};

} // namespace fade::codeobj
