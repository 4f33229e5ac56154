// Which of the application's calls of HIP come after which others, as HIP's rules have it: within a
// stream, through events, the null stream, and the host, which waits for one and then makes
// another.
//
// What happens in a run depends on time: HIP leaves out what would order two commands if the first
// has already ended. This does not.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace fade::checks {

class StreamOrder {
public:
  static StreamOrder &instance();

  /// How many commands of each stream are known to be done; the host counts as a stream.
  using Clock = std::map<uint32_t, uint64_t>;
  struct Command {
    uint32_t stream = 0;
    uint64_t number = 0; ///< in the stream, from 1
    uint64_t issued = 0; ///< of all commands, in the order of the calls
    Clock knows;         ///< with itself
    bool isBefore(const Command &other) const {
      const auto at = other.knows.find(stream);
      return at != other.knows.end() && at->second >= number;
    }
    bool isOrderedWith(const Command &other) const {
      return isBefore(other) || other.isBefore(*this);
    }
  };
  using Ptr = std::shared_ptr<const Command>;

  /// Streams are known by their handles. `key`: with the thread, for those that each has.
  struct Key {
    uint64_t handle = 0, thread = 0;
    auto operator<=>(const Key &) const = default;
  };
  enum class Kind : uint8_t { blocking, apart }; ///< apart: not in order with the null stream
  void create(const Key &stream, Kind kind);
  bool knows(const Key &stream);
  /// It is gone, and something else may have its handle from now on.
  void destroy(const Key &stream);

  /// The host puts a command into a stream. Null if nothing is sure any more.
  Ptr add(const Key &stream);
  /// The host itself does something. Likewise.
  Ptr addOfHost();
  void record(uint64_t event, const Key &stream);
  void wait(const Key &stream, uint64_t event);
  void forgetEvent(uint64_t event);
  /// What comes next in a stream is behind a command of another one.
  void follow(const Key &stream, const Command &command);

  /// The host has waited for it.
  void sawStream(const Key &stream);
  void sawEvent(uint64_t event);
  void sawAll();

  /// The application orders commands by ways that are not followed.
  void doubt() { is_sure_ = false; }
  bool isSure() const { return is_sure_; }
  bool hasStreams() const { return streams_made_ != 0; }
  bool hasSeveralStreams() const { return streams_made_ > 1; }

private:
  static constexpr uint32_t kHost = 0;
  /// Beyond so many streams or events nothing is sure.
  static constexpr std::size_t kMostStreams = 4096, kMostEvents = 1 << 16;
  struct Stream {
    uint32_t number = 0;
    Kind kind = Kind::blocking;
    uint64_t commands = 0;
    Clock clock;
  };
  Stream &of(const Key &key);
  void arrive(const Key &key, Stream &stream);
  static void join(Clock &to, const Clock &from);

  std::mutex mutex_;
  std::map<Key, Stream> streams_;
  std::map<uint64_t, Clock> events_;
  Clock host_;
  uint32_t next_ = kHost + 1;
  uint64_t issued_ = 0;
  std::atomic<unsigned> streams_made_{0};
  std::atomic<bool> is_sure_{true};
};

} // namespace fade::checks
