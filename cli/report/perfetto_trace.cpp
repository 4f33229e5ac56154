#include "report/perfetto_trace.h"

#include "fade/json_writer.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace fade::report {
namespace {

/// Exact to the nanosecond for runs of weeks.
double micros(uint64_t ns) { return static_cast<double>(ns) / 1000; }

/// Slices of one track must not overlap: dispatches of a queue that run at the same time go to
/// tracks of their own.
class Tracks {
public:
  /// The number of a track that is free from `start` to `end`, given in order of starts.
  uint64_t place(const Dispatch &d) {
    auto &rows = rows_[{d.agent, d.queue}];
    std::size_t row = 0;
    while (row < rows.size() && rows[row].busy_until > *d.start_ns) ++row;
    if (row == rows.size()) rows.push_back({next_++, 0});
    rows[row].busy_until = *d.end_ns;
    return rows[row].number;
  }
  template <typename F> void forEach(F &&f) const {
    for (const auto &[queue, rows] : rows_)
      for (std::size_t i = 0; i < rows.size(); ++i) f(queue.first, queue.second, i, rows[i].number);
  }

private:
  struct Row {
    uint64_t number = 0, busy_until = 0;
  };
  std::map<std::pair<uint64_t, uint64_t>, std::vector<Row>> rows_;
  uint64_t next_ = 1;
};

void writeArguments(JsonWriter &json, const Dispatch &d) {
  const auto sizes = [&](const char *key, const std::array<uint64_t, 3> &values) {
    json.list(key, [&] {
      for (const uint64_t value : values) json.value(value);
    });
  };
  json.field("dispatch_id", d.id);
  sizes("grid", d.grid);
  sizes("workgroup", d.workgroup);
  json.field("lds", d.lds);
  json.field("variant", d.variant);
  json.field("instrumented", d.instrumented);
  json.field("complete", d.complete);
  json.field("records", d.records);
  json.field("bytes", d.bytes);
  json.field("dropped", d.dropped);
  if (!d.has_memory) return;
  if (d.lines_used != 0)
    json.field("efficiency", std::min(1.0, static_cast<double>(d.lines_needed) /
                                               static_cast<double>(d.lines_used)));
  json.field("lines_needed", d.lines_needed);
  json.field("lines_used", d.lines_used);
  json.field("lds_conflicts", d.conflicts);
}

void writeSlice(JsonWriter &json, const std::string &kernel, const Dispatch &d, uint64_t track,
                uint64_t first) {
  json.object([&] {
    json.field("ph", "X");
    json.field("cat", "dispatch");
    json.field("name", kernel);
    json.field("pid", d.agent);
    json.field("tid", track);
    json.field("ts", micros(*d.start_ns - first));
    json.field("dur", micros(*d.end_ns - *d.start_ns));
    json.object("args", [&] { writeArguments(json, d); });
  });
}

void writeCounter(JsonWriter &json, const char *name, const char *unit, uint64_t agent, uint64_t at,
                  double value) {
  json.object([&] {
    json.field("ph", "C");
    json.field("name", name);
    json.field("pid", agent);
    json.field("ts", micros(at));
    // What is left of a sum that should be zero is zero.
    json.object("args", [&] { json.field(unit, value < 1e-9 ? 0.0 : value); });
  });
}

/// Bytes and records per microsecond of all dispatches that run at a time, spread evenly over each.
void writeTraffic(JsonWriter &json, const std::vector<const Dispatch *> &order, uint64_t first) {
  struct Rate {
    double bytes = 0, records = 0;
  };
  std::map<uint64_t, std::map<uint64_t, Rate>> by_agent;
  for (const Dispatch *d : order) {
    const uint64_t length = *d->end_ns - *d->start_ns;
    if (d->bytes == 0 || length == 0) continue;
    auto &changes = by_agent[d->agent];
    for (const auto &[at, sign] : {std::pair(*d->start_ns, 1.0), std::pair(*d->end_ns, -1.0)}) {
      changes[at].bytes += sign * static_cast<double>(d->bytes) / micros(length);
      changes[at].records += sign * static_cast<double>(d->records) / micros(length);
    }
  }
  for (const auto &[agent, changes] : by_agent) {
    Rate now;
    for (const auto &[at, change] : changes) {
      now.bytes += change.bytes;
      now.records += change.records;
      writeCounter(json, "ring traffic", "bytes per us", agent, at - first, now.bytes);
      writeCounter(json, "ring records", "records per us", agent, at - first, now.records);
    }
  }
}

void writeName(JsonWriter &json, const char *what, uint64_t agent, uint64_t track,
               const std::string &name) {
  json.object([&] {
    json.field("ph", "M");
    json.field("name", what);
    json.field("pid", agent);
    json.field("tid", track);
    json.object("args", [&] { json.field("name", name); });
  });
}

void writeNames(JsonWriter &json, const Tracks &tracks) {
  std::set<uint64_t> agents;
  tracks.forEach([&](uint64_t agent, uint64_t queue, std::size_t row, uint64_t number) {
    if (agents.insert(agent).second)
      writeName(json, "process_name", agent, 0, fmt::format("agent {}", agent));
    writeName(json, "thread_name", agent, number,
              row == 0 ? fmt::format("queue {}", queue)
                       : fmt::format("queue {} ({})", queue, row + 1));
  });
}

} // namespace

std::string perfettoTrace(const RunLog &log) {
  std::vector<const Dispatch *> order;
  for (const Dispatch &d : log.dispatches)
    if (d.hasTimes()) order.push_back(&d);
  std::ranges::sort(order, {}, [](const Dispatch *d) { return std::pair(*d->start_ns, d->id); });
  const uint64_t first = order.empty() ? 0 : *order.front()->start_ns;
  Tracks tracks;
  JsonWriter json;
  json.object([&] {
    json.field("displayTimeUnit", "ns");
    json.object("otherData", [&] {
      json.field("made_by", "fadeprobe " FADE_VERSION);
      json.field("first_start_ns", std::to_string(first));
      json.field("dispatches_without_times", log.dispatches.size() - order.size());
    });
    json.list("traceEvents", [&] {
      for (const Dispatch *d : order)
        writeSlice(json, log.kernels[d->kernel].name, *d, tracks.place(*d), first);
      writeTraffic(json, order, first);
      writeNames(json, tracks);
    });
  });
  return json.take();
}

} // namespace fade::report
