#include "host_trace/control.h"

#include "base/event_file.h"
#include "fade/host_events.h"
#include "host_trace/foreign_process.h"
#include "host_trace/writer.h"

#include <atomic>
#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <linux/futex.h>
#include <set>
#include <sstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fade::host_trace {
namespace {

using events::FileHeader;
using events::ProcessSwitch;

FileHeader *headerIn(char *page) { return reinterpret_cast<FileHeader *>(page); }

/// Files that the process shares with others, by its memory map.
std::set<std::string> sharedFiles(std::istream &maps) {
  std::set<std::string> files;
  for (std::string line; std::getline(maps, line);) {
    // from-to rw-s offset device inode path
    const auto path = line.find('/');
    const auto access = line.find(' ');
    if (path != line.npos && access != line.npos && line.compare(access + 1, 4, "rw-s") == 0)
      files.insert(line.substr(path));
  }
  return files;
}

/// The first page of a file of host events; null if it is none.
char *mapHeader(const std::string &path) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return nullptr;
  FileHeader header{};
  void *page = MAP_FAILED;
  if (lseek(fd, 0, SEEK_END) >= static_cast<off_t>(events::kHeaderBytes) &&
      pread(fd, &header, sizeof header, 0) == sizeof header && header.magic == events::kMagic &&
      header.version == events::kVersion)
    page = mmap(nullptr, events::kHeaderBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return page == MAP_FAILED ? nullptr : static_cast<char *>(page);
}

} // namespace

Result<RecordingProcess> RecordingProcess::find(uint32_t pid) {
  const auto process = ForeignProcess::open(pid);
  if (!process) return process.error();
  const auto user = process->user();
  if (!user) return user.error();
  const auto maps = process->read("maps");
  if (!maps) return maps.error();
  const auto variables = process->environment();
  if (!variables) return variables.error();
  // It may have become another program meanwhile, with other rights.
  const auto still = process->user();
  if (!still) return still.error();
  if (*still != *user)
    return Error::of(fmt::format("process {} has changed its user; try again", pid));
  const auto rights = RightsOf::take(*user);
  if (!rights) return rights.error();
  std::istringstream lines(*maps);
  for (const std::string &file : sharedFiles(lines)) {
    char *page = mapHeader(file);
    if (!page) continue;
    auto *switches = reinterpret_cast<ProcessSwitch *>(page + events::kSwitchesAt);
    for (std::size_t i = 0; i < events::kSwitches; ++i)
      if (std::atomic_ref(switches[i].pid).load() == pid)
        return RecordingProcess(file, page, &switches[i].is_on, true);
    munmap(page, events::kHeaderBytes);
  }
  return announce(pid, *variables);
}

Result<RecordingProcess>
RecordingProcess::announce(uint32_t pid, const std::map<std::string, std::string> &variables) {
  const auto value = [&](const char *name) {
    const auto at = variables.find(name);
    return at == variables.end() ? std::string() : at->second;
  };
  const std::string path = value("FADE_TRACE");
  if (path.empty())
    return Error::of(
        fmt::format("process {} records nothing: it was not started with fadeprobe trace", pid));
  // Elsewhere the name of the file is not known before the process has made it.
  if (value("FADE_TRACE_FORMAT") != "events" || !path.starts_with('/'))
    return Error::of(fmt::format("process {} has not used the GPU yet: its recording can be "
                                 "switched when it has",
                                 pid));
  EventFile file;
  if (const Status opened = file.open(path); !opened) return opened.error();
  const EventFile::Switch taken = file.takeSwitch(pid, value("FADE_TRACE_START") != "off");
  if (!taken.is_on) return Error{path, "", 0, "has no place for another process"};
  return RecordingProcess(path, file.header(), taken.is_on, false);
}

RecordingProcess::RecordingProcess(RecordingProcess &&other) noexcept
    : file_(std::move(other.file_)), header_(std::exchange(other.header_, nullptr)),
      is_on_(other.is_on_), has_begun_(other.has_begun_) {}

RecordingProcess::~RecordingProcess() {
  if (header_) munmap(header_, events::kHeaderBytes);
}

bool RecordingProcess::isOn() const { return std::atomic_ref(*is_on_).load() != 0; }
void RecordingProcess::setOn(bool on) { std::atomic_ref(*is_on_).store(on ? 1 : 0); }

bool RecordingProcess::flush() {
  constexpr useconds_t until_ends_are_told = 20'000; // libfade.so looks every 1 to 2 ms
  usleep(until_ends_are_told);
  auto *counts = reinterpret_cast<events::FlushCounts *>(header_ + events::kFlushCountsAt);
  const uint32_t writer =
      std::atomic_ref(*reinterpret_cast<uint32_t *>(header_ + kWriterAt)).load();
  if (writer == 0) return true;
  const uint32_t wanted = std::atomic_ref(counts->wanted).fetch_add(1) + 1;
  (void)syscall(SYS_futex, &counts->wanted, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  const auto done = [&] { return std::atomic_ref(counts->done).load(); };
  const std::string folder = fmt::format("/proc/{}", writer);
  for (uint32_t now = done(); static_cast<int32_t>(now - wanted) < 0; now = done()) {
    if (access(folder.c_str(), F_OK) != 0) return static_cast<int32_t>(done() - wanted) >= 0;
    const timespec moment{0, 100'000'000};
    (void)syscall(SYS_futex, &counts->done, FUTEX_WAIT, now, &moment, nullptr, 0);
  }
  return true;
}

uint64_t RecordingProcess::blocks() const {
  return std::atomic_ref(headerIn(header_)->claimed).load();
}
uint64_t RecordingProcess::lost() const { return std::atomic_ref(headerIn(header_)->lost).load(); }

std::vector<uint32_t> recordersOf(const std::string &file) {
  std::vector<uint32_t> recorders;
  std::error_code error;
  const std::string path = std::filesystem::canonical(file, error);
  char *page = error ? nullptr : mapHeader(path);
  if (!page) return recorders;
  const auto *switches = reinterpret_cast<const ProcessSwitch *>(page + events::kSwitchesAt);
  for (std::size_t i = 0; i < events::kSwitches && switches[i].pid != 0; ++i) {
    std::ifstream maps(fmt::format("/proc/{}/maps", switches[i].pid));
    if (sharedFiles(maps).contains(path)) recorders.push_back(switches[i].pid);
  }
  munmap(page, events::kHeaderBytes);
  return recorders;
}

} // namespace fade::host_trace
