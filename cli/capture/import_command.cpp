// fadeprobe import: captures of other tools.
#include "capture/command.h"

#include <CLI/CLI.hpp>
#include <dlfcn.h>

namespace fade::cli {

void *replayLibrary(const char *entry) {
  const auto library = ownLibrary("libfadereplay.so");
  if (!library) {
    complain("libfadereplay.so is missing: it should be in ../lib or beside this program");
    return nullptr;
  }
  void *loaded = dlopen(library->c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!loaded) {
    complain(dlerror());
    return nullptr;
  }
  void *found = dlsym(loaded, entry);
  if (!found) complain(*library + " is a different version of FADE");
  return found;
}

CLI::App *addImportCommand(CLI::App &app, replay::ImportOptions &options) {
  CLI::App *command = app.add_subcommand("import", "convert a capture of rocm-perf-lab");
  command->add_option("folder", options.folder, "isolate_capture_PID")
      ->type_name("DIR")
      ->required();
  options.output = ".";
  command
      ->add_option("-o,--output", options.output,
                   "the folder that the capture goes into (default: .)")
      ->type_name("DIR");
  command->add_flag("--json", options.json, "one JSON object per line");
  return command;
}

int runImport(const replay::ImportOptions &options) {
  const auto entry = reinterpret_cast<FadeImportEntry>(replayLibrary(FADE_IMPORT_ENTRY));
  return entry ? entry(&options) : replay::kCannotRun;
}

} // namespace fade::cli
