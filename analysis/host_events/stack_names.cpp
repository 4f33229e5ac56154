#include "analysis/host_events/stack_names.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace fade::host_trace {

std::string StackFrame::text() const {
  std::string all = function;
  if (all.empty())
    all = library.empty()
              ? fmt::format("{:#x}", address)
              : fmt::format("{}+{:#x}", library.substr(library.rfind('/') + 1), address);
  if (!file.empty()) all += line == 0 ? " " + file : fmt::format(" {}:{}", file, line);
  return all;
}

namespace {

/// Where programs and threads begin: the stack is whole.
bool isStart(std::string_view function) {
  return function == "_start" || function == "clone" || function == "clone3" ||
         function == "__clone" || function == "__clone3";
}

} // namespace

StackNames::StackNames(const HostEvents &events) : events_(events) {}

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

const std::vector<StackFrame> &StackNames::framesAt(uint32_t pid, uint64_t address,
                                                    uint64_t time_ns) {
  const Library *library = libraryAt(pid, address, time_ns);
  const uint64_t in_file = library ? address - library->bias : address;
  const auto [at, is_new] =
      frames_.try_emplace({library ? library->path : std::string_view(), in_file});
  std::vector<StackFrame> &frames = at->second;
  if (!is_new) return frames;
  StackFrame frame;
  frame.address = in_file;
  if (library) frame.library = library->path;
  if (library) // the call is before the address to which it returns
    for (const auto &place : lines_.stack(frame.library, in_file - 1)) {
      frame.function = place.function;
      frame.file = place.file;
      frame.line = place.line;
      frames.push_back(frame);
    }
  if (frames.empty()) frames.push_back(frame);
  return frames;
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
  for (const uint64_t address : at->second) {
    if ((address & events::kInterpretedFrame) != 0)
      frames.push_back(&interpreted(pid, address & ~events::kInterpretedFrame));
    else
      for (const StackFrame &frame : framesAt(pid, address, time_ns)) frames.push_back(&frame);
  }
  // Cut off where it was recorded, as deep as was asked for: inlined functions make it no deeper.
  if (!frames.empty() && !isStart(frames.back()->function)) frames.resize(at->second.size());
  return frames;
}

} // namespace fade::host_trace
