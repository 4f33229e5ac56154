#include "host_trace/call_log.h"

#include "analysis/host_events/api_text.h"
#include "analysis/host_events/operation_view.h"
#include "analysis/host_events/stack_names.h"
#include "analysis/host_events/thread_times.h"
#include "base/json_shapes.h"
#include "host_trace/findings.h"
#include "host_trace/line_file.h"

#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <utility>

namespace fade::host_trace {
namespace {

void writeThread(JsonWriter &json, const Thread &thread) {
  json.field("thread", thread.tid);
  json.field("pid", thread.pid);
}

/// How many there were in earlier slices.
struct Numbers {
  std::size_t calls = 0, operations = 0;
};

void writeCall(JsonWriter &json, const HostEvents &events, const LaunchedKernels &kernels,
               std::size_t index, bool is_host_copy, const Numbers &before) {
  const Call &call = events.calls[index];
  const unsigned major = events.hipMajor(call.thread.pid);
  json.object([&] {
    cli::putHead(json, "call");
    json.field("function", call.function->name);
    if (call.isNameOnly()) {
      json.field("args", nullptr);
      json.field("result", nullptr);
      json.field("partial", true);
    } else {
      writeArguments(json, call, major);
      writeResult(json, call, major);
    }
    json.field("start_ns", call.start_ns);
    if (call.hasReturned() || call.isNameOnly())
      json.field("end_ns", call.end_ns);
    else
      json.field("end_ns", nullptr);
    writeThread(json, call.thread);
    json.field("id", before.calls + index + 1);
    if (const auto parent = events.callAt(call.parent))
      json.field("parent", before.calls + *parent + 1);
    if (const std::string kernel = kernels.nameOf(index); !kernel.empty())
      json.field("kernel", kernel);
    cli::putUnlessNone(json, "module", kernels.moduleOf(index));
    if (is_host_copy) json.field("by_host", true);
    if (call.stack != 0) json.field("stack", fmt::format("{:016x}", call.stack));
  });
}

void writeStack(JsonWriter &json, uint64_t id, const std::vector<const StackFrame *> &frames) {
  json.object([&] {
    cli::putHead(json, "stack");
    json.field("id", fmt::format("{:016x}", id));
    json.list("frames", [&] {
      for (const StackFrame *frame : frames)
        json.object([&] {
          json.field("function", frame->function);
          cli::putUnlessNone(json, "file", frame->file);
          cli::putUnlessNone(json, "line", frame->line);
          cli::putUnlessNone(json, "library", frame->library);
          if (frame->address != 0) json.field("address", fmt::format("{:#x}", frame->address));
        });
    });
  });
}

void writeFact(JsonWriter &json, const FoundFact &fact) {
  json.object([&] {
    cli::putHead(json, "finding");
    json.field("kind", fact.kind);
    json.field("text", fact.text);
    json.field("count", fact.count);
    json.field("pid", fact.pid);
  });
}

void writeRequest(JsonWriter &json, const LoggedRequest &request) {
  json.object([&] {
    cli::putHead(json, "library");
    json.field("file", request.file);
    json.field("requested_by", request.who);
    json.field("time_ns", request.time_ns);
    writeThread(json, {request.pid, request.tid});
  });
}

void writeTimes(JsonWriter &json, const Operation &operation) {
  json.field("submitted_ns", operation.event.submitted_ns);
  if (operation.has_times) {
    json.field("start_ns", operation.start_ns);
    json.field("end_ns", operation.end_ns);
  } else {
    json.field("start_ns", nullptr);
    json.field("end_ns", nullptr);
  }
  if (!operation.has_ended) json.field("complete", false);
  if (operation.has_failed) json.field("failed", true);
}

void writeRegisters(JsonWriter &json, const HostEvents &events, const Operation &operation) {
  const auto process = events.processes.find(operation.pid);
  if (process == events.processes.end()) return;
  const auto kernel = process->second.kernels.find(operation.event.name);
  if (kernel == process->second.kernels.end()) return;
  json.field("vgprs", kernel->second.vgprs);
  cli::putUnlessNone(json, "agprs", kernel->second.agprs);
  json.field("sgprs", kernel->second.sgprs);
  cli::putUnlessNone(json, "spilled_vgprs", kernel->second.spilled_vgprs);
  cli::putUnlessNone(json, "spilled_sgprs", kernel->second.spilled_sgprs);
}

void writeKernel(JsonWriter &json, const events::OperationEvent &event) {
  const auto list = [&](const char *key, const uint32_t(&values)[3]) {
    cli::putNumbers(json, key, values);
  };
  list("grid", event.grid);
  list("workgroup", event.workgroup);
  json.field("lds", event.lds_bytes);
  json.field("private", event.private_bytes);
}

void writeAddress(JsonWriter &json, const char *key, uint64_t address) {
  if (address != 0) json.field(key, fmt::format("{:#x}", address));
}

void writeOperation(JsonWriter &json, const HostEvents &events, std::size_t index,
                    const Numbers &before) {
  const Operation &operation = events.operations[index];
  const events::OperationEvent &event = operation.event;
  const OperationView view = viewOf(events, operation);
  constexpr const char *purposes[] = {"kernel", "copy", "fill"};
  json.object([&] {
    cli::putHead(json, "operation");
    json.field("kind", purposes[static_cast<int>(view.purpose)]);
    cli::putUnlessNone(json, "kernel", view.kernel);
    cli::putUnlessNone(json, "module", view.module);
    json.field("agent", event.agent);
    json.field("gpu", unsigned{event.gpu});
    if (operation.isKernel()) {
      json.field("queue", event.queue);
      json.field("packet", event.sequence);
      writeKernel(json, event);
      writeRegisters(json, events, operation);
    } else if ((event.flags & events::kOperationEngine) != 0) {
      json.field("engine", event.engine);
    }
    if (view.purpose != Purpose::kernel) {
      if (view.direction != events::Direction::none)
        json.field("direction", nameOf(view.direction));
      if (view.bytes) json.field("bytes", *view.bytes);
      writeAddress(json, "to", view.to);
      writeAddress(json, "from", view.from);
    }
    writeTimes(json, operation);
    json.field("pid", operation.pid);
    json.field("id", before.operations + index + 1);
    if (view.call) json.field("call", before.calls + *view.call + 1);
  });
}

void writeRange(JsonWriter &json, const Range &range) {
  json.object([&] {
    cli::putHead(json, "marker");
    json.field("text", range.text);
    if (range.is_named) {
      json.field("domain", range.domain);
      json.field("args", range.arguments);
    }
    json.field("start_ns", range.start_ns);
    json.field("end_ns", range.end_ns);
    writeThread(json, range.thread);
    if (!range.is_nested) json.field("overlaps", true);
  });
}

void writeProcess(JsonWriter &json, uint32_t pid, const Process &process) {
  json.object([&] {
    cli::putHead(json, "process");
    json.field("pid", pid);
    json.field("parent", process.parent_pid);
    json.field("program", process.program);
    json.field("hip", process.hip_library);
  });
}

/// The file, while it is written slice by slice.
class Log {
public:
  Log(const std::string &path, LogScope scope) : file_(path), scope_(scope) {}

  void write(const HostEvents &slice, bool is_last) {
    total_ = {before_.calls + slice.calls.size(), before_.operations + slice.operations.size()};
    lost_ = slice.lost;
    is_in_software_ = is_in_software_ || slice.isInSoftware();
    if (scope_ == LogScope::everything) {
      if (!std::exchange(has_begun_, true)) {
        is_padded_ = !is_last;
        file_.put(is_padded_ ? paddedHead() : head());
      }
      writeProcesses(slice);
    }
    writeCalls(slice);
    if (scope_ == LogScope::everything) {
      for (std::size_t i = 0; i < slice.operations.size(); ++i) {
        writeOperation(file_.json, slice, i, before_);
        file_.lineEnded();
      }
      for (const Range &range : rangesOf(slice)) {
        writeRange(file_.json, range);
        file_.lineEnded();
      }
    }
    before_ = total_;
  }

  /// Everything so far is readable.
  void flush() {
    complete();
    file_.flush("");
  }

  Status finish(const EventSource::Facts &facts) {
    for (const LoggedRequest &request : facts.requests) {
      writeRequest(file_.json, request);
      file_.lineEnded();
    }
    for (const FoundFact &fact : facts.found) {
      writeFact(file_.json, fact);
      file_.lineEnded();
    }
    complete();
    return file_.close();
  }

private:
  /// The first line says how many of everything there are. If that is not known yet, it has room
  /// for it.
  static constexpr std::size_t kHeadBytes = 512;
  static_assert(kSoftwareTimes.size() < kHeadBytes - 200);

  std::string head() const {
    JsonWriter json;
    json.object([&] {
      cli::putHead(json, "trace");
      json.field("calls", total_.calls);
      json.field("operations", total_.operations);
      json.field("lost", lost_);
      if (is_in_software_) {
        json.field("software", true);
        json.field("times", kSoftwareTimes);
      }
    });
    return json.take();
  }
  std::string paddedHead() const {
    std::string line = head();
    if (line.size() < kHeadBytes) line.insert(line.size() - 1, kHeadBytes - line.size(), ' ');
    return line;
  }
  void complete() {
    if (is_padded_) file_.replaceBegin(paddedHead());
  }

  /// Those that are new.
  void writeProcesses(const HostEvents &slice) {
    for (const auto &[pid, process] : slice.processes)
      if (!process.program.empty() && processes_.insert(pid).second)
        writeProcess(file_.json, pid, process);
  }

  void writeCalls(const HostEvents &slice) {
    const LaunchedKernels kernels(slice);
    const std::set<std::size_t> host_copies = host_copies_.in(slice);
    StackNames names(slice);
    for (std::size_t i = 0; i < slice.calls.size(); ++i) {
      const Call &call = slice.calls[i];
      if (call.stack != 0 && stacks_.insert(call.stack).second) {
        writeStack(file_.json, call.stack,
                   names.framesOf(call.thread.pid, call.stack, call.start_ns));
        file_.lineEnded();
      }
      writeCall(file_.json, slice, kernels, i, host_copies.contains(i), before_);
      file_.lineEnded();
    }
  }

  LineFile file_;
  const LogScope scope_;
  bool has_begun_ = false;
  bool is_padded_ = false; ///< the first line is to be completed
  Numbers before_, total_; ///< without the last slice, and with it
  uint64_t lost_ = 0;
  bool is_in_software_ = false;
  std::set<uint32_t> processes_;
  std::set<uint64_t> stacks_; ///< before the first call that has it
  HostCopies host_copies_;
};

} // namespace

Status writeLog(const EventSource &events, const std::string &path, LogScope scope) {
  Log log(path, scope);
  EventSource::Facts facts;
  const auto take = [&](const HostEvents &slice, uint64_t until) {
    log.write(slice, until == UINT64_MAX);
  };
  std::error_code error;
  const bool is_written_once =
      std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error);
  const Status read = is_written_once ? events.forEachWhole(take, &facts)
                                      : events.forEach(take, &facts, [&] { log.flush(); });
  Status written = log.finish(facts);
  return read ? std::move(written) : read;
}

} // namespace fade::host_trace
