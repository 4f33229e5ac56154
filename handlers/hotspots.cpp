// Hotspots: how often each instruction and each line of source was executed, and what that did.
//
// Options: rows=N          lines of source in the text report for each kernel (20)
//          instructions=N  instructions there (10; without line tables 30)
//
// The counts come from the software GPU, which watches the kernel as the compiler made it: an
// instruction is the machine's, and what it does for a lane is known from its name. The order is
// that of executions by waves, since every instruction takes at least one turn of a unit; what
// memory costs beyond that is MemoryAnalysis' business.
#include "instruction_counts.h"
#include "site_place.h"
#include "source_text.h"
#include "text_layout.h"

#include <fade/gpu.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <utility>

namespace {

using namespace fade::handlers;

using Instructions = std::vector<CountedInstruction>;

struct LineWork {
  Work work;
  uint64_t most = 0; ///< executions of the instruction that was executed most
};
using LineKey = std::pair<std::string, uint32_t>;
using Lines = std::map<LineKey, LineWork>;

struct Hotspots : fade::Handler {
  static constexpr const char *name = "Hotspots";
  static constexpr const char *summary = "executions of instructions and lines, operations, bytes";
  static constexpr uint32_t needs = FADE_NEEDS_INSTRUCTIONS;

  Hotspots(const fade::Sink &to, const fade::Options &options) : Handler(to, options) {
    options.allow({"rows", "instructions"});
    rows = std::max<uint64_t>(options.size("rows", 20), 1);
    instruction_rows = options.size("instructions", 0);
  }

  struct Shard {
    Shard(const Hotspots &, const fade::Dispatch &) {}
    void records(const fade::Batch &batch) { wave_size = batch->wave_size; }
    uint32_t wave_size = 0;
  };

  struct KernelTotal {
    const fade::Kernel *kernel = nullptr;
    std::vector<fade_counter> counters; ///< by site
    uint32_t wave_size = 0;
    uint64_t dispatches = 0;
  };

  void dispatchEnd(const fade::Dispatch &dispatch, std::span<Shard *const> shards);
  void report();
  void writeJson(const KernelTotal &total, const Instructions &all) const;
  void writeCsv(const KernelTotal &total, const Instructions &all);
  void writeText(const KernelTotal &total, const Instructions &all);
  std::string lineText(const KernelTotal &total, const Lines &lines, uint64_t executed);
  std::string instructionText(const KernelTotal &total, const Instructions &all, uint64_t most);
  std::string branchText(const KernelTotal &total, const Instructions &all);

  uint64_t rows = 20, instruction_rows = 0;
  /// By id and site table: code that was loaded anew may be other code.
  std::map<std::pair<uint32_t, uint64_t>, KernelTotal> kernels;
  uint64_t without_counts = 0; ///< dispatches
  SourceText source;
  bool csv_header = false;
};

void Hotspots::dispatchEnd(const fade::Dispatch &dispatch, std::span<Shard *const> shards) {
  const fade::SiteTable *table = dispatch.kernel().sites();
  if (!table || table->instructions().empty() || dispatch.counters().empty()) {
    ++without_counts;
    return;
  }
  KernelTotal &total = kernels[{dispatch.kernel().id(), table->moduleId()}];
  total.kernel = &dispatch.kernel();
  ++total.dispatches;
  for (const Shard *shard : shards)
    if (shard->wave_size != 0) total.wave_size = shard->wave_size;
  total.counters.resize(table->sites().size());
  const auto counters = dispatch.counters();
  for (std::size_t i = 0; i < total.counters.size() && i < counters.size(); ++i) {
    total.counters[i].entries += counters[i].entries;
    total.counters[i].more_lanes += counters[i].more_lanes;
  }
}

double laneShare(const Work &work, uint32_t wave_size) {
  const auto most = static_cast<double>(work.executions) * wave_size;
  return most == 0 ? 0 : static_cast<double>(work.lanes) / most;
}

Work sumOf(const Instructions &all) {
  Work sum;
  for (const CountedInstruction &one : all) sum.add(one.work);
  return sum;
}

/// Waves: each executes the kernel's first instruction once. GPUs that have put arguments into
/// registers begin behind the code that loads them.
uint64_t wavesOf(const Instructions &all) {
  const auto own = std::ranges::find_if(all, [](const CountedInstruction &one) {
    return one.site->kernel != FADE_NO_INDEX && one.work.executions != 0;
  });
  return own == all.end() ? 0 : own->work.executions;
}

Lines linesOf(const fade::SiteTable &table, const Instructions &all) {
  Lines lines;
  for (const CountedInstruction &one : all) {
    const SitePlace place = placeOf(table, *one.site);
    LineWork &line = lines[{std::string(place.line == 0 ? "" : place.file), place.line}];
    line.work.add(one.work);
    line.most = std::max(line.most, one.work.executions);
  }
  return lines;
}

std::vector<LineKey> mostExpensiveFirst(const Lines &lines) {
  std::vector<LineKey> order;
  for (const auto &[key, line] : lines)
    if (line.work.executions != 0) order.push_back(key);
  std::ranges::sort(order, [&](const LineKey &a, const LineKey &b) {
    const uint64_t x = lines.at(a).work.executions, y = lines.at(b).work.executions;
    return x != y ? x > y : a < b;
  });
  return order;
}

// --- JSON and CSV -----------------------------------------------------------------------------

void workFields(fade::JsonWriter &json, const Work &work, uint32_t wave_size) {
  json.field("executions", work.executions);
  json.field("lanes", work.lanes);
  json.field("lane_share", laneShare(work, wave_size));
  if (work.flops() != 0) json.field("flops", work.flops());
  uint64_t bytes = 0;
  for (const uint64_t b : work.bytes) bytes += b;
  if (bytes != 0) json.field("bytes", bytes);
}

void placeFields(fade::JsonWriter &json, const SitePlace &place) {
  const bool known = place.line != 0;
  json.field("file", known ? place.file : std::string_view());
  json.field("line", place.line);
  json.field("column", place.column);
}

void instructionFields(fade::JsonWriter &json, const fade::SiteTable &table,
                       const CountedInstruction &one, uint32_t wave_size) {
  json.field("address", one.code->address);
  json.field("text", table.string(one.code->text));
  json.field("unit", kUnitNames[one.code->unit]);
  placeFields(json, placeOf(table, *one.site));
  workFields(json, one.work, wave_size);
  if (one.isBranch()) json.field("taken", one.taken);
  if (one.maySplit()) json.field("splits", one.splits);
}

void Hotspots::writeJson(const KernelTotal &total, const Instructions &all) const {
  const fade::SiteTable &table = *total.kernel->sites();
  const Work sum = sumOf(all);
  fade::JsonWriter json;
  json.object([&] {
    json.field("type", "hotspots");
    json.field("version", FADE_REPORT_VERSION);
    total.kernel->identity().writeTo(json);
    json.field("symbol", total.kernel->symbol());
    json.field("target", total.kernel->target());
    json.field("dispatches", total.dispatches);
    json.field("wave_size", total.wave_size);
    json.field("waves", wavesOf(all));
    json.field("executions", sum.executions);
    json.field("lanes", sum.lanes);
    json.list("mix", [&] {
      for (uint32_t unit = 0; unit < FADE_UNIT_COUNT; ++unit) {
        Work of;
        for (const CountedInstruction &one : all)
          if (one.code->unit == unit) of.add(one.work);
        if (of.executions == 0) continue;
        json.object([&] {
          json.field("unit", kUnitNames[unit]);
          json.field("executions", of.executions);
          json.field("lanes", of.lanes);
        });
      }
    });
    json.object("flops", [&] {
      json.field("all", sum.flops());
      for (uint32_t type = FADE_TYPE_F64; type <= FADE_TYPE_F8; ++type)
        json.field(kTypeNames[type], sum.operations[type]);
      json.field("packed", sum.packed);
      json.field("matrix", sum.matrix);
      json.field("matrix_integer", sum.operations[FADE_TYPE_INTEGER]);
    });
    json.object("bytes", [&] {
      for (std::size_t way = 0; way < sum.bytes.size(); ++way)
        json.field(kTrafficNames[way], sum.bytes[way]);
    });
    const Lines lines = linesOf(table, all);
    json.list("lines", [&] {
      for (const LineKey &key : mostExpensiveFirst(lines))
        json.object([&] {
          json.field("file", key.first);
          json.field("line", key.second);
          json.field("runs", lines.at(key).most);
          workFields(json, lines.at(key).work, total.wave_size);
        });
    });
    json.list("instructions", [&] {
      for (const CountedInstruction &one : all)
        json.object([&] { instructionFields(json, table, one, total.wave_size); });
    });
  });
  sink().write(json.text());
}

void Hotspots::writeCsv(const KernelTotal &total, const Instructions &all) {
  const fade::SiteTable &table = *total.kernel->sites();
  fade::CsvWriter csv;
  if (!std::exchange(csv_header, true))
    csv.row("type", "version", "kernel", "address", "text", "unit", "file", "line", "column",
            "executions", "lanes", "lane_share", "flops", "taken", "splits");
  for (const CountedInstruction &one : all) {
    const SitePlace place = placeOf(table, *one.site);
    csv.row("hotspots", FADE_REPORT_VERSION, total.kernel->name(), one.code->address,
            table.string(one.code->text), kUnitNames[one.code->unit],
            place.line ? place.file : std::string_view(), place.line, place.column,
            one.work.executions, one.work.lanes, laneShare(one.work, total.wave_size),
            one.work.flops(), one.taken, one.splits);
  }
  sink().write(csv.take());
}

// --- Text -------------------------------------------------------------------------------------

std::string joined(const std::vector<std::string> &parts) {
  std::string text;
  for (const std::string &part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string mixText(const Instructions &all, uint64_t executed) {
  std::array<uint64_t, FADE_UNIT_COUNT> by_unit{};
  for (const CountedInstruction &one : all) by_unit[one.code->unit] += one.work.executions;
  std::vector<std::size_t> order(by_unit.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return by_unit[a] != by_unit[b] ? by_unit[a] > by_unit[b] : a < b;
  });
  std::vector<std::string> parts;
  for (const std::size_t i : order)
    if (by_unit[i] != 0)
      parts.push_back(
          std::string(kUnitNames[i]) + " " +
          percent(100.0 * static_cast<double>(by_unit[i]) / static_cast<double>(executed)));
  return joined(parts);
}

std::string flopText(const Work &sum) {
  std::vector<std::string> parts;
  for (uint32_t type = FADE_TYPE_F64; type <= FADE_TYPE_F8; ++type)
    if (sum.operations[type] != 0)
      parts.push_back(humanCount(sum.operations[type]) + " " + kTypeNames[type]);
  if (sum.packed != 0) parts.push_back(humanCount(sum.packed) + " of them packed");
  if (sum.matrix != 0) parts.push_back(humanCount(sum.matrix) + " of them by matrix instructions");
  if (sum.operations[FADE_TYPE_INTEGER] != 0)
    parts.push_back(humanCount(sum.operations[FADE_TYPE_INTEGER]) + " on integers by matrix");
  return parts.empty() ? "none" : joined(parts);
}

std::string bytesText(const Work &sum) {
  constexpr std::array<const char *, kTrafficNames.size()> words = {
      "loaded",   "stored", "atomic",        "by scalar loads",
      "from LDS", "to LDS", "atomic in LDS", "of scratch"};
  std::vector<std::string> parts;
  for (std::size_t way = 0; way < sum.bytes.size(); ++way)
    if (sum.bytes[way] != 0) parts.push_back(humanSize(sum.bytes[way]) + " " + words[way]);
  if (sum.memoryBytes() != 0 && sum.flops() != 0)
    parts.push_back(
        decimal(static_cast<double>(sum.flops()) / static_cast<double>(sum.memoryBytes())) +
        " flop per byte");
  return parts.empty() ? "none" : joined(parts);
}

std::string Hotspots::lineText(const KernelTotal &total, const Lines &lines, uint64_t executed) {
  TextTable text({"line", "instructions", "share", "runs", "lane %", "flop", "bytes"}, 1);
  const auto order = mostExpensiveFirst(lines);
  for (const LineKey &key : order | std::views::take(rows)) {
    const LineWork &line = lines.at(key);
    const double share = 100 * laneShare(line.work, total.wave_size);
    uint64_t bytes = 0;
    for (const uint64_t b : line.work.bytes) bytes += b;
    text.row(
        {placeText(key.first, key.second, 0, 28),
         line.work.executions,
         percent(100.0 * static_cast<double>(line.work.executions) / static_cast<double>(executed)),
         line.most,
         {percent(share), toneOfPercent(share)},
         line.work.flops() ? humanCount(line.work.flops()) : std::string("-"),
         bytes ? humanSize(bytes) : std::string("-")});
    if (const std::string code = printable(source.line(key.first, key.second)); !code.empty())
      text.below("    | " + code.substr(0, sink().columns() - 6) + '\n');
  }
  if (order.size() > rows)
    text.below("  and " + plural(order.size() - rows, "line") + " more (rows=N shows more)\n");
  return text.text(Paint(sink().hasColor()), sink().columns());
}

std::string addressText(uint64_t address) {
  char text[24];
  std::snprintf(text, sizeof text, "%06llx", static_cast<unsigned long long>(address));
  return text;
}

std::string Hotspots::instructionText(const KernelTotal &total, const Instructions &all,
                                      uint64_t most) {
  const fade::SiteTable &table = *total.kernel->sites();
  std::vector<const CountedInstruction *> order;
  for (const CountedInstruction &one : all)
    if (one.work.executions != 0) order.push_back(&one);
  std::ranges::sort(order, [](const CountedInstruction *a, const CountedInstruction *b) {
    const uint64_t x = a->work.executions, y = b->work.executions;
    return x != y ? x > y : a < b; // by address
  });
  TextTable text({"instruction", "", "line", "executions", "lane %"}, 3);
  for (const CountedInstruction *one : order | std::views::take(most)) {
    const SitePlace place = placeOf(table, *one->site);
    const double share = 100 * laneShare(one->work, total.wave_size);
    text.row({addressText(one->code->address),
              printable(table.string(one->code->text)).substr(0, 44),
              place.line ? placeText(place.file, place.line, 0, 20) : std::string("-"),
              one->work.executions,
              {percent(share), toneOfPercent(share)}});
  }
  if (order.size() > most)
    text.below("  and " + plural(order.size() - most, "instruction") +
               " more (instructions=N shows more)\n");
  return text.text(Paint(sink().hasColor()), sink().columns());
}

/// Where lanes of a wave part: those that most waves do first.
std::string Hotspots::branchText(const KernelTotal &total, const Instructions &all) {
  const fade::SiteTable &table = *total.kernel->sites();
  std::vector<const CountedInstruction *> order;
  for (const CountedInstruction &one : all)
    if (one.work.executions != 0 && (one.isBranch() || one.maySplit())) order.push_back(&one);
  std::ranges::sort(order, [](const CountedInstruction *a, const CountedInstruction *b) {
    if (a->splits != b->splits) return a->splits > b->splits;
    const uint64_t x = a->work.executions, y = b->work.executions;
    return x != y ? x > y : a < b; // by address
  });
  TextTable text({"branch", "", "line", "executions", "taken", "splits"}, 3);
  for (const CountedInstruction *one : order | std::views::take(rows)) {
    const SitePlace place = placeOf(table, *one->site);
    text.row(
        {addressText(one->code->address), printable(table.string(one->code->text)).substr(0, 36),
         place.line ? placeText(place.file, place.line, 0, 20) : std::string("-"),
         one->work.executions, one->isBranch() ? TextTable::Cell(one->taken) : TextTable::Cell("-"),
         one->maySplit() ? TextTable::Cell(one->splits) : TextTable::Cell("-")});
  }
  if (order.size() > rows)
    text.below("  and " + plural(order.size() - rows, "branch point") +
               " more (rows=N shows more)\n");
  return text.text(Paint(sink().hasColor()), sink().columns());
}

void Hotspots::writeText(const KernelTotal &total, const Instructions &all) {
  const Paint paint(sink().hasColor());
  const Work sum = sumOf(all);
  const Lines lines = linesOf(*total.kernel->sites(), all);
  const bool has_lines = lines.size() > 1 || (!lines.empty() && lines.begin()->first.second != 0);
  const uint64_t shown = instruction_rows != 0 ? instruction_rows : has_lines ? 10 : 30;
  std::string text = paint(Tone::bold, "Hotspots") + ": " +
                     paint(Tone::bold, shortName(total.kernel->name(), sink().columns() - 10)) +
                     "\n  " + std::to_string(total.dispatches) +
                     (total.dispatches == 1 ? " dispatch, " : " dispatches, ") +
                     plural(wavesOf(all), "wave") + ", as compiled for " + total.kernel->target() +
                     ": " + humanCount(sum.executions) + " instructions executed, " +
                     percent(100 * laneShare(sum, total.wave_size)) + " of their lanes active\n";
  if (sum.executions == 0) return sink().write(text);
  text +=
      paragraph("instructions: " + mixText(all, sum.executions), sink().columns(), "  ", "    ");
  text += paragraph("floating-point operations: " + flopText(sum), sink().columns(), "  ", "    ");
  text += paragraph("bytes: " + bytesText(sum), sink().columns(), "  ", "    ");
  if (has_lines) text += lineText(total, lines, sum.executions);
  text += instructionText(total, all, shown);
  text += branchText(total, all);
  sink().write(text);
}

void Hotspots::report() {
  for (auto &[key, total] : kernels) {
    if (total.wave_size == 0) {
      const fade::GpuInfo *gpu = fade::findGpu(total.kernel->target());
      total.wave_size = gpu ? gpu->unit.smallest_wave : 64;
    }
    const Instructions all = countedInstructions(*total.kernel->sites(), total.counters);
    if (sink().isJson())
      writeJson(total, all);
    else if (sink().isCsv())
      writeCsv(total, all);
    else
      writeText(total, all);
  }
  if (without_counts == 0) return;
  const std::string missing = std::to_string(without_counts) +
                              (without_counts == 1 ? " dispatch has" : " dispatches have") +
                              " no instruction counts: only the software GPU counts instructions "
                              "(--gpu gfx90a, ...; --observe "
                              "auto or gpu; in a recording, if it was made with -a Hotspots)";
  if (sink().isText())
    sink().write("Hotspots: " + missing + "\n");
  else
    sink().warn("Hotspots: " + missing);
}

} // namespace

FADE_HANDLER(Hotspots)
