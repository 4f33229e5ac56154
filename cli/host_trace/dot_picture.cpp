#include "host_trace/dot_picture.h"

#include "host_trace/log_text.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace fade::host_trace {
namespace {

/// A text in quotes: names come from files.
std::string dotText(std::string_view text) {
  std::string out = "\"";
  for (const char c : cli::printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

/// Lines of a label; what is in them is not looked at.
std::string label(std::initializer_list<std::string> lines) {
  std::string out;
  for (const std::string &line : lines) {
    const std::string one = dotText(line);
    out += (out.empty() ? "" : "\\n") + one.substr(1, one.size() - 2);
  }
  return '"' + out + '"';
}

/// The largest, by name; the others are put together under one name.
class Largest {
public:
  Largest(const Weights &all, std::size_t rows, std::string rest) : rest_(std::move(rest)) {
    std::vector<std::pair<uint64_t, std::string>> order;
    for (const auto &[name, weight] : all) order.emplace_back(weight.ns + weight.bytes, name);
    std::ranges::sort(order, std::greater());
    for (std::size_t i = 0; i < order.size() && (i < rows || order.size() <= rows + 1); ++i)
      shown_.emplace(order[i].second, order[i].second);
  }
  const std::string &operator()(const std::string &name) const {
    const auto at = shown_.find(name);
    return at == shown_.end() ? rest_ : at->second;
  }

private:
  std::map<std::string, std::string> shown_;
  std::string rest_;
};

class Picture {
public:
  explicit Picture(const char *name)
      : text_(fmt::format("digraph {} {{\n  rankdir=LR;\n  node [shape=box, "
                          "style=\"rounded,filled\", fillcolor=white, color=\"#606060\", "
                          "fontname=\"sans-serif\"];\n  edge [color=\"#808080\", "
                          "fontname=\"sans-serif\", fontsize=10];\n",
                          name)) {}
  void node(const std::string &id, const std::string &label, const std::string &more = "") {
    text_ += fmt::format("  {} [label={}{}];\n", dotText(id), label, more);
  }
  void edge(const std::string &from, const std::string &to, const std::string &text) {
    text_ += fmt::format("  {} -> {} [label={}];\n", dotText(from), dotText(to), dotText(text));
  }
  void rank(const std::vector<std::string> &ids) {
    text_ += "  { rank=same;";
    for (const std::string &id : ids) text_ += " " + dotText(id) + ";";
    text_ += " }\n";
  }
  std::string done() && { return std::move(text_) + "}\n"; }

private:
  std::string text_;
};

std::string times(uint64_t count) { return fmt::format("{} x", count); }

/// An engine or a kernel may do a copy; RPD files do not say which.
std::string placeOf(const LoggedOperation &operation) {
  if (operation.purpose == Purpose::copy) return fmt::format("GPU {}, copies", operation.gpu);
  return fmt::format("GPU {}, queue {}", operation.gpu, operation.queue);
}

} // namespace

std::string nameOfProcess(const TraceLog &log, uint32_t pid) {
  const std::string head = fmt::format("process {}: ", pid);
  for (const std::string &line : log.processes)
    if (line.starts_with(head)) {
      const std::string path = line.substr(head.size(), line.find(',') - head.size());
      return path.substr(path.rfind('/') + 1);
    }
  return "application";
}

namespace {
/// The call of the application itself that an operation comes from, if it is known.
std::optional<std::size_t> outermost(const TraceLog &log, const LoggedOperation &operation) {
  std::optional<std::size_t> call = operation.call;
  while (call && log.calls[*call].parent && *log.calls[*call].parent < *call)
    call = log.calls[*call].parent;
  return call;
}
} // namespace

Chain chainOf(const TraceLog &log, std::size_t rows) {
  Chain chain;
  Weights functions, kernels;
  for (const LoggedOperation &operation : log.operations) {
    kernels[nameOf(operation)].add(operation.duration());
    if (const auto call = outermost(log, operation))
      functions[std::string(log.calls[*call].function)].add(operation.duration());
  }
  const auto has_failed = [](const LoggedCall &call) {
    return !call.error.empty() && call.error != "hipSuccess" &&
           !call.function.ends_with("LastError"); // that is what another one has failed with
  };
  for (const LoggedCall &call : log.calls)
    if (!call.parent && has_failed(call)) functions[std::string(call.function)].add(0);
  Weights idle; // what asked for nothing on the GPU
  for (const LoggedCall &call : log.calls)
    if (const std::string name(call.function); !call.parent && !functions.contains(name))
      idle[name].add(call.has_returned ? call.end_ns - call.start_ns : 0);
  const std::size_t left = rows / 3;
  const Largest function(functions, rows, "other functions"), kernel(kernels, rows, "others"),
      idle_function(idle, left, "other functions");
  const auto nameFor = [&](std::string_view name) {
    const std::string text(name);
    return idle.contains(text) ? idle_function(text) : function(text);
  };
  for (const LoggedCall &call : log.calls) {
    const uint64_t ns = call.has_returned ? call.end_ns - call.start_ns : 0;
    if (call.parent) continue;
    const std::string name = nameFor(call.function);
    chain.functions[name].add(ns);
    if (has_failed(call)) ++chain.failures[name];
    chain.processes[call.pid].add(ns);
  }
  for (const LoggedOperation &operation : log.operations) {
    const std::string place = placeOf(operation), what = kernel(nameOf(operation));
    const uint64_t ns = operation.duration();
    chain.places[place].add(ns);
    chain.kernels[what].add(ns, operation.bytes);
    chain.ran[{place, what}].add(ns);
    const auto call = outermost(log, operation);
    const std::string from = call ? nameFor(log.calls[*call].function) : "without HIP";
    chain.asked[{from, place}].add(ns);
  }
  return chain;
}

std::string chainPicture(const TraceLog &log, std::size_t rows) {
  const Chain chain = chainOf(log, rows);
  Picture picture("chain");
  std::vector<std::string> applications, functions, places, kernels;
  for (const std::string &layer : log.layers) {
    picture.node("layer " + layer, label({layer, "between the application and HIP"}),
                 ", fillcolor=\"#fbd9c0\"");
    picture.edge("layer " + layer, "HIP", "");
  }
  uint64_t calls = 0;
  for (const auto &[pid, weight] : chain.processes) {
    const std::string id = fmt::format("process {}", pid);
    picture.node(id, label({nameOfProcess(log, pid), id}), ", fillcolor=\"#e4e4e4\"");
    if (log.layers.empty()) picture.edge(id, "HIP", times(weight.count));
    for (const std::string &layer : log.layers) picture.edge(id, "layer " + layer, "");
    applications.push_back(id);
    calls += weight.count;
  }
  picture.node("HIP", label({"HIP", fmt::format("{} calls", calls)}), ", fillcolor=\"#d5e5f7\"");
  for (const auto &[name, weight] : chain.functions) {
    const auto failed = chain.failures.find(name);
    if (failed == chain.failures.end())
      picture.node("function " + name, label({name, durationText(weight.ns)}),
                   ", fillcolor=\"#eaf2fb\"");
    else
      picture.node("function " + name,
                   label({name, durationText(weight.ns), fmt::format("{} failed", failed->second)}),
                   ", fillcolor=\"#eaf2fb\", color=\"#c00000\", fontcolor=\"#c00000\"");
    picture.edge("HIP", "function " + name, times(weight.count));
    functions.push_back("function " + name);
  }
  for (const auto &[name, weight] : chain.places) {
    picture.node("place " + name, label({"HSA", name, fmt::format("{} operations", weight.count)}),
                 ", fillcolor=\"#dcefdc\"");
    places.push_back("place " + name);
  }
  for (const auto &[name, weight] : chain.kernels) {
    picture.node(
        "runs " + name,
        label({nameCell(name), times(weight.count) + ", in all " + durationText(weight.ns)}),
        ", shape=component, style=filled, fillcolor=\"#fdf3cf\"");
    kernels.push_back("runs " + name);
  }
  for (const auto &[ends, weight] : chain.asked) {
    if (ends.first == "without HIP") picture.node("function without HIP", label({"without HIP"}));
    picture.edge("function " + ends.first, "place " + ends.second, times(weight.count));
  }
  for (const auto &[ends, weight] : chain.ran)
    picture.edge("place " + ends.first, "runs " + ends.second, times(weight.count));
  for (const auto *rank : {&applications, &functions, &places, &kernels})
    if (rank->size() > 1) picture.rank(*rank);
  return std::move(picture).done();
}

namespace {

/// Allocations as they come and go.
class Allocations {
public:
  void add(const LoggedCall &call) {
    if (call.to != 0 && call.bytes.value_or(0) != 0)
      live_[{call.pid, call.to}] = {*call.bytes, fmt::format("{} of {} at {:#x}", call.function,
                                                             cli::bytesText(*call.bytes), call.to)};
  }
  void remove(const LoggedCall &call) { live_.erase({call.pid, call.to}); }
  /// The one that an address is in; empty: none that is known.
  std::string at(uint32_t pid, uint64_t address) const {
    auto found = live_.upper_bound({pid, address});
    if (found == live_.begin()) return "";
    --found;
    const auto &[key, allocation] = *found;
    if (key.first != pid || address - key.second >= allocation.bytes) return "";
    return allocation.name;
  }

private:
  struct Allocation {
    uint64_t bytes = 0;
    std::string name;
  };
  std::map<std::pair<uint32_t, uint64_t>, Allocation> live_; ///< by process and address
};

bool movesData(std::string_view function) {
  return function.starts_with("hipMemcpy") || function.starts_with("hipDrvMemcpy");
}

/// "host memory" or "GPU memory", for an address that is in no allocation.
std::string elsewhere(std::string_view direction, bool is_destination) {
  if (direction == "host_to_host") return "host memory";
  if (direction == "device_to_device") return "GPU memory";
  if (direction == "host_to_device") return is_destination ? "GPU memory" : "host memory";
  if (direction == "device_to_host") return is_destination ? "host memory" : "GPU memory";
  return "memory";
}

} // namespace

std::string dataPicture(const TraceLog &log, std::size_t rows) {
  std::map<std::size_t, std::string_view> directions; // by call: what became of it says it best
  for (const LoggedOperation &operation : log.operations)
    if (operation.call && operation.purpose == Purpose::copy)
      directions.emplace(*operation.call, operation.direction);
  Allocations allocations;
  Edges edges;
  Weights ends;
  for (std::size_t i = 0; i < log.calls.size(); ++i) {
    const LoggedCall &call = log.calls[i];
    if (!call.error.empty() && call.error != "hipSuccess") continue;
    if (isAllocation(call.function)) allocations.add(call);
    if (isRelease(call.function)) allocations.remove(call);
    const bool is_fill = call.function.starts_with("hipMemset");
    if (call.parent || (!is_fill && !movesData(call.function))) continue;
    const auto direction = directions.find(i);
    const auto place = [&](uint64_t address, bool is_destination) {
      if (const std::string name = allocations.at(call.pid, address); !name.empty()) return name;
      if (is_fill) return std::string("GPU memory");
      return elsewhere(direction == directions.end() ? "" : direction->second, is_destination);
    };
    const std::string from = is_fill ? "fill" : place(call.from, false), to = place(call.to, true);
    const uint64_t bytes = call.bytes.value_or(0);
    edges[{from, to}].add(0, bytes);
    ends[from].add(0, bytes);
    ends[to].add(0, bytes);
  }
  const Largest shown(ends, rows, "other allocations");
  Picture picture("data");
  Edges merged;
  Weights nodes;
  for (const auto &[pair, weight] : edges) {
    Weight &edge = merged[{shown(pair.first), shown(pair.second)}];
    edge.count += weight.count;
    edge.bytes += weight.bytes;
    for (const std::string &end : {shown(pair.first), shown(pair.second)}) nodes[end].add(0);
  }
  for (const auto &[name, weight] : nodes)
    picture.node(name, label({name}),
                 name == "fill"                                  ? ", shape=plaintext"
                 : name == "host memory" || name == "GPU memory" ? ", fillcolor=\"#e4e4e4\""
                                                                 : ", fillcolor=\"#dcefdc\"");
  for (const auto &[pair, weight] : merged)
    picture.edge(pair.first, pair.second,
                 fmt::format("{}, {}", times(weight.count), cli::bytesText(weight.bytes)));
  return std::move(picture).done();
}

} // namespace fade::host_trace
