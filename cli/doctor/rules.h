// What is known of problems, as data: doctor/rules/*.json. A rule says when it applies, what is
// wrong then, by which facts one sees it, what helps, and who says so. docs/doctor.md describes the
// files.
#pragma once

#include "base/result.h"
#include "doctor/facts.h"
#include "doctor/look.h"

#include <memory>
#include <span>

namespace fade::doctor {

enum class Severity { note, limit, broken };
const char *nameOf(Severity severity);

/// Something that can be written to a file, and taken back.
struct Fix {
  enum class Kind { environment, modprobe, kernel, udev } kind = Kind::environment;
  std::string text; ///< NAME=VALUE, parameter=value, amdgpu.parameter=value, a udev rule
};

struct Remedy {
  std::string what;
  std::string cost; ///< what it takes: "new login", "reboot", …; may be empty
  std::string source;
  std::vector<Fix> fixes;
};

struct Finding {
  std::string rule;
  Severity severity = Severity::note;
  std::string text;
  std::vector<std::string> evidence;
  std::vector<Remedy> remedies; ///< what helps most for least comes first
  std::string source;
  std::string gpu;   ///< its node, if it concerns only that one
  std::string death; ///< the number of the death that it is about
};

/// 0: usable, 1: usable with limits, 2: not usable.
int verdictOf(const Facts &facts, std::span<const Finding> findings);

class RuleSet {
public:
  RuleSet();
  RuleSet(RuleSet &&) noexcept;
  RuleSet &operator=(RuleSet &&) noexcept;
  ~RuleSet();

  /// Adds a file, or all *.json of a folder. The error names the file and the rule.
  Status add(const std::string &path);
  Status addText(const std::string &name, std::string_view json);

  std::span<const KnownVariable> variables() const { return variables_; }
  std::size_t size() const;
  /// The worst first.
  std::vector<Finding> judge(const Facts &facts) const { return judge(facts, ""); }
  /// Only by rules that are for a kind of records; "": by all.
  std::vector<Finding> judge(const Facts &facts, std::string_view kind) const;

private:
  struct Rule;
  std::vector<Rule> rules_;
  std::vector<KnownVariable> variables_;
};

} // namespace fade::doctor
