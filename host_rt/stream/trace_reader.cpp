#include "stream/trace_reader.h"

#include "base/diagnostics.h"
#include "fade/decode.h"
#include "fade/site_table.h"
#include "stream/trace_format.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <fmt/format.h>
#include <map>
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace fade {
namespace {

using trace::Kind;

constexpr std::size_t kLargestBatch = 256 << 10;
constexpr auto kMoment = std::chrono::microseconds(50);

// One replay: what the chunks so far have said, and the batches on their way.
class Replay {
public:
  Replay(Analysis &analysis, const Selection *selection)
      : analysis_(analysis), selection_(selection) {}

  /// Before anything is fed: which dispatches of each kernel there are.
  void count(Kind kind, std::span<const std::byte> payload);
  /// All are counted.
  void numberDispatches();

  /// What is wrong with the chunk, or null.
  const char *chunk(Kind kind, std::span<const std::byte> payload);
  /// Ends dispatches whose end is missing.
  void finish();

private:
  struct Open {
    std::unique_ptr<DispatchRecord> record;
    std::deque<StreamBatch> batches;
  };
  /// A kernel is known by one id, before and after its instrumented twin is known. Handlers keep
  /// what they were told of an id, so it may never stand for something else.
  struct Known {
    std::shared_ptr<const KernelInfo> plain, with_sites;
  };

  const char *sites(trace::Reader in);
  const char *kernel(trace::Reader in);
  const char *allocations(trace::Reader in);
  const char *begin(trace::Reader in);
  const char *records(trace::Reader in);
  const char *end(trace::Reader in);
  const char *skipped(trace::Reader in);
  const char *filter(trace::Reader in);
  const char *run(trace::Reader in);
  const char *origins(trace::Reader in);
  static const char *arguments(DispatchRecord &record, trace::Reader &in);
  const char *fill(DispatchRecord &record, trace::Reader &in);
  bool isChosen(const DispatchRecord &record);
  void piece(Open &open, std::span<const std::byte> bytes, uint64_t position);
  void wait(Open &open);
  void hand(Open &open);

  Analysis &analysis_;
  const Selection *selection_;                           ///< null: everything
  std::map<uint32_t, std::set<uint64_t>> dispatches_of_; ///< of a kernel
  std::unordered_map<uint64_t, uint64_t> ordinals_;      ///< of dispatches, from 1
  std::unordered_set<uint64_t> left_out_;                ///< that have begun
  bool has_chosen_ = false, has_refused_ = false;        ///< any dispatch
  std::unordered_map<uint64_t, std::shared_ptr<const ModuleSites>> modules_;
  std::unordered_map<uint32_t, Known> kernels_;
  std::shared_ptr<const Allocations> allocations_;
  std::unordered_map<uint64_t, Open> open_;
};

void Replay::count(Kind kind, std::span<const std::byte> payload) {
  if (kind != Kind::begin && kind != Kind::end) return;
  if (const auto fields = trace::Reader(payload).take<trace::DispatchFields>())
    dispatches_of_[fields->kernel].insert(fields->id);
}

void Replay::numberDispatches() {
  for (const auto &[kernel, ids] : dispatches_of_) {
    uint64_t ordinal = 0;
    for (const uint64_t id : ids) ordinals_[id] = ++ordinal;
  }
  dispatches_of_.clear();
}

bool Replay::isChosen(const DispatchRecord &record) {
  if (!selection_) return true;
  const auto ordinal = ordinals_.find(record.view.id);
  const bool is_chosen = selection_->wantsKernel(record.kernel->name()) &&
                         ordinal != ordinals_.end() &&
                         selection_->wantsDispatch(record.kernel->symbol(), ordinal->second);
  (is_chosen ? has_chosen_ : has_refused_) = true;
  return is_chosen;
}

const char *Replay::chunk(Kind kind, std::span<const std::byte> payload) {
  const trace::Reader in(payload);
  switch (kind) {
  case Kind::sites: return sites(in);
  case Kind::kernel: return kernel(in);
  case Kind::allocations: return allocations(in);
  case Kind::begin: return begin(in);
  case Kind::records: return records(in);
  case Kind::end: return end(in);
  case Kind::skipped: return skipped(in);
  case Kind::filter: return filter(in);
  case Kind::run: return run(in);
  case Kind::origins: return origins(in);
  case Kind::finish: return nullptr;
  }
  return nullptr; // of a later version; its size is all we know
}

const char *Replay::sites(trace::Reader in) {
  const auto module = in.take<uint64_t>();
  const auto modes = in.take<uint32_t>();
  auto file = in.takeString();
  if (!module || !modes || !file) return "a site table that is cut short";
  std::string why;
  auto table = SiteTable::parse(in.rest(), why);
  if (!table || table->moduleId() != *module) return "a site table that cannot be read";
  if (modules_.contains(*module)) return "a site table that is there twice";
  modules_[*module] =
      std::make_shared<ModuleSites>(ModuleSites{*std::move(table), std::move(*file)});
  return nullptr;
}

const char *Replay::kernel(trace::Reader in) {
  const auto id = in.take<uint32_t>();
  auto name = in.takeString(), symbol = in.takeString(), target = in.takeString();
  const auto table = in.take<uint64_t>();
  if (!id || !name || !symbol || !target || !table) return "a kernel that is cut short";
  // Traces of older versions do not have it.
  auto module = in.rest().empty() ? std::string() : in.takeString();
  if (!module) return "a kernel that is cut short";
  std::shared_ptr<const ModuleSites> sites;
  if (*table != 0) {
    const auto at = modules_.find(*table);
    if (at == modules_.end()) return "a kernel whose site table is missing";
    sites = at->second;
  }
  Known &known = kernels_[*id];
  const KernelInfo *before = known.plain ? known.plain.get() : known.with_sites.get();
  if (before && (before->name() != *name || before->symbol() != *symbol ||
                 before->target() != *target || before->module() != *module))
    return "a kernel whose id belongs to another one";
  auto &place = sites ? known.with_sites : known.plain;
  if (place) return "a kernel that is there twice";
  KernelIdentity identity{*id, std::move(*name), std::move(*symbol), std::move(*target),
                          std::move(*module)};
  place = before ? std::make_shared<KernelInfo>(before->identity(), std::move(sites))
                 : std::make_shared<KernelInfo>(std::move(identity), std::move(sites));
  return nullptr;
}

const char *Replay::allocations(trace::Reader in) {
  auto list = in.takeArray<fade_allocation>();
  if (!list) return "a list of allocations that is cut short";
  auto all = std::make_shared<Allocations>(std::move(*list));
  // Traces of older versions have no names.
  if (const auto names = in.rest(); !names.empty())
    all->names.assign(reinterpret_cast<const char *>(names.data()), names.size());
  if (all->names.back() != '\0') return "names of allocations that are cut short";
  uint64_t last = 0;
  for (const fade_allocation &allocation : all->list) {
    if (allocation.name >= all->names.size()) return "an allocation whose name does not exist";
    if (allocation.size > UINT64_MAX - allocation.address)
      return "an allocation beyond the end of memory";
    // Handlers search the list.
    if (allocation.address < std::exchange(last, allocation.address))
      return "allocations that are not in order";
  }
  allocations_ = std::move(all);
  return nullptr;
}

/// Of the allocations of the chunk before.
const char *Replay::origins(trace::Reader in) {
  auto list = in.takeArray<uint32_t>();
  if (!list || !allocations_ || list->size() != allocations_->list.size())
    return "origins of allocations that do not fit them";
  for (const uint32_t offset : *list)
    if (offset >= allocations_->names.size()) return "an allocation whose origin does not exist";
  auto all = std::make_shared<Allocations>(*allocations_);
  all->origins = *std::move(list);
  allocations_ = std::move(all);
  return nullptr;
}

const char *Replay::run(trace::Reader in) {
  auto facts = RunFacts::read(in);
  if (!facts) return "a description of the run that is cut short";
  analysis_.log().setRun(*std::move(facts));
  return nullptr;
}

/// Recordings of older versions have none.
const char *Replay::arguments(DispatchRecord &record, trace::Reader &in) {
  if (in.rest().empty()) return nullptr;
  const auto count = in.take<uint64_t>();
  if (!count || *count > in.rest().size() / sizeof(trace::ArgumentFields))
    return "arguments that are cut short";
  auto of = std::make_shared<KernelArguments>();
  DispatchArguments given;
  for (uint64_t i = 0; i < *count; ++i) {
    const auto fields = in.take<trace::ArgumentFields>();
    auto name = in.takeString(), type = in.takeString();
    if (!fields || !name || !type) return "arguments that are cut short";
    of->list.push_back(
        {fields->offset, fields->size, fields->flags, *std::move(name), *std::move(type)});
    given.list.push_back({fields->offset, fields->size, fields->flags, fields->allocation,
                          fields->value, nullptr, nullptr});
  }
  for (std::size_t i = 0; i < given.list.size(); ++i) {
    given.list[i].name = of->list[i].name.c_str();
    given.list[i].type = of->list[i].type.c_str();
  }
  given.of = std::move(of);
  record.setArguments(std::move(given));
  return nullptr;
}

const char *Replay::fill(DispatchRecord &record, trace::Reader &in) {
  const auto fields = in.take<trace::DispatchFields>();
  auto variant = in.takeString();
  if (!fields || !variant) return "a dispatch that is cut short";
  if ((fields->flags & FADE_DISPATCH_HAS_TIMES) != 0 &&
      (fields->end_ns < fields->start_ns || fields->end_ns > INT64_MAX))
    return "a dispatch with impossible times";
  fade_dispatch &d = record.view;
  const bool instrumented = (fields->flags & FADE_DISPATCH_INSTRUMENTED) != 0;
  if (!record.kernel) {
    const auto at = kernels_.find(fields->kernel);
    if (at == kernels_.end()) return "a dispatch of an unknown kernel";
    const auto &kernel =
        instrumented || !at->second.plain ? at->second.with_sites : at->second.plain;
    if (!kernel) return "an instrumented dispatch of a kernel without a site table";
    record.setKernel(kernel);
    record.setVariant(std::make_shared<std::string>(std::move(*variant)));
  } else if (fields->kernel != record.kernel->id() || !instrumented) {
    return "the end of a dispatch other than the one that began";
  }
  d.flags = fields->flags;
  d.id = fields->id;
  d.queue = fields->queue;
  d.agent = fields->agent;
  d.group_segment = fields->group_segment;
  std::copy_n(fields->grid, 3, d.grid);
  std::copy_n(fields->workgroup, 3, d.workgroup);
  d.start_ns = fields->start_ns;
  d.end_ns = fields->end_ns;
  d.dropped = fields->dropped;
  return nullptr;
}

const char *Replay::begin(trace::Reader in) {
  auto record = std::make_unique<DispatchRecord>();
  if (const char *why = fill(*record, in)) return why;
  if ((record->view.flags & FADE_DISPATCH_INSTRUMENTED) == 0)
    return "the beginning of a dispatch that is not instrumented";
  if (const char *why = arguments(*record, in)) return why;
  if (open_.contains(record->view.id) || left_out_.contains(record->view.id))
    return "a dispatch that begins twice";
  if (!isChosen(*record)) {
    left_out_.insert(record->view.id);
    return nullptr;
  }
  record->setAllocations(allocations_);
  analysis_.begin(*record);
  open_[record->view.id].record = std::move(record);
  return nullptr;
}

const char *Replay::records(trace::Reader in) {
  const auto id = in.take<uint64_t>();
  const auto position = in.take<uint64_t>();
  if (!id || !position) return "records that are cut short";
  if (left_out_.contains(*id)) return nullptr;
  const auto at = open_.find(*id);
  if (at == open_.end()) return "records of a dispatch that has not begun";
  RecordCursor cursor(in.rest());
  Record record;
  std::size_t start = 0;
  auto status = RecordCursor::Status::record;
  while (status == RecordCursor::Status::record) {
    const std::size_t before = cursor.offset();
    status = cursor.next(record);
    if (status == RecordCursor::Status::record && record.kind() == FADE_RECORD_WAVE_BEGIN)
      Analysis::announce(*at->second.record, record.waveBegin());
    if (before - start >= kLargestBatch || status != RecordCursor::Status::record) {
      // The rest of a broken piece goes along: the analysis says what is wrong with it.
      const bool bad =
          status != RecordCursor::Status::record && status != RecordCursor::Status::end;
      const std::size_t stop = bad ? in.rest().size() : before;
      piece(at->second, in.rest().subspan(start, stop - start), *position + start);
      start = before;
    }
  }
  return nullptr;
}

void Replay::piece(Open &open, std::span<const std::byte> bytes, uint64_t position) {
  if (bytes.empty()) return;
  StreamBatch &batch = open.batches.emplace_back();
  batch.dispatch = open.record.get();
  batch.bytes = const_cast<std::byte *>(bytes.data()); // read only: clear is false
  batch.size = bytes.size();
  batch.position = position;
  while (!analysis_.submit(batch)) std::this_thread::sleep_for(kMoment);
  while (!open.batches.empty() && open.batches.front().done.load(std::memory_order_acquire)) {
    if (open.record->waves) open.record->waves->retireBefore(open.batches.front().number + 1);
    open.batches.pop_front();
  }
}

void Replay::wait(Open &open) {
  for (const StreamBatch &batch : open.batches)
    while (!batch.done.load(std::memory_order_acquire)) std::this_thread::sleep_for(kMoment);
  open.batches.clear();
}

void Replay::hand(Open &open) {
  wait(open);
  while (!analysis_.end(open.record)) std::this_thread::sleep_for(kMoment);
  analysis_.announceEnded();
}

const char *Replay::end(trace::Reader in) {
  const auto fields = trace::Reader(in).take<trace::DispatchFields>();
  if (!fields) return "a dispatch that is cut short";
  if (left_out_.erase(fields->id) != 0) return nullptr;
  const auto began = open_.find(fields->id);
  Open timed; // of a dispatch that had no records
  if (began == open_.end()) {
    if ((fields->flags & FADE_DISPATCH_INSTRUMENTED) != 0)
      return "the end of an instrumented dispatch that has not begun";
    timed.record = std::make_unique<DispatchRecord>();
  }
  Open &open = began == open_.end() ? timed : began->second;
  wait(open);
  if (const char *why = fill(*open.record, in)) return why;
  if (began == open_.end() && !isChosen(*open.record)) return nullptr;
  auto counters = in.takeArray<fade_counter>();
  if (!counters) return "a dispatch that is cut short";
  if (!counters->empty() && counters->size() != open.record->kernel->siteCount())
    return "counts that do not fit the site table";
  open.record->setCounters(std::move(*counters));
  if (!in.rest().empty()) { // older recordings end here
    auto clocks = in.takeArray<uint64_t>();
    if (!clocks) return "a dispatch that is cut short";
    if (!clocks->empty() && clocks->size() != open.record->kernel->siteCount())
      return "clocks that do not fit the site table";
    open.record->setClocks(std::move(*clocks));
  }
  open.record->view.wave_instructions = in.take<uint64_t>().value_or(0); // older ones have none
  open.record->view.lane_instructions = in.take<uint64_t>().value_or(0);
  hand(open);
  if (began != open_.end()) open_.erase(began);
  return nullptr;
}

const char *Replay::skipped(trace::Reader in) {
  const auto kernel = in.takeString(), reason = in.takeString();
  if (!kernel || !reason) return "a skipped kernel that is cut short";
  analysis_.log().skipped(*kernel, *reason);
  return nullptr;
}

const char *Replay::filter(trace::Reader in) {
  using Three = std::array<uint32_t, 3>;
  const auto first = in.take<Three>(), last = in.take<Three>();
  const auto sample = in.take<uint32_t>(), sample_executions = in.take<uint32_t>();
  if (!first || !last || !sample || !sample_executions) return "a filter that is cut short";
  analysis_.log().setFilter({*first, *last, *sample, *sample_executions});
  return nullptr;
}

void Replay::finish() {
  if (has_refused_ && !has_chosen_)
    warn("--kernels and --dispatches choose none of the recorded dispatches ({})",
         ordinals_.size());
  for (auto &[id, open] : open_) {
    open.record->view.flags |= FADE_DISPATCH_INCOMPLETE;
    hand(open);
  }
  open_.clear();
}

} // namespace

Result<TraceReader> TraceReader::open(const std::string &path) {
  TraceReader reader(path);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (fd < 0 || fstat(fd, &status) != 0) {
    auto error = Error::of(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
    if (fd >= 0) ::close(fd);
    return error;
  }
  reader.size_ = S_ISREG(status.st_mode) ? static_cast<std::size_t>(status.st_size) : 0;
  if (reader.size_ >= sizeof(trace::FileHeader)) {
    void *at = mmap(nullptr, reader.size_, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at != MAP_FAILED) reader.bytes_ = static_cast<const std::byte *>(at);
  }
  ::close(fd);
  trace::FileHeader header{};
  if (reader.bytes_) std::memcpy(&header, reader.bytes_, sizeof header);
  if (!reader.bytes_ || header.magic != trace::kMagic)
    return Error::of(fmt::format("{} is not a trace of FADE", path));
  if (header.version != trace::kVersion || header.message_version != FADE_MESSAGE_VERSION)
    return Error::of(
        fmt::format("{} was recorded by another version of FADE (trace {}, records {})", path,
                    header.version, header.message_version));
  return reader;
}

TraceReader::TraceReader(TraceReader &&other) noexcept
    : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, nullptr)),
      size_(other.size_) {}

TraceReader::~TraceReader() {
  if (bytes_) munmap(const_cast<std::byte *>(bytes_), size_);
}

template <typename Visit> std::string TraceReader::forEachChunk(Visit visit) const {
  std::size_t at = sizeof(trace::FileHeader);
  while (size_ - at >= sizeof(trace::ChunkHeader)) {
    trace::ChunkHeader header;
    std::memcpy(&header, bytes_ + at, sizeof header);
    const std::size_t left = size_ - at - sizeof header;
    if (header.size > left) break;
    const auto kind = static_cast<Kind>(header.kind);
    if (const char *why = visit(kind, std::span(bytes_ + at + sizeof header, header.size)))
      return fmt::format("{}: at offset {}: {}", path_, at, why);
    at += sizeof header + std::min<std::size_t>((header.size + 7) / 8 * 8, left);
    if (kind == Kind::finish) return "";
  }
  return fmt::format("{}: the recording was cut off at offset {}", path_, at);
}

std::string TraceReader::replay(Analysis &analysis, const Selection *selection) const {
  Replay replay(analysis, selection);
  if (selection) {
    (void)forEachChunk([&](Kind kind, std::span<const std::byte> payload) -> const char * {
      replay.count(kind, payload);
      return nullptr;
    });
    replay.numberDispatches();
  }
  std::string problem = forEachChunk(
      [&](Kind kind, std::span<const std::byte> payload) { return replay.chunk(kind, payload); });
  replay.finish();
  return problem;
}

} // namespace fade
