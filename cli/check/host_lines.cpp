#include "check/host_lines.h"

#include "check/finding_reader.h"

#include <cstdlib>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <unistd.h>

namespace fade::cli {

struct HostLines::Module {
  int file = -1;
  Dwarf *dwarf = nullptr;

  explicit Module(const std::string &path) {
    file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file >= 0) dwarf = dwarf_begin(file, DWARF_C_READ);
  }
  ~Module() {
    if (dwarf) dwarf_end(dwarf);
    if (file >= 0) close(file);
  }
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;
};

HostLines::HostLines() = default;
HostLines::~HostLines() = default;

namespace {

FoundFrame frameOf(Dwarf_Line *line) {
  FoundFrame frame;
  int number = 0, column = 0;
  if (!line || dwarf_lineno(line, &number) != 0) return frame;
  (void)dwarf_linecol(line, &column);
  if (const char *name = dwarf_linesrc(line, nullptr, nullptr)) frame.file = name;
  frame.line = static_cast<uint32_t>(number);
  frame.column = static_cast<uint32_t>(column);
  return frame;
}

uint64_t number(Dwarf_Die *die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  return dwarf_attr(die, name, &attribute) && dwarf_formudata(&attribute, &value) == 0 ? value : 0;
}

/// The nearest call of a function that was inlined here which is not in a header of the system:
/// hipMalloc<T> is one.
FoundFrame inlinedCall(Dwarf_Die *unit, uint64_t address) {
  FoundFrame frame;
  Dwarf_Die *scopes = nullptr;
  const int count = dwarf_getscopes(unit, address, &scopes);
  Dwarf_Files *files = nullptr;
  std::size_t file_count = 0;
  if (dwarf_getsrcfiles(unit, &files, &file_count) != 0) file_count = 0;
  for (int i = 0; i < count; ++i) {
    if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine) continue;
    const uint64_t file = number(&scopes[i], DW_AT_call_file);
    const char *name = file < file_count ? dwarf_filesrc(files, file, nullptr, nullptr) : nullptr;
    if (!name || isOfSystem(name)) continue;
    frame.file = name;
    frame.line = static_cast<uint32_t>(number(&scopes[i], DW_AT_call_line));
    frame.column = static_cast<uint32_t>(number(&scopes[i], DW_AT_call_column));
    break;
  }
  std::free(scopes);
  return frame;
}

} // namespace

FoundFrame HostLines::find(const std::string &file, uint64_t address) {
  auto &module = modules_[file];
  if (!module) module = std::make_unique<Module>(file);
  if (!module->dwarf) return {};
  // Compilers leave the table of address ranges out, which libdw would look into.
  Dwarf_Off offset = 0, next = 0;
  std::size_t header = 0;
  while (dwarf_nextcu(module->dwarf, offset, &next, &header, nullptr, nullptr, nullptr) == 0) {
    Dwarf_Die unit;
    if (dwarf_offdie(module->dwarf, offset + header, &unit) && dwarf_haspc(&unit, address) > 0) {
      FoundFrame frame = frameOf(dwarf_getsrc_die(&unit, address));
      if (!isOfSystem(frame.file)) return frame;
      FoundFrame call = inlinedCall(&unit, address);
      return call.line != 0 ? call : frame;
    }
    offset = next;
  }
  return {};
}

} // namespace fade::cli
