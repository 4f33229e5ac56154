#include "session.h"

#include <fade/block_counts.h>
#include <fade/clone.h>
#include <fade/observer.h>
#include <fade/summary.h>

#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Object/ObjectFile.h"

#include <atomic>
#include <bit>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <unistd.h>

namespace fade::test {

// Debug info and sections of the code object.
struct Session::Lines {
  std::unique_ptr<llvm::object::ObjectFile> file;
  std::unique_ptr<llvm::DIContext> context;
  uint64_t base = 0; // where the code object is loaded

  explicit Lines(const std::vector<uint8_t> &elf) {
    const llvm::StringRef bytes(reinterpret_cast<const char *>(elf.data()), elf.size());
    auto made = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(bytes, "hsaco"));
    if (!made) throw std::runtime_error("not an object file");
    file = std::move(*made);
    context = llvm::DWARFContext::create(*file);
  }

  std::vector<SiteTable> siteTables() const {
    for (const auto &section : file->sections()) {
      auto name = section.getName();
      if (!name || *name != FADE_SITES_SECTION) continue;
      const llvm::StringRef contents = llvm::cantFail(section.getContents());
      std::string error;
      auto tables =
          parseSiteTables(std::as_bytes(std::span(contents.data(), contents.size())), error);
      if (!error.empty()) throw std::runtime_error(error);
      return tables;
    }
    throw std::runtime_error("no " FADE_SITES_SECTION);
  }

  // The note with the kernels' metadata, as MessagePack.
  llvm::StringRef metadata() const {
    const auto &elf = llvm::cast<llvm::object::ELF64LEObjectFile>(*file).getELFFile();
    for (const auto &header : llvm::cantFail(elf.program_headers())) {
      if (header.p_type != llvm::ELF::PT_NOTE) continue;
      llvm::Error error = llvm::Error::success();
      for (const auto &note : elf.notes(header, error))
        if (note.getType() == llvm::ELF::NT_AMDGPU_METADATA)
          return llvm::StringRef(reinterpret_cast<const char *>(note.getDesc(4).data()),
                                 note.getDesc(4).size());
      llvm::cantFail(std::move(error));
    }
    throw std::runtime_error("no metadata");
  }

  // Of the code; 0 where there is none.
  uint32_t wordAt(uint64_t address) const {
    for (const auto &section : file->sections()) {
      if (!section.isText() || address < section.getAddress()) continue;
      const llvm::StringRef contents = llvm::cantFail(section.getContents());
      const uint64_t at = address - section.getAddress();
      if (at + 4 > contents.size()) continue;
      uint32_t word = 0;
      std::memcpy(&word, contents.data() + at, sizeof word);
      return word;
    }
    return 0;
  }

  // Address and size of a function in the file.
  std::pair<uint64_t, uint64_t> function(const std::string &symbol) const {
    for (const llvm::object::ELFSymbolRef s : file->symbols()) {
      auto name = s.getName();
      if (name && *name == symbol) return {llvm::cantFail(s.getAddress()), s.getSize()};
    }
    throw std::runtime_error("no symbol " + symbol);
  }
};

namespace {

// Collects what waves touch: one for all workers, which take a lock.
class Collector : public Observer, public WorkerObserver {
public:
  explicit Collector(const Session &session) : session_(session) {}

  uint32_t wants() const override { return kWantsAccesses; }
  std::unique_ptr<DispatchObserver> begin(const ObservedDispatch &, uint32_t) override {
    struct Shared : DispatchObserver {
      Collector *collector;
      explicit Shared(Collector *c) : collector(c) {}
      WorkerObserver *worker(uint32_t) override { return collector; }
    };
    return std::make_unique<Shared>(this);
  }

  void access(const ObservedWave &wave, const ObservedAccess &access) override {
    // The pass leaves private memory alone, and scalar loads of arguments are no accesses in IR.
    if (access.space == AccessSpace::scratch) return;
    const std::lock_guard lock(mutex_);
    const uint32_t *group = wave.group->id;
    Place place{{group[0], group[1], group[2]},
                wave.number,
                session_.lineAt(access.pc),
                access.kind == AccessKind::load    ? Kind::load
                : access.kind == AccessKind::store ? Kind::store
                                                   : Kind::atomic,
                access.space == AccessSpace::lds ? Space::lds : Space::global};
    Execution &execution = executions_.emplace_back();
    execution.place = place;
    execution.size = access.size;
    execution.mask = access.lanes;
    execution.is_scalar = access.path == AccessPath::scalar;
    execution.shares_line = session_.sharesLine(access.pc);
    for (uint32_t lane = 0; lane < wave.lanes; ++lane)
      if (access.lanes >> lane & 1) execution.addresses[lane] = access.address[lane];
    if (access.path == AccessPath::scalar) return;
    Bytes &bytes = touched_[place];
    for (uint32_t lane = 0; lane < wave.lanes; ++lane)
      if (access.lanes >> lane & 1)
        for (uint32_t i = 0; i < access.size; ++i) ++bytes[{lane, access.address[lane] + i}];
  }

  Touched take() { return std::move(touched_); }
  std::vector<Execution> takeExecutions() { return std::move(executions_); }

private:
  const Session &session_;
  std::mutex mutex_;
  Touched touched_;
  std::vector<Execution> executions_;
};

// Turns records into Recorded.
class Reader {
public:
  Reader(const std::vector<SiteTable> &tables, const Launch &launch)
      : tables_(tables), launch_(launch) {}

  void read(const Record &record) {
    const auto bytes = record.bytes();
    out_.bytes.insert(out_.bytes.end(), bytes.begin(), bytes.end());
    switch (record.kind()) {
    case FADE_RECORD_WAVE_BEGIN:
      if (record.wave() >= out_.waves.size()) out_.waves.resize(record.wave() + 1);
      out_.waves[record.wave()] = record.waveBegin();
      break;
    case FADE_RECORD_WAVE_END: out_.ends.push_back(record.waveEnd()); break;
    case FADE_RECORD_BLOCK:
      out_.blocks.push_back({record.wave(), record.site(), record.mask(), record.clock()});
      break;
    default: access(record);
    }
  }
  Recorded &result() { return out_; }

private:
  const SiteTable &tableOf(const fade_wave_begin &wave) const {
    for (const SiteTable &table : tables_)
      if (table.moduleId() == wave.module) return table;
    throw std::runtime_error("a wave announced an unknown module");
  }

  void access(const Record &record) {
    if (record.wave() >= out_.waves.size())
      throw std::runtime_error("a record of a wave that was not announced");
    const fade_wave_begin &wave = out_.waves[record.wave()];
    const fade_site &site = tableOf(wave).sites()[record.site()];
    out_.accesses.push_back(
        {record.wave(), record.site(), record.encoding(), record.size(), record.mask()});
    const uint32_t x = wave.work_item & 1023, y = wave.work_item >> 10 & 1023,
                   z = wave.work_item >> 20 & 1023;
    const uint32_t lanes = wave.header.encoding & FADE_WAVE_IS_WAVE32 ? 32 : 64;
    const uint32_t flat = x + launch_.workgroup[0] * (y + launch_.workgroup[1] * z);
    Place place{{wave.workgroup_x, wave.workgroup_y, wave.workgroup_z},
                flat / lanes,
                site.line,
                site.kind == FADE_SITE_ATOMIC   ? Kind::atomic
                : site.flags & FADE_SITE_WRITES ? Kind::store
                                                : Kind::load,
                site.space == FADE_SPACE_LDS ? Space::lds : Space::global};
    const uint64_t size = record.hasLength() ? record.length() : site.size;
    addExecution(record, site, place, wave.shared_base, size);
    record.forEachLane([&](uint32_t lane, uint64_t address) {
      Place here = place;
      if (site.space == FADE_SPACE_FLAT && address >> 32 == wave.shared_base) {
        here.space = Space::lds;
        address &= 0xffffffff;
      }
      Bytes &bytes = out_.touched[here];
      for (uint64_t i = 0; i < size; ++i) ++bytes[{lane, address + i}];
    });
  }

  // Lanes that a flat pointer leads to LDS are an execution of their own.
  void addExecution(const Record &record, const fade_site &site, const Place &place,
                    uint32_t shared_base, uint64_t size) {
    std::array<Execution, 2> parts;
    record.forEachLane([&](uint32_t lane, uint64_t address) {
      const bool leads_to_lds = site.space == FADE_SPACE_FLAT && address >> 32 == shared_base;
      Execution &part = parts[leads_to_lds ? 1 : 0];
      part.mask |= uint64_t{1} << lane;
      part.addresses[lane] = leads_to_lds ? address & 0xffffffff : address;
    });
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].mask == 0) continue;
      parts[i].place = place;
      if (i == 1) parts[i].place.space = Space::lds;
      parts[i].size = size;
      if (FADE_SITE_PIECE(site.flags) != 0) parts[i].widest = FADE_SITE_PIECE(site.flags);
      parts[i].is_scalar = (site.flags & FADE_SITE_IS_SCALAR) != 0;
      out_.executions.push_back(parts[i]);
    }
  }

  const std::vector<SiteTable> &tables_;
  const Launch &launch_;
  Recorded out_;
};

} // namespace

Touched withoutLines(const Touched &touched) {
  Touched out;
  for (const auto &[where, bytes] : touched) {
    Place place = where;
    place.line = 0;
    for (const auto &[byte, count] : bytes) out[place][byte] += count;
  }
  return out;
}

Session::Session(const std::string &arch, const std::string &code_object, unsigned workers,
                 bool has_caches)
    : device_(arch, workers, has_caches), elf_(sim::read_file(code_object)),
      object_(device_.load(elf_)), lines_(std::make_unique<Lines>(elf_)),
      is_gfx9_(arch.starts_with("gfx9")), is_gfx11_(arch.starts_with("gfx11")) {
  tables_ = lines_->siteTables();
  const std::string kernel(tables_.front().string(tables_.front().kernels().front().clone));
  lines_->base = object_.symbol(kernel) - lines_->function(kernel).first;
}

Session::~Session() = default;

uint32_t Session::lineAt(uint64_t pc) const {
  const auto info = lines_->context->getLineInfoForAddress(
      {pc - lines_->base, llvm::object::SectionedAddress::UndefSection});
  return info.Line;
}

bool Session::sharesLine(uint64_t pc) const {
  // DS has its opcode in other places before gfx10, but the same numbers: ds_write2_b32 and st64,
  // ds_read2_b32 and st64, and the same for b64.
  const uint32_t own = lines_->wordAt(pc - lines_->base);
  const uint32_t opcode = own >> (is_gfx9_ ? 17 : 18) & 255;
  for (const uint32_t two : {0x0e, 0x0f, 0x37, 0x38, 0x4e, 0x4f, 0x77, 0x78})
    if (own >> 26 == 0x36 && opcode == two) return true;
  if (is_gfx9_) return false;
  // Instructions of a clause have 8 bytes, s_clause has 4: SOPP 0x21 of gfx10, 5 of gfx11.
  for (uint32_t before = 0; before < 63; ++before) {
    const uint32_t word = lines_->wordAt(pc - lines_->base - 8 * before - 4);
    const bool is_clause = word >> 16 == (is_gfx11_ ? 0xbf85 : 0xbfa1);
    if (is_clause) return (word & 63) >= before;
  }
  return false;
}

KernelNeeds Session::needs(const std::string &kernel) const {
  llvm::msgpack::Document document;
  if (!document.readFromBlob(lines_->metadata(), false)) throw std::runtime_error("bad metadata");
  for (auto &entry : document.getRoot().getMap()["amdhsa.kernels"].getArray()) {
    auto &map = entry.getMap();
    if (map[".name"].getString() != kernel) continue;
    auto number = [&](const char *key) {
      return map.find(key) == map.end() ? 0 : static_cast<uint32_t>(map[key].getUInt());
    };
    KernelNeeds needs{number(".vgpr_count") + number(".agpr_count"), number(".sgpr_count"),
                      number(".private_segment_fixed_size"), false,
                      number(".kernarg_segment_size")};
    needs.dynamic_stack =
        map.find(".uses_dynamic_stack") != map.end() && map[".uses_dynamic_stack"].getBool();
    return needs;
  }
  throw std::runtime_error("no metadata of " + kernel);
}

sim::DispatchResult Session::dispatch(const std::string &kernel, const Launch &launch,
                                      const Arguments &arguments) {
  sim::Dispatch d;
  {
    const std::lock_guard lock(mutex_); // dispatches may come from several threads, like queues
    d.kernel_object = object_.symbol(kernel + ".kd");
    if (!d.kernel_object) throw std::runtime_error("no kernel " + kernel);
    uint32_t segments[2] = {};
    device_.memory().read(d.kernel_object, segments, sizeof segments);
    d.group_segment_size = segments[0] + launch.dynamic_lds;
    d.private_segment_size = segments[1];
    // Recursion: how deep is for the runtime to guess.
    constexpr uint32_t dynamic_stack = 16384;
    if (needs(kernel).dynamic_stack) d.private_segment_size += dynamic_stack;
    d.grid = launch.grid, d.workgroup = launch.workgroup;
    std::vector<uint8_t> kernarg = arguments.bytes();
    kernarg.resize(kernarg.size() + 512); // hidden arguments, all zero
    const auto block = device_.allocate_host<uint8_t>(kernarg.size());
    std::memcpy(block.data, kernarg.data(), kernarg.size());
    d.kernarg_address = block.va;
    auto packet = device_.allocate_host<uint32_t>(16);
    auto *half = reinterpret_cast<uint16_t *>(packet.data);
    for (unsigned i = 0; i < 3; ++i) {
      half[2 + i] = static_cast<uint16_t>(launch.workgroup[i]);
      packet[3 + i] = launch.grid[i];
    }
    d.packet_address = packet.va;
  }
  if (auto *caches = device_.caches()) caches->acquire(sim::Reach::system);
  auto result = device_.executor().run(d);
  if (auto *caches = device_.caches()) caches->release(sim::Reach::system);
  if (result.status != sim::DispatchResult::Status::ok) throw std::runtime_error(result.message);
  return result;
}

Observed Session::runOriginal(const Launch &launch, const Arguments &arguments) {
  Collector collector(*this);
  device_.executor().observe(&collector);
  const auto result = dispatch(launch.kernel, launch, arguments);
  device_.executor().observe(nullptr);
  return {collector.take(), collector.takeExecutions(), result.stats};
}

namespace {

uint32_t segmentShift(uint64_t capacity) {
  const auto segments = std::min<uint64_t>(FADE_RING_SEGMENTS, capacity / FADE_SEGMENT_MIN);
  return static_cast<uint32_t>(std::countr_zero(capacity / segments));
}

// How much of a segmented ring is whole, if `whole` was before.
uint64_t wholeBytes(const fade_control &control, const uint64_t *written, uint64_t whole) {
  const uint64_t size = uint64_t{1} << control.segment_shift, capacity = control.capacity_mask + 1;
  while (__atomic_load_n(&written[(whole & control.capacity_mask) >> control.segment_shift],
                         __ATOMIC_ACQUIRE) == (whole / capacity + 1) * size)
    whole += size;
  return whole;
}

// The records that end within so many bytes.
Published recordsIn(const std::byte *bytes, uint64_t size) {
  Published result;
  while (result.bytes + sizeof(fade_record) <= size) {
    fade_header header;
    std::memcpy(&header, bytes + result.bytes, sizeof header);
    const uint64_t end = result.bytes + uint64_t{header.words} * FADE_RECORD_ALIGN;
    result.malformed = header.words * FADE_RECORD_ALIGN < sizeof(fade_record);
    if (result.malformed || end > size) break;
    result.bytes = end;
  }
  return result;
}

} // namespace

// The kernel in its site table.
std::pair<const SiteTable *, uint32_t> Session::kernelOf(const std::string &name) const {
  for (const SiteTable &table : tables_)
    for (uint32_t i = 0; i < table.kernels().size(); ++i)
      if (table.string(table.kernels()[i].name) == name) return {&table, i};
  return {nullptr, 0};
}

Recorded Session::runTwin(const Launch &launch, const Arguments &arguments, const Stream &stream) {
  std::unique_lock lock(mutex_);
  const bool segmented = (stream.flags & FADE_CONTROL_SEGMENTED) != 0;
  const std::size_t ring_words = (stream.capacity + FADE_RING_SLACK) / 8;
  auto ring = segmented ? device_.allocate<uint64_t>(ring_words)
                        : device_.allocate<uint64_t>(ring_words, stream.host_caching);
  auto tail = device_.allocate<uint64_t>(1, stream.host_caching);
  std::size_t site_count = 0;
  for (const SiteTable &table : tables_) site_count = std::max(site_count, table.sites().size());
  auto counters = device_.allocate<fade_counter>(site_count + 1);
  const auto layout = CounterCopies::of(counterCount(tables_.front()));
  auto copies = device_.allocate<fade_counter>(layout.total() + 1);
  SummaryRequest request{.site_count = static_cast<uint32_t>(site_count),
                         .line = stream.line,
                         .wave_size = 32,
                         .records_only = stream.records_only,
                         .irregular = stream.irregular,
                         .grid = launch.grid,
                         .workgroup = launch.workgroup};
  if (stream.page != 0) {
    request.page = stream.page;
    auto parted = std::make_shared<PartedPages>();
    for (const uint64_t end : stream.ends) parted->add(end, stream.page);
    request.parted = std::move(parted);
  }
  SummaryLayout sums = SummaryLayout::of(request);
  if (stream.slots != 0) sums.slots = stream.slots;
  if (stream.tables != 0) sums.copies = stream.tables;
  const auto [table, kernel] = kernelOf(launch.kernel);
  const bool adds_up = table && (table->kernels()[kernel].flags & FADE_KERNEL_SUMS) != 0;
  auto tables = device_.allocate<uint64_t>(adds_up ? sums.size() / 8 : 1); // megabytes
  auto written = device_.allocate<uint64_t>(FADE_RING_SEGMENTS);
  auto control = device_.allocate<fade_control>(1);
  lock.unlock();
  fade_control &c = control[0];
  c.version = FADE_MESSAGE_VERSION;
  c.flags = stream.flags;
  c.data = ring.va;
  c.capacity_mask = stream.capacity - 1;
  c.tail = tail.va;
  c.counters = counters.va;
  c.sample_executions = stream.sample_executions;
  c.sample_workgroups = stream.sample_workgroups;
  for (int i = 0; i < 3; ++i) {
    c.first_workgroup[i] = stream.first[i];
    c.last_workgroup[i] = stream.last[i];
  }
  c.limit = stream.capacity;
  layout.describe(c, copies.va);
  const std::span memory(reinterpret_cast<std::byte *>(tables.data), adds_up ? sums.size() : 0);
  fade_summary summary{};
  if (adds_up) {
    sums.describe(c, tables.va);
    summary = sums.header(request, control.va, tables.va, table->moduleId(), kernel);
    sums.initialize(memory, summary, request);
  }
  if (segmented) {
    c.written = written.va;
    c.segment_shift = segmentShift(stream.capacity);
    std::memset(ring.data, 0xfa, stream.capacity + FADE_RING_SLACK); // it need not be zero
  }

  Arguments more = arguments;
  more.add<uint64_t>(control.va);
  std::string twin = FADE_CLONE_PREFIX + launch.kernel;
  if (!object_.symbol(twin + ".kd")) twin = launch.kernel; // mode=replace

  std::atomic<bool> done{false};
  sim::DispatchResult result;
  std::string failure;
  std::thread runner([&] {
    try {
      result = dispatch(twin, launch, more);
    } catch (const std::exception &e) {
      failure = e.what();
    }
    done = true;
  });

  Reader reader(tables_, launch);
  uint64_t position = 0, whole = 0;
  for (int i = 0; stream.reads_after_a_drop && i < 20000 && !done; ++i) {
    if (__atomic_load_n(&c.dropped, __ATOMIC_RELAXED) != 0) break;
    usleep(1000);
  }
  while (true) {
    const bool finished = done; // before looking, so that nothing published is missed
    const uint64_t at = position & c.capacity_mask;
    auto *bytes = reinterpret_cast<std::byte *>(ring.data) + at;
    Published published;
    if (segmented) {
      // From gfx10 on copies write back what lies in L2: packets of the copy engine do.
      if (device_.caches() && device_.arch().gfx10_up)
        device_.caches()->release(sim::Reach::system);
      whole = finished ? __atomic_load_n(&c.head, __ATOMIC_ACQUIRE)
                       : wholeBytes(c, written.data, whole);
      published =
          recordsIn(bytes, std::min(whole - position, stream.capacity - at + FADE_RING_SLACK));
    } else {
      published = publishedBytes(bytes, stream.capacity - at + FADE_RING_SLACK);
    }
    if (published.malformed) failure = "the ring holds what no wave writes";
    RecordCursor cursor({bytes, published.bytes});
    Record record;
    uint64_t taken = 0;
    while (at + taken < stream.capacity && cursor.next(record) == RecordCursor::Status::record) {
      reader.read(record);
      taken = cursor.offset();
    }
    std::memset(bytes, segmented ? 0xfa : 0, taken);
    position += taken;
    __atomic_store_n(tail.data, position, __ATOMIC_RELEASE);
    if (finished && taken == 0) break;
    // One that looks all the time takes the processor from the waves it waits for.
    const unsigned pause = taken == 0 ? 20 : 0;
    if (const unsigned us = std::max(pause, stream.reader_delay_us)) usleep(us);
  }
  runner.join();
  if (!failure.empty()) throw std::runtime_error(failure);
  if (position != c.head) throw std::runtime_error("reserved bytes were not published");
  Recorded out = std::move(reader.result());
  out.dropped = c.dropped;
  out.stats = result.stats;
  out.counters.assign(counters.data, counters.data + site_count);
  if (summary.control != 0) out.summaries = recordsOf(sums, summary, memory);
  if (layout.counters != 0) {
    const std::span<const fade_counter> counted(copies.data, layout.total());
    out.counters =
        countersBySite(tables_.front(), counted, {kernel, launch.grid, launch.workgroup}, c);
    out.clocks = clocksBySite(tables_.front(), counted);
  }
  return out;
}

} // namespace fade::test
