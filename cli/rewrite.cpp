#include "rewrite.h"

#include "launch/run.h"

#include "base/instrument_modes.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace fade::cli {

CLI::App *addRewriteCommand(CLI::App &app, RewriteOptions &options) {
  CLI::App *command =
      app.add_subcommand("rewrite", "instrument finished GPU code, without its compiler");
  command->add_option("file", options.input, "a code object, or a program or library with GPU code")
      ->type_name("FILE")
      ->required();
  command->add_option("-o,--output", options.output, "folder for the rewritten code objects")
      ->type_name("DIR")
      ->required();
  command
      ->add_option(
          "--instrument", options.instrument,
          "what kernels do: count how often blocks run (counts, default), with clocks (times), "
          "record their entries "
          "(blocks), record memory accesses (accesses) or add them up (summary); 'counts;accesses' "
          "does both")
      ->type_name("MODE;MODE");
  command->add_option("-k,--kernels", options.kernels, "only kernels whose name matches")
      ->type_name("REGEX");
  return command;
}

int runRewrite(const RewriteOptions &options) {
  constexpr int failed = 2;
  if (const auto modes = readRewriteModes(options.instrument); !modes) {
    complain("rewrite: --instrument: " + modes.error().message());
    return failed;
  }
  const auto program = ownLibrary("fade/fade-rewrite");
  if (!program) {
    complain("fade-rewrite is missing: it should be in ../lib/fade");
    return failed;
  }
  std::fflush(nullptr);
  execl(program->c_str(), program->c_str(), options.instrument.c_str(), options.input.c_str(),
        options.output.c_str(), options.kernels.c_str(), nullptr);
  complain("cannot run " + *program + ": " + std::strerror(errno));
  return failed;
}

} // namespace fade::cli
