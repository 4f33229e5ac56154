// What is known of each instruction's address from the flow of control: loops, and lanes.
#pragma once

#include "rewrite/program.h"

#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace fade::rewrite {

class ControlFlow {
public:
  explicit ControlFlow(const Program &program);

  bool isInLoop(uint64_t address) const { return in_loop_.contains(address); }
  /// Those that the wave began with.
  bool hasAllLanes(uint64_t address) const { return !changed_exec_.contains(address); }
  bool isJumpedTo(uint64_t address) const { return predecessors_.contains(address); }
  /// Whether no wave ends without having been there. Takes a while.
  bool isOnAllPaths(uint64_t address) const;

private:
  void findChangedExec();
  void findLoops();

  const Program &program_;
  std::map<uint64_t, std::vector<uint64_t>> predecessors_;
  std::set<uint64_t> changed_exec_, in_loop_;
};

} // namespace fade::rewrite
