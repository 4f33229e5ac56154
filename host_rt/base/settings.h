// Everything a user can choose, read from FADE_* variables. fadeprobe's options end up in the same
// variables, so that there is one parser and one list.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fade {

enum class Format : uint32_t { text, json, csv }; // as FADE_FORMAT_*

/// Where the records of a running kernel are written to.
enum class Transport { host, device };

/// Who tells what kernels do: their instrumented twins (pass), or the software GPU. Automatic: the
/// GPU for those that have no twin. Rewrite: twins, which are made from machine code where the
/// compiler has made none.
enum class Observe { automatic, pass, gpu, rewrite };

/// NAME, NAME:key=value,... or a path.
struct HandlerChoice {
  std::string name;
  std::string options;
};

/// Which dispatches of a kernel are meant, counting from 1.
struct DispatchChoice {
  enum class Kind { all, random, range } kind = Kind::all;
  uint64_t first = 1, last = UINT64_MAX; ///< range
  uint64_t one_in = 10;                  ///< random
};

struct WorkgroupFilter {
  std::array<uint32_t, 3> first{0, 0, 0};
  std::array<uint32_t, 3> last{UINT32_MAX, UINT32_MAX, UINT32_MAX};
  uint32_t sample = 1;            ///< one workgroup in N
  uint32_t sample_executions = 0; ///< one execution of a site in N; 0: all
  uint32_t automatic = 0; ///< waves to be recorded of a large dispatch (SamplePlan); 0: no plan

  bool wantsAllWorkgroups() const {
    const WorkgroupFilter all;
    return first == all.first && last == all.last && sample <= 1;
  }
};

/// Where the application's allocations are to come from instead: FADE_ALLOC.
enum class AllocationPlace { coarse, fine, uncached, host };
struct AllocationRule {
  AllocationPlace place = AllocationPlace::coarse;
  uint64_t least = 0, most = UINT64_MAX; ///< bytes
  std::string caller; ///< regular expression on functions and libraries that call; empty: all
};

struct Settings {
  bool instrumented = false;
  std::vector<HandlerChoice> handlers;
  std::string kernels;        ///< regular expression; empty: all
  std::string library_filter; ///< regular expression on paths, all others with a '!'; empty: all
  DispatchChoice dispatches;
  uint64_t seed = 1;
  std::vector<std::string> cache;
  std::string log_location = "console";
  bool log_append = false;
  Format log_format = Format::text;
  bool verbose = false;
  bool progress = true; ///< a line on the terminal while it takes long
  WorkgroupFilter workgroups;
  std::string record;            ///< file; empty: no recording
  std::string trace;             ///< file for host events; empty: they are not recorded
  std::string trace_api = "all"; ///< see ApiChoice
  bool trace_starts_on = true;
  std::string trace_format;     ///< of the file; empty: by its name
  unsigned trace_flush = 0;     ///< seconds
  unsigned trace_stacks = 0;    ///< frames at most; 0: no stacks
  bool trace_libraries = false; ///< who asks for which library
  std::string ranks;            ///< "0,7,16-31": only processes with these; empty: all
  bool correct_properties = false;
  std::string capture;                        ///< folder for captures; empty: none are made
  uint32_t capture_limit = 16;                ///< of dispatches
  bool capture_reachable = false;             ///< only what pointers lead to
  uint64_t capture_size = uint64_t{64} << 30; ///< bytes of memory that a capture may read
  uint64_t memory = uint64_t{256} << 20;
  bool lossy = false;
  bool stream = false; ///< records, also where the device could add them up
  Transport transport = Transport::host;
  Observe observe = Observe::automatic;
  bool keeps_other_tools = false; ///< tools that are registered with the HSA runtime
  bool explain = true;            ///< say which kernel died, and of what
  std::string deaths;             ///< file for the same as JSON; empty: none
  std::vector<AllocationRule>
      allocations;      ///< the first that fits counts; empty: nothing is changed
  unsigned workers = 0; ///< 0: chosen by the number of processors
  double patience = 1;  ///< how many times longer than usual to wait for what seems stuck

  /// A trace of host events or captures are no reason to report durations, too, unless a place is
  /// given for them.
  bool hasReport() const {
    return (trace.empty() && capture.empty()) || instrumented || !handlers.empty() ||
           log_location != "console";
  }

  std::chrono::milliseconds patient(std::chrono::milliseconds usual) const {
    return std::chrono::milliseconds(
        static_cast<int64_t>(static_cast<double>(usual.count()) * patience));
  }
};

/// One variable and the option of fadeprobe that sets it.
struct Variable {
  std::string_view name;   ///< FADE_KERNELS
  std::string_view option; ///< --kernels
  std::string_view help;
  /// Nothing, or what is wrong with the value.
  std::optional<std::string> (*read)(Settings &, std::string_view value);
};
std::span<const Variable> variables();
const Variable *findVariable(std::string_view name);

using Environment = std::function<const char *(const char *name)>;

/// A variable that cannot be understood keeps its default and leaves a line in `complaints`; so
/// does a FADE_* variable in `names` that does not exist.
Settings readSettings(const Environment &get, std::span<const std::string> names,
                      std::vector<std::string> &complaints);

/// The same from this process's environment, with absolute paths.
Settings readEnvironment(std::vector<std::string> &complaints);

/// The analyzers that come with FADE.
std::span<const std::string_view> handlerNames();
/// "A:x=1,y=2;B" or "A,B": names are separated by ';', blanks or, where no options stand before it,
/// a comma. Behind a backslash a character is nothing but itself: "/my\\ project/libX.so".
std::vector<HandlerChoice> parseHandlers(std::string_view value);
/// What parseHandlers reads back as the same choices.
std::string joinHandlers(std::span<const HandlerChoice> choices);
/// A backslash before each of the special characters.
std::string quoteForHandlers(std::string_view text, std::string_view special);

/// The format of the file of host events: events, rpd, rpd2, json or perfetto.
std::string traceFormat(const Settings &settings);

/// The application may go to another directory before FADE opens a file.
void makePathsAbsolute(Settings &settings);

} // namespace fade
