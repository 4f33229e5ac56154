#include "doctor/output.h"

#include "base/text_layout.h"
#include "doctor/tree.h"
#include "fade/json_writer.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fade::doctor {
namespace {

constexpr std::size_t kWidth = 80;

/// The text on as many lines as it needs; the first starts with `label`, padded to `indent`.
std::string wrapped(std::string_view label, std::size_t indent, std::string_view text) {
  std::string result, line = fmt::format("{:<{}}", label, indent);
  std::size_t used = indent;
  bool is_first = true;
  for (const std::string &raw : wordsOf(text)) {
    const std::string word = cli::printable(raw);
    if (!is_first && used + 1 + word.size() > kWidth) {
      result += line + '\n';
      line = std::string(indent, ' ');
      used = indent;
      is_first = true;
    }
    if (!is_first) {
      line += ' ';
      ++used;
    }
    line += word;
    used += word.size();
    is_first = false;
  }
  return result + line + '\n';
}

std::string counted(std::size_t count, const char *one, const char *many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string headline(const Diagnosis &diagnosis) {
  const auto count = [&](Severity severity) {
    return static_cast<std::size_t>(
        std::ranges::count(diagnosis.findings, severity, &Finding::severity));
  };
  std::string text = fmt::format("{}: {}, {}, {}", nameOfVerdict(diagnosis.verdict),
                                 counted(count(Severity::broken), "problem", "problems"),
                                 counted(count(Severity::limit), "limit", "limits"),
                                 counted(count(Severity::note), "note", "notes"));
  if (!diagnosis.probes.empty())
    text += fmt::format(
        "; {} of {} probes failed",
        std::ranges::count(diagnosis.probes, ProbeResult::Outcome::failed, &ProbeResult::outcome),
        diagnosis.probes.size());
  return text + "\n";
}

std::string machineText(const Record &machine) {
  std::string text = machine.get("os");
  if (const auto kernel = machine.get("kernel"); !kernel.empty())
    text += fmt::format("{}kernel {}", text.empty() ? "" : ", ", kernel);
  text += fmt::format("{}amdgpu {}", text.empty() ? "" : ", ", machine.get("amdgpu"));
  if (const auto version = machine.get("amdgpu.version"); !version.empty())
    text += fmt::format(" ({})", version);
  if (const auto container = machine.get("container"); !container.empty())
    text += fmt::format(", in a {} container", container);
  return text;
}

std::string whatIsHere(const Diagnosis &diagnosis) {
  constexpr std::size_t indent = 11;
  std::string text;
  for (const Record *machine : diagnosis.facts.of("machine"))
    text += wrapped("machine", indent, machineText(*machine));
  for (const Record *gpu : diagnosis.facts.of("gpu")) {
    std::string line = fmt::format("{}, {}, {}", gpu->get("name"),
                                   gpu->find("vram_mib") ? gpu->get("vram_mib") + " MiB"
                                                         : "memory of unknown size",
                                   gpu->get("pci"));
    if (!gpu->is("effective_gfx", gpu->get("gfx")))
      line += fmt::format(", runs as {}", gpu->get("effective_gfx"));
    text += wrapped("GPU " + gpu->get("node"), indent, line);
  }
  for (const Record *rocm : diagnosis.facts.of("rocm"))
    text += wrapped("ROCm", indent,
                    fmt::format("{} in {} ({})",
                                rocm->find("version") ? rocm->get("version") : "unknown version",
                                rocm->get("path"), rocm->get("origin")));
  for (const Record *variable : diagnosis.facts.of("variable")) {
    if (!variable->is("in_environment", "yes")) continue;
    std::string readers;
    for (const std::string &path : wordsOf(variable->get("readers")))
      readers += (readers.empty() ? "" : ", ") + path.substr(path.rfind('/') + 1);
    text += wrapped("variable", indent,
                    fmt::format("{}={} ({})", variable->get("name"), variable->get("value"),
                                readers.empty() ? "no library reads it" : "read by " + readers));
  }
  for (const Record *load : diagnosis.facts.of("load"))
    text += wrapped("loads", indent,
                    load->is("found", "yes") ? fmt::format("{}: {} ({})", load->get("name"),
                                                           load->get("path"), load->get("reason"))
                                             : fmt::format("{}: not found", load->get("name")));
  return text;
}

std::string labelOf(Severity severity) {
  return severity == Severity::broken ? "BROKEN" : severity == Severity::limit ? "LIMIT" : "note";
}

/// What --fix would write. A driver's parameter may be set in two places: once is enough.
std::vector<std::string> writtenBy(const Remedy &remedy) {
  const bool has_modprobe = std::ranges::any_of(
      remedy.fixes, [](const Fix &fix) { return fix.kind == Fix::Kind::modprobe; });
  std::vector<std::string> texts;
  for (const Fix &fix : remedy.fixes)
    if (!has_modprobe || fix.kind != Fix::Kind::kernel)
      texts.push_back(fix.kind == Fix::Kind::modprobe ? "amdgpu " + fix.text : fix.text);
  return texts;
}

std::string textOf(const Finding &finding) {
  constexpr std::size_t indent = 8, inner = 16;
  std::string text = wrapped(labelOf(finding.severity), indent, finding.text);
  for (std::size_t i = 0; i < finding.evidence.size(); ++i)
    text += wrapped(i == 0 ? "        seen" : "", inner, finding.evidence[i]);
  for (std::size_t i = 0; i < finding.remedies.size(); ++i) {
    const Remedy &remedy = finding.remedies[i];
    std::string what = fmt::format("{}. {}", i + 1, remedy.what);
    if (!remedy.cost.empty() && remedy.cost != "none") what += fmt::format(" [{}]", remedy.cost);
    if (!remedy.fixes.empty())
      what += fmt::format(" [--fix writes {}]", fmt::join(writtenBy(remedy), " "));
    text += wrapped(i == 0 ? "        do" : "", inner, what);
  }
  return text + wrapped("        source", inner, finding.source);
}

std::string textOf(const ProbeResult &probe) {
  std::string text = fmt::format("{}: {}", nameOf(probe.outcome), probe.text);
  if (probe.seconds > 0.05) text += fmt::format(" ({:.1f} s)", probe.seconds);
  return wrapped(fmt::format("  {}", probe.stage), 18, text);
}

void putFinding(JsonWriter &json, const Finding &finding) {
  json.object([&] {
    json.field("type", "finding");
    json.field("rule", finding.rule);
    json.field("severity", nameOf(finding.severity));
    if (!finding.gpu.empty()) json.field("gpu", finding.gpu);
    if (!finding.death.empty()) json.field("death", finding.death);
    json.field("text", finding.text);
    json.list("evidence", [&] {
      for (const std::string &one : finding.evidence) json.value(one);
    });
    json.list("remedies", [&] {
      for (const Remedy &remedy : finding.remedies)
        json.object([&] {
          json.field("do", remedy.what);
          if (!remedy.cost.empty()) json.field("cost", remedy.cost);
          if (!remedy.source.empty()) json.field("source", remedy.source);
          json.field("fixable", !remedy.fixes.empty());
          if (!remedy.fixes.empty())
            json.list("writes", [&] {
              for (const std::string &text : writtenBy(remedy)) json.value(text);
            });
        });
    });
    json.field("source", finding.source);
  });
}

} // namespace

const char *nameOfVerdict(int verdict) {
  return verdict == 0 ? "usable" : verdict == 1 ? "usable with limits" : "not usable";
}

std::string asTable(const Diagnosis &diagnosis) {
  std::string text = headline(diagnosis);
  if (const std::string here = whatIsHere(diagnosis); !here.empty()) text += "\n" + here;
  for (const Finding &finding : diagnosis.findings) text += "\n" + textOf(finding);
  if (!diagnosis.probes.empty()) text += "\nprobes\n";
  for (const ProbeResult &probe : diagnosis.probes) text += textOf(probe);
  if (!diagnosis.unreadable.empty()) text += "\nnot examined\n";
  for (const std::string &path : diagnosis.unreadable) text += wrapped("  ", 2, path);
  return text;
}

std::string asJson(const Diagnosis &diagnosis) {
  JsonWriter json;
  json.object([&] {
    json.field("type", "doctor");
    json.field("version", 1);
    json.field("verdict", nameOfVerdict(diagnosis.verdict));
    json.field("code", diagnosis.verdict);
    if (!diagnosis.root.empty()) json.field("root", diagnosis.root);
  });
  for (const Record &record : diagnosis.facts.all())
    json.object([&] {
      json.field("type", "fact");
      json.field("kind", record.kind);
      json.object("values", [&] {
        for (const auto &[name, value] : record.values) json.field(name, value);
      });
    });
  std::string text = json.take() + diagnosis.deaths;
  for (const Finding &finding : diagnosis.findings) putFinding(json, finding);
  for (const ProbeResult &probe : diagnosis.probes)
    json.object([&] {
      json.field("type", "probe");
      json.field("stage", probe.stage);
      json.field("outcome", nameOf(probe.outcome));
      json.field("text", probe.text);
      json.field("seconds", probe.seconds);
    });
  for (const std::string &path : diagnosis.unreadable)
    json.object([&] {
      json.field("type", "unreadable");
      json.field("path", path);
    });
  if (const auto &end = diagnosis.end)
    json.object([&] {
      json.field("type", "end");
      json.field("program", end->program);
      if (end->signal.empty())
        json.field("exit_code", end->exit_code);
      else
        json.field("signal", end->signal);
      json.field("timed_out", end->timed_out);
    });
  return text + json.take();
}

} // namespace fade::doctor
