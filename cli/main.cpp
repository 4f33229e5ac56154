// fadeprobe: decides which command was meant and hands over to it.
#include "inspect.h"

#include <CLI/CLI.hpp>
#include <cstdio>

int main(int argc, char **argv) {
  CLI::App app("See inside AMD GPU kernels", "fadeprobe");
  app.require_subcommand(0, 1);
  fade::cli::InspectOptions inspect;
  CLI::App *inspect_command = fade::cli::add_inspect_command(app, inspect);
  CLI11_PARSE(app, argc, argv);

  if (inspect_command->parsed()) return fade::cli::run_inspect(inspect, stdout, stderr);
  std::fputs(app.help().c_str(), stdout);
  return 0;
}
