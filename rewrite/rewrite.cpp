#include "rewrite/rewrite.h"

#include "rewrite/counting.h"
#include "rewrite/object_writer.h"
#include "rewrite/program.h"
#include "rewrite/recording.h"

#include "base/fnv1a.h"
#include "dispatch/observed_sites.h"
#include "fade/clone.h"
#include "fade/sites.h"
#include "isa/added_opcodes.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <fmt/format.h>
#include <mutex>
#include <set>
#include <thread>

namespace fade::rewrite {
namespace {

/// The table of a kernel's machine code as that of its twin: with the twin's name. Strings come
/// last in a table.
std::vector<std::byte> tableOfTwin(const ObservedSites &observed, const std::string &twin,
                                   uint32_t modes, uint32_t flags) {
  std::vector<std::byte> bytes = observed.table;
  fade_sites header;
  std::memcpy(&header, bytes.data(), sizeof header);
  bytes.resize(header.strings_offset + header.strings_size);
  const uint32_t name = header.strings_size;
  for (const char c : twin) bytes.push_back(static_cast<std::byte>(c));
  bytes.push_back(std::byte{0});
  header.strings_size += static_cast<uint32_t>(twin.size()) + 1;
  bytes.resize((bytes.size() + 7) / 8 * 8);

  fade_site_kernel kernel;
  std::memcpy(&kernel, bytes.data() + header.kernels_offset, sizeof kernel);
  kernel.clone = name;
  kernel.modes = modes;
  kernel.flags = FADE_KERNEL_KEEPS_ARGUMENTS | flags;
  std::memcpy(bytes.data() + header.kernels_offset, &kernel, sizeof kernel);
  header.modes = modes | FADE_MODE_MACHINE;
  header.size = bytes.size();
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

/// Says which counter is that of which block.
void setCounters(std::vector<std::byte> &table, const ObservedSites &observed,
                 const CountingCode &code) {
  fade_sites header;
  std::memcpy(&header, table.data(), sizeof header);
  for (const ObservedPlace &block : observed.blocks) {
    const auto counter = code.counters.find(block.address);
    if (counter == code.counters.end()) continue;
    std::byte *at = table.data() + header.sites_offset + block.site * sizeof(fade_site);
    fade_site site;
    std::memcpy(&site, at, sizeof site);
    site.counter = counter->second + 1;
    if (const auto time = code.times.find(block.address); time != code.times.end())
      site.size = time->second + 1;
    const bool counts_missing = code.counts_missing || code.of_entry == counter->second;
    site.flags |= FADE_SITE_ALL_LANES | (counts_missing ? FADE_SITE_MISSING : 0);
    std::memcpy(at, &site, sizeof site);
  }
}

/// Gives a table the id that follows from what it says.
uint64_t setId(std::vector<std::byte> &table) {
  fade_sites header;
  std::memcpy(&header, table.data(), sizeof header);
  header.module_id = 0;
  std::memcpy(table.data(), &header, sizeof header);
  header.module_id = fnv1a(table);
  std::memcpy(table.data(), &header, sizeof header);
  return header.module_id;
}

/// Twins that write no records.
bool countsOnly(uint32_t modes) { return (modes & ~FADE_MODE_TIMES) == FADE_MODE_COUNTS; }

/// That read kernels.
constexpr std::size_t kMostThreads = 16;

class Rewriter {
public:
  Rewriter(const std::shared_ptr<const codeobj::CodeObject> &object, uint32_t modes,
           ObjectWriter writer)
      : object_(object), modes_(modes), writer_(std::move(writer)) {}

  /// Reads kernels, several at a time, and adds their twins.
  std::vector<KernelOutcome> addTwins(const std::vector<std::size_t> &kernels,
                                      const std::function<void()> &on_progress) {
    constexpr std::size_t of_each = 4; // kernels in memory
    const std::size_t threads =
        std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kMostThreads);
    std::vector<KernelOutcome> outcomes;
    std::vector<Reading> readings;
    // The first one alone: it sets up what LLVM shares.
    for (std::size_t first = 0, count = 1; first < kernels.size(); first += count) {
      count = std::min(first == 0 ? 1 : threads * of_each, kernels.size() - first);
      readings.assign(count, {});
      std::atomic<std::size_t> next = 0;
      const auto work = [&](std::size_t thread) {
        for (std::size_t n = next++; n < count; n = next++)
          readings[n] = read(kernels[first + n], thread);
      };
      {
        std::vector<std::jthread> others;
        for (std::size_t t = 1; t < std::min(threads, count); ++t) others.emplace_back(work, t);
        work(0);
      }
      for (Reading &reading : readings) outcomes.push_back(addTwin(reading));
      on_progress();
    }
    return outcomes;
  }
  Result<std::vector<uint8_t>> write() { return writer_.write(); }

private:
  /// A kernel that was read.
  struct Reading {
    KernelOutcome outcome;
    std::optional<codeobj::Kernel> kernel;
    ObservedSites observed;
    Program program;
  };

  Reading read(std::size_t index, std::size_t thread) {
    Reading reading;
    reading.outcome.name = object_->kernelName(index).name;
    try {
      if (auto status = read(index, thread, reading); !status)
        reading.outcome.refusal = status.error().message();
    } catch (const std::exception &e) { // of LLVM
      reading.outcome.refusal = e.what();
    }
    return reading;
  }
  Status read(std::size_t index, std::size_t thread, Reading &reading) {
    auto kernel = object_->kernel(index);
    if (!kernel) return std::move(kernel).error();
    reading.outcome.code_before = kernel->code_size;
    if (object_->version() < 3) return Error::of("its code object is of version 2");
    constexpr uint32_t of_blocks = FADE_MODE_COUNTS | FADE_MODE_BLOCKS;
    auto observed = makeSites(*object_, lines(thread), reading.outcome.name,
                              {.blocks = (modes_ & of_blocks) != 0,
                               .instructions = false,
                               .access_places = (modes_ & ~of_blocks) != 0});
    if (!observed) return std::move(observed).error();
    auto program = readProgram(*object_, *kernel);
    if (!program) return std::move(program).error();
    reading.kernel = *std::move(kernel);
    reading.observed = *std::move(observed);
    reading.program = *std::move(program);
    return Done{};
  }
  /// Each thread has its own.
  const codeobj::SourceMap *lines(std::size_t thread) {
    std::call_once(maps_[thread].once, [&] {
      if (const auto map = codeobj::SourceMap::open(object_)) maps_[thread].map = *map;
    });
    return maps_[thread].map.get();
  }

  KernelOutcome addTwin(Reading &reading) {
    KernelOutcome &outcome = reading.outcome;
    if (!outcome.refusal.empty()) return std::move(outcome);
    try {
      if (auto status = add(reading, outcome); !status) outcome.refusal = status.error().message();
    } catch (const std::exception &e) { // of LLVM's assembler
      outcome.refusal = e.what();
    }
    return std::move(outcome);
  }
  Status add(const Reading &reading, KernelOutcome &outcome) {
    const codeobj::Kernel *kernel = &*reading.kernel;
    const ObservedSites *observed = &reading.observed;
    const Program *program = &reading.program;
    const bool has_variables =
        std::ranges::any_of(program->pc_addresses, [&](const PcAddress &address) {
          return writer_.isWritable(address.target) || isInVariable(address.target);
        });
    const bool is_wave32 = kernel->descriptor.wavefront_size == 32;
    const Work work{*kernel, *program, *observed, FADE_CLONE_PREFIX + outcome.name,
                    (is_wave32 ? FADE_KERNEL_WAVE32 : FADE_KERNEL_WAVE64) |
                        (has_variables ? FADE_KERNEL_HAS_VARIABLES : 0)};
    const auto record = [&](uint32_t modes) { return addRecording(work, modes, outcome); };
    if (!countsOnly(modes_)) {
      auto status = record(modes_);
      if (status || (modes_ & FADE_MODE_SUMMARY) == 0) return status;
      // To record an access takes fewer registers than to add it up.
      return record(modes_ & ~FADE_MODE_SUMMARY) ? Status(Done{}) : std::move(status);
    }
    auto status = addCounting(work, outcome);
    if (status || modes_ != FADE_MODE_COUNTS) return status;
    // Routines borrow registers for each block: slower, where there are no counters for it.
    return record(modes_) ? Status(Done{}) : std::move(status);
  }

  struct Work {
    const codeobj::Kernel &kernel;
    const Program &program;
    const ObservedSites &observed;
    std::string twin;
    uint32_t flags = 0;
  };

  template <typename Code>
  void finish(const Work &work, Code &code, const std::vector<std::byte> &table,
              KernelOutcome &outcome) {
    outcome.registers = code.registers;
    outcome.vector_registers = code.vector_registers;
    outcome.code_after = code.code.size();
    writer_.addSites(table);
    writer_.add({work.twin, work.kernel.symbol, std::move(code.code), code.descriptor});
  }

  Status addCounting(const Work &work, KernelOutcome &outcome) {
    CountingRequest request{*object_, work.kernel,           work.program,
                            {},       writer_.nextAddress(), (modes_ & FADE_MODE_TIMES) != 0};
    for (const ObservedPlace &block : work.observed.blocks) request.places.push_back(block.address);
    auto code = makeCounting(request, assemblerFor(work.kernel));
    if (!code) return std::move(code).error();
    outcome.counters = code->counter_count;
    std::vector<std::byte> table =
        tableOfTwin(work.observed, work.twin, modes_, work.flags | FADE_KERNEL_NO_STREAM);
    setCounters(table, work.observed, *code);
    setId(table);
    finish(work, *code, table, outcome);
    return Done{};
  }

  Status addRecording(const Work &work, uint32_t modes, KernelOutcome &outcome) {
    const uint32_t flags = (modes & FADE_MODE_SUMMARY) != 0 ? FADE_KERNEL_SUMS : 0;
    std::vector<std::byte> table = tableOfTwin(work.observed, work.twin, modes, work.flags | flags);
    RecordingRequest request{.object = *object_,
                             .kernel = work.kernel,
                             .program = work.program,
                             .sites = {},
                             .blocks = {},
                             .modes = modes,
                             .module = setId(table),
                             .address = writer_.nextAddress()};
    for (const ObservedPlace &block : work.observed.blocks)
      if (work.program.instructions.contains(block.address))
        request.blocks[block.address] = block.site;
    if ((modes & FADE_MODE_ACCESSES) != 0)
      if (auto status = findSites(work, table, request); !status) return status;
    auto code = makeRecording(request, assemblerFor(work.kernel));
    if (!code) return std::move(code).error();
    outcome.sites = code->sites;
    outcome.scratch = code->scratch;
    outcome.blocks = static_cast<uint32_t>(request.blocks.size());
    finish(work, *code, table, outcome);
    return Done{};
  }

  static Status findSites(const Work &work, const std::vector<std::byte> &table,
                          RecordingRequest &request) {
    for (const ObservedPlace &access : work.observed.accesses) {
      const bool is_lds_side = request.sites.contains(access.address - kLdsSide);
      const uint64_t address = access.address - (is_lds_side ? kLdsSide : 0);
      if (!work.program.instructions.contains(address)) continue;
      if (is_lds_side) return Error::of(fmt::format("a load into LDS at {:#x}", address));
      fade_sites header;
      std::memcpy(&header, table.data(), sizeof header);
      fade_site site;
      std::memcpy(&site, table.data() + header.sites_offset + access.site * sizeof site,
                  sizeof site);
      request.sites[address] = {access.site, site.size, site.space == FADE_SPACE_LDS,
                                site.kind == FADE_SITE_ATOMIC};
    }
    return Done{};
  }

  /// What has a name may be written by the host, also if kernels cannot.
  bool isInVariable(uint64_t address) const {
    return std::ranges::any_of(object_->symbols(), [&](const codeobj::Symbol &symbol) {
      return symbol.type == STT_OBJECT && symbol.binding != STB_LOCAL && address >= symbol.value &&
             address - symbol.value < symbol.size;
    });
  }

  Assembler &assemblerFor(const codeobj::Kernel &kernel) {
    const bool is_wave32 = kernel.descriptor.wavefront_size == 32;
    auto &assembler = assemblers_[is_wave32];
    if (!assembler)
      assembler =
          std::make_unique<Assembler>(sim::llvm_processor(*archOf(object_->target())), is_wave32);
    return *assembler;
  }

  const std::shared_ptr<const codeobj::CodeObject> object_;
  const uint32_t modes_;
  ObjectWriter writer_;
  struct Lines {
    std::once_flag once;
    std::shared_ptr<const codeobj::SourceMap> map; ///< null if there are no lines
  };
  std::array<Lines, kMostThreads> maps_;
  std::array<std::unique_ptr<Assembler>, 2> assemblers_;
};

} // namespace

Result<Rewritten> rewriteObject(const std::shared_ptr<const codeobj::CodeObject> &object,
                                uint32_t modes,
                                const std::function<bool(const std::string &)> &wants,
                                const std::function<void()> &on_progress) {
  if (!archOf(object->target()))
    return Error::of(fmt::format("{}: code for {} is not rewritten", object->file(),
                                 object->target().processor));
  if (object->elf().findSection(FADE_SITES_SECTION))
    return Error::of(object->file() + ": it is instrumented already");
  auto writer = ObjectWriter::open(*object);
  if (!writer) return std::move(writer).error();
  Rewriter rewriter(object, modes, *std::move(writer));
  Rewritten result;
  std::vector<std::size_t> kernels;
  for (std::size_t i = 0; i < object->kernelCount(); ++i)
    if (wants(std::string(object->kernelName(i).name))) kernels.push_back(i);
  result.kernels = rewriter.addTwins(kernels, on_progress);
  const auto has_twin = [](const KernelOutcome &kernel) { return kernel.refusal.empty(); };
  if (std::ranges::none_of(result.kernels, has_twin)) return result;
  auto file = rewriter.write();
  if (!file) return std::move(file).error();
  result.file = *std::move(file);
  return result;
}

} // namespace fade::rewrite
