#include "host_trace/collectives.h"

#include "base/json_text.h"
#include "host_trace/log_text.h"
#include "host_trace/run_clocks.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

namespace fade::host_trace {
namespace {

using Json = nlohmann::json;

/// What follows "NAME=" in the arguments of a range.
std::string_view valueOf(std::string_view arguments, std::string_view name) {
  for (std::size_t at = 0; at < arguments.size();) {
    const std::size_t end = std::min(arguments.find(' ', at), arguments.size());
    const std::string_view part = arguments.substr(at, end - at);
    if (part.starts_with(name) && part.size() > name.size() && part[name.size()] == '=')
      return part.substr(name.size() + 1);
    at = end + 1;
  }
  return {};
}

std::optional<uint64_t> numberIn(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || text.empty()) return std::nullopt;
  return number;
}

/// A call of all ranks of a communicator together.
struct Meeting {
  std::string name;
  struct Guest {
    std::size_t unit = 0;
    int64_t start = 0, end = 0; ///< on the common clock
  };
  std::vector<Guest> guests;

  const Guest &last() const { return *std::ranges::max_element(guests, {}, &Guest::start); }
  const Guest &first() const { return *std::ranges::min_element(guests, {}, &Guest::start); }
};

/// By job, communicator and number. Files are somebody else's: what is wrong in them is left out.
using Meetings = std::map<std::tuple<std::string, std::string, uint64_t>, Meeting>;

void readFile(const RunMember &member, std::size_t unit, int64_t offset, Meetings &meetings) {
  std::ifstream file(member.folder + kCollectivesFile);
  for (std::string line; std::getline(file, line);) {
    const Json json = parsedJson(line);
    if (!json.is_object() || json.value("type", "") != "collectives") continue;
    try {
      const std::string comm = json.at("comm");
      const std::vector<std::string> names = json.at("functions");
      for (const Json &call : json.at("calls")) {
        const auto start = call.at(2).get<int64_t>();
        Meeting &meeting = meetings[{member.summary.process.job, comm, call.at(0).get<uint64_t>()}];
        meeting.name = names.at(call.at(1).get<std::size_t>());
        meeting.guests.push_back(
            {unit, start + offset, start + offset + call.at(3).get<int64_t>()});
      }
    } catch (const std::exception &) { // of another form
    }
  }
}

/// Steps back from the end: within a rank to its last meeting, and there to who came last.
RankPath pathThrough(const std::vector<const Meeting *> &meetings, const Run &run,
                     const std::vector<Unit> &units, const std::vector<int64_t> &offsets) {
  struct Visit {
    int64_t end = 0;
    const Meeting *meeting = nullptr;
  };
  std::vector<std::vector<Visit>> visits(units.size());
  for (const Meeting *meeting : meetings)
    for (const Meeting::Guest &guest : meeting->guests)
      visits[guest.unit].push_back({guest.end, meeting});
  for (auto &of_unit : visits) std::ranges::sort(of_unit, {}, &Visit::end);
  std::vector<int64_t> begins(units.size(), INT64_MAX), ends(units.size(), INT64_MIN);
  for (std::size_t u = 0; u < units.size(); ++u)
    for (const RunMember *member : units[u].members) {
      const int64_t offset = offsets[static_cast<std::size_t>(member - run.members.data())];
      begins[u] = std::min(begins[u], static_cast<int64_t>(member->summary.start_ns) + offset);
      ends[u] = std::max(ends[u], static_cast<int64_t>(member->summary.end_ns) + offset);
    }
  RankPath path;
  path.of_unit.resize(units.size());
  auto unit = static_cast<std::size_t>(std::ranges::max_element(ends) - ends.begin());
  int64_t time = ends[unit];
  const auto take = [&](int64_t from) {
    const auto length = static_cast<uint64_t>(std::max<int64_t>(time - from, 0));
    path.of_unit[unit] += length;
    path.total_ns += length;
    time = std::min(time, from);
  };
  for (;;) {
    auto &before = visits[unit];
    while (!before.empty() && before.back().end > time) before.pop_back();
    if (before.empty()) break;
    const Meeting::Guest &last = before.back().meeting->last();
    before.pop_back();
    take(last.start);
    path.changes += last.unit != unit;
    unit = last.unit;
  }
  take(begins[unit]);
  return path;
}

} // namespace

bool isCollective(std::string_view domain, std::string_view arguments) {
  return domain == kMpiDomain && !valueOf(arguments, "comm").empty() &&
         numberIn(valueOf(arguments, "seq"));
}

Status writeCollectives(const std::vector<Range> &ranges, const std::string &folder) {
  struct Lines {
    std::vector<std::string> functions;
    Json calls = Json::array();
  };
  std::map<std::string, Lines, std::less<>> by_comm;
  std::size_t kept = 0;
  for (const Range &range : ranges) {
    if (!range.is_named || range.domain != kMpiDomain || kept == kMostCollectives) continue;
    const std::string_view comm = valueOf(range.arguments, "comm");
    const auto number = numberIn(valueOf(range.arguments, "seq"));
    if (comm.empty() || !number) continue;
    ++kept;
    Lines &lines = by_comm[std::string(comm)];
    auto at = std::ranges::find(lines.functions, range.text);
    if (at == lines.functions.end()) at = lines.functions.insert(at, std::string(range.text));
    lines.calls.push_back({*number, at - lines.functions.begin(), range.start_ns,
                           range.end_ns - std::min(range.start_ns, range.end_ns)});
  }
  if (by_comm.empty()) return Done{};
  const std::string path = folder + kCollectivesFile;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  for (const auto &[comm, lines] : by_comm)
    file << jsonText(Json{{"type", "collectives"},
                          {"version", 1},
                          {"comm", comm},
                          {"functions", lines.functions},
                          {"calls", lines.calls}})
         << '\n';
  file.close();
  if (!file) return Error{path, "", 0, "cannot be written"};
  return Done{};
}

Collectives Collectives::of(const Run &run, const std::vector<Unit> &units) {
  Collectives all;
  const CommonClock clock = commonClock(run);
  Meetings meetings;
  for (std::size_t u = 0; u < units.size(); ++u)
    for (const RunMember *member : units[u].members)
      readFile(*member, u, clock.offsets_ns[static_cast<std::size_t>(member - run.members.data())],
               meetings);
  std::vector<const Meeting *> complete;
  std::map<std::string, CollectiveRow> rows;
  std::map<std::string, std::map<std::size_t, uint64_t>> lasts;
  for (const auto &[key, meeting] : meetings) {
    const auto size = numberIn(std::get<1>(key));
    if (!size || meeting.guests.size() != *size) {
      ++all.incomplete;
      continue;
    }
    if (meeting.guests.size() < 2) continue;
    complete.push_back(&meeting);
    CollectiveRow &row = rows[meeting.name];
    row.name = meeting.name;
    ++row.count;
    const Meeting::Guest &last = meeting.last();
    for (const Meeting::Guest &guest : meeting.guests) {
      row.time_ns += static_cast<uint64_t>(guest.end - guest.start);
      row.waiting_ns += static_cast<uint64_t>(
          std::clamp<int64_t>(last.start - guest.start, 0, guest.end - guest.start));
    }
    row.longest_ns =
        std::max(row.longest_ns, static_cast<uint64_t>(last.start - meeting.first().start));
    if (const uint64_t times = ++lasts[meeting.name][last.unit]; times > row.last_count) {
      row.last_count = times;
      row.last = last.unit;
    }
  }
  for (auto &[name, row] : rows) all.rows.push_back(std::move(row));
  std::ranges::sort(all.rows, [](const CollectiveRow &a, const CollectiveRow &b) {
    return std::tuple(b.waiting_ns, std::string_view(a.name)) <
           std::tuple(a.waiting_ns, std::string_view(b.name));
  });
  if (!complete.empty()) all.path = pathThrough(complete, run, units, clock.offsets_ns);
  return all;
}

std::string Collectives::pathText(const std::vector<Unit> &units) const {
  if (path.total_ns == 0) return "";
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < path.of_unit.size(); ++i)
    if (path.of_unit[i] != 0) order.push_back(i);
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return std::pair(path.of_unit[b], a) < std::pair(path.of_unit[a], b);
  });
  constexpr std::size_t most = 4;
  std::string text = durationText(path.total_ns);
  for (std::size_t i = 0; i < std::min(most, order.size()); ++i)
    text += fmt::format("{} {} {} ({:.0f}%)", i == 0 ? ":" : ",",
                        cli::printable(units[order[i]].name), durationText(path.of_unit[order[i]]),
                        100.0 * static_cast<double>(path.of_unit[order[i]]) /
                            static_cast<double>(path.total_ns));
  if (order.size() > most) text += fmt::format(", {} others", order.size() - most);
  return text;
}

} // namespace fade::host_trace
