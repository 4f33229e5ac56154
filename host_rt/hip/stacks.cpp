#include "hip/stacks.h"

#include "hip/libraries.h"
#include "hip/python_frames.h"
#include "hip/recorder.h"

#include <algorithm>
#include <array>
#include <link.h>
#include <unistd.h>
#include <unwind.h>

namespace fade::hip {

unsigned stack_depth = 0;
SeenNumbers<14, 8> callers;

namespace {

constexpr unsigned kMostFrames = 128, kCallerFrames = 24;

/// Stacks that were recorded, by their ids. When it is full, further ones are written each time.
SeenNumbers<16, 16> seen_stacks;

/// Where libfade.so itself is: its own frames are nobody's business.
AddressRange findOwn() noexcept {
  return rangeAround(reinterpret_cast<const void *>(&recordStack));
}

struct Walk {
  std::array<uint64_t, kMostFrames> frames;
  unsigned count = 0, depth = 0;
  AddressRange own;
};

_Unwind_Reason_Code onStackFrame(_Unwind_Context *context, void *data) {
  auto &walk = *static_cast<Walk *>(data);
  const uint64_t address = _Unwind_GetIP(context);
  if (address == 0) return _URC_END_OF_STACK;
  if (walk.count == 0 && walk.own.has(address)) return _URC_NO_REASON;
  walk.frames[walk.count++] = address;
  return walk.count == walk.depth ? _URC_END_OF_STACK : _URC_NO_REASON;
}

uint64_t idOf(const Walk &walk) noexcept {
  uint64_t hash =
      0x9e3779b97f4a7c15u + static_cast<uint64_t>(getpid()) + (librariesUnloaded() << 32);
  for (unsigned i = 0; i < walk.count; ++i) {
    hash = (hash ^ walk.frames[i]) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return hash == 0 ? 1 : hash;
}

} // namespace

uint64_t recordStack(unsigned depth) noexcept {
  static const AddressRange own = findOwn();
  Walk walk;
  walk.own = own;
  walk.depth = std::min(depth, kMostFrames);
  _Unwind_Backtrace(onStackFrame, &walk);
  if (walk.count == 0) return 0;
  walk.count = addPythonFrames(walk.frames.data(), walk.count, walk.depth);
  const uint64_t id = idOf(walk);
  if (seen_stacks.see(id, id) == Seen::before) return id;
  recordLibraries(); // what is on a stack is loaded now, and may not be later
  events::StackEvent event{};
  event.header.kind = events::EventKind::stack;
  event.count = walk.count;
  event.id = id;
  const std::string_view frames(reinterpret_cast<const char *>(walk.frames.data()),
                                walk.count * sizeof walk.frames[0]);
  return recordEvent(event, frames) == 0 ? 0 : id;
}

void recordCallStack(uint64_t call, uint64_t stack) noexcept {
  if (call == 0 || stack == 0) return;
  events::CallStackEvent event{};
  event.header.kind = events::EventKind::call_stack;
  event.call = call;
  event.stack = stack;
  (void)recordEvent(event);
}

void addCaller(uint64_t key, uint16_t function, const void *address) noexcept {
  if (callers.see(key, spreadBits(key)) != Seen::first) return;
  events::CallerEvent event{};
  event.header.kind = events::EventKind::caller;
  event.function = function;
  event.address = reinterpret_cast<uint64_t>(address);
  event.stack = recordStack(kCallerFrames);
  (void)recordEvent(event);
}

} // namespace fade::hip
