// An HSA runtime in a few lines, for what FADE asks of it: memory is the host's, signals are
// numbers, copies are done at once.
#pragma once

#include "hsa/agents.h"

#include <cstddef>
#include <map>
#include <set>

namespace fade {

/// Stands in hsaApi() as long as it lives. One at a time.
class FakeHsa {
public:
  FakeHsa();
  ~FakeHsa();
  FakeHsa(const FakeHsa &) = delete;
  FakeHsa &operator=(const FakeHsa &) = delete;

  Agent gpu, host;
  std::size_t most_memory = SIZE_MAX; ///< that the runtime will hand out in all
  int copies_until_failure = -1;      ///< below 0: all succeed

  /// What it has handed out and not got back: address and size.
  const std::map<std::byte *, std::size_t> &allocations() const { return allocations_; }

private:
  friend struct FakeCalls;
  std::map<std::byte *, std::size_t> allocations_;
  std::set<uint64_t> signals_;
  std::size_t handed_out_ = 0;
};

} // namespace fade
