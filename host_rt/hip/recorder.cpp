#include "hip/recorder.h"

#include "base/diagnostics.h"
#include "hip/writer_process.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unordered_map>

namespace fade::hip {

thread_local ThreadLog *thread_log = nullptr;
namespace {
uint32_t own_switch = 0; // before there is a file, or when it has no place for one
} // namespace
uint32_t *recording_switch = &own_switch;

namespace {

using events::kBlockBytes;

/// What the threads of the process share. Never destroyed: threads outlive main().
struct Shared {
  EventFile file;
  pthread_key_t at_thread_end{};
  std::mutex mutex;
  struct Left {
    EventFile::Block block;
    uint32_t used;
  };
  std::vector<Left> left; ///< blocks of threads that have ended
  std::unordered_map<std::string, uint64_t> texts;
  std::string hip_library;
  // Of a child that has a file of its own.
  ChildsFile childs_file;
  std::mutex opening; ///< before `mutex`
  std::atomic<bool> is_to_be_opened{false};
};
std::atomic<Shared *> shared{nullptr};
std::optional<uint32_t> said_before; ///< by fadeprobe control

uint32_t threadId() noexcept { return static_cast<uint32_t>(syscall(SYS_gettid)); }

void stopFor(const Error &error) noexcept {
  static std::atomic<bool> said{false};
  std::atomic_ref(*recording_switch).store(0);
  if (!said.exchange(true))
    warn("{}: the recording ends here; the application continues", error.message());
}

/// On the thread's last way out: what is left of its block is for another thread.
void onThreadEnd(void *data) {
  auto *log = static_cast<ThreadLog *>(data);
  if (thread_log == log) thread_log = nullptr;
  Shared *all = shared.load(std::memory_order_acquire);
  try {
    const std::lock_guard lock(all->mutex);
    if (log->block.bytes && log->used + 1024 < kBlockBytes)
      all->left.push_back({log->block, log->used});
    else
      EventFile::release(log->block);
  } catch (...) { // no memory: the rest of the block stays empty
  }
  for (const EventFile::Block &block : log->outer) EventFile::release(block);
  delete log;
}

/// The value that its switch had already, if somebody has set it.
std::optional<uint32_t> takeSwitch(Shared &all, uint32_t is_on) noexcept {
  const EventFile::Switch taken = all.file.takeSwitch(static_cast<uint32_t>(getpid()), is_on != 0);
  recording_switch = taken.is_on ? taken.is_on : &own_switch;
  if (taken.is_on && !taken.was_there) return std::nullopt; // somebody may have changed it since
  const uint32_t before = std::atomic_ref(*recording_switch).exchange(is_on);
  return taken.was_there ? std::optional(before) : std::nullopt;
}

/// A child has the same pages as its parent: it writes nothing to the blocks of the parent's
/// threads.
void onFork() {
  Shared *all = shared.load(std::memory_order_acquire);
  if (thread_log) {
    thread_log->block = {};
    thread_log->used = kBlockBytes;
    thread_log->call = 0;
    thread_log->outer.clear();
  }
  all->left.clear();
  all->texts.clear();
  const uint32_t is_on = std::atomic_ref(*recording_switch).load();
  if (all->childs_file.name) {
    own_switch = is_on;
    recording_switch = &own_switch;
    leaveWriter();
    all->is_to_be_opened.store(true);
  } else {
    (void)takeSwitch(*all, is_on);
  }
  all->mutex.unlock();
  all->opening.unlock();
}

void beforeFork() {
  Shared *all = shared.load(std::memory_order_acquire);
  all->opening.lock();
  all->mutex.lock();
}

void afterFork() {
  Shared *all = shared.load(std::memory_order_acquire);
  all->mutex.unlock();
  all->opening.unlock();
}

/// In a child with something to record: its own file. Most children have nothing, and become
/// another program.
void openChildsFile(Shared &all) {
  {
    const std::lock_guard lock(all.opening);
    if (!all.is_to_be_opened.load()) return;
    all.file.leave();
    const uint32_t is_on = std::atomic_ref(*recording_switch).load();
    std::atomic_ref(*recording_switch).store(0); // what is called here is not the application's
    const std::string path = all.childs_file.name();
    if (path.empty()) return;
    if (const Status opened = all.file.open(path); !opened) return stopFor(opened.error());
    (void)takeSwitch(all, is_on);
    all.childs_file.opened(path);
    all.is_to_be_opened.store(false);
  }
  recordProcess(all.hip_library);
}

ThreadLog *newLog(Shared &all) {
  auto log = std::make_unique<ThreadLog>();
  if (pthread_setspecific(all.at_thread_end, log.get()) != 0) return nullptr;
  return thread_log = log.release();
}

/// A block that a thread has left, or a new one.
Status takeBlock(Shared &all, ThreadLog &log, uint32_t bytes) {
  {
    const std::lock_guard lock(all.mutex);
    for (std::size_t i = all.left.size(); i-- > 0;)
      if (all.left[i].used + bytes <= kBlockBytes) {
        log.block = all.left[i].block;
        log.used = all.left[i].used;
        all.left.erase(all.left.begin() + static_cast<std::ptrdiff_t>(i));
        return Done{};
      }
  }
  auto block = all.file.claim();
  if (!block) return std::move(block).error();
  log.block = *block;
  log.used = sizeof(events::BlockHeader);
  return Done{};
}

void writeThread(ThreadLog &log) noexcept {
  events::ThreadEvent event{};
  event.header = {events::EventKind::thread, sizeof event / 8};
  event.tid = threadId();
  event.pid = static_cast<uint32_t>(getpid());
  event.time_ns = nowNs();
  __builtin_memcpy(log.block.bytes + log.used, &event, sizeof event);
  publishEvent(log, sizeof event);
}

std::string ownProgram() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string() : path.string();
}

/// Of the blocks that are full, only those with a call of this thread that has not returned stay: a
/// loop may get to the end of every block within a call.
void releaseLeft(ThreadLog &log) noexcept {
  auto &blocks = log.outer;
  std::size_t needed = 0; // those in front
  for (uint64_t call = log.call; call != 0;) {
    const auto at = std::ranges::find_if(blocks, [&](const EventFile::Block &block) {
      return call >= block.position && call - block.position < kBlockBytes;
    });
    if (at == blocks.end()) return; // of before a fork
    events::CallEvent event{};
    __builtin_memcpy(&event, at->bytes + (call - at->position), sizeof event);
    call = event.parent;
    if (static_cast<std::size_t>(at - blocks.begin()) >= needed) std::swap(*at, blocks[needed++]);
  }
  for (std::size_t i = needed; i < blocks.size(); ++i) EventFile::release(blocks[i]);
  blocks.resize(needed);
}

} // namespace

ThreadLog *makeRoom(uint32_t bytes) noexcept {
  Shared *all = shared.load(std::memory_order_acquire);
  if (!all) return nullptr;
  try {
    if (all->is_to_be_opened.load(std::memory_order_relaxed)) openChildsFile(*all);
    if (!all->file.is()) return nullptr;
    ThreadLog *log = thread_log ? thread_log : newLog(*all);
    const auto needed = static_cast<uint32_t>(bytes + sizeof(events::ThreadEvent));
    if (log && needed + sizeof(events::BlockHeader) <= kBlockBytes) {
      // A call that has not returned writes into its block once more.
      if (log->block.bytes) log->outer.push_back(log->block);
      log->block = {};
      log->used = kBlockBytes;
      releaseLeft(*log);
      if (const Status taken = takeBlock(*all, *log, needed); taken) {
        writeThread(*log);
        return log;
      } else {
        stopFor(taken.error());
      }
    }
  } catch (...) { // no memory
  }
  all->file.lose();
  return nullptr;
}

Status openRecorder(const std::string &path, ChildsFile childs) {
  if (shared.load(std::memory_order_acquire)) return Done{};
  auto all = std::make_unique<Shared>();
  if (const int error = pthread_key_create(&all->at_thread_end, onThreadEnd))
    return Error::of(std::string("cannot create thread-specific storage: ") + std::strerror(error));
  if (Status opened = all->file.open(path); !opened) return opened;
  said_before = takeSwitch(*all, 0);
  all->childs_file = childs;
  shared.store(all.release(), std::memory_order_release);
  pthread_atfork(beforeFork, afterFork, onFork);
  recordProcess("");
  return Done{};
}

void recordProcess(std::string_view hip_library) noexcept {
  try {
    if (Shared *all = shared.load(std::memory_order_acquire); all && !hip_library.empty())
      all->hip_library = hip_library;
    events::ProcessEvent event{};
    event.header.kind = events::EventKind::process;
    event.pid = static_cast<uint32_t>(getpid());
    event.parent_pid = static_cast<uint32_t>(getppid());
    event.time_ns = nowNs();
    std::string texts = ownProgram() + '\0';
    texts += hip_library;
    texts += '\0';
    recordEvent(event, texts);
  } catch (...) { // no memory for two paths
  }
}

namespace {
void recordSwitch(bool on) noexcept {
  events::RecordingEvent event{};
  event.header.kind = events::EventKind::recording;
  event.is_on = on ? 1 : 0;
  event.time_ns = nowNs();
  recordEvent(event);
}
} // namespace

bool startsOn(bool unless_said) noexcept { return said_before ? *said_before != 0 : unless_said; }

bool hasNoFileYet() noexcept {
  const Shared *all = shared.load(std::memory_order_acquire);
  return all && all->is_to_be_opened.load();
}

bool hasRecorder() noexcept { return shared.load(std::memory_order_acquire) != nullptr; }

void setRecording(bool on) noexcept {
  const uint32_t value = on ? 1 : 0;
  if (!hasRecorder() || std::atomic_ref(*recording_switch).exchange(value) == value) return;
  recordSwitch(on);
}

char *fileHeader() noexcept {
  Shared *all = shared.load(std::memory_order_acquire);
  return all ? all->file.header() : nullptr;
}

namespace {
std::atomic<int> starts{0};
} // namespace

void setCounted(bool starts_on) noexcept {
  starts.store(starts_on ? 1 : 0);
  setRecording(starts_on);
}

void switchBy(int by) noexcept {
  int before = starts.load();
  while (!starts.compare_exchange_weak(before, std::max(before + by, 0))) {
  }
  // Others may do the same at this moment: whoever is last has looked after everybody's change.
  for (int now = starts.load();; now = starts.load()) {
    std::atomic_ref(*recording_switch).store(now > 0 ? 1 : 0);
    if (starts.load() == now) return;
  }
}

void recordUsage(uint64_t now, bool is_last) noexcept {
  constexpr uint64_t pause = 100'000'000; // ns
  static std::atomic<uint64_t> last{0};
  if (!isRecording() || hasNoFileYet()) return;
  uint64_t before = last.load(std::memory_order_relaxed);
  if (!is_last && (now < before + pause || !last.compare_exchange_strong(before, now))) return;
  timespec used{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0) return;
  events::UsageEvent event{};
  event.header.kind = events::EventKind::usage;
  event.is_last = is_last ? 1 : 0;
  event.time_ns = now;
  event.cpu_ns =
      static_cast<uint64_t>(used.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(used.tv_nsec);
  (void)recordEvent(event);
}

void startOrStop(bool on) noexcept {
  if (!hasRecorder()) return;
  const bool before = isRecording();
  switchBy(on ? 1 : -1);
  if (const bool now = isRecording(); now != before) recordSwitch(now);
}

uint64_t recordText(std::string_view text, std::string_view apart) noexcept {
  Shared *all = shared.load(std::memory_order_acquire);
  if (!all) return 0;
  constexpr std::size_t most = 4096;
  text = text.substr(0, most);
  try {
    events::TextEvent event{};
    {
      std::string key(text);
      if (!apart.empty()) key.append(1, '\0').append(apart);
      const std::lock_guard lock(all->mutex);
      const auto [at, is_new] = all->texts.try_emplace(std::move(key), all->texts.size() + 1);
      if (!is_new) return at->second;
      event.id = at->second;
    }
    event.header.kind = events::EventKind::text;
    event.size = static_cast<uint32_t>(text.size());
    recordEvent(event, text);
    return event.id;
  } catch (...) { // no memory
    return 0;
  }
}

} // namespace fade::hip
