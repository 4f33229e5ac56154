#include "base/json_shapes.h"
#include "check/advice.h"
#include "check/finding_message.h"
#include "check/finding_text.h"
#include "check/hang_text.h"
#include "checks/options.h"

#include <array>

namespace fade::cli {
namespace {

using namespace fade::checks;

constexpr std::array<const char *, 3> kSpaces = {"global", "lds", "scratch"};
constexpr std::array<const char *, static_cast<std::size_t>(Problem::count)> kProblems = {
    "outside",
    "gap",
    "freed",
    "lds_bounds",
    "scratch_bounds",
    "arguments",
    "read_only",
    "misaligned",
    "freed_twice",
    "uninitialized",
    "race",
    "overlap",
    "lanes",
    "lost_update",
    "divergent_barrier",
    "missing_waves",
    "inactive_lane",
    "unwaited",
    "wait_states",
    "leak",
    "polls",
    "at_barrier",
    "at_global_barrier",
    "not_ended",
    "nan",
    "infinity",
    "order",
    "overflow",
    "flushed",
    "half_wave",
    "array_bounds",
    "copy_overlap",
    "unregistered",
    "freed_early",
    "used_early"};

constexpr std::array<const char *, static_cast<std::size_t>(Between::count)> kLacks = {
    "", "release", "acquire"};

constexpr std::array<const char *, static_cast<std::size_t>(Writer::count)> kWriters = {
    "unknown", "nobody", "ended", "same_wave", "waits"};

void writePlace(JsonWriter &json, const FoundPlace &place, const FoundFinding &f) {
  json.field("file", place.shown.file);
  json.field("line", place.shown.line);
  json.field("column", place.shown.column);
  if (place.is_near) json.field("near", true);
  if (!place.merged.empty())
    json.object("merged", [&] {
      json.field("of_byte", place.is_of_byte);
      putNumbers(json, "lines", place.merged);
    });
  json.field("function", place.shown.function);
  json.field("source", place.source);
  json.field("instruction", place.instruction);
  json.field("address_in_code", place.raw.address);
  const auto check = static_cast<Check>(f.raw.check);
  if (check != Check::sync && check != Check::wait && check != Check::hazard) {
    json.field("access", kindOf(place.raw));
    json.field("size", place.raw.size);
  }
  putNumbers(json, "workgroup", place.raw.group);
  putNumbers(json, "work_item", place.raw.item);
  json.list("stack", [&] {
    for (const FoundFrame &frame : place.stack)
      json.object([&] {
        json.field("function", frame.function);
        json.field("file", frame.file);
        json.field("line", frame.line);
        json.field("column", frame.column);
      });
  });
}

void writeChain(JsonWriter &json, const WaitChain &chain) {
  json.object("chain", [&] {
    json.list("links", [&] {
      for (const WaitChain::Link &link : chain.links)
        json.object([&] {
          json.field("at", link.at);
          json.field("waves", link.waves);
          json.field("waits_for", link.thing);
        });
    });
    json.field("end", chain.end);
    json.field("back_to", static_cast<int64_t>(chain.back_to));
  });
}

const char *betweenName(const FoundFinding &f) {
  switch (static_cast<Check>(f.raw.check)) {
  case Check::hang: return "writer_at";
  case Check::init: return "copied_at";
  default: return "between";
  }
}

void writeFinding(JsonWriter &json, const FoundFinding &f) {
  json.field("check", nameOf(static_cast<Check>(f.raw.check)));
  json.field("problem", kProblems[f.raw.problem]);
  json.field("message", messageOf(f));
  json.field("count", f.raw.count);
  json.field("process", f.process);
  if (!f.ranks.empty()) putNumbers(json, "ranks", f.ranks);
  if (isOfHost(f)) {
    json.field("file", f.place.shown.file);
    json.field("line", f.place.shown.line);
    json.field("column", f.place.shown.column);
    json.field("function", f.place.shown.function);
    json.field("source", f.place.source);
    json.field("api", f.api);
  } else if (static_cast<Check>(f.raw.check) != Check::leak) {
    json.field("kernel", f.kernel);
    putUnlessNone(json, "module", f.place.module);
    json.field("symbol", f.symbol);
    json.field("gpu", f.gpu);
    json.field("dispatch", f.raw.dispatch);
    if (static_cast<Check>(f.raw.check) == Check::hang) json.field("summary", f.rule);
    if (static_cast<Check>(f.raw.check) == Check::nan ||
        static_cast<Check>(f.raw.check) == Check::precision)
      json.field("operation", f.rule);
    if (static_cast<Check>(f.raw.check) == Check::schedules) {
      json.field("seed", f.raw.address);
      json.field("switches", f.raw.limit);
      json.field("orders", f.raw.waves);
    }
    if (static_cast<Check>(f.raw.check) == Check::wait) {
      json.field("register", registerName(f.raw));
      json.field("missing", missingWait(f.raw));
    } else if (static_cast<Check>(f.raw.check) == Check::hazard) {
      json.field("rule", f.rule);
      if (f.raw.address != kNoRegister) json.field("register", registerName(f.raw));
      json.field("present", f.raw.waves);
      json.field("needed", f.raw.limit);
      json.field("missing", missingStates(f));
    } else {
      json.field("space", kSpaces[f.raw.space % kSpaces.size()]);
      json.field("address", f.raw.address);
      if (static_cast<Problem>(f.raw.problem) == Problem::array_bounds)
        json.object("array", [&] {
          json.field("name", f.rule);
          json.field("size", f.raw.limit);
          if (static_cast<ArrayReach>(f.raw.waves) != ArrayReach::unknown)
            json.field("distance", f.raw.distance);
          putUnlessNone(json, "hits", f.cure);
        });
      if (static_cast<Problem>(f.raw.problem) == Problem::polls) {
        json.field("value", f.raw.limit);
        json.field("writer", kWriters[f.raw.lacks % kWriters.size()]);
      }
    }
    writePlace(json, f.place, f);
  }
  if (!f.other_api.empty())
    json.object("other", [&] {
      json.field("api", f.other_api);
      json.field("file", f.other.shown.file);
      json.field("line", f.other.shown.line);
      json.field("column", f.other.shown.column);
      json.field("function", f.other.shown.function);
      json.field("source", f.other.source);
    });
  if (f.raw.other.pc)
    json.object("other", [&] {
      putUnlessNone(json, "kernel", f.other_kernel);
      putUnlessNone(json, "module", f.other.module);
      writePlace(json, f.other, f);
    });
  if (f.between.raw.pc)
    json.object(betweenName(f), [&] {
      if (static_cast<Check>(f.raw.check) == Check::race)
        json.field("lacks", kLacks[f.raw.lacks % kLacks.size()]);
      writePlace(json, f.between, f);
    });
  if (f.allocation.raw.number != 0)
    json.object("allocation", [&] {
      json.field("number", f.allocation.raw.number);
      json.field("address", f.allocation.raw.base);
      json.field("size", f.allocation.raw.size);
      json.field("distance", f.raw.distance);
      json.field("freed", f.allocation.raw.is_freed != 0);
      json.field("on_host", f.allocation.raw.on_host != 0);
      json.field("api", f.allocation.api);
      json.field("file", f.allocation.caller.file);
      json.field("line", f.allocation.caller.line);
      const auto frame = [&](const char *name, const FoundFrame &where) {
        if (where.line == 0) return;
        json.object(name, [&] {
          json.field("file", where.file);
          json.field("line", where.line);
        });
      };
      frame("through", f.allocation.through);
      frame("freed_at", f.allocation.freed_by);
    });
  json.field("advice", adviceOf(f));
  json.field("page", pageOf(f));
}

} // namespace

std::string findingJson(const FoundFinding &f) {
  JsonWriter json;
  json.object([&] {
    putHead(json, "finding");
    json.field("id", f.id);
    if (f.is_known) json.field("known", true);
    writeFinding(json, f);
    json.field("exactness", exactnessText(f.inexact));
    if (static_cast<Check>(f.raw.check) == Check::hang) writeChain(json, waitChain(f));
    if (!f.details.empty())
      json.list("details", [&] {
        for (const FoundFinding &detail : f.details)
          json.object([&] { writeFinding(json, detail); });
      });
  });
  return json.take();
}

} // namespace fade::cli
