#include "check/finding_builder.h"

#include "check/array_bounds.h"
#include "check/data_flow.h"
#include "check/finding_places.h"
#include "check/race_order.h"
#include "check/variable_bounds.h"
#include "codeobj/demangle.h"
#include "codeobj/instruction.h"
#include "fade/observer.h"

#include <map>
#include <optional>
#include <tuple>

namespace fade::cli {

using namespace fade::checks;

namespace {

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

/// The variable of a code object at an address; null if there is none.
const codeobj::Symbol *variableAt(const codeobj::CodeObject &object, uint64_t address) {
  for (const codeobj::Symbol &symbol : object.symbols())
    if (symbol.type == STT_OBJECT && address - symbol.value < symbol.size) return &symbol;
  return nullptr;
}

} // namespace

void addRank(FoundFinding &f, const FindingFile &file) {
  if (const int64_t rank = file.header().rank; rank >= 0)
    f.ranks.insert(static_cast<uint64_t>(rank));
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
  resolvePlace(f.place, objects);
  if (f.raw.other.pc) resolvePlace(f.other, objects);
  f.between.raw = f.raw.between;
  if (f.raw.between.pc) resolvePlace(f.between, objects);
  f.allocation = describeAllocation(f.raw.allocation, file, lines);
  if (f.raw.called_by[0].module != 0) {
    f.api = file.string(f.raw.api);
    f.place.shown = callerOf(f.raw.called_by, file, lines);
    if (f.place.shown.line != 0)
      f.place.source = sourceLine(f.place.shown.file, f.place.shown.line);
  }
  if (static_cast<Check>(f.raw.check) == Check::wave) {
    turnRace(f, file);
    f.path = pathBetween(f, objects);
  }
  if (f.raw.other_by[0].module != 0) {
    f.other_api = file.string(f.raw.other_api);
    f.other.shown = callerOf(f.raw.other_by, file, lines);
    if (f.other.shown.line != 0)
      f.other.source = sourceLine(f.other.shown.file, f.other.shown.line);
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
    if (static_cast<Problem>(f.raw.problem) == Problem::race) f.path = pathBetween(f, objects);
    f.narrow = narrowFence(f);
    if (static_cast<AccessSpace>(f.raw.space) == AccessSpace::lds)
      f.bare_barrier = bareBarrier(f.place.shown.file);
  }
  return f;
}

namespace {

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
  raw.waves = static_cast<uint32_t>(out.has_distance ? ArrayReach::element : ArrayReach::unknown);
  FoundFinding f = findingOf(raw, file, objects, lines);
  f.rule = use.array.name;
  const LoadedCode &code = objects.get(span.low.code - 1);
  if (!use.array.in_lds && code.object)
    if (const codeobj::Symbol *hit =
            variableAt(*code.object, raw.address - file.code(span.low.code - 1).delta);
        hit && !hit->name.starts_with("__hip_")) // the compiler's own
      f.cure = codeobj::demangle(std::string(hit->name));
  return f;
}

/// The array that an instruction means, if that is certain. `base`: what its address is counted
/// from, if it has no place of its own in the line table; in LDS, whether it is computed there.
std::optional<codeobj::SourceArray> arrayAt(const Span &span, const LoadedCode &code,
                                            std::optional<uint64_t> base, bool is_computed_there) {
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
  if (!base && instructions.size() > 1 && is_global(instructions[0]) &&
      is_global(instructions[1]) && !code.map->hasOwnPlace(instructions[1].address))
    return std::nullopt;
  FoundPlace place;
  place.raw = at;
  place.instruction = instructions[0].text;
  for (const codeobj::SourceFrame &frame : code.map->stack(at.address))
    place.stack.push_back({frame.function, frame.file, frame.line, frame.column});
  return arrayOf(*code.map, place, wholeSourceLine, base, is_computed_there);
}

/// Of what an instruction touched, a variable and the first byte behind its end.
struct OutOfVariable {
  const codeobj::Symbol *variable = nullptr;
  bool is_high = true, is_across = true;
};

std::vector<codeobj::Instruction> instructionsFrom(const LoadedCode &code, uint64_t from,
                                                   uint64_t size, std::size_t most) {
  for (; size >= 4; size = size / 2 & ~uint64_t{3})
    if (const auto bytes = code.object->code(from, size); bytes)
      return code.disassembler->disassemble(*bytes, from, most);
  return {};
}

/// The address that a scalar load's constant offset, or a vector access's index, is counted from.
std::optional<uint64_t> baseOf(const Place &at, const LoadedCode &code, bool is_scalar) {
  constexpr uint64_t furthest = 1 << 14;
  for (const codeobj::Symbol &symbol : code.object->symbols()) {
    if (symbol.type != STT_FUNC || at.address - symbol.value >= symbol.size ||
        at.address - symbol.value > furthest)
      continue;
    std::vector<std::string> texts;
    std::vector<uint64_t> addresses;
    for (const codeobj::Instruction &one :
         instructionsFrom(code, symbol.value, std::min(symbol.size, furthest), furthest)) {
      if (one.address > at.address) break;
      texts.push_back(one.text), addresses.push_back(one.address);
    }
    if (addresses.empty() || addresses.back() != at.address) return std::nullopt;
    return is_scalar ? scalarBase(texts, addresses) : vectorBase(texts, addresses);
  }
  return std::nullopt;
}

/// Whether the address of a load in LDS is computed by instructions of its own entry in the line
/// table: an instruction that compilers have moved there has another one.
bool isComputedThere(const Place &at, const LoadedCode &code) {
  constexpr uint64_t longest = 160; // bytes
  const auto [begin, end] = code.map->entryRange(at.address);
  if (end <= at.address || end - begin > longest) return false;
  std::vector<std::string> texts;
  std::size_t load = ~std::size_t{0};
  for (const codeobj::Instruction &one : instructionsFrom(code, begin, end - begin, longest)) {
    if (one.address >= end) break;
    if (one.address == at.address) load = texts.size();
    texts.push_back(one.text);
  }
  return computesAddress(texts, load);
}

std::optional<OutOfVariable> outOfVariable(const Span &span, const LoadedCode &code,
                                           uint64_t delta) {
  const auto isProgram = [](const codeobj::Symbol *s) { return s && !s->name.ends_with(".kd"); };
  for (const bool is_high : {true, false}) {
    const uint64_t address = (is_high ? span.highest : span.lowest) - delta;
    const codeobj::Symbol *symbol = variableAt(*code.object, address);
    if (!isProgram(symbol) || address + span.size <= symbol->value + symbol->size) continue;
    std::vector<std::string> following;
    for (const codeobj::Instruction &one : instructionsFrom(code, span.low.address, 2048, 256))
      following.push_back(one.text);
    if (isAcrossEnd({address, span.size}, {symbol->value, symbol->size}, following))
      return OutOfVariable{symbol, is_high, true};
  }
  if (span.lowest != span.highest) return std::nullopt;
  const auto base = baseOf(span.low, code, true);
  const codeobj::Symbol *meant = base ? variableAt(*code.object, *base) : nullptr;
  const uint64_t address = span.lowest - delta;
  if (!isProgram(meant) || address < meant->value + meant->size) return std::nullopt;
  return OutOfVariable{meant, true, false};
}

FoundFinding findingOf(const Span &span, const OutOfVariable &out, const FindingFile &file,
                       CodeObjects &objects, codeobj::HostLines &lines) {
  const uint64_t delta = file.code(span.low.code - 1).delta;
  codeobj::SourceArray array;
  array.name = codeobj::demangle(std::string(out.variable->name));
  array.size = out.variable->size, array.element = span.size, array.address = out.variable->value;
  const uint64_t end = array.address + array.size, begin = span.lowest - delta;
  OutOfArray beyond{0, out.is_high, true, out.is_across ? 0 : static_cast<int64_t>(begin - end)};
  Span known = span;
  if (out.is_across) (out.is_high ? known.highest : known.lowest) = end + delta;
  FoundFinding f = findingOf(known, {0, array, 0, 0}, beyond, file, objects, lines);
  f.raw.waves = static_cast<uint32_t>(out.is_across ? ArrayReach::across : ArrayReach::merged);
  return f;
}

} // namespace

void readSpans(const FindingFile &file, CodeObjects &objects, codeobj::HostLines &lines,
               std::vector<FoundFinding> &found) {
  std::map<std::tuple<String, uint32_t, uint32_t>, std::vector<ArrayUse>> uses;
  for (uint32_t i = 0; i < file.spans(); ++i) {
    const Span span = file.span(i);
    if (span.low.code == 0 || span.low.code != span.high.code || span.highest < span.lowest)
      continue;
    const LoadedCode &code = objects.get(span.low.code - 1);
    if (!code.object || !code.disassembler) continue;
    const bool in_lds = static_cast<AccessSpace>(span.space) == AccessSpace::lds;
    const uint64_t delta = in_lds ? 0 : file.code(span.low.code - 1).delta;
    const bool is_own = code.map && code.map->hasOwnPlace(span.low.address);
    const auto base = in_lds || is_own || !code.map ? std::nullopt : baseOf(span.low, code, false);
    const bool is_computed_there = in_lds && !is_own && code.map && isComputedThere(span.low, code);
    auto array = is_own || base || is_computed_there ? arrayAt(span, code, base, is_computed_there)
                                                     : std::nullopt;
    if (!array || array->in_lds != in_lds || array->element != span.size) {
      if (const auto out = in_lds ? std::nullopt : outOfVariable(span, code, delta))
        found.push_back(findingOf(span, *out, file, objects, lines));
      continue;
    }
    uses[{span.kernel, span.low.code, span.space}].push_back(
        {i, std::move(*array), span.lowest - delta, span.highest - delta + span.size});
  }
  for (const auto &[where, all] : uses) {
    const LoadedCode &code = objects.get(std::get<1>(where) - 1);
    uint64_t lds = 0;
    if (const auto index = code.object->findKernel(file.string(std::get<0>(where))))
      if (const auto kernel = code.object->kernel(*index))
        lds = kernel->descriptor.group_segment_fixed_size;
    for (const OutOfArray &out : outOfArrays(all, lds))
      found.push_back(
          findingOf(file.span(all[out.use].span), all[out.use], out, file, objects, lines));
  }
}

} // namespace fade::cli
