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

// For what calls functions in a table that may have another type: FADE puts such functions there
// for a moment.
#ifdef __clang__
#define FADE_ANY_FUNCTION __attribute__((no_sanitize("function")))
#else
#define FADE_ANY_FUNCTION
#endif

namespace fade {

/// Stands in hsaApi() as long as it lives. One at a time.
class FakeHsa {
public:
  using Packets = std::vector<hsa_kernel_dispatch_packet_t>;

  /// `entries`: of its table of extensions.
  explicit FakeHsa(std::size_t entries = 76);
  ~FakeHsa();
  FakeHsa(const FakeHsa &) = delete;
  FakeHsa &operator=(const FakeHsa &) = delete;

  Agent gpu, host;
  std::size_t most_memory = SIZE_MAX;     ///< that the runtime will hand out in all
  int copies_until_failure = -1;          ///< below 0: all succeed
  std::function<void()> before_a_signal;  ///< is made: this comes first, once
  std::function<void()> before_an_unload; ///< of an executable: this comes first, once
  bool tells_code = false;            ///< each executable has a page of code, and the loader tells
  std::atomic<uint64_t> polled{0};    ///< the signal whose loads are counted
  std::atomic<int> polls{0};          ///< of it
  std::atomic<int> loads{0};          ///< code objects that were loaded
  std::atomic<int> doorbell_loads{0}; ///< of these, by threads that were ringing a doorbell

  /// What the runtime itself was asked to make, in the order in which it was.
  std::vector<QueueDescriptor> described;
  std::vector<std::pair<hsa_queue_t *, int>> priorities;
  std::vector<std::pair<hsa_queue_t *, std::vector<uint32_t>>> masks;
  std::vector<CopyOperation> batch;  ///< the last
  std::set<hsa_queue_t *> counted;   ///< of the runtime's, acquired and not released
  bool can_watch_own_queues = false; ///< queues that it makes can be watched

  /// What it has handed out and not got back: address and size.
  const std::map<std::byte *, std::size_t> &allocations() const { return allocations_; }

  /// Whether this thread is in the runtime, whose memory is not FADE's.
  static bool isInside();

  /// How many there are.
  std::size_t signals() const { return signals_.size(); }

  /// Tables for FADE to put its functions in, as for OnLoad; what it calls itself stays.
  HsaTables &tables() { return tables_; }
  /// As the application calls it, once FADE has put its functions there.
  const CoreApiTable &core() const { return core_; }

  /// Loads code onto the GPU as an application does. Returns the executable.
  hsa_executable_t load(const std::string &path);
  uint64_t kernelObject(hsa_executable_t executable, const std::string &symbol) const;
  hsa_executable_t lastExecutable() const { return {executables_.rbegin()->first}; }
  /// With tells_code: where its code is, which nobody can read any more when it is unloaded.
  const std::byte *codeOf(hsa_executable_t executable) const;
  hsa_queue_t *createQueue(uint32_t size);
  /// As the application calls it: hsa_amd_queue_create and so on.
  template <typename Function> Function *late(const char *name) const {
    return reinterpret_cast<Function *>(amd_[placeOf(name)]);
  }
  bool isWatched(const hsa_queue_t *queue) const {
    return reinterpret_cast<const Queue *>(queue)->handler != nullptr;
  }
  bool isDestroyed(const hsa_queue_t *queue) const {
    return reinterpret_cast<const Queue *>(queue)->is_destroyed;
  }
  /// The GPU reports an error of the queue.
  void fail(hsa_queue_t *queue, hsa_status_t status) {
    const Queue &failed = *reinterpret_cast<const Queue *>(queue);
    if (failed.on_error) failed.on_error(status, queue, failed.on_error_data);
  }
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
  /// Managed memory is to be moved.
  hsa_status_t prefetch(std::size_t size);
  /// The application opens memory of another process, which is the test's, and closes it.
  hsa_status_t openOther(void *memory, std::size_t size);
  hsa_status_t closeOther(void *memory);
  static constexpr uint32_t kRefusedEngine = 1; ///< cannot copy to the host
  /// The GPU has come to a packet.
  void complete(hsa_signal_t signal);
  /// Waits until somebody who polls has looked at the signal three times from now on: whatever it
  /// does because of the value is done by the third. False if nobody does within a time that only a
  /// broken program needs.
  bool isPolled(hsa_signal_t signal);

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
    QueueErrorFunction on_error = nullptr;
    void *on_error_data = nullptr;
    bool can_be_watched = true, is_destroyed = false;
  };
  struct Waiting {
    hsa_amd_signal_handler handler;
    void *data;
  };

  static std::size_t placeOf(const char *name); ///< in amd_
  std::map<std::byte *, std::size_t> allocations_;
  std::set<uint64_t> signals_;
  std::map<uint64_t, Waiting> waiting_; ///< by signal
  std::size_t handed_out_ = 0;
  std::map<uint64_t, codeobj::Blob> readers_;
  std::map<uint64_t, std::deque<Kernel>> executables_;
  std::map<uint64_t, std::byte *> code_; ///< by executable
  std::deque<Queue> queues_;
  uint64_t next_handle_ = 1000;

  CoreApiTable core_{};
  std::vector<void *> amd_;
  HsaTables tables_;
};

} // namespace fade
