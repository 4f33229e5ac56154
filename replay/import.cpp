#include "replay/import.h"

#include "capture/perf_lab.h"
#include "capture/writer.h"
#include "codeobj/code_object.h"
#include "codeobj/demangle.h"
#include "device/code_object.h"

#include <algorithm>
#include <fmt/format.h>

namespace fade::replay {
namespace {

using capture::kPageSize;
using capture::Region;
using capture::RegionKind;

class Import {
public:
  explicit Import(capture::PerfLabCapture capture)
      : capture_(std::move(capture)), description_(capture_.description()),
        regions_(capture_.regions()) {}

  Result<Imported> into(const std::string &output);

private:
  Status loadCode();
  Status addRegion(uint64_t address, std::vector<uint8_t> bytes, RegionKind kind);
  Status addArguments();
  Status write(capture::Writer &writer);
  void noteVariables();
  Error wrong(const std::string &what) const { return {capture_.folder(), "", 0, what}; }

  /// Regions that are not in their capture, and what is in them.
  struct Made {
    uint64_t address = 0;
    std::vector<uint8_t> bytes;
  };

  capture::PerfLabCapture capture_;
  capture::Description description_;
  std::vector<Region> regions_;
  std::vector<Made> made_;
  std::shared_ptr<const codeobj::CodeObject> object_;
  uint64_t base_ = 0; ///< where the code was loaded
  std::vector<std::string> notes_;
};

Status Import::addRegion(uint64_t address, std::vector<uint8_t> bytes, RegionKind kind) {
  bytes.resize((bytes.size() + kPageSize - 1) / kPageSize * kPageSize);
  Region region;
  region.address = address;
  region.size = bytes.size();
  region.kind = kind;
  region.on_host = kind != RegionKind::code;
  region.agent = region.on_host ? 0 : 1;
  const auto after = std::ranges::upper_bound(regions_, address, {}, &Region::address);
  if ((after != regions_.end() && after->address < region.end()) ||
      (after != regions_.begin() && std::prev(after)->end() > address))
    return wrong(fmt::format("the code at {:#x} overlaps memory of the application", address));
  regions_.insert(after, region);
  made_.push_back({address, std::move(bytes)});
  return Done();
}

/// Their captures have the file, not what was in memory; where it was loaded follows from the
/// address of the kernel descriptor.
Status Import::loadCode() {
  const std::string file = capture_.folder() + "/kernel.hsaco";
  auto object = codeobj::CodeObject::open(codeobj::Blob::borrow(capture_.code(), file));
  if (!object) return std::move(object).error();
  object_ = *object;
  const auto index = object_->findKernel(description_.symbol);
  if (!index) return Error{file, "", 0, fmt::format("it has no kernel {}", description_.symbol)};
  const auto kernel = object_->kernel(*index);
  if (!kernel) return kernel.error();
  base_ = description_.kernel_object - kernel->descriptor_address;
  if (description_.kernel_object < kernel->descriptor_address || base_ % kPageSize != 0)
    return wrong(
        fmt::format("the kernel's descriptor cannot have been at {:#x}: in kernel.hsaco it "
                    "has the address {:#x}",
                    description_.kernel_object, kernel->descriptor_address));
  if (description_.gpu.empty()) description_.gpu = object_->target().processor;
  if (description_.isa.empty()) description_.isa = object_->target().isaName();
  if (description_.kernel == description_.symbol)
    description_.kernel = codeobj::demangle(description_.symbol);
  std::vector<uint8_t> image;
  try {
    sim::AddressSpace space;
    const sim::CodeObject loaded(capture_.code(), space, base_);
    const auto found = space.find(base_);
    image.resize(found ? found->size : 0);
    if (image.empty() || !space.read(base_, image.data(), image.size()))
      return Error{file, "", 0, "it cannot be loaded"};
  } catch (const std::exception &e) {
    return Error{file, "", 0, e.what()};
  }
  return addRegion(base_, std::move(image), RegionKind::code);
}

/// Where they were is not known, and no kernel can tell: below all others, or behind them.
Status Import::addArguments() {
  if (description_.arguments.empty()) return Done();
  constexpr uint64_t step = uint64_t{1} << 21;
  const uint64_t size = (description_.arguments.size() + step) / step * step;
  const uint64_t first = regions_.front().address / step * step;
  description_.kernarg_address =
      first > 2 * size + step ? first - 2 * size : (regions_.back().end() / step + 2) * step;
  return addRegion(description_.kernarg_address, description_.arguments, RegionKind::pool);
}

void Import::noteVariables() {
  std::string names;
  std::size_t count = 0;
  for (const codeobj::Symbol &symbol : object_->symbols()) {
    if (symbol.type != STT_OBJECT || symbol.size == 0 || symbol.binding == STB_LOCAL ||
        symbol.name.ends_with(".kd") || symbol.name.starts_with("__hip_cuid_"))
      continue;
    if (++count <= 3) names += (names.empty() ? "" : ", ") + codeobj::demangle(symbol.name);
  }
  if (count > 3) names += fmt::format(" and {} more", count - 3);
  if (count != 0)
    notes_.push_back("variables of the program were not captured and are as in the file: " + names);
}

Status Import::write(capture::Writer &writer) {
  std::size_t theirs = 0;
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    writer.begin(capture::State::before, i);
    const auto own = std::ranges::find(made_, regions_[i].address, &Made::address);
    if (own != made_.end()) {
      if (Status added = writer.add(own->bytes); !added) return added;
      continue;
    }
    Status added = Done();
    const Status read = capture_.read(theirs++, [&](std::span<const uint8_t> pages) {
      added = writer.add(pages);
      return added.ok();
    });
    if (!read) return read;
    if (!added) return added;
  }
  return Done();
}

Result<Imported> Import::into(const std::string &output) {
  if (Status done = loadCode(); !done) return std::move(done).error();
  if (Status done = addArguments(); !done) return std::move(done).error();
  noteVariables();
  notes_.emplace_back("memory after the dispatch was not captured: --check can only compare "
                      "versions of the kernel (-c)");
  if (capture_.isCutOff())
    notes_.emplace_back("rocm-perf-lab keeps 256 allocations; further ones are missing");
  description_.fade = FADE_VERSION;
  description_.runtime = "";
  description_.regions = regions_;
  auto writer =
      capture::Writer::create(output, fmt::format("{}.{}", capture::folderName(description_.kernel),
                                                  description_.dispatch));
  if (!writer) return std::move(writer).error();
  if (Status done = write(**writer); !done) return std::move(done).error();
  std::vector<capture::Code> code;
  code.push_back({capture_.code(), base_});
  if (Status done = (*writer)->finish(description_, code); !done) return std::move(done).error();
  return Imported{(*writer)->path(), description_, (*writer)->sizes(), notes_};
}

} // namespace

Result<Imported> importPerfLab(const std::string &folder, const std::string &output) {
  auto capture = capture::PerfLabCapture::open(folder);
  if (!capture) return std::move(capture).error();
  return Import(std::move(*capture)).into(output);
}

} // namespace fade::replay
