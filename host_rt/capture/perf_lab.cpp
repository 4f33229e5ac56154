#include "capture/perf_lab.h"

#include "base/json_text.h"
#include "capture/json_fields.h"

#include <algorithm>
#include <filesystem>

namespace fade::capture {
namespace {

constexpr uint64_t kJsonBytes = uint64_t{16} << 20, kHsacoBytes = uint64_t{4} << 30;
constexpr uint64_t kKernargBytes = uint64_t{1} << 20;
constexpr std::size_t kMostAllocations = std::size_t{1} << 16;
constexpr uint64_t kEndOfAddresses = uint64_t{1} << 57;
constexpr std::size_t kPiece = std::size_t{8} << 20;

constexpr uint64_t down(uint64_t address) { return address & ~(kPageSize - 1); }
constexpr uint64_t up(uint64_t address) { return down(address + kPageSize - 1); }

/// It is written by hand, and a comma stays behind the last element if what should follow could not
/// be read.
std::string withoutLastComma(std::string text) {
  const auto close = text.rfind(']');
  if (close == text.npos || close == 0) return text;
  const auto comma = text.find_last_not_of(" \t\r\n", close - 1);
  if (comma != text.npos && text[comma] == ',') text[comma] = ' ';
  return text;
}

/// An object, whose members `use` asks for.
template <typename Use>
Status readJson(const std::string &folder, const std::string &name, Use &&use) {
  const std::string path = folder + "/" + name;
  const auto text = FolderFile::readAll(folder, name, kJsonBytes);
  if (!text) return text.error();
  const Json json = parsedJson(withoutLastComma(*text));
  if (!json.is_object()) return Error{path, "", 0, "it is not a JSON object"};
  try {
    use(json);
  } catch (const Mistake &mistake) {
    return Error{path, "", 0, mistake.what};
  } catch (const std::exception &e) {
    return Error{path, "", 0, e.what()};
  }
  return Done();
}

/// "scan(int*) [clone .kd]" is scan(int*).
std::string plainName(std::string name) {
  if (const auto at = name.find(" ["); at != name.npos) name.resize(at);
  return name;
}

void readDispatchFields(const Json &json, Description &d) {
  const JsonFields line(json);
  d.symbol = line.text("mangled_name");
  if (d.symbol.ends_with(".kd")) d.symbol.resize(d.symbol.size() - 3);
  if (d.symbol.empty()) JsonFields::fail("mangled_name", "is empty");
  if (json.contains("demangled_name")) d.kernel = plainName(line.text("demangled_name"));
  if (d.kernel.empty()) d.kernel = d.symbol;
  if (json.contains("agent_name")) d.gpu = line.text("agent_name");
  if (json.contains("isa_name")) d.isa = line.text("isa_name");
  d.kernel_object = line.number("kernel_object", kEndOfAddresses);
  d.grid = line.three("grid");
  d.workgroup = line.three("block");
  for (const uint32_t size : d.workgroup)
    if (size > UINT16_MAX) JsonFields::fail("block", "is larger than any workgroup");
  d.dimensions = d.grid[2] > 1 ? 3 : d.grid[1] > 1 ? 2 : 1;
  d.group_segment = line.small<uint32_t>("group_segment_size");
  d.private_segment = line.small<uint32_t>("private_segment_size");
  d.dispatch = line.number("dispatch_index", UINT64_MAX - 1) + 1; // theirs begin with 0
  d.has_after = false;
}

} // namespace

bool isPerfLabCapture(const std::string &folder) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(folder + "/dispatch.json", ignored);
}

Result<PerfLabCapture> PerfLabCapture::open(const std::string &folder) {
  PerfLabCapture capture;
  capture.folder_ = folder;
  if (!isPerfLabCapture(folder))
    return Error{folder, "", 0, "not a capture of rocm-perf-lab: there is no dispatch.json"};
  if (Status read = capture.readDispatch(); !read) return std::move(read).error();
  if (Status read = capture.readMemory(); !read) return std::move(read).error();
  capture.makeRegions();
  return capture;
}

Status PerfLabCapture::readDispatch() {
  if (Status read = readJson(folder_, "dispatch.json",
                             [&](const Json &json) { readDispatchFields(json, description_); });
      !read)
    return read;
  const auto code = FolderFile::readAll(folder_, "kernel.hsaco", kHsacoBytes);
  if (!code) return code.error();
  code_.assign(code->begin(), code->end());
  const auto arguments = FolderFile::readAll(folder_, "kernarg.bin", kKernargBytes);
  if (!arguments) return arguments.error();
  description_.arguments.assign(arguments->begin(), arguments->end());
  return Done();
}

Status PerfLabCapture::readMemory() {
  const std::string path = folder_ + "/memory_regions.json";
  Status read = readJson(folder_, "memory_regions.json", [&](const Json &json) {
    const auto list = json.find("regions");
    if (list == json.end() || !list->is_array()) JsonFields::fail("regions", "is not a list");
    if (list->size() > kMostAllocations) JsonFields::fail("regions", "has too many of them");
    for (const Json &each : *list) {
      if (!each.is_object()) JsonFields::fail("regions", "has values other than objects");
      const JsonFields line(each);
      const Memory memory{line.number("base", kEndOfAddresses),
                          line.number("size", kEndOfAddresses)};
      if (memory.end() > kEndOfAddresses) JsonFields::fail("size", "reaches beyond all addresses");
      if (memory.size != 0) memory_.push_back(memory);
    }
  });
  if (!read) return read;
  std::ranges::sort(memory_, {}, &Memory::base);
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    const Memory &memory = memory_[i];
    if (i != 0 && memory_[i - 1].end() > memory.base)
      return Error{path, "", 0, fmt::format("two allocations overlap at {:#x}", memory.base)};
    const auto file = FolderFile::open(folder_, nameOf(memory));
    if (!file) return file.error();
    if (file->size() != memory.size)
      return Error{folder_ + "/" + nameOf(memory), "", 0,
                   fmt::format("it has {} bytes instead of {}", file->size(), memory.size)};
  }
  return Done();
}

std::string PerfLabCapture::nameOf(const Memory &memory) {
  return fmt::format("memory/region_{:x}.bin", memory.base);
}

/// Those that share a page become one.
void PerfLabCapture::makeRegions() {
  for (const Memory &memory : memory_) {
    const uint64_t begin = down(memory.base), end = up(memory.end());
    if (!regions_.empty() && begin < regions_.back().end()) {
      regions_.back().size = std::max(end, regions_.back().end()) - regions_.back().address;
      continue;
    }
    Region region;
    region.address = begin;
    region.size = end - begin;
    region.agent = 1;
    regions_.push_back(region);
  }
}

Status PerfLabCapture::read(std::size_t index,
                            const std::function<bool(std::span<const uint8_t>)> &use) const {
  const Region &region = regions_[index];
  auto next = std::ranges::lower_bound(memory_, region.address, {}, &Memory::base);
  std::vector<uint8_t> piece;
  FolderFile file; // of the allocation before `next`, which may go on in the next piece
  Memory current;
  for (uint64_t at = region.address; at < region.end(); at += piece.size()) {
    piece.assign(std::min<uint64_t>(kPiece, region.end() - at), 0);
    const uint64_t end = at + piece.size();
    for (;;) {
      const uint64_t from = std::max(at, current.base), to = std::min(end, current.end());
      if (from < to)
        if (Status done =
                file.read(std::span(piece).subspan(from - at, to - from), from - current.base);
            !done)
          return done;
      if (current.end() > end || next == memory_.end() || next->base >= end) break;
      current = *next++;
      auto opened = FolderFile::open(folder_, nameOf(current));
      if (!opened) return std::move(opened).error();
      file = std::move(*opened);
    }
    if (!use(piece)) break;
  }
  return Done();
}

} // namespace fade::capture
