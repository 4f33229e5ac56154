#include "doctor/rules.h"

#include "doctor/condition.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

namespace fade::doctor {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFindings = 500;

std::string textOf(const Json &json, const char *key, bool is_needed) {
  const Json *at = json.find(key);
  if (!at && !is_needed) return "";
  if (!at || !at->isText() || at->text().empty())
    throw std::invalid_argument(fmt::format("'{}' is missing or not a string", key));
  return at->text();
}

std::vector<std::string> textsOf(const Json &json, const char *key) {
  std::vector<std::string> texts;
  const Json *at = json.find(key);
  if (!at) return texts;
  if (!at->isList()) throw std::invalid_argument(fmt::format("'{}' is not a list", key));
  for (const Json &one : at->list()) {
    if (!one.isText())
      throw std::invalid_argument(fmt::format("'{}' contains something that is not a string", key));
    texts.push_back(one.text());
  }
  return texts;
}

void onlyKeys(const Json &json, std::initializer_list<std::string_view> known) {
  if (!json.isObject()) throw std::invalid_argument("expected an object");
  for (const auto &[key, value] : json.members())
    if (std::ranges::find(known, key) == known.end())
      throw std::invalid_argument(fmt::format("unknown key '{}'", key));
}

Remedy readRemedy(const Json &json) {
  onlyKeys(json, {"do", "cost", "source", "environment", "modprobe", "kernel", "udev"});
  Remedy remedy{
      textOf(json, "do", true), textOf(json, "cost", false), textOf(json, "source", false), {}};
  constexpr std::pair<const char *, Fix::Kind> kinds[] = {{"environment", Fix::Kind::environment},
                                                          {"modprobe", Fix::Kind::modprobe},
                                                          {"kernel", Fix::Kind::kernel},
                                                          {"udev", Fix::Kind::udev}};
  for (const auto &[key, kind] : kinds)
    for (const std::string &text : textsOf(json, key)) remedy.fixes.push_back({kind, text});
  return remedy;
}

Severity readSeverity(const std::string &name) {
  for (const Severity severity : {Severity::note, Severity::limit, Severity::broken})
    if (name == nameOf(severity)) return severity;
  throw std::invalid_argument(fmt::format("severity '{}' is not note, limit or broken", name));
}

} // namespace

struct RuleSet::Rule {
  std::string id;
  Severity severity = Severity::note;
  std::vector<std::string> kinds;
  Condition when;
  std::string finding, source;
  std::vector<std::string> evidence, hides;
  std::vector<Remedy> remedies;
  bool once = false;

  static Rule read(const Json &json) {
    onlyKeys(json, {"id", "severity", "for", "when", "finding", "evidence", "remedies", "source",
                    "hides", "once"});
    Rule rule;
    rule.id = textOf(json, "id", true);
    rule.severity = readSeverity(textOf(json, "severity", true));
    rule.kinds = textsOf(json, "for");
    if (rule.kinds.empty()) rule.kinds.push_back("machine");
    for (const std::string &kind : rule.kinds)
      if (!isKind(kind)) throw std::invalid_argument(fmt::format("unknown kind '{}'", kind));
    // The machine and the user are there for every rule.
    std::vector<std::string> known = rule.kinds;
    for (const char *always : {"machine", "user"})
      if (std::ranges::find(known, always) == known.end()) known.emplace_back(always);
    if (!json.contains("when")) throw std::invalid_argument("'when' is missing");
    rule.when = Condition::read(json.at("when"), known);
    rule.finding = textOf(json, "finding", true);
    rule.source = textOf(json, "source", true);
    rule.evidence = textsOf(json, "evidence");
    rule.hides = textsOf(json, "hides");
    if (const Json *remedies = json.find("remedies"))
      for (const Json &one : remedies->list()) rule.remedies.push_back(readRemedy(one));
    if (const Json *once = json.find("once")) rule.once = once->boolean();
    return rule;
  }

  Finding filledFor(const Binding &binding) const {
    Finding result;
    result.rule = id;
    result.severity = severity;
    result.text = filled(finding, binding);
    result.source = source;
    for (const std::string &one : evidence) result.evidence.push_back(filled(one, binding));
    for (Remedy remedy : remedies) {
      remedy.what = filled(remedy.what, binding);
      for (Fix &fix : remedy.fixes) fix.text = filled(fix.text, binding);
      result.remedies.push_back(std::move(remedy));
    }
    if (const auto gpu = binding.find("gpu"); gpu != binding.end())
      result.gpu = gpu->second->get("node");
    if (const auto death = binding.find("death"); death != binding.end())
      result.death = death->second->get("number");
    return result;
  }

  /// For every combination of records of its kinds.
  void judge(const Facts &facts, Binding &binding, std::size_t next,
             std::vector<Finding> &findings) const {
    if (findings.size() >= kMostFindings) return;
    if (next < kinds.size()) {
      for (const Record *record : facts.of(kinds[next])) {
        binding[kinds[next]] = record;
        judge(facts, binding, next + 1, findings);
        if (once && !findings.empty() && findings.back().rule == id) return;
      }
      return;
    }
    if (!when.holds(facts, binding)) return;
    Finding found = filledFor(binding);
    const auto is_same = [&](const Finding &other) {
      return other.rule == found.rule && other.text == found.text && other.gpu == found.gpu &&
             other.death == found.death;
    };
    if (std::ranges::none_of(findings, is_same)) findings.push_back(std::move(found));
  }
};

RuleSet::RuleSet() = default;
RuleSet::RuleSet(RuleSet &&) noexcept = default;
RuleSet &RuleSet::operator=(RuleSet &&) noexcept = default;
RuleSet::~RuleSet() = default;
std::size_t RuleSet::size() const { return rules_.size(); }

const char *nameOf(Severity severity) {
  return severity == Severity::broken ? "broken" : severity == Severity::limit ? "limit" : "note";
}

Status RuleSet::add(const std::string &path) {
  std::error_code error;
  std::vector<std::string> files = {path};
  if (fs::is_directory(path, error)) {
    files.clear();
    for (const auto &entry : fs::directory_iterator(path, error))
      if (entry.path().extension() == ".json") files.push_back(entry.path().string());
    std::ranges::sort(files);
    if (files.empty()) return Error::of(path + ": no rules (*.json) in this folder");
  }
  for (const std::string &file : files) {
    std::ostringstream text;
    const std::ifstream stream(file, std::ios::binary);
    if (!stream || !(text << stream.rdbuf())) return Error::of(file + ": cannot be read");
    if (auto status = addText(file, text.str()); !status) return status;
  }
  return Done{};
}

Status RuleSet::addText(const std::string &name, std::string_view text) {
  std::string where = name;
  try {
    const Json json = Json::parse(text);
    onlyKeys(json, {"version", "about", "rules", "variables"});
    const Json *version = json.find("version");
    if (!version || !version->is(Json::Type::number) || version->number() != 1)
      throw std::invalid_argument("'version' is not 1");
    static const std::vector<Json> none;
    const auto listOf = [&](const char *key) -> const std::vector<Json> & {
      const Json *list = json.find(key);
      return list ? list->list() : none;
    };
    for (const Json &one : listOf("rules")) {
      where = fmt::format("{}: rule '{}'", name, one.textOr("id", "?"));
      Rule rule = Rule::read(one);
      if (std::ranges::any_of(rules_, [&](const Rule &other) { return other.id == rule.id; }))
        throw std::invalid_argument("another rule has this name");
      rules_.push_back(std::move(rule));
    }
    for (const Json &one : listOf("variables")) {
      where = fmt::format("{}: variable '{}'", name, one.textOr("name", "?"));
      onlyKeys(one, {"name", "readers", "meaning", "source"});
      variables_.push_back(
          {textOf(one, "name", true), textsOf(one, "readers"), textOf(one, "meaning", true)});
    }
  } catch (const std::exception &wrong) { // of the JSON library, or one of the above
    return Error::of(fmt::format("{}: {}", where, wrong.what()));
  }
  return Done{};
}

std::vector<Finding> RuleSet::judge(const Facts &facts, std::string_view kind) const {
  std::vector<Finding> findings;
  Binding always;
  static const Record nothing;
  for (const char *one : {"machine", "user"}) {
    const auto records = facts.of(one);
    always[one] = records.empty() ? &nothing : records.front();
  }
  std::set<std::string> hidden;
  for (const Rule &rule : rules_) {
    if (!kind.empty() && std::ranges::find(rule.kinds, kind) == rule.kinds.end()) continue;
    const std::size_t before = findings.size();
    Binding binding = always;
    rule.judge(facts, binding, 0, findings);
    if (findings.size() > before) hidden.insert(rule.hides.begin(), rule.hides.end());
  }
  std::erase_if(findings, [&](const Finding &one) { return hidden.contains(one.rule); });
  std::vector<Finding> sorted;
  for (const Severity severity : {Severity::broken, Severity::limit, Severity::note})
    for (Finding &one : findings)
      if (one.severity == severity) sorted.push_back(std::move(one));
  return sorted;
}

int verdictOf(const Facts &facts, std::span<const Finding> findings) {
  std::set<std::string> broken;
  int verdict = 0;
  for (const Finding &finding : findings) {
    if (finding.severity == Severity::note) continue;
    verdict = std::max(verdict, 1);
    if (finding.severity != Severity::broken) continue;
    if (finding.gpu.empty()) return 2;
    broken.insert(finding.gpu);
  }
  // One GPU that works is enough.
  const auto gpus = facts.of("gpu");
  const bool all = std::ranges::all_of(
      gpus, [&](const Record *gpu) { return broken.contains(gpu->get("node")); });
  return all ? 2 : verdict;
}

} // namespace fade::doctor
