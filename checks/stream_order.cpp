#include "checks/stream_order.h"

namespace fade::checks {
namespace {

constexpr StreamOrder::Key kNull{};

} // namespace

StreamOrder &StreamOrder::instance() {
  static auto *order = new StreamOrder; // outlives every exit handler
  return *order;
}

void StreamOrder::join(Clock &to, const Clock &from) {
  for (const auto &[stream, number] : from) {
    uint64_t &at = to[stream];
    at = at > number ? at : number;
  }
}

StreamOrder::Stream &StreamOrder::of(const Key &key) {
  Stream &stream = streams_[key];
  if (stream.number == 0) stream.number = next_++, ++streams_made_;
  if (next_ > kMostStreams) doubt();
  return stream;
}

/// What the stream knows of, before the next command.
void StreamOrder::arrive(const Key &key, Stream &stream) {
  join(stream.clock, host_);
  if (key == kNull) {
    for (const auto &[other, state] : streams_)
      if (state.kind == Kind::blocking) join(stream.clock, state.clock);
  } else if (stream.kind == Kind::blocking) {
    if (const auto null = streams_.find(kNull); null != streams_.end())
      join(stream.clock, null->second.clock);
  }
}

void StreamOrder::create(const Key &key, Kind kind) {
  const std::lock_guard lock(mutex_);
  streams_.erase(key);
  if (is_sure_) of(key).kind = kind;
}

bool StreamOrder::knows(const Key &key) {
  const std::lock_guard lock(mutex_);
  return key == kNull || streams_.contains(key);
}

void StreamOrder::destroy(const Key &key) {
  sawStream(key);
  const std::lock_guard lock(mutex_);
  streams_.erase(key);
}

StreamOrder::Ptr StreamOrder::add(const Key &key) {
  const std::lock_guard lock(mutex_);
  if (!is_sure_) return nullptr;
  Stream &stream = of(key);
  arrive(key, stream);
  stream.clock[stream.number] = ++stream.commands;
  return std::make_shared<const Command>(
      Command{stream.number, stream.commands, ++issued_, stream.clock});
}

StreamOrder::Ptr StreamOrder::addOfHost() {
  const std::lock_guard lock(mutex_);
  if (!is_sure_) return nullptr;
  const uint64_t number = ++host_[kHost];
  return std::make_shared<const Command>(Command{kHost, number, ++issued_, host_});
}

void StreamOrder::record(uint64_t event, const Key &key) {
  const std::lock_guard lock(mutex_);
  if (!is_sure_) return;
  if (events_.size() >= kMostEvents) return doubt();
  Stream &stream = of(key);
  arrive(key, stream);
  events_[event] = stream.clock;
}

void StreamOrder::wait(const Key &key, uint64_t event) {
  const std::lock_guard lock(mutex_);
  if (const auto at = events_.find(event); is_sure_ && at != events_.end())
    join(of(key).clock, at->second);
}

void StreamOrder::forgetEvent(uint64_t event) {
  const std::lock_guard lock(mutex_);
  events_.erase(event);
}

void StreamOrder::follow(const Key &key, const Command &command) {
  const std::lock_guard lock(mutex_);
  join(of(key).clock, command.knows);
}

void StreamOrder::sawStream(const Key &key) {
  const std::lock_guard lock(mutex_);
  if (!is_sure_) return;
  Stream &stream = of(key);
  arrive(key, stream);
  join(host_, stream.clock);
}

void StreamOrder::sawEvent(uint64_t event) {
  const std::lock_guard lock(mutex_);
  if (const auto at = events_.find(event); at != events_.end()) join(host_, at->second);
}

void StreamOrder::sawAll() {
  const std::lock_guard lock(mutex_);
  for (const auto &[key, stream] : streams_) join(host_, stream.clock);
}

} // namespace fade::checks
