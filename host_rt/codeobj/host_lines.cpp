#include "codeobj/host_lines.h"

#include "codeobj/demangle.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

namespace fade::codeobj {
namespace {

uint64_t numberOf(Dwarf_Die *die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  return dwarf_attr(die, name, &attribute) && dwarf_formudata(&attribute, &value) == 0 ? value : 0;
}

std::string nameOfFunction(Dwarf_Die *die) {
  Dwarf_Attribute attribute;
  for (const unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name})
    if (dwarf_attr_integrate(die, name, &attribute))
      if (const char *text = dwarf_formstring(&attribute)) return demangle(text);
  return "";
}

/// A file's name as a path: names may be relative to the folder the compiler ran in.
std::string pathOf(Dwarf_Die *unit, const char *name) {
  Dwarf_Attribute attribute;
  const char *folder = name[0] != '/' && dwarf_attr(unit, DW_AT_comp_dir, &attribute)
                           ? dwarf_formstring(&attribute)
                           : nullptr;
  return folder ? std::string(folder) + "/" + name : name;
}

SourceFrame placeOf(Dwarf_Die *unit, Dwarf_Line *line) {
  SourceFrame frame;
  int number = 0, column = 0;
  if (!line || dwarf_lineno(line, &number) != 0) return frame;
  (void)dwarf_linecol(line, &column);
  if (const char *name = dwarf_linesrc(line, nullptr, nullptr)) frame.file = pathOf(unit, name);
  frame.line = static_cast<uint32_t>(std::max(number, 0));
  frame.column = static_cast<uint32_t>(std::max(column, 0));
  return frame;
}

/// Where a function was called that was inlined.
SourceFrame callOf(Dwarf_Die *unit, Dwarf_Die *inlined) {
  SourceFrame frame;
  Dwarf_Files *files = nullptr;
  std::size_t count = 0;
  const uint64_t file = numberOf(inlined, DW_AT_call_file);
  if (dwarf_getsrcfiles(unit, &files, &count) == 0 && file < count)
    if (const char *name = dwarf_filesrc(files, file, nullptr, nullptr))
      frame.file = pathOf(unit, name);
  frame.line = static_cast<uint32_t>(numberOf(inlined, DW_AT_call_line));
  frame.column = static_cast<uint32_t>(numberOf(inlined, DW_AT_call_column));
  return frame;
}

} // namespace

struct HostLines::Module {
  explicit Module(const std::string &path) {
    static char *no_path = nullptr;
    static const Dwfl_Callbacks callbacks = {nullptr, dwfl_build_id_find_debuginfo,
                                             dwfl_offline_section_address, &no_path};
    session_ = dwfl_begin(&callbacks);
    if (!session_) return;
    dwfl_report_begin(session_);
    module_ = dwfl_report_offline(session_, "file", path.c_str(), -1);
    dwfl_report_end(session_, nullptr, nullptr);
    if (module_ && !dwfl_module_getelf(module_, &bias_)) module_ = nullptr;
  }
  ~Module() {
    if (session_) dwfl_end(session_);
  }
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  std::vector<SourceFrame> stack(uint64_t file_address) {
    std::vector<SourceFrame> frames;
    if (!module_) return frames;
    const Dwarf_Addr address = file_address + bias_;
    if (const Unit *unit = unitAt(address)) frames = describe(*unit, address - unit->bias);
    GElf_Off offset = 0;
    GElf_Sym symbol{};
    if (const char *name =
            dwfl_module_addrinfo(module_, address, &offset, &symbol, nullptr, nullptr, nullptr)) {
      if (frames.empty()) frames.emplace_back();
      // Without the version that a library's own symbols have.
      frames.back().function = demangle(std::string(name, std::strcspn(name, "@")));
    }
    return frames;
  }

private:
  struct Unit {
    Dwarf_Addr begin, end;
    Dwarf_Die die;
    Dwarf_Addr bias;
  };

  /// clang writes no table from addresses to units (.debug_aranges): it is made here.
  void findUnits() {
    has_units_ = true;
    Dwarf_Addr unit_bias = 0;
    for (Dwarf_Die *die = nullptr; (die = dwfl_module_nextcu(module_, die, &unit_bias));) {
      Dwarf_Addr base = 0, begin = 0, end = 0;
      for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &begin, &end)) > 0;)
        units_.push_back({begin + unit_bias, end + unit_bias, *die, unit_bias});
    }
    std::ranges::sort(units_, {}, &Unit::begin);
  }

  const Unit *unitAt(Dwarf_Addr address) {
    if (!has_units_) findUnits();
    const auto after = std::ranges::upper_bound(units_, address, {}, &Unit::begin);
    if (after == units_.begin() || address >= std::prev(after)->end) return nullptr;
    return &*std::prev(after);
  }

  static std::vector<SourceFrame> describe(const Unit &unit, Dwarf_Addr address) {
    std::vector<SourceFrame> frames;
    Dwarf_Die die = unit.die;
    SourceFrame place = placeOf(&die, dwarf_getsrc_die(&die, address));
    // The first tells what is innermost, and then goes on to where that function was defined; the
    // second, where its code is.
    Dwarf_Die *inner = nullptr, *scopes = nullptr;
    int count = dwarf_getscopes(&die, address, &inner);
    if (count > 0) count = dwarf_getscopes_die(&inner[0], &scopes);
    for (int i = 0; i < count; ++i) {
      const int tag = dwarf_tag(&scopes[i]);
      if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
      place.function = nameOfFunction(&scopes[i]);
      frames.push_back(place);
      if (tag == DW_TAG_subprogram) break; // what is around it are classes and namespaces
      place = callOf(&die, &scopes[i]);
    }
    std::free(inner);
    std::free(scopes);
    if (frames.empty() && place.line != 0) frames.push_back(place);
    return frames;
  }

  Dwfl *session_ = nullptr;
  Dwfl_Module *module_ = nullptr;
  GElf_Addr bias_ = 0;      ///< what libdwfl adds to the file's addresses
  std::vector<Unit> units_; ///< by address
  bool has_units_ = false;
};

HostLines::HostLines() = default;
HostLines::~HostLines() = default;

std::vector<SourceFrame> HostLines::stack(const std::string &file, uint64_t address) {
  auto &module = modules_[file];
  if (!module) module = std::make_unique<Module>(file);
  return module->stack(address);
}

bool isSystemSource(std::string_view file) {
  if (file.empty()) return true;
  for (const std::string_view folder :
       {"/usr/include/", "/usr/lib/", "/usr/local/include/", "/opt/rocm"})
    if (file.starts_with(folder)) return true;
  for (const std::string_view part :
       {"/include/hip/", "/include/hsa/", "/include/c++/", "/lib/clang/"})
    if (file.find(part) != file.npos) return true;
  return false;
}

} // namespace fade::codeobj
