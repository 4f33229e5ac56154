#include "stream/trace_writer.h"

#include "base/diagnostics.h"

#include <algorithm>
#include <cstring>

namespace fade {

using trace::Kind;

namespace {

constexpr std::size_t kWriteAt = 1 << 20;

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
    warn("{} already holds a recording: this process records to {}", name, file.path());
  return std::unique_ptr<TraceWriter>(new TraceWriter(std::move(file)));
}

void TraceWriter::flushLocked() noexcept {
  if (failed_ || !file_.is()) return;
  if (const int error = file_.write(buffer_)) {
    failed_ = true;
    warn("cannot record to {}: {}; the recording ends here", file_.path(), std::strerror(error));
  }
  buffer_.clear();
}

void TraceWriter::chunkLocked(Kind kind, std::string_view head, std::span<const std::byte> body) {
  if (failed_) return;
  const std::size_t size = head.size() + body.size();
  const std::size_t padding = (8 - size % 8) % 8;
  // A chunk is there as a whole or not at all.
  buffer_.reserve(buffer_.size() + sizeof(trace::ChunkHeader) + size + padding);
  buffer_ += textOf(trace::ChunkHeader{static_cast<uint32_t>(kind), 0, size});
  buffer_ += head;
  buffer_ += textOf(body);
  buffer_.append(padding, '\0');
  if (buffer_.size() >= kWriteAt) flushLocked();
}

/// Writes a chunk that is there once. If it cannot be, it is still to be written.
template <typename F>
void TraceWriter::once(std::unordered_set<uint64_t> &known, uint64_t key, F &&f) {
  const auto [at, is_new] = known.insert(key);
  if (!is_new) return;
  try {
    f();
  } catch (...) {
    known.erase(at);
    throw;
  }
}

void TraceWriter::kernelLocked(const KernelInfo &kernel) {
  const ModuleSites *sites = kernel.sites();
  if (sites)
    once(modules_, sites->table.moduleId(), [&] {
      trace::Writer w;
      w.put(sites->table.moduleId());
      w.put(sites->table.modes());
      w.putString(sites->file);
      chunkLocked(Kind::sites, w.bytes(), sites->table.bytes());
    });
  once(kernels_, uint64_t{kernel.id()} << 1 | (sites ? 1 : 0), [&] {
    trace::Writer w;
    w.put(kernel.id());
    w.putString(kernel.name());
    w.putString(kernel.symbol());
    w.putString(kernel.target());
    w.put(sites ? sites->table.moduleId() : 0);
    if (!kernel.module().empty()) w.putString(kernel.module());
    chunkLocked(Kind::kernel, w.bytes());
  });
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
    w.put(d.clock_count);
    w.putBytes(d.clocks, d.clock_count * sizeof(fade_u64));
    w.put(d.wave_instructions);
    w.put(d.lane_instructions);
  } else {
    w.put(uint64_t{d.argument_count});
    for (const fade_argument &one : dispatch.arguments.list) {
      w.put(trace::ArgumentFields{one.offset, one.size, one.flags, one.allocation, one.value});
      w.putString(one.name);
      w.putString(one.type);
    }
  }
  chunkLocked(kind, w.bytes());
}

void TraceWriter::dispatchBegin(const DispatchRecord &dispatch) {
  const std::lock_guard lock(mutex_);
  if (dispatch.allocations && dispatch.allocations != allocations_.lock()) {
    trace::Writer w;
    const auto &[list, names, origins] = *dispatch.allocations;
    w.put(uint64_t{list.size()});
    w.putBytes(list.data(), list.size() * sizeof(fade_allocation));
    chunkLocked(Kind::allocations, w.bytes(), std::as_bytes(std::span(names)));
    if (!origins.empty()) {
      trace::Writer o;
      o.put(uint64_t{origins.size()});
      o.putBytes(origins.data(), origins.size() * sizeof(uint32_t));
      chunkLocked(Kind::origins, o.bytes());
    }
    allocations_ = dispatch.allocations;
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

void TraceWriter::filter(const WorkgroupFilter &filter) {
  const std::lock_guard lock(mutex_);
  trace::Writer w;
  w.put(filter.first);
  w.put(filter.last);
  w.put(filter.sample);
  w.put(filter.sample_executions);
  chunkLocked(Kind::filter, w.bytes());
}

void TraceWriter::run(const RunFacts &facts) {
  const std::lock_guard lock(mutex_);
  trace::Writer w;
  facts.write(w);
  chunkLocked(Kind::run, w.bytes());
}

void TraceWriter::close() noexcept {
  const std::lock_guard lock(mutex_);
  if (!file_.is()) return;
  flushLocked(); // before: the last chunk then needs little room
  try {
    chunkLocked(Kind::finish, "");
  } catch (...) {
    warn("the end of the recording in {} is missing: {}", file_.path(), whatWasThrown());
  }
  flushLocked();
  if (const int error = file_.close(); error != 0 && !failed_)
    warn("cannot record to {}: {}", file_.path(), std::strerror(error));
}

} // namespace fade
