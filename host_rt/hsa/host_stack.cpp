#include "hsa/host_stack.h"

#include "base/module_symbols.h"
#include "base/runtime_libraries.h"
#include "codeobj/demangle.h"

#include <algorithm>
#include <execinfo.h>
#include <fmt/format.h>

namespace fade {

HostStack HostStack::here() noexcept {
  HostStack stack;
  stack.count = backtrace(stack.frames.data(), static_cast<int>(stack.frames.size()));
  return stack;
}

std::vector<HostFrame> HostSymbols::callers(const HostStack &stack, std::size_t most) const {
  std::vector<HostFrame> found;
  for (int i = 0; i < stack.count && found.size() < most; ++i) {
    const auto address = reinterpret_cast<uint64_t>(stack.frames[static_cast<std::size_t>(i)]);
    const auto module = moduleSymbolAt(address);
    if (!module || isRuntimeLibrary(module->file) ||
        (found.empty() && isLanguageLibrary(module->file)))
      continue;
    HostFrame &frame = found.emplace_back();
    frame.library = fileNameOf(module->file);
    frame.offset = address - module->start;
    if (!module->function.empty()) frame.function = codeobj::demangle(module->function);
    // The address is where the call returns to, which may be the next line.
    const auto places = lines_.stack(module->file, address - 1 - module->bias);
    if (!places.empty()) {
      if (!places.back().function.empty()) frame.function = places.back().function;
      // Of what was inlined there, the first that is not in a header of HIP or the system.
      const auto own = std::ranges::find_if(places, [](const codeobj::SourceFrame &place) {
        return place.line != 0 && !codeobj::isSystemSource(place.file);
      });
      const codeobj::SourceFrame &place = own == places.end() ? places.front() : *own;
      frame.file = place.file;
      frame.line = static_cast<int>(place.line);
      // A function of such a header that was not inlined: who called it matters.
      if (own == places.end() && place.line != 0 && found.size() == 1 && i + 1 < stack.count) {
        found.clear();
        continue;
      }
    }
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
                               : fmt::format(" ({}:{})", fileNameOf(frame.file), frame.line);
  }
  return text.empty() ? "unknown" : text;
}

} // namespace fade
