// fadeprobe capture, captures, import and replay: one dispatch taken away from an application, and
// run again.
#pragma once

#include "fade/replay.h"
#include "launch/run.h"

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace fade::cli {

struct CaptureOptions {
  RunOptions run;
  std::string output = ".";
  bool has_dispatches = false;
};

CLI::App *addCaptureCommand(CLI::App &app, CaptureOptions &options);
/// Does not return when the application was started; else the exit code of fadeprobe.
int runCapture(CaptureOptions options, const std::vector<std::string> &application);

struct CapturesOptions {
  std::vector<std::string> folders;
  bool json = false;
};

CLI::App *addCapturesCommand(CLI::App &app, CapturesOptions &options);
/// 0; 1 if one of them cannot be read.
int runCaptures(const CapturesOptions &options);

CLI::App *addImportCommand(CLI::App &app, replay::ImportOptions &options);
/// 0; 2 if it cannot be done.
int runImport(const replay::ImportOptions &options);

struct ReplayOptions {
  replay::Options replay;
  std::optional<std::string> tolerance;
  std::string on; ///< software, gpu; empty: what fits
  bool reserve_check = false;
  bool model = true; ///< of two versions, without a card
  RunOptions run;    ///< -i, -a and where the report goes; --gpu
};

CLI::App *addReplayCommand(CLI::App &app, ReplayOptions &options);
/// 0 equal, or nothing to compare; 1 differs; 2 could not run.
int runReplay(ReplayOptions options);

/// A function of libfadereplay.so. Null, after a line that says why, if it is not there.
void *replayLibrary(const char *entry);

} // namespace fade::cli
