// Rules as data: what is refused, and what conditions mean.
#include "doctor/rules.h"

#include <gtest/gtest.h>

namespace fade::doctor {
namespace {

std::string ruleWith(const std::string &when, const std::string &more = "") {
  return R"({"version": 1, "rules": [{"id": "r", "severity": "limit", "for": ["gpu"], "when": )" +
         when + R"(, "finding": "f", "source": "s")" + more + "}]}";
}

std::string errorOf(const std::string &json) {
  RuleSet rules;
  const auto status = rules.addText("x.json", json);
  return status.ok() ? "" : status.error().message();
}

bool applies(const std::string &when) {
  RuleSet rules;
  const auto status = rules.addText("x.json", ruleWith(when));
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message());
  Facts facts;
  Record &gpu = facts.add("gpu");
  gpu.set("gfx", "gfx1031");
  gpu.set("version", "6.10");
  gpu.set("archs", "gfx90a gfx10-3-generic");
  gpu.set("other", "gfx1031");
  facts.add("device").set("path", "/dev/kfd");
  return !rules.judge(facts).empty();
}

TEST(DoctorRules, AWrongRuleIsRefusedWithItsNameAndWhatIsWrong) {
  EXPECT_EQ(errorOf(ruleWith("[]")), "");
  EXPECT_NE(errorOf("{").find("x.json"), std::string::npos);
  EXPECT_EQ(errorOf(R"({"version": 2})"), "x.json: 'version' is not 1");
  EXPECT_EQ(errorOf(ruleWith("[]", R"(, "cause": "c")")), "x.json: rule 'r': unknown key 'cause'");
  EXPECT_EQ(errorOf(ruleWith(R"([{"fact": "gpu.gfx", "equals": "x"}])")),
            "x.json: rule 'r': unknown test 'equals'");
  EXPECT_EQ(errorOf(ruleWith(R"([{"fact": "rocm.version", "is": "6"}])")),
            "x.json: rule 'r': 'rocm.version' is not a fact of the rule's kind of record");
  EXPECT_NE(errorOf(ruleWith(R"([{"fact": "gpu.gfx", "matches": "("}])"))
                .find("is not a regular expression"),
            std::string::npos);
  EXPECT_NE(errorOf(ruleWith(R"([{"none": "cats"}])")).find("none: expected a kind"),
            std::string::npos);
  std::string deep = R"({"fact": "gpu.gfx", "is": "x"})";
  for (int i = 0; i < 20; ++i) deep = R"({"not": )" + deep + "}";
  EXPECT_NE(errorOf(ruleWith(deep)).find("too deeply"), std::string::npos);
}

TEST(DoctorRules, TwoOfTheSameNameAreRefused) {
  RuleSet rules;
  EXPECT_TRUE(rules.addText("a", ruleWith("[]")).ok());
  EXPECT_FALSE(rules.addText("b", ruleWith("[]")).ok());
}

TEST(DoctorRules, VersionsCompareAsNumbers) {
  EXPECT_TRUE(applies(R"([{"fact": "gpu.version", "at_least": "6.2"}])"));
  EXPECT_FALSE(applies(R"([{"fact": "gpu.version", "below": "6.2"}])"));
  EXPECT_TRUE(applies(R"([{"fact": "gpu.version", "below": "7"}])"));
}

TEST(DoctorRules, WhatIsNotKnownProvesNothing) {
  EXPECT_FALSE(applies(R"([{"fact": "gpu.nothing", "is": "x"}])"));
  EXPECT_FALSE(applies(R"([{"fact": "gpu.nothing", "is_not": "x"}])"));
  EXPECT_FALSE(applies(R"([{"fact": "gpu.nothing", "below": "6"}])"));
  EXPECT_FALSE(applies(R"([{"fact": "gpu.nothing", "lacks": "x"}])"));
  EXPECT_TRUE(applies(R"([{"fact": "gpu.nothing", "unknown": true}])"));
  EXPECT_FALSE(applies(R"([{"fact": "gpu.gfx", "unknown": true}])"));
}

TEST(DoctorRules, CodeForAGenericTargetRunsOnItsGpus) {
  EXPECT_TRUE(applies(R"([{"fact": "gpu.archs", "runs_on": "gfx1031"}])"));
  EXPECT_TRUE(applies(R"([{"fact": "gpu.archs", "runs_on": "{gpu.gfx}"}])"));
  EXPECT_TRUE(applies(R"([{"fact": "gpu.archs", "runs_not_on": "gfx1100"}])"));
}

TEST(DoctorRules, ConditionsCombine) {
  const std::string yes = R"({"fact": "gpu.gfx", "matches": "gfx103."})";
  const std::string no = R"({"fact": "gpu.gfx", "matches": "gfx10"})"; // the whole value
  EXPECT_TRUE(applies("[" + yes + "]"));
  EXPECT_FALSE(applies("[" + yes + ", " + no + "]"));
  EXPECT_TRUE(applies(R"([{"any": [)" + no + ", " + yes + "]}]"));
  EXPECT_TRUE(applies(R"([{"not": )" + no + "}]"));
  EXPECT_TRUE(applies(R"([{"fact": "gpu.other", "is": "{gpu.gfx}"}])"));
  EXPECT_FALSE(
      applies(R"([{"none": "device", "when": [{"fact": "device.path", "is": "/dev/kfd"}]}])"));
  EXPECT_TRUE(
      applies(R"([{"none": "device", "when": [{"fact": "device.path", "is": "/dev/x"}]}])"));
}

TEST(DoctorVerdict, OneGpuThatWorksIsEnough) {
  Facts facts;
  facts.add("gpu").set("node", "1");
  facts.add("gpu").set("node", "2");
  Finding finding;
  finding.severity = Severity::broken;
  finding.gpu = "1";
  EXPECT_EQ(verdictOf(facts, std::vector<Finding>{finding}), 1);
  Finding other = finding;
  other.gpu = "2";
  EXPECT_EQ(verdictOf(facts, std::vector<Finding>{finding, other}), 2);
  finding.gpu = "";
  EXPECT_EQ(verdictOf(facts, std::vector<Finding>{finding}), 2);
  EXPECT_EQ(verdictOf(facts, {}), 0);
}

} // namespace
} // namespace fade::doctor
