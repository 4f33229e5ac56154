// Regular expressions: what they match, what is refused, and that RE2, from which the meaning is
// taken, agrees. And how long it takes.
#include "fade/expression.h"

#include <gtest/gtest.h>

#include <random>
#ifdef FADE_WITH_RE2
#include <re2/re2.h>
#endif

namespace fade {
namespace {

bool matches(const std::string &expression, const std::string &text) {
  std::string mistake;
  const auto read = Expression::parse(expression, mistake);
  EXPECT_TRUE(read) << expression << ": " << mistake;
  return read && read->isIn(text);
}
std::string mistakeIn(const std::string &expression) {
  std::string mistake;
  EXPECT_FALSE(Expression::parse(expression, mistake)) << expression;
  return mistake;
}

TEST(Expression, FindsAPartOfAName) {
  EXPECT_TRUE(matches("gemm", "batched_gemm_kernel"));
  EXPECT_TRUE(matches("", "anything"));
  EXPECT_FALSE(matches("^gemm", "batched_gemm"));
  EXPECT_TRUE(matches("^(relax|init)<(float|double), [0-9]+>$", "relax<double, 128>"));
  EXPECT_FALSE(matches("^(relax|init)<(float|double), [0-9]+>$", "relax<half, 128>"));
  EXPECT_TRUE(matches("a{2,3}b", "xaaab"));
  EXPECT_FALSE(matches("^a{2,3}b", "aaaab"));
  EXPECT_TRUE(matches("foo\\(int\\)", "foo(int)"));
  EXPECT_TRUE(matches("\\bscan\\b", "void scan(int*)"));
  EXPECT_FALSE(matches("\\bscan\\b", "void prescan(int*)"));
  EXPECT_TRUE(matches("(?i)SAXPY", "saxpy"));
  EXPECT_TRUE(matches("[^a-z:]", "abC"));
  EXPECT_TRUE(matches("x{", "x{")) << "no repetition, so it is a brace";
}

TEST(Expression, RefusesWhatItDoesNotDoWithWordsThatSayWhat) {
  EXPECT_EQ(mistakeIn("(a)\\1"), "has the back-reference \\1, which is not supported");
  EXPECT_NE(mistakeIn("(?=a)").find("looks ahead"), std::string::npos);
  EXPECT_NE(mistakeIn("(?<!a)b").find("looks ahead"), std::string::npos);
  EXPECT_EQ(mistakeIn("a("), "has a ( without a )");
  EXPECT_EQ(mistakeIn("a)"), "has a ) without a (");
  EXPECT_EQ(mistakeIn("["), "has a [ without a ]");
  EXPECT_EQ(mistakeIn("*a"), "has nothing before * that could be repeated");
  EXPECT_EQ(mistakeIn("a**"), "has a repetition of a repetition");
  EXPECT_EQ(mistakeIn("a{3,2}"), "has a repetition that is out of range");
  EXPECT_EQ(mistakeIn("a\\"), "ends with a backslash");
  EXPECT_EQ(mistakeIn("\\pL"), "has \\p, which is not supported");
  EXPECT_EQ(mistakeIn("[z-a]"), "has a range in [] that ends before it begins");
  EXPECT_EQ(mistakeIn(std::string(1000, '(') + std::string(1000, ')')),
            "has too many groups within each other");
  EXPECT_EQ(mistakeIn("((a{1000}){1000}){1000}"), "is too large");
}

// Names of many thousand characters are real; whoever recurses once per character, or tries all
// ways to match, does not come back from these.
TEST(Expression, TakesTimeByTheLengthOfTheTextWhateverTheExpression) {
  const std::string longest(10'000, 'a');
  EXPECT_FALSE(matches("(.*)*x", longest));
  EXPECT_FALSE(matches("(a|a)*b", longest));
  EXPECT_FALSE(matches("(a*)*(a*)*(a*)*y$", longest));
  EXPECT_TRUE(matches(".*a$", longest));
  EXPECT_FALSE(matches("a{200}b", longest));
}

#ifdef FADE_WITH_RE2
TEST(Expression, MeansWhatRe2SaysItMeans) {
  const char *parts[] = {"a",  "b",   "_",   "A",   "1",           ".",     "*",      "+",
                         "?",  "(",   ")",   "|",   "[",           "]",     "^",      "$",
                         "\\", "{",   "}",   "2",   ",",           "d",     "w",      "s",
                         "-",  "(?:", "[^",  "\\d", "\\W",         "[a-c]", "{2,3}",  "{1}",
                         "x",  "z",   "\\b", "\\B", "[[:alpha:]]", "(?i)",  "(?P<n>", "*?",
                         " ",  "\n",  "(?=", "\\1", "\\A",         "\\z",   "\\.",    "\\x41"};
  const std::string alphabet = "ab_A1.2x-z c]^\n";
  std::mt19937 random(1);
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_encoding(re2::RE2::Options::EncodingLatin1);
  int both = 0;
  for (int i = 0; i < 30'000; ++i) {
    std::string text;
    for (unsigned n = 1 + random() % 7; n != 0; --n) text += parts[random() % std::size(parts)];
    std::string mistake;
    const auto ours = Expression::parse(text, mistake);
    if (!ours) continue; // it does less
    const re2::RE2 theirs(text, options);
    ASSERT_TRUE(theirs.ok()) << text;
    ++both;
    for (int k = 0; k < 4; ++k) {
      std::string name;
      for (unsigned n = random() % 6; n != 0; --n) name += alphabet[random() % alphabet.size()];
      ASSERT_EQ(ours->isIn(name), re2::RE2::PartialMatch(name, theirs)) << text << " in " << name;
    }
  }
  EXPECT_GT(both, 5000);
}
#endif

} // namespace
} // namespace fade
