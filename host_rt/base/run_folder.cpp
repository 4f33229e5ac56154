#include "base/run_folder.h"

#include "fade/json_writer.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/timex.h>
#include <unistd.h>

namespace fade {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMillisecond = 1'000'000;

int64_t nanoseconds(const timespec &time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

int64_t clockTime(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return nanoseconds(time);
}

std::string firstOf(std::initializer_list<const char *> variables) {
  for (const char *variable : variables)
    if (const char *value = std::getenv(variable); value && *value) return value;
  return "";
}

/// NFS takes the time of a change from its server, which is the same for all hosts of a run; other
/// file systems take it from the host. Servers give the time of their last tick.
void readFileClock(int fd, ClockReading &reading) {
  constexpr int64_t tick = 10 * kMillisecond;
  struct statfs system {};
  if (fstatfs(fd, &system) != 0 || system.f_type != NFS_SUPER_MAGIC) return;
  const timespec now[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}};
  struct stat status {};
  const int64_t before = clockTime(CLOCK_REALTIME);
  if (futimens(fd, now) != 0 || fstat(fd, &status) != 0) return;
  const int64_t after = clockTime(CLOCK_REALTIME);
  reading.files_ahead_ns = nanoseconds(status.st_mtim) - (before + (after - before) / 2);
  reading.files_error_ns = (after - before) / 2 + tick;
}

struct RankRange {
  uint64_t first = 0, last = 0;
};

std::optional<RankRange> rangeIn(std::string_view text) {
  RankRange range;
  const auto number = [&](std::string_view digits, uint64_t &value) {
    const auto [at, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && at == digits.data() + digits.size();
  };
  const auto dash = text.find('-');
  if (!number(text.substr(0, dash), range.first)) return std::nullopt;
  range.last = range.first;
  if (dash != text.npos && !number(text.substr(dash + 1), range.last)) return std::nullopt;
  if (range.last < range.first) return std::nullopt;
  return range;
}

/// Calls `each` with the parts of "0,7,16-31" until it returns false.
template <typename F> void forEachPart(std::string_view list, F &&each) {
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    if (!each(list.substr(at, end - at))) return;
    at = end + 1;
  }
}

/// The command line, without what would be too long to read.
std::string commandLine() {
  constexpr std::size_t most = 4096;
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text(most, '\0');
  file.read(text.data(), static_cast<std::streamsize>(most));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  while (text.ends_with('\0')) text.pop_back();
  std::ranges::replace(text, '\0', ' ');
  return text;
}

std::string manifestText(const ClockReading &clocks) {
  JsonWriter json;
  json.object([&] {
    json.field("type", "process");
    json.field("version", 1);
    json.field("host", ownHost());
    json.field("boot_id", bootId());
    json.field("pid", getpid());
    json.field("parent", getppid());
    if (const auto rank = ownRank()) json.field("rank", *rank);
    // Who started it: processes of one job, or of one fadeprobe, belong together.
    const auto optional = [&](const char *name, const std::string &value) {
      if (!value.empty()) json.field(name, value);
    };
    optional("local_rank", firstOf({"OMPI_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK",
                                    "MPI_LOCALRANKID", "SLURM_LOCALID", "LOCAL_RANK"}));
    optional("ranks", firstOf({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE",
                               "SLURM_NTASKS", "WORLD_SIZE"}));
    optional("job", firstOf({"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID",
                             "SLURM_JOB_ID", "TORCHELASTIC_RUN_ID"}));
    optional("launch", firstOf({"FADE_LAUNCH"}));
    json.field("command", commandLine());
    json.object("clocks", [&] {
      json.field("monotonic_ns", clocks.monotonic_ns);
      json.field("realtime_ns", clocks.realtime_ns);
      json.field("width_ns", clocks.width_ns);
      json.field("synchronized", clocks.is_synchronized);
      json.field("max_error_ns", clocks.max_error_ns);
      if (clocks.files_error_ns == 0) return;
      json.field("files_ahead_ns", clocks.files_ahead_ns);
      json.field("files_error_ns", clocks.files_error_ns);
    });
  });
  return json.take();
}

} // namespace

std::optional<std::string> ownRank() {
  std::string rank = firstOf({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                              "MV2_COMM_WORLD_RANK", "SLURM_PROCID", "RANK"});
  return rank.empty() ? std::nullopt : std::optional(std::move(rank));
}

std::string ownHost() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "unknown";
  return name.data();
}

std::string partitionOf(std::string host, std::string rank) {
  // What would end the value or mean something in the name of a folder.
  for (std::string *each : {&host, &rank})
    std::ranges::replace_if(
        *each, [](char c) { return c == '/' || c == '=' || c == '%'; }, '_');
  return fmt::format("host={}/rank={}", host, rank);
}

std::string ownPartition() { return partitionOf(ownHost(), ownRank().value_or("0")); }

bool namesRank(std::string_view list, const std::optional<std::string> &rank) {
  if (list.empty()) return true;
  const auto own = rank ? rangeIn(*rank) : std::nullopt;
  if (!own) return false;
  bool is_named = false;
  forEachPart(list, [&](std::string_view part) {
    const auto range = rangeIn(part);
    is_named = range && range->first <= own->first && own->first <= range->last;
    return !is_named;
  });
  return is_named;
}

std::optional<std::string> mistakeInRanks(std::string_view list) {
  std::optional<std::string> mistake;
  forEachPart(list, [&](std::string_view part) {
    if (!rangeIn(part))
      mistake = fmt::format("'{}' is not a rank or a range of ranks (example: 0,7,16-31)", part);
    return !mistake;
  });
  return mistake;
}

std::string rankList(const std::set<uint64_t> &ranks) {
  std::string text;
  for (auto at = ranks.begin(); at != ranks.end();) {
    const uint64_t first = *at;
    uint64_t last = first;
    for (++at; at != ranks.end() && *at == last + 1; ++at) last = *at;
    text += text.empty() ? "" : ", ";
    text += first == last ? std::to_string(first) : fmt::format("{}-{}", first, last);
  }
  return text;
}

ClockReading readClocks(int fd) {
  ClockReading best;
  constexpr int attempts = 8; // one of them is not interrupted
  for (int i = 0; i < attempts; ++i) {
    const int64_t before = clockTime(CLOCK_MONOTONIC), real = clockTime(CLOCK_REALTIME);
    const int64_t width = clockTime(CLOCK_MONOTONIC) - before;
    if (i != 0 && width >= best.width_ns) continue;
    best.monotonic_ns = before + width / 2;
    best.realtime_ns = real;
    best.width_ns = width;
  }
  timex state{};
  const int result = adjtimex(&state);
  best.is_synchronized = result >= 0 && result != TIME_ERROR && (state.status & STA_UNSYNC) == 0;
  best.max_error_ns = int64_t{state.maxerror} * 1000;
  if (fd >= 0) readFileClock(fd, best);
  return best;
}

std::string bootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  // In a time namespace CLOCK_MONOTONIC is another one than the machine's.
  std::ifstream offsets("/proc/self/timens_offsets");
  std::string name, seconds, nanoseconds;
  while (offsets >> name >> seconds >> nanoseconds)
    if (name == "monotonic" && (seconds != "0" || nanoseconds != "0"))
      id += "+" + seconds + "." + nanoseconds;
  return id;
}

bool isRunFolder(const std::string &path) {
  std::error_code ignored;
  return path.ends_with('/') || fs::is_directory(path, ignored);
}

Result<std::string> makeProcessFolder(const std::string &run) {
  const fs::path folder = fs::path(run) / ownPartition() / fmt::format("pid={}", getpid());
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return Error{folder, "", 0, error.message()};
  const fs::path file = folder / "process.json";
  // A process that becomes another program is described already.
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0 && errno == EEXIST) return folder.string();
  if (fd < 0) return Error{file, "", 0, std::strerror(errno)};
  const std::string text = manifestText(readClocks(fd));
  const bool is_written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int failure = errno;
  close(fd);
  if (!is_written) return Error{file, "", 0, std::strerror(failure)};
  return folder.string();
}

} // namespace fade
