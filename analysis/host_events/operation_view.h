// What an operation of the GPU is to the application: HIP copies and fills with kernels of its own
// where that is quicker, so it is the call that says what was meant.
#pragma once

#include "analysis/host_events/event_reader.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fade::host_trace {

enum class Purpose { kernel, copy, fill };

struct OperationView {
  Purpose purpose = Purpose::kernel;
  events::Direction direction = events::Direction::none;
  std::string_view kernel;         ///< that did it; empty: a copy engine
  std::string module{};            ///< of the kernel; empty: not known
  std::optional<uint64_t> bytes;   ///< of a copy or fill, if it is known
  uint64_t to = 0, from = 0;       ///< 0: not known
  std::optional<std::size_t> call; ///< index in HostEvents::calls
};

OperationView viewOf(const HostEvents &events, const Operation &operation);

/// The same from what is known of it: the kernel's name, and what its call says, if it is a copy or
/// fill (null: nothing). `call` is not set.
struct CopyCall;
OperationView viewOf(std::string_view kernel, const Operation &operation, const CopyCall *call);

/// "host_to_device"; empty for none.
std::string_view nameOf(events::Direction direction);

/// What a copy or fill is about, from its arguments; nothing for other calls.
struct CopyCall {
  bool is_fill = false;
  events::Direction direction = events::Direction::none;
  std::optional<uint64_t> bytes;
  uint64_t to = 0, from = 0;
};
std::optional<CopyCall> copyOf(const Call &call);

/// How many workgroups, or work-items where the function is told that, and of what size.
struct LaunchSizes {
  uint32_t grid[3] = {0, 0, 0}, workgroup[3] = {0, 0, 0};
  uint64_t lds = 0; ///< dynamic
};
LaunchSizes launchSizes(const Call &call);

/// Whether a call asks for kernels to be run: a launch, also of a graph.
bool isLaunch(const Call &call);

/// The kernels that launches have run, and of those that ran nothing themselves, because they were
/// captured, what the address stands for.
class LaunchedKernels {
public:
  explicit LaunchedKernels(const HostEvents &events);
  /// Of the call with this index; empty: no launch, or not known.
  std::string nameOf(std::size_t call) const;
  /// Of the kernel; empty: it ran nothing itself, or the module is not known.
  std::string moduleOf(std::size_t call) const;
  uint32_t privateBytes(std::size_t call) const;
  /// What is known of its code; null: nothing.
  const events::KernelEvent *registersOf(std::size_t call) const;

private:
  const HostEvents &events_;
  std::vector<const Operation *> first_; ///< by call: the first kernel it has caused, or null
};

} // namespace fade::host_trace
