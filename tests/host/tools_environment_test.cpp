#include "base/tools_environment.h"

#include <gtest/gtest.h>

#include <map>

namespace fade {
namespace {

std::map<std::string, std::string> variablesFor(const char *there, const char *others) {
  const auto list = toolVariables("/x/libfade.so", there, others);
  return {list.begin(), list.end()};
}

TEST(ToolsEnvironment, TheRuntimeLoadsFadeAlsoWhereAProfilerIsRegistered) {
  const std::map<std::string, std::string> expected = {{"HSA_TOOLS_LIB", "/x/libfade.so"},
                                                       {"HSA_TOOLS_ROCPROFILER_V1_TOOLS", "1"},
                                                       {"HSA_TOOLS_DISABLE_REGISTER", "1"}};
  EXPECT_EQ(variablesFor(nullptr, nullptr), expected);
  EXPECT_EQ(variablesFor("", ""), expected);
  EXPECT_EQ(variablesFor("/x/libfade.so", "off"), expected);
}

TEST(ToolsEnvironment, AProfilerIsKeptIfThatIsWanted) {
  EXPECT_EQ(variablesFor(nullptr, "keep"),
            (std::map<std::string, std::string>{{"HSA_TOOLS_LIB", "/x/libfade.so"},
                                                {"HSA_TOOLS_ROCPROFILER_V1_TOOLS", "1"}}));
}

TEST(ToolsEnvironment, OtherToolsStayBehindFade) {
  EXPECT_EQ(variablesFor("/y/libother.so", nullptr)["HSA_TOOLS_LIB"],
            "/x/libfade.so /y/libother.so");
  EXPECT_EQ(variablesFor("/y/libother.so /x/libfade.so", nullptr)["HSA_TOOLS_LIB"],
            "/y/libother.so /x/libfade.so");
}

} // namespace
} // namespace fade
