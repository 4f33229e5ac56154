// The listings: instructions by block, and source lines with their instructions.
#include "base/source_file.h"
#include "base/text_layout.h"
#include "codeobj/demangle.h"
#include "inspect/report.h"

#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <set>

namespace fade::cli {
namespace {

using namespace codeobj;

constexpr std::size_t kLargestSource = 16 << 20;
constexpr uint32_t kContextLines = 3; ///< gaps of source up to this long are shown

std::string fileName(const std::string &path) {
  return printable(std::filesystem::path(path).filename().string());
}

/// "vmem load global 16 B", "valu 2 flop"
std::string classText(const InstructionInfo &info) {
  std::string text(to_string(info.unit));
  if (info.memory != MemoryOperation::None) {
    text = fmt::format("{} {}", to_string(info.space), to_string(info.memory));
    if (info.width != 0) text += fmt::format(" {} B", info.width);
    if (info.also_lds) text += " to lds";
  }
  if (info.lane_flops != 0) text += fmt::format(" {} flop", info.lane_flops);
  if (info.wave_flops != 0) text += fmt::format(" {} flop", info.wave_flops);
  return text;
}

std::string successorsText(const BasicBlock &block) {
  std::string text;
  for (std::size_t successor : block.successors)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", successor);
  if (block.leaves) text += text.empty() ? "elsewhere" : ", elsewhere";
  return text.empty() ? "end" : text;
}

std::string blockSummary(const BasicBlock &block, unsigned lanes) {
  const InstructionMix &mix = block.mix;
  std::vector<std::string> parts;
  if (auto flops = mix.flopsPerWave(lanes)) parts.push_back(fmt::format("{} flop", flops));
  if (auto bytes = mix.vmemBytesPerWave(lanes))
    parts.push_back(fmt::format("{} B of memory", bytes));
  auto lds = (mix.lds_loaded + mix.lds_stored + mix.lds_atomic) * lanes;
  if (lds != 0) parts.push_back(fmt::format("{} B of LDS", lds));
  std::string text;
  for (const std::string &part : parts) text += (text.empty() ? "; per wave " : ", ") + part;
  return text;
}

/// The lines of a source file, if it is here and is one.
class SourceFile {
public:
  explicit SourceFile(const std::string &path) {
    if (!isSourceFile(path)) return;
    auto blob = Blob::mapFile(path);
    if (!blob || blob->bytes().size() > kLargestSource) return;
    blob_ = *blob;
    std::string_view text = asText(blob_.bytes());
    while (!text.empty()) {
      std::size_t end = std::min(text.find('\n'), text.size());
      lines_.push_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
  bool found() const { return !lines_.empty(); }
  std::string line(uint32_t number) const {
    if (number == 0 || number > lines_.size()) return "";
    std::string text;
    for (char c : lines_[number - 1]) text += c == '\t' ? std::string("  ") : std::string(1, c);
    return printable(text);
  }

private:
  Blob blob_;
  std::vector<std::string_view> lines_;
};

struct Listing {
  std::FILE *out;
  const ObjectView &object;
  const KernelView &kernel;

  /// "      1200  64.0  " in front of an instruction: executions by waves, lanes of each.
  std::string countText(const Instruction &instruction) const {
    if (kernel.counts == nullptr) return "";
    const auto *count = kernel.countOf(instruction);
    if (count == nullptr || count->executions == 0) return fmt::format("{:>10}  {:>4}  ", "-", "");
    return fmt::format("{:>10}  {:>4.1f}  ", count->executions,
                       static_cast<double>(count->lanes) / static_cast<double>(count->executions));
  }
  /// What a branch did: "taken 12 of 40, 8 splits".
  std::string branchText(const Instruction &instruction) const {
    const auto *count = kernel.countOf(instruction);
    if (count == nullptr || count->executions == 0) return "";
    std::string text;
    if (count->taken) text = fmt::format("taken {} of {}", *count->taken, count->executions);
    if (count->splits.value_or(0) != 0)
      text += fmt::format("{}{} split{}", text.empty() ? "" : ", ", *count->splits,
                          *count->splits == 1 ? "" : "s");
    return text;
  }

  void instruction(std::size_t index, std::string_view indent, const std::string &place) const {
    const Instruction &instruction = kernel.code->instructions[index];
    std::string line =
        fmt::format("{}{}{:06x}  {:<42} {:<20}", indent, countText(instruction),
                    instruction.address, instruction.text, classText(kernel.code->info[index]));
    if (!place.empty()) line += " " + place;
    if (const std::string branch = branchText(instruction); !branch.empty()) line += " " + branch;
    line.resize(line.find_last_not_of(' ') + 1);
    fmt::print(out, "{}\n", line);
  }

  /// How much of all the work was done for a line: "   <- 12.5% of 4000 instructions".
  std::string workText(const std::vector<std::size_t> &instructions) const {
    if (kernel.counts == nullptr || kernel.counts->executions == 0) return "";
    uint64_t executed = 0;
    for (const std::size_t index : instructions)
      if (const auto *count = kernel.countOf(kernel.code->instructions[index]))
        executed += count->executions;
    return executed == 0 ? "   <- never executed"
                         : fmt::format("   <- {:.1f}% of {} instructions",
                                       100.0 * static_cast<double>(executed) /
                                           static_cast<double>(kernel.counts->executions),
                                       kernel.counts->executions);
  }

  /// What the instrumentation watches on a line: "   <- sites: load 4 B, store 4 B".
  std::string sitesText(const std::string &path, uint32_t line) const {
    if (kernel.instrumented == nullptr) return "";
    const SiteTable &module = *kernel.instrumented->module;
    std::string text;
    for (uint32_t id : kernel.instrumented->sites) {
      const fade_site &site = module.sites()[id];
      // The two descriptions may spell the folder differently.
      if (site.line != line || fileName(std::string(module.string(site.file))) != fileName(path))
        continue;
      text += fmt::format("{}{}", text.empty() ? "   <- sites: " : ", ", siteKindName(site.kind));
      if (site.size != 0) text += fmt::format(" {} B", site.size);
    }
    return text;
  }

  /// Where a line's instructions come from when they were inlined: "in scale, called at
  /// kernel.hip:26".
  std::string inlinedText(uint64_t address) const {
    auto stack = object.source->stack(address);
    if (stack.size() < 2) return "";
    const SourceFrame &caller = stack[1];
    return fmt::format("from {}:{}", fileName(caller.file), caller.line);
  }
};

using LineInstructions = std::map<uint32_t, std::vector<std::size_t>>;

void printFile(const Listing &listing, const std::string &path, const LineInstructions &lines) {
  SourceFile file(path);
  fmt::print(listing.out, "\n    {}{}\n", printable(path), file.found() ? "" : " (file not found)");
  uint32_t previous = 0;
  for (const auto &[number, instructions] : lines) {
    if (previous != 0 && number > previous + kContextLines + 1)
      fmt::print(listing.out, "      …\n");
    if (file.found() && previous != 0 && number <= previous + kContextLines + 1)
      for (uint32_t between = previous + 1; between < number; ++between)
        fmt::print(listing.out, "    {:>5} | {}\n", between, file.line(between));
    if (number == 0)
      fmt::print(listing.out, "          | (no source line)\n");
    else
      fmt::print(listing.out, "    {:>5} | {}{}{}\n", number, file.line(number),
                 listing.workText(instructions), listing.sitesText(path, number));
    std::string last_call;
    for (std::size_t index : instructions) {
      std::string call = listing.inlinedText(listing.kernel.code->instructions[index].address);
      listing.instruction(index, "        ", call == last_call ? "" : call);
      last_call = call;
    }
    previous = number;
  }
}

} // namespace

void printIsa(std::FILE *out, const ObjectView &object, const KernelView &kernel) {
  Listing listing{out, object, kernel};
  const KernelCode &code = *kernel.code;
  unsigned lanes = kernel.kernel.descriptor.wavefront_size;
  for (std::size_t b = 0; b < code.blocks.size(); ++b) {
    const BasicBlock &block = code.blocks[b];
    fmt::print(out, "\n    block {} -> {}{}\n", b, successorsText(block),
               blockSummary(block, lanes));
    std::string last;
    for (std::size_t i = block.first; i < block.first + block.count; ++i) {
      std::string place;
      if (object.source != nullptr) {
        SourceFrame frame = object.source->place(code.instructions[i].address);
        if (frame.line != 0) place = fmt::format("{}:{}", fileName(frame.file), frame.line);
      }
      listing.instruction(i, "      ", place == last ? "" : place);
      last = place;
    }
  }
}

void printSource(std::FILE *out, const ObjectView &object, const KernelView &kernel) {
  const KernelCode &code = *kernel.code;
  if (object.source == nullptr || object.source->empty()) {
    fmt::print(out, "\n    no line tables: compile with -g or -gline-tables-only\n");
    return;
  }
  // Files in the order in which the code first comes from them.
  std::vector<std::string> order;
  std::map<std::string, LineInstructions> files;
  for (std::size_t i = 0; i < code.instructions.size(); ++i) {
    SourceFrame place = object.source->place(code.instructions[i].address);
    if (!files.contains(place.file)) order.push_back(place.file);
    files[place.file][place.line].push_back(i);
  }
  Listing listing{out, object, kernel};
  for (const std::string &file : order) {
    if (file.empty()) continue;
    printFile(listing, file, files[file]);
  }
  if (files.contains("")) {
    fmt::print(out, "\n    no source line\n");
    for (const auto &[line, instructions] : files[""])
      for (std::size_t index : instructions) listing.instruction(index, "        ", "");
  }
}

} // namespace fade::cli
