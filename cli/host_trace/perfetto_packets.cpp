#include "host_trace/perfetto_packets.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>

namespace fade::host_trace {
namespace {

// Numbers of fields, as in Perfetto's protos/perfetto/trace.
namespace trace {
constexpr unsigned kPacket = 1;
} // namespace trace
namespace packet {
constexpr unsigned kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kInternedData = 12,
                   kSequenceFlags = 13, kTrackDescriptor = 60;
constexpr uint64_t kStateCleared = 1, kNeedsState = 2;
} // namespace packet
namespace interned_data {
constexpr unsigned kCategories = 1, kNames = 2, kAnnotationNames = 3, kAnnotationTexts = 29;
constexpr unsigned kNumber = 1, kText = 2;
} // namespace interned_data
namespace track {
constexpr unsigned kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5, kCounter = 8;
constexpr unsigned kPid = 1, kTid = 2, kThreadName = 5, kProcessName = 6;
} // namespace track
namespace track_event {
constexpr unsigned kCategory = 3, kAnnotation = 4, kType = 9, kName = 10, kTrack = 11,
                   kCounterValue = 30, kFlow = 47, kLastOfFlow = 48;
constexpr uint64_t kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4;
} // namespace track_event
namespace annotation {
constexpr unsigned kName = 1, kBool = 2, kUint = 3, kInt = 4, kDouble = 5, kPointer = 7,
                   kEntries = 11, kElements = 12, kText = 17;
} // namespace annotation

/// Packets, and different texts, of a piece.
constexpr std::size_t kPiecePackets = 100'000, kPieceTexts = 20'000;
constexpr std::size_t kFileBuffer = 1 << 20;

} // namespace

// ---- messages

void ProtoMessage::varint(uint64_t value) {
  char bytes[10];
  std::size_t size = 0;
  for (; value >= 0x80; value >>= 7) bytes[size++] = static_cast<char>(value | 0x80);
  bytes[size++] = static_cast<char>(value);
  bytes_.append(bytes, size);
}

void ProtoMessage::number(unsigned field, uint64_t value) {
  varint(uint64_t{field} << 3);
  varint(value);
}

void ProtoMessage::fixed64(unsigned field, uint64_t value) {
  varint(uint64_t{field} << 3 | 1);
  char bytes[8];
  for (unsigned i = 0; i < 8; ++i) bytes[i] = static_cast<char>(value >> (8 * i));
  bytes_.append(bytes, sizeof bytes);
}

void ProtoMessage::real(unsigned field, double value) {
  fixed64(field, std::bit_cast<uint64_t>(value));
}

void ProtoMessage::text(unsigned field, std::string_view text) {
  varint(uint64_t{field} << 3 | 2);
  varint(text.size());
  bytes_ += text;
}

// ---- arguments

/// The members of an object that JsonWriter has written, as annotations of an event.
class PerfettoPackets::Annotations {
public:
  Annotations(PerfettoPackets &to, std::string_view json) : to_(to), rest_(json) {}

  /// At the beginning of an object.
  void writeMembers(ProtoMessage &message, unsigned field) {
    rest_.remove_prefix(1);
    while (!rest_.empty() && !takes('}')) {
      (void)takes(',');
      const uint64_t key = to_.interned(to_.keys_, interned_data::kAnnotationNames, takeText());
      (void)takes(':');
      if (rest_.starts_with("{}") || rest_.starts_with("[]")) { // there is no such value
        rest_.remove_prefix(2);
        continue;
      }
      ProtoMessage one;
      one.number(annotation::kName, key);
      writeValue(one);
      message.message(field, one);
    }
  }

private:
  bool takes(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  /// Valid until the next one.
  std::string_view takeText() {
    rest_.remove_prefix(1);
    const std::size_t end = std::min(rest_.find_first_of("\"\\"), rest_.size());
    if (end < rest_.size() && rest_[end] == '\\') return takeEscaped();
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return text;
  }

  std::string_view takeEscaped() {
    std::string &text = escaped_;
    text.clear();
    for (; !rest_.empty() && rest_.front() != '"'; rest_.remove_prefix(1)) {
      if (rest_.front() != '\\') {
        text += rest_.front();
        continue;
      }
      rest_.remove_prefix(1);
      if (rest_.front() == 'u') { // JsonWriter writes control characters so, and nothing else
        unsigned code = 0;
        (void)std::from_chars(rest_.data() + 1, rest_.data() + 5, code, 16);
        text += static_cast<char>(code);
        rest_.remove_prefix(4);
      } else {
        text += rest_.front();
      }
    }
    rest_.remove_prefix(1);
    return text;
  }

  void writeText(ProtoMessage &message, std::string_view text) {
    uint64_t address = 0;
    if (text.size() > 2 && text.size() <= 18 && text.starts_with("0x")) {
      const auto end = std::from_chars(text.data() + 2, text.data() + text.size(), address, 16);
      if (end.ec == std::errc() && end.ptr == text.data() + text.size())
        return message.number(annotation::kPointer, address);
    }
    message.number(annotation::kText,
                   to_.interned(to_.values_, interned_data::kAnnotationTexts, text));
  }

  void writeNumber(ProtoMessage &message, std::string_view text) {
    const char *end = text.data() + text.size();
    uint64_t whole = 0;
    int64_t negative = 0;
    double real = 0;
    if (std::from_chars(text.data(), end, whole).ptr == end)
      message.number(annotation::kUint, whole);
    else if (std::from_chars(text.data(), end, negative).ptr == end)
      message.number(annotation::kInt, static_cast<uint64_t>(negative));
    else if (std::from_chars(text.data(), end, real).ptr == end)
      message.real(annotation::kDouble, real);
    else
      writeText(message, text);
  }

  void writeElements(ProtoMessage &message) {
    rest_.remove_prefix(1);
    while (!rest_.empty() && !takes(']')) {
      (void)takes(',');
      ProtoMessage one;
      writeValue(one);
      message.message(annotation::kElements, one);
    }
  }

  void writeValue(ProtoMessage &message) {
    if (rest_.empty()) return;
    if (rest_.front() == '"') return writeText(message, takeText());
    if (rest_.front() == '{') return writeMembers(message, annotation::kEntries);
    if (rest_.front() == '[') return writeElements(message);
    const std::string_view word = rest_.substr(0, rest_.find_first_of(",]}\n"));
    rest_.remove_prefix(word.size());
    if (word == "true" || word == "false")
      return message.number(annotation::kBool, word == "true" ? 1 : 0);
    writeNumber(message, word); // null is a text
  }

  PerfettoPackets &to_;
  std::string_view rest_;
  std::string escaped_; ///< the text that was taken last
};

// ---- packets

PerfettoPackets::PerfettoPackets(const std::string &path)
    : path_(path), file_(std::fopen(path.c_str(), "w")) {
  if (!file_)
    error_ = errno;
  else
    (void)std::setvbuf(file_, nullptr, _IOFBF, kFileBuffer);
  beginPiece();
}

PerfettoPackets::~PerfettoPackets() {
  if (file_) std::fclose(file_);
}

Status PerfettoPackets::close() {
  if (file_ && std::fclose(file_) != 0 && error_ == 0) error_ = errno;
  file_ = nullptr;
  if (error_ != 0) return Error{path_, "", 0, std::strerror(error_)};
  return Done{};
}

void PerfettoPackets::flush(std::string_view) {
  if (file_ && std::fflush(file_) != 0 && error_ == 0) error_ = errno;
}

void PerfettoPackets::put(const ProtoMessage &packet) {
  ++in_piece_;
  if (error_ != 0) return;
  ProtoMessage whole;
  whole.message(trace::kPacket, packet);
  if (std::fwrite(whole.bytes().data(), 1, whole.bytes().size(), file_) != whole.bytes().size())
    error_ = errno;
}

void PerfettoPackets::beginPiece() {
  in_piece_ = 0;
  for (Numbers *numbers : {&names_, &categories_, &keys_, &values_}) numbers->clear();
  new_texts_.clear();
  ProtoMessage first;
  first.number(packet::kSequence, 1);
  first.number(packet::kSequenceFlags, packet::kStateCleared);
  put(first);
}

uint64_t PerfettoPackets::interned(Numbers &numbers, unsigned field, std::string_view text) {
  if (const auto at = numbers.find(text); at != numbers.end()) return at->second;
  const uint64_t number = numbers.size() + 1;
  numbers.emplace(text, number);
  ProtoMessage one;
  one.number(interned_data::kNumber, number);
  one.text(interned_data::kText, text);
  new_texts_.message(field, one);
  return number;
}

void PerfettoPackets::describe(const ProtoMessage &track) {
  ProtoMessage packet;
  packet.number(packet::kSequence, 1);
  packet.message(packet::kTrackDescriptor, track);
  put(packet);
}

void PerfettoPackets::announceProcess(uint32_t pid, std::string_view title) {
  const auto [at, is_first] = processes_.try_emplace(pid, next_track_);
  if (!is_first) return;
  ++next_track_;
  ProtoMessage process, track;
  process.number(track::kPid, pid);
  process.text(track::kProcessName, title);
  track.number(track::kUuid, at->second);
  track.message(track::kProcess, process);
  describe(track);
}

void PerfettoPackets::announceTrack(uint32_t pid, uint32_t tid, std::string_view title,
                                    bool is_thread) {
  const auto [at, is_first] = tracks_.try_emplace({pid, tid}, next_track_);
  if (!is_first) return;
  ++next_track_;
  ProtoMessage track;
  track.number(track::kUuid, at->second);
  if (const auto process = processes_.find(pid); process != processes_.end())
    track.number(track::kParent, process->second);
  if (is_thread) {
    ProtoMessage thread;
    thread.number(track::kPid, pid);
    thread.number(track::kTid, tid);
    thread.text(track::kThreadName, title);
    track.message(track::kThread, thread);
  } else {
    track.text(track::kName, title);
  }
  describe(track);
}

uint64_t PerfettoPackets::trackOf(uint32_t pid, uint32_t tid) {
  announceTrack(pid, tid, std::to_string(tid), false); // unless it is known
  return tracks_.at({pid, tid});
}

void PerfettoPackets::event(uint64_t time_ns, const ProtoMessage &event) {
  ProtoMessage packet;
  packet.number(packet::kTimestamp, time_ns);
  packet.number(packet::kSequence, 1);
  packet.number(packet::kSequenceFlags, packet::kNeedsState);
  if (!new_texts_.empty()) packet.message(packet::kInternedData, new_texts_);
  new_texts_.clear();
  packet.message(packet::kTrackEvent, event);
  put(packet);
}

void PerfettoPackets::slice(const TimelineSlice &slice, const Members &arguments) {
  if (in_piece_ >= kPiecePackets || values_.size() + names_.size() >= kPieceTexts) beginPiece();
  const uint64_t track = trackOf(slice.pid, slice.tid);
  ProtoMessage begin;
  begin.number(track_event::kType, track_event::kBegin);
  begin.number(track_event::kTrack, track);
  begin.number(track_event::kCategory,
               interned(categories_, interned_data::kCategories, slice.category));
  begin.number(track_event::kName, interned(names_, interned_data::kNames, slice.name));
  for (const uint64_t id : slice.arrows_from) begin.fixed64(track_event::kFlow, id);
  for (const uint64_t id : slice.arrows_to) begin.fixed64(track_event::kLastOfFlow, id);
  JsonWriter json;
  json.object([&] { arguments(json); });
  Annotations(*this, json.text()).writeMembers(begin, track_event::kAnnotation);
  event(slice.start_ns, begin);
  ProtoMessage end;
  end.number(track_event::kType, track_event::kEnd);
  end.number(track_event::kTrack, track);
  event(slice.end_ns, end);
}

void PerfettoPackets::counter(const char *name, uint32_t pid, uint64_t time_ns, int64_t value) {
  const auto [at, is_first] = counters_.try_emplace({pid, name}, next_track_);
  if (is_first) {
    ++next_track_;
    ProtoMessage track;
    track.number(track::kUuid, at->second);
    if (const auto process = processes_.find(pid); process != processes_.end())
      track.number(track::kParent, process->second);
    track.text(track::kName, name);
    track.message(track::kCounter, {});
    describe(track);
  }
  ProtoMessage message;
  message.number(track_event::kType, track_event::kCounter);
  message.number(track_event::kTrack, at->second);
  message.number(track_event::kCounterValue, static_cast<uint64_t>(value));
  event(time_ns, message);
}

void PerfettoPackets::note(std::string_view text, uint64_t time_ns) {
  announceTrack(0, 0, "about this trace", false);
  ProtoMessage mark;
  mark.number(track_event::kType, track_event::kInstant);
  mark.number(track_event::kTrack, trackOf(0, 0));
  mark.number(track_event::kName, interned(names_, interned_data::kNames, text));
  event(time_ns, mark);
}

} // namespace fade::host_trace
