#include "compile/command.h"

#include "base/child.h"
#include "base/shell_text.h"
#include "base/supervised.h"
#include "compile/compiler_version.h"
#include "compile/hip_flags.h"
#include "launch/run.h"

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <unistd.h>

namespace fade::cli {
namespace {

using Words = std::vector<std::string>;

/// The words of a command that say which compiler runs: ccache and its like are part of it.
Words compilerOf(const Words &command) {
  constexpr std::array<std::string_view, 3> wrappers = {"ccache", "sccache", "distcc"};
  Words words;
  for (const std::string &word : command) {
    words.push_back(word);
    const std::string name = std::filesystem::path(word).filename().string();
    if (std::find(wrappers.begin(), wrappers.end(), name) == wrappers.end()) break;
  }
  return words;
}

/// What the compiler says of its version, in one text; empty if it cannot be run.
std::string versionText(Words compiler) {
  constexpr std::chrono::minutes patience(2);
  compiler.emplace_back("--version");
  const SupervisedEnd end = runSupervised(compiler, {}, patience);
  return end.started && !end.timed_out && end.signal == 0 && end.code == 0 ? end.out : "";
}

/// A compiler and the plugin that was built for it.
struct CompilerWithPlugin {
  Compiler compiler;
  std::string plugin;
};

/// What is wrong is said on stderr.
std::optional<CompilerWithPlugin> withPlugin(const Words &words) {
  const std::string text = versionText(words);
  if (text.empty()) {
    complain(fmt::format("cannot run {} --version", words.back()));
    return std::nullopt;
  }
  auto compiler = readCompiler(words.back(), text);
  if (!compiler) {
    complain(fmt::format("{} is not clang: kernels are instrumented by a plugin of clang",
                         words.back()));
    return std::nullopt;
  }
  const std::vector<Plugin> plugins = pluginsIn(ownLibraryFolders());
  const Plugin *plugin = choosePlugin(plugins, *compiler);
  if (!plugin) {
    complain(noPluginFor(*compiler, plugins));
    return std::nullopt;
  }
  return CompilerWithPlugin{std::move(*compiler), plugin->path};
}

/// What kernels are compiled for unless the user has chosen: all that a report shows. They add up
/// what analyzers of memory alone ask for; before LLVM 17 that would take stack.
const char *defaultModes(const Compiler &compiler) {
  constexpr unsigned first_that_adds_up = 17;
  return compiler.version.number[0] >= first_that_adds_up ? "summary;blocks" : "accesses;blocks";
}

/// Where fade/user.h is, if the compiler would not find it by itself.
std::optional<std::string> ownHeaders() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path place = program.parent_path().parent_path() / "include";
  if (error || place == "/usr/include" || !std::filesystem::exists(place / "fade/user.h", error))
    return std::nullopt;
  return place.string();
}

/// Ahead of the user's own flags, so that a -g among them has the last word. Links use none of
/// them.
Words flagsFor(const CompilerWithPlugin &chosen, const Words &command) {
  Words flags = {"--start-no-unused-arguments", "-fpass-plugin=" + chosen.plugin,
                 "-gline-tables-only"};
  if (const auto headers = ownHeaders()) flags.push_back("-idirafter" + *headers);
  for (std::string &flag : hipFlagsFor(command, chosen.compiler.version.number[0]))
    flags.push_back(std::move(flag));
  flags.emplace_back("--end-no-unused-arguments");
  return flags;
}

} // namespace

CLI::App *addFlagsCommand(CLI::App &app, CompileOptions &options) {
  CLI::App *command = app.add_subcommand("flags", "print the clang flags that instrument kernels");
  command->add_option("compiler", options.compiler, "the compiler to print them for")
      ->capture_default_str()
      ->type_name("CLANG");
  command->add_flag("--handler", options.for_handler,
                    "print the flags that compile a handler instead");
  return command;
}

CLI::App *addCcCommand(CLI::App &app, CompileOptions &options) {
  CLI::App *command =
      app.add_subcommand("cc", "compile with instrumented kernels: fadeprobe cc -- clang++ ...");
  command
      ->add_option("--instrument", options.instrument,
                   "modes, kernels and source lines: 'accesses;kernels=REGEX;scope=FILE:10-40' "
                   "(default: 'summary;blocks', all that a report shows; before LLVM 17 "
                   "'accesses;blocks')")
      ->type_name("OPTIONS");
  return command;
}

int runFlags(const CompileOptions &options) {
  if (options.for_handler) {
    const auto headers = ownHeaders();
    fmt::print("-std=c++20 -shared -fPIC -fvisibility=hidden{}\n",
               headers ? " " + shellWord("-I" + *headers) : "");
    return 0;
  }
  const auto chosen = withPlugin(compilerOf({options.compiler}));
  if (!chosen) return kUsageError;
  std::string line;
  for (const std::string &flag : flagsFor(*chosen, {"-x", "hip"}))
    line += (line.empty() ? "" : " ") + shellWord(flag);
  fmt::print("{}\n", line);
  return 0;
}

int runCc(const CompileOptions &options, const Words &command) {
  if (command.empty()) {
    complain("no compiler given: fadeprobe cc [--instrument OPTIONS] -- clang++ ...");
    return kUsageError;
  }
  const Words compiler = compilerOf(command);
  const auto chosen = withPlugin(compiler);
  if (!chosen) return kUsageError;
  // For programs that do not tell the plugin what they are, such as lld and clang without symbols.
  setenv("FADE_COMPILER", chosen->compiler.line.c_str(), 1);
  // Whatever a report shows, unless the user has chosen.
  setenv("FADE_INSTRUMENT",
         options.instrument.empty() ? defaultModes(chosen->compiler) : options.instrument.c_str(),
         options.instrument.empty() ? 0 : 1);

  const unsigned clang = chosen->compiler.version.number[0];
  if (const std::string note = unknownGpusIn(command, clang); !note.empty()) complain(note);
  Words words = compiler;
  for (const std::string &flag : flagsFor(*chosen, command)) words.push_back(flag);
  words.insert(words.end(), command.begin() + static_cast<ptrdiff_t>(compiler.size()),
               command.end());
  std::vector<char *> arguments;
  for (std::string &word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::fflush(nullptr);
  giveBackSignals();
  execvp(arguments[0], arguments.data());
  const int error = errno;
  complain(fmt::format("cannot run {}: {}", words[0], std::strerror(error)));
  return error == ENOENT ? 127 : 126;
}

} // namespace fade::cli
