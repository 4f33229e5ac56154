#include "stream/trace_writer.h"

#include "base/diagnostics.h"

#include <algorithm>
#include <cstring>

namespace fade {

using trace::Kind;

namespace {

constexpr std::size_t kFlushAt = 1 << 20;

std::string_view textOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}
template <typename T> std::string_view textOf(const T &value) {
  return {reinterpret_cast<const char *>(&value), sizeof value};
}

} // namespace

std::unique_ptr<TraceWriter> TraceWriter::open(const std::string &path) {
  const std::string name = expandPath(path);
  trace::FileHeader header;
  header.message_version = FADE_MESSAGE_VERSION;
  OwnFile file = OwnFile::openAlone(name, textOf(header));
  if (!file.is()) {
    warn("cannot record to {}: {}", name, std::strerror(errno));
    return nullptr;
  }
  if (file.path() != name)
    warn("there is a recording in {} already: this process records to {}", name, file.path());
  return std::unique_ptr<TraceWriter>(new TraceWriter(std::move(file)));
}

void TraceWriter::put(std::string_view bytes) {
  if (failed_) return;
  buffer_ += bytes;
  if (buffer_.size() >= kFlushAt) flushLocked();
}

void TraceWriter::flushLocked() {
  if (failed_ || !file_.is()) return;
  if (const int error = file_.write(buffer_)) {
    failed_ = true;
    warn("cannot record to {}: {}; the recording ends here", file_.path(), std::strerror(error));
  }
  buffer_.clear();
}

void TraceWriter::chunkLocked(Kind kind, std::string_view head, std::span<const std::byte> body) {
  const std::size_t size = head.size() + body.size();
  put(textOf(trace::ChunkHeader{static_cast<uint32_t>(kind), 0, size}));
  put(head);
  put(textOf(body));
  constexpr std::string_view zeros("\0\0\0\0\0\0\0", 7);
  put(zeros.substr(0, (8 - size % 8) % 8));
}

void TraceWriter::kernelLocked(const KernelInfo &kernel) {
  const ModuleSites *sites = kernel.sites();
  if (sites && modules_.insert(sites->module_id).second) {
    trace::Writer w;
    w.put(sites->module_id);
    w.put(sites->modes);
    w.putString(sites->file);
    chunkLocked(Kind::sites, w.bytes(), sites->bytes);
  }
  if (!kernels_.insert(uint64_t{kernel.id()} << 1 | (sites ? 1 : 0)).second) return;
  trace::Writer w;
  w.put(kernel.id());
  w.putString(kernel.name());
  w.putString(kernel.symbol());
  w.putString(kernel.target());
  w.put(sites ? sites->module_id : 0);
  chunkLocked(Kind::kernel, w.bytes());
}

void TraceWriter::dispatchLocked(Kind kind, const DispatchRecord &dispatch) {
  kernelLocked(*dispatch.kernel);
  const fade_dispatch &d = dispatch.view;
  trace::DispatchFields fields;
  fields.id = d.id;
  fields.queue = d.queue;
  fields.start_ns = d.start_ns;
  fields.end_ns = d.end_ns;
  fields.records = d.records;
  fields.bytes = d.bytes;
  fields.dropped = d.dropped;
  fields.kernel = d.kernel->id;
  fields.flags = d.flags;
  fields.agent = d.agent;
  fields.group_segment = d.group_segment;
  std::copy_n(d.grid, 3, fields.grid);
  std::copy_n(d.workgroup, 3, fields.workgroup);
  trace::Writer w;
  w.put(fields);
  w.putString(d.variant);
  if (kind == Kind::end) {
    w.put(d.counter_count);
    w.putBytes(d.counters, d.counter_count * sizeof(fade_counter));
  }
  chunkLocked(kind, w.bytes());
}

void TraceWriter::dispatchBegin(const DispatchRecord &dispatch) {
  const std::lock_guard lock(mutex_);
  if (dispatch.allocations && dispatch.allocations != allocations_.lock()) {
    allocations_ = dispatch.allocations;
    trace::Writer w;
    const auto &[list, names] = *dispatch.allocations;
    w.put(uint64_t{list.size()});
    w.putBytes(list.data(), list.size() * sizeof(fade_allocation));
    chunkLocked(Kind::allocations, w.bytes(), std::as_bytes(std::span(names)));
  }
  dispatchLocked(Kind::begin, dispatch);
}

void TraceWriter::records(const DispatchRecord &dispatch, uint64_t position,
                          std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  trace::Writer w;
  w.put(dispatch.view.id);
  w.put(position);
  chunkLocked(Kind::records, w.bytes(), bytes);
}

void TraceWriter::dispatchEnd(const DispatchRecord &dispatch) {
  const std::lock_guard lock(mutex_);
  dispatchLocked(Kind::end, dispatch);
}

void TraceWriter::skipped(const std::string &kernel, const std::string &reason) {
  const std::lock_guard lock(mutex_);
  trace::Writer w;
  w.putString(kernel);
  w.putString(reason);
  chunkLocked(Kind::skipped, w.bytes());
}

void TraceWriter::close() {
  const std::lock_guard lock(mutex_);
  if (!file_.is()) return;
  chunkLocked(Kind::finish, "");
  flushLocked();
  const std::string path = file_.path();
  if (const int error = file_.close(); error != 0 && !failed_)
    warn("cannot record to {}: {}", path, std::strerror(error));
}

} // namespace fade
