#include "profiles/dag_summary.h"

#include "base/text_layout.h"
#include "fade/json_writer.h"
#include "host_trace/log_text.h"
#include "profiles/json_document.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace fade::profile {
namespace {

/// A call that gives work to the GPU is more than one node.
std::size_t callsOf(const std::vector<ProgramNode> &nodes, const std::vector<uint32_t> &members) {
  std::set<std::pair<uint32_t, uint64_t>> calls;
  std::size_t others = 0;
  for (const uint32_t node : members)
    if (nodes[node].call == 0)
      ++others;
    else
      calls.emplace(nodes[node].pid, nodes[node].call);
  return calls.size() + others;
}

/// Edges of the path that are guesses, where no other one says the same.
std::size_t guessesOn(const CriticalPath &path, const Dag &dag) {
  std::size_t guesses = 0;
  for (std::size_t i = 1; i < path.nodes.size(); ++i)
    guesses += std::ranges::all_of(dag.edgesInto(path.nodes[i]), [&](const Edge &edge) {
      return edge.is_guess || edge.from != path.nodes[i - 1];
    });
  return guesses;
}

} // namespace

void sortWork(std::vector<WorkSummary> &work) {
  std::ranges::sort(work, [](const WorkSummary &a, const WorkSummary &b) {
    return std::tuple(a.critical_ns, a.total_ns, b.name) >
           std::tuple(b.critical_ns, b.total_ns, a.name);
  });
}

DagSummary summarize(const ProgramDag &program, std::size_t steps) {
  DagSummary summary;
  const std::vector<ProgramNode> &nodes = program.nodes;
  summary.path = criticalPathOf(program.dag);
  summary.is_critical.resize(nodes.size(), false);
  for (const uint32_t node : summary.path.nodes) summary.is_critical[node] = true;
  std::map<std::pair<NodeKind, uint32_t>, std::vector<uint32_t>> groups;
  std::vector<bool> is_on_gpu(nodes.size());
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    groups[{nodes[i].kind, nodes[i].name}].push_back(i);
    is_on_gpu[i] = nodes[i].isOnGpu();
    if (!summary.is_critical[i]) continue;
    summary.critical_ns[static_cast<std::size_t>(nodes[i].kind)] += program.dag.weight(i).work_ns;
    summary.critical_delay_ns += program.dag.weight(i).delay_ns;
  }
  summary.critical_guesses = guessesOn(summary.path, program.dag);
  summary.overlap_ns = possibleOverlap(program.dag, is_on_gpu);
  for (const auto &[key, members] : groups) {
    WorkSummary &work = summary.work.emplace_back();
    work.kind = key.first;
    work.name = key.second;
    work.count = key.first == NodeKind::call ? callsOf(nodes, members) : members.size();
    for (const uint32_t node : members) {
      work.total_ns += program.dag.weight(node).work_ns;
      if (summary.is_critical[node]) work.critical_ns += program.dag.weight(node).work_ns;
    }
  }
  summary.numbers = {
      nodes.size(), program.dag.edges().size(),
      static_cast<std::size_t>(std::ranges::count(program.dag.edges(), true, &Edge::is_guess)),
      summary.path.nodes.size()};
  sortWork(summary.work);
  constexpr std::size_t always = 20;
  const std::size_t pass = 2 * kFaster.size() * (nodes.size() + program.dag.edges().size() + 1);
  std::size_t left = std::max(always, steps / pass);
  for (WorkSummary &work : summary.work) {
    if (work.kind < NodeKind::kernel) continue;
    if (work.critical_ns == 0) work.gain_ns = Gains{}; // something else decides
    if (work.critical_ns == 0 || left == 0) continue;
    --left;
    const auto &members = groups[{work.kind, work.name}];
    Gains gains{};
    for (std::size_t i = 0; i < kFaster.size(); ++i)
      gains[i] = gainOf(program.dag, members, 1.0 - kFaster[i] / 100.0);
    work.gain_ns = gains;
  }
  return summary;
}

std::string textOf(const ProgramDag &program, const DagSummary &summary, std::size_t rows) {
  using host_trace::durationText;
  const auto share = [&](uint64_t ns) {
    return summary.path.span_ns == 0
               ? 0.0
               : 100.0 * static_cast<double>(ns) / static_cast<double>(summary.path.span_ns);
  };
  const DagNumbers &numbers = summary.numbers;
  std::string text = fmt::format("critical path: {} of {} nodes, {}\n", numbers.critical_nodes,
                                 numbers.nodes, durationText(summary.path.span_ns));
  if (summary.parts > 1)
    text +=
        fmt::format("  (a long run: the sum of {} parts, each with a critical path of its own)\n",
                    summary.parts);
  if (!program.times.empty()) text += fmt::format("  ({})\n", program.times);
  const auto line = [&](std::string_view what, uint64_t ns) {
    text += fmt::format("  {:<34}{:>10}{:>7.1f} %\n", what, durationText(ns), share(ns));
  };
  const auto &kinds = summary.critical_ns;
  line("kernels", kinds[static_cast<std::size_t>(NodeKind::kernel)]);
  line("copies and fills", kinds[static_cast<std::size_t>(NodeKind::copy)] +
                               kinds[static_cast<std::size_t>(NodeKind::fill)]);
  line("HIP calls", kinds[static_cast<std::size_t>(NodeKind::call)]);
  line("the program itself, between calls", kinds[static_cast<std::size_t>(NodeKind::host)]);
  line("submission and completion", summary.critical_delay_ns);
  if (summary.critical_guesses != 0)
    text += fmt::format("{} of its {} steps {} guessed: their dependencies were not recorded\n",
                        summary.critical_guesses, numbers.critical_nodes - summary.parts,
                        summary.critical_guesses == 1 ? "is" : "are");
  text += fmt::format("if the GPU could start everything as soon as streams and events allow: {} "
                      "less ({:.1f} %)\n",
                      durationText(summary.overlap_ns), share(summary.overlap_ns));
  if (program.left_out != 0)
    text += fmt::format(
        "{} operation{} of the GPU without times {} left out: still running when the "
        "process ended\n",
        program.left_out, program.left_out == 1 ? "" : "s", program.left_out == 1 ? "is" : "are");
  constexpr std::size_t width = 44;
  text += fmt::format("\n{:<{}}{:>8}{:>11}{:>11}   gain if faster by{:>7}{:>11}{:>11}\n", "work",
                      width, "count", "total", "critical", "10 %", "50 %", "100 %");
  std::size_t left = rows;
  for (const WorkSummary &work : summary.work) {
    if (left-- == 0) break;
    text += fmt::format("{:<{}}{:>8}{:>11}{:>11}",
                        cli::shortened(cli::printable(program.names[work.name]), width - 2), width,
                        work.count, durationText(work.total_ns), durationText(work.critical_ns));
    if (work.gain_ns && work.critical_ns != 0)
      text += fmt::format("{:>27}{:>11}{:>11}", durationText((*work.gain_ns)[0]),
                          durationText((*work.gain_ns)[1]), durationText((*work.gain_ns)[2]));
    text += '\n';
  }
  if (summary.work.size() > rows)
    text += fmt::format("... and {} more\n", summary.work.size() - rows);
  return text;
}

namespace {

void writeHead(JsonWriter &json, const ProgramDag &program, const DagSummary &summary) {
  json.object([&] {
    json.field("type", "dag");
    json.field("version", 2);
    json.field("times", program.is_modeled      ? "modeled"
                        : program.times.empty() ? "measured"
                                                : "software");
    if (!program.times.empty()) json.field("about_times", program.times);
    json.field("span_ns", summary.path.span_ns);
    json.field("begin_ns", program.begin_ns);
    if (summary.parts > 1) json.field("parts", summary.parts);
    json.field("node_count", summary.numbers.nodes);
    json.field("edge_count", summary.numbers.edges);
    json.field("guessed_edges", summary.numbers.guessed_edges);
    json.field("critical_nodes", summary.numbers.critical_nodes);
    json.field("critical_guesses", summary.critical_guesses);
    json.object("critical_ns", [&] {
      for (std::size_t i = 0; i < summary.critical_ns.size(); ++i)
        json.field(nameOf(static_cast<NodeKind>(i)), summary.critical_ns[i]);
      json.field("delay", summary.critical_delay_ns);
    });
    json.field("overlap_possible_ns", summary.overlap_ns);
    json.field("operations_left_out", program.left_out);
  });
}

void putModule(JsonWriter &json, const ProgramDag &program, uint32_t name) {
  if (!program.modules[name].empty()) json.field("module", program.modules[name]);
}

void writeWork(JsonWriter &json, const ProgramDag &program, const WorkSummary &work) {
  json.object([&] {
    json.field("kind", nameOf(work.kind));
    json.field("name", program.names[work.name]);
    putModule(json, program, work.name);
    json.field("count", work.count);
    json.field("total_ns", work.total_ns);
    json.field("critical_ns", work.critical_ns);
    if (!work.gain_ns) return;
    json.object("gain_ns", [&] {
      for (std::size_t i = 0; i < kFaster.size(); ++i)
        json.field(std::to_string(kFaster[i]), (*work.gain_ns)[i]);
    });
  });
}

void writeNode(JsonWriter &json, const ProgramDag &program, const DagSummary &summary, uint32_t i) {
  const ProgramNode &node = program.nodes[i];
  json.object([&] {
    json.field("id", i);
    json.field("kind", nameOf(node.kind));
    json.field("name", program.names[node.name]);
    putModule(json, program, node.name);
    json.field("pid", node.pid);
    if (node.isOnGpu()) {
      json.field("gpu", node.gpu);
      if (node.kind != NodeKind::copy || node.queue != 0) json.field("queue", node.queue);
    } else {
      json.field("thread", node.thread);
    }
    if (node.call != 0) json.field("call", node.call);
    json.field("start_ns", node.start_ns);
    json.field("end_ns", node.end_ns);
    json.field("work_ns", program.dag.weight(i).work_ns);
    json.field("delay_ns", program.dag.weight(i).delay_ns);
    json.field("slack_ns", summary.path.slack_ns[i]);
    if (summary.is_critical[i]) json.field("critical", true);
  });
}

} // namespace

Status writeDag(const ProgramDag &program, const DagSummary &summary, const std::string &path) {
  JsonWriter json;
  writeHead(json, program, summary);
  JsonDocument file(path, json.take());
  file.list("work");
  for (const WorkSummary &work : summary.work) {
    writeWork(json, program, work);
    file.entry(json.take());
  }
  file.list("nodes");
  for (uint32_t i = 0; i < program.nodes.size(); ++i) {
    writeNode(json, program, summary, i);
    file.entry(json.take());
  }
  file.list("edges");
  for (const Edge &edge : program.dag.edges()) {
    json.object([&] {
      json.field("from", edge.from);
      json.field("to", edge.to);
      json.field("kind", nameOf(edge.kind));
      if (edge.is_guess) json.field("guess", true);
    });
    file.entry(json.take());
  }
  return file.close();
}

} // namespace fade::profile
