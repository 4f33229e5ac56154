#include "hsa/host_stack.h"

#include "codeobj/demangle.h"

#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <execinfo.h>
#include <fmt/format.h>
#include <unistd.h>

namespace fade {
namespace {

/// Between the application and the kernel: not who called.
bool isRuntime(std::string_view file) {
  for (const char *name : {"libfade", "libhsa-runtime64", "libamdhip64"})
    if (file.find(name) != file.npos) return true;
  return false;
}

/// The runtime calls itself through these, to do something once.
bool isOfLanguage(std::string_view file) {
  for (const char *name : {"libc.so", "libc-2.", "libpthread", "libstdc++"})
    if (file.starts_with(name)) return true;
  return false;
}

std::string_view nameOfFile(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// Debug information in files of its own is not looked for: libdwfl might ask a server for it.
int findNoDebugInfo(Dwfl_Module *, void **, const char *, Dwarf_Addr, const char *, const char *,
                    GElf_Word, char **) {
  return -1;
}

/// Not all compilers write the table that would find the unit without looking at all of them.
Dwarf_Line *lineOf(Dwfl_Module *module, uint64_t address) {
  Dwarf_Addr bias = 0;
  for (Dwarf_Die *unit = nullptr; (unit = dwfl_module_nextcu(module, unit, &bias));)
    if (dwarf_haspc(unit, address - bias) == 1) return dwarf_getsrc_die(unit, address - bias);
  return nullptr;
}

/// What the file's own tables say.
void lookUp(Dwfl *session, uint64_t address, HostFrame &frame) {
  Dwfl_Module *module = dwfl_addrmodule(session, address);
  if (!module) return;
  if (const char *symbol = dwfl_module_addrname(module, address); symbol && *symbol)
    frame.function = codeobj::demangle(symbol);
  const char *file = nullptr;
  if (Dwfl_Line *line = dwfl_module_getsrc(module, address)) {
    file = dwfl_lineinfo(line, nullptr, &frame.line, nullptr, nullptr, nullptr);
  } else if (Dwarf_Line *found = lineOf(module, address)) {
    file = dwarf_linesrc(found, nullptr, nullptr);
    if (dwarf_lineno(found, &frame.line) != 0) file = nullptr;
  }
  if (file) frame.file = file;
}

} // namespace

HostStack HostStack::here() noexcept {
  HostStack stack;
  stack.count = backtrace(stack.frames.data(), static_cast<int>(stack.frames.size()));
  return stack;
}

HostSymbols::HostSymbols() {
  static char *no_path = nullptr;
  static const Dwfl_Callbacks callbacks = {dwfl_linux_proc_find_elf, findNoDebugInfo, nullptr,
                                           &no_path};
  Dwfl *session = dwfl_begin(&callbacks);
  if (!session) return;
  if (dwfl_linux_proc_report(session, getpid()) == 0 &&
      dwfl_report_end(session, nullptr, nullptr) == 0)
    session_ = session;
  else
    dwfl_end(session);
}

HostSymbols::~HostSymbols() {
  if (session_) dwfl_end(static_cast<Dwfl *>(session_));
}

std::vector<HostFrame> HostSymbols::callers(const HostStack &stack, std::size_t most) const {
  std::vector<HostFrame> found;
  for (int i = 0; i < stack.count && found.size() < most; ++i) {
    const auto address = reinterpret_cast<uint64_t>(stack.frames[static_cast<std::size_t>(i)]);
    Dl_info info{};
    if (dladdr(reinterpret_cast<void *>(address), &info) == 0 || !info.dli_fname) continue;
    const std::string_view file = nameOfFile(info.dli_fname);
    if (isRuntime(file) || (found.empty() && isOfLanguage(file))) continue;
    HostFrame &frame = found.emplace_back();
    frame.library = file;
    frame.offset = address - reinterpret_cast<uint64_t>(info.dli_fbase);
    if (info.dli_sname) frame.function = codeobj::demangle(info.dli_sname);
    // The address is where the call returns to, which may be the next line.
    if (session_) lookUp(static_cast<Dwfl *>(session_), address - 1, frame);
    // What comes before main is the same for all.
    if (frame.function == "main") break;
  }
  return found;
}

std::string textOf(const std::vector<HostFrame> &frames) {
  std::string text;
  for (const HostFrame &frame : frames) {
    if (!text.empty()) text += ", ";
    text += frame.function.empty() ? fmt::format("+{:#x}", frame.offset) : frame.function;
    text += frame.file.empty() ? fmt::format(" ({})", frame.library)
                               : fmt::format(" ({}:{})", nameOfFile(frame.file), frame.line);
  }
  return text.empty() ? "unknown" : text;
}

} // namespace fade
