// Takes dispatches away as captures, while the application runs. Around a dispatch that is wanted
// stand gates, in one piece with it:
//
//   earlier | barrier: reached | barrier waits: go | DISPATCH: done | barrier waits: leave | later
//
// A thread waits until it is reached, reads memory, lets it go, waits until it is done, reads
// memory again, completes the application's own signal and lets the queue leave. The application's
// threads never wait for it. Meanwhile other queues are held back at a door: their packets get a
// barrier in front, and what was under way before is waited for, with patience.
#pragma once

#include "base/selection.h"
#include "base/settings.h"
#include "capture/writer.h"
#include "dispatch/kernel_registry.h"
#include "hsa/agents.h"
#include "hsa/death_watch.h"
#include "hsa/memory_reader.h"
#include "hsa/packet_rewrite.h"
#include "hsa/queue_registry.h"
#include "hsa/reachable.h"
#include "hsa/signal_pool.h"
#include "hsa/visible_memory.h"

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <unordered_map>
#include <vector>

namespace fade {

/// What captures need. All of it outlives the session.
struct CaptureServices {
  const Settings &settings;
  const Selection &selection;
  const KernelRegistry &registry;
  const Agents &agents; ///< known before the first packet comes
  SignalPool &polled, &interrupts;
  DeathWatch *deaths; ///< null: none is explained
};

class CaptureSession {
public:
  explicit CaptureSession(const CaptureServices &services) : services_(services) {}
  CaptureSession(const CaptureSession &) = delete;
  CaptureSession &operator=(const CaptureSession &) = delete;

  VisibleMemory &memory() { return memory_; }

  /// Puts gates around dispatches that are wanted, and others behind the door if that is closed.
  void rewrite(const std::shared_ptr<QueueState> &queue, std::vector<DispatchPacket> &packets);

  /// There is nothing more to capture: packets and copies are passed on as they are.
  bool isOver();

  /// A copy of the application's, with its completion signal, is about to go to an engine. While
  /// memory is read it must not, and has to wait for the signal that comes back; else (handle 0) an
  /// engine has it, until it ends.
  hsa_signal_t admitCopy(hsa_signal_t copy);
  /// An engine has one that could not be held back.
  void copyBegins(hsa_signal_t copy);
  void copyEnds(hsa_signal_t copy);

  /// The GPU has stopped, or only the queue of that number: its dispatch does not end. Comes back
  /// when the capture of that is written, without memory after it.
  void gpuStopped(std::optional<uint64_t> queue);

  /// For people: how far the capture under way is, and how many there were.
  std::string progress(double seconds);

  /// Before the process ends: lets captures come to an end and opens all gates.
  void stop();
  /// Why nothing was wanted, for people; empty if something was.
  std::string whyNothing();
  /// Before the runtime is shut down: gives all signals back to where they came from.
  void release();

private:
  struct Job {
    std::shared_ptr<QueueState> queue;
    std::shared_ptr<KernelEntry> kernel;
    uint64_t ordinal = 0;
    DispatchPacket packet{}; ///< as the application wrote it
    hsa_signal_t reached{}, go{}, done{}, leave{};
    std::unique_ptr<capture::Writer> writer; ///< null: nothing is written
    capture::Description description;
    std::vector<VisibleRegion> regions;
    DeathWatch::Dispatch watched; ///< while it runs
  };
  using Packets = std::vector<DispatchPacket>;

  bool isWanted(KernelEntry &kernel, uint64_t ordinal);
  std::unique_ptr<Job> makeJob(const std::shared_ptr<QueueState> &queue,
                               const DispatchPacket &packet);
  void putGates(const Job &job, Packets &out) const;
  /// A packet in a queue that tells when the GPU has come to it; perhaps before one that waits.
  struct Mark {
    hsa_signal_t signal{};
    std::array<hsa_signal_t, 5> waits_for{};
    bool for_any = false; ///< of them; else for all
    uint64_t door = 0;    ///< that it stands behind
  };
  /// What goes into a queue with its packets, and is not known to anybody else until it does.
  struct Added {
    std::list<std::unique_ptr<Job>> jobs;
    std::vector<Mark> marks;
  };
  bool isOverNow() const;
  void addGates(const std::shared_ptr<QueueState> &queue, const Packets &packets, Packets &out,
                Added &added);
  void dismiss(const Job &job);
  bool putMark(std::optional<DispatchPacket> before, Packets &out, std::vector<Mark> &marks);
  void passDoor(QueueState &queue, Packets &packets, std::vector<Mark> &marks);

  void work();
  std::unique_ptr<Job> nextReached();
  void process(Job &job);
  void describe(Job &job);
  void readState(Job &job, capture::State state);
  void readReachable(Job &job);
  /// False if nothing is written any more.
  bool readRegion(Job &job, capture::State state, std::size_t region, Reachable *reachable);
  /// Says what is about to be read. False if that is too much.
  bool announce(Job &job);
  void beginProgress(const Job &job);
  bool runDispatch(Job &job);
  bool waitUntilDone(Job &job);
  bool hasStopped(const QueueState &queue) const;
  void watch(Job &job) const;
  void readDuration(Job &job) const;
  void letLeave(Job &job);
  void finish(Job &job, double seconds);
  static void abandon(Job &job, const std::string &why);
  void releaseWaiting(const std::string &why);
  void tendReleased();

  void closeDoor(const QueueState &own);
  void openDoor();
  uint32_t quiesce(const QueueState &own);
  std::size_t copiesUnderWay() const;
  bool isAtRest(const QueueState *queue);

  const CaptureServices services_;
  VisibleMemory memory_;
  std::unique_ptr<MemoryReader> reader_;
  std::atomic<uint64_t> read_{0}, to_read_{0}; ///< bytes of the capture under way

  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<std::unique_ptr<Job>> waiting_;
  std::unordered_map<std::shared_ptr<const KernelInfo>, uint64_t> ran_; ///< until one is wanted
  std::vector<std::unique_ptr<Job>> released_; ///< run without being captured
  std::chrono::steady_clock::time_point stop_by_;
  bool is_working_ = false;                ///< on a job
  const QueueState *running_in_ = nullptr; ///< the queue of its dispatch, once that may run
  bool has_gpu_stopped_ = false;
  std::set<uint64_t> stopped_queues_; ///< by their numbers
  bool is_stopping_ = false, has_thread_ = false, has_ended_ = false;
  uint64_t taken_ = 0;     ///< dispatches
  uint64_t rewriting_ = 0; ///< threads that do
  uint64_t made_ = 0;      ///< captures
  std::string kernel_;     ///< of the capture under way
  hsa_signal_t door_{}, copy_door_{};
  /// They were opened, but packets that wait for them may not have come to them yet, so they cannot
  /// be used again.
  std::vector<hsa_signal_t> opened_, opened_copy_doors_;
  std::set<uint64_t> copies_;              ///< that engines have
  uint32_t copies_through_ = 0;            ///< that engines got while memory was read
  bool is_reading_ = false;                ///< engines have no copies any more
  const QueueState *closed_for_ = nullptr; ///< null: the door is open
  struct Marks {
    std::shared_ptr<QueueState> queue;
    std::deque<Mark> marks; ///< from the last that was passed on
  };
  std::map<const QueueState *, Marks> marks_;
};

} // namespace fade
