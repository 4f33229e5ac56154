// scan-hazards [--wave64] FILE...: names instructions in code objects that come too early behind
// another one. Exits with 1 if there are any.
#include "isa/hazards.h"
#include "isa/instruction.h"

#include "fade/gpu.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <iterator>
#include <string>

namespace {

using namespace fade::sim;

std::string text_at(LlvmDisassembler &disassembler, std::span<const uint8_t> code, uint64_t base,
                    uint64_t pc) {
  return disassembler.disassemble(code.subspan(pc - base), pc, true).text;
}

int scan(const std::string &path, bool wave64) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  Elf64_Ehdr header;
  if (bytes.size() < sizeof header)
    return std::fprintf(stderr, "%s: no code object\n", path.c_str()), 2;
  std::memcpy(&header, bytes.data(), sizeof header);
  const fade::GpuInfo *gpu = nullptr;
  for (const fade::GpuInfo &g : fade::allGpus())
    if (g.elf_machine == (header.e_flags & 0xff)) gpu = &g;
  if (!gpu || !HazardTable(gpu->name).has_rules())
    return std::fprintf(stderr, "%s: no rules for this processor\n", path.c_str()), 2;
  const bool wave32 = gpu->major >= 10 && !wave64;
  LlvmDisassembler disassembler(gpu->name, wave32);
  size_t found = 0, scanned = 0;
  for (unsigned i = 0; i < header.e_shnum; i++) {
    Elf64_Shdr section;
    const size_t at = header.e_shoff + i * sizeof section;
    if (at + sizeof section > bytes.size()) break;
    std::memcpy(&section, bytes.data() + at, sizeof section);
    if (!(section.sh_flags & SHF_EXECINSTR) || section.sh_type != SHT_PROGBITS ||
        section.sh_offset > bytes.size() || section.sh_size > bytes.size() - section.sh_offset)
      continue;
    const std::span<const uint8_t> code(
        reinterpret_cast<const uint8_t *>(bytes.data()) + section.sh_offset, section.sh_size);
    scanned += code.size();
    for (const Hazard &h : find_hazards(gpu->name, wave32, code, section.sh_addr)) {
      const std::string first = text_at(disassembler, code, section.sh_addr, h.first);
      const std::string second = text_at(disassembler, code, section.sh_addr, h.pc);
      std::printf("%s (%s): %s: %u there, %u needed\n  %#llx %s\n  %#llx %s\n", path.c_str(),
                  gpu->name, h.rule, h.present, h.needed, static_cast<unsigned long long>(h.first),
                  first.c_str(), static_cast<unsigned long long>(h.pc), second.c_str());
      found++;
    }
  }
  if (!scanned) return std::fprintf(stderr, "%s: no code\n", path.c_str()), 2;
  return found != 0;
}

} // namespace

int main(int argc, char **argv) {
  bool wave64 = false;
  int worst = 0, files = 0;
  for (int i = 1; i < argc; i++) {
    const std::string word = argv[i];
    if (word == "--wave64")
      wave64 = true;
    else
      files++, worst = std::max(worst, scan(word, wave64));
  }
  return files ? worst : 2;
}
