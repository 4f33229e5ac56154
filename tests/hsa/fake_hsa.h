// An HSA runtime in a few lines, for what FADE asks of it: memory is the host's, signals are
// numbers, copies are done at once, and packets go nowhere.
#pragma once

#include "codeobj/code_object.h"
#include "hsa/agents.h"

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace fade {

/// Stands in hsaApi() as long as it lives. One at a time.
class FakeHsa {
public:
  using Packets = std::vector<hsa_kernel_dispatch_packet_t>;

  FakeHsa();
  ~FakeHsa();
  FakeHsa(const FakeHsa &) = delete;
  FakeHsa &operator=(const FakeHsa &) = delete;

  Agent gpu, host;
  std::size_t most_memory = SIZE_MAX;    ///< that the runtime will hand out in all
  int copies_until_failure = -1;         ///< below 0: all succeed
  std::function<void()> before_a_signal; ///< is made: this comes first, once
  std::atomic<int> loads{0};             ///< code objects that were loaded
  std::atomic<int> doorbell_loads{0};    ///< of these, by threads that were ringing a doorbell

  /// What it has handed out and not got back: address and size.
  const std::map<std::byte *, std::size_t> &allocations() const { return allocations_; }

  /// How many there are.
  std::size_t signals() const { return signals_.size(); }

  /// Tables for FADE to put its functions in, as for OnLoad; what it calls itself stays.
  HsaTables &tables() { return tables_; }
  /// As the application calls it, once FADE has put its functions there.
  const CoreApiTable &core() const { return core_; }

  /// Loads code onto the GPU as an application does. Returns the executable.
  hsa_executable_t load(const std::string &path);
  uint64_t kernelObject(hsa_executable_t executable, const std::string &symbol) const;
  hsa_queue_t *createQueue(uint32_t size);
  /// The application rings the doorbell of a queue. Returns what the GPU gets.
  Packets ring(hsa_queue_t *queue, const Packets &packets) {
    return ring(queue, packets.data(), packets.size());
  }
  Packets ring(hsa_queue_t *queue, const hsa_kernel_dispatch_packet_t *packets, uint64_t count);
  /// The application has an engine copy to the host.
  hsa_status_t copyOnEngine(void *to, const void *from, std::size_t size, hsa_signal_t waits_for,
                            hsa_signal_t done, uint32_t engine);
  /// As a rectangle.
  hsa_status_t copyRow(void *to, const void *from, uint32_t size, hsa_signal_t done);
  /// The application opens memory of another process, which is the test's, and closes it.
  hsa_status_t openOther(void *memory, std::size_t size);
  hsa_status_t closeOther(void *memory);
  static constexpr uint32_t kRefusedEngine = 1; ///< cannot copy to the host
  /// The GPU has come to a packet.
  void complete(hsa_signal_t signal);

private:
  friend struct FakeCalls;

  struct Kernel {
    std::string name; ///< with ".kd"
    uint64_t object;
    uint32_t kernarg_size, group_size;
  };
  struct Queue {
    hsa_queue_t handle{};
    hsa_amd_queue_intercept_handler handler = nullptr;
    void *data = nullptr;
  };
  struct Waiting {
    hsa_amd_signal_handler handler;
    void *data;
  };

  std::map<std::byte *, std::size_t> allocations_;
  std::set<uint64_t> signals_;
  std::map<uint64_t, Waiting> waiting_; ///< by signal
  std::size_t handed_out_ = 0;
  std::map<uint64_t, codeobj::Blob> readers_;
  std::map<uint64_t, std::deque<Kernel>> executables_;
  std::deque<Queue> queues_;
  uint64_t next_handle_ = 1000;

  CoreApiTable core_{};
  std::vector<void *> amd_;
  HsaTables tables_;
};

} // namespace fade
