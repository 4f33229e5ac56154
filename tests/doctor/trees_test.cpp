// Each tree of tests/data/doctor has exactly the findings that it says.
#include "tree_file.h"

#include "doctor/collect.h"
#include "doctor/output.h"

#include <gtest/gtest.h>

namespace fade::doctor {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> allTrees() {
  std::vector<std::string> names;
  for (const auto &entry : fs::directory_iterator(FADE_DOCTOR_TREES))
    if (entry.path().extension() == ".tree") names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

const RuleSet &rules() {
  static const RuleSet all = [] {
    RuleSet set;
    const auto status = set.add(FADE_DOCTOR_RULES);
    EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message());
    return set;
  }();
  return all;
}

std::vector<std::string> textsOf(const std::vector<Finding> &findings) {
  std::vector<std::string> texts;
  for (const Finding &finding : findings) texts.push_back(finding.rule + ": " + finding.text);
  return texts;
}

class DoctorTree : public testing::TestWithParam<std::string> {};

TEST_P(DoctorTree, HasTheExpectedFindings) {
  const test::Folder folder;
  test::TreeFile expected;
  expected.make(GetParam(), folder.path());
  const Tree tree(folder.path());
  Diagnosis diagnosis;
  diagnosis.facts = look(tree, {expected.program, rules().variables()});
  diagnosis.findings = rules().judge(diagnosis.facts);
  diagnosis.verdict = verdictOf(diagnosis.facts, diagnosis.findings);

  std::multiset<std::string> found;
  for (const Finding &finding : diagnosis.findings) found.insert(finding.rule);
  const std::string table = asTable(diagnosis);
  EXPECT_EQ(found, expected.findings) << table;
  EXPECT_EQ(diagnosis.verdict, expected.verdict) << table;
  for (const auto &[rule, text] : expected.says)
    EXPECT_TRUE(std::ranges::any_of(diagnosis.findings,
                                    [&](const Finding &one) {
                                      std::string all = one.text;
                                      for (const auto &e : one.evidence) all += "\n" + e;
                                      for (const auto &r : one.remedies) {
                                        all += "\n" + r.what;
                                        for (const auto &f : r.fixes) all += "\n" + f.text;
                                      }
                                      return one.rule == rule && all.find(text) != all.npos;
                                    }))
        << rule << " does not say '" << text << "':\n"
        << table;
  for (const auto &[name, path] : expected.loads) {
    std::string loaded;
    for (const Record *load : diagnosis.facts.of("load"))
      if (load->is("name", name)) loaded = load->get("path");
    EXPECT_EQ(loaded, path) << table;
  }
  // What --collect copies of it has the same findings.
  const test::Folder copy;
  const auto collected =
      collect(tree, {expected.program, rules().variables()}, copy.path() + "/tree");
  ASSERT_TRUE(collected) << collected.error().message();
  const Facts copied = look(Tree(copy.path() + "/tree"), {expected.program, rules().variables()});
  EXPECT_EQ(textsOf(rules().judge(copied)), textsOf(diagnosis.findings));
  // Every placeholder was one, and nothing of the tree is a command for the terminal.
  for (const Finding &finding : diagnosis.findings)
    EXPECT_EQ(finding.text.find('{'), std::string::npos) << finding.text;
  EXPECT_TRUE(std::ranges::none_of(table, [](unsigned char c) { return c < 32 && c != '\n'; }));
  std::istringstream lines(asJson(diagnosis));
  for (std::string line; std::getline(lines, line);)
    EXPECT_TRUE(nlohmann::json::accept(line)) << line;
}

INSTANTIATE_TEST_SUITE_P(All, DoctorTree, testing::ValuesIn(allTrees()),
                         [](const auto &info) { return info.param; });

/// A rule that no tree needs may have a condition that is never true.
TEST(DoctorRules, EachHasATreeInWhichItApplies) {
  std::set<std::string> used;
  for (const std::string &name : allTrees()) {
    std::ifstream file(FADE_DOCTOR_TREES "/" + name + ".tree");
    std::string word, rule;
    for (std::string line; std::getline(file, line);)
      if (std::istringstream words(line); words >> word >> rule && word == "finding")
        used.insert(rule);
  }
  std::size_t count = 0;
  for (const auto &entry : fs::directory_iterator(FADE_DOCTOR_RULES)) {
    std::ifstream file(entry.path());
    const auto json = nlohmann::json::parse(file);
    for (const auto &rule : json.at("rules")) {
      ++count;
      EXPECT_TRUE(used.contains(rule.at("id").get<std::string>()))
          << entry.path().filename() << ": " << rule.at("id");
    }
  }
  EXPECT_EQ(count, rules().size());
}

} // namespace
} // namespace fade::doctor
