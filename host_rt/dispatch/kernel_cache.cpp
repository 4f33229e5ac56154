#include "dispatch/kernel_cache.h"

#include "base/diagnostics.h"
#include "codeobj/finder.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <thread>
#include <unistd.h>

namespace fade {
namespace {

namespace fs = std::filesystem;

// Changes are read when there were no further ones for so long.
constexpr auto kPause = std::chrono::milliseconds(2);
constexpr int kMostPauses = 50;
constexpr uint32_t kEvents =
    IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CREATE | IN_ONLYDIR;

} // namespace

KernelCache::KernelCache(std::vector<std::string> directories)
    : directories_(std::move(directories)) {
  if (directories_.empty()) return;
  notify_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  wake_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  std::error_code error;
  for (const std::string &directory : directories_)
    if (!fs::is_directory(directory, error))
      warn("kernel cache: {}: {}", directory, error ? error.message() : "not a directory");
  kernels_ = scan();
}

KernelCache::~KernelCache() {
  if (notify_ >= 0) ::close(notify_);
  if (wake_ >= 0) ::close(wake_);
}

bool KernelCache::hasChanged() const {
  pollfd notify{notify_, POLLIN, 0};
  return notify_ >= 0 && ::poll(&notify, 1, 0) > 0;
}

void KernelCache::waitForChange() const {
  pollfd either[] = {{notify_, POLLIN, 0}, {wake_, POLLIN, 0}};
  while (::poll(either, 2, -1) < 0 && errno == EINTR) {
  }
  // A file that is being written is better read when it is whole.
  int before = -1, now = 0;
  for (int i = 0; i < kMostPauses && either[1].revents == 0; ++i, before = now) {
    if (::ioctl(notify_, FIONREAD, &now) != 0 || now == before) break;
    std::this_thread::sleep_for(kPause);
  }
}

void KernelCache::wake() const { (void)eventfd_write(wake_, 1); }

std::set<std::string> KernelCache::refresh() {
  alignas(inotify_event) std::array<char, 4096> events;
  while (notify_ >= 0 && ::read(notify_, events.data(), events.size()) > 0) {
  }
  Kernels now = scan();
  std::set<std::string> changed;
  const std::lock_guard lock(mutex_);
  for (const auto &[name, code] : now)
    if (const auto at = kernels_.find(name); at == kernels_.end() || at->second != code)
      changed.insert(name);
  for (const auto &[name, code] : kernels_)
    if (!now.contains(name)) changed.insert(name);
  kernels_ = std::move(now);
  return changed;
}

void KernelCache::watch(const std::string &directory) {
  if (notify_ >= 0) (void)inotify_add_watch(notify_, directory.c_str(), kEvents);
}

KernelCache::File KernelCache::read(const fs::directory_entry &entry) {
  std::error_code ignored;
  File file{entry.last_write_time(ignored), entry.file_size(ignored), {}};
  codeobj::CodeHandler handler;
  handler.on_code = [&](codeobj::FoundCode found) {
    const auto code = std::make_shared<LoadedCode>(found.blob);
    if (!code->object()) note("kernel cache: {}", code->error());
    file.code.push_back(code);
    return true;
  };
  handler.on_error = [](const Error &error) { note("kernel cache: {}", error.message()); };
  // The folder is watched because it may change: what is in it is not mapped.
  if (const auto bytes = codeobj::Blob::readFile(entry.path().string()); !bytes)
    note("kernel cache: {}", bytes.error().message());
  else if (auto status = codeobj::findCode(*bytes, handler); !status)
    note("kernel cache: {}", status.error().message());
  return file;
}

void KernelCache::visit(const fs::directory_entry &entry, std::map<std::string, File> &now) {
  std::error_code ignored;
  if (entry.is_directory(ignored)) return watch(entry.path().string());
  if (!entry.is_regular_file(ignored) || entry.path().extension() != ".hsaco") return;
  const std::string path = entry.path().string();
  const auto known = files_.find(path);
  if (known != files_.end() && known->second.time == entry.last_write_time(ignored) &&
      known->second.size == entry.file_size(ignored))
    now[path] = std::move(known->second);
  else
    now[path] = read(entry);
}

KernelCache::Kernels KernelCache::scan() {
  std::map<std::string, File> now;
  for (const std::string &directory : directories_) {
    watch(directory);
    std::error_code error;
    const auto options = fs::directory_options::skip_permission_denied;
    fs::recursive_directory_iterator at(directory, options, error), end;
    if (error) note("kernel cache: {}: {}", directory, error.message());
    for (; !error && at != end; at.increment(error)) visit(*at, now);
  }
  files_ = std::move(now);
  Kernels kernels;
  std::size_t count = 0;
  for (const auto &[path, file] : files_)
    for (const auto &code : file.code)
      if (const codeobj::CodeObject *object = code->object())
        for (std::size_t i = 0; i < object->kernelCount(); ++i, ++count)
          kernels[std::string(object->kernelName(i).name)].push_back(code);
  note("kernel cache: {} files, {} kernels", files_.size(), count);
  return kernels;
}

std::vector<std::shared_ptr<const LoadedCode>> KernelCache::find(const std::string &symbol) const {
  const std::lock_guard lock(mutex_);
  const auto at = kernels_.find(symbol);
  return at == kernels_.end() ? std::vector<std::shared_ptr<const LoadedCode>>() : at->second;
}

} // namespace fade
