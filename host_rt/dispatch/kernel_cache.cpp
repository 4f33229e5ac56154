#include "dispatch/kernel_cache.h"

#include "base/diagnostics.h"
#include "codeobj/finder.h"

#include <array>
#include <sys/inotify.h>
#include <unistd.h>

namespace fade {
namespace {

namespace fs = std::filesystem;

constexpr auto kLookEvery = std::chrono::milliseconds(5);
constexpr uint32_t kEvents =
    IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CREATE | IN_ONLYDIR;

int64_t nanosecondsNow() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

} // namespace

KernelCache::KernelCache(std::vector<std::string> directories)
    : directories_(std::move(directories)) {
  if (directories_.empty()) return;
  notify_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  const std::lock_guard lock(mutex_);
  scan();
}

KernelCache::~KernelCache() {
  if (notify_ >= 0) ::close(notify_);
}

uint64_t KernelCache::generation() {
  const int64_t now = nanosecondsNow();
  if (!empty() && now - looked_.load(std::memory_order_relaxed) >
                      std::chrono::nanoseconds(kLookEvery).count()) {
    const std::lock_guard lock(mutex_);
    if (hasChanged()) scan();
    looked_.store(nanosecondsNow(), std::memory_order_relaxed);
  }
  return generation_.load(std::memory_order_acquire);
}

bool KernelCache::hasChanged() {
  alignas(inotify_event) std::array<char, 4096> events;
  bool any = false;
  while (notify_ >= 0 && ::read(notify_, events.data(), events.size()) > 0) any = true;
  return any;
}

void KernelCache::watch(const std::string &directory) {
  if (notify_ >= 0) (void)inotify_add_watch(notify_, directory.c_str(), kEvents);
}

KernelCache::File KernelCache::read(const fs::directory_entry &entry) {
  std::error_code ignored;
  File file{entry.last_write_time(ignored), entry.file_size(ignored), {}};
  codeobj::CodeHandler handler;
  handler.on_code = [&](codeobj::FoundCode found) {
    file.code.push_back(std::make_shared<LoadedCode>(found.blob));
    return true;
  };
  handler.on_error = [](const codeobj::Error &error) { note("kernel cache: {}", error.message()); };
  if (auto status = codeobj::find_code(entry.path().string(), handler); !status)
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

void KernelCache::scan() {
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
  kernels_.clear();
  for (const auto &[path, file] : files_)
    for (const auto &code : file.code)
      if (const codeobj::CodeObject *object = code->object())
        for (std::size_t i = 0; i < object->kernel_count(); ++i)
          kernels_.emplace(std::string(object->kernel_name(i).name), code);
  note("kernel cache: {} files, {} kernels", files_.size(), kernels_.size());
  generation_.fetch_add(1, std::memory_order_release);
}

std::vector<std::shared_ptr<const LoadedCode>> KernelCache::find(const std::string &symbol) {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<const LoadedCode>> found;
  const auto [first, last] = kernels_.equal_range(symbol);
  for (auto at = first; at != last; ++at) found.push_back(at->second);
  return found;
}

} // namespace fade
