#include "pages/deaths.h"

#include <cctype>
#include <fmt/format.h>

namespace fade::report {
namespace {

constexpr std::size_t kMostDeathLines = 12; // of a death
constexpr uint64_t kFar = 1 << 30;          // from an allocation that was hardly meant

std::string fileName(const std::string &path) { return path.substr(path.rfind('/') + 1); }

const Json &part(const Json &object, const char *key) {
  static const Json none = Json::object();
  const auto at = object.find(key);
  return at == object.end() || !at->is_object() ? none : *at;
}

/// Who called, the innermost of the application.
std::string callerOf(const Json &frames) {
  if (!frames.is_array() || frames.empty() || !frames.front().is_object()) return "";
  const Json &frame = frames.front();
  const std::string function = text(frame, "function"), file = text(frame, "file");
  return fmt::format("{} ({})", function.empty() ? "?" : function,
                     file.empty() ? text(frame, "library")
                                  : fmt::format("{}:{}", fileName(file), number(frame, "line")));
}

std::string memoryText(const Json &memory) {
  const std::string relation = text(memory, "relation");
  std::string out;
  if (relation == "into")
    out = fmt::format("{} bytes into", number(memory, "bytes"));
  else if (!relation.empty() && number(memory, "bytes") > kFar)
    out = relation == "beyond" ? "far above" : "far below";
  else if (!relation.empty())
    out = fmt::format("{} bytes {}", number(memory, "bytes"),
                      relation == "beyond" ? "beyond the end of" : "before");
  out += fmt::format("{}allocation {} of {} bytes", out.empty() ? "" : " ",
                     number(memory, "allocation"), number(memory, "size"));
  if (flag(memory, "freed", false)) out += ", which was freed";
  if (const auto by = memory.find("allocated_by"); by != memory.end())
    if (const std::string who = callerOf(*by); !who.empty()) out += ", made by " + who;
  return out;
}

Json one(const Json &death, SourceFiles &sources) {
  const Json &pc = part(death, "pc");
  std::string what = text(death, "kind");
  if (!what.empty()) what[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(what[0])));
  if (death.contains("address")) what += fmt::format(" at {:#x}", number(death, "address"));
  if (const std::string error = text(death, "error"); !error.empty()) what += ": " + error;
  for (const Json &reason : list(death, "reasons"))
    if (reason.is_string()) what += ", " + reason.get<std::string>();
  Json lines = Json::array();
  const auto add = [&](const std::string &line) {
    if (lines.size() < kMostDeathLines) lines.push_back(line);
  };
  for (const Json &memory : objects(death, "memory")) add(memoryText(memory));
  std::string file = text(pc, "file");
  uint64_t line = number(pc, "line");
  for (const Json &dispatch : objects(death, "dispatches")) {
    add(fmt::format("dispatch {} of {} had not ended", number(dispatch, "dispatch"),
                    text(dispatch, "kernel")));
    for (const Json &wave : objects(dispatch, "waves"))
      for (const Json &record : objects(wave, "records")) {
        const std::string place = text(record, "file");
        if (place.empty()) continue;
        // Where no program counter is known, the last record of a wave that hit the page.
        if (file.empty() && number(record, "hits") != 0) {
          file = place;
          line = number(record, "line");
        }
        if (number(record, "hits") != 0)
          add(fmt::format("{} lanes of a {} at {}:{} touched that page", number(record, "hits"),
                          text(record, "kind"), fileName(place), number(record, "line")));
      }
  }
  std::string where = text(pc, "function");
  return {{"what", what},
          {"where", where},
          {"file", sources.indexOf(file, true)},
          {"line", line},
          {"lines", std::move(lines)}};
}

} // namespace

Json deathList(const RunLog &log, SourceFiles &sources) {
  Json out = Json::array();
  for (const Json &death : log.deaths) {
    try {
      out.push_back(one(death, sources));
    } catch (const std::exception &) { // a field of another type: the kind is all there is
      out.push_back({{"what", death["kind"]},
                     {"where", ""},
                     {"file", -1},
                     {"line", 0},
                     {"lines", Json::array()}});
    }
  }
  return out;
}

} // namespace fade::report
