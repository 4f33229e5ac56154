#include "host_trace/run_tables.h"

#include "base/run_folder.h"
#include "host_trace/column_tables.h"
#include "host_trace/run_clocks.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace fade::host_trace {
namespace {

namespace fs = std::filesystem;

/// Whether nothing was recorded since this file was written.
bool isNewest(const fs::path &file, const Run &run) {
  std::error_code error;
  const auto made = fs::last_write_time(file, error);
  if (error) return false;
  return std::ranges::all_of(run.members, [&](const RunMember &member) {
    std::error_code ignored;
    return !member.is_running && fs::last_write_time(member.events(), ignored) < made;
  });
}

} // namespace

Status writeRunTables(const Run &run, const std::string &folder) {
  const CommonClock clock = commonClock(run);
  const ClockReading &first = run.members[0].summary.process.clocks;
  for (std::size_t i = 0; i < run.members.size(); ++i) {
    const RunProcess &process = run.members[i].summary.process;
    const std::string partition =
        partitionOf(process.host, std::to_string(process.rank.value_or(0)));
    if (Status status =
            writeColumnTables(run.members[i].events(), folder, partition,
                              clock.offsets_ns[i] + first.realtime_ns - first.monotonic_ns);
        !status)
      return status;
  }
  return Done{};
}

Result<std::string> tablesOfRun(const std::string &path) {
  const auto run = Run::read(path, "");
  if (!run) return run.error();
  const fs::path folder = fs::path(path) / "tables", made = folder / ".made";
  if (isNewest(made, *run)) return folder.string();
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return Error{folder, "", 0, error.message()};
  if (Status status = writeRunTables(*run, folder); !status) return status.error();
  std::ofstream file(made); // its time is what counts
  return folder.string();
}

} // namespace fade::host_trace
