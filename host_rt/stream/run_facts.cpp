#include "stream/run_facts.h"

#include "fade/csv_writer.h"
#include "fade/handler_abi.h"
#include "fade/json_writer.h"
#include "stream/output.h"

#include <algorithm>
#include <fmt/format.h>

namespace fade {
namespace {

constexpr uint32_t kMostGpus = 1024, kMostOptions = 64;
constexpr std::size_t kMostCommand = 200; // characters of it in a line for people

/// In lines of at most so many characters, the later ones indented; long words are cut.
std::string wrapped(const std::string &text, std::size_t columns) {
  std::string out, line;
  const auto end = [&] {
    out += line + '\n';
    line = " ";
  };
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t to = std::min(text.find(' ', at), text.size());
    std::string word = text.substr(at, to - at);
    if (word.size() + 2 > columns) word = word.substr(0, columns - 5) + "...";
    if (!line.empty() && line.size() + 1 + word.size() > columns) end();
    line += (line.empty() ? "" : " ") + word;
    at = to + 1;
  }
  end();
  return out;
}

} // namespace

bool RunFacts::inSoftware() const { return std::ranges::any_of(gpus, &RunGpu::in_software); }

std::string RunFacts::gpuText() const {
  // Machines have eight of the same.
  std::vector<std::pair<std::string, unsigned>> kinds;
  for (const RunGpu &gpu : gpus) {
    std::string text = gpu.target;
    if (gpu.in_software)
      text += " (software GPU)";
    else if (!gpu.name.empty() && gpu.name != gpu.target)
      text += fmt::format(" ({})", gpu.name);
    const auto at = std::ranges::find(kinds, text, &decltype(kinds)::value_type::first);
    if (at == kinds.end())
      kinds.emplace_back(std::move(text), 1);
    else
      ++at->second;
  }
  std::string all;
  for (const auto &[text, count] : kinds)
    all += fmt::format("{}{}{}", all.empty() ? "" : ", ",
                       count > 1 ? fmt::format("{} x ", count) : "", text);
  return all.empty() ? "no GPU" : all;
}

std::string RunFacts::text(std::size_t columns) const {
  std::string versions;
  for (const auto &[what, version] :
       {std::pair("FADE", &fade), std::pair("ROCr", &runtime), std::pair("HIP", &hip)})
    if (!version->empty())
      versions += fmt::format("{}{} {}", versions.empty() ? "" : ", ", what, *version);
  std::string shown = command;
  if (shown.size() > kMostCommand) shown = shown.substr(0, kMostCommand) + "...";
  std::string choice;
  for (const std::string &option : options) choice += " " + option;
  return wrapped(printable(fmt::format("ran on {}; {}; {}", gpuText(), versions, date)), columns) +
         wrapped(
             printable(fmt::format("{}{}", shown, choice.empty() ? "" : " | options:" + choice)),
             columns);
}

std::string RunFacts::json() const {
  JsonWriter json;
  json.object([&] {
    json.field("type", "run");
    json.field("version", FADE_REPORT_VERSION);
    json.field("fade", fade);
    json.field("runtime", runtime);
    json.field("hip", hip);
    json.field("command", command);
    json.field("date", date);
    json.field("pid", process);
    json.list("options", [&] {
      for (const std::string &option : options) json.value(option);
    });
    json.list("gpus", [&] {
      for (const RunGpu &gpu : gpus)
        json.object([&] {
          json.field("agent", gpu.agent);
          json.field("target", gpu.target);
          json.field("name", gpu.name);
          json.field("software", gpu.in_software);
        });
    });
  });
  return json.take();
}

std::string RunFacts::csv() const {
  CsvWriter csv;
  csv.row("type", "version", "fade", "runtime", "hip", "command", "date", "pid", "options", "agent",
          "target", "name", "software");
  const std::string chosen = fmt::format("{}", fmt::join(options, " "));
  const auto row = [&](const auto &agent, const std::string &target, const std::string &name,
                       const char *software) {
    csv.row("run", FADE_REPORT_VERSION, fade, runtime, hip, command, date, process, chosen, agent,
            target, name, software);
  };
  for (const RunGpu &gpu : gpus)
    row(gpu.agent, gpu.target, gpu.name, gpu.in_software ? "true" : "false");
  if (gpus.empty()) row("", "", "", "");
  return csv.take();
}

void RunFacts::write(trace::Writer &to) const {
  for (const std::string *text : {&fade, &runtime, &hip, &command, &date}) to.putString(*text);
  to.put(process);
  to.put(static_cast<uint32_t>(options.size()));
  for (const std::string &option : options) to.putString(option);
  to.put(static_cast<uint32_t>(gpus.size()));
  for (const RunGpu &gpu : gpus) {
    to.put(gpu.agent);
    to.put(uint32_t{gpu.in_software});
    to.putString(gpu.target);
    to.putString(gpu.name);
  }
}

std::optional<RunFacts> RunFacts::read(trace::Reader from) {
  RunFacts facts;
  const auto text = [&](std::string &to) {
    auto taken = from.takeString();
    if (taken) to = *std::move(taken);
    return taken.has_value();
  };
  for (std::string *to : {&facts.fade, &facts.runtime, &facts.hip, &facts.command, &facts.date})
    if (!text(*to)) return std::nullopt;
  const auto process = from.take<uint64_t>();
  const auto options = from.take<uint32_t>();
  if (!process || !options || *options > kMostOptions) return std::nullopt;
  facts.process = *process;
  for (uint32_t i = 0; i < *options; ++i)
    if (!text(facts.options.emplace_back())) return std::nullopt;
  const auto gpus = from.take<uint32_t>();
  if (!gpus || *gpus > kMostGpus) return std::nullopt;
  for (uint32_t i = 0; i < *gpus; ++i) {
    RunGpu &gpu = facts.gpus.emplace_back();
    const auto agent = from.take<uint32_t>(), in_software = from.take<uint32_t>();
    if (!agent || !in_software || !text(gpu.target) || !text(gpu.name)) return std::nullopt;
    gpu.agent = *agent;
    gpu.in_software = *in_software != 0;
  }
  return facts;
}

} // namespace fade
