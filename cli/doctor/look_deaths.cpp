// How runs on the GPU died, as facts for rules.
#include "doctor/json.h"
#include "doctor/look.h"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

namespace fade::doctor {
namespace {

constexpr std::size_t kMostDeaths = 32, kMostBytes = 4 << 20;

std::string hex(const Json &number) { return fmt::format("{:#x}", number.number()); }

/// "main (app.cpp:12)": the innermost caller.
std::string callerOf(const Json &memory, const char *key) {
  const Json *frames = memory.find(key);
  if (!frames || !frames->isList() || frames->size() == 0) return "";
  const Json &frame = frames->at(0);
  const std::string function = frame.textOr("function", "?"), file = frame.textOr("file");
  if (file.empty()) return fmt::format("{} ({})", function, frame.textOr("library", "?"));
  return fmt::format("{} ({}:{})", function, file.substr(file.rfind('/') + 1),
                     frame.at("line").number());
}

/// What is nearest to the address: freed, into, beyond, before.
void addMemory(const Json &memory, Record &death) {
  const bool was_freed = memory.at("freed").boolean();
  death.set("memory", was_freed ? "freed" : memory.textOr("relation"));
  if (const Json *bytes = memory.find("bytes")) {
    death.set("distance", std::to_string(bytes->number()));
    constexpr uint64_t page = 4096;
    // An index that is off by one, and the page behind an allocation that is rounded up.
    death.set("is_near", bytes->number() < 2 * page ? "yes" : "no");
  }
  death.set("size", std::to_string(memory.at("size").number()));
  death.set("allocated_by", callerOf(memory, "allocated_by"));
  death.set("freed_by", callerOf(memory, "freed_by"));
}

std::string placeOf(const Json &record) {
  const std::string file = record.textOr("file");
  const Json *line = record.find("line");
  if (file.empty() || !line || line->number() == 0) return "";
  const std::string text = fmt::format("{}:{}", file.substr(file.rfind('/') + 1), line->number());
  const std::string outer = record.textOr("called_from");
  return outer.empty() ? text : fmt::format("{}, called from {}", text, outer);
}

/// The kernel that was in flight; if several were, nobody knows which one it was.
void addDispatch(const Json &dispatch, Record &death) {
  death.addTo("dispatch", std::to_string(dispatch.at("dispatch").number()));
  if (!death.find("kernel")) death.set("kernel", dispatch.textOr("kernel"));
  death.set("instrumented", dispatch.at("instrumented").boolean() ? "yes" : "no");
  for (const Json &argument : dispatch.at("arguments").list())
    if (!death.find("freed_argument") && argument.at("freed").boolean()) {
      death.set("freed_argument", std::to_string(argument.at("byte").number()));
      death.set("argument_freed_by", callerOf(argument, "freed_by"));
    }
  for (const Json &wave : dispatch.at("waves").list())
    for (const Json &record : wave.at("records").list()) {
      const Json *hits = record.find("hits");
      if (hits && hits->number() > 0 && !death.is("is_seen", "yes")) {
        death.set("is_seen", "yes");
        death.set("place", placeOf(record));
        death.set("access", record.textOr("kind"));
      }
    }
}

void addDeath(const Json &line, Record &death) {
  death.set("kind", line.textOr("kind"));
  death.set("target", line.textOr("target"));
  death.set("error", line.textOr("error"));
  if (const Json *address = line.find("address")) {
    death.set("address", hex(*address));
    death.set("is_null", address->number() < (64 << 10) ? "yes" : "no");
  }
  if (const Json *reasons = line.find("reasons")) {
    std::string text;
    for (const Json &one : reasons->list()) text += (text.empty() ? "" : ", ") + one.text();
    death.set("reasons", text);
  }
  if (line.at("memory").size() != 0) addMemory(line.at("memory").at(0), death);
  death.set("in_flight", std::to_string(line.at("in_flight").number()));
  for (const Json &dispatch : line.at("dispatches").list()) addDispatch(dispatch, death);
  if (const Json *pc = line.find("pc"); pc && !death.find("place"))
    death.set("place", placeOf(*pc));
  if (!death.find("place")) death.set("place", "unknown line");
  if (!death.find("kernel")) death.set("kernel", "no kernel");
}

} // namespace

void addDeaths(std::string_view lines, Facts &facts) {
  std::size_t count = 0;
  for (const std::string &text : linesOf(lines)) {
    try {
      const Json line = Json::parse(text);
      if (line.textOr("type") != "death" || line.at("version").number() != 1) continue;
      Record death;
      addDeath(line, death);
      if (++count > kMostDeaths) return;
      death.set("number", std::to_string(count));
      facts.add("death").values = std::move(death.values);
    } catch (const std::invalid_argument &) { // anybody may have written it
    }
  }
}

void lookAtDeaths(const Tree &tree, Facts &facts) {
  if (tree.isThisMachine()) return;
  addDeaths(tree.text(std::string(kNotes) + "deaths", kMostBytes).value_or(""), facts);
}

} // namespace fade::doctor
