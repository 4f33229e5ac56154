// The files that host events are made into, by their names.
#pragma once

#include "analysis/host_events/event_reader.h"
#include "base/result.h"
#include "host_trace/event_slices.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace fade::host_trace {

/// JSON lines of calls alone: --api-log.
inline constexpr std::string_view kCallsForm = "calls";
/// rpd, rpd2, rocpd, json, perfetto, pftrace, parquet.
std::span<const std::string_view> formNames();
bool isForm(std::string_view name);
/// The one that was asked for, or, if that is empty, the one that the name of the file asks for.
std::string formFor(const std::string &form, std::string_view path);
/// Whether it is made of a folder, into which any number of processes may write.
bool isFolderForm(std::string_view name);

/// What a link leads to, whether it is there or not; other paths as they are.
std::string behindLinks(const std::string &path);

/// Writes a file, not a folder, again and again as more is recorded. An RPD file gets one session,
/// which is replaced; what was in the file before stays if `append` is set. Other files are
/// replaced as a whole.
class FormWriter {
public:
  /// As formFor.
  FormWriter(const std::string &path, const std::string &form, bool append);
  Status write(const HostEvents &events) { return write(EventSource(events)); }
  /// Of a large file with memory that does not depend on its size.
  Status write(const EventSource &events);

private:
  Status writeNow(const EventSource &events, const std::string &path);

  const std::string path_, form_;
  const bool append_;
  int64_t session_ = -1; ///< of an RPD file
};

} // namespace fade::host_trace
