// Writes host events: each thread into a block of its own, without locks.
#pragma once

#include "base/event_file.h"
#include "base/result.h"
#include "fade/host_events.h"

#include <atomic>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

namespace fade::hip {

/// CLOCK_MONOTONIC.
inline uint64_t nowNs() noexcept {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
}

/// The same, up to 4 ms ago, for a tenth of the price.
inline uint64_t roughlyNowNs() noexcept {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
}

/// Where a thread is in its block, and in which call.
struct ThreadLog {
  EventFile::Block block;
  uint32_t used = events::kBlockBytes; ///< of the block; all of it: there is none
  uint64_t call = 0;                   ///< the id of the innermost call, or 0
  bool asks_hip = false;               ///< FADE itself calls HIP, which is nobody's business
  std::vector<EventFile::Block> outer; ///< blocks with calls that have not returned
};

// Of a thread: read at every call, so it must not be allocated on first use.
extern thread_local ThreadLog *thread_log __attribute__((tls_model("initial-exec")));
/// In the file once that is open: fadeprobe control changes it.
extern uint32_t *recording_switch;

inline bool isRecording() noexcept {
  return std::atomic_ref(*recording_switch).load(std::memory_order_relaxed) != 0;
}

inline bool isOwnCall() noexcept { return thread_log && thread_log->asks_hip; }

/// Room for so many bytes in the block of this thread; null if there is none to be had.
ThreadLog *makeRoom(uint32_t bytes) noexcept;

/// The next event of this thread. It exists once it is published; nothing else may be recorded by
/// the thread in between. Null: it cannot be recorded.
inline char *reserveEvent(ThreadLog *&log, uint32_t bytes) noexcept {
  log = thread_log;
  if (!log || log->used + bytes > events::kBlockBytes) [[unlikely]] {
    log = makeRoom(bytes);
    if (!log) return nullptr;
  }
  return log->block.bytes + log->used;
}
inline void publishEvent(ThreadLog &log, uint32_t bytes) noexcept {
  log.used += bytes;
  auto *block = reinterpret_cast<events::BlockHeader *>(log.block.bytes);
  std::atomic_ref(block->used).store(log.used, std::memory_order_release);
}

/// An event that is there as a whole: its fixed part, and bytes that follow it. Returns its place
/// in the file; 0 if it cannot be recorded.
template <typename Event> uint64_t recordEvent(Event event, std::string_view rest = {}) noexcept {
  const auto words = static_cast<uint32_t>((sizeof event + rest.size() + 7) / 8);
  ThreadLog *log = nullptr;
  char *at = reserveEvent(log, words * 8);
  if (!at) return 0;
  const uint64_t position = log->block.position + log->used;
  event.header.words = static_cast<uint16_t>(words);
  __builtin_memcpy(at, &event, sizeof event);
  if (!rest.empty()) __builtin_memcpy(at + sizeof event, rest.data(), rest.size());
  publishEvent(*log, words * 8);
  return position;
}

/// The call that this thread is in, or 0.
inline uint64_t currentCall() noexcept { return thread_log ? thread_log->call : 0; }

/// Where a forked child records to, once it has something to record.
struct ChildsFile {
  std::string (*name)() = nullptr; ///< an empty name: it records nothing. Null: into the same file
  void (*opened)(const std::string &path) = nullptr;
};

/// Opens the file and records whose it is. Once in a process.
Status openRecorder(const std::string &path, ChildsFile childs = {});
/// Whether this is such a child, which has recorded nothing yet.
bool hasNoFileYet() noexcept;
/// Whether recording is to be on from the beginning: what fadeprobe control has said before the
/// file was opened, else this.
bool startsOn(bool unless_said) noexcept;
/// Once more, when it is known which HIP the process has.
void recordProcess(std::string_view hip_library) noexcept;
bool hasRecorder() noexcept;
/// The first page of the file; null: there is none.
char *fileHeader() noexcept;
/// From here on calls are recorded, or are not any more; that, too, is recorded.
void setRecording(bool on) noexcept;
/// The same, counted: recording is on while there were more starts than stops. `starts_on`: the
/// first start.
void setCounted(bool starts_on) noexcept;
void startOrStop(bool on) noexcept;
/// Nothing that a signal handler may not do: it leaves no event.
void switchBy(int starts) noexcept;
/// How much processor time the process has had by now; at most ten times a second but for the last.
void recordUsage(uint64_t now_ns, bool is_last) noexcept;
/// A text that events can refer to; the same one for the same text, unless `apart` tells them
/// apart. Any thread.
uint64_t recordText(std::string_view text, std::string_view apart = {}) noexcept;

} // namespace fade::hip
