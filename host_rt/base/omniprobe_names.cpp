#include "base/omniprobe_names.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace fade {
namespace {

constexpr std::string_view kWorkgroups = "FADE_WORKGROUPS=x=A-B,y=A-B,z=A-B";

constexpr OmniprobeVariable kOmniprobeVariables[] = {
    {"LOGDUR_LOG_LOCATION", "FADE_LOG_LOCATION", ""},
    {"LOGDUR_LOG_FORMAT", "FADE_LOG_FORMAT", ""},
    {"LOGDUR_KERNEL_CACHE", "FADE_KERNEL_CACHE", ""},
    {"LOGDUR_INSTRUMENTED", "FADE_INSTRUMENTED", ""},
    {"LOGDUR_DISPATCHES", "FADE_DISPATCHES", ""},
    {"LOGDUR_FILTER", "FADE_KERNELS", ""},
    {"LOGDUR_VERBOSE", "FADE_VERBOSE", ""},
    {"LOGDUR_HANDLERS", "", "FADE_HANDLERS=MessageLogger,Heatmap,MemoryAnalysis,BlockCounts"},
    {"LOGDUR_LIBRARY_FILTER", "", "FADE_LIBRARY_FILTER=[!]REGEX"},
    {"DH_COMMS_GROUP_FILTER_X", "", kWorkgroups},
    {"DH_COMMS_GROUP_FILTER_Y", "", kWorkgroups},
    {"DH_COMMS_GROUP_FILTER_Z", "", kWorkgroups}};

using Pair = std::pair<std::string_view, std::string_view>;
constexpr std::string_view kScope = "fadeprobe cc --instrument 'accesses;scope=FILE:LINES'";
constexpr Pair kOptions[] = {
    {"--filter-x", "--workgroups x=A-B"},
    {"--filter-y", "--workgroups y=A-B"},
    {"--filter-z", "--workgroups z=A-B"},
    {"--instrumentation-scope", kScope},
    {"--instrumentation-scope-file", "fadeprobe cc --instrument 'accesses;scope=@FILE'"}};
constexpr Pair kAnalyzers[] = {{"BasicBlockAnalysis", "BlockCounts"},
                               {"libLogMessages64.so", "MessageLogger"},
                               {"libBasicBlocks64.so", "BlockCounts"},
                               {"libMemAnalysis64.so", "MemoryAnalysis"},
                               {"libdefaultMessageHandlers64.so", "Heatmap"}};

std::optional<std::string_view> secondOf(std::span<const Pair> pairs, std::string_view first) {
  const auto at = std::ranges::find(pairs, first, &Pair::first);
  if (at == pairs.end()) return std::nullopt;
  return at->second;
}

} // namespace

std::span<const OmniprobeVariable> omniprobeVariables() { return kOmniprobeVariables; }

std::string_view omniprobeNameOf(std::string_view variable) {
  const auto *const at = std::ranges::find(kOmniprobeVariables, variable, &OmniprobeVariable::fade);
  return at == std::end(kOmniprobeVariables) ? std::string_view() : at->name;
}

std::string fromOmniprobe(std::string_view variable, std::string_view value) {
  std::string lower(value);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool is_flag = variable == "FADE_INSTRUMENTED" || variable == "FADE_VERBOSE";
  return is_flag ? lower : std::string(value);
}

std::optional<std::string_view> insteadOfOption(std::string_view option) {
  return secondOf(kOptions, option);
}

std::optional<std::string_view> insteadOfAnalyzer(std::string_view analyzer) {
  if (const auto slash = analyzer.rfind('/'); slash != analyzer.npos)
    analyzer.remove_prefix(slash + 1);
  return secondOf(kAnalyzers, analyzer);
}

} // namespace fade
