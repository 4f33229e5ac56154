#include "handler_host.h"

#include <gtest/gtest.h>

#include <cstring>
#include <sstream>
#include <thread>

namespace fade::testing {
namespace {

class Strings {
public:
  uint32_t add(const std::string &text) {
    if (text.empty()) return 0;
    const auto at = static_cast<uint32_t>(bytes_.size());
    bytes_ += text;
    bytes_ += '\0';
    return at;
  }
  std::string take() {
    while (bytes_.size() % 8 != 0) bytes_ += '\0';
    return bytes_;
  }

private:
  std::string bytes_ = std::string(1, '\0');
};

template <typename T> void append(std::vector<std::byte> &out, const T *from, std::size_t count) {
  const auto *bytes = reinterpret_cast<const std::byte *>(from);
  out.insert(out.end(), bytes, bytes + count * sizeof(T));
}

} // namespace

uint32_t SiteTableBuilder::add(const Site &site) {
  sites_.push_back(site);
  return static_cast<uint32_t>(sites_.size() - 1);
}

std::shared_ptr<const ModuleSites> SiteTableBuilder::build(const std::string &kernel) const {
  Strings strings;
  std::vector<fade_site> sites;
  std::vector<fade_site_line> lines;
  std::vector<fade_site_frame> frames;
  for (const Site &from : sites_) {
    fade_site site{};
    site.kind = from.kind;
    site.space = from.kind == FADE_SITE_BLOCK ? FADE_SPACE_NONE : from.space;
    site.size = from.kind == FADE_SITE_BLOCK ? 0 : from.size; // of blocks: a counter
    site.file = strings.add(from.file);
    site.line = from.line;
    site.column = from.column;
    site.function = strings.add(from.function);
    site.inlined_at = FADE_NO_INDEX;
    for (std::size_t i = from.inlined_at.size(); i-- > 0;) { // parents come first
      const Frame &frame = from.inlined_at[i];
      frames.push_back({strings.add(frame.function), strings.add(frame.file), frame.line,
                        frame.column, site.inlined_at});
      site.inlined_at = static_cast<uint32_t>(frames.size() - 1);
    }
    site.block = FADE_NO_INDEX;
    const bool writes = from.kind == FADE_SITE_STORE || from.kind == FADE_SITE_ATOMIC ||
                        from.kind == FADE_SITE_COPY_WRITE || from.kind == FADE_SITE_FILL;
    const bool reads = from.kind == FADE_SITE_LOAD || from.kind == FADE_SITE_ATOMIC ||
                       from.kind == FADE_SITE_COPY_READ;
    site.flags = (writes ? FADE_SITE_WRITES : 0) | (reads ? FADE_SITE_READS : 0) | from.flags;
    site.done_by = from.done_by;
    site.first_line = static_cast<uint32_t>(lines.size());
    site.line_count = static_cast<uint32_t>(from.lines.size());
    for (const uint32_t line : from.lines) lines.push_back({site.file, line});
    sites.push_back(site);
  }
  std::vector<fade_site_instruction> instructions;
  for (auto [facts, text] : instructions_) {
    facts.text = strings.add(text);
    instructions.push_back(facts);
  }
  fade_site_kernel k{};
  k.name = strings.add(kernel);
  k.clone = strings.add("__fade_" + kernel);
  fade_sites header{};
  header.magic = FADE_SITES_MAGIC;
  header.version = FADE_SITES_VERSION;
  header.message_version = FADE_MESSAGE_VERSION;
  header.module_id = kModule;
  header.modes = modes;
  header.kernels_offset = sizeof header;
  header.kernel_count = 1;
  header.sites_offset = header.kernels_offset + sizeof k;
  header.site_count = static_cast<uint32_t>(sites.size());
  header.frames_offset = header.sites_offset + header.site_count * sizeof(fade_site);
  header.frame_count = static_cast<uint32_t>(frames.size());
  header.lines_offset =
      header.frames_offset + header.frame_count * static_cast<uint32_t>(sizeof(fade_site_frame));
  header.line_count = static_cast<uint32_t>(lines.size());
  const uint32_t lines_end =
      header.lines_offset + header.line_count * static_cast<uint32_t>(sizeof(fade_site_line));
  header.instructions_offset = (lines_end + 7) / 8 * 8;
  header.instruction_count = static_cast<uint32_t>(instructions.size());
  header.strings_offset =
      header.instructions_offset +
      header.instruction_count * static_cast<uint32_t>(sizeof(fade_site_instruction));
  std::string text = strings.take();
  while ((header.strings_offset + text.size()) % 8 != 0) text += '\0';
  header.strings_size = static_cast<uint32_t>(text.size());
  header.size = header.strings_offset + text.size();

  std::vector<std::byte> bytes;
  append(bytes, &header, 1);
  append(bytes, &k, 1);
  append(bytes, sites.data(), sites.size());
  append(bytes, frames.data(), frames.size());
  append(bytes, lines.data(), lines.size());
  bytes.resize(header.instructions_offset);
  append(bytes, instructions.data(), instructions.size());
  append(bytes, text.data(), text.size());
  std::string why;
  auto table = SiteTable::parse(bytes, why);
  EXPECT_TRUE(table) << why;
  return std::make_shared<ModuleSites>(ModuleSites{*std::move(table), ""});
}

void Stream::wave(uint32_t workgroup, bool wave32, uint32_t hardware_id, uint32_t xcc) {
  fade_wave_begin wave{};
  wave.header.encoding =
      static_cast<fade_u8>((wave32 ? FADE_WAVE_IS_WAVE32 : 0) | xcc << FADE_WAVE_XCC_SHIFT);
  wave.hardware_id = hardware_id;
  wave.mask = wave32 ? 0xffff'ffffu : ~uint64_t{0};
  wave.wave = waves_++;
  wave.module = SiteTableBuilder::kModule;
  wave.workgroup_x = workgroup;
  wave.shared_base = kSharedBase;
  wave.private_base = kPrivateBase;
  encoder_.waveBegin(wave);
}

void Stream::access(uint32_t site, uint64_t mask, const std::vector<uint64_t> &addresses,
                    std::optional<uint64_t> length) {
  encoder_.access(site, waves_ - 1, mask, addresses, length);
}

void Stream::affine(uint32_t site, uint64_t base, int64_t stride, uint64_t mask) {
  std::vector<uint64_t> addresses(64);
  for (std::size_t lane = 0; lane < 64; ++lane)
    addresses[lane] = base + static_cast<uint64_t>(stride) * lane;
  access(site, mask, addresses);
}

void Stream::block(uint32_t site, uint64_t mask, uint64_t clock) {
  encoder_.block(site, waves_ - 1, mask, clock);
}

void Stream::waveEnd(uint64_t clock) {
  fade_wave_end end{};
  end.mask = ~uint64_t{0};
  end.clock = clock;
  end.wave = waves_ - 1;
  encoder_.waveEnd(end);
}

HandlerHost::HandlerHost(const std::vector<HandlerChoice> &handlers, const HostOptions &options)
    : options_(options), output_(options.format) {
  if (!options.record.empty()) trace_ = TraceWriter::open(options.record);
  Handlers loaded = loadHandlers(handlers, FADE_HANDLER_DIR, output_, complaints_);
  AnalysisOptions analysis;
  analysis.workers = options.workers;
  analysis.call_patience = std::chrono::hours(1); // a slow machine is no handler that is stuck
  analysis_ = std::make_unique<Analysis>(analysis, std::move(loaded), output_, trace_.get());
}

void HandlerHost::dispatch(const std::string &kernel, std::shared_ptr<const ModuleSites> sites,
                           const Stream &stream, std::vector<fade_counter> counters,
                           std::shared_ptr<const Allocations> allocations,
                           DispatchArguments arguments) {
  const bool instrumented = sites != nullptr;
  std::shared_ptr<const KernelInfo> info;
  auto id = static_cast<uint32_t>(kernels_.size());
  for (const auto &known : kernels_) {
    if (known->name() != kernel) continue;
    id = known->id();
    if ((known->sites() != nullptr) == instrumented) info = known;
  }
  if (!info) {
    info = std::make_shared<KernelInfo>(KernelIdentity{id, kernel, kernel, options_.target},
                                        std::move(sites));
    kernels_.push_back(info);
  }
  auto record = std::make_unique<DispatchRecord>();
  record->setKernel(info);
  record->setVariant(std::make_shared<std::string>(instrumented ? "instrumented" : "original"));
  record->setAllocations(std::move(allocations));
  record->setArguments(std::move(arguments));
  record->view.id = ++dispatches_;
  record->view.flags =
      (instrumented ? FADE_DISPATCH_INSTRUMENTED : 0u) | FADE_DISPATCH_HAS_TIMES | more_flags;
  record->view.start_ns = 1000 * dispatches_;
  record->view.end_ns = 1000 * dispatches_ + 100;
  record->view.grid[0] = record->view.workgroup[0] = 64;
  record->view.grid[1] = record->view.grid[2] = 1;
  record->view.workgroup[1] = record->view.workgroup[2] = 1;
  analysis_->begin(*record);

  // Batches of at least options_.batch bytes, cut at records.
  std::vector<std::byte> bytes = stream.bytes();
  std::deque<StreamBatch> batches;
  RecordCursor cursor(bytes);
  Record at;
  std::size_t start = 0;
  const auto hand = [&](std::size_t end) {
    if (end == start) return;
    StreamBatch &batch = batches.emplace_back();
    batch.dispatch = record.get();
    batch.bytes = bytes.data() + start;
    batch.size = end - start;
    batch.position = start;
    while (!analysis_->submit(batch)) std::this_thread::yield();
    start = end;
  };
  while (cursor.next(at) == RecordCursor::Status::record) {
    if (at.kind() == FADE_RECORD_WAVE_BEGIN) Analysis::announce(*record, at.waveBegin());
    if (cursor.offset() - start >= options_.batch) hand(cursor.offset());
  }
  hand(bytes.size());
  for (const StreamBatch &batch : batches)
    while (!batch.done.load(std::memory_order_acquire)) std::this_thread::yield();
  record->setCounters(std::move(counters));
  while (!analysis_->end(record)) std::this_thread::yield();
}

std::string HandlerHost::finish() {
  EXPECT_TRUE(analysis_->close(std::chrono::seconds(60)));
  return output_.collected();
}

std::vector<nlohmann::json> HandlerHost::finish(const std::string &type) {
  return objectsOf(finish(), type);
}

std::vector<nlohmann::json> objectsOf(const std::string &report, const std::string &type) {
  std::vector<nlohmann::json> objects;
  std::istringstream lines(report);
  for (std::string line; std::getline(lines, line);) {
    auto object = nlohmann::json::parse(line, nullptr, false);
    EXPECT_TRUE(object.is_object()) << line;
    if (!object.is_object()) continue;
    EXPECT_TRUE(object.contains("type") && object.contains("version")) << line;
    if (object.value("type", "") == type) objects.push_back(std::move(object));
  }
  return objects;
}

} // namespace fade::testing
