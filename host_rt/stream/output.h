// The report: lines from many threads into stderr, a file, or a string.
#pragma once

#include "base/settings.h"

#include <mutex>
#include <string>
#include <string_view>

namespace fade {

class Output {
public:
  /// `location` is "console" or a path with %p, %h, %r. A file that cannot be opened is named on
  /// stderr, and the report goes there too.
  Output(const std::string &location, Format format);
  /// Collects everything; for tests.
  explicit Output(Format format) : format_(format), keep_(true) {}
  ~Output();
  Output(const Output &) = delete;
  Output &operator=(const Output &) = delete;

  Format format() const { return format_; }
  /// Whole lines. Any thread.
  void write(std::string_view lines) noexcept;
  void flush() noexcept;
  /// What was written so far, when it is collected.
  std::string collected();

  /// A file beside the report. False, and a line on stderr, if it cannot be written.
  static bool writeFile(const std::string &path, std::string_view contents) noexcept;

private:
  void flushLocked() noexcept;

  const Format format_;
  std::mutex mutex_;
  std::string buffer_;
  std::string name_ = "stderr";
  int fd_ = -1;
  bool owns_fd_ = false;
  bool keep_ = false;
  bool failed_ = false;
};

} // namespace fade
