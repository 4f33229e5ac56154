// Who makes something of host events while they are recorded is told by `fadeprobe control` when
// somebody wants to read it now: by a count in the header of the events.
#pragma once

#include <string>

namespace fade::host_trace {

class FlushRequests {
public:
  FlushRequests() = default;
  ~FlushRequests();
  FlushRequests(const FlushRequests &) = delete;
  FlushRequests &operator=(const FlushRequests &) = delete;

  /// From now on this process is who is asked, and must answer. Nothing happens if the file cannot
  /// be opened.
  void open(const std::string &events);
  bool isOpen() const { return header_ != nullptr; }
  bool isWanted() const;
  /// All that was recorded before isWanted() was asked can be read.
  void answer();
  /// Nobody is asked any more.
  void close();

private:
  char *header_ = nullptr;
  mutable unsigned wanted_ = 0; ///< when isWanted() was asked
};

} // namespace fade::host_trace
