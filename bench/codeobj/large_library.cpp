#include "large_library.h"

#include "codeobj/finder.h"

#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

namespace fade::bench {
namespace {

using namespace codeobj;

struct Part {
  std::string id;
  Blob blob;
};

std::vector<Part> parts_of(const std::string &seed) {
  std::vector<Part> parts;
  auto status = findCode(seed, {[&](FoundCode found) {
                                  std::string id = "hipv4-amdgcn-amd-amdhsa--" + found.target.id();
                                  parts.push_back({std::move(id), std::move(found.blob)});
                                  return true;
                                },
                                {}});
  if (!status) std::abort();
  return parts;
}

template <class T> void put(std::ostream &out, const T &value) {
  out.write(reinterpret_cast<const char *>(&value), sizeof value);
}

std::uint64_t aligned(std::uint64_t n) { return (n + 4095) / 4096 * 4096; }

void pad(std::ostream &out, std::uint64_t to) {
  static const std::vector<char> zeros(4096);
  for (auto at = static_cast<std::uint64_t>(out.tellp()); at < to;) {
    std::uint64_t n = std::min<std::uint64_t>(zeros.size(), to - at);
    out.write(zeros.data(), static_cast<std::streamsize>(n));
    at += n;
  }
}

void write_bundle(std::ostream &out, const std::vector<Part> &parts) {
  auto base = static_cast<std::uint64_t>(out.tellp());
  out << "__CLANG_OFFLOAD_BUNDLE__";
  put<std::uint64_t>(out, parts.size());
  std::uint64_t at = 4096;
  for (const Part &part : parts) {
    put<std::uint64_t>(out, at);
    put<std::uint64_t>(out, part.blob.bytes().size());
    put<std::uint64_t>(out, part.id.size());
    out << part.id;
    at = aligned(at + part.blob.bytes().size());
  }
  at = base + 4096;
  for (const Part &part : parts) {
    pad(out, at);
    std::string_view text = asText(part.blob.bytes());
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    at = aligned(at + text.size());
  }
  pad(out, at);
}

} // namespace

LargeLibrary make_large_library(const std::string &seed, std::uint64_t wanted_bytes) {
  namespace fs = std::filesystem;
  LargeLibrary library;
  library.path =
      (fs::temp_directory_path() / fmt::format("fade-bench-{}.so", wanted_bytes)).string();
  std::vector<Part> parts = parts_of(seed);
  std::uint64_t per_bundle = 4096;
  for (const Part &part : parts) per_bundle += aligned(part.blob.bytes().size());
  std::uint64_t bundles = wanted_bytes / per_bundle + 1;
  library.code_objects = bundles * parts.size();

  if (!fs::exists(library.path)) {
    std::ofstream out(library.path, std::ios::binary);
    pad(out, 4096);
    for (std::uint64_t i = 0; i < bundles; ++i) write_bundle(out, parts);
    auto section_end = static_cast<std::uint64_t>(out.tellp());
    const std::string names("\0.hip_fatbin\0.shstrtab\0", 23);
    out << names;
    pad(out, aligned(section_end + names.size()));
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_DYN;
    header.e_machine = EM_X86_64;
    header.e_shoff = static_cast<std::uint64_t>(out.tellp());
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 3;
    header.e_shstrndx = 2;
    Elf64_Shdr none{}, fatbin{}, strings{};
    fatbin.sh_name = 1;
    fatbin.sh_type = SHT_PROGBITS;
    fatbin.sh_offset = 4096;
    fatbin.sh_size = section_end - 4096;
    strings.sh_name = 13;
    strings.sh_type = SHT_STRTAB;
    strings.sh_offset = section_end;
    strings.sh_size = names.size();
    put(out, none);
    put(out, fatbin);
    put(out, strings);
    out.seekp(0);
    put(out, header);
  }
  library.bytes = fs::file_size(library.path);
  return library;
}

} // namespace fade::bench
