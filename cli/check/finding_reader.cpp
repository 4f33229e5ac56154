#include "check/finding_reader.h"

#include "codeobj/code_object.h"
#include "codeobj/demangle.h"
#include "codeobj/disassembler.h"
#include "codeobj/host_lines.h"
#include "codeobj/source_map.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

namespace fade::cli {
namespace {

namespace fs = std::filesystem;
using namespace fade::checks;

/// The file of one process. What it says is checked: the process may have died while writing, and
/// its kernels may have written anywhere.
class FindingFile {
public:
  static std::unique_ptr<FindingFile> open(const std::string &path) {
    auto blob = codeobj::Blob::mapFile(path);
    if (!blob || blob->bytes().size() < kFileBytes) return nullptr;
    auto file = std::unique_ptr<FindingFile>(new FindingFile(std::move(*blob)));
    const FileHeader header = file->at<FileHeader>(0);
    if (header.magic != kFileMagic || header.version != kFileVersion) return nullptr;
    file->header_ = header;
    return file;
  }
  const FileHeader &header() const { return header_; }
  uint32_t count() const { return std::min(header_.findings, kMostFindings); }
  Finding finding(uint32_t i) const { return at<Finding>(kFindingsAt + i * sizeof(Finding)); }
  uint32_t allocations() const { return std::min(header_.allocations, kMostAllocations); }
  AllocationInfo allocation(uint32_t i) const {
    return at<AllocationInfo>(kAllocationsAt + i * sizeof(AllocationInfo));
  }
  std::string string(String offset) const {
    if (offset == 0 || offset >= kStringBytes) return "";
    const auto *begin = reinterpret_cast<const char *>(blob_.bytes().data()) + kStringsAt + offset;
    return {begin, strnlen(begin, kStringBytes - offset)};
  }

private:
  explicit FindingFile(codeobj::Blob blob) : blob_(std::move(blob)) {}
  template <class T> T at(uint64_t offset) const {
    T value;
    std::memcpy(&value, blob_.bytes().data() + offset, sizeof value);
    return value;
  }
  codeobj::Blob blob_;
  FileHeader header_{};
};

/// A code object that the process had loaded.
struct Code {
  std::shared_ptr<const codeobj::CodeObject> object;
  std::shared_ptr<const codeobj::SourceMap> map;
  std::shared_ptr<const codeobj::Disassembler> disassembler;
};

class CodeObjects {
public:
  /// `stem`: of the names of a process's files.
  explicit CodeObjects(std::string stem) : stem_(std::move(stem)) {}

  const Code &get(uint32_t number) {
    const auto [at, is_new] = all_.try_emplace(number);
    if (is_new) load(number, at->second);
    return at->second;
  }

private:
  void load(uint32_t number, Code &code) const {
    const std::string path = fmt::format("{}.code-{}", stem_, number);
    auto blob = codeobj::Blob::mapFile(path);
    if (!blob) return;
    auto object = codeobj::CodeObject::open(std::move(*blob));
    if (!object) return;
    code.object = *object;
    if (auto map = codeobj::SourceMap::open(*object)) code.map = *map;
    // Decoding does not depend on the size of a wave.
    if (auto d = codeobj::Disassembler::create((*object)->target(), 64)) code.disassembler = *d;
  }
  std::string stem_;
  std::map<uint32_t, Code> all_;
};

std::string lineOf(const std::string &file, uint32_t line) {
  std::ifstream in(file);
  std::string text;
  for (uint32_t i = 0; i < line; ++i)
    if (!std::getline(in, text)) return "";
  const auto begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return "";
  const auto end = text.find_last_not_of(" \t\r");
  return text.substr(begin, end - begin + 1);
}

/// Whether a line of the program's own is among the frames.
bool hasOwnLine(const std::vector<codeobj::SourceFrame> &stack) {
  return std::ranges::any_of(stack, [](const codeobj::SourceFrame &frame) {
    return frame.line != 0 && !codeobj::isSystemSource(frame.file);
  });
}

/// Where compilers make one instruction of several, it has a function but no line: that of the
/// nearest which has one, of the program's own if there is any. Empty if there is none.
std::vector<codeobj::SourceFrame> stackBeside(const codeobj::SourceMap &map, uint64_t address,
                                              const std::string &function) {
  constexpr uint64_t step = 4, furthest = 1024;
  std::vector<codeobj::SourceFrame> nearest;
  for (uint64_t distance = step; distance <= furthest; distance += step)
    for (const uint64_t beside : {address + distance, address - distance}) {
      auto stack = map.stack(beside);
      if (stack.empty() || stack.front().line == 0 || stack.back().function != function) continue;
      if (hasOwnLine(stack)) return stack;
      if (nearest.empty()) nearest = std::move(stack);
    }
  return nearest;
}

void resolve(FoundPlace &place, CodeObjects &objects) {
  if (place.raw.code == 0) return;
  const Code &code = objects.get(place.raw.code - 1);
  if (!code.object) return;
  const auto add_frames = [&](uint64_t address) {
    auto stack = code.map->stack(address);
    if (!stack.empty() && stack.front().line == 0 && address == place.raw.address)
      if (auto beside = stackBeside(*code.map, address, stack.back().function); !beside.empty()) {
        stack = std::move(beside);
        place.is_near = true;
      }
    for (const codeobj::SourceFrame &frame : stack)
      place.stack.push_back(
          {codeobj::demangle(frame.function), frame.file, frame.line, frame.column});
  };
  if (code.map) {
    add_frames(place.raw.address);
    for (const uint64_t caller : place.raw.callers)
      if (caller) add_frames(caller);
  }
  const auto own = std::ranges::find_if(place.stack, [](const FoundFrame &f) {
    return f.line != 0 && !codeobj::isSystemSource(f.file);
  });
  if (own != place.stack.end())
    place.shown = *own;
  else if (!place.stack.empty())
    place.shown = place.stack.front();
  if (place.shown.line != 0) place.source = lineOf(place.shown.file, place.shown.line);
  constexpr uint64_t longest = 20; // bytes of an instruction
  for (uint64_t size = longest; size >= 4; size -= 4)
    if (const auto bytes = code.object->code(place.raw.address, size); bytes) {
      if (!code.disassembler) return;
      const auto text = code.disassembler->disassemble(*bytes, place.raw.address, 1);
      if (!text.empty()) place.instruction = text.front().text;
      return;
    }
}

/// The innermost place of the program's own that called for it: hipMalloc<T> is in HIP's headers.
FoundAllocation describe(const AllocationInfo &raw, const FindingFile &file,
                         codeobj::HostLines &lines) {
  FoundAllocation a;
  a.raw = raw;
  a.api = file.string(raw.api);
  for (const HostCall &call : raw.callers) {
    const std::string module = file.string(call.module);
    if (module.empty()) break;
    if (a.module.empty()) a.module = module, a.address = call.address;
    const auto frames = lines.stack(module, call.address);
    // Beyond code without lines is somebody who did not ask for it himself.
    if (frames.empty() || frames.front().line == 0) break;
    for (const codeobj::SourceFrame &frame : frames) {
      if (frame.line == 0) continue;
      const bool is_own = !codeobj::isSystemSource(frame.file);
      if (is_own || a.caller.line == 0)
        a.caller = {frame.function, frame.file, frame.line, frame.column};
      if (is_own) return a;
    }
  }
  return a;
}

/// Unrolled loops and several devices make many instructions of one place in the source.
bool isSamePlace(const FoundPlace &a, const FoundPlace &b) {
  if (a.raw.kind != b.raw.kind || (a.raw.code == 0) != (b.raw.code == 0)) return false;
  if (a.raw.code == 0) return a.raw.pc == b.raw.pc;
  if (a.shown.line != 0 && a.shown.column != 0) return a.stack == b.stack;
  return a.raw.address == b.raw.address && a.instruction == b.instruction &&
         std::ranges::equal(a.raw.callers, b.raw.callers);
}

/// Whether it is one mistake, for those who read about it.
bool isSame(const FoundFinding &a, const FoundFinding &b) {
  if (a.raw.check != b.raw.check || a.raw.problem != b.raw.problem || a.gpu != b.gpu) return false;
  const auto is_same_pair = [&](const FoundPlace &place, const FoundPlace &other) {
    return isSamePlace(a.place, place) && isSamePlace(a.other, other);
  };
  const bool is_same_kernel = a.symbol == b.symbol && a.other_kernel == b.other_kernel;
  switch (static_cast<Check>(a.raw.check)) {
  case Check::memory:
    return is_same_kernel && isSamePlace(a.place, b.place) &&
           (a.raw.distance < 0) == (b.raw.distance < 0);
  case Check::init: return is_same_kernel && isSamePlace(a.place, b.place); // however it is used
  case Check::race: {
    const bool is_turned = a.other_kernel.empty()
                               ? is_same_kernel
                               : a.kernel == b.other_kernel && a.other_kernel == b.kernel;
    return (is_same_kernel && is_same_pair(b.place, b.other)) ||
           (is_turned && is_same_pair(b.other, b.place));
  }
  case Check::wait: // assembly has several instructions in one place
    return is_same_kernel && a.raw.address == b.raw.address && is_same_pair(b.place, b.other) &&
           a.place.raw.address == b.place.raw.address && a.other.raw.address == b.other.raw.address;
  default: return is_same_kernel && is_same_pair(b.place, b.other);
  }
}

void readFile(const FindingFile &file, const std::string &stem, codeobj::HostLines &lines,
              FoundRun &run) {
  CodeObjects objects(stem);
  for (uint32_t i = 0; i < file.count(); ++i) {
    FoundFinding f;
    f.raw = file.finding(i);
    if (f.raw.check >= static_cast<uint32_t>(Check::count) ||
        f.raw.problem >= static_cast<uint32_t>(Problem::count))
      continue;
    f.process = file.header().pid;
    f.symbol = file.string(f.raw.kernel);
    f.kernel = codeobj::demangle(f.symbol);
    f.gpu = file.string(f.raw.gpu);
    if (const std::string other = file.string(f.raw.other_kernel); !other.empty())
      f.other_kernel = codeobj::demangle(other);
    f.place.raw = f.raw.place;
    f.other.raw = f.raw.other;
    resolve(f.place, objects);
    if (f.raw.other.pc) resolve(f.other, objects);
    f.allocation = describe(f.raw.allocation, file, lines);
    const auto known =
        std::ranges::find_if(run.findings, [&](const FoundFinding &k) { return isSame(k, f); });
    if (known != run.findings.end())
      known->raw.count += f.raw.count;
    else
      run.findings.push_back(std::move(f));
  }
}

/// What the application allocated on the device, and still has. Allocations of one line are one
/// finding.
///
/// A runtime also allocates for itself while it serves the first call of an application. The last
/// allocation that a function made is the application's, so that is the way through the runtime by
/// which the application's are known.
void readLeaks(const FindingFile &file, codeobj::HostLines &lines, FoundRun &run) {
  const auto is_applications = [&](const AllocationInfo &raw) {
    return std::ranges::any_of(file.header().ways, [&](const LastWay &way) {
      return raw.api != 0 && way.api == raw.api && way.path == raw.path;
    });
  };
  std::map<std::pair<std::string, uint64_t>, FoundFinding> by_caller;
  for (uint32_t i = 0; i < file.allocations(); ++i) {
    const AllocationInfo raw = file.allocation(i);
    if (raw.number == 0 || raw.on_host || !is_applications(raw)) continue;
    FoundAllocation found = describe(raw, file, lines);
    if (found.api.starts_with("hipMalloc") && found.api.ends_with("Async")) continue; // a pool's
    const bool has_line = found.caller.line != 0;
    const auto [at, is_new] = by_caller.try_emplace({has_line ? found.caller.file : found.module,
                                                     has_line ? found.caller.line : found.address});
    FoundFinding &f = at->second;
    if (is_new || raw.number < f.allocation.raw.number) f.allocation = std::move(found);
    f.process = file.header().pid;
    f.raw.check = static_cast<uint32_t>(Check::leak);
    f.raw.problem = static_cast<uint32_t>(Problem::leak);
    f.raw.count += 1;
    f.raw.limit += raw.size;
  }
  for (auto &[caller, f] : by_caller) run.findings.push_back(std::move(f));
}

} // namespace

FoundRun readFindings(const std::string &folder, bool with_leaks) {
  FoundRun run;
  codeobj::HostLines lines;
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".findings") paths.push_back(entry.path());
  std::ranges::sort(paths);
  for (const std::string &path : paths) {
    const auto file = FindingFile::open(path);
    if (!file) {
      ++run.unreadable;
      continue;
    }
    ++run.processes;
    run.dispatches += file->header().dispatches;
    run.left_out += file->header().left_out;
    run.lost += file->header().lost;
    readFile(*file, fs::path(path).replace_extension().string(), lines, run);
    if (with_leaks) readLeaks(*file, lines, run);
  }
  return run;
}

} // namespace fade::cli
