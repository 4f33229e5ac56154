#include "check/finding_reader.h"

#include "base/source_file.h"
#include "check/array_bounds.h"
#include "check/clause_lines.h"
#include "check/data_flow.h"
#include "check/merged_lines.h"
#include "codeobj/code_object.h"
#include "codeobj/demangle.h"
#include "codeobj/disassembler.h"
#include "codeobj/host_lines.h"
#include "codeobj/instruction.h"
#include "codeobj/source_map.h"
#include "fade/observer.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <tuple>

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
  uint32_t spans() const { return std::min(header_.spans, kMostSpans); }
  Span span(uint32_t i) const { return at<Span>(kSpansAt + i * sizeof(Span)); }
  CodeInfo code(uint32_t number) const {
    return number < kMostCode ? at<CodeInfo>(kCodeAt + number * sizeof(CodeInfo)) : CodeInfo{};
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

std::vector<std::string> linesOf(const std::string &file, uint32_t most) {
  std::vector<std::string> lines;
  if (!isSourceFile(file)) return lines;
  std::ifstream in(file);
  for (std::string text; lines.size() < most && std::getline(in, text);) lines.push_back(text);
  return lines;
}

/// With the blanks at its start.
std::string wholeLineOf(const std::string &file, uint32_t line) {
  if (!isSourceFile(file)) return "";
  std::ifstream in(file);
  std::string text;
  for (uint32_t i = 0; i < line; ++i)
    if (!std::getline(in, text)) return "";
  return text;
}

std::string lineOf(const std::string &file, uint32_t line) {
  const std::string text = wholeLineOf(file, line);
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

/// Where one instruction does what several lines say: the line of the byte in question.
void separate(FoundPlace &place, const codeobj::SourceMap &map) {
  const FoundFrame shown = place.shown;
  constexpr uint32_t most = 100'000, narrowest = 2, beyond = 64;
  if (place.is_near || place.stack.empty() || place.stack.front() != shown || shown.line > most ||
      place.raw.size < narrowest || static_cast<AccessKind>(place.raw.kind) == AccessKind::atomic)
    return;
  MergedAccess access{static_cast<AccessKind>(place.raw.kind) == AccessKind::store,
                      shown.line,
                      shown.column,
                      place.instruction,
                      place.raw.size,
                      std::nullopt};
  if (place.raw.data) access.byte = place.raw.byte, access.data = place.raw.data - 1;
  const auto layout = [&](const std::string &variable, const std::vector<std::string> &steps) {
    return map.layout(place.raw.address, variable, steps);
  };
  const auto merged = mergedLines(access, linesOf(shown.file, shown.line + beyond), layout);
  if (!merged) return;
  place.merged = merged->others;
  place.is_of_byte = merged->line != 0;
  if (!place.is_of_byte || merged->line == shown.line) return;
  place.shown.line = merged->line;
  place.shown.column = merged->column;
  place.stack.front() = place.shown;
  place.source = lineOf(shown.file, merged->line);
}

/// In a clause all instructions have the line of the first: that of the instruction that computes
/// the address is nearer.
void leaveClause(FoundPlace &place, const Code &code) {
  constexpr uint64_t furthest = 1 << 16;
  const auto kind = static_cast<AccessKind>(place.raw.kind);
  const codeobj::Symbol *function = code.object->functionAt(place.raw.address);
  if (place.is_near || place.stack.empty() || !function || kind == AccessKind::atomic ||
      place.raw.address - function->value > furthest)
    return;
  const auto bytes = code.object->code(function->value, place.raw.address - function->value);
  if (!bytes) return;
  const auto before = code.disassembler->disassemble(*bytes, function->value);
  std::vector<std::string> texts;
  for (const codeobj::Instruction &one : before) texts.push_back(one.text);
  texts.push_back(place.instruction);
  const auto clause = clausePlace(texts);
  const auto own = code.map->place(place.raw.address);
  if (!clause || clause->first >= before.size() ||
      code.map->place(before[clause->first].address) != own)
    return;
  place.is_near = clause->has_other_base;
  if (!clause->definition) return;
  const auto stack = code.map->stack(before[*clause->definition].address);
  const FoundFrame &innermost = place.stack.front();
  if (stack.empty() || stack.front().line == 0 || place.shown != innermost ||
      stack.front().file != innermost.file || stack.front().line == innermost.line ||
      codeobj::demangle(stack.front().function) != innermost.function)
    return;
  const auto lines = linesOf(innermost.file, std::min(stack.front().line, 100'000u));
  if (lines.size() != stack.front().line ||
      !hasAccess(lines.back(), stack.front().column, kind == AccessKind::store))
    return;
  place.is_near = true;
  place.stack.front().line = stack.front().line;
  place.stack.front().column = stack.front().column;
  place.shown = place.stack.front();
  place.source = lineOf(innermost.file, innermost.line);
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
      if (code.map && !code.map->empty()) {
        leaveClause(place, code);
        separate(place, *code.map);
      }
      return;
    }
}

/// A function that allocates or frees for others: in a header, or by its name.
bool isHelper(const codeobj::SourceFrame &frame) {
  const std::string extension = fs::path(frame.file).extension().string();
  if (extension.starts_with(".h") && extension != ".hip") return true;
  if (extension == ".cuh" || extension == ".inl") return true;
  std::string name = codeobj::demangle(frame.function);
  name = name.substr(0, name.find_first_of("(<"));
  const auto scope = name.rfind("::");
  const std::string own = scope == name.npos ? name : name.substr(scope + 2);
  const std::string outer = scope == name.npos ? "" : name.substr(0, scope);
  if (!outer.empty() && (outer == own || outer.ends_with("::" + own))) return true; // constructor
  std::string lower = own;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return own.starts_with('~') || lower.find("alloc") != lower.npos ||
         lower.find("free") != lower.npos;
}

/// The innermost place of the program's own that called for it, outside of helpers: hipMalloc<T> is
/// in HIP's headers, and many programs have a function of their own that allocates. `through`:
/// that.
FoundFrame callerOf(const HostCall (&callers)[kMostCallers], const FindingFile &file,
                    codeobj::HostLines &lines, FoundFrame *through = nullptr) {
  FoundFrame found, helper;
  for (const HostCall &call : callers) {
    const std::string module = file.string(call.module);
    if (module.empty()) break;
    const auto frames = lines.stack(module, call.address);
    // Beyond code without lines is somebody who did not ask for it himself.
    if (frames.empty() || frames.front().line == 0) break;
    for (const codeobj::SourceFrame &frame : frames) {
      if (frame.line == 0) continue;
      const bool of_system = codeobj::isSystemSource(frame.file);
      if (of_system && found.line != 0) continue;
      found = {frame.function, frame.file, frame.line, frame.column};
      if (of_system) continue;
      if (!isHelper(frame)) {
        if (through) *through = helper;
        return found;
      }
      if (helper.line == 0) helper = found;
    }
  }
  return helper.line != 0 ? helper : found;
}

FoundAllocation describe(const AllocationInfo &raw, const FindingFile &file,
                         codeobj::HostLines &lines) {
  FoundAllocation a;
  a.raw = raw;
  a.api = file.string(raw.api);
  a.module = file.string(raw.callers[0].module);
  a.address = raw.callers[0].address;
  a.caller = callerOf(raw.callers, file, lines, &a.through);
  a.freed_by = callerOf(raw.freed_by, file, lines);
  return a;
}

/// Unrolled loops and several devices make many instructions of one place in the source.
bool isSamePlace(const FoundPlace &a, const FoundPlace &b) {
  if (a.raw.kind != b.raw.kind || (a.raw.code == 0) != (b.raw.code == 0)) return false;
  if (a.raw.code == 0) return a.raw.pc == b.raw.pc && a.shown == b.shown;
  if (a.shown.line != 0 && a.shown.column != 0) return a.stack == b.stack;
  return a.raw.address == b.raw.address && a.instruction == b.instruction &&
         std::ranges::equal(a.raw.callers, b.raw.callers);
}

/// Whether it is one mistake, for those who read about it.
bool isSame(const FoundFinding &a, const FoundFinding &b) {
  if (a.raw.check != b.raw.check || a.raw.problem != b.raw.problem || a.gpu != b.gpu) return false;
  if (a.raw.called_by[0].module != 0)
    return a.place.shown == b.place.shown && a.other.shown == b.other.shown;
  const auto is_same_pair = [&](const FoundPlace &place, const FoundPlace &other) {
    return isSamePlace(a.place, place) && isSamePlace(a.other, other);
  };
  const bool is_same_kernel = a.symbol == b.symbol && a.other_kernel == b.other_kernel;
  switch (static_cast<Check>(a.raw.check)) {
  case Check::memory:
    return is_same_kernel && isSamePlace(a.place, b.place) && a.other.shown == b.other.shown &&
           (a.raw.distance < 0) == (b.raw.distance < 0);
  case Check::init: return is_same_kernel && isSamePlace(a.place, b.place); // however it is used
  case Check::hazard:
  case Check::wait: // assembly has several instructions in one place
    return is_same_kernel && a.raw.address == b.raw.address && is_same_pair(b.place, b.other) &&
           a.place.raw.address == b.place.raw.address && a.other.raw.address == b.other.raw.address;
  default: return is_same_kernel && is_same_pair(b.place, b.other);
  }
}

/// Lanes that load, change and store the same place: whether what they store was made of what they
/// loaded.
bool isLost(const FoundFinding &f, CodeObjects &objects) {
  constexpr uint64_t furthest = 2048;
  const uint64_t begin = f.other.raw.address, end = f.place.raw.address;
  if (f.place.raw.code == 0 || f.place.raw.code != f.other.raw.code || begin >= end ||
      end - begin > furthest)
    return false;
  const Code &code = objects.get(f.place.raw.code - 1);
  if (!code.object || !code.disassembler) return false;
  const auto bytes = code.object->code(begin, end - begin);
  if (!bytes) return false;
  std::vector<std::string> instructions;
  for (const auto &line : code.disassembler->disassemble(*bytes, begin, furthest / 4))
    instructions.push_back(line.text);
  instructions.push_back(f.place.instruction);
  return accumulates(instructions);
}

/// Whether a wave comes from one side of a race to the other on a straight way, or round a loop.
/// It is round the loop only if there is a barrier on the straight way.
FoundFinding::Path pathOf(const FoundFinding &f, CodeObjects &objects) {
  using Path = FoundFinding::Path;
  constexpr uint64_t furthest = 1 << 16;
  const Place &a = f.place.raw, &b = f.other.raw;
  const auto has_callers = [](const Place &p) { return p.callers[0] != 0; };
  if (a.code == 0 || a.code != b.code || a.address == b.address || has_callers(a) || has_callers(b))
    return Path::unknown;
  const auto [low, high] = std::minmax(a.address, b.address);
  const Code &code = objects.get(a.code - 1);
  if (!code.object || !code.disassembler || high - low > furthest) return Path::unknown;
  const auto instructions = [&](uint64_t from, uint64_t size) {
    for (; size >= 4; size /= 2)
      if (const auto bytes = code.object->code(from, size & ~uint64_t{3}); bytes)
        return code.disassembler->disassemble(*bytes, from);
    return std::vector<codeobj::Instruction>{};
  };
  const auto between = instructions(low, high - low);
  const bool has_barrier = std::ranges::any_of(
      between, [](const auto &one) { return one.mnemonic().starts_with("s_barrier"); });
  const FoundPlace &lower = a.address < b.address ? f.place : f.other;
  const FoundPlace &upper = a.address < b.address ? f.other : f.place;
  // Where the lower one has the later line: it is there again, if that comes from a loop that was
  // unrolled; else only the compiler has put it there.
  const bool is_against =
      code.map && lower.shown.file == upper.shown.file && lower.shown.line > upper.shown.line;
  bool has_loop = false, is_unrolled = false;
  for (const codeobj::Instruction &one : instructions(high, 4096)) {
    if (one.mnemonic() == "s_endpgm") break;
    has_loop |= one.target && *one.target <= low;
    if (is_against && codeobj::classify(one.text).memory != codeobj::MemoryOperation::None)
      for (const codeobj::SourceFrame &frame : code.map->stack(one.address))
        is_unrolled |= frame.line == lower.shown.line && frame.file == lower.shown.file;
  }
  if (has_loop && has_barrier) return Path::loop;
  const bool is_turned = is_against && !has_loop && !is_unrolled;
  return (a.address < b.address) != is_turned ? Path::forward : Path::backward;
}

/// Between the side that came first and an atomic behind it: a fence of the workgroup's alone, or
/// the atomic itself. Compiled code does not tell the first from none; the source does.
FoundFrame narrowFence(const FoundFinding &f) {
  const FoundFrame &atomic = f.between.shown;
  if (static_cast<Between>(f.raw.lacks) != Between::no_release || atomic.line == 0) return {};
  const auto frame = [&](uint32_t line, const char *what) {
    FoundFrame found = atomic;
    found.line = line, found.function = what;
    return found;
  };
  const std::string own = lineOf(atomic.file, atomic.line);
  for (const char *word : {"_WORKGROUP", "_block(", "thread_scope_block", "\"workgroup\""})
    if (own.find(word) != own.npos) return frame(atomic.line, "atomic");
  for (const FoundPlace *side : {&f.place, &f.other})
    if (side->shown.file == atomic.file && side->shown.line < atomic.line)
      for (uint32_t line = atomic.line - 1; line > side->shown.line; --line) {
        const std::string text = lineOf(atomic.file, line);
        const bool is_fence =
            text.find("__threadfence_block") != text.npos ||
            (text.find("fence") != text.npos &&
             (text.find("workgroup") != text.npos || text.find("thread_scope_block") != text.npos));
        if (is_fence && !text.starts_with("//")) return frame(line, "fence");
      }
  return {};
}

/// A barrier as an instruction: without a fence, or "memory", compilers move accesses across it.
uint32_t bareBarrier(const std::string &file) {
  if (!isSourceFile(file)) return 0;
  std::ifstream in(file);
  std::string text, before;
  for (uint32_t line = 1; std::getline(in, text) && line < 100'000; ++line) {
    const auto at = text.find("s_barrier");
    const bool is_said = text.find("\"memory\"") != text.npos || before.find("fence") != text.npos;
    if (at != text.npos && !is_said && text.find("//") > at) return line;
    if (text.find_first_not_of(" \t") != text.npos) before = text;
  }
  return 0;
}

/// Which side of a race came first is chance: the one that writes is first, else that which comes
/// first in the source.
void turnRace(FoundFinding &f, const FindingFile &file) {
  const auto order = [](const FoundPlace &p) {
    const bool reads = static_cast<AccessKind>(p.raw.kind) == AccessKind::load;
    return std::tuple(reads, p.shown.file, p.shown.line, p.shown.column, p.raw.address);
  };
  if (order(f.place) <= order(f.other)) return;
  f.is_turned = true;
  std::swap(f.place, f.other);
  std::swap(f.raw.place, f.raw.other);
  if (f.other_kernel.empty()) return;
  std::swap(f.kernel, f.other_kernel);
  std::swap(f.raw.kernel, f.raw.other_kernel);
  f.symbol = file.string(f.raw.kernel);
}

void addRank(FoundFinding &f, const FindingFile &file) {
  if (const int64_t rank = file.header().rank; rank >= 0)
    f.ranks.insert(static_cast<uint64_t>(rank));
}

/// The variable of a code object at an address; null if there is none.
const codeobj::Symbol *variableAt(const codeobj::CodeObject &object, uint64_t address) {
  for (const codeobj::Symbol &symbol : object.symbols())
    if (symbol.type == STT_OBJECT && address - symbol.value < symbol.size) return &symbol;
  return nullptr;
}

FoundFinding findingOf(const Finding &raw, const FindingFile &file, CodeObjects &objects,
                       codeobj::HostLines &lines) {
  FoundFinding f;
  f.raw = raw;
  f.process = file.header().pid;
  addRank(f, file);
  f.symbol = file.string(f.raw.kernel);
  f.kernel = codeobj::demangle(f.symbol);
  f.gpu = file.string(f.raw.gpu);
  f.rule = file.string(f.raw.rule);
  f.cure = file.string(f.raw.cure);
  if (const std::string other = file.string(f.raw.other_kernel); !other.empty())
    f.other_kernel = codeobj::demangle(other);
  f.place.raw = f.raw.place;
  f.other.raw = f.raw.other;
  resolve(f.place, objects);
  if (f.raw.other.pc) resolve(f.other, objects);
  f.between.raw = f.raw.between;
  if (f.raw.between.pc) resolve(f.between, objects);
  f.allocation = describe(f.raw.allocation, file, lines);
  if (f.raw.called_by[0].module != 0) {
    f.api = file.string(f.raw.api);
    f.place.shown = callerOf(f.raw.called_by, file, lines);
    if (f.place.shown.line != 0) f.place.source = lineOf(f.place.shown.file, f.place.shown.line);
  }
  if (static_cast<Check>(f.raw.check) == Check::wave) {
    turnRace(f, file);
    f.path = pathOf(f, objects);
  }
  if (f.raw.other_by[0].module != 0) {
    f.other_api = file.string(f.raw.other_api);
    f.other.shown = callerOf(f.raw.other_by, file, lines);
    if (f.other.shown.line != 0) f.other.source = lineOf(f.other.shown.file, f.other.shown.line);
    const uint32_t number = f.raw.place.code;
    if (f.allocation.raw.number == 0 && number != 0 && objects.get(number - 1).object) {
      const uint64_t address = f.raw.address - file.code(number - 1).delta;
      if (const codeobj::Symbol *hit = variableAt(*objects.get(number - 1).object, address)) {
        f.rule = codeobj::demangle(std::string(hit->name));
        f.raw.distance = static_cast<int64_t>(address - hit->value);
      }
    }
  } else if (static_cast<Check>(f.raw.check) == Check::race) {
    turnRace(f, file);
    if (static_cast<Problem>(f.raw.problem) == Problem::race) f.path = pathOf(f, objects);
    f.narrow = narrowFence(f);
    if (static_cast<AccessSpace>(f.raw.space) == AccessSpace::lds)
      f.bare_barrier = bareBarrier(f.place.shown.file);
  }
  return f;
}

void addFinding(FoundRun &run, FoundFinding f) {
  const auto known =
      std::ranges::find_if(run.findings, [&](const FoundFinding &k) { return isSame(k, f); });
  if (known == run.findings.end()) return run.findings.push_back(std::move(f));
  known->raw.count += f.raw.count;
  known->ranks.merge(f.ranks);
}

/// Lanes of one wave that are in order because of that: whether the source has seen to it. Where a
/// workgroup is one wave, compilers leave barriers out.
bool isMeantForWaves(const FoundFinding &f) {
  constexpr uint32_t reach = 64;
  const bool is_one_wave = f.raw.waves == 1;
  const auto [first, last] = std::minmax(f.place.shown.line, f.other.shown.line);
  if (first == 0 || last > 100'000 || f.place.shown.file != f.other.shown.file) return is_one_wave;
  const auto lines = linesOf(f.place.shown.file, last + reach);
  if (lines.size() < last) return is_one_wave;
  std::vector<std::string_view> words = {"warpSize", "WAVEFRONT_SIZE", "wavefrontsize"};
  if (is_one_wave) words.insert(words.end(), {"__syncthreads", ".sync(", "barrier"});
  const auto says = [&](uint32_t line) {
    const std::string text = lines[line - 1].substr(0, lines[line - 1].find("//"));
    return std::ranges::any_of(words, [&](auto word) { return text.find(word) != text.npos; });
  };
  for (uint32_t line = last; line > 0 && last - line < reach + (last - first); --line) {
    if (line < first && lines[line - 1].starts_with('}')) break;
    if (says(line)) return true;
  }
  for (uint32_t line = last + 1; line <= lines.size(); ++line) {
    if (lines[line - 1].starts_with('}')) break;
    if (says(line)) return true;
  }
  return false;
}

FoundFinding findingOf(const Span &span, const ArrayUse &use, const OutOfArray &out,
                       const FindingFile &file, CodeObjects &objects, codeobj::HostLines &lines) {
  Finding raw{};
  raw.check = static_cast<uint32_t>(Check::memory);
  raw.problem = static_cast<uint32_t>(Problem::array_bounds);
  raw.space = span.space;
  raw.count = 1;
  raw.kernel = span.kernel, raw.gpu = span.gpu;
  raw.dispatch = span.dispatches[out.is_high];
  raw.address = out.is_high ? span.highest : span.lowest;
  raw.place = out.is_high ? span.high : span.low;
  raw.limit = use.array.size;
  raw.distance = out.distance;
  raw.waves = out.has_distance;
  FoundFinding f = findingOf(raw, file, objects, lines);
  f.rule = use.array.name;
  const Code &code = objects.get(span.low.code - 1);
  if (!use.array.in_lds && code.object)
    if (const codeobj::Symbol *hit =
            variableAt(*code.object, raw.address - file.code(span.low.code - 1).delta))
      f.cure = codeobj::demangle(std::string(hit->name));
  return f;
}

/// The array that an instruction means, if that is certain.
std::optional<codeobj::SourceArray> arrayAt(const Span &span, const Code &code) {
  const Place &at = span.low;
  constexpr uint64_t longest = 20; // bytes of an instruction
  std::vector<codeobj::Instruction> instructions;
  for (uint64_t size = 2 * longest; size >= 4 && instructions.empty(); size -= 4)
    if (const auto bytes = code.object->code(at.address, size); bytes)
      instructions = code.disassembler->disassemble(*bytes, at.address, 2);
  if (instructions.empty()) return std::nullopt;
  if (hasTwoAddresses(instructions[0].text) && span.highest - span.lowest <= span.size)
    return std::nullopt;
  // Loads that are issued together have one place, which may be that of the second.
  const auto is_global = [](const codeobj::Instruction &one) {
    return !one.text.starts_with("ds_") &&
           codeobj::classify(one.text).memory != codeobj::MemoryOperation::None;
  };
  if (instructions.size() > 1 && is_global(instructions[0]) && is_global(instructions[1]) &&
      !code.map->hasOwnPlace(instructions[1].address))
    return std::nullopt;
  FoundPlace place;
  place.raw = at;
  place.instruction = instructions[0].text;
  for (const codeobj::SourceFrame &frame : code.map->stack(at.address))
    place.stack.push_back({frame.function, frame.file, frame.line, frame.column});
  return arrayOf(*code.map, place, wholeLineOf);
}

/// Accesses beyond one of several arrays that lie side by side.
void readSpans(const FindingFile &file, CodeObjects &objects, codeobj::HostLines &lines,
               std::vector<FoundFinding> &found) {
  std::map<std::tuple<String, uint32_t, uint32_t>, std::vector<ArrayUse>> uses;
  for (uint32_t i = 0; i < file.spans(); ++i) {
    const Span span = file.span(i);
    if (span.low.code == 0 || span.low.code != span.high.code || span.highest < span.lowest)
      continue;
    const Code &code = objects.get(span.low.code - 1);
    if (!code.object || !code.map || !code.disassembler) continue;
    if (!code.map->hasOwnPlace(span.low.address)) continue;
    auto array = arrayAt(span, code);
    const bool in_lds = static_cast<AccessSpace>(span.space) == AccessSpace::lds;
    if (!array || array->in_lds != in_lds || array->element != span.size) continue;
    const uint64_t delta = in_lds ? 0 : file.code(span.low.code - 1).delta;
    uses[{span.kernel, span.low.code, span.space}].push_back(
        {i, std::move(*array), span.lowest - delta, span.highest - delta + span.size});
  }
  for (const auto &[where, all] : uses) {
    const Code &code = objects.get(std::get<1>(where) - 1);
    uint64_t lds = 0;
    if (const auto index = code.object->findKernel(file.string(std::get<0>(where))))
      if (const auto kernel = code.object->kernel(*index))
        lds = kernel->descriptor.group_segment_fixed_size;
    for (const OutOfArray &out : outOfArrays(all, lds))
      found.push_back(
          findingOf(file.span(all[out.use].span), all[out.use], out, file, objects, lines));
  }
}

void readFile(const FindingFile &file, const std::string &stem, codeobj::HostLines &lines,
              FoundRun &run) {
  CodeObjects objects(stem);
  std::vector<Finding> all;
  for (uint32_t i = 0; i < file.count(); ++i)
    if (const Finding raw = file.finding(i); raw.check < static_cast<uint32_t>(Check::count) &&
                                             raw.problem < static_cast<uint32_t>(Problem::count))
      all.push_back(raw);
  // They come as workers find them. Of those that are one, the lowest is shown.
  std::ranges::sort(all, [](const Finding &a, const Finding &b) {
    return std::tuple(a.dispatch, a.address, a.place.address, a.other.address) <
           std::tuple(b.dispatch, b.address, b.place.address, b.other.address);
  });
  std::vector<FoundFinding> found;
  for (const Finding &raw : all) {
    FoundFinding f = findingOf(raw, file, objects, lines);
    if (static_cast<Problem>(raw.problem) == Problem::lost_update && !isLost(f, objects)) continue;
    if (static_cast<Problem>(raw.problem) == Problem::half_wave && isMeantForWaves(f)) continue;
    found.push_back(std::move(f));
  }
  readSpans(file, objects, lines, found);
  for (FoundFinding &f : found) {
    addFinding(run, std::move(f));
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
    addRank(f, file);
    f.raw.check = static_cast<uint32_t>(Check::leak);
    f.raw.problem = static_cast<uint32_t>(Problem::leak);
    f.raw.count += 1;
    f.raw.limit += raw.size;
  }
  for (auto &[caller, f] : by_caller) run.findings.push_back(std::move(f));
}

/// As compilers do: by file and line, whatever ran first.
void sortFindings(std::vector<FoundFinding> &findings) {
  const auto order = [](const FoundFinding &f) {
    const auto at = [](const FoundPlace &p) {
      return std::tuple(p.shown.file, p.shown.line, p.shown.column, p.raw.kind, p.raw.address);
    };
    return std::tuple(f.raw.check, at(f.place), f.kernel, at(f.other), f.other_kernel,
                      f.raw.problem, f.raw.address);
  };
  std::ranges::sort(
      findings, [&](const FoundFinding &a, const FoundFinding &b) { return order(a) < order(b); });
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
    run.inexact |= file->header().inexact;
    if (file->header().observer_version) run.observer_version = file->header().observer_version;
    const std::size_t first = run.findings.size();
    readFile(*file, fs::path(path).replace_extension().string(), lines, run);
    if (with_leaks) readLeaks(*file, lines, run);
    for (std::size_t i = first; i < run.findings.size(); ++i)
      run.findings[i].inexact = file->header().inexact;
  }
  sortFindings(run.findings);
  return run;
}

void mergeFindings(FoundRun &all, FoundRun other) {
  all.dispatches += other.dispatches;
  all.left_out += other.left_out;
  all.lost += other.lost;
  all.inexact |= other.inexact;
  if (other.observer_version) all.observer_version = other.observer_version;
  all.processes += other.processes;
  all.unreadable += other.unreadable;
  for (FoundFinding &f : other.findings) addFinding(all, std::move(f));
  sortFindings(all.findings);
}

} // namespace fade::cli
