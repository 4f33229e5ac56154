#include "check/finding_places.h"

#include "base/source_file.h"
#include "check/clause_lines.h"
#include "check/merged_lines.h"
#include "codeobj/demangle.h"
#include "codeobj/instruction.h"
#include "fade/observer.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>

namespace fade::cli {

using namespace fade::checks;

std::vector<std::string> sourceLines(const std::string &file, uint32_t most) {
  std::vector<std::string> lines;
  if (!isSourceFile(file)) return lines;
  std::ifstream in(file);
  for (std::string text; lines.size() < most && std::getline(in, text);) lines.push_back(text);
  return lines;
}

/// With the blanks at its start.
std::string wholeSourceLine(const std::string &file, uint32_t line) {
  if (!isSourceFile(file)) return "";
  std::ifstream in(file);
  std::string text;
  for (uint32_t i = 0; i < line; ++i)
    if (!std::getline(in, text)) return "";
  return text;
}

std::string sourceLine(const std::string &file, uint32_t line) {
  const std::string text = wholeSourceLine(file, line);
  const auto begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return "";
  const auto end = text.find_last_not_of(" \t\r");
  return text.substr(begin, end - begin + 1);
}

namespace {

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
  const auto merged = mergedLines(access, sourceLines(shown.file, shown.line + beyond), layout);
  if (!merged) return;
  place.merged = merged->others;
  place.is_of_byte = merged->line != 0;
  if (!place.is_of_byte || merged->line == shown.line) return;
  place.shown.line = merged->line;
  place.shown.column = merged->column;
  place.stack.front() = place.shown;
  place.source = sourceLine(shown.file, merged->line);
}

/// In a clause all instructions have the line of the first: that of the instruction that computes
/// the address is nearer.
void leaveClause(FoundPlace &place, const LoadedCode &code) {
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
  const auto lines = sourceLines(innermost.file, std::min(stack.front().line, 100'000u));
  if (lines.size() != stack.front().line ||
      !hasAccess(lines.back(), stack.front().column, kind == AccessKind::store))
    return;
  place.is_near = true;
  place.stack.front().line = stack.front().line;
  place.stack.front().column = stack.front().column;
  place.shown = place.stack.front();
  place.source = sourceLine(innermost.file, innermost.line);
}

} // namespace

void resolvePlace(FoundPlace &place, CodeObjects &objects) {
  if (place.raw.code == 0) return;
  const LoadedCode &code = objects.get(place.raw.code - 1);
  place.module = code.module;
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
  if (place.shown.line != 0) place.source = sourceLine(place.shown.file, place.shown.line);
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

namespace {

/// A function that allocates or frees for others: in a header, or by its name.
bool isHelper(const codeobj::SourceFrame &frame) {
  const std::string extension = std::filesystem::path(frame.file).extension().string();
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

} // namespace

FoundFrame callerOf(const HostCall (&callers)[kMostCallers], const FindingFile &file,
                    codeobj::HostLines &lines, FoundFrame *through) {
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

FoundAllocation describeAllocation(const AllocationInfo &raw, const FindingFile &file,
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

} // namespace fade::cli
