#include "base/settings.h"

#include "base/api_choice.h"
#include "base/kernel_expression.h"
#include "base/omniprobe_names.h"
#include "base/run_folder.h"
#include "fade/options.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace fade {
namespace {

using Complaint = std::optional<std::string>;

constexpr auto kHandlers = std::to_array<std::string_view>(
    {"MessageLogger", "Heatmap", "MemoryAnalysis", "BlockCounts", "AccessPatterns", "BlockFlow",
     "Hotspots", "CacheModel", "Placement", "UserRecords"});

std::string suggest(std::string_view word, std::span<const std::string_view> words) {
  return suggestion(word, words);
}

Complaint readFlag(bool &flag, std::string_view value) {
  constexpr std::array<std::string_view, 4> yes = {"true", "1", "on", "yes"};
  constexpr std::array<std::string_view, 5> no = {"false", "0", "off", "no", ""};
  if (std::ranges::find(yes, value) != yes.end()) {
    flag = true;
  } else if (std::ranges::find(no, value) != no.end()) {
    flag = false;
  } else {
    return fmt::format("'{}' is neither true nor false", value);
  }
  return std::nullopt;
}

Complaint readPositive(uint32_t &number, std::string_view value) {
  const auto parsed = parseNumber(value);
  if (!parsed || *parsed == 0 || *parsed > UINT32_MAX)
    return fmt::format("'{}' is not a number of 1 or more", value);
  number = static_cast<uint32_t>(*parsed);
  return std::nullopt;
}

/// N, auto, or auto:WAVES, for tests.
Complaint readSample(Settings &s, std::string_view value) {
  constexpr uint32_t usual_waves = 256;
  s.workgroups.sample = 1;
  s.workgroups.automatic = 0;
  if (value == "auto") {
    s.workgroups.automatic = usual_waves;
    return std::nullopt;
  }
  if (value.starts_with("auto:")) return readPositive(s.workgroups.automatic, value.substr(5));
  if (!readPositive(s.workgroups.sample, value)) return std::nullopt;
  return fmt::format("'{}' is not a number of 1 or more, nor auto", value);
}

Complaint readHandlers(Settings &s, std::string_view value) {
  auto choices = parseHandlers(value);
  for (const auto &choice : choices) {
    if (const auto ours = insteadOfAnalyzer(choice.name))
      return fmt::format("'{}' is an analyzer of omniprobe: FADE's is {}", choice.name, *ours);
    const bool is_file = choice.name.find('/') != std::string::npos || choice.name.ends_with(".so");
    if (!is_file && std::ranges::find(kHandlers, choice.name) == kHandlers.end())
      return fmt::format("unknown analyzer '{}'{}", choice.name, suggest(choice.name, kHandlers));
  }
  s.handlers = std::move(choices);
  return std::nullopt;
}

Complaint readKernels(Settings &s, std::string_view value) {
  if (const auto read = readExpression(value); !read) return read.error().what;
  s.kernels = value;
  return std::nullopt;
}

// REGEX | !REGEX
Complaint readLibraryFilter(Settings &s, std::string_view value) {
  const std::string_view expression = value.substr(value.starts_with('!') ? 1 : 0);
  if (const auto read = readExpression(expression); !read) return read.error().what;
  if (expression.empty()) return "it is empty";
  s.library_filter = value;
  return std::nullopt;
}

// all | random | random:N | N | A-B
Complaint readDispatches(Settings &s, std::string_view value) {
  using Kind = DispatchChoice::Kind;
  constexpr std::array<std::string_view, 2> words = {"all", "random"};
  const auto wrong = [&] {
    return fmt::format("'{}' is none of all, random, random:N, N and A-B{}", value,
                       suggest(value, words));
  };
  DispatchChoice choice;
  if (value == "all") {
    s.dispatches = choice;
    return std::nullopt;
  }
  if (value.starts_with("random")) {
    choice.kind = Kind::random;
    if (value != "random") {
      const auto n = value[6] == ':' ? parseNumber(value.substr(7)) : std::nullopt;
      if (!n || *n == 0) return wrong();
      choice.one_in = *n;
    }
    s.dispatches = choice;
    return std::nullopt;
  }
  choice.kind = Kind::range;
  const auto dash = value.find('-');
  const auto first = parseNumber(value.substr(0, dash));
  const auto last = dash == value.npos ? first : parseNumber(value.substr(dash + 1));
  if (!first || !last || *first == 0) return wrong();
  if (*first > *last) return fmt::format("'{}' ends before it begins", value);
  choice.first = *first;
  choice.last = *last;
  s.dispatches = choice;
  return std::nullopt;
}

Complaint readCache(Settings &s, std::string_view value) {
  s.cache.clear();
  while (!value.empty()) {
    const auto colon = std::min(value.find(':'), value.size());
    if (colon != 0) s.cache.emplace_back(value.substr(0, colon));
    value.remove_prefix(std::min(colon + 1, value.size()));
  }
  return std::nullopt;
}

Complaint readFormat(Settings &s, std::string_view value) {
  constexpr std::array<std::string_view, 3> formats = {"text", "json", "csv"};
  const auto at = std::ranges::find(formats, value);
  if (at == formats.end())
    return fmt::format("'{}' is none of text, json and csv{}", value, suggest(value, formats));
  s.log_format = static_cast<Format>(at - formats.begin());
  return std::nullopt;
}

// x=A-B,y=C,z=A-B
Complaint readWorkgroups(Settings &s, std::string_view value) {
  WorkgroupFilter filter = s.workgroups;
  std::string_view rest = value;
  while (!rest.empty()) {
    const auto comma = std::min(rest.find(','), rest.size());
    const auto item = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const bool named = item.size() > 2 && item[0] >= 'x' && item[0] <= 'z' && item[1] == '=';
    const auto range = named ? item.substr(2) : std::string_view();
    const auto dash = range.find('-');
    const auto first = parseNumber(range.substr(0, dash));
    const auto last = dash == range.npos ? first : parseNumber(range.substr(dash + 1));
    if (!named || !first || !last || *last > UINT32_MAX)
      return fmt::format("'{}' is not of the form x=A-B,y=A-B,z=A-B", value);
    if (*first > *last) return fmt::format("'{}' ends before it begins", item);
    filter.first[static_cast<std::size_t>(item[0] - 'x')] = static_cast<uint32_t>(*first);
    filter.last[static_cast<std::size_t>(item[0] - 'x')] = static_cast<uint32_t>(*last);
  }
  s.workgroups = filter;
  return std::nullopt;
}

Complaint readBytes(uint64_t &bytes, std::string_view value) {
  constexpr uint64_t least = uint64_t{1} << 20;
  const auto size = parseSize(value);
  if (!size) return fmt::format("'{}' is not a size such as 256M", value);
  if (*size < least) return fmt::format("'{}' is less than 1M", value);
  bytes = *size;
  return std::nullopt;
}

Complaint readTransport(Settings &s, std::string_view value) {
  constexpr std::array<std::string_view, 2> transports = {"host", "device"};
  const auto at = std::ranges::find(transports, value);
  if (at == transports.end())
    return fmt::format("'{}' is neither host nor device{}", value, suggest(value, transports));
  s.transport = static_cast<Transport>(at - transports.begin());
  return std::nullopt;
}

Complaint readObserve(Settings &s, std::string_view value) {
  constexpr std::array<std::string_view, 4> ways = {"auto", "pass", "gpu", "rewrite"};
  const auto at = std::ranges::find(ways, value);
  if (at == ways.end())
    return fmt::format("'{}' is none of auto, pass, gpu and rewrite{}", value,
                       suggest(value, ways));
  s.observe = static_cast<Observe>(at - ways.begin());
  return std::nullopt;
}

// PLACE, PLACE:REGEX or PLACE:min=SIZE,max=SIZE,caller=REGEX; several separated by ';'
Complaint readAllocations(Settings &s, std::string_view value) {
  constexpr std::array<std::string_view, 4> places = {"coarse", "fine", "uncached", "host"};
  std::vector<AllocationRule> rules;
  while (!value.empty()) {
    const auto end = std::min(value.find(';'), value.size());
    std::string_view item = value.substr(0, end);
    value.remove_prefix(std::min(end + 1, value.size()));
    const auto colon = std::min(item.find(':'), item.size());
    const auto name = item.substr(0, colon);
    const auto place = std::ranges::find(places, name);
    if (place == places.end())
      return fmt::format("'{}' is none of coarse, fine, uncached and host{}", name,
                         suggest(name, places));
    AllocationRule rule;
    rule.place = static_cast<AllocationPlace>(place - places.begin());
    item.remove_prefix(std::min(colon + 1, item.size()));
    while (!item.empty()) {
      const bool is_size = item.starts_with("min=") || item.starts_with("max=");
      // An expression may contain commas: it is the last.
      const auto comma = is_size ? std::min(item.find(','), item.size()) : item.size();
      const auto text = item.substr(is_size ? 4 : item.starts_with("caller=") ? 7 : 0);
      if (is_size) {
        const auto size = parseSize(text.substr(0, comma - 4));
        if (!size) return fmt::format("'{}' is not a size such as 1M", text.substr(0, comma - 4));
        (item[1] == 'i' ? rule.least : rule.most) = *size;
      } else {
        if (const auto read = readExpression(text); !read) return read.error().what;
        rule.caller = text;
      }
      item.remove_prefix(std::min(comma + 1, item.size()));
    }
    if (rule.least > rule.most)
      return fmt::format("min={} is more than max={}", rule.least, rule.most);
    rules.push_back(std::move(rule));
  }
  s.allocations = std::move(rules);
  return std::nullopt;
}

Complaint readOtherTools(Settings &s, std::string_view value) {
  constexpr std::array<std::string_view, 2> words = {"off", "keep"};
  if (std::ranges::find(words, value) == words.end())
    return fmt::format("'{}' is neither off nor keep{}", value, suggest(value, words));
  s.keeps_other_tools = value == "keep";
  return std::nullopt;
}

Complaint readSeed(Settings &s, std::string_view value) {
  const auto seed = parseNumber(value);
  if (!seed) return fmt::format("'{}' is not a number", value);
  s.seed = *seed;
  return std::nullopt;
}

Complaint readWorkers(Settings &s, std::string_view value) {
  uint32_t workers = 0;
  if (auto complaint = readPositive(workers, value)) return complaint;
  if (workers > 64) return fmt::format("'{}' is more than 64", value);
  s.workers = workers;
  return std::nullopt;
}

Complaint readPatience(Settings &s, std::string_view value) {
  double patience = 0;
  const char *end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, patience);
  if (error != std::errc() || stop != end || !(patience >= 0.01 && patience <= 1000))
    return fmt::format("'{}' is not a number from 0.01 to 1000", value);
  s.patience = patience;
  return std::nullopt;
}

Complaint readTraceApi(Settings &s, std::string_view value) {
  if (const auto choice = ApiChoice::parse(value); !choice) return choice.error().what;
  s.trace_api = value;
  return std::nullopt;
}

Complaint readTraceFormat(Settings &s, std::string_view value) {
  constexpr std::array<std::string_view, 7> names = {"rpd",     "rpd2",   "json", "perfetto",
                                                     "pftrace", "events", "run"};
  if (std::ranges::find(names, value) == names.end())
    return fmt::format("'{}' is none of rpd, rpd2, json, perfetto, pftrace, events and run{}",
                       value, suggestion(value, names));
  s.trace_format = value;
  return std::nullopt;
}

Complaint readStacks(Settings &s, std::string_view value) {
  constexpr unsigned usual = 32, most = 128;
  const auto depth = parseNumber(value); // 1 is a number of frames
  bool flag = false;
  if (!depth && !readFlag(flag, value)) {
    s.trace_stacks = flag ? usual : 0;
    return std::nullopt;
  }
  if (!depth || *depth > most)
    return fmt::format("'{}' is neither true nor false nor a number of frames up to {}", value,
                       most);
  s.trace_stacks = static_cast<unsigned>(*depth);
  return std::nullopt;
}

Complaint readCorrect(Settings &s, std::string_view value) {
  constexpr std::array<std::string_view, 2> words = {"properties", "nothing"};
  if (std::ranges::find(words, value) == words.end())
    return fmt::format("'{}' is neither properties nor nothing{}", value, suggestion(value, words));
  s.correct_properties = value == "properties";
  return std::nullopt;
}

constexpr Variable kVariables[] = {
    {"FADE_INSTRUMENTED", "--instrumented", "run instrumented kernels",
     [](Settings &s, std::string_view v) { return readFlag(s.instrumented, v); }},
    {"FADE_HANDLERS", "--analyzers",
     "analyzers, separated by ';': NAME or path, NAME:key=value,...", readHandlers},
    {"FADE_KERNELS", "--kernels", "regular expression on demangled kernel names", readKernels},
    {"FADE_LIBRARY_FILTER", "--library-filter",
     "only kernels of programs, libraries and files whose path matches; with a ! before it, of all "
     "others",
     readLibraryFilter},
    {"FADE_DISPATCHES", "--dispatches", "all, random, random:N, N or A-B, for each kernel",
     readDispatches},
    {"FADE_SEED", "--seed", "seed for --dispatches random", readSeed},
    {"FADE_KERNEL_CACHE", "--cache-location", "folders with alternative code objects", readCache},
    {"FADE_LOG_LOCATION", "--log-location",
     "console or a file; %p pid, %h host, %r rank; a name that ends in '/' is a run with a folder "
     "for each process",
     [](Settings &s, std::string_view v) -> Complaint {
       if (v.empty()) return "it is empty";
       s.log_location = v;
       return std::nullopt;
     }},
    {"FADE_LOG_APPEND", "--log-append", "append to the log file instead of overwriting it",
     [](Settings &s, std::string_view v) { return readFlag(s.log_append, v); }},
    {"FADE_LOG_FORMAT", "--log-format", "text, json or csv", readFormat},
    {"FADE_VERBOSE", "--verbose", "log what was seen, matched and replaced",
     [](Settings &s, std::string_view v) { return readFlag(s.verbose, v); }},
    {"FADE_PROGRESS", "--progress", "show a progress line on the terminal",
     [](Settings &s, std::string_view v) { return readFlag(s.progress, v); }},
    {"FADE_WORKGROUPS", "--workgroups", "only these workgroups: x=A-B,y=A-B,z=A-B", readWorkgroups},
    {"FADE_SAMPLE", "--sample", "one workgroup in N; auto: as many as are needed for a small error",
     readSample},
    {"FADE_SAMPLE_EXECUTIONS", "--sample-executions", "one execution in N of each access or block",
     [](Settings &s, std::string_view v) {
       return readPositive(s.workgroups.sample_executions, v);
     }},
    {"FADE_RECORD", "--record", "file for the raw records, for fadeprobe analyze",
     [](Settings &s, std::string_view v) -> Complaint {
       s.record = v;
       return std::nullopt;
     }},
    {"FADE_TRACE", "--output", "file for HIP calls, kernels, copies, markers",
     [](Settings &s, std::string_view v) -> Complaint {
       s.trace = v;
       return std::nullopt;
     }},
    {"FADE_TRACE_API", "--api", "functions of HIP to record: all, groups or regular expressions",
     readTraceApi},
    {"FADE_TRACE_START", "--start", "start with recording on or off (default: on)",
     [](Settings &s, std::string_view v) { return readFlag(s.trace_starts_on, v); }},
    {"FADE_TRACE_FORMAT", "--format",
     "rpd: database for RPD's tools (default); rpd2: the same for older versions of RPD; json: "
     "JSON lines; "
     "perfetto: timeline for Perfetto and chrome://tracing; pftrace: timeline in Perfetto's own "
     "format (default for names in .pftrace and .perfetto-trace); events: the host events as "
     "recorded; run: folder with a subfolder per process (default for a name that ends in '/')",
     readTraceFormat},
    {"FADE_TRACE_FLUSH", "--flush", "write the recorded events every N seconds",
     [](Settings &s, std::string_view v) { return readPositive(s.trace_flush, v); }},
    {"FADE_TRACE_STACKS", "--stacks", "record the call stack of each call, up to N frames",
     readStacks},
    {"FADE_TRACE_LIBRARIES", "--libraries", "record library loads: what, when and by whom",
     [](Settings &s, std::string_view v) { return readFlag(s.trace_libraries, v); }},
    {"FADE_RANKS", "--ranks", "only processes with these ranks: 0,7,16-31",
     [](Settings &s, std::string_view v) -> Complaint {
       if (auto mistake = mistakeInRanks(v)) return mistake;
       s.ranks = v;
       return std::nullopt;
     }},
    {"FADE_CORRECT", "--correct",
     "properties: where HIP reports other device properties than HSA and the driver, return theirs",
     readCorrect},
    {"FADE_CAPTURE", "--output", "folder for captures of the chosen dispatches",
     [](Settings &s, std::string_view v) -> Complaint {
       s.capture = v;
       return std::nullopt;
     }},
    {"FADE_CAPTURE_LIMIT", "--limit", "capture at most N dispatches (default: 16)",
     [](Settings &s, std::string_view v) { return readPositive(s.capture_limit, v); }},
    {"FADE_CAPTURE_REACHABLE", "--reachable",
     "capture only memory that pointers in the arguments and the code lead to",
     [](Settings &s, std::string_view v) { return readFlag(s.capture_reachable, v); }},
    {"FADE_CAPTURE_SIZE", "--max-size",
     "skip dispatches that may touch more memory than this (default: 64G)",
     [](Settings &s, std::string_view v) { return readBytes(s.capture_size, v); }},
    {"FADE_MEMORY", "--memory", "memory for buffered records, for example 256M",
     [](Settings &s, std::string_view v) { return readBytes(s.memory, v); }},
    {"FADE_LOSSY", "--lossy", "drop records instead of slowing kernels down",
     [](Settings &s, std::string_view v) { return readFlag(s.lossy, v); }},
    {"FADE_STREAM", "--stream",
     "write a record for every access, even where the kernel could sum its accesses",
     [](Settings &s, std::string_view v) { return readFlag(s.stream, v); }},
    {"FADE_TRANSPORT", "--transport", "where records are buffered: host or device memory",
     readTransport},
    {"FADE_OBSERVE", "--observe",
     "source of the data: pass (instrumented kernels), gpu (the software GPU), rewrite "
     "(instrumented kernels, made from machine code where there are none), or auto: for kernels "
     "that are not instrumented gpu on the software GPU, rewrite on others",
     readObserve},
    {"FADE_EXPLAIN", "--explain", "name the kernel when a fault, an error or a hang ends the run",
     [](Settings &s, std::string_view v) { return readFlag(s.explain, v); }},
    {"FADE_DEATHS", "--deaths", "file for fault reports (JSON lines); %p pid, %h host, %r rank",
     [](Settings &s, std::string_view v) -> Complaint {
       s.deaths = v;
       return std::nullopt;
     }},
    {"FADE_ALLOC", "--alloc",
     "allocate the application's memory from another pool: coarse, fine, uncached or host; "
     ":min=SIZE,max=SIZE,caller=REGEX limits it to some allocations; separate rules by ';'",
     readAllocations},
    {"FADE_OTHER_TOOLS", "--other-tools",
     "profilers that are registered with ROCr (rocprofiler-sdk: rocprofv3, PyTorch, JAX): off "
     "during the run (default), or keep: they and FADE share the queues",
     readOtherTools},
    {"FADE_WORKERS", "--workers", "threads that run the analyzers", readWorkers},
    {"FADE_PATIENCE", "--patience", "wait N times as long before giving up", readPatience},
};

// Variables that other parts of FADE read; not a spelling mistake.
bool isForeign(std::string_view name) {
  return name.starts_with("FADE_GPU") || name == "FADE_INSTRUMENT";
}

} // namespace

std::span<const Variable> variables() { return kVariables; }

const Variable *findVariable(std::string_view name) {
  const auto *const at = std::ranges::find(kVariables, name, &Variable::name);
  return at == std::end(kVariables) ? nullptr : at;
}

std::span<const std::string_view> handlerNames() { return kHandlers; }

/// Where the ':' before a handler's options is. Paths may stand on both sides of it, with a ':' of
/// their own: NAME:svg=/tmp/a, /opt/a:b/libX.so:key=/tmp/a.
static std::size_t optionsOf(std::string_view item) {
  const auto first = item.find(':'), slash = item.find('/');
  if (first < slash) return first;
  if (const auto library = item.find(".so:"); library != item.npos) return library + 3;
  return item.find(':', slash == item.npos ? 0 : item.rfind('/'));
}

std::vector<HandlerChoice> parseHandlers(std::string_view value) {
  // What the characters are, and what they mean: one behind a backslash means nothing.
  std::string text, meaning;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const bool is_quoted = value[i] == '\\' && i + 1 < value.size();
    if (is_quoted) ++i;
    text += value[i];
    meaning += is_quoted ? 'x' : value[i];
  }
  std::vector<HandlerChoice> choices;
  const auto add = [&](std::size_t begin, std::size_t end) {
    const auto item = std::string_view(meaning).substr(begin, end - begin);
    const std::size_t names_end = begin + std::min(optionsOf(item), item.size());
    for (std::size_t at = begin; at < names_end;) {
      const std::size_t comma = std::min(meaning.find(',', at), names_end);
      const bool has_options = comma == names_end && names_end != end;
      if (comma != at)
        choices.push_back({text.substr(at, comma - at),
                           has_options ? text.substr(comma + 1, end - comma - 1) : ""});
      at = comma + 1;
    }
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(meaning.find_first_of("; \t\n", at), text.size());
    add(at, end);
    at = end + 1;
  }
  return choices;
}

std::string quoteForHandlers(std::string_view text, std::string_view special) {
  std::string quoted;
  for (const char c : text) {
    if (special.find(c) != special.npos) quoted += '\\';
    quoted += c;
  }
  return quoted;
}

std::string joinHandlers(std::span<const HandlerChoice> choices) {
  std::string all;
  for (const HandlerChoice &choice : choices) {
    if (!all.empty()) all += ';';
    all += quoteForHandlers(choice.name, "\\;, \t\n:");
    if (!choice.options.empty()) all += ':' + quoteForHandlers(choice.options, "\\; \t\n");
  }
  return all;
}

Settings readSettings(const Environment &get, std::span<const std::string> names,
                      std::vector<std::string> &complaints) {
  Settings settings;
  std::vector<std::string_view> known;
  for (const Variable &variable : kVariables) {
    known.push_back(variable.name);
    if (const char *value = get(std::string(variable.name).c_str())) {
      if (auto complaint = variable.read(settings, value))
        complaints.push_back(fmt::format("{}: {}", variable.name, *complaint));
    } else if (const std::string_view theirs = omniprobeNameOf(variable.name); !theirs.empty()) {
      const char *old = get(std::string(theirs).c_str());
      if (!old) continue;
      if (auto complaint = variable.read(settings, fromOmniprobe(variable.name, old)))
        complaints.push_back(fmt::format("{}: {}", theirs, *complaint));
    }
  }
  for (const OmniprobeVariable &theirs : omniprobeVariables())
    if (theirs.fade.empty() && std::ranges::find(names, theirs.name) != names.end())
      complaints.push_back(
          fmt::format("{} is omniprobe's and has no effect: use {}", theirs.name, theirs.hint));
  // Only what looks like a slip of the pen: others may have variables that start like ours.
  for (const std::string &name : names)
    if (name.starts_with("FADE_") && !isForeign(name) && !findVariable(name))
      if (const auto near = nearestWord(name, known); near && editDistance(name, *near) <= 2)
        complaints.push_back(fmt::format("unknown variable {}{}", name, suggest(name, known)));
  return settings;
}

Settings readEnvironment(std::vector<std::string> &complaints) {
  std::vector<std::string> names;
  for (char **entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    names.emplace_back(text.substr(0, text.find('=')));
  }
  Settings settings =
      readSettings([](const char *name) { return std::getenv(name); }, names, complaints);
  makePathsAbsolute(settings);
  return settings;
}

std::string traceFormat(const Settings &settings) {
  if (!settings.trace_format.empty()) return settings.trace_format;
  if (isRunFolder(settings.trace)) return "run";
  if (settings.trace.ends_with(".pftrace") || settings.trace.ends_with(".perfetto-trace"))
    return "pftrace";
  return settings.trace.ends_with(".rpd") ? "rpd" : "events";
}

void makePathsAbsolute(Settings &settings) {
  const auto change = [](std::string &path) {
    std::error_code error;
    auto absolute = std::filesystem::absolute(path, error);
    if (!error && !path.empty()) path = std::move(absolute);
  };
  if (settings.log_location != "console") change(settings.log_location);
  change(settings.record);
  change(settings.trace);
  change(settings.deaths);
  change(settings.capture);
  for (std::string &directory : settings.cache) change(directory);
  for (HandlerChoice &choice : settings.handlers)
    if (choice.name.find('/') != std::string::npos) change(choice.name);
}

} // namespace fade
