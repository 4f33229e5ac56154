// The report: lines from many threads into stderr, a file, or a string.
#pragma once

#include "base/own_file.h"
#include "base/settings.h"

#include <atomic>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>

namespace fade {

/// Names come from files of others: what would move the cursor is left out.
std::string printable(std::string text);

class Output {
public:
  /// `location` is "console" or a path with %p, %h, %r. A file that cannot be opened is named on
  /// stderr, and the report goes there too. What is in the file already stays with `append`.
  Output(const std::string &location, Format format, bool append = false);
  /// Collects everything; for tests.
  explicit Output(Format format) : format_(format), keep_(true) {}
  /// Goes nowhere, files beside the report included.
  struct Discarded {};
  Output(Format format, Discarded) : format_(format), keep_(true), failed_(true) {}
  ~Output();
  Output(const Output &) = delete;
  Output &operator=(const Output &) = delete;

  Format format() const { return format_; }
  /// The width of the terminal that the report goes to, 0 if it is none.
  unsigned terminalColumns() const noexcept;
  /// Whether that terminal may be sent colors ($NO_COLOR and TERM=dumb say no).
  bool hasColor() const noexcept;
  /// Whole lines. Any thread.
  void write(std::string_view lines) noexcept;
  void flush() noexcept;
  /// What was written so far, when it is collected.
  std::string collected();

  /// A file beside the report. False, and a line on stderr, if it cannot be written.
  bool writeFile(const std::string &path, std::string_view contents) noexcept;

private:
  void flushLocked() noexcept;

  const Format format_;
  std::mutex mutex_;
  std::string buffer_;
  std::string name_ = "stderr";
  std::filesystem::path directory_; ///< of the process, when it was made
  OwnFile file_;                    ///< none: stderr
  bool keep_ = false;
  bool failed_ = false;
  std::atomic<bool> said_incomplete_{false};
};

} // namespace fade
