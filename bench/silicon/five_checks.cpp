// Runs the five kernels plain and instrumented, and compares results, accesses, blocks and counts
// with what they must be.
#include "five_checks.h"

#include "coalescing_and_bank_conflicts.h"
#include "fade/decode.h"
#include "fade/site_table.h"
#include "five.h"
#include "traced_ring.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <numeric>
#include <optional>
#include <sstream>
#include <tuple>

namespace fade::silicon {
namespace {

// What came by at a block.
struct BlockCount {
  uint64_t entries = 0, lanes = 0;
};

// An access of a lane.
struct Touch {
  uint32_t thread; // in the whole grid
  uint64_t address;
  bool operator==(const Touch &) const = default;
};

using Execution = handlers::WaveAccess;

// What a stream of a kernel contained.
class Trace {
public:
  Trace(const Workload &workload, const SiteTable &table, uint32_t kernel)
      : workload_(workload), table_(table), kernel_(kernel), waves_(workload.waves()),
        touches_(table.sites().size()), executions_(table.sites().size()),
        blocks_(table.sites().size()),
        visits_(table.sites().size(), std::vector<bool>(workload.waves())) {}

  void add(std::span<const std::byte> bytes) {
    RecordCursor cursor(bytes);
    Record record;
    while (true) {
      const auto status = cursor.next(record);
      if (status == RecordCursor::Status::end) return;
      if (status != RecordCursor::Status::record) return fail("a record that cannot be read");
      ++records_;
      bytes_ += record.size();
      take(record);
    }
  }

  uint64_t records() const { return records_; }
  uint64_t bytes() const { return bytes_; }
  uint32_t begun() const { return begun_; }
  uint32_t ended() const { return ended_; }
  const std::vector<Touch> &touches(uint32_t site) const { return touches_[site]; }
  const std::vector<Execution> &executions(uint32_t site) const { return executions_[site]; }
  uint64_t touchCount() const {
    uint64_t n = 0;
    for (const auto &list : touches_) n += list.size();
    return n;
  }
  BlockCount block(uint32_t site) const { return blocks_[site]; }
  uint64_t wavesAt(uint32_t site) const {
    return static_cast<uint64_t>(std::count(visits_[site].begin(), visits_[site].end(), true));
  }
  const std::vector<std::string> &errors() const { return errors_; }

private:
  struct Wave {
    uint32_t first = UINT32_MAX; // thread of its lane 0
    uint32_t lanes = 0;
    uint64_t clock = 0;
  };

  void fail(const char *what) {
    if (std::find(errors_.begin(), errors_.end(), what) == errors_.end()) errors_.push_back(what);
  }

  void take(const Record &record) {
    if (record.wave() >= waves_.size()) return fail("a wave too many");
    if (record.kind() == FADE_RECORD_WAVE_BEGIN) return begin(record.waveBegin());
    Wave &wave = waves_[record.wave()];
    if (wave.first == UINT32_MAX) return fail("a wave that was not announced");
    if ((record.mask() & ~uint64_t{wave.lanes}) != 0) return fail("lanes that do not exist");
    if (record.kind() == FADE_RECORD_WAVE_END) {
      ++ended_;
      return;
    }
    if (record.site() >= table_.sites().size()) return fail("a site that is not in the table");
    const fade_site &site = table_.sites()[record.site()];
    if (site.kernel != kernel_) return fail("a site of another kernel");
    if ((site.kind == FADE_SITE_BLOCK) != (record.kind() == FADE_RECORD_BLOCK))
      return fail("a record of another kind than its site");
    if (record.kind() == FADE_RECORD_BLOCK) {
      if (record.clock() < wave.clock) fail("a clock that runs backwards");
      wave.clock = record.clock();
      ++blocks_[record.site()].entries;
      blocks_[record.site()].lanes += record.laneCount();
      visits_[record.site()][record.wave()] = true;
      return;
    }
    Execution &execution = executions_[record.site()].emplace_back();
    execution.mask = record.mask();
    record.forEachLane([&](uint32_t lane, uint64_t address) {
      touches_[record.site()].push_back({wave.first + lane, address});
      execution.addresses[lane] = address;
    });
  }

  void begin(const fade_wave_begin &said) {
    Wave &wave = waves_[said.wave];
    if (wave.first != UINT32_MAX) return fail("a wave that is announced twice");
    if (said.module != table_.moduleId()) fail("a wave of another module");
    if (said.header.site != kernel_) fail("a wave of another kernel");
    const Dim &group = workload_.group, &groups = workload_.groups;
    const uint32_t x = said.work_item & 1023, y = said.work_item >> 10 & 1023;
    if (said.workgroup_x >= groups.x || said.workgroup_y >= groups.y || x >= group.x ||
        y >= group.y)
      return fail("a wave outside of the grid");
    const uint32_t block = said.workgroup_y * groups.x + said.workgroup_x;
    wave.first = block * group.x * group.y + y * group.x + x;
    wave.lanes = static_cast<uint32_t>(said.mask);
    wave.clock = said.clock;
    ++begun_;
  }

  const Workload &workload_;
  const SiteTable &table_;
  const uint32_t kernel_;
  std::vector<Wave> waves_;
  std::vector<std::vector<Touch>> touches_; // per site
  std::vector<std::vector<Execution>> executions_;
  std::vector<BlockCount> blocks_;        // per site
  std::vector<std::vector<bool>> visits_; // per site and wave
  std::vector<std::string> errors_;
  uint64_t records_ = 0, bytes_ = 0;
  uint32_t begun_ = 0, ended_ = 0;
};

// The module of a mode.
struct Instrumented {
  std::string mode;
  CUmodule module = nullptr;
  std::optional<SiteTable> table;

  std::optional<uint32_t> kernel(const std::string &name) const {
    for (uint32_t i = 0; i < table->kernels().size(); ++i)
      if (table->string(table->kernels()[i].name) == name) return i;
    return std::nullopt;
  }
  // The sites of a kernel that are like this, in the order of the source.
  std::vector<uint32_t> sites(uint32_t kernel, uint32_t kind, uint32_t space) const {
    std::vector<uint32_t> found;
    const auto all = table->sites();
    for (uint32_t i = 0; i < all.size(); ++i)
      if (all[i].kernel == kernel && all[i].kind == kind && all[i].space == space)
        found.push_back(i);
    std::sort(found.begin(), found.end(), [&](uint32_t a, uint32_t b) {
      return std::tuple(all[a].line, all[a].column, a) < std::tuple(all[b].line, all[b].column, b);
    });
    return found;
  }
};

Instrumented loadMode(CudaBackend &backend, const std::string &artefacts, const char *mode) {
  Instrumented m{mode, backend.load(artefacts + "/five-" + mode + ".ptx"), {}};
  std::string error;
  m.table = SiteTable::parse(backend.global(m.module, FADE_SITES_VARIABLE), error);
  if (!m.table) throw Error(std::string("sites of five-") + mode + ": " + error);
  return m;
}

// All accesses of the kernel, per name, thread by thread.
std::vector<std::vector<Touch>> expectedTouches(const Workload &w) {
  std::vector<std::vector<Touch>> all(w.accesses.size());
  uint32_t thread = 0;
  for (uint32_t by = 0; by < w.groups.y; ++by)
    for (uint32_t bx = 0; bx < w.groups.x; ++bx)
      for (uint32_t y = 0; y < w.group.y; ++y)
        for (uint32_t x = 0; x < w.group.x; ++x, ++thread)
          w.reference({x, y, bx, by}, [&](std::size_t name, uint64_t address) {
            all[name].push_back({thread, address});
          });
  return all;
}

// Thread by thread, and for each in the order of the stream.
std::vector<Touch> byThread(const std::vector<Touch> &touches, uint32_t threads) {
  std::vector<std::size_t> places(threads + 1);
  for (const Touch &touch : touches) ++places[touch.thread + 1];
  std::partial_sum(places.begin(), places.end(), places.begin());
  std::vector<Touch> sorted(touches.size());
  for (const Touch &touch : touches) sorted[places[touch.thread]++] = touch;
  return sorted;
}

// Each thread must have made exactly its accesses, in its order.
void compareTouches(const Workload &w, const Instrumented &m, uint32_t kernel, const Trace &trace,
                    std::vector<std::string> &errors) {
  const auto expected = expectedTouches(w);
  uint64_t total = 0;
  for (std::size_t name = 0; name < w.accesses.size(); ++name) {
    const AccessName &access = w.accesses[name];
    const auto sites = m.sites(kernel, access.kind, access.space);
    const auto alike = std::count_if(w.accesses.begin(), w.accesses.end(), [&](const auto &a) {
      return a.kind == access.kind && a.space == access.space;
    });
    std::ostringstream where;
    where << "access " << name << " of " << w.name << ": ";
    if (sites.size() != static_cast<std::size_t>(alike)) {
      where << sites.size() << " sites like it instead of " << alike;
      errors.push_back(where.str());
      continue;
    }
    const auto got = byThread(trace.touches(sites[access.number]), w.threads());
    total += got.size();
    if (got == expected[name]) continue;
    where << got.size() << " recorded, " << expected[name].size() << " expected";
    const auto [a, b] =
        std::mismatch(got.begin(), got.end(), expected[name].begin(), expected[name].end());
    if (a != got.end() && b != expected[name].end())
      where << "; thread " << a->thread << " at " << std::hex << a->address << " instead of thread "
            << std::dec << b->thread << " at " << std::hex << b->address;
    errors.push_back(where.str());
  }
  if (total != trace.touchCount()) errors.push_back("accesses that the source does not have");
}

// The distance that all neighbouring lanes have, as analyzers see it; 0 if there is but one lane.
std::optional<int64_t> strideOf(const Execution &e) {
  std::optional<int64_t> stride;
  bool is_same = true;
  uint32_t before = 64;
  handlers::forEachLane(e.mask, [&](uint32_t lane) {
    if (before < 64) {
      const int64_t distance = static_cast<int64_t>(e.addresses[lane] - e.addresses[before]) /
                               static_cast<int64_t>(lane - before);
      is_same &= stride.value_or(distance) == distance;
      stride = distance;
    }
    before = lane;
  });
  return is_same ? std::optional(stride.value_or(0)) : std::nullopt;
}

// What irregular accesses of a site cost.
struct Costs {
  uint64_t executions = 0, lanes = 0, needed = 0, used = 0, conflicts = 0, same_address = 0;
  uint64_t same_turns = 0;
  std::map<int64_t, uint64_t> strides; // executions in which all neighbours are so far apart
  bool operator==(const Costs &) const = default;

  void add(const Execution &e, const fade_site &site, uint64_t times = 1) {
    const auto n = static_cast<uint64_t>(std::popcount(e.mask));
    executions += times;
    lanes += times * n;
    if (const auto stride = strideOf(e)) strides[*stride] += times;
    if (site.space == FADE_SPACE_LDS) {
      const uint64_t turns = handlers::ldsConflicts(e, site.size, 32);
      conflicts += times * turns;
      if (site.kind == FADE_SITE_ATOMIC)
        same_turns +=
            times * (ldsConflicts(e, site.size, 32, handlers::SameDword::in_turns) - turns);
    } else {
      const auto lines = handlers::linesOfPieces(e, site.size, 128, distinct);
      needed += times * lines.needed;
      used += times * lines.used;
    }
    if (site.kind != FADE_SITE_ATOMIC) return;
    distinct.start();
    handlers::forEachLane(e.mask, [&](uint32_t lane) { distinct.add(e.addresses[lane]); });
    same_address += times * (n - distinct.count());
  }
  void add(const fade_sums_record &sums, const fade_site &site) {
    executions += sums.count;
    lanes += sums.lanes;
    (site.space == FADE_SPACE_LDS ? same_turns : needed) += sums.needed;
    used += sums.used;
    if (site.space == FADE_SPACE_LDS) conflicts += sums.wasted;
    same_address += sums.same_address;
    if (sums.header.encoding == FADE_ENCODING_AFFINE) strides[sums.stride] += sums.count;
  }
  std::string text() const {
    std::ostringstream out;
    out << executions << " executions, " << lanes << " lanes, " << needed << " lines needed, "
        << used << " used, " << conflicts << " conflicts, " << same_address
        << " at the same address in " << same_turns << " turns, " << strides.size() << " strides";
    return out.str();
  }

private:
  struct Counter : handlers::DistinctCounter {
    bool operator==(const Counter &) const { return true; }
  };
  Counter distinct;
};

// As if the lanes of a wave stayed together: the nth access of each is one execution.
Costs expectedCosts(const std::vector<Touch> &touches, const fade_site &site) {
  std::map<std::pair<uint32_t, uint64_t>, Execution> executions; // by wave and n
  uint32_t thread = UINT32_MAX;
  uint64_t n = 0;
  for (const Touch &touch : touches) {
    n = touch.thread == thread ? n + 1 : 0;
    thread = touch.thread;
    Execution &e = executions[{thread / 32, n}];
    e.mask |= uint64_t{1} << thread % 32;
    e.addresses[thread % 32] = touch.address;
  }
  Costs costs;
  for (const auto &[key, execution] : executions) costs.add(execution, site);
  return costs;
}

// What was added up and what was recorded must be all accesses: as many lanes, and as many in each
// place of a cache line. Of irregular ones places are not known, but what they cost.
void compareSums(const Workload &w, const Instrumented &m, uint32_t kernel, const Trace &trace,
                 const std::vector<std::byte> &summaries, std::vector<std::string> &errors,
                 std::vector<std::string> &remarks) {
  constexpr uint64_t line = 128;
  using Places = std::array<uint64_t, line>;
  std::vector<Places> added(m.table->sites().size());
  std::vector<Costs> costs(m.table->sites().size());
  std::vector<bool> is_irregular(m.table->sites().size());
  RecordCursor cursor(summaries);
  Record record;
  RecordCursor::Status status;
  while ((status = cursor.next(record)) == RecordCursor::Status::record) {
    if (record.isSums()) {
      costs[record.site()].add(record.sums(), m.table->sites()[record.site()]);
      is_irregular[record.site()] = true;
    }
    if (!record.isSummary()) continue;
    Execution execution;
    execution.mask = record.mask();
    record.forEachLane([&](uint32_t lane, uint64_t address) {
      added[record.site()][address % line] += record.count();
      execution.addresses[lane] = address;
    });
    costs[record.site()].add(execution, m.table->sites()[record.site()], record.count());
  }
  if (status != RecordCursor::Status::end) errors.push_back("summaries that cannot be read");
  const auto expected = expectedTouches(w);
  for (std::size_t name = 0; name < w.accesses.size(); ++name) {
    const AccessName &access = w.accesses[name];
    const auto sites = m.sites(kernel, access.kind, access.space);
    if (access.number >= sites.size()) {
      errors.push_back("a site is missing");
      continue;
    }
    const uint32_t site = sites[access.number];
    if (is_irregular[site]) {
      Costs &got = costs[site];
      for (const Execution &e : trace.executions(site)) got.add(e, m.table->sites()[site]);
      const Costs wanted = expectedCosts(expected[name], m.table->sites()[site]);
      // Parts of a wave may come by one after the other.
      const bool is_error = got.lanes != wanted.lanes || got.executions < wanted.executions ||
                            (got.executions == wanted.executions && !(got == wanted));
      if (is_error || !(got == wanted))
        (is_error ? errors : remarks)
            .push_back("access " + std::to_string(name) + " of " + w.name + ": " + got.text() +
                       " instead of " + wanted.text());
      continue;
    }
    const uint64_t period = access.space == FADE_SPACE_LDS ? 4 : line;
    Places got{}, wanted{};
    for (uint64_t i = 0; i < line; ++i) got[i % period] += added[site][i];
    for (const Touch &touch : trace.touches(site)) ++got[touch.address % period];
    for (const Touch &touch : expected[name]) ++wanted[touch.address % period];
    if (got != wanted)
      errors.push_back("access " + std::to_string(name) + " of " + w.name +
                       ": what was added up is not what was done");
  }
}

// A block of a kernel, in one mode or the other.
struct Block {
  uint32_t line;
  BlockCount count;
  uint64_t waves; // mode blocks only
};

struct Result {
  std::vector<std::string> errors, remarks;
  std::vector<Block> blocks; // in the order of the table
  uint64_t records = 0, bytes = 0;
};

// What was counted and what was recorded must agree, block by block. Parts of a wave may come by
// one after the other, not in the same parts each time: only lanes are the same for sure.
void compareBlocks(const Result &recorded, const Result &counted, bool is_uniform, Result &r) {
  if (recorded.blocks.size() != counted.blocks.size()) {
    r.errors.push_back("the modes have different blocks");
    return;
  }
  for (std::size_t i = 0; i < recorded.blocks.size(); ++i) {
    const Block &a = recorded.blocks[i], &b = counted.blocks[i];
    const bool same_lanes = a.count.lanes == b.count.lanes;
    const bool same_entries = a.count.entries == b.count.entries;
    if (same_lanes && same_entries && a.line == b.line) continue;
    std::ostringstream text;
    text << "block " << i << ", line " << a.line << ": " << a.count.lanes << " lanes in "
         << a.count.entries << " entries recorded (" << a.waves << " waves), " << b.count.lanes
         << " in " << b.count.entries << " counted (line " << b.line << ")";
    const bool is_error = !same_lanes || a.line != b.line || b.count.entries < a.waves ||
                          (is_uniform && !same_entries);
    (is_error ? r.errors : r.remarks).push_back(text.str());
  }
}

Result runTwin(CudaBackend &backend, const Workload &w, const Instrumented &m, Transport transport,
               const std::vector<std::byte> &plain) {
  Result r;
  backend.doing = w.name + ", " + m.mode + ", " + nameOf(transport) + " ring";
  const auto kernel = m.kernel(w.name);
  if (!kernel) {
    r.errors.push_back("the site table has no kernel " + w.name);
    return r;
  }
  const std::string clone(m.table->string(m.table->kernels()[*kernel].clone));
  TracedRing ring(backend, transport, 1 << 20, *m.table);
  const bool has_stream = (m.table->kernels()[*kernel].flags & FADE_KERNEL_NO_STREAM) == 0;
  const bool sums = (m.table->kernels()[*kernel].flags & FADE_KERNEL_SUMS) != 0;
  ring.sumUp(*m.table, *kernel, {w.groups.x, w.groups.y, 1}, {w.group.x, w.group.y, 1});
  Trace trace(w, *m.table, *kernel);
  w.clearOutput(backend);
  ring.prepare();
  const auto launch = w.launch(backend, backend.function(m.module, clone.c_str()), ring.control());
  ring.read(*launch, {}, [&](std::span<const std::byte> piece) { trace.add(piece); });
  Outcome outcome = ring.outcome();
  const std::vector<uint64_t> clocks = clocksBySite(*m.table, outcome.counters);
  const CountedDispatch dispatch{
      *kernel,
      {w.groups.x * w.group.x, w.groups.y * w.group.y, w.groups.z * w.group.z},
      {w.group.x, w.group.y, w.group.z}};
  if (!has_stream)
    outcome.counters = countersBySite(*m.table, outcome.counters, dispatch, fade_control{});

  r.errors = trace.errors();
  r.records = trace.records();
  r.bytes = trace.bytes();
  if (w.readOutput(backend) != plain) r.errors.push_back("the results are not the plain kernel's");
  if (outcome.head != trace.bytes() || outcome.dropped != 0)
    r.errors.push_back("bytes reserved and received differ");
  const uint32_t announced = has_stream ? w.waves() : 0;
  if (!sums && (trace.begun() != announced || outcome.waves != announced))
    r.errors.push_back(std::to_string(trace.begun()) + " waves instead of " +
                       std::to_string(announced));
  if (m.mode == "kernel" && trace.ended() != w.waves())
    r.errors.push_back(std::to_string(trace.ended()) + " waves have ended");
  if (sums) compareSums(w, m, *kernel, trace, ring.summaries(), r.errors, r.remarks);
  if (m.mode == "accesses") compareTouches(w, m, *kernel, trace, r.errors);
  for (uint32_t i = 0; i < m.table->sites().size(); ++i) {
    const fade_site &site = m.table->sites()[i];
    if (site.kernel != *kernel || site.kind != FADE_SITE_BLOCK) continue;
    if (sums) continue; // blocks are recorded where nothing is added up
    const fade_counter &c = outcome.counters[i];
    if (m.mode == "blocks")
      r.blocks.push_back({site.line, trace.block(i), trace.wavesAt(i)});
    else
      r.blocks.push_back({site.line, {c.entries, c.entries + c.more_lanes}, 0});
    if (m.mode == "times" && (c.entries != 0) != (clocks[i] != 0))
      r.errors.push_back("block " + std::to_string(i) + " was entered " +
                         std::to_string(c.entries) + " times and took " +
                         std::to_string(clocks[i]) + " clocks");
  }
  if (!r.blocks.empty() && r.blocks.front().count.lanes != w.threads())
    r.errors.push_back("the first block was entered by " +
                       std::to_string(r.blocks.front().count.lanes) + " lanes of " +
                       std::to_string(w.threads()));
  return r;
}

} // namespace

uint32_t sharedStart(CudaBackend &backend, CUmodule plain) {
  Buffer out(backend, Place::device, 64);
  uint64_t address = out.device();
  void *arguments[] = {&address};
  const auto launch = backend.launch(backend.function(plain, "shared_start"), {}, {}, arguments);
  while (!launch->isDone()) {
  }
  uint32_t offset = 0;
  backend.read(&offset, out.device(), sizeof offset);
  return offset;
}

unsigned runFive(CudaBackend &backend, Report &report, const std::string &artefacts) {
  const CUmodule plain = backend.load(artefacts + "/five.ptx");
  std::vector<Instrumented> modes;
  for (const char *mode : kModes) modes.push_back(loadMode(backend, artefacts, mode));
  unsigned failed = 0;
  for (const Workload &w : makeWorkloads(backend, sharedStart(backend, plain), false)) {
    w.clearOutput(backend);
    {
      const auto launch = w.launch(backend, backend.function(plain, w.name.c_str()));
      while (!launch->isDone()) {
      }
    }
    const auto result = w.readOutput(backend);
    for (const Transport transport : {Transport::host, Transport::device}) {
      Result recorded;
      for (const Instrumented &m : modes) {
        Result r = runTwin(backend, w, m, transport, result);
        if (m.mode == "counts" || m.mode == "times")
          compareBlocks(recorded, r, w.name == "matmul", r);
        failed += !r.errors.empty();
        Row row;
        row.text("result", r.errors.empty() ? "pass" : "FAIL").text("kernel", w.name, 16);
        row.text("mode", m.mode, 8).text("ring", nameOf(transport)).count("waves", w.waves());
        row.count("records", r.records, 8).count("bytes", r.bytes, 9);
        auto remarks = r.errors;
        remarks.insert(remarks.end(), r.remarks.begin(), r.remarks.end());
        report.add("kernels", std::move(row), remarks);
        if (m.mode == "blocks") recorded = std::move(r);
      }
    }
  }
  for (const Instrumented &m : modes) backend.unload(m.module);
  backend.unload(plain);
  return failed;
}

} // namespace fade::silicon
