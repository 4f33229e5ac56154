// init: values that nobody wrote and that kernels have only copied, to the card's memory. That is a
// mistake once somebody uses the copy. Kernels that do are found by themselves, because the copy
// counts as unwritten, too; the host does when it fetches it, and what is reported then is kept
// here.
#pragma once

#include "checks/finding_file.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

namespace fade::checks {

class CopiedValues {
public:
  static CopiedValues &instance();

  /// So many lanes have copied it to these bytes: `finding` says from where, and by which
  /// instructions.
  /// False: there are too many of them.
  bool add(const Finding &finding, uint64_t address, uint64_t size, uint64_t times);
  /// The instruction that copied what is there.
  std::optional<Place> copierOf(uint64_t address) const;
  /// The host has told HIP to copy this to its own memory.
  void hostReads(uint64_t address, uint64_t size);
  /// Copies may be made later than they are called: looks at the last ones again.
  void hostGoesOn();
  /// The memory is somebody else's now.
  void forget(uint64_t address, uint64_t size);

private:
  struct Cause {
    Finding finding;
    uint64_t times = 0;
    bool is_reported = false;
  };
  struct Copy {
    uint64_t end = 0;
    std::size_t cause = 0;
  };
  bool keep(uint64_t begin, uint64_t end, std::size_t cause);
  void look(uint64_t address, uint64_t size);

  mutable std::mutex mutex_;
  std::atomic<bool> any_{false};
  std::vector<Cause> causes_;
  std::map<std::tuple<uint64_t, uint64_t, String>, std::size_t> by_places_;
  std::map<uint64_t, Copy> copies_; ///< by their first byte
  static constexpr std::size_t kMostReads = 16;
  std::array<std::pair<uint64_t, uint64_t>, kMostReads> reads_{}; ///< the last ones
  std::size_t next_read_ = 0;
};

} // namespace fade::checks
