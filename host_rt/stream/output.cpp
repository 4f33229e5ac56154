#include "stream/output.h"

#include "base/diagnostics.h"
#include "base/run_folder.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <sys/ioctl.h>
#include <unistd.h>

namespace fade {
namespace {

constexpr std::size_t kFlushAt = 256 << 10;

/// Whether this process has written to the file before: a runtime that is shut down and started
/// again makes two reports, and the second must not destroy the first.
bool wasOpened(const std::string &path) {
  static std::mutex mutex;
  static auto *paths = new std::set<std::string>; // outlives every exit handler
  const std::lock_guard lock(mutex);
  return !paths->insert(path).second;
}

/// A name that ends with '/' is a run, in which this process has a folder of its own.
std::string placeOf(const std::string &location, Format format) {
  std::string name = expandPath(location);
  if (!name.ends_with('/')) return name;
  const auto folder = makeProcessFolder(name);
  const char *file = format == Format::json  ? "report.jsonl"
                     : format == Format::csv ? "report.csv"
                                             : "report.txt";
  if (folder) return *folder + '/' + file;
  warn("{}", folder.error().message());
  return name + file;
}

} // namespace

Output::Output(const std::string &location, Format format, bool append) : format_(format) {
  std::error_code ignored;
  directory_ = std::filesystem::current_path(ignored);
  if (location == "console") return;
  name_ = placeOf(location, format);
  file_ = append || wasOpened(name_) ? OwnFile::open(name_, true) : OwnFile::openShared(name_);
  if (file_.is()) return;
  warn("cannot open {}: {}; the report goes to stderr", name_, std::strerror(errno));
  name_ = "stderr";
}

Output::~Output() { flush(); }

unsigned Output::terminalColumns() const noexcept {
  const int fd = file_.is() ? file_.fd() : STDERR_FILENO;
  if (keep_ || ::isatty(fd) == 0) return 0;
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

bool Output::hasColor() const noexcept {
  const char *no_color = std::getenv("NO_COLOR"), *term = std::getenv("TERM");
  const bool is_dumb = term && std::strcmp(term, "dumb") == 0;
  return terminalColumns() != 0 && !(no_color && *no_color) && !is_dumb;
}

void Output::write(std::string_view lines) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (failed_) return;
    if (keep_) {
      buffer_ += lines;
      return;
    }
    // Never larger than it is made here: handlers write on many threads, and memory that comes from
    // one in which a handler then crashes cannot be given back (contain.h).
    if (buffer_.capacity() < kFlushAt) buffer_.reserve(kFlushAt);
    for (; !lines.empty(); lines.remove_prefix(std::min(lines.size(), kFlushAt))) {
      const auto piece = lines.substr(0, kFlushAt);
      if (buffer_.size() + piece.size() > kFlushAt) flushLocked();
      buffer_ += piece;
    }
  } catch (...) { // the report is not worth the application's life
    if (!said_incomplete_.exchange(true)) warn("{}: the report is incomplete", whatWasThrown());
  }
}

void Output::flush() noexcept {
  const std::lock_guard lock(mutex_);
  if (!keep_) flushLocked();
}

void Output::flushLocked() noexcept {
  if (buffer_.empty() || failed_) return;
  if (const int error = file_.is() ? file_.write(buffer_) : writeStderr(buffer_)) {
    failed_ = true; // said once; the rest is lost
    warn("cannot write the report to {}: {}", name_, std::strerror(error));
  }
  buffer_.clear();
}

std::string Output::collected() {
  const std::lock_guard lock(mutex_);
  return buffer_;
}

bool Output::writeFile(const std::string &path, std::string_view contents) noexcept {
  if (keep_ && failed_) return true; // discarded
  try {
    // The application may have gone to another directory.
    const std::string name = directory_ / expandPath(path);
    OwnFile file = OwnFile::open(name, false);
    int error = file.is() ? file.write(contents) : errno;
    if (const int at_end = file.close(); error == 0) error = at_end;
    if (error == 0) return true;
    warn("cannot write {}: {}", name, std::strerror(error));
  } catch (...) {
    warn("cannot write {}: {}", path, whatWasThrown());
  }
  return false;
}

std::string printable(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return text;
}

} // namespace fade
