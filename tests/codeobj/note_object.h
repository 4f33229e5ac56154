// A code object of nothing but notes, for tests of those who read them.
#pragma once

#include <cstdint>
#include <cstring>
#include <elf.h>
#include <string>
#include <string_view>
#include <vector>

namespace fade::codeobj::testing {

struct NoteParts {
  std::string_view owner;
  std::uint32_t type;
  std::string_view content;
};

inline std::vector<std::uint8_t> objectWithNotes(const std::vector<NoteParts> &notes) {
  const auto padded = [](std::size_t size) { return (size + 3) / 4 * 4; };
  std::string section;
  for (const NoteParts &note : notes) {
    const Elf64_Nhdr header{static_cast<std::uint32_t>(note.owner.size() + 1),
                            static_cast<std::uint32_t>(note.content.size()), note.type};
    section.append(reinterpret_cast<const char *>(&header), sizeof header);
    section.append(note.owner).resize(padded(section.size() + 1));
    section.append(note.content).resize(padded(section.size()));
  }
  static constexpr char names[] = "\0.note\0.shstrtab";
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_ident[EI_OSABI] = 64; // HSA
  header.e_ident[EI_ABIVERSION] = 2;
  header.e_type = ET_DYN;
  header.e_machine = 224; // AMDGPU
  header.e_version = EV_CURRENT;
  header.e_flags = 0x3f; // gfx90a
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  section.resize((section.size() + 7) / 8 * 8);
  const std::uint64_t at_names = sizeof header + section.size();
  header.e_shoff = (at_names + sizeof names + 7) / 8 * 8;
  Elf64_Shdr sections[3]{};
  sections[1] = {1, SHT_NOTE, 0, 0, sizeof header, section.size(), 0, 0, 4, 0};
  sections[2] = {7, SHT_STRTAB, 0, 0, at_names, sizeof names, 0, 0, 1, 0};
  std::vector<std::uint8_t> bytes(header.e_shoff + sizeof sections);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, section.data(), section.size());
  std::memcpy(bytes.data() + at_names, names, sizeof names);
  std::memcpy(bytes.data() + header.e_shoff, sections, sizeof sections);
  return bytes;
}

} // namespace fade::codeobj::testing
