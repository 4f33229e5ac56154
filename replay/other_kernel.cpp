#include "replay/other_kernel.h"

#include "codeobj/finder.h"

#include <algorithm>
#include <elf.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace fade::replay {
namespace {

constexpr std::size_t kMostArguments = 8192;

/// What the packet asks for besides the fixed part of the captured kernel stays the same.
uint32_t exchangeFixed(uint32_t in_packet, uint32_t original, uint32_t replacement) {
  if (in_packet < original) return std::max(in_packet, replacement);
  return in_packet - original + replacement;
}

/// In a code object, a bundle of several (hipcc --genco) or a whole program: the one with the
/// kernel, for the GPU of the capture.
Result<std::shared_ptr<const codeobj::CodeObject>> findObject(const std::string &path,
                                                              const capture::Description &d) {
  const auto own = codeobj::parseTarget(d.isa);
  std::shared_ptr<const codeobj::CodeObject> found;
  std::string others; // GPUs of code objects that have the kernel
  std::optional<Error> problem;
  bool has_code = false;
  codeobj::CodeHandler handler;
  handler.on_error = [&](const Error &error) {
    if (!problem) problem = error;
  };
  handler.on_code = [&](const codeobj::FoundCode &code) {
    has_code = true;
    auto object = code.open();
    if (!object) {
      handler.on_error(object.error());
      return true;
    }
    if (!(*object)->findKernel(d.symbol)) return true;
    const codeobj::Target &target = (*object)->target();
    if (own ? codeobj::runsOn(target, *own) : target.processor == d.gpu) {
      found = *object;
      return false;
    }
    others += (others.empty() ? "" : ", ") + target.id();
    return true;
  };
  if (Status searched = codeobj::findCode(path, handler); !searched)
    return std::move(searched).error();
  if (found) return found;
  if (!others.empty())
    return Error{path, "", 0, fmt::format("it is for {}, the capture is of {}", others, d.gpu)};
  if (problem) return *problem;
  if (!has_code) return Error{path, "", 0, "it has no GPU code"};
  return Error{path, "", 0, fmt::format("it has no kernel {}", d.symbol)};
}

/// Constants of one function (tables, texts) are not: another version may have others by the same
/// name. Those that the application can write (__constant__) are read-only for newer compilers.
bool isVariable(const codeobj::CodeObject &object, const codeobj::Symbol &symbol) {
  if (symbol.type != STT_OBJECT || symbol.size == 0 || symbol.name.ends_with(".kd")) return false;
  if (symbol.binding != STB_LOCAL) return true;
  const auto &sections = object.elf().sections();
  const auto section = std::ranges::find(sections, symbol.section, &codeobj::Section::index);
  return section != sections.end() && (section->flags & SHF_WRITE) != 0;
}

/// The lists of the device's malloc(), in code objects before version 5: a large variable whose
/// name the device library does not tell.
bool isHeap(const codeobj::CodeObject &object, const codeobj::Symbol &symbol) {
  constexpr uint64_t least = uint64_t{64} << 10;
  return symbol.binding == STB_LOCAL && symbol.name.starts_with("__unnamed_") &&
         symbol.size >= least && isVariable(object, symbol);
}

const codeobj::Symbol *heapOf(const codeobj::CodeObject &object) {
  const auto &symbols = object.symbols();
  const auto found = std::ranges::find_if(
      symbols, [&](const codeobj::Symbol &symbol) { return isHeap(object, symbol); });
  return found == symbols.end() ? nullptr : &*found;
}

/// The allocations of which the heap's lists know slabs, by the slabs' alignment.
std::set<std::size_t> slabsOf(const std::vector<Extent> &lists, const Memory &memory) {
  constexpr uint64_t alignment = uint64_t{1} << 21;
  std::set<std::size_t> found;
  for (const Extent &list : lists)
    for (uint64_t at = list.address; at < list.address + list.size; at += sizeof at) {
      uint64_t slab = 0;
      if (memory.space().read(at, &slab, sizeof slab) && slab != 0 && slab % alignment == 0 &&
          memory.find(slab) != memory.regions() &&
          memory.region(memory.find(slab)).kind == capture::RegionKind::pool)
        found.insert(memory.find(slab));
    }
  return found;
}

} // namespace

codeobj::DispatchFields dispatchFields(const capture::Description &d, uint64_t queue,
                                       uint32_t private_base, uint32_t shared_base) {
  codeobj::DispatchFields fields;
  fields.dimensions = d.dimensions;
  for (std::size_t i = 0; i < 3; ++i) {
    fields.workgroup_size[i] = static_cast<uint16_t>(d.workgroup[i]);
    fields.grid_size[i] = d.grid[i];
  }
  fields.group_segment_size = d.group_segment;
  fields.queue = queue;
  fields.private_base = private_base;
  fields.shared_base = shared_base;
  return fields;
}

CapturedKernel CapturedKernel::of(const capture::Description &description,
                                  std::span<const capture::Code> code, const std::string &name) {
  CapturedKernel captured;
  for (const capture::Code &each : code) {
    auto object = codeobj::CodeObject::open(codeobj::Blob::borrow(each.bytes, name));
    if (!object) continue;
    const auto index = (*object)->findKernel(description.symbol);
    if (!index) continue;
    auto kernel = (*object)->kernel(*index);
    if (!kernel) continue;
    captured.object = *object;
    captured.kernel = std::move(*kernel);
    auto layout = codeobj::KernargLayout::from(captured.kernel->metadata);
    if (captured.kernel->has_metadata && layout) captured.layout = std::move(*layout);
    break;
  }
  return captured;
}

std::vector<Extent> CapturedKernel::heap(const capture::Description &d, const Memory &memory,
                                         bool with_slabs) const {
  std::vector<Extent> found;
  if (const codeobj::Symbol *symbol = object ? heapOf(*object) : nullptr)
    found.push_back({base(d) + symbol->value, symbol->size});
  const auto *argument = layout ? layout->findHidden(codeobj::ArgKind::HiddenHeapV1) : nullptr;
  uint64_t address = 0;
  if (argument && memory.space().read(d.kernarg_address + argument->offset, &address, 8) &&
      memory.find(address) != memory.regions()) {
    constexpr uint64_t size = uint64_t{128} << 10; // that HIP gives it
    const capture::Region &region = memory.region(memory.find(address));
    found.push_back({address, std::min(size, region.end() - address)});
  }
  if (with_slabs)
    for (const std::size_t region : slabsOf(found, memory))
      found.push_back({memory.region(region).address, memory.region(region).size});
  return found;
}

std::string OtherKernel::note() const {
  if (changed_variables.empty()) return "";
  return fmt::format(
      "{}: variables of another size than in the captured code keep the values of the "
      "file instead of the application's: {}",
      path, fmt::join(changed_variables, ", "));
}

std::string OtherKernel::noteOnDifferences() const {
  if (new_variables.empty()) return "";
  return fmt::format(
      "{}: variables that the captured code does not have keep the values of the file: {}", path,
      fmt::join(new_variables, ", "));
}

Result<OtherKernel> OtherKernel::open(const std::string &path, const capture::Description &d,
                                      const CapturedKernel &captured) {
  auto object = findObject(path, d);
  if (!object) return std::move(object).error();
  auto kernel = (*object)->kernel(*(*object)->findKernel(d.symbol));
  if (!kernel) return std::move(kernel).error();
  OtherKernel other;
  other.object = *object;
  other.path = path;
  other.kernel = std::move(*kernel);
  other.group_segment = d.group_segment;
  other.private_segment = d.private_segment;
  if (captured.kernel) {
    const codeobj::KernelDescriptor &before = captured.kernel->descriptor,
                                    &after = other.kernel.descriptor;
    other.group_segment = exchangeFixed(d.group_segment, before.group_segment_fixed_size,
                                        after.group_segment_fixed_size);
    other.private_segment = exchangeFixed(d.private_segment, before.private_segment_fixed_size,
                                          after.private_segment_fixed_size);
  }
  if (captured.layout) {
    auto layout = codeobj::KernargLayout::from(other.kernel.metadata);
    if (!layout) return std::move(layout).error();
    auto plan = codeobj::VariantKernargs::plan(*captured.layout, *layout);
    if (!plan) return Error{path, "", 0, plan.error().what};
    if (plan->size() > kMostArguments) return Error{path, "", 0, "it has too many arguments"};
    if (!plan->isSame()) other.arguments = std::move(*plan);
    if (const auto *buffer = layout->findHidden(codeobj::ArgKind::HiddenHostcallBuffer);
        buffer && !captured.layout->findHidden(codeobj::ArgKind::HiddenHostcallBuffer))
      other.hostcall_at = static_cast<uint32_t>(buffer->offset);
  }
  if (!captured.object) return other;
  for (const codeobj::Symbol &symbol : other.object->symbols()) {
    if (!isVariable(*other.object, symbol)) continue;
    const codeobj::Symbol *same = isHeap(*other.object, symbol)
                                      ? heapOf(*captured.object) // whatever number it has
                                      : captured.object->findSymbol(symbol.name);
    if (!same || !isVariable(*captured.object, *same)) {
      // Others are the compiler's own, such as the name of the file.
      if (symbol.binding != STB_LOCAL && !symbol.name.starts_with("__hip_cuid_"))
        other.new_variables.emplace_back(symbol.name);
      continue;
    }
    if (same->size != symbol.size)
      other.changed_variables.emplace_back(symbol.name);
    else
      other.variables.push_back({std::string(symbol.name), same->value, symbol.value, symbol.size});
  }
  return other;
}

} // namespace fade::replay
