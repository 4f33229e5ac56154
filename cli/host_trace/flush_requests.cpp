#include "host_trace/flush_requests.h"

#include "fade/host_events.h"
#include "host_trace/writer.h"

#include <atomic>
#include <climits>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fade::host_trace {
namespace {

events::FlushCounts &countsIn(char *header) {
  return *reinterpret_cast<events::FlushCounts *>(header + events::kFlushCountsAt);
}

void setWriter(char *header, uint32_t pid) {
  std::atomic_ref(*reinterpret_cast<uint32_t *>(header + kWriterAt)).store(pid);
}

} // namespace

FlushRequests::~FlushRequests() {
  if (header_) munmap(header_, events::kHeaderBytes);
}

void FlushRequests::open(const std::string &events) {
  const int fd = ::open(events.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void *page = mmap(nullptr, events::kHeaderBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (page == MAP_FAILED) return;
  header_ = static_cast<char *>(page);
  setWriter(header_, static_cast<uint32_t>(getpid()));
}

bool FlushRequests::isWanted() const {
  if (!header_) return false;
  wanted_ = std::atomic_ref(countsIn(header_).wanted).load();
  return wanted_ != std::atomic_ref(countsIn(header_).done).load();
}

void FlushRequests::answer() {
  if (!header_) return;
  uint32_t &done = countsIn(header_).done;
  std::atomic_ref(done).store(wanted_);
  (void)syscall(SYS_futex, &done, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void FlushRequests::close() {
  if (!header_) return;
  setWriter(header_, 0);
  if (isWanted()) answer();
}

} // namespace fade::host_trace
