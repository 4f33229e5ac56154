// Checks a stream of emitted records: each is worked out again from its wave and its site and must
// be exactly that. Nothing may be missing, come twice, come in another order or be torn.
#pragma once

#include "backend.h"
#include "fade/decode.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fade::silicon {

// What the dispatch was asked to do.
struct Expected {
  emit_plan plan{};
  Grid grid;
  uint32_t flags = 0; // FADE_CONTROL_*
  uint32_t sample_executions = 1;
  uint32_t sample_workgroups = 1;
  uint32_t first_group = 0, last_group = UINT32_MAX;
  // The runtime decides for all records of a call at once whether they are dropped, RingWriter for
  // each.
  bool drops_whole_calls = true;

  bool isTraced(uint32_t group) const {
    return first_group <= group && group <= last_group &&
           (sample_workgroups <= 1 || group % sample_workgroups == 0);
  }
};

// What the control block said in the end.
struct Outcome {
  uint64_t head = 0, dropped = 0;
  uint32_t waves = 0;
  std::vector<fade_counter> counters;
};

class Checker {
public:
  explicit Checker(const Expected &expected);

  void add(std::span<const std::byte> records); // whole records, in the order of the stream
  void finish(const Outcome &outcome);

  bool isGood() const { return errors_ == 0; }
  uint64_t errors() const { return errors_; }
  const std::vector<std::string> &messages() const { return messages_; } // the first few errors
  uint64_t records() const { return records_; }
  uint64_t bytes() const { return bytes_; }
  uint64_t dropped() const { return dropped_; } // as counted here
  std::array<uint64_t, 6> byKind() const { return by_kind_; }
  std::array<uint64_t, 5> byEncoding() const { return by_encoding_; }

private:
  struct Wave {
    uint32_t number = UINT32_MAX; // in the grid; none: not announced
    uint32_t next = 0;            // the call that comes next
    uint32_t open = 0;            // lanes of call next - 1 that may still come
    uint32_t shared_base = 0;
    uint64_t clock = 0;
    bool ended = false;
  };

  void check(const Record &record);
  void begin(const Record &record);
  void end(const Record &record, Wave &wave);
  void checkCall(const Record &record, Wave &wave);
  bool advance(const Record &record, Wave &wave);
  void checkContents(const Record &record, Wave &wave, const emit_call &call);
  void checkAddresses(const Record &record, const Wave &wave, const emit_call &call);
  void skip(Wave &wave, uint32_t to);
  void checkCounters(const Outcome &outcome);
  void checkSamples(const Outcome &outcome);

  // The number of the call that a site stands for.
  uint32_t callNumber(uint32_t site) const {
    return isSplit() && expected_.plan.calls != 0 ? site % expected_.plan.calls : site;
  }
  bool isSplit() const {
    return (expected_.plan.kinds & (1u << EMIT_SPLIT | 1u << EMIT_SPLIT_BLOCK)) != 0;
  }
  emit_call callOf(const Wave &wave, uint32_t site) const {
    const emit_plan &p = expected_.plan;
    return emit_at(p.seed, p.kinds, p.shapes, p.masks, wave.number, site);
  }
  uint64_t addressOf(const Wave &wave, const emit_call &call, uint32_t lane) const;
  template <typename... T> void fail(const T &...what);

  const Expected expected_;
  std::vector<Wave> waves_;       // by the number they announce themselves with
  std::vector<bool> announced_;   // by their place in the grid
  std::vector<uint64_t> samples_; // per site: calls recorded
  uint32_t traced_ = 0;
  uint64_t errors_ = 0, records_ = 0, bytes_ = 0, dropped_ = 0;
  std::array<uint64_t, 6> by_kind_{};
  std::array<uint64_t, 5> by_encoding_{};
  std::vector<std::string> messages_;
};

} // namespace fade::silicon
