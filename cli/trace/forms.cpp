#include "trace/forms.h"

#include "trace/call_log.h"
#include "trace/rpd_file.h"
#include "trace/timeline.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace fade::host_trace {
namespace {

namespace fs = std::filesystem;
constexpr std::array<std::string_view, 4> kForms = {"rpd", "rpd2", "json", "perfetto"};

} // namespace

std::span<const std::string_view> formNames() { return kForms; }
bool isForm(std::string_view name) { return std::ranges::find(kForms, name) != kForms.end(); }

Status FormWriter::writeNow(const HostEvents &events, const std::string &path) {
  if (form_ == "json") return writeLog(events, path, LogScope::everything);
  if (form_ == "perfetto") return writeTimeline(events, path);
  return writeRpd(events, path, form_ == "rpd2" ? RpdVersion::v2 : RpdVersion::v3, session_);
}

/// A file that is replaced is replaced as a whole, or stays as it was.
Status FormWriter::write(const HostEvents &events) {
  std::error_code error;
  const bool is_rpd = form_.starts_with("rpd");
  if (is_rpd && (append_ || session_ >= 0)) return writeNow(events, path_);
  if (fs::exists(path_, error) && !fs::is_regular_file(path_, error))
    return writeNow(events, path_);
  const std::string fresh = fmt::format("{}.{}.new", path_, getpid());
  fs::remove(fresh, error);
  Status status = writeNow(events, fresh);
  if (status) fs::rename(fresh, path_, error);
  if (!status || error) fs::remove(fresh, error);
  if (status && error) return Error{path_, "", 0, error.message()};
  return status;
}

} // namespace fade::host_trace
