#include "check/race_order.h"

#include "base/source_file.h"
#include "check/data_flow.h"
#include "check/finding_places.h"
#include "codeobj/instruction.h"

#include <algorithm>
#include <fstream>

namespace fade::cli {

using namespace fade::checks;

bool isLostUpdate(const FoundFinding &f, CodeObjects &objects) {
  constexpr uint64_t furthest = 2048;
  if (f.raw.waves != 0) return true; // the value was followed
  const uint64_t begin = f.other.raw.address, end = f.place.raw.address;
  if (f.place.raw.code == 0 || f.place.raw.code != f.other.raw.code || begin >= end ||
      end - begin > furthest)
    return false;
  const LoadedCode &code = objects.get(f.place.raw.code - 1);
  if (!code.object || !code.disassembler) return false;
  const auto bytes = code.object->code(begin, end - begin);
  if (!bytes) return false;
  std::vector<std::string> instructions;
  for (const auto &line : code.disassembler->disassemble(*bytes, begin, furthest / 4))
    instructions.push_back(line.text);
  instructions.push_back(f.place.instruction);
  return accumulates(instructions);
}

FoundFinding::Path pathBetween(const FoundFinding &f, CodeObjects &objects) {
  using Path = FoundFinding::Path;
  constexpr uint64_t furthest = 1 << 16;
  const Place &a = f.place.raw, &b = f.other.raw;
  const auto has_callers = [](const Place &p) { return p.callers[0] != 0; };
  if (a.code == 0 || a.code != b.code || a.address == b.address || has_callers(a) || has_callers(b))
    return Path::unknown;
  const auto [low, high] = std::minmax(a.address, b.address);
  const LoadedCode &code = objects.get(a.code - 1);
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

FoundFrame narrowFence(const FoundFinding &f) {
  const FoundFrame &atomic = f.between.shown;
  if (static_cast<Between>(f.raw.lacks) != Between::no_release || atomic.line == 0) return {};
  const auto frame = [&](uint32_t line, const char *what) {
    FoundFrame found = atomic;
    found.line = line, found.function = what;
    return found;
  };
  const std::string own = sourceLine(atomic.file, atomic.line);
  for (const char *word : {"_WORKGROUP", "_block(", "thread_scope_block", "\"workgroup\""})
    if (own.find(word) != own.npos) return frame(atomic.line, "atomic");
  for (const FoundPlace *side : {&f.place, &f.other})
    if (side->shown.file == atomic.file && side->shown.line < atomic.line)
      for (uint32_t line = atomic.line - 1; line > side->shown.line; --line) {
        const std::string text = sourceLine(atomic.file, line);
        const bool is_fence =
            text.find("__threadfence_block") != text.npos ||
            (text.find("fence") != text.npos &&
             (text.find("workgroup") != text.npos || text.find("thread_scope_block") != text.npos));
        if (is_fence && !text.starts_with("//")) return frame(line, "fence");
      }
  return {};
}

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

bool isMeantForWaves(const FoundFinding &f) {
  constexpr uint32_t reach = 64;
  const bool is_one_wave = f.raw.waves == 1;
  const auto [first, last] = std::minmax(f.place.shown.line, f.other.shown.line);
  if (first == 0 || last > 100'000 || f.place.shown.file != f.other.shown.file) return is_one_wave;
  const auto lines = sourceLines(f.place.shown.file, last + reach);
  if (lines.size() < last) return is_one_wave;
  std::vector<std::string_view> words = {"warpSize", "WAVEFRONT_SIZE", "wavefrontsize"};
  if (is_one_wave) words.insert(words.end(), {"__syncthreads", ".sync(", "barrier"});
  const auto says = [&](uint32_t line) {
    std::string text = lines[line - 1].substr(0, lines[line - 1].find("//"));
    // Of the wave alone, and only for the compiler.
    constexpr std::string_view of_wave = "wave_barrier";
    if (const auto at = text.find(of_wave); at != text.npos) text.erase(at, of_wave.size());
    return std::ranges::any_of(words, [&](auto word) { return text.find(word) != text.npos; });
  };
  for (uint32_t line = last; line > 0 && last - line < reach + (last - first); --line) {
    if (line < first && lines[line - 1].starts_with('}')) break;
    if (says(line)) return true;
    if (line <= first && lines[line - 1].starts_with("__global__")) break;
  }
  for (uint32_t line = last + 1; line <= lines.size(); ++line) {
    if (lines[line - 1].starts_with('}') || lines[line - 1].starts_with("__global__")) break;
    if (says(line)) return true;
  }
  return false;
}

} // namespace fade::cli
