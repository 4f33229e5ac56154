#include "rewrite/object_writer.h"

#include "fade/sites.h"

#include <algorithm>
#include <fmt/format.h>

namespace fade::rewrite {
namespace {

using codeobj::part;
using codeobj::read;

constexpr uint64_t kPage = 4096, kCodeAlignment = 256, kDescriptorAlignment = 64;
constexpr const char *kCodeSection = ".fade.text";

uint64_t upTo(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

void pad(std::vector<uint8_t> &bytes, uint64_t multiple) {
  bytes.resize(upTo(bytes.size(), multiple));
}

template <typename T> void append(std::vector<uint8_t> &bytes, const T *from, std::size_t count) {
  const auto *begin = reinterpret_cast<const uint8_t *>(from);
  bytes.insert(bytes.end(), begin, begin + count * sizeof(T));
}

template <typename T> void put(std::vector<uint8_t> &bytes, uint64_t at, const T &value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

uint32_t appendName(std::vector<uint8_t> &names, std::string_view name) {
  const auto at = static_cast<uint32_t>(names.size());
  names.insert(names.end(), name.begin(), name.end());
  names.push_back(0);
  return at;
}

uint32_t elfHash(std::string_view name) {
  uint32_t hash = 0;
  for (const char c : name) {
    hash = (hash << 4) + static_cast<unsigned char>(c);
    hash ^= (hash & 0xf0000000u) >> 24;
    hash &= 0x0fffffffu;
  }
  return hash;
}

/// DT_HASH of a table of symbols.
std::vector<uint8_t> hashTable(codeobj::ByteView symbols, codeobj::ByteView names) {
  const auto count = static_cast<uint32_t>(symbols.size() / sizeof(Elf64_Sym));
  std::vector<uint32_t> table(2 + 2 * std::size_t{count});
  table[0] = table[1] = count;
  for (uint32_t i = 1; i < count; ++i) {
    const auto symbol = read<Elf64_Sym>(symbols, i * sizeof(Elf64_Sym));
    const auto name = codeobj::cString(names, symbol->st_name);
    const uint32_t bucket = elfHash(name.value_or("")) % count;
    table[2 + count + i] = std::exchange(table[2 + bucket], i);
  }
  std::vector<uint8_t> bytes;
  append(bytes, table.data(), table.size());
  return bytes;
}

} // namespace

struct ObjectWriter::Table {
  codeobj::ByteView symbols, names;
};

Result<ObjectWriter> ObjectWriter::open(const codeobj::CodeObject &object) {
  ObjectWriter writer(object);
  const codeobj::Blob &blob = object.elf().blob();
  const Elf64_Ehdr &header = object.elf().header();
  const auto fail = [&](const char *what) { return blob.error("program headers", 0, what); };
  if (header.e_type != ET_DYN) return blob.error("ELF header", 0, "not a linked code object");
  const auto programs = part(blob.bytes(), header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr));
  if (!programs || header.e_phnum == 0) return fail("there are none");
  writer.segments_.resize(header.e_phnum);
  std::memcpy(writer.segments_.data(), programs->data(), programs->size());
  // A mark that says nothing about GPUs: its place is taken.
  const auto spare = std::ranges::find(writer.segments_, PT_GNU_STACK, &Elf64_Phdr::p_type);
  if (spare == writer.segments_.end()) return fail("there is no room for one more segment");
  writer.spare_ = static_cast<std::size_t>(spare - writer.segments_.begin());
  constexpr uint64_t highest = uint64_t{1} << 40;
  for (const Elf64_Phdr &segment : writer.segments_) {
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_vaddr > highest || segment.p_memsz > highest)
      return fail("a segment is out of reach");
    writer.address_ = std::max(writer.address_, segment.p_vaddr + segment.p_memsz);
    if (&segment > &*spare) return fail("segments are not in order");
  }
  writer.address_ = upTo(writer.address_, kPage) + kPage;
  const auto sections = part(blob.bytes(), header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr));
  if (!sections || header.e_shnum == 0 || header.e_shstrndx >= header.e_shnum)
    return blob.error("section headers", 0, "there are none");
  writer.sections_.resize(header.e_shnum);
  std::memcpy(writer.sections_.data(), sections->data(), sections->size());
  const Elf64_Shdr &names = writer.sections_[header.e_shstrndx];
  const auto names_bytes = part(blob.bytes(), names.sh_offset, names.sh_size);
  if (!names_bytes) return blob.error("section names", 0, "they run past the end of the file");
  writer.section_names_.assign(names_bytes->begin(), names_bytes->end());
  return writer;
}

bool ObjectWriter::isWritable(uint64_t address) const {
  return std::ranges::none_of(segments_, [&](const Elf64_Phdr &segment) {
    return segment.p_type == PT_LOAD && (segment.p_flags & PF_W) == 0 &&
           address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_memsz;
  });
}

uint64_t ObjectWriter::nextAddress() const {
  return address_ + upTo(upTo(segment_.size(), kDescriptorAlignment) + codeobj::kDescriptorSize,
                         kCodeAlignment);
}

void ObjectWriter::add(AddedKernel kernel) {
  const uint64_t code = nextAddress();
  pad(segment_, kDescriptorAlignment);
  const uint64_t at = segment_.size();
  segment_.insert(segment_.end(), kernel.descriptor.begin(), kernel.descriptor.end());
  constexpr uint64_t entry_offset = 16;
  put(segment_, at + entry_offset, code - (address_ + at));
  segment_.resize(code - address_);
  segment_.insert(segment_.end(), kernel.code.begin(), kernel.code.end());
  kernels_.push_back(
      {std::move(kernel.name), std::move(kernel.like), code, kernel.code.size(), address_ + at});
}

void ObjectWriter::addSites(std::span<const std::byte> table) {
  sites_.insert(sites_.end(), table.begin(), table.end());
}

std::vector<Elf64_Sym> ObjectWriter::newSymbols(const Table &table,
                                                std::vector<uint8_t> &names) const {
  std::vector<Elf64_Sym> added;
  const auto section = static_cast<Elf64_Section>(sections_.size());
  for (const Placed &kernel : kernels_) {
    Elf64_Sym model{};
    for (uint64_t at = 0; at + sizeof model <= table.symbols.size(); at += sizeof model) {
      const auto symbol = read<Elf64_Sym>(table.symbols, at);
      if (codeobj::cString(table.names, symbol->st_name) == kernel.like) model = *symbol;
    }
    if (model.st_name == 0) continue;
    Elf64_Sym code = model, descriptor = model;
    descriptor.st_name = appendName(names, kernel.name + ".kd");
    descriptor.st_shndx = section;
    descriptor.st_value = kernel.descriptor;
    code.st_name = appendName(names, kernel.name);
    code.st_info = ELF64_ST_INFO(ELF64_ST_BIND(model.st_info), STT_FUNC);
    code.st_shndx = section;
    code.st_value = kernel.code;
    code.st_size = kernel.code_size;
    added.insert(added.end(), {code, descriptor});
  }
  return added;
}

/// Puts the kernels into a table of symbols, which moves to the end: into the new segment if the
/// loader looks for it in memory.
Status ObjectWriter::growSymbols(uint32_t type, std::vector<uint8_t> &file) {
  const codeobj::Blob &blob = object_.elf().blob();
  const auto found = std::ranges::find(sections_, type, &Elf64_Shdr::sh_type);
  if (found == sections_.end()) return Done{};
  if (found->sh_link >= sections_.size())
    return blob.error("section headers", 0, "a symbol table without names");
  Elf64_Shdr &strings = sections_[found->sh_link];
  const auto symbols = part(blob.bytes(), found->sh_offset,
                            found->sh_size / sizeof(Elf64_Sym) * sizeof(Elf64_Sym)),
             names = part(blob.bytes(), strings.sh_offset, strings.sh_size);
  if (!symbols || !names) return blob.error("symbol table", 0, "it runs past the end of the file");
  std::vector<uint8_t> new_names(names->begin(), names->end());
  std::vector<uint8_t> new_symbols(symbols->begin(), symbols->end());
  const std::vector<Elf64_Sym> added = newSymbols({*symbols, *names}, new_names);
  append(new_symbols, added.data(), added.size());
  const bool is_loaded = type == SHT_DYNSYM;
  const auto place = [&](Elf64_Shdr &section, const std::vector<uint8_t> &bytes) {
    std::vector<uint8_t> &to = is_loaded ? segment_ : file;
    pad(to, 8);
    section.sh_offset = to.size(); // of the segment: moved when that has its place
    section.sh_addr = is_loaded ? address_ + to.size() : 0;
    section.sh_size = bytes.size();
    to.insert(to.end(), bytes.begin(), bytes.end());
  };
  place(*found, new_symbols);
  place(strings, new_names);
  if (!is_loaded) return Done{};
  const auto hash = std::ranges::find(sections_, SHT_HASH, &Elf64_Shdr::sh_type);
  if (hash != sections_.end()) place(*hash, hashTable(new_symbols, new_names));
  // The loader's own list of where these are.
  for (const Elf64_Phdr &segment : segments_) {
    if (segment.p_type != PT_DYNAMIC) continue;
    if (!part(file, segment.p_offset, segment.p_filesz))
      return blob.error("PT_DYNAMIC", segment.p_offset, "it runs past the end of the file");
    for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= segment.p_filesz; at += sizeof(Elf64_Dyn)) {
      auto entry = *read<Elf64_Dyn>(file, segment.p_offset + at);
      if (entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_SYMTAB) entry.d_un.d_ptr = found->sh_addr;
      if (entry.d_tag == DT_STRTAB) entry.d_un.d_ptr = strings.sh_addr;
      if (entry.d_tag == DT_STRSZ) entry.d_un.d_val = strings.sh_size;
      if (entry.d_tag == DT_HASH && hash != sections_.end()) entry.d_un.d_ptr = hash->sh_addr;
      put(file, segment.p_offset + at, entry);
    }
  }
  return Done{};
}

Result<std::vector<uint8_t>> ObjectWriter::write() {
  const codeobj::ByteView original = object_.elf().blob().bytes();
  std::vector<uint8_t> file(original.begin(), original.end());
  const uint64_t code_size = segment_.size();
  const auto old_sections = sections_;
  if (auto status = growSymbols(SHT_SYMTAB, file); !status) return std::move(status).error();
  if (auto status = growSymbols(SHT_DYNSYM, file); !status) return std::move(status).error();
  pad(file, kPage);
  const uint64_t offset = file.size();
  append(file, segment_.data(), segment_.size());
  segments_[spare_] = {PT_LOAD,  PF_R | PF_X,     offset,          address_,
                       address_, segment_.size(), segment_.size(), kPage};
  for (std::size_t i = 0; i < sections_.size(); ++i)
    if (sections_[i].sh_addr >= address_ && sections_[i].sh_addr != old_sections[i].sh_addr)
      sections_[i].sh_offset += offset;
  Elf64_Shdr code{};
  code.sh_name = appendName(section_names_, kCodeSection);
  code.sh_type = SHT_PROGBITS;
  code.sh_flags = SHF_ALLOC | SHF_EXECINSTR;
  code.sh_addr = address_, code.sh_offset = offset, code.sh_size = code_size;
  code.sh_addralign = kCodeAlignment;
  sections_.push_back(code);
  pad(file, 8);
  Elf64_Shdr sites{};
  sites.sh_name = appendName(section_names_, FADE_SITES_SECTION);
  sites.sh_type = SHT_PROGBITS;
  sites.sh_offset = file.size(), sites.sh_size = sites_.size(), sites.sh_addralign = 8;
  sections_.push_back(sites);
  append(file, sites_.data(), sites_.size());
  auto header = object_.elf().header();
  Elf64_Shdr &names = sections_[header.e_shstrndx];
  names.sh_offset = file.size(), names.sh_size = section_names_.size();
  append(file, section_names_.data(), section_names_.size());
  pad(file, 8);
  header.e_shoff = file.size();
  header.e_shnum = static_cast<uint16_t>(sections_.size());
  append(file, sections_.data(), sections_.size());
  put(file, 0, header);
  for (std::size_t i = 0; i < segments_.size(); ++i)
    put(file, header.e_phoff + i * sizeof(Elf64_Phdr), segments_[i]);
  return file;
}

} // namespace fade::rewrite
