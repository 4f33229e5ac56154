// The default form: a compact table per kernel.
#include "base/text_layout.h"
#include "codeobj/demangle.h"
#include "inspect/report.h"

#include <fmt/format.h>

namespace fade::cli {
namespace {

using namespace codeobj;

constexpr std::size_t kIndent = 18; ///< where the values of a table start

std::string label(std::string_view name) { return fmt::format("    {}", name); }

std::string_view shortestKind(const KernargLayout::Argument &arg) {
  std::string_view kind = arg.kind_text;
  if (kind.starts_with("hidden_")) kind.remove_prefix(7);
  return kind;
}

/// Where AGPRs share the file with VGPRs the metadata counts both together.
std::vector<std::string> registerWords(const Kernel &kernel, bool shares_registers) {
  const KernelMetadata &m = kernel.metadata;
  const KernelDescriptor &d = kernel.descriptor;
  std::vector<std::string> words;
  if (kernel.has_metadata) {
    if (shares_registers && m.agpr_count != 0 && m.agpr_count <= m.vgpr_count)
      words.push_back(fmt::format("VGPR {} + AGPR {} ({} allocated)", m.vgpr_count - m.agpr_count,
                                  m.agpr_count, d.vgprs));
    else
      words.push_back(fmt::format("VGPR {} ({} allocated)", m.vgpr_count, d.vgprs));
    if (!shares_registers && m.agpr_count != 0)
      words.push_back(fmt::format("AGPR {}", m.agpr_count));
    words.push_back(fmt::format("SGPR {}", m.sgpr_count));
    if (m.vgpr_spill_count + m.sgpr_spill_count != 0)
      words.push_back(
          fmt::format("spilled {} VGPR {} SGPR", m.vgpr_spill_count, m.sgpr_spill_count));
  } else {
    words.push_back(fmt::format("VGPR {} allocated", d.vgprs));
    words.push_back(fmt::format("SGPR {} allocated", d.sgprs));
  }
  words.push_back(fmt::format("user SGPR {}", d.user_sgprs.count));
  if (d.user_sgprs.kernarg_preload_length != 0)
    words.push_back(fmt::format("kernarg preload {} dwords", d.user_sgprs.kernarg_preload_length));
  words.push_back(fmt::format("wave{}", d.wavefront_size));
  return words;
}

std::vector<std::string> memoryWords(const Kernel &kernel) {
  const KernelDescriptor &d = kernel.descriptor;
  std::vector<std::string> words;
  words.push_back(fmt::format("LDS {} B", d.group_segment_fixed_size));
  words.push_back(fmt::format("scratch {} B{}", d.private_segment_fixed_size,
                              d.dynamic_stack ? " and a dynamic stack" : ""));
  words.push_back(fmt::format("code {}", bytesText(kernel.code_size)));
  return words;
}

std::vector<std::string> launchWords(const Kernel &kernel) {
  const KernelMetadata &m = kernel.metadata;
  std::vector<std::string> words;
  if (m.reqd_workgroup_size) {
    const auto &size = *m.reqd_workgroup_size;
    words.push_back(fmt::format("workgroup {}x{}x{}", size[0], size[1], size[2]));
  } else if (m.max_flat_workgroup_size != 0) {
    words.push_back(fmt::format("workgroup up to {}", m.max_flat_workgroup_size));
  }
  if (kernel.descriptor.wgp_mode) words.emplace_back("WGP mode");
  if (kernel.descriptor.tg_split) words.emplace_back("split workgroups");
  if (!m.language.empty()) words.push_back(printable(m.language));
  return words;
}

std::string occupancyText(const Occupancy &o) {
  std::string text = fmt::format("{} of {} waves per SIMD", o.waves_per_simd, o.max_waves);
  switch (o.limit) {
  case OccupancyLimit::Waves: break;
  case OccupancyLimit::Vgprs: text += ", limited by VGPRs"; break;
  case OccupancyLimit::Sgprs: text += ", limited by SGPRs"; break;
  case OccupancyLimit::Lds: text += ", limited by LDS"; break;
  case OccupancyLimit::WorkgroupSize: text += ", limited by the workgroup size"; break;
  }
  return text + fmt::format("; {} workgroup{} of {} wave{}", o.workgroups,
                            o.workgroups == 1 ? "" : "s", o.waves_per_workgroup,
                            o.waves_per_workgroup == 1 ? "" : "s");
}

std::string argumentWord(const KernargLayout::Argument &arg) {
  std::string text = fmt::format("{}+{} {}", arg.offset, arg.size, shortestKind(arg));
  if (!arg.name.empty()) text += " " + arg.name;
  return printable(text);
}

std::vector<std::string> instructionWords(const KernelCode &code) {
  std::vector<std::string> words;
  words.push_back(fmt::format("{} in {} block{}:", code.mix.instructions(), code.blocks.size(),
                              code.blocks.size() == 1 ? "" : "s"));
  for (std::size_t i = 0; i < kUnitCount; ++i) {
    auto unit = static_cast<Unit>(i);
    if (code.mix.count(unit) != 0)
      words.push_back(fmt::format("{} {}", to_string(unit), code.mix.count(unit)));
  }
  return words;
}

class TableReport final : public Report {
public:
  TableReport(std::FILE *out, std::FILE *err, bool isa, bool source)
      : out_(out), err_(err), isa_(isa), source_(source) {}

  void object(const ObjectView &view) override {
    const FoundCode &found = view.found;
    fmt::print(out_, "{}\n", printable(found.file));
    std::string where = found.bundle_entry.empty() ? "" : fmt::format(" at {:#x}", found.offset);
    fmt::print(out_, "  {}, code object version {}, {}{}{}, {} kernel{}\n",
               view.object.target().id(), view.object.version(),
               bytesText(found.blob.bytes().size()), found.compressed ? " compressed" : "", where,
               view.object.kernelCount(), view.object.kernelCount() == 1 ? "" : "s");
  }

  void kernel(const ObjectView &view, const KernelView &shown) override {
    const Kernel &kernel = shown.kernel;
    std::string name = printable(demangle(kernel.name));
    fmt::print(out_, "\n  {}\n", shortened(name, kColumns - 2));
    if (name != kernel.name)
      line("symbol", {shortened(printable(kernel.symbol), kColumns - kIndent)});
    if (!kernel.has_metadata) line("metadata", {"none"});
    line("registers", registerWords(kernel, view.object.target().hasUnifiedRegisters()));
    line("memory", memoryWords(kernel));
    line("launch", launchWords(kernel));
    if (shown.occupancy) line("occupancy", {occupancyText(*shown.occupancy)});
    printArguments(shown);
    printInstrumentation(view, shown);
    if (shown.code) {
      line("instructions", instructionWords(*shown.code));
    } else if (!shown.code_problem.empty()) {
      line("instructions", {shown.code_problem});
    }
    if (shown.counts)
      line("counted", {fmt::format("{} instructions executed by waves in {} dispatch{}:",
                                   shown.counts->executions, shown.counts->dispatches,
                                   shown.counts->dispatches == 1 ? "" : "es"),
                       "each is preceded by its executions and active lanes"});
    if (isa_ && shown.code) printIsa(out_, view, shown);
    if (source_ && shown.code) printSource(out_, view, shown);
  }

  void error(const Error &error) override {
    std::fflush(out_);
    fmt::print(err_, "fadeprobe inspect: {}\n", printable(error.message()));
  }

private:
  void line(std::string_view name, const std::vector<std::string> &words) {
    if (!words.empty()) fmt::print(out_, "{}", flowed(label(name), kIndent, words));
  }

  void printArguments(const KernelView &shown) {
    if (!shown.layout) return;
    std::vector<std::string> words;
    for (const auto &arg : shown.layout->explicit_args) words.push_back(argumentWord(arg));
    words.push_back(fmt::format("({} bytes)", shown.layout->size));
    line("arguments", words);
    words.clear();
    for (const auto &arg : shown.layout->hidden_args)
      words.push_back(fmt::format("{}@{}", printable(shortestKind(arg)), arg.offset));
    line("hidden", words);
  }

  void printInstrumentation(const ObjectView &view, const KernelView &shown) {
    if (shown.instrumented == nullptr) return;
    const auto &kernel = *shown.instrumented;
    std::string text =
        fmt::format("{} site{}", kernel.sites.size(), kernel.sites.size() == 1 ? "" : "s");
    if (kernel.original != kernel.instrumented) {
      bool is_clone = shown.index == kernel.instrumented;
      std::size_t other = is_clone ? kernel.original : kernel.instrumented;
      text += fmt::format(", {} {}", is_clone ? "clone of" : "clone",
                          shortened(printable(view.object.kernelName(other).name), 60));
    }
    line("instrumented", {text});
  }

  std::FILE *out_, *err_;
  bool isa_, source_;
};

} // namespace

std::unique_ptr<Report> makeTableReport(std::FILE *out, std::FILE *err, bool isa, bool source) {
  return std::make_unique<TableReport>(out, err, isa, source);
}

} // namespace fade::cli
