#include "codeobj/elf.h"

#include <fmt/format.h>

namespace fade::codeobj {

bool Elf::looksLike(ByteView bytes) {
  return bytes.size() >= SELFMAG && std::memcmp(bytes.data(), ELFMAG, SELFMAG) == 0;
}

Result<Elf> Elf::open(Blob blob) {
  Elf elf;
  elf.blob_ = std::move(blob);
  auto fail = [&](uint64_t offset, const char *what) {
    return elf.blob_.error("ELF header", offset, what);
  };
  if (!looksLike(elf.blob_.bytes())) return fail(0, "not an ELF file");
  auto header = read<Elf64_Ehdr>(elf.blob_.bytes(), 0);
  if (!header) return fail(elf.blob_.bytes().size(), "file ends inside the ELF header");
  elf.header_ = *header;
  if (header->e_ident[EI_CLASS] != ELFCLASS64) return fail(EI_CLASS, "not a 64-bit ELF file");
  if (header->e_ident[EI_DATA] != ELFDATA2LSB) return fail(EI_DATA, "not a little-endian ELF file");
  if (auto status = elf.readSegments(); !status) return std::move(status).error();
  if (auto status = elf.readSections(); !status) return std::move(status).error();
  return elf;
}

Status Elf::readSegments() {
  uint64_t count = header_.e_phnum;
  if (count == 0 || header_.e_phoff == 0) return Done{};
  if (header_.e_phentsize != sizeof(Elf64_Phdr))
    return blob_.error("ELF header", offsetof(Elf64_Ehdr, e_phentsize),
                       fmt::format("program headers of {} bytes", header_.e_phentsize));
  auto table = part(blob_.bytes(), header_.e_phoff, count * sizeof(Elf64_Phdr));
  if (!table)
    return blob_.error("program headers", header_.e_phoff, "table runs past the end of the file");
  segments_.resize(count);
  std::memcpy(segments_.data(), table->data(), table->size());
  return Done{};
}

Status Elf::readSections() {
  if (header_.e_shoff == 0) return Done{};
  auto fail = [&](uint64_t offset, std::string what) -> Status {
    return blob_.error("section headers", offset, std::move(what));
  };
  if (header_.e_shentsize != sizeof(Elf64_Shdr))
    return fail(0, fmt::format("headers of {} bytes", header_.e_shentsize));
  auto first = read<Elf64_Shdr>(blob_.bytes(), header_.e_shoff);
  if (!first) return fail(header_.e_shoff, "table starts past the end of the file");
  // Files with very many sections keep the true counts in section 0.
  uint64_t count = header_.e_shnum != 0 ? header_.e_shnum : first->sh_size;
  uint64_t names_index = header_.e_shstrndx == SHN_XINDEX ? first->sh_link : header_.e_shstrndx;
  if (count > blob_.bytes().size() / sizeof(Elf64_Shdr) ||
      !part(blob_.bytes(), header_.e_shoff, count * sizeof(Elf64_Shdr)))
    return fail(header_.e_shoff, fmt::format("{} headers do not fit in the file", count));

  auto headerAt = [&](uint64_t i) {
    return *read<Elf64_Shdr>(blob_.bytes(), header_.e_shoff + i * sizeof(Elf64_Shdr));
  };
  ByteView names;
  if (names_index != SHN_UNDEF && names_index < count) {
    Elf64_Shdr table = headerAt(names_index);
    if (auto bytes = part(blob_.bytes(), table.sh_offset, table.sh_size)) names = *bytes;
  }
  sections_.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    Elf64_Shdr h = headerAt(i);
    Section section;
    section.name = cString(names, h.sh_name).value_or(std::string_view());
    section.index = static_cast<uint32_t>(i);
    section.type = h.sh_type;
    section.flags = h.sh_flags;
    section.address = h.sh_addr;
    section.offset = h.sh_offset;
    section.size = h.sh_size;
    section.link = h.sh_link;
    sections_.push_back(section);
  }
  return Done{};
}

const Section *Elf::findSection(std::string_view name) const {
  for (const Section &section : sections_)
    if (section.name == name) return &section;
  return nullptr;
}

Result<ByteView> Elf::contents(const Section &section) const {
  if (section.type == SHT_NOBITS || section.type == SHT_NULL) return ByteView();
  auto bytes = part(blob_.bytes(), section.offset, section.size);
  if (!bytes)
    return blob_.error(std::string(section.name), 0,
                       fmt::format("section [{:#x}, +{:#x}) is not inside the file of {:#x} bytes",
                                   section.offset, section.size, blob_.bytes().size()));
  return *bytes;
}

Result<std::vector<Symbol>> Elf::readSymbols(ByteView table, ByteView strings,
                                             const std::string &where) const {
  std::vector<Symbol> symbols;
  symbols.reserve(table.size() / sizeof(Elf64_Sym));
  for (uint64_t at = sizeof(Elf64_Sym); at + sizeof(Elf64_Sym) <= table.size();
       at += sizeof(Elf64_Sym)) {
    Elf64_Sym raw = *read<Elf64_Sym>(table, at);
    auto name = cString(strings, raw.st_name);
    if (!name && raw.st_name != 0)
      return blob_.error(where, at,
                         fmt::format("symbol name {:#x} is outside the string table", raw.st_name));
    symbols.push_back({name.value_or(std::string_view()), raw.st_value, raw.st_size,
                       static_cast<uint8_t>(ELF64_ST_TYPE(raw.st_info)),
                       static_cast<uint8_t>(ELF64_ST_BIND(raw.st_info)), raw.st_shndx});
  }
  return symbols;
}

Result<std::vector<Symbol>> Elf::symbols() const {
  const Section *best = nullptr;
  for (const Section &section : sections_) {
    if (section.type == SHT_SYMTAB) best = &section;
    if (section.type == SHT_DYNSYM && best == nullptr) best = &section;
  }
  if (best == nullptr) return dynamicSymbols();
  auto table = contents(*best);
  if (!table) return std::move(table).error();
  if (best->link >= sections_.size())
    return blob_.error(
        std::string(best->name), 0,
        fmt::format("string table is section {} of {}", best->link, sections_.size()));
  auto strings = contents(sections_[best->link]);
  if (!strings) return std::move(strings).error();
  return readSymbols(*table, *strings, std::string(best->name));
}

Result<std::vector<Symbol>> Elf::dynamicSymbols() const {
  uint64_t symbols = 0, strings = 0, strings_size = 0, hash = 0;
  for (const Elf64_Phdr &segment : segments_) {
    if (segment.p_type != PT_DYNAMIC) continue;
    auto bytes = part(blob_.bytes(), segment.p_offset, segment.p_filesz);
    if (!bytes)
      return blob_.error("PT_DYNAMIC", segment.p_offset, "segment runs past the end of the file");
    for (uint64_t at = 0; auto entry = read<Elf64_Dyn>(*bytes, at); at += sizeof(Elf64_Dyn)) {
      if (entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_SYMTAB) symbols = entry->d_un.d_ptr;
      if (entry->d_tag == DT_STRTAB) strings = entry->d_un.d_ptr;
      if (entry->d_tag == DT_STRSZ) strings_size = entry->d_un.d_val;
      if (entry->d_tag == DT_HASH) hash = entry->d_un.d_ptr;
    }
  }
  if (symbols == 0 || strings == 0 || hash == 0) return std::vector<Symbol>();
  auto hash_bytes = atAddress(hash, 0);
  if (!hash_bytes) return std::move(hash_bytes).error();
  // The second word of DT_HASH, the number of chains, is the number of symbols.
  auto count = read<uint32_t>(*hash_bytes, 4);
  if (!count) return blob_.error("DT_HASH", hash, "table is cut short");
  auto table = atAddress(symbols, 0);
  if (!table) return std::move(table).error();
  auto names = atAddress(strings, 0);
  if (!names) return std::move(names).error();
  auto exact = part(*table, 0, uint64_t(*count) * sizeof(Elf64_Sym));
  auto exact_names = part(*names, 0, strings_size);
  if (!exact || !exact_names)
    return blob_.error("PT_DYNAMIC", 0, "symbol or string table runs past the end of its segment");
  return readSymbols(*exact, *exact_names, "DT_SYMTAB");
}

Status Elf::appendNotes(ByteView bytes, const std::string &where, std::vector<Note> &notes) const {
  auto align4 = [](uint64_t n) { return (n + 3) & ~uint64_t(3); };
  uint64_t at = 0;
  while (bytes.size() - at >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr header = *read<Elf64_Nhdr>(bytes, at);
    uint64_t name_at = at + sizeof header;
    auto owner = part(bytes, name_at, header.n_namesz);
    auto content = part(bytes, name_at + align4(header.n_namesz), header.n_descsz);
    if (!owner || !content) return blob_.error(where, at, "note runs past the end of its section");
    std::string_view name = asText(*owner);
    while (!name.empty() && name.back() == '\0') name.remove_suffix(1);
    notes.push_back({name, header.n_type, *content});
    at = std::min<uint64_t>(bytes.size(),
                            name_at + align4(header.n_namesz) + align4(header.n_descsz));
  }
  return Done{};
}

Result<std::vector<Note>> Elf::notes() const {
  std::vector<Note> notes;
  bool found = false;
  for (const Section &section : sections_) {
    if (section.type != SHT_NOTE) continue;
    found = true;
    auto bytes = contents(section);
    if (!bytes) return std::move(bytes).error();
    if (auto s = appendNotes(*bytes, std::string(section.name), notes); !s)
      return std::move(s).error();
  }
  if (found) return notes;
  for (const Elf64_Phdr &segment : segments_) {
    if (segment.p_type != PT_NOTE) continue;
    auto bytes = part(blob_.bytes(), segment.p_offset, segment.p_filesz);
    if (!bytes)
      return blob_.error("PT_NOTE", segment.p_offset, "segment runs past the end of the file");
    if (auto s = appendNotes(*bytes, "PT_NOTE", notes); !s) return std::move(s).error();
  }
  return notes;
}

Result<ByteView> Elf::atAddress(uint64_t address, uint16_t section) const {
  if (header_.e_type == ET_REL) {
    if (section >= sections_.size())
      return blob_.error("symbol table", 0, fmt::format("no section {}", section));
    auto bytes = contents(sections_[section]);
    if (!bytes) return bytes;
    auto rest = part(*bytes, address, 0);
    if (!rest)
      return blob_.error(std::string(sections_[section].name), address, "offset past the end");
    return bytes->subspan(address);
  }
  for (const Elf64_Phdr &segment : segments_) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    uint64_t skip = address - segment.p_vaddr;
    if (skip >= segment.p_filesz) continue;
    auto bytes = part(blob_.bytes(), segment.p_offset, segment.p_filesz);
    if (!bytes)
      return blob_.error("PT_LOAD", segment.p_offset, "segment runs past the end of the file");
    return bytes->subspan(skip);
  }
  return blob_.error("", 0, fmt::format("address {:#x} is in no segment", address));
}

} // namespace fade::codeobj
