#include "host_trace/rpd_file.h"

#include "analysis/host_events/api_text.h"
#include "analysis/host_events/operation_view.h"
#include "analysis/host_events/stack_names.h"
#include "analysis/host_events/thread_times.h"
#include "host_trace/database.h"
#include "host_trace/event_slices.h"
#include "host_trace/findings.h"
#include "host_trace/trace_log.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>
#include <unordered_map>

namespace fade::host_trace {
namespace {

constexpr int64_t kSessionStride = int64_t{1} << 32; ///< between the numbers of two sessions
constexpr int64_t kMostSessions = int64_t{1} << 30;
constexpr int64_t kMirrored = int64_t{1} << 31; ///< texts that are in both tables
constexpr uint32_t kRangeThreads = 9'000'000;   ///< of ranges that need not nest
constexpr std::size_t kMostArguments = 100'000; ///< texts that are looked for before one is added

/// Of rows of rocpd_metadata that are FADE's.
std::string findingTag(const char *what, int64_t offset) {
  return fmt::format("fade::{}::{}", what, offset / kSessionStride);
}

std::string hex(uint64_t value) { return fmt::format("{:#x}", value); }

/// rpd2tracing.py writes JSON by hand, without escapes.
std::string plain(std::string text) {
  for (char &c : text) {
    if (c == '\\') c = '/';
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return text;
}

/// One session of an RPD file.
class RpdWriter {
public:
  RpdWriter(Database &database, RpdVersion version, int64_t session)
      : is_new_(version == RpdVersion::v3), offset_(session * kSessionStride),
        empty_(emptyText(database, "rocpd_string")),
        empty_argument_(is_new_ ? emptyText(database, "rocpd_ustring") : empty_),
        add_metadata_(database,
                      "INSERT INTO rocpd_metadata(tag, value) SELECT ?1, ?2 WHERE NOT EXISTS "
                      "(SELECT 1 FROM rocpd_metadata WHERE tag = ?1 AND value = ?2)"),
        add_string_(database, "INSERT INTO rocpd_string(id, string) VALUES (?, ?)"),
        add_api_(database, is_new_ ? "INSERT INTO rocpd_api VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
                                   : "INSERT INTO rocpd_api VALUES (?, ?, ?, ?, ?, ?, ?)"),
        add_copy_(database,
                  "INSERT INTO rocpd_copyapi VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
        add_kernel_(database,
                    is_new_ ? "INSERT INTO rocpd_kernelapi VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
                            : "INSERT INTO rocpd_kernelapi VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
                              "'', '', '', ?, ?)"),
        add_op_(database, is_new_ ? "INSERT INTO rocpd_op VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
                                  : "INSERT INTO rocpd_op VALUES (?, ?, ?, ?, '', ?, ?, ?, ?)"),
        add_link_(database, "INSERT INTO rocpd_api_ops VALUES (?, ?, ?)"),
        add_frame_(database, "INSERT INTO rocpd_stackframe VALUES (?, ?, ?, ?)") {
    if (!is_new_) {
      database.execute("INSERT OR IGNORE INTO rocpd_kernelcodeobject VALUES (1, 0, 0, 0)");
      add_code_ = Statement(database, "INSERT INTO rocpd_kernelcodeobject VALUES (?, ?, ?, 0)");
    }
    if (is_new_)
      add_ustring_ = BulkInsert(database, "INSERT INTO rocpd_ustring(id, string) VALUES (?, ?)");
  }

  /// All events, or a slice.
  void write(const HostEvents &events) {
    events_ = &events;
    kernels_.emplace(events);
    names_.emplace(events);
    without_times_.clear();
    for (const auto &[pid, process] : events.processes)
      if (!process.program.empty())
        add_metadata_.run("fade::process",
                          validUtf8(processLine(pid, process.program, process.hip_library)));
    if (events.isInSoftware())
      add_metadata_.run(findingTag("times", offset_), std::string(kSoftwareTimes));
    for (const Operation &operation : events.operations)
      if (!operation.has_times)
        if (const auto call = events.callAt(operation.event.call))
          ++without_times_[*call][operation.has_ended ? 1 : 0];
    const std::vector<Range> ranges = rangesOf(events);
    std::vector<Interval> intervals = intervalsOf(ranges);
    makeNested(intervals);
    for (std::size_t i = 0; i < events.calls.size(); ++i) writeCall(i, intervals[i]);
    for (std::size_t i = 0; i < ranges.size(); ++i)
      writeRange(ranges[i], intervals[events.calls.size() + i], events.calls.size() + i);
    for (const Operation &operation : events.operations) writeOperation(operation);
    first_row_ += static_cast<int64_t>(events.calls.size() + ranges.size());
    for (BulkInsert *rows : {&add_string_, &add_ustring_, &add_api_, &add_copy_, &add_kernel_,
                             &add_op_, &add_link_, &add_frame_})
      rows->flush();
    kernels_.reset();
    names_.reset();
    events_ = nullptr;
  }

  /// There is no table for them; fadeprobe log finds them here.
  void write(const EventSource::Facts &facts) {
    const auto add = [&](const char *what, const std::string &text) {
      constexpr std::size_t most = 4096;
      add_metadata_.run(findingTag(what, offset_), text.substr(0, most));
    };
    for (const FoundFact &fact : facts.found)
      add("finding", fmt::format("{}\t{}\t{}\t{}", fact.kind, fact.count, fact.pid, fact.text));
    for (const LoggedRequest &request : facts.requests)
      add("library",
          fmt::format("{}\t{}\t{}\t{}", request.time_ns, request.pid, request.who, request.file));
  }

private:
  // ---- texts

  /// Number 1 in a new file; tools that renumber texts may have moved or removed it.
  static int64_t emptyText(Database &database, const std::string &table) {
    const std::string find = "SELECT min(id) FROM " + table + " WHERE string = ''";
    if (const int64_t found = database.integer(find)) return found;
    database.execute("INSERT INTO " + table + "(string) VALUES ('')");
    return database.integer(find);
  }

  int64_t string(std::string_view text) {
    if (text.empty()) return empty_;
    if (const auto known = strings_.find(text); known != strings_.end()) return known->second;
    const int64_t id = offset_ + next_string_++;
    strings_.emplace(text, id);
    add_string_.run(id, validUtf8(text));
    return id;
  }
  /// Of arguments, which seldom come twice.
  int64_t arguments(std::string_view text) {
    if (!is_new_) return string(text);
    if (text.empty()) return empty_argument_;
    if (ustrings_.size() >= kMostArguments) ustrings_.clear(); // then some are there twice
    if (const auto known = ustrings_.find(text); known != ustrings_.end()) return known->second;
    const int64_t id = offset_ + next_ustring_++;
    ustrings_.emplace(text, id);
    add_ustring_.run(id, validUtf8(text));
    return id;
  }
  /// rocpd.graph looks for the arguments of graphs in the other table.
  int64_t mirrored(std::string_view text) {
    if (!is_new_) return string(text);
    const auto [at, is_first] =
        mirrored_.try_emplace(std::string(text), offset_ + kMirrored + next_mirrored_);
    if (is_first) {
      ++next_mirrored_;
      add_string_.run(at->second, text);
      add_ustring_.run(at->second, text);
    }
    return at->second;
  }

  // ---- calls

  /// Of a call, or of a range, which come behind the calls.
  int64_t rowOf(std::size_t index) const {
    return offset_ + first_row_ + static_cast<int64_t>(index) + 1;
  }

  std::vector<Interval> intervalsOf(const std::vector<Range> &ranges) {
    std::vector<Interval> all;
    std::map<uint32_t, uint64_t> ends;
    for (const Call &call : events_->calls) {
      uint64_t end = call.end_ns;
      if (end == 0) {
        const auto [at, is_first] = ends.try_emplace(call.thread.pid, 0);
        if (is_first) at->second = endOf(*events_, call.thread.pid) + 1;
        end = at->second;
      }
      all.push_back({call.thread, call.start_ns, end, call.position});
    }
    for (const Range &range : ranges) {
      Thread thread = range.thread;
      if (!range.is_nested)
        thread.tid = kRangeThreads + free_ranges_.place(range.start_ns, range.end_ns + 1);
      all.push_back({thread, range.start_ns, range.end_ns, range.position});
    }
    return all;
  }

  /// "stream = P | mode = N" of those functions that rocpd.graph reads.
  std::string graphArguments(const Call &call) const {
    using Fields = std::vector<std::pair<const char *, const char *>>;
    static const std::map<std::string_view, Fields> functions = {
        {"hipStreamBeginCapture", {{"stream", "stream"}, {"mode", "mode"}}},
        {"hipStreamEndCapture", {{"stream", "stream"}, {"pGraph", "graph"}}},
        {"hipGraphInstantiate", {{"pGraphExec", "graphExec"}, {"graph", "graph"}}},
        {"hipGraphInstantiateWithFlags", {{"pGraphExec", "graphExec"}, {"graph", "graph"}}},
        {"hipGraphLaunch", {{"graphExec", "graphExec"}, {"stream", "stream"}}}};
    const auto names = functions.find(call.function->name);
    if (names == functions.end()) return "";
    std::string text;
    for (const auto &[argument_name, name] : names->second) {
      const uint64_t value = argument(call, argument_name).value_or(0);
      text += fmt::format("{}{} = {}", text.empty() ? "" : " | ", name,
                          std::string_view(name) == "mode" ? std::to_string(value) : hex(value));
    }
    return text;
  }

  int64_t argumentsOf(std::size_t index, bool has_row) {
    const Call &call = events_->calls[index];
    const unsigned major = events_->hipMajor(call.thread.pid);
    if (const std::string graph = graphArguments(call); !graph.empty()) return mirrored(graph);
    const auto error = errorOf(call, major);
    const bool has_failed = error && *error != "hipSuccess" && *error != "HIPRTC_SUCCESS";
    // Launches and copies have tables of their own; what the compiler calls says the same.
    const bool is_plain = has_row || std::string_view(call.function->group) == "compiler";
    std::string text = is_plain ? "" : plain(argumentText(call, major));
    const auto add = [&](const std::string &what) { text += (text.empty() ? "" : " | ") + what; };
    if (has_failed) add("result=" + *error);
    if (call.isNameOnly())
      add("partial=true");
    else if (!call.hasReturned())
      add("returned=false");
    // There is no row for what it asked for.
    if (const auto at = without_times_.find(index); at != without_times_.end()) {
      if (at->second[0] != 0) add(fmt::format("unended={}", at->second[0]));
      if (at->second[1] != 0) add(fmt::format("untimed={}", at->second[1]));
    }
    return arguments(text);
  }

  void writeCall(std::size_t index, const Interval &interval) {
    const Call &call = events_->calls[index];
    const int64_t id = rowOf(index);
    auto copy = copyOf(call);
    if (copy && copy->is_fill) copy.reset(); // there is no table for those
    const bool is_launch = isLaunch(call) && !call.isNameOnly();
    const int64_t args = argumentsOf(index, copy.has_value() || is_launch);
    addApi(id, interval, call.function->name, "hip", args);
    writeStack(id, call);
    if (copy)
      writeCopy(id, call, *copy);
    else if (is_launch)
      writeLaunch(id, index);
  }

  void addApi(int64_t id, const Interval &interval, std::string_view name, std::string_view domain,
              int64_t args) {
    const auto add = [&](auto... rest) {
      add_api_.run(id, interval.thread.pid, interval.thread.tid, interval.start_ns, interval.end_ns,
                   string(name), rest...);
    };
    if (is_new_)
      add(empty_, string(domain), args);
    else
      add(args);
  }

  void writeCopy(int64_t id, const Call &call, const CopyCall &copy) {
    const std::string_view function = call.function->name;
    const uint64_t kind = argument(call, "kind")
                              .value_or(copy.direction == events::Direction::none
                                            ? 4
                                            : static_cast<uint64_t>(copy.direction) - 1);
    const bool is_sync = function.find("Async") == function.npos;
    add_copy_.run(id, hex(argument(call, "stream").value_or(0)), copy.bytes.value_or(0),
                  argument(call, "width").value_or(0), argument(call, "height").value_or(0), kind,
                  hex(copy.to), hex(copy.from), argument(call, "dstDeviceId").value_or(0),
                  argument(call, "srcDeviceId").value_or(0), is_sync ? 1 : 0, 0);
  }

  void writeLaunch(int64_t id, std::size_t index) {
    const Call &call = events_->calls[index];
    const std::string stream = hex(streamOf(call));
    if (std::string_view(call.function->group) == "graph") {
      const std::string name =
          fmt::format("Graph Kernel ({})", hex(argument(call, "graphExec").value_or(0)));
      return addKernel(1, name, id, stream, 0, 0, 0, 0, 0, 0, 0, 0);
    }
    const LaunchSizes sizes = launchSizes(call);
    addKernel(codeObject(index), kernels_->nameOf(index), id, stream, sizes.grid[0], sizes.grid[1],
              sizes.grid[2], sizes.workgroup[0], sizes.workgroup[1], sizes.workgroup[2], sizes.lds,
              kernels_->privateBytes(index));
  }

  void addKernel(int64_t code, std::string_view name, auto... values) {
    if (is_new_)
      add_kernel_.run(values..., string(name));
    else
      add_kernel_.run(values..., code, string(name));
  }

  /// Version 2 has a table for registers. Number 1: not known.
  int64_t codeObject(std::size_t call) {
    const events::KernelEvent *kernel = is_new_ ? nullptr : kernels_->registersOf(call);
    if (!kernel) return 1;
    const auto [at, is_first] =
        codes_.try_emplace({kernel->vgprs + kernel->agprs, kernel->sgprs},
                           offset_ + 2 + static_cast<int64_t>(codes_.size()));
    if (is_first) add_code_.run(at->second, at->first.first, at->first.second);
    return at->second;
  }

  static uint64_t streamOf(const Call &call) {
    for (const char *name : {"stream", "hStream", "config.stream", "config.hStream"})
      if (const auto stream = argument(call, name)) return *stream;
    return 0;
  }

  void writeStack(int64_t id, const Call &call) {
    if (call.stack == 0) return;
    const auto [at, is_new] = stacks_.try_emplace({call.thread.pid, call.stack});
    if (is_new)
      for (const StackFrame *frame : names_->framesOf(call.thread.pid, call.stack, call.start_ns))
        at->second.push_back(string(frame->text()));
    int64_t depth = 0;
    for (const int64_t name : at->second)
      add_frame_.run(offset_ + static_cast<int64_t>(++frames_), id, depth++, name);
  }

  // ---- the rest

  void writeRange(const Range &range, const Interval &interval, std::size_t index) {
    const int64_t id = rowOf(index);
    if (range.is_named)
      addApi(id, interval, range.text, range.domain.empty() ? "UserMarker" : range.domain,
             arguments(range.arguments));
    else
      addApi(id, interval, "UserMarker", "UserMarker", arguments(range.text));
  }

  void writeOperation(const Operation &operation) {
    if (!operation.has_times) return; // it has not ended, or nobody knows when
    const OperationView view = viewOf(*events_, operation);
    const int64_t id = offset_ + static_cast<int64_t>(++operations_);
    const events::OperationEvent &event = operation.event;
    const bool is_kernel = view.purpose == Purpose::kernel;
    add_op_.run(id, uint32_t{event.gpu}, event.queue, event.sequence, operation.start_ns,
                std::max(operation.end_ns, operation.start_ns + 1),
                string(is_kernel ? view.kernel : std::string_view()), string(typeOf(view)));
    if (view.call) add_link_.run(id, rowOf(*view.call), id);
  }

  static std::string_view typeOf(const OperationView &view) {
    if (view.purpose == Purpose::kernel) return "KernelExecution";
    if (view.purpose == Purpose::fill) return "FillBuffer";
    switch (view.direction) {
    case events::Direction::host_to_device: return "CopyHostToDevice";
    case events::Direction::device_to_host: return "CopyDeviceToHost";
    case events::Direction::host_to_host: return "CopyHostToHost";
    default: return "CopyDeviceToDevice";
    }
  }

  const bool is_new_;
  const int64_t offset_;
  const HostEvents *events_ = nullptr; ///< what is being written
  std::optional<LaunchedKernels> kernels_;
  const int64_t empty_, empty_argument_;
  Statement add_metadata_, add_code_;
  BulkInsert add_string_, add_api_, add_copy_, add_kernel_, add_op_, add_link_, add_frame_,
      add_ustring_;
  std::optional<StackNames> names_;
  Tracks free_ranges_;
  int64_t first_row_ = 0; ///< calls and ranges of earlier slices
  /// By call: how many operations have not ended, and how many have, nobody knows when.
  std::map<std::size_t, std::array<unsigned, 2>> without_times_;
  std::map<std::pair<uint32_t, uint64_t>, std::vector<int64_t>> stacks_; ///< ids of texts
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using Ids = std::unordered_map<std::string, int64_t, Hash, std::equal_to<>>;
  Ids strings_, ustrings_, mirrored_;
  std::map<std::pair<uint32_t, uint32_t>, int64_t> codes_; ///< by vector and scalar registers
  int64_t next_string_ = 2, next_ustring_ = 2, next_mirrored_ = 0;
  std::size_t operations_ = 0, frames_ = 0;
};

/// rocpd's own tool that renumbers texts has to be told of all columns that it does not know.
void declareReferences(Database &database, RpdVersion version) {
  Statement add(database,
                "INSERT INTO rocpd_metadata(tag, value) SELECT 'references::rocpd_string.id', ?1 "
                "WHERE NOT EXISTS (SELECT 1 FROM rocpd_metadata WHERE value = ?1)");
  add.run(R"(("rocpd_stackframe", "name_id"))");
  if (version == RpdVersion::v3) add.run(R"(("rocpd_counter", "name_id"))");
}

/// Counts the sessions of a file; the first is 0. -1: what it says of them makes no sense.
int64_t takeSession(Database &database) {
  const std::string count = "SELECT value FROM rocpd_metadata WHERE tag = 'session_count'";
  const int64_t before = database.integer(count);
  if (before < 0 || before > kMostSessions) return -1;
  database.execute(before == 0
                       ? "INSERT INTO rocpd_metadata(tag, value) VALUES ('session_count', '1')"
                       : fmt::format("UPDATE rocpd_metadata SET value = '{}' WHERE tag = "
                                     "'session_count'",
                                     before + 1));
  if (before > 0) return before;
  // A file that was made by RPD's own tools has no sessions, and may hold something.
  return database.integer("SELECT count(*) FROM rocpd_api") > 0 ? 1 : 0;
}

/// What an earlier write of the same session has left there.
void removeSession(Database &database, RpdVersion version, int64_t session) {
  const auto remove = [&](const char *table, const char *key) {
    database.execute(fmt::format("DELETE FROM rocpd_{} WHERE {} >= {} AND {} < {}", table, key,
                                 session * kSessionStride, key, (session + 1) * kSessionStride));
  };
  for (const char *table : {"copyapi", "kernelapi"}) remove(table, "api_ptr_id");
  for (const char *table : {"stackframe", "api_ops", "op", "api"}) remove(table, "id");
  // Number 1 is everybody's.
  if (version == RpdVersion::v2)
    database.execute(fmt::format("DELETE FROM rocpd_kernelcodeobject WHERE id > {} AND id < {}",
                                 session * kSessionStride + 1, (session + 1) * kSessionStride));
  for (const char *what : {"finding", "library", "times"})
    database.execute(fmt::format("DELETE FROM rocpd_metadata WHERE tag = '{}'",
                                 findingTag(what, session * kSessionStride)));
  for (const char *table : {"string", "ustring"})
    if (version == RpdVersion::v3 || std::string_view(table) == "string")
      database.execute(
          fmt::format("DELETE FROM rocpd_{} WHERE id >= {} AND id < {} AND string != ''", table,
                      session * kSessionStride, (session + 1) * kSessionStride));
}

} // namespace

Status writeRpd(const HostEvents &events, const std::string &path, RpdVersion version) {
  int64_t session = -1;
  return writeRpd(events, path, version, session);
}

Status writeRpd(const HostEvents &events, const std::string &path, RpdVersion version,
                int64_t &session) {
  return writeRpd(EventSource(events), path, version, session);
}

Status writeRpd(const EventSource &events, const std::string &path, RpdVersion version,
                int64_t &session) {
  auto opened = Database::open(path, Database::Access::write);
  if (!opened) return std::move(opened).error();
  Database &database = **opened;
  // What was recorded is still there if this process is killed meanwhile.
  database.execute("PRAGMA synchronous = OFF");
  // A new file has no name yet that others know, and may get it while it is written.
  const bool is_new = database.integer("SELECT count(*) FROM sqlite_master") == 0;
  if (is_new) database.execute("PRAGMA journal_mode = MEMORY");
  database.execute("BEGIN EXCLUSIVE");
  if (database.hasFailed()) return database.status();
  if (is_new && database.integer("SELECT count(*) FROM sqlite_master") == 0) {
    database.execute(rpdSchema(version));
  } else {
    if (database.integer("SELECT count(*) FROM sqlite_master WHERE name = 'rocpd_metadata'") == 0)
      return Error{path, "", 0, "is a database, but no RPD file"};
    const int64_t there =
        database.integer("SELECT value FROM rocpd_metadata WHERE tag = 'schema_version'");
    if (there != 2 && there != 3)
      return Error{path, "", 0,
                   fmt::format("has version {} of RPD's schema; FADE knows 2 and 3", there)};
    version = static_cast<RpdVersion>(there);
  }
  int64_t taken = session;
  if (session < 0)
    taken = takeSession(database);
  else
    removeSession(database, version, session);
  if (taken < 0) {
    database.execute("ROLLBACK");
    return Error{path, "", 0, "its number of sessions is invalid: nothing can be added to it"};
  }
  declareReferences(database, version);
  Status read = Done{};
  {
    RpdWriter writer(database, version, taken);
    EventSource::Facts facts;
    bool is_flushed = false; // others read it: it is locked while something is written only
    read = events.forEach(
        [&](const HostEvents &slice, uint64_t) {
          if (database.hasFailed()) return;
          if (is_flushed) database.execute("BEGIN EXCLUSIVE");
          writer.write(slice);
          if (is_flushed) database.execute("COMMIT");
        },
        &facts,
        [&] {
          if (!is_flushed && !database.hasFailed()) database.execute("COMMIT");
          is_flushed = true;
        });
    if (is_flushed) database.execute("BEGIN EXCLUSIVE");
    if (read && !database.hasFailed()) writer.write(facts);
  }
  const bool has_failed = database.hasFailed() || !read;
  database.execute(has_failed ? "ROLLBACK" : "COMMIT");
  if (!has_failed && !database.hasFailed()) session = taken;
  return read ? database.status() : read;
}

} // namespace fade::host_trace
