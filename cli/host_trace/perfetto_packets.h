// A timeline as a file of Perfetto's own format: packets of protobuf, written as they come.
//
// A text that comes again is written once for each piece of the file and named by a number
// afterwards. A piece begins with a packet that says that earlier numbers are not valid any more,
// so that memory depends on the size of a piece, and what follows the beginning of a piece can be
// read without what is before it, apart from the descriptions of tracks.
#pragma once

#include "base/result.h"
#include "host_trace/timeline_sink.h"

#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace fade::host_trace {

/// The messages of protobuf that a packet is made of.
class ProtoMessage {
public:
  void number(unsigned field, uint64_t value);
  void fixed64(unsigned field, uint64_t value);
  void real(unsigned field, double value);
  void text(unsigned field, std::string_view text);
  void message(unsigned field, const ProtoMessage &message) { text(field, message.bytes_); }
  const std::string &bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }
  bool empty() const { return bytes_.empty(); }

private:
  void varint(uint64_t value);
  std::string bytes_;
};

class PerfettoPackets final : public TimelineSink {
public:
  explicit PerfettoPackets(const std::string &path);
  ~PerfettoPackets() override;
  Status close(); ///< whether all of it could be written

  void announceProcess(uint32_t pid, std::string_view title) override;
  void announceTrack(uint32_t pid, uint32_t tid, std::string_view title, bool is_thread) override;
  void slice(const TimelineSlice &slice, const Members &arguments) override;
  void arrowEnd(char, const char *, uint64_t, uint32_t, uint32_t, uint64_t) override {}
  void counter(const char *name, uint32_t pid, uint64_t time_ns, int64_t value) override;
  void title(uint32_t, std::optional<uint32_t>, std::string_view) override {}
  void flush(std::string_view about) override;
  /// A line about all of it, as a mark at the beginning of a track of its own.
  void note(std::string_view text, uint64_t time_ns);

private:
  class Annotations;
  friend class Annotations;
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using Numbers = std::unordered_map<std::string, uint64_t, Hash, std::equal_to<>>;

  /// The number of a text in this piece; new ones are put into the next packet.
  uint64_t interned(Numbers &numbers, unsigned field, std::string_view text);
  uint64_t trackOf(uint32_t pid, uint32_t tid);
  void describe(const ProtoMessage &track);
  void event(uint64_t time_ns, const ProtoMessage &event);
  void beginPiece();
  void put(const ProtoMessage &packet);

  const std::string path_;
  std::FILE *file_;
  int error_ = 0;
  std::size_t in_piece_ = 0; ///< packets
  Numbers names_, categories_, keys_, values_;
  ProtoMessage new_texts_;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> tracks_;      ///< by process and number
  std::map<uint32_t, uint64_t> processes_;                        ///< their tracks
  std::map<std::pair<uint32_t, std::string>, uint64_t> counters_; ///< their tracks
  uint64_t next_track_ = 1;
  std::string arguments_; ///< room for one object
};

} // namespace fade::host_trace
