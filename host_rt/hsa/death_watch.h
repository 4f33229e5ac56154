// FADE_EXPLAIN: when a kernel dies, says which it was. Keeps what is in flight and who allocated
// and freed what, and puts it into words on a memory fault, an error of a queue, or when the
// process ends while dispatches have not.
#pragma once

#include "hsa/hsa_api.h"

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace fade {

class DeathWatch {
public:
  /// A dispatch as it was passed on to the GPU.
  struct Dispatch {
    uint64_t id = 0, queue = 0;
    uint32_t agent = 0;
    std::string kernel;
    std::array<uint32_t, 3> grid{}, workgroup{};
    hsa_signal_t signal{};           ///< above 0 until it has ended
    std::vector<uint64_t> arguments; ///< what its argument block holds, in words of 8 bytes
  };

  // For threads of the application. None of them throws.
  void dispatched(const void *key, Dispatch dispatch) noexcept;
  /// The signal may be used again from now on.
  void ended(const void *key) noexcept;
  void allocated(const void *address, uint64_t size) noexcept;
  void freed(const void *address) noexcept;

  // Sentences for people, each a line.
  std::vector<std::string> explainFault(uint64_t address, uint32_t reasons);
  std::vector<std::string> explainQueueError(uint64_t queue, const std::string &error);
  /// Empty if nothing is in flight.
  std::vector<std::string> explainUnended();

private:
  static constexpr std::size_t kMostFrames = 24, kMostFreed = 256;
  struct Stack {
    std::array<void *, kMostFrames> frames{};
    int count = 0;
  };
  struct Memory {
    uint64_t address = 0, size = 0, number = 0;
    Stack allocated_by, freed_by;
  };
  static Stack stackHere() noexcept;
  static std::string textOf(const Stack &stack);
  std::vector<const Dispatch *> inFlight() const;
  std::string describe(const Dispatch &dispatch) const;
  const Memory *holding(uint64_t address) const;
  void addNearest(uint64_t address, std::vector<std::string> &lines) const;
  /// `address`: of a fault, or 0.
  void addInFlight(std::vector<std::string> &lines, uint64_t address) const;
  std::string describeArgument(uint64_t value, uint64_t fault) const;

  std::mutex mutex_;
  std::map<const void *, Dispatch> dispatches_;
  std::map<uint64_t, Memory> memory_; ///< by address
  std::deque<Memory> freed_;          ///< the latest last
  uint64_t next_ = 1;
  bool has_explained_ =
      false; ///< a fault or an error: then it is no news that dispatches do not end
};

} // namespace fade
