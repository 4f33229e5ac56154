// A process of FADE's own, beside the application, that makes an RPD file (or another view) of the
// host events: no database runs inside of the application. It ends when all processes that write
// events into the same file have.
#pragma once

#include "base/result.h"

#include <chrono>
#include <string>

namespace fade::hip {

struct WriterChoice {
  std::string program; ///< fade-trace-writer
  std::string events;  ///< the file that this process records into
  std::string output, format;
  unsigned flush_seconds = 0; ///< write what is there this often; 0: when asked, and at the end
};

/// After the recorder was opened. The application sees neither a child nor a signal of it.
Status startWriter(const WriterChoice &choice);
bool hasWriter() noexcept;
/// In a child that has a writer of its own, or none.
void leaveWriter() noexcept;

/// Asks for what has been recorded so far. Nothing here that a signal handler may not do.
void wakeWriter() noexcept;
/// The same, and waits until it is in the file; false if the writer has ended or takes too long.
bool flushWriter(std::chrono::milliseconds patience) noexcept;

} // namespace fade::hip
