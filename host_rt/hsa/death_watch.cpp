#include "hsa/death_watch.h"

#include "codeobj/demangle.h"

#include <algorithm>
#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/format.h>
#include <iterator>

namespace fade {
namespace {

constexpr std::size_t kMostShown = 8;

std::string sizes(const std::array<uint32_t, 3> &size) {
  return fmt::format("{}x{}x{}", size[0], size[1], size[2]);
}

/// Libraries between the application and the kernel: not who called.
bool isRuntime(std::string_view file) {
  for (const char *name : {"libfade", "libhsa-runtime64", "libamdhip64"})
    if (file.find(name) != file.npos) return true;
  return false;
}

} // namespace

void DeathWatch::dispatched(const void *key, Dispatch dispatch) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    dispatches_.insert_or_assign(key, std::move(dispatch));
  } catch (...) { // a death without a name is better than one of ours
  }
}

void DeathWatch::ended(const void *key) noexcept {
  const std::lock_guard lock(mutex_);
  dispatches_.erase(key);
}

DeathWatch::Stack DeathWatch::stackHere() noexcept {
  Stack stack;
  stack.count = backtrace(stack.frames.data(), static_cast<int>(stack.frames.size()));
  return stack;
}

void DeathWatch::allocated(const void *address, uint64_t size) noexcept {
  try {
    Memory memory;
    memory.address = reinterpret_cast<uint64_t>(address);
    memory.size = size;
    memory.allocated_by = stackHere();
    const std::lock_guard lock(mutex_);
    memory.number = next_++;
    memory_[memory.address] = memory;
  } catch (...) {
  }
}

void DeathWatch::freed(const void *address) noexcept {
  try {
    const Stack by = stackHere();
    const std::lock_guard lock(mutex_);
    const auto at = memory_.find(reinterpret_cast<uint64_t>(address));
    if (at == memory_.end()) return;
    if (freed_.size() >= kMostFreed) freed_.pop_front();
    freed_.push_back(at->second);
    freed_.back().freed_by = by;
    memory_.erase(at);
  } catch (...) {
  }
}

/// The innermost callers that are not the runtime: "main (app), start (libx.so)".
std::string DeathWatch::textOf(const Stack &stack) {
  std::string text;
  std::size_t shown = 0;
  for (int i = 0; i < stack.count && shown < 4; ++i) {
    Dl_info info{};
    void *frame = stack.frames[static_cast<std::size_t>(i)];
    if (dladdr(frame, &info) == 0 || !info.dli_fname || isRuntime(info.dli_fname)) continue;
    const std::string_view file = info.dli_fname;
    const auto offset =
        reinterpret_cast<uint64_t>(frame) - reinterpret_cast<uint64_t>(info.dli_fbase);
    const std::string name =
        info.dli_sname ? codeobj::demangle(info.dli_sname) : fmt::format("+{:#x}", offset);
    text +=
        fmt::format("{}{} ({})", text.empty() ? "" : ", ", name, file.substr(file.rfind('/') + 1));
    ++shown;
  }
  return text.empty() ? "unknown" : text;
}

std::vector<const DeathWatch::Dispatch *> DeathWatch::inFlight() const {
  std::vector<const Dispatch *> found;
  for (const auto &[key, dispatch] : dispatches_)
    if (hsaApi().core.hsa_signal_load_relaxed_fn(dispatch.signal) > 0) found.push_back(&dispatch);
  std::ranges::sort(found, {}, &Dispatch::id);
  return found;
}

const DeathWatch::Memory *DeathWatch::holding(uint64_t address) const {
  const auto after = memory_.upper_bound(address);
  if (after == memory_.begin()) return nullptr;
  const Memory &memory = std::prev(after)->second;
  return address - memory.address < memory.size ? &memory : nullptr;
}

void DeathWatch::addNearest(uint64_t address, std::vector<std::string> &lines) const {
  // The latest that was there, if it is there no more.
  for (auto at = freed_.rbegin(); at != freed_.rend(); ++at)
    if (address - at->address < at->size && !holding(address)) {
      lines.push_back(fmt::format("the address is {} bytes into allocation {} ({} bytes at {:#x}), "
                                  "which was freed by {}",
                                  address - at->address, at->number, at->size, at->address,
                                  textOf(at->freed_by)));
      lines.push_back(fmt::format("it had been allocated by {}", textOf(at->allocated_by)));
      return;
    }
  if (const Memory *memory = holding(address)) {
    lines.push_back(fmt::format("the address is {} bytes into allocation {} ({} bytes at {:#x}), "
                                "allocated by {}",
                                address - memory->address, memory->number, memory->size,
                                memory->address, textOf(memory->allocated_by)));
    return;
  }
  const auto after = memory_.upper_bound(address);
  if (after != memory_.begin()) {
    const Memory &below = std::prev(after)->second;
    lines.push_back(fmt::format("{} bytes beyond the end of allocation {} ({} bytes at {:#x}), "
                                "allocated by {}",
                                address - below.address - below.size, below.number, below.size,
                                below.address, textOf(below.allocated_by)));
  }
  if (after != memory_.end())
    lines.push_back(
        fmt::format("{} bytes before allocation {} ({} bytes at {:#x}), allocated by {}",
                    after->first - address, after->second.number, after->second.size, after->first,
                    textOf(after->second.allocated_by)));
  if (memory_.empty()) lines.emplace_back("the application has no memory of its own on the GPU");
}

std::string DeathWatch::describe(const Dispatch &dispatch) const {
  return fmt::format("dispatch {}: {}, grid {} workgroup {}, queue {} of agent {}", dispatch.id,
                     dispatch.kernel, sizes(dispatch.grid), sizes(dispatch.workgroup),
                     dispatch.queue, dispatch.agent);
}

/// What an argument of a kernel points to, and how far from there it went wrong; empty if it is no
/// pointer into memory of the application.
std::string DeathWatch::describeArgument(uint64_t value, uint64_t fault) const {
  const Memory *memory = holding(value);
  const char *state = "";
  for (const Memory &old : freed_)
    if (!memory && value - old.address < old.size) {
      memory = &old;
      state = "freed ";
    }
  if (!memory) return "";
  std::string text =
      fmt::format("points into {}allocation {} ({} bytes at {:#x}), allocated by {}", state,
                  memory->number, memory->size, memory->address, textOf(memory->allocated_by));
  const uint64_t end = memory->address + memory->size;
  if (fault >= end)
    text += fmt::format("; the address is {} bytes beyond its end", fault - end);
  else if (fault >= memory->address)
    text += fmt::format("; the address is {} bytes into it", fault - memory->address);
  else
    text += fmt::format("; the address is {} bytes before it", memory->address - fault);
  return text;
}

void DeathWatch::addInFlight(std::vector<std::string> &lines, uint64_t address) const {
  const auto all = inFlight();
  if (all.empty()) lines.emplace_back("no dispatch was in flight");
  for (std::size_t i = 0; i < all.size() && i < kMostShown; ++i) {
    lines.push_back("in flight: " + describe(*all[i]));
    for (std::size_t word = 0; address != 0 && word < all[i]->arguments.size(); ++word)
      if (const auto text = describeArgument(all[i]->arguments[word], address); !text.empty())
        lines.push_back(fmt::format("  its argument at byte {} {}", word * 8, text));
  }
  if (all.size() > kMostShown)
    lines.push_back(fmt::format("and {} more dispatches", all.size() - kMostShown));
}

std::vector<std::string> DeathWatch::explainFault(uint64_t address, uint32_t reasons) {
  const std::lock_guard lock(mutex_);
  has_explained_ = true;
  std::string why;
  if (reasons & 1) why += ", page not present";
  if (reasons & 2) why += ", read only";
  if (reasons & 4) why += ", not executable";
  std::vector<std::string> lines = {fmt::format("memory fault at {:#x}{}", address, why)};
  addNearest(address, lines);
  addInFlight(lines, address);
  return lines;
}

std::vector<std::string> DeathWatch::explainQueueError(uint64_t queue, const std::string &error) {
  const std::lock_guard lock(mutex_);
  has_explained_ = true;
  std::vector<std::string> lines = {fmt::format("queue {} stopped: {}", queue, error)};
  addInFlight(lines, 0);
  return lines;
}

std::vector<std::string> DeathWatch::explainUnended() {
  const std::lock_guard lock(mutex_);
  const auto all = inFlight();
  std::vector<std::string> lines;
  if (all.empty() || has_explained_) return lines;
  lines.push_back(fmt::format("{} dispatches had not ended when the process did", all.size()));
  addInFlight(lines, 0);
  return lines;
}

} // namespace fade
