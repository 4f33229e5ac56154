// What the graph of a program says: the critical path, what is on it, and what would help.
#pragma once

#include "analysis/critical_path/program_dag.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fade::profile {

/// By how much faster, in percent, and how much sooner the whole would end.
inline constexpr std::array<unsigned, 3> kFaster = {10, 50, 100};
using Gains = std::array<uint64_t, kFaster.size()>;

/// All nodes of one name and kind.
struct WorkSummary {
  NodeKind kind{};
  uint32_t name = 0;
  uint64_t count = 0, total_ns = 0; ///< its own work
  uint64_t critical_ns = 0;         ///< of it on the critical path
  /// If all of it were so much faster. Only of what is on the GPU, and not of what there was no
  /// time to compute it for.
  std::optional<Gains> gain_ns;
};

/// How many there are, in all parts of a run.
struct DagNumbers {
  std::size_t nodes = 0, edges = 0, guessed_edges = 0, critical_nodes = 0;
  void operator+=(const DagNumbers &more) {
    nodes += more.nodes;
    edges += more.edges;
    guessed_edges += more.guessed_edges;
    critical_nodes += more.critical_nodes;
  }
};

struct DagSummary {
  CriticalPath path;
  DagNumbers numbers;
  std::size_t parts = 1; ///< more than one: path and is_critical are those of the first
  std::vector<bool> is_critical;
  std::array<uint64_t, 5> critical_ns{}; ///< work on the critical path, by NodeKind
  uint64_t critical_delay_ns = 0;        ///< and time between the works
  std::size_t critical_guesses = 0;      ///< edges of it that only look like that
  uint64_t overlap_ns = 0;               ///< that would be possible
  std::vector<WorkSummary> work;         ///< most critical first, then most of all
};

/// `steps`: over how many nodes and edges it goes at most to compute gains, for the most critical
/// kernels and copies first; 20 of them are always computed.
DagSummary summarize(const ProgramDag &program, std::size_t steps = 1'000'000'000);

/// Most critical first, then most of all.
void sortWork(std::vector<WorkSummary> &work);

/// For people.
std::string textOf(const ProgramDag &program, const DagSummary &summary, std::size_t rows);

/// One JSON document: the graph, works, nodes, edges (docs/formats.md).
Status writeDag(const ProgramDag &program, const DagSummary &summary, const std::string &path);

} // namespace fade::profile
