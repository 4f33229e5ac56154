#include "device/stats_log.h"

#include "base/trace.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace fade::sim {

StatsLog::StatsLog(const std::string &path) {
  fd_ = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd_ < 0) say("FADE_GPU_STATS: cannot write %s: %s", path.c_str(), std::strerror(errno));
}

StatsLog::~StatsLog() {
  if (fd_ >= 0) close(fd_);
}

std::string StatsLog::line(const std::string &kernel, const Dispatch &dispatch,
                           const DispatchStats &stats) {
  using Json = nlohmann::ordered_json;
  Json classes = Json::object();
  for (size_t i = 0; i < stats.classes.size(); ++i) {
    const auto &count = stats.classes[i];
    classes[name_of(static_cast<ExecClass>(i))] = {{"wave_instructions", count.waves},
                                                   {"lane_instructions", count.lanes}};
  }
  auto total = stats.total();
  Json object = {{"kernel", kernel},
                 {"grid", dispatch.grid},
                 {"workgroup", dispatch.workgroup},
                 {"waves", stats.waves},
                 {"wave_instructions", total.waves},
                 {"lane_instructions", total.lanes},
                 {"classes", classes},
                 {"global_bytes_read", stats.global_bytes_read},
                 {"global_bytes_written", stats.global_bytes_written},
                 {"lds_bytes_read", stats.lds_bytes_read},
                 {"lds_bytes_written", stats.lds_bytes_written},
                 {"barriers", stats.barriers},
                 {"l2_write_backs", stats.l2_write_backs},
                 {"seconds", stats.seconds},
                 {"workers", stats.workers}};
  // A symbol need not be UTF-8.
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

void StatsLog::write(const std::string &kernel, const Dispatch &dispatch,
                     const DispatchStats &stats) {
  if (!ok()) return;
  std::string text = line(kernel, dispatch, stats);
  if (::write(fd_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    say("FADE_GPU_STATS: cannot write: %s", std::strerror(errno));
    close(fd_);
    fd_ = -1;
  }
}

} // namespace fade::sim
