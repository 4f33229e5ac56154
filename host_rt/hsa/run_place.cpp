#include "hsa/run_place.h"

#include "base/settings.h"
#include "base/shell_text.h"
#include "hip/hip_library.h"
#include "hsa/executed.h"

#include <array>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <unistd.h>

namespace fade {
namespace {

/// Not by a call: HIP may be in the middle of its own start.
std::string hipVersion() {
  const std::string name = "libamdhip64.so";
  const auto library = hip::findLibrary(name);
  if (!library) return "";
  std::error_code error;
  const std::string path = std::filesystem::canonical(library->path, error).string();
  const auto at = path.rfind(name + ".");
  return error || at == path.npos ? "" : path.substr(at + name.size() + 1);
}

std::string productName(const Agent &agent) {
  const auto product_name = static_cast<hsa_agent_info_t>(0xA009); // HSA_AMD_AGENT_INFO_...
  std::array<char, 65> name{};
  if (!ok(hsaApi().core.hsa_agent_get_info_fn(agent.handle, product_name, name.data()))) return "";
  name.back() = 0;
  return name.data();
}

std::string commandOf() {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; words.size() < 1000 && std::getline(in, word, '\0');)
    words.push_back(word);
  return shellText(words);
}

std::string now() {
  const std::time_t time = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&time, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

/// What chooses a part of the run.
std::vector<std::string> choices() {
  std::vector<std::string> options;
  for (const char *name : {"FADE_KERNELS", "FADE_LIBRARY_FILTER", "FADE_DISPATCHES",
                           "FADE_WORKGROUPS", "FADE_SAMPLE", "FADE_SAMPLE_EXECUTIONS"}) {
    const char *value = std::getenv(name);
    const Variable *variable = findVariable(name);
    if (!value || !*value || !variable || std::string_view(value) == "auto") continue;
    options.push_back(fmt::format("{} {}", variable->option, shellText({value})));
  }
  return options;
}

} // namespace

std::string runtimeVersion() {
  const auto build_version = static_cast<hsa_system_info_t>(0x200); // not in all headers
  const char *text = nullptr;
  if (ok(hsaApi().core.hsa_system_get_info_fn(build_version, &text)) && text) {
    std::string version = text;
    std::erase(version, '"'); // some builds have them in it
    return version;
  }
  return "";
}

RunFacts factsOfRun(const Agents &agents) {
  RunFacts facts;
  facts.fade = FADE_VERSION;
  facts.runtime = runtimeVersion();
  if (facts.runtime.empty()) {
    uint16_t major = 0, minor = 0;
    (void)hsaApi().core.hsa_system_get_info_fn(HSA_SYSTEM_INFO_VERSION_MAJOR, &major);
    (void)hsaApi().core.hsa_system_get_info_fn(HSA_SYSTEM_INFO_VERSION_MINOR, &minor);
    if (major != 0) facts.runtime = fmt::format("with HSA {}.{}", major, minor);
  }
  facts.hip = hipVersion();
  facts.command = commandOf();
  facts.date = now();
  facts.process = static_cast<uint64_t>(getpid());
  facts.options = choices();
  for (const Agent &agent : agents.all())
    if (agent.is_gpu)
      facts.gpus.push_back({agent.number, agent.target, productName(agent), isSoftwareGpu()});
  return facts;
}

} // namespace fade
