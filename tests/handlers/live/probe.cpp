#include "probe.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

namespace fade::testing {

using nlohmann::json;

std::vector<json> ProbeResult::objects(const std::string &type) const {
  std::vector<json> all;
  std::istringstream lines(report);
  for (std::string line; std::getline(lines, line);) {
    json object = json::parse(line, nullptr, false);
    EXPECT_TRUE(object.is_object() && object.contains("type") && object.contains("version"))
        << line;
    if (object.is_object() && object.value("type", "") == type) all.push_back(std::move(object));
  }
  return all;
}

ProbeResult probe(const std::string &options, const std::string &program) {
  std::string log = ::testing::TempDir() + "fade-live-XXXXXX";
  const int fd = mkstemp(log.data());
  EXPECT_GE(fd, 0);
  ::close(fd);
  const std::string command =
      std::string(FADE_PROBE) + " " + options + " -l " + log + " -- " + program + " 2>&1";
  ProbeResult result;
  FILE *pipe = popen(command.c_str(), "r");
  if (!pipe) return result;
  std::array<char, 4096> piece;
  while (const std::size_t n = std::fread(piece.data(), 1, piece.size(), pipe))
    result.output.append(piece.data(), n);
  const int status = pclose(pipe);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  std::ostringstream text;
  text << std::ifstream(log).rdbuf();
  result.report = text.str();
  ::unlink(log.c_str());
  return result;
}

uint32_t lineOf(const std::string &file, const std::string &name) {
  std::ifstream in(file);
  uint32_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.ends_with("// " + name)) return number;
  }
  ADD_FAILURE() << "no line of " << file << " ends with // " << name;
  return 0;
}

} // namespace fade::testing
