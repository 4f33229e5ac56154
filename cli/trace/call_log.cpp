#include "trace/call_log.h"

#include "fade/json_writer.h"
#include "trace/api_text.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace fade::host_trace {
namespace {

constexpr std::size_t kWriteAt = 1 << 16;

/// Lines on their way to a file.
class LineFile {
public:
  explicit LineFile(const std::string &path) : path_(path), file_(std::fopen(path.c_str(), "w")) {
    if (!file_) error_ = errno;
  }
  ~LineFile() {
    if (file_) std::fclose(file_);
  }
  LineFile(const LineFile &) = delete;
  LineFile &operator=(const LineFile &) = delete;

  JsonWriter json;

  void lineEnded() {
    if (json.text().size() >= kWriteAt) write();
  }
  Status close() {
    write();
    if (file_ && std::fclose(file_) != 0 && error_ == 0) error_ = errno;
    file_ = nullptr;
    if (error_ != 0) return Error{path_, "", 0, std::strerror(error_)};
    return Done{};
  }

private:
  void write() {
    const std::string text = json.take();
    if (error_ == 0 && std::fwrite(text.data(), 1, text.size(), file_) != text.size())
      error_ = errno;
  }

  const std::string path_;
  std::FILE *file_;
  int error_ = 0;
};

unsigned hipMajor(const HostEvents &events, uint32_t pid) {
  const auto process = events.processes.find(pid);
  return process == events.processes.end() ? 0 : process->second.hip_major;
}

void writeThread(JsonWriter &json, const Thread &thread) {
  json.field("thread", thread.tid);
  json.field("pid", thread.pid);
}

void writeCall(JsonWriter &json, const HostEvents &events, std::size_t index) {
  const Call &call = events.calls[index];
  const unsigned major = hipMajor(events, call.thread.pid);
  json.object([&] {
    json.field("type", "call");
    json.field("version", 1);
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
    json.field("id", index + 1);
    if (const auto parent = events.callAt(call.parent)) json.field("parent", *parent + 1);
  });
}

} // namespace

Status writeLog(const HostEvents &events, const std::string &path, LogScope) {
  LineFile file(path);
  for (std::size_t i = 0; i < events.calls.size(); ++i) {
    writeCall(file.json, events, i);
    file.lineEnded();
  }
  return file.close();
}

} // namespace fade::host_trace
