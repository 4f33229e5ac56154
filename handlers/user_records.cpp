// UserRecords: what kernels record by themselves (fade/user.h), by place and number: how often, and
// the least, the most and the mean of the values.
//
// Options: values=N   the most frequent values of each place that are listed (5)
#include "site_place.h"
#include "text_layout.h"

#include <fade/handler.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <unordered_map>

namespace {

using namespace fade::handlers;

std::string numberText(double value) {
  char text[40];
  std::snprintf(text, sizeof text,
                value == std::floor(value) && std::abs(value) < 1e15 ? "%.0f" : "%.6g", value);
  return text;
}

struct Values {
  // Many different ones are not counted one by one.
  static constexpr std::size_t kMostKept = 4096;

  uint64_t executions = 0, lanes = 0;
  double least = INFINITY, most = -INFINITY, sum = 0;
  std::unordered_map<uint64_t, uint64_t> counts; // by bits
  uint64_t uncounted = 0;

  void add(uint64_t bits, bool is_double) {
    const double value =
        is_double ? std::bit_cast<double>(bits) : static_cast<double>(static_cast<int64_t>(bits));
    ++lanes;
    sum += value;
    least = std::min(least, value);
    most = std::max(most, value);
    count(bits, 1);
  }
  void add(const Values &other) {
    executions += other.executions;
    lanes += other.lanes;
    sum += other.sum;
    least = std::min(least, other.least);
    most = std::max(most, other.most);
    uncounted += other.uncounted;
    for (const auto &[bits, n] : other.counts) count(bits, n);
  }
  void count(uint64_t bits, uint64_t n) {
    if (counts.size() < kMostKept || counts.contains(bits))
      counts[bits] += n;
    else
      uncounted += n;
  }
};

struct UserRecords : fade::Handler {
  static constexpr const char *name = "UserRecords";
  static constexpr const char *summary = "values recorded by kernel code";
  static constexpr uint32_t needs = FADE_NEEDS_WAVES;

  UserRecords(const fade::Sink &to, const fade::Options &options) : Handler(to, options) {
    options.allow({"values"});
    listed = options.size("values", 5);
  }

  struct Shard {
    Shard(const UserRecords &, const fade::Dispatch &dispatch) : table(dispatch.kernel().sites()) {}
    void records(const fade::Batch &batch) {
      batch.forEachUser([&](const fade::Record &record) {
        const bool is_double = (table->sites()[record.site()].flags & FADE_SITE_IS_DOUBLE) != 0;
        Values &values = sites[record.site()];
        ++values.executions;
        record.forEachLane([&](uint32_t, uint64_t bits) { values.add(bits, is_double); });
      });
    }
    const fade::SiteTable *table;
    std::map<uint32_t, Values> sites;
  };

  struct Place {
    fade::KernelId kernel;
    std::string file;
    uint32_t line = 0, number = 0;
    bool is_double = false;
    auto operator<=>(const Place &) const = default;
  };

  void dispatchEnd(const fade::Dispatch &dispatch, std::span<Shard *const> shards) {
    const fade::SiteTable *table = dispatch.kernel().sites();
    if (!table) return;
    for (const Shard *shard : shards)
      for (const auto &[site, values] : shard->sites) {
        const fade_site &of = table->sites()[site];
        const SitePlace place = placeOfUser(*table, of);
        places[{dispatch.kernel().identity(), std::string(place.file), place.line, of.size,
                (of.flags & FADE_SITE_IS_DOUBLE) != 0}]
            .add(values);
      }
  }

  /// The most frequent values, the most frequent first.
  std::vector<std::pair<uint64_t, uint64_t>> frequent(const Values &values) const {
    std::vector<std::pair<uint64_t, uint64_t>> all(values.counts.begin(), values.counts.end());
    std::ranges::sort(all, [](const auto &a, const auto &b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    all.resize(std::min<std::size_t>(all.size(), listed));
    return all;
  }
  static double valueOf(uint64_t bits, const Place &place) {
    return place.is_double ? std::bit_cast<double>(bits)
                           : static_cast<double>(static_cast<int64_t>(bits));
  }
  void report();
  void writeJson(const Place &place, const Values &values) const;

  uint64_t listed = 5;
  std::map<Place, Values> places;
};

void UserRecords::writeJson(const Place &place, const Values &values) const {
  fade::JsonWriter json;
  json.object([&] {
    json.field("type", "user_records");
    json.field("version", FADE_REPORT_VERSION);
    place.kernel.writeTo(json);
    json.field("file", place.file);
    json.field("line", place.line);
    json.field("number", place.number);
    json.field("executions", values.executions);
    json.field("lanes", values.lanes);
    json.field("least", values.least);
    json.field("most", values.most);
    json.field("mean", values.sum / static_cast<double>(values.lanes));
    json.list("frequent", [&] {
      for (const auto &[bits, n] : frequent(values))
        json.object([&] {
          if (place.is_double)
            json.field("value", valueOf(bits, place));
          else
            json.field("value", static_cast<int64_t>(bits));
          json.field("lanes", n);
        });
    });
  });
  sink().write(json.take());
}

void UserRecords::report() {
  if (places.empty()) return;
  if (sink().isJson())
    for (const auto &[place, values] : places) writeJson(place, values);
  // For people and programs alike; the report shows this one.
  std::vector<std::vector<std::string>> rows;
  for (const auto &[place, values] : places) {
    std::string often;
    for (const auto &[bits, n] : frequent(values))
      often +=
          (often.empty() ? "" : ", ") + numberText(valueOf(bits, place)) + " x" + std::to_string(n);
    rows.push_back({placeText(place.file, place.line, 0, 24), std::to_string(place.number),
                    std::to_string(values.executions), std::to_string(values.lanes),
                    numberText(values.least), numberText(values.most),
                    numberText(values.sum / static_cast<double>(values.lanes)), often,
                    shortName(place.kernel.name, 40)});
  }
  const std::vector<std::string> columns{"place", "number", "executions", "lanes", "least",
                                         "most",  "mean",   "frequent",   "kernel"};
  sink().table("UserRecords", columns, rows);
}

} // namespace

FADE_HANDLER(UserRecords)
