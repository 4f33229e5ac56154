#include "replay/minimise.h"

#include "codeobj/code_object.h"
#include "replay/touched_pages.h"

#include <algorithm>
#include <elf.h>
#include <filesystem>
#include <fmt/format.h>
#include <map>

namespace fade::replay {
namespace {

using capture::kPageSize;
using capture::State;

/// Of one region.
class RegionCopy {
public:
  RegionCopy(capture::Reader &reader, capture::Writer &writer, std::size_t region,
             const std::vector<bool> &touched)
      : reader_(reader), writer_(writer), region_(region), touched_(touched) {}

  Status copy(State state) {
    writer_.begin(state, region_);
    uint64_t at = 0;
    for (const capture::Run &run : reader_.runs(state, region_))
      for (uint32_t i = 0; i < run.count; ++i, ++at)
        if (Status copied = copyPage(state, run, i, at); !copied) return copied;
    flush();
    return Done();
  }

private:
  Status copyPage(State state, const capture::Run &run, uint32_t i, uint64_t at) {
    using capture::Run;
    if (run.kind == Run::kAbsent || !touched_[at])
      return leave(state == State::before ? Run::kAbsent : Run::kSame);
    if (run.kind == Run::kSame) return leave(Run::kSame);
    if (run.kind == Run::kZero) {
      static const std::vector<uint8_t> zeros(kPageSize);
      flush();
      return writer_.add(zeros);
    }
    const auto bytes = reader_.page(run.kind == Run::kStored ? run.first + i : run.first);
    if (!bytes) return bytes.error();
    flush();
    return writer_.add({*bytes, kPageSize});
  }
  Status leave(capture::Run::Kind kind) {
    if (kind != kind_) flush();
    kind_ = kind;
    ++left_;
    return Done();
  }
  void flush() {
    if (left_ != 0) writer_.skip(left_, kind_);
    left_ = 0;
  }

  capture::Reader &reader_;
  capture::Writer &writer_;
  const std::size_t region_;
  const std::vector<bool> &touched_;
  uint64_t left_ = 0;
  capture::Run::Kind kind_ = capture::Run::kAbsent;
};

/// Where code objects are in which the kernel has an instrumented twin: fadeprobe replay -i runs
/// that, and it touches other pages of the code.
std::vector<Extent> codeOfTwins(const capture::Reader &reader) {
  std::vector<Extent> extents;
  for (const capture::Code &code : reader.code()) {
    const auto object = codeobj::CodeObject::open(
        codeobj::Blob::borrow({code.bytes.data(), code.bytes.size()}, "the capture's code"));
    if (!object) continue;
    const auto kernel = (*object)->findKernel(reader.description().symbol);
    if (!kernel || !(*object)->findClone(*kernel)) continue;
    uint64_t end = 0;
    for (const codeobj::Section &section : (*object)->elf().sections())
      if ((section.flags & SHF_ALLOC) != 0) end = std::max(end, section.address + section.size);
    extents.push_back({code.base, end});
  }
  return extents;
}

bool isIn(const std::vector<Extent> &extents, uint64_t page) {
  return std::ranges::any_of(extents, [&](const Extent &extent) {
    return page < extent.address + extent.size && extent.address < page + kPageSize;
  });
}

} // namespace

Result<Minimised> minimise(capture::Reader &reader, Memory &memory, Machine &machine,
                           const std::string &code, const std::string &output) {
  Minimised result;
  std::vector<std::vector<bool>> touched(memory.regions());
  {
    TouchedPages pages(memory.all());
    // Twice: waves in another order may touch others.
    for (int i = 0; i < (code.empty() ? 2 : 3); ++i) {
      if (i == 2)
        if (Status used = machine.loadCode(code); !used) return std::move(used).error();
      machine.restore();
      pages.watch();
      auto execution = machine.run();
      pages.stop();
      if (!execution) return std::move(execution).error();
    }
    const std::vector<Extent> kept = codeOfTwins(reader);
    for (std::size_t i = 0; i < memory.regions(); ++i) {
      const uint64_t count = memory.region(i).pages();
      touched[i].resize(count);
      for (uint64_t page = 0; page < count; ++page)
        if (pages.isTouched(memory.number({i, page})) ||
            isIn(kept, memory.region(i).address + page * kPageSize)) {
          touched[i][page] = true;
          ++result.touched;
        }
      result.pages += count;
    }
  }
  const std::filesystem::path path(output);
  const std::string parent = path.parent_path().empty() ? "." : path.parent_path().string();
  auto writer = capture::Writer::create(parent, path.filename().string());
  if (!writer) return std::move(writer).error();
  for (const State state : {State::before, State::after})
    for (std::size_t i = 0; i < memory.regions(); ++i) {
      if (state == State::after && reader.runs(state, i).empty()) continue;
      if (Status copied = RegionCopy(reader, **writer, i, touched[i]).copy(state); !copied)
        return std::move(copied).error();
    }
  capture::Description description = reader.description();
  description.is_minimised = true;
  if (Status done = (*writer)->finish(description, reader.code()); !done)
    return std::move(done).error();
  result.path = (*writer)->path();
  result.sizes = (*writer)->sizes();
  return result;
}

} // namespace fade::replay
