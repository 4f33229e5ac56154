#include "host_trace/rocpd_file.h"

#include "analysis/host_events/api_text.h"
#include "analysis/host_events/operation_view.h"
#include "analysis/host_events/thread_times.h"
#include "fade/json_writer.h"
#include "host_trace/collectives.h"
#include "host_trace/database.h"
#include "host_trace/event_slices.h"
#include "host_trace/rocpd_schema.h"
#include "host_trace/trace_log.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <random>
#include <tuple>

namespace fade::host_trace {
namespace {

using rocpd::kOpen;
using rocpd::kPartial;

/// Version 7: begins with the time, so that files are in order.
std::string newGuid(int64_t realtime_ns) {
  std::random_device random;
  const auto bits = [&] { return uint64_t{random()} << 32 | random(); };
  const auto time = static_cast<uint64_t>(realtime_ns) / 1'000'000 & 0xffffffffffff;
  const uint64_t low = bits();
  return fmt::format("{:08x}-{:04x}-7{:03x}-{:04x}-{:012x}", time >> 16, time & 0xffff,
                     bits() & 0xfff, 0x8000 | (low >> 48 & 0x3fff), low & 0xffffffffffff);
}

/// Of a host: the same for all of its processes.
int64_t hashOf(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return static_cast<int64_t>(hash >> 1);
}

std::string jsonWith(const char *name, std::string_view text) {
  JsonWriter json;
  json.object([&] { json.field(name, text); });
  return json.take();
}

std::string copyName(events::Direction direction) {
  switch (direction) {
  case events::Direction::host_to_device: return "MEMORY_COPY_HOST_TO_DEVICE";
  case events::Direction::device_to_host: return "MEMORY_COPY_DEVICE_TO_HOST";
  case events::Direction::device_to_device: return "MEMORY_COPY_DEVICE_TO_DEVICE";
  case events::Direction::host_to_host: return "MEMORY_COPY_HOST_TO_HOST";
  case events::Direction::none: break;
  }
  return "MEMORY_COPY_NONE";
}

class RocpdWriter {
public:
  RocpdWriter(Database &database, const std::string &guid, const std::string &host)
      : database_(database), suffix_(rocpdSuffix(guid)),
        find_string_(database, into("SELECT id FROM `rocpd_string{}` WHERE string = ?")),
        add_string_(database, into("INSERT INTO `rocpd_string{}` (string) VALUES (?)")),
        add_event_(database, into("INSERT INTO `rocpd_event{}` (id, category_id, stack_id, "
                                  "parent_stack_id, correlation_id, extdata) VALUES (?, ?, ?, ?, "
                                  "0, ?)")),
        add_argument_(database, into("INSERT INTO `rocpd_arg{}` (event_id, position, type, name, "
                                     "value) VALUES (?, ?, ?, ?, ?)")),
        add_region_(database, into("INSERT INTO `rocpd_region{}` (nid, pid, tid, start, end, "
                                   "name_id, event_id) VALUES (?, ?, ?, ?, ?, ?, ?)")),
        add_kernel_(database,
                    into("INSERT INTO `rocpd_kernel_dispatch{}` (nid, pid, tid, agent_id, "
                         "kernel_id, dispatch_id, queue_id, stream_id, start, end, "
                         "private_segment_size, group_segment_size, workgroup_size_x, "
                         "workgroup_size_y, workgroup_size_z, grid_size_x, grid_size_y, "
                         "grid_size_z, region_name_id, event_id, extdata) VALUES (?, ?, ?, ?, ?, "
                         "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")),
        add_copy_(database, into("INSERT INTO `rocpd_memory_copy{}` (nid, pid, tid, start, end, "
                                 "name_id, dst_agent_id, dst_address, src_agent_id, src_address, "
                                 "size, queue_id, stream_id, region_name_id, event_id) VALUES (?, "
                                 "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")),
        add_memory_(database, into("INSERT INTO `rocpd_memory_allocate{}` (nid, pid, tid, "
                                   "agent_id, type, level, start, end, address, size, event_id) "
                                   "VALUES (?, ?, ?, ?, ?, 'REAL', ?, ?, ?, ?, ?)")) {
    next_event_ = last("event") + 1;
    next_stack_ = database.integer(into("SELECT max(stack_id) FROM `rocpd_event{}`")) + 1;
    next_dispatch_ =
        database.integer(into("SELECT max(dispatch_id) FROM `rocpd_kernel_dispatch{}`")) + 1;
    node_ = nodeOf(host);
  }

  /// All events, or a slice.
  void write(const HostEvents &events) {
    events_ = &events;
    for (const auto &[pid, process] : events.processes) (void)processOf(pid);
    for (std::size_t i = 0; i < events.calls.size(); ++i) writeCall(i);
    for (const Range &range : rangesOf(events)) writeRange(range);
    for (const Operation &operation : events.operations)
      if (operation.has_ended && operation.has_times) writeOperation(operation);
    for (BulkInsert *rows :
         {&add_event_, &add_argument_, &add_region_, &add_kernel_, &add_copy_, &add_memory_})
      rows->flush();
    next_stack_ += static_cast<int64_t>(events.calls.size());
    is_in_software_ = is_in_software_ || events.isInSoftware();
    for (auto &[pid, known] : processes_) known.end = std::max(known.end, endOf(events, pid));
    events_ = nullptr;
  }

  /// After the last.
  void finish() {
    Statement end(database_,
                  into("UPDATE `rocpd_info_process{}` SET fini = ?1, end = ?1 WHERE id = ?2"));
    for (const auto &[pid, known] : processes_) end.run(known.end, known.id);
    if (!is_in_software_) return;
    Statement note(database_, into("INSERT INTO `rocpd_metadata{0}` (tag, value) SELECT ?1, ?2 "
                                   "WHERE NOT EXISTS (SELECT 1 FROM `rocpd_metadata{0}` WHERE tag "
                                   "= ?1)"));
    note.run("fade::times", kSoftwareTimes);
  }

private:
  std::string into(std::string_view text) const { return fmt::format(fmt::runtime(text), suffix_); }
  int64_t last(const char *table) {
    return database_.integer(fmt::format("SELECT max(id) FROM `rocpd_{}{}`", table, suffix_));
  }

  int64_t string(std::string_view text) {
    if (const auto known = strings_.find(text); known != strings_.end()) return known->second;
    const auto at = strings_.try_emplace(std::string(text), 0).first;
    const std::string kept = validUtf8(text);
    find_string_.bindAll(kept);
    if (find_string_.step()) at->second = find_string_.integer(0);
    find_string_.reset();
    if (at->second != 0) return at->second;
    add_string_.run(kept);
    return at->second = last("string");
  }

  template <typename... T> int64_t add(const char *table, const char *columns, const T &...values) {
    std::string places = "?";
    for (std::size_t i = 1; i < sizeof...(values); ++i) places += ", ?";
    Statement statement(database_, fmt::format("INSERT INTO `rocpd_{}{}` ({}) VALUES ({})", table,
                                               suffix_, columns, places));
    statement.run(values...);
    return last(table);
  }

  int64_t nodeOf(const std::string &host) {
    Statement find(database_, into("SELECT id FROM `rocpd_info_node{}` WHERE machine_id = ?"));
    find.bindAll(host);
    if (find.step()) return find.integer(0);
    return add("info_node", "hash, machine_id, hostname", hashOf(host), host, host);
  }

  /// What there is of a process once it has a row.
  struct Known {
    int64_t id = 0, code = 0, processor = 0;
    std::map<uint32_t, int64_t> threads, gpus, queues;
    std::map<uint64_t, int64_t> streams;
    std::map<uint64_t, int64_t> kernels; ///< by the id of the name
    int64_t first_thread = 0;
    uint64_t end = 0; ///< of its last event
  };

  Known &processOf(uint32_t pid) {
    const auto [at, is_new] = processes_.try_emplace(pid);
    Known &known = at->second;
    if (!is_new) return known;
    const auto recorded = events_->processes.find(pid);
    const Process none;
    const Process &process = recorded == events_->processes.end() ? none : recorded->second;
    const uint64_t end = endOf(*events_, pid);
    known.id = add("info_process", "nid, ppid, pid, init, fini, start, end, command", node_,
                   process.parent_pid, pid, process.start_ns, end, process.start_ns, end,
                   validUtf8(process.program));
    known.processor = add("info_agent",
                          "nid, pid, type, absolute_index, logical_index, type_index, "
                          "name",
                          node_, known.id, "CPU", 0, 0, 0, "CPU");
    known.code = add("info_code_object", "nid, pid, agent_id, uri, storage_type", node_, known.id,
                     known.processor, "file://" + validUtf8(process.program), "FILE");
    return known;
  }

  int64_t threadOf(Known &known, uint32_t pid, uint32_t tid) {
    int64_t &id = known.threads[tid];
    if (id == 0) {
      const auto process = events_->processes.find(pid);
      id = add("info_thread", "nid, ppid, pid, tid, name", node_,
               process == events_->processes.end() ? 0 : process->second.parent_pid, known.id, tid,
               fmt::format("Thread {}", tid));
      if (known.first_thread == 0) known.first_thread = id;
    }
    return id;
  }

  int64_t gpuOf(Known &known, uint32_t gpu) {
    int64_t &id = known.gpus[gpu];
    if (id == 0)
      id = add("info_agent", "nid, pid, type, absolute_index, logical_index, type_index, name",
               node_, known.id, "GPU", gpu + 1, gpu + 1, gpu, fmt::format("GPU {}", gpu));
    return id;
  }
  int64_t queueOf(Known &known, uint32_t queue) {
    int64_t &id = known.queues[queue];
    if (id == 0)
      id = add("info_queue", "nid, pid, name", node_, known.id, fmt::format("Queue {}", queue));
    return id;
  }
  int64_t streamOf(Known &known, uint64_t stream) {
    int64_t &id = known.streams[stream];
    if (id == 0)
      id = add("info_stream", "nid, pid, name", node_, known.id,
               stream == 0 ? "Default Stream" : fmt::format("Stream {:#x}", stream));
    return id;
  }

  int64_t kernelOf(Known &known, const Operation &operation) {
    int64_t &id = known.kernels[operation.event.name];
    if (id != 0) return id;
    const std::string name = validUtf8(events_->textOf(operation.pid, operation.event.name));
    events::KernelEvent code{};
    if (const auto process = events_->processes.find(operation.pid);
        process != events_->processes.end())
      if (const auto at = process->second.kernels.find(operation.event.name);
          at != process->second.kernels.end())
        code = at->second;
    return id = add("info_kernel_symbol",
                    "nid, pid, code_object_id, kernel_name, display_name, kernarg_segment_size, "
                    "group_segment_size, private_segment_size, sgpr_count, arch_vgpr_count, "
                    "accum_vgpr_count",
                    node_, known.id, known.code, name, name, code.kernarg_bytes,
                    operation.event.lds_bytes, operation.event.private_bytes, code.sgprs,
                    code.vgprs, code.agprs);
  }

  /// Its number.
  int64_t event(std::string_view category, uint64_t stack, uint64_t parent,
                const std::string &extra = "{}") {
    add_event_.run(next_event_, string(category), stack, parent, extra);
    return next_event_++;
  }

  uint64_t stackOf(std::size_t call) const {
    return static_cast<uint64_t>(next_stack_) + static_cast<uint64_t>(call);
  }

  void writeCall(std::size_t index) {
    const Call &call = events_->calls[index];
    Known &known = processOf(call.thread.pid);
    const int64_t thread = threadOf(known, call.thread.pid, call.thread.tid);
    const auto parent = events_->callAt(call.parent);
    const std::string_view group = call.function->group;
    const LoggedCall logged = loggedCall(call, texts_);
    const uint64_t end = std::max(call.end_ns, call.start_ns);
    const char *state = call.isNameOnly() ? kPartial : call.hasReturned() ? nullptr : kOpen;
    const std::string extra = state ? jsonWith("state", state) : "{}";
    const int64_t id = event(group == "compiler" ? "HIP_COMPILER_API" : "HIP_RUNTIME_API",
                             stackOf(index), parent ? stackOf(*parent) : 0, extra);
    add_region_.run(node_, known.id, thread, call.start_ns, end, string(logged.function), id);
    writeArguments(call, logged, id);
    const bool is_allocation = isAllocation(logged.function);
    if (logged.error != "hipSuccess" || logged.to == 0 ||
        (!is_allocation && !isRelease(logged.function)))
      return;
    const int64_t memory = event("MEMORY_ALLOCATION", stackOf(index), stackOf(index));
    add_memory_.run(node_, known.id, thread, known.processor, is_allocation ? "ALLOC" : "FREE",
                    call.start_ns, end, logged.to, logged.bytes.value_or(0), memory);
  }

  /// "a=1 | b=2", as RPD has them, and the result.
  void writeArguments(const Call &call, const LoggedCall &logged, int64_t event) {
    const std::string all = call.isNameOnly() ? "" : argumentText(call, call.hip_major);
    int position = 0;
    for (std::string_view rest = all; !rest.empty();) {
      const std::size_t end = std::min(rest.find(" | "), rest.size());
      const std::string_view item = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 3, rest.size()));
      const std::size_t sign = item.find('=');
      if (sign == item.npos) continue;
      add_argument_.run(event, position++, "", validUtf8(item.substr(0, sign)),
                        validUtf8(item.substr(sign + 1)));
    }
    if (!logged.error.empty() && logged.error != "hipSuccess")
      add_argument_.run(event, position, "hipError_t", "result", std::string(logged.error));
  }

  void writeRange(const Range &range) {
    Known &known = processOf(range.thread.pid);
    const bool is_message = isMessage(range);
    const std::string text = is_message ? std::string(range.text) : range.whole();
    const int64_t id = event(!is_message                   ? "MARKER_CORE_RANGE_API"
                             : range.domain == kRcclDomain ? "RCCL_API"
                                                           : "MPI",
                             0, 0, jsonWith("message", text));
    add_region_.run(node_, known.id, threadOf(known, range.thread.pid, range.thread.tid),
                    range.start_ns, std::max(range.end_ns, range.start_ns), string(text), id);
  }

  void writeOperation(const Operation &operation) {
    Known &known = processOf(operation.pid);
    const OperationView view = viewOf(*events_, operation);
    int64_t thread = known.first_thread, stream = 0;
    uint64_t stack = 0;
    if (view.call) {
      const Call &call = events_->calls[*view.call];
      thread = threadOf(known, call.thread.pid, call.thread.tid);
      stream = streamOf(known, loggedCall(call, texts_).stream);
      stack = stackOf(*view.call);
    } else {
      stream = streamOf(known, 0);
      if (thread == 0) thread = threadOf(known, operation.pid, operation.pid);
    }
    const events::OperationEvent &what = operation.event;
    const int64_t gpu = gpuOf(known, what.gpu), queue = queueOf(known, what.queue);
    const int64_t id =
        event(operation.isKernel() ? "KERNEL_DISPATCH" : "MEMORY_COPY", stack, stack);
    if (operation.isKernel()) {
      std::string extra = "{}";
      if (view.purpose != Purpose::kernel) {
        JsonWriter json;
        json.object([&] {
          json.field("bytes", view.bytes.value_or(0));
          if (view.purpose == Purpose::copy) json.field("direction", nameOf(view.direction));
        });
        extra = json.take();
      }
      add_kernel_.run(node_, known.id, thread, gpu, kernelOf(known, operation), next_dispatch_++,
                      queue, stream, operation.start_ns, operation.end_ns, what.private_bytes,
                      what.lds_bytes, what.workgroup[0], what.workgroup[1], what.workgroup[2],
                      what.grid[0], what.grid[1], what.grid[2], string(""), id, extra);
      return;
    }
    using events::Direction;
    const bool to_host =
        view.direction == Direction::device_to_host || view.direction == Direction::host_to_host;
    const bool from_host =
        view.direction == Direction::host_to_device || view.direction == Direction::host_to_host;
    add_copy_.run(node_, known.id, thread, operation.start_ns, operation.end_ns,
                  string(copyName(view.direction)), to_host ? known.processor : gpu, view.to,
                  from_host ? known.processor : gpu, view.from, view.bytes.value_or(0), queue,
                  stream, string(""), id);
  }

  Database &database_;
  const std::string suffix_;
  const HostEvents *events_ = nullptr; ///< what is being written
  bool is_in_software_ = false;
  Texts texts_;
  Statement find_string_, add_string_;
  BulkInsert add_event_, add_argument_, add_region_, add_kernel_, add_copy_, add_memory_;
  std::map<std::string, int64_t, std::less<>> strings_;
  std::map<uint32_t, Known> processes_;
  int64_t node_ = 0, next_event_ = 1, next_stack_ = 1, next_dispatch_ = 1;
};

} // namespace

Status writeRocpd(const HostEvents &events, const std::string &path, const std::string &host) {
  return writeRocpd(EventSource(events), path, host);
}

Status writeRocpd(const EventSource &events, const std::string &path, const std::string &host) {
  auto opened = Database::open(path, Database::Access::write);
  if (!opened) return std::move(opened).error();
  Database &database = **opened;
  database.execute("PRAGMA foreign_keys = OFF");
  // What was recorded is still there if this process is killed meanwhile.
  database.execute("PRAGMA synchronous = OFF");
  const bool is_new = database.integer("SELECT count(*) FROM sqlite_master") == 0;
  // A new file has no name yet that others know, and may get it while it is written.
  if (is_new) database.execute("PRAGMA journal_mode = MEMORY");
  database.execute("BEGIN");
  bool is_flushed = false; // others read it: it is locked while something is written only
  std::optional<RocpdWriter> writer;
  const auto write = [&](const HostEvents &slice, uint64_t) {
    if (!writer) {
      if (is_new) database.execute(rocpdSchema(newGuid(slice.realtime_ns)));
      const std::string guid =
          database.text("SELECT value FROM rocpd_metadata WHERE tag = 'guid' ORDER BY id LIMIT 1");
      writer.emplace(database, guid, host);
    }
    if (database.hasFailed()) return;
    if (is_flushed) database.execute("BEGIN");
    writer->write(slice);
    if (is_flushed) database.execute("COMMIT");
  };
  const Status read = events.forEach(write, nullptr, [&] {
    if (!is_flushed && !database.hasFailed()) database.execute("COMMIT");
    is_flushed = true;
  });
  if (is_flushed) database.execute("BEGIN");
  if (writer && read && !database.hasFailed()) writer->finish();
  writer.reset();
  database.execute(read && !database.hasFailed() ? "COMMIT" : "ROLLBACK");
  return read ? database.status() : read;
}

} // namespace fade::host_trace
