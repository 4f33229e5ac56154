#include "trace/stack_names.h"

#include "codeobj/demangle.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fmt/format.h>

namespace fade::host_trace {

/// A library's file, opened when the first address of it is looked up.
struct StackNames::Module {
  Dwfl *session = nullptr;
  Dwfl_Module *module = nullptr;
  GElf_Addr bias = 0; ///< what libdwfl adds to the file's addresses

  explicit Module(const std::string &path) {
    static char *no_path = nullptr;
    // Only files of this machine: nothing is downloaded.
    static const Dwfl_Callbacks callbacks = {nullptr, dwfl_build_id_find_debuginfo,
                                             dwfl_offline_section_address, &no_path};
    session = dwfl_begin(&callbacks);
    if (!session) return;
    dwfl_report_begin(session);
    module = dwfl_report_offline(session, "library", path.c_str(), -1);
    dwfl_report_end(session, nullptr, nullptr);
    if (module && !dwfl_module_getelf(module, &bias)) module = nullptr;
  }
  ~Module() {
    if (session) dwfl_end(session);
  }
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  void look(uint64_t file_address, StackFrame &frame) const {
    if (!module) return;
    const GElf_Addr address = file_address + bias;
    GElf_Off offset = 0;
    GElf_Sym symbol{};
    if (const char *name =
            dwfl_module_addrinfo(module, address, &offset, &symbol, nullptr, nullptr, nullptr))
      frame.function = codeobj::demangle(std::string(name, std::strcspn(name, "@")));
    int line = 0;
    Dwarf_Line *found = lineAt(address);
    if (const char *file = found ? dwarf_linesrc(found, nullptr, nullptr) : nullptr) {
      frame.file = file;
      (void)dwarf_lineno(found, &line);
      frame.line = static_cast<unsigned>(std::max(line, 0));
    }
  }

private:
  struct Unit {
    Dwarf_Addr begin, end;
    Dwarf_Die die;
    Dwarf_Addr bias;
  };
  mutable std::vector<Unit> units_; ///< by address
  mutable bool has_units_ = false;

  /// clang writes no table from addresses to units (.debug_aranges): it is made here.
  void findUnits() const {
    has_units_ = true;
    Dwarf_Addr unit_bias = 0;
    for (Dwarf_Die *die = nullptr; (die = dwfl_module_nextcu(module, die, &unit_bias));) {
      Dwarf_Addr base = 0, begin = 0, end = 0;
      for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &begin, &end)) > 0;)
        units_.push_back({begin + unit_bias, end + unit_bias, *die, unit_bias});
    }
    std::ranges::sort(units_, {}, &Unit::begin);
  }

  Dwarf_Line *lineAt(Dwarf_Addr address) const {
    if (!has_units_) findUnits();
    auto at = std::ranges::upper_bound(units_, address, {}, &Unit::begin);
    if (at == units_.begin() || address >= (--at)->end) return nullptr;
    return dwarf_getsrc_die(&at->die, address - at->bias);
  }
};

std::string StackFrame::text() const {
  std::string all = function;
  if (all.empty())
    all = library.empty()
              ? fmt::format("{:#x}", address)
              : fmt::format("{}+{:#x}", library.substr(library.rfind('/') + 1), address);
  if (!file.empty()) all += line == 0 ? " " + file : fmt::format(" {}:{}", file, line);
  return all;
}

StackNames::StackNames(const HostEvents &events) : events_(events) {}
StackNames::~StackNames() = default;

/// A forked child has its parent's libraries, unless it has said otherwise.
const Library *StackNames::libraryAt(uint32_t pid, uint64_t address, uint64_t time_ns) const {
  for (unsigned generation = 0; generation < 16; ++generation) {
    const auto process = events_.processes.find(pid);
    if (process == events_.processes.end()) return nullptr;
    const auto &all = process->second.libraries;
    const Library *nearest = nullptr;
    for (auto at = all.rbegin(); at != all.rend(); ++at) {
      if (address < at->begin || address >= at->end) continue;
      nearest = &*at;
      if (at->loaded_ns <= time_ns && time_ns < at->unloaded_ns) return nearest;
    }
    // It may have been noticed a moment later than it was on the stack.
    if (nearest) return nearest;
    pid = process->second.parent_pid;
  }
  return nullptr;
}

const StackFrame &StackNames::frameAt(uint32_t pid, uint64_t address, uint64_t time_ns,
                                      bool is_return) {
  const Library *library = libraryAt(pid, address, time_ns);
  const uint64_t in_file = library ? address - library->bias : address;
  const auto [at, is_new] =
      frames_.try_emplace({library ? library->path : std::string_view(), in_file});
  StackFrame &frame = at->second;
  if (!is_new) return frame;
  frame.address = in_file;
  if (!library) return frame;
  frame.library = library->path;
  auto &module = modules_[frame.library];
  if (!module) module = std::make_unique<Module>(frame.library);
  module->look(in_file - (is_return ? 1 : 0), frame);
  return frame;
}

/// "function\nfile\nline".
const StackFrame &StackNames::interpreted(uint32_t pid, uint64_t text) {
  const auto [at, is_new] = texts_.try_emplace({pid, text});
  StackFrame &frame = at->second;
  if (!is_new) return frame;
  const std::string_view all = events_.textOf(pid, text);
  const auto first = std::min(all.find('\n'), all.size());
  const auto last = all.rfind('\n');
  frame.function = all.substr(0, first);
  if (last == all.npos || last <= first) return frame;
  frame.file = all.substr(first + 1, last - first - 1);
  (void)std::from_chars(all.data() + last + 1, all.data() + all.size(), frame.line);
  return frame;
}

std::vector<const StackFrame *> StackNames::framesOf(uint32_t pid, uint64_t stack,
                                                     uint64_t time_ns) {
  std::vector<const StackFrame *> frames;
  const auto at = events_.stacks.find(stack);
  if (at == events_.stacks.end()) return frames;
  for (const uint64_t frame : at->second)
    frames.push_back((frame & events::kInterpretedFrame) != 0
                         ? &interpreted(pid, frame & ~events::kInterpretedFrame)
                         : &frameAt(pid, frame, time_ns, true));
  return frames;
}

} // namespace fade::host_trace
