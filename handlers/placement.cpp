// Placement: on which compute units the waves of each kernel ran, and how evenly.
#include "text_layout.h"

#include <fade/handler.h>
#include <fade/hardware_id.h>

#include <algorithm>
#include <map>
#include <set>

namespace {

using namespace fade::handlers;

/// A compute unit: the place without SIMD and slot.
fade::HardwarePlace unitOf(fade::HardwarePlace place) {
  place.simd = place.slot = 0;
  return place;
}

struct Placement : fade::Handler {
  static constexpr const char *name = "Placement";
  static constexpr const char *summary = "where waves ran: dies, shader engines, compute units";
  static constexpr uint32_t needs = FADE_NEEDS_WAVES;

  Placement(const fade::Sink &to, const fade::Options &options) : Handler(to, options) {
    options.allow({});
  }
  using Units = std::map<fade::HardwarePlace, uint64_t>; // waves

  struct Shard {
    Shard(const Placement &, const fade::Dispatch &dispatch) : target(dispatch.kernel().target()) {}
    void records(const fade::Batch &batch) {
      batch.forEach([&](const fade::Record &record) {
        if (record.kind() == FADE_RECORD_WAVE_BEGIN)
          ++units[unitOf(fade::hardwarePlace(target, record.waveBegin()))];
      });
    }
    std::string target;
    Units units;
  };

  struct Total {
    Units units;
    uint64_t dispatches = 0, waves = 0;
    std::string target;
    bool in_software = false;
  };

  void dispatchEnd(const fade::Dispatch &dispatch, std::span<Shard *const> shards) {
    Total &total = kernels[dispatch.kernel().identity()];
    ++total.dispatches;
    total.target = dispatch.kernel().target();
    total.in_software = total.in_software || dispatch.isInSoftware();
    for (const Shard *shard : shards)
      for (const auto &[unit, waves] : shard->units) {
        total.units[unit] += waves;
        total.waves += waves;
      }
  }
  void report();
  void writeJson(const fade::KernelId &kernel, const Total &total) const;
  std::string text(const std::string &kernel, const Total &total) const;

  std::map<fade::KernelId, Total> kernels;
};

void Placement::writeJson(const fade::KernelId &kernel, const Total &total) const {
  fade::JsonWriter json;
  json.object([&] {
    json.field("type", "placement");
    json.field("version", FADE_REPORT_VERSION);
    kernel.writeTo(json);
    json.field("target", total.target);
    json.field("software", total.in_software);
    json.field("dispatches", total.dispatches);
    json.field("waves", total.waves);
    json.list("units", [&] {
      for (const auto &[unit, waves] : total.units)
        json.object([&] {
          json.field("xcc", unit.xcc);
          json.field("engine", unit.engine);
          json.field("array", unit.array);
          json.field("unit", unit.unit);
          json.field("waves", waves);
        });
    });
  });
  sink().write(json.take());
}

/// A row for each shader array, with the waves of its busiest and idlest compute unit.
std::string Placement::text(const std::string &kernel, const Total &total) const {
  const Paint paint(sink().hasColor());
  std::string text = paint(Tone::bold, "Placement") + ": " +
                     paint(Tone::bold, shortName(kernel, sink().columns() - 11)) + "\n  " +
                     plural(total.waves, "wave") + " on " +
                     plural(total.units.size(), "compute unit");
  const fade::GpuInfo *gpu = fade::findGpu(total.target);
  if (gpu && gpu->card.compute_units != 0 && total.units.size() <= gpu->card.compute_units)
    text += " of " + std::to_string(gpu->card.compute_units);
  text += total.in_software ? ", as the software GPU numbers them\n" : "\n";
  std::map<fade::HardwarePlace, std::vector<uint64_t>> arrays;
  for (const auto &[unit, waves] : total.units) {
    fade::HardwarePlace array = unit;
    array.unit = 0;
    arrays[array].push_back(waves);
  }
  TextTable table({"die", "engine", "array", "units", "waves", "fewest", "most"}, 0);
  for (const auto &[array, waves] : arrays) {
    uint64_t sum = 0;
    for (const uint64_t n : waves) sum += n;
    table.row({uint64_t{array.xcc}, uint64_t{array.engine}, uint64_t{array.array},
               uint64_t{waves.size()}, sum, std::ranges::min(waves), std::ranges::max(waves)});
  }
  return text + table.text(paint, sink().columns());
}

void Placement::report() {
  if (sink().isText())
    for (const auto &[kernel, total] : kernels) sink().write(text(kernel.name, total));
  if (sink().isJson())
    for (const auto &[kernel, total] : kernels) writeJson(kernel, total);
  if (!sink().isCsv() || kernels.empty()) return;
  fade::CsvWriter csv;
  csv.row("type", "version", "kernel", "xcc", "engine", "array", "unit", "waves");
  for (const auto &[kernel, total] : kernels)
    for (const auto &[unit, waves] : total.units)
      csv.row("placement", FADE_REPORT_VERSION, kernel.name, unit.xcc, unit.engine, unit.array,
              unit.unit, waves);
  sink().write(csv.take());
}

} // namespace

FADE_HANDLER(Placement)
