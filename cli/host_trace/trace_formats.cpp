#include "host_trace/trace_formats.h"

#include "host_trace/call_log.h"
#include "host_trace/perfetto_timeline.h"
#include "host_trace/rocpd_file.h"
#include "host_trace/rpd_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <system_error>
#include <unistd.h>

namespace fade::host_trace {
namespace {

namespace fs = std::filesystem;
constexpr std::array<std::string_view, 7> kForms = {"rpd",      "rpd2",    "rocpd",  "json",
                                                    "perfetto", "pftrace", "parquet"};

std::string ownHost() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

/// 0, or an errno: EEXIST if somebody else has made the file meanwhile.
int renameUnlessThere(const std::string &from, const std::string &to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  if (link(from.c_str(), to.c_str()) != 0) return errno; // the file system knows the other not
  (void)unlink(from.c_str());
  return 0;
}

} // namespace

std::span<const std::string_view> formNames() { return kForms; }
bool isForm(std::string_view name) { return std::ranges::find(kForms, name) != kForms.end(); }
std::string formFor(const std::string &form, std::string_view path) {
  if (!form.empty()) return form;
  return timelineFormOf(path) == TimelineForm::packets ? "pftrace" : "rpd";
}
bool isFolderForm(std::string_view name) { return name == "parquet"; }

Status FormWriter::writeNow(const EventSource &events, const std::string &path) {
  if (form_ == "json") return writeLog(events, path, LogScope::everything);
  if (form_ == kCallsForm) return writeLog(events, path, LogScope::calls);
  if (form_ == "perfetto") return writeTimeline(events, path, TimelineForm::json);
  if (form_ == "pftrace") return writeTimeline(events, path, TimelineForm::packets);
  if (form_ == "rocpd") return writeRocpd(events, path, ownHost());
  return writeRpd(events, path, form_ == "rpd2" ? RpdVersion::v2 : RpdVersion::v3, session_);
}

std::string behindLinks(const std::string &path) {
  constexpr int most = 40; // as the system does it
  std::error_code error;
  // /dev/stdout and /dev/fd/N lead to what has no name, if it is no file.
  if (const auto type = fs::status(path, error).type();
      type != fs::file_type::regular && type != fs::file_type::not_found)
    return path;
  fs::path at = path;
  for (int i = 0; i < most && fs::is_symlink(at, error); ++i) {
    const fs::path target = fs::read_symlink(at, error);
    if (error) return path;
    at = at.parent_path() / target; // which may be absolute
  }
  return at;
}

FormWriter::FormWriter(const std::string &path, const std::string &form, bool append)
    : path_(behindLinks(path)), form_(formFor(form, path)), append_(append) {}

/// A file that is replaced is replaced as a whole, or stays as it was; one that is new is there as
/// a whole, or not at all.
Status FormWriter::write(const EventSource &events) {
  std::error_code error;
  const bool is_there = fs::exists(path_, error);
  const bool adds = form_.starts_with("rpd") && (append_ || session_ >= 0);
  if (is_there && (adds || !fs::is_regular_file(path_, error))) return writeNow(events, path_);
  const std::string fresh = fmt::format("{}.{}.new", path_, getpid());
  fs::remove(fresh, error);
  session_ = -1;             // also if the file that had one was removed
  bool is_published = false; // before the end: somebody has asked for it
  const auto publish = [&] {
    if (is_published) return;
    std::error_code failure;
    if (!adds) fs::rename(fresh, path_, failure);
    is_published = adds ? renameUnlessThere(fresh, path_) == 0 : !failure;
  };
  if (Status status = writeNow(events.whenFlushed(publish), fresh); !status) {
    fs::remove(fresh, error);
    if (status.error().file != fresh) return status;
    return Error{path_, "", 0, status.error().what};
  }
  if (is_published) return Done{};
  if (!adds) {
    fs::rename(fresh, path_, error);
  } else if (const int failure = renameUnlessThere(fresh, path_); failure != 0) {
    // Somebody else was faster, or the file system has no way to see that.
    fs::remove(fresh, error);
    session_ = -1;
    return writeNow(events, path_);
  }
  if (!error) return Done{};
  const Error failure{path_, "", 0, error.message()};
  fs::remove(fresh, error);
  return failure;
}

} // namespace fade::host_trace
