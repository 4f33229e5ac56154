// FADE_EXPLAIN: keeps what is in flight and who allocated and freed what, so that it can be said
// what killed a run: on a memory fault, an error of a queue, a reset of the GPU, or when the
// process ends while dispatches have not.
#pragma once

#include "dispatch/residency.h"
#include "hsa/death.h"
#include "hsa/hsa_api.h"
#include "hsa/stack_budget.h"
#include "stream/kernel_info.h"
#include "stream/last_records.h"

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace fade {

class DeathWatch {
public:
  /// A dispatch as it was passed on to the GPU. Whoever has it keeps it in place.
  struct Dispatch {
    uint64_t id = 0, queue = 0;
    uint32_t agent = 0;
    std::shared_ptr<const KernelInfo> kernel; ///< that runs: with sites, if it is instrumented
    std::shared_ptr<const LastRecords> records;
    bool adds_up = false; ///< there are records of rare accesses only
    std::array<uint32_t, 3> grid{}, workgroup{};
    hsa_signal_t signal{};           ///< above 0 until it has ended
    const void *arguments = nullptr; ///< the application's argument block, and its size
    uint32_t arguments_size = 0;
    std::optional<Residency> residency;            ///< if fewer workgroups fit than of the original
    Dispatch *previous = nullptr, *next = nullptr; ///< the watch's own
  };

  // For threads of the application. None of them throws.
  void dispatched(Dispatch &dispatch) noexcept;
  /// The signal may be used again from now on.
  void ended(Dispatch &dispatch) noexcept;
  void allocated(const void *address, uint64_t size) noexcept;
  void freed(const void *address) noexcept;
  /// Who allocated what is there now; empty if that was not kept.
  HostStack allocatedBy(uint64_t address) const noexcept;

  /// `reasons`: as the runtime has them, hsa_amd_memory_fault_reason_t.
  Death fault(uint64_t address, uint32_t reasons);
  Death queueError(uint64_t queue, const std::string &error);
  /// Nothing if it is no news: the driver may tell of a reset in two ways.
  std::optional<Death> reset(std::vector<std::string> reasons);
  /// Nothing if all have ended, or if it is no news: after a fault or an error dispatches do not
  /// end.
  std::optional<Death> unended();

private:
  static constexpr std::size_t kMostFreed = 256;
  struct Memory {
    uint64_t address = 0, size = 0, number = 0;
    HostStack allocated_by, freed_by;
    bool was_freed = false;
    bool holds(uint64_t at) const { return at - address < size; }
  };
  /// Empty when there are so many allocations that stacks would take too long.
  HostStack caller() noexcept;
  std::vector<const Dispatch *> inFlight() const;
  const Memory *holding(uint64_t address) const;
  const Memory *held(uint64_t address) const;
  DeathMemory describe(const Memory &memory, uint64_t address, const HostSymbols &symbols) const;
  void addNearest(Death &death, const HostSymbols &symbols) const;
  void addInFlight(Death &death, const HostSymbols &symbols) const;
  void addArguments(const Dispatch &from, DeathDispatch &to, uint64_t fault,
                    const HostSymbols &symbols) const;
  static void addWaves(const Dispatch &from, DeathDispatch &to, std::optional<uint64_t> fault);

  StackBudget budget_;
  mutable std::mutex mutex_;
  Dispatch first_;                    ///< of a ring of those in flight; is none itself
  std::map<uint64_t, Memory> memory_; ///< by address
  std::deque<Memory> freed_;          ///< the latest last
  uint64_t next_ = 1;
  bool has_explained_ = false;

public:
  DeathWatch() { first_.previous = first_.next = &first_; }
  DeathWatch(const DeathWatch &) = delete;
  DeathWatch &operator=(const DeathWatch &) = delete;
};

} // namespace fade
