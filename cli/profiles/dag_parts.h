// The graph of a long run, part by part: memory depends on the size of a part, not on the length of
// the run.
//
// What is said of the whole is the sum of what is said of its parts, each with a critical path of
// its own. Single nodes are those of the first part: of more, nobody looks at each.
#pragma once

#include "profiles/dag_summary.h"
#include "profiles/launch_chains.h"

#include <map>
#include <string>
#include <utility>

namespace fade::profile {

class DagParts {
public:
  void add(ProgramDag part);

  std::size_t count() const { return count_; }
  /// Where the next part begins, if each begins where the one before has ended; 0: the first.
  uint64_t end() const { return count_ == 0 ? 0 : program_.begin_ns + summary_.path.span_ns; }
  /// After the last: numbers of all parts, nodes and edges of the first.
  const ProgramDag &program() const { return program_; }
  DagSummary &&takeSummary();
  const FollowersByKernel &followers() const { return followers_; }

private:
  struct Total {
    WorkSummary work;
    bool has_gains = true;
  };
  void addWork(const ProgramDag &part, const DagSummary &summary);
  uint32_t nameNumber(const std::string &name, const std::string &module);

  std::size_t count_ = 0;
  ProgramDag program_;
  DagSummary summary_;
  std::map<std::pair<std::string, std::string>, uint32_t> names_; ///< and modules
  std::map<std::pair<NodeKind, uint32_t>, Total> work_;
  FollowersByKernel followers_;
};

} // namespace fade::profile
