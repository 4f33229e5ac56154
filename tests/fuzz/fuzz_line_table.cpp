// Debug information: the input is cut into DWARF sections of an otherwise good code object.
//   { u8 which, u16 length, bytes } …
#include "codeobj/source_map.h"

namespace {

using namespace fade::codeobj;

constexpr const char *kSections[] = {".debug_line",     ".debug_info",     ".debug_abbrev",
                                     ".debug_str",      ".debug_line_str", ".debug_ranges",
                                     ".debug_rnglists", ".debug_addr",     ".debug_str_offsets"};
constexpr std::size_t kCount = std::size(kSections);

template <class T> void append(std::vector<std::uint8_t> &out, const T &value) {
  const auto *bytes = reinterpret_cast<const std::uint8_t *>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

std::vector<std::uint8_t> make_object(const std::vector<std::uint8_t> (&contents)[kCount]) {
  std::vector<std::uint8_t> file(sizeof(Elf64_Ehdr));
  std::vector<Elf64_Shdr> headers(1);
  std::string names(1, '\0');
  auto add = [&](const char *name, std::uint32_t type, const auto &bytes) {
    Elf64_Shdr header{};
    header.sh_name = static_cast<std::uint32_t>(names.size());
    header.sh_type = type;
    header.sh_offset = file.size();
    header.sh_size = bytes.size();
    header.sh_addralign = 1;
    names.append(name).push_back('\0');
    file.insert(file.end(), bytes.begin(), bytes.end());
    headers.push_back(header);
  };
  for (std::size_t i = 0; i < kCount; ++i) add(kSections[i], SHT_PROGBITS, contents[i]);
  names.append(".shstrtab").push_back('\0');
  std::string all_names = names;
  Elf64_Shdr strings{};
  strings.sh_name = static_cast<std::uint32_t>(names.size() - 10);
  strings.sh_type = SHT_STRTAB;
  strings.sh_offset = file.size();
  strings.sh_size = all_names.size();
  file.insert(file.end(), all_names.begin(), all_names.end());
  headers.push_back(strings);
  file.resize((file.size() + 7) / 8 * 8);

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_ident[EI_OSABI] = 64;
  header.e_ident[EI_ABIVERSION] = 3;
  header.e_type = ET_DYN;
  header.e_machine = 224;
  header.e_version = EV_CURRENT;
  header.e_flags = 0x3f;
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shoff = file.size();
  header.e_shnum = static_cast<std::uint16_t>(headers.size());
  header.e_shstrndx = static_cast<std::uint16_t>(headers.size() - 1);
  for (const Elf64_Shdr &h : headers) append(file, h);
  std::memcpy(file.data(), &header, sizeof header);
  return file;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  std::vector<std::uint8_t> contents[kCount];
  ByteView input(data, size);
  for (std::size_t at = 0; at + 3 <= input.size();) {
    std::size_t which = input[at] % kCount;
    std::size_t length =
        std::min<std::size_t>(*read<std::uint16_t>(input, at + 1), input.size() - at - 3);
    auto piece = input.subspan(at + 3, length);
    contents[which].insert(contents[which].end(), piece.begin(), piece.end());
    at += 3 + length;
  }
  std::vector<std::uint8_t> file = make_object(contents);
  auto object = CodeObject::open(Blob::borrow(file, "input"));
  if (!object) __builtin_trap(); // the frame is good whatever the sections hold
  auto map = SourceMap::open(*object);
  if (!map) return 0;
  for (std::uint64_t address :
       {0x0ull, 0x4ull, 0x1000ull, 0x1704ull, 0x2100ull, 0x2140ull, 0x2240ull, ~0ull}) {
    (*map)->stack(address);
    SourceFrame place = (*map)->place(address);
    (*map)->addresses(place.file, place.line);
  }
  (*map)->files();
  return 0;
}
