// A file of host events as a stream: read in pieces while processes record into it, or as a whole
// afterwards, in order of time as far as that is known. Memory depends on the number of threads and
// of what is under way, not on the number of events.
//
// A block belongs to one thread at a time, so what is new is found at the ends of few blocks. A
// call is told when it begins and when it has returned, an operation when it was given to the GPU
// and when it has ended.
#pragma once

#include "analysis/host_events/event_parser.h"
#include "analysis/host_events/event_reader.h"
#include "base/result.h"
#include "host_trace/trace_log.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace fade::host_trace {

/// Views and words that it is given are only there until it returns; texts of names stay
/// (EventStream::facts).
class EventSink {
public:
  EventSink() = default;
  EventSink(const EventSink &) = delete;
  EventSink &operator=(const EventSink &) = delete;
  virtual ~EventSink() = default;

  virtual void onCall(const Call &call) = 0;
  /// After onCall: it has returned, or, when the stream ends, has not.
  virtual void onReturn(const Call &call) = 0;
  virtual void onOperation(const Operation &operation) = 0;
  /// The same for an operation. One that the runtime has refused never ends.
  virtual void onEnd(const Operation &operation) = 0;
  /// The runtime has refused it, as is known now.
  virtual void onRefused(const Operation &) {}
  virtual void onMarker(const Marker &marker) = 0;
  virtual void onUsage(const Usage &usage) = 0;
  virtual void onSwitch(const Switch &change) = 0;

  /// From time to time: what has begun before `known_until` was told, apart from operations that
  /// were given to the GPU after `operations_until` and have not ended.
  virtual Status onProgress(uint64_t known_until, uint64_t operations_until) = 0;
};

class EventStream {
public:
  /// An error if it is no such file.
  static Result<std::unique_ptr<EventStream>> open(const std::string &path);
  ~EventStream();
  EventStream(const EventStream &) = delete;
  EventStream &operator=(const EventStream &) = delete;

  /// What findings are made of is kept as well: places that call, their stacks, libraries and what
  /// was noticed. To be called before the first read.
  void keepContext() { keeps_context_ = true; }

  /// Tells what is new. `is_last`: nobody records any more; nothing may be asked afterwards.
  Status read(EventSink &sink, bool is_last);

  /// After about so many events the sink is told how far it is.
  void tellProgressAfter(std::size_t events) { events_per_progress_ = events; }

  /// Processes and names, as far as they are known; no events.
  const HostEvents &facts() const { return facts_; }
  std::size_t openCalls() const { return calls_.size(); }
  std::size_t openOperations() const { return operations_.size(); }
  /// As HostEvents::aboutTimes.
  std::string_view aboutTimes() const { return in_software_ ? kSoftwareTimes : ""; }

private:
  struct Block;
  struct OpenCall {
    Thread thread;
    uint32_t size = 0; ///< of the event
  };

  EventStream(std::string path, int fd);

  Status readHeader();
  /// False if the block has nothing new.
  bool loadPiece(Block &block);
  std::unique_ptr<Block> openBlock(uint64_t number);
  void readAgain(EventSink &sink);
  Status merge(EventSink &sink, uint64_t now);
  /// False if the rest of the block makes no sense.
  bool tell(Block &block, EventSink &sink);
  void takeCall(EventSink &sink, uint64_t size);
  void takeOperation(EventSink &sink);
  void takeEnd(EventSink &sink);
  void keepContextOf(events::EventKind kind, const char *bytes);
  void beginsIn(const Block &block);
  Status progress(EventSink &sink, uint64_t known_until) const;
  void end(EventSink &sink);

  const std::string path_;
  const int fd_;
  HostEvents facts_;
  EventParser parser_;
  Texts texts_;
  bool in_software_ = false, keeps_context_ = false;
  std::unordered_map<uint64_t, std::vector<uint64_t>> stacks_; ///< words of facts_.stacks
  std::size_t events_per_progress_ = 65'536;
  uint64_t size_ = 0;                                  ///< of the file
  uint64_t blocks_ = 0;                                ///< in the file
  uint64_t opened_ = 0;                                ///< of them
  std::vector<std::unique_ptr<Block>> open_;           ///< into which somebody may still write
  std::map<uint64_t, OpenCall> calls_;                 ///< that have not returned, by position
  std::unordered_map<uint64_t, Operation> operations_; ///< that have not ended
  std::unordered_map<uint64_t, events::OperationEndEvent> ends_; ///< read before their operations
};

} // namespace fade::host_trace
