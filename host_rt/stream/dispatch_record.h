// What the stream knows of one dispatch while its records pass through.
#pragma once

#include "base/recycled.h"
#include "fade/handler_abi.h"
#include "stream/kernel_arguments.h"
#include "stream/kernel_info.h"
#include "stream/last_records.h"
#include "stream/wave_table.h"

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fade {

/// By address.
struct Allocations {
  explicit Allocations(std::vector<fade_allocation> all = {}) : list(std::move(all)) {}

  std::vector<fade_allocation> list;
  std::string names =
      std::string(1, '\0');      ///< of variables, each ended by zero; see fade_allocation
  std::vector<uint32_t> origins; ///< who made them, by index: offsets in names; empty: not known

  /// The offset of a name that is added.
  uint32_t addName(std::string_view name);
};

/// One dispatch, from its first record until handlers have heard of its end.
struct DispatchRecord : Recycled<DispatchRecord> {
  fade_dispatch view{};
  std::shared_ptr<const KernelInfo> kernel;
  std::shared_ptr<const std::string> variant;
  std::shared_ptr<const Allocations> allocations;
  std::vector<fade_counter> counters;
  std::vector<uint64_t> clocks;
  DispatchArguments arguments;
  bool was_passed_over = false; ///< it would have been recorded, had there not been enough
  uint32_t sample = 0; ///< one workgroup in so many has records; 0: as the filter of the run says

  // Filled in by the feeding thread as the stream comes in.
  std::unique_ptr<WaveTable> waves; ///< only when a handler wants it
  uint64_t batches = 0;
  bool has_waves = false; ///< the three below are known
  uint32_t shared_base = 0, private_base = 0, wave_size = 0;

  // Filled in by workers.
  std::atomic<uint64_t> records{0};
  std::atomic<uint64_t> bytes{0};
  std::atomic<bool> damaged{false};  ///< a record made no sense; the rest is skipped
  std::vector<void *> shards;        ///< [worker * handlers + handler]
  std::vector<void *> own_shards;    ///< for the reporter: those of one handler
  std::atomic<bool> is_kept{false};  ///< a thread was given up in it: nothing of it is freed
  std::shared_ptr<LastRecords> last; ///< null: nobody will ask how it died

  void setKernel(std::shared_ptr<const KernelInfo> info);
  void setVariant(std::shared_ptr<const std::string> text);
  void setAllocations(std::shared_ptr<const Allocations> all);
  void setArguments(DispatchArguments given);
  void setCounters(std::vector<fade_counter> values);
  void setClocks(std::vector<uint64_t> values);
};

} // namespace fade
