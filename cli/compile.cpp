#include "compile.h"

#include "hip_flags.h"
#include "run.h"

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <regex>
#include <unistd.h>

namespace fade::cli {
namespace {

using Words = std::vector<std::string>;

/// A word as a shell would read it back.
std::string quoted(const std::string &word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!word.empty() && word.find_first_not_of(plain) == word.npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

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
std::string versionText(const Words &compiler) {
  std::string command, text;
  for (const std::string &word : compiler) command += quoted(word) + " ";
  FILE *pipe = popen((command + "--version 2>/dev/null").c_str(), "r");
  if (!pipe) return {};
  std::array<char, 512> buffer{};
  for (size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    text.append(buffer.data(), n);
  return pclose(pipe) == 0 ? text : std::string();
}

/// The plugin for a compiler; what is wrong is said on stderr.
std::optional<std::string> pluginFor(const Words &compiler) {
  const std::string text = versionText(compiler);
  if (text.empty()) {
    complain(fmt::format("cannot run {} --version", compiler.back()));
    return std::nullopt;
  }
  std::smatch match;
  if (!std::regex_search(text, match, std::regex("clang version ([0-9]+)"))) {
    complain(fmt::format("{} is not clang: kernels are instrumented by a plugin of clang",
                         compiler.back()));
    return std::nullopt;
  }
  const std::string file = fmt::format("libfadeinstr-{}.so", match[1].str());
  auto plugin = ownLibrary(file);
  if (!plugin)
    complain(fmt::format("{} is clang {}, and {} is not installed", compiler.back(), match[1].str(),
                         file));
  return plugin;
}

/// What kernels are compiled for unless the user has chosen: all that a report shows. They add up
/// what analyzers of memory alone ask for; before LLVM 17 that would take stack.
const char *defaultModes(const std::string &plugin) {
  constexpr int first_that_adds_up = 17;
  std::smatch match;
  return std::regex_search(plugin, match, std::regex("libfadeinstr-([0-9]+)\\.so$")) &&
                 std::stoi(match[1].str()) >= first_that_adds_up
             ? "summary;blocks"
             : "accesses;blocks";
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
Words flagsFor(const std::string &plugin, const Words &command) {
  Words flags = {"--start-no-unused-arguments", "-fpass-plugin=" + plugin, "-gline-tables-only"};
  if (const auto headers = ownHeaders()) flags.push_back("-idirafter" + *headers);
  for (std::string &flag : hipFlagsFor(command)) flags.push_back(std::move(flag));
  flags.emplace_back("--end-no-unused-arguments");
  return flags;
}

} // namespace

CLI::App *addFlagsCommand(CLI::App &app, CompileOptions &options) {
  CLI::App *command =
      app.add_subcommand("flags", "print the flags with which clang instruments kernels");
  command->add_option("compiler", options.compiler, "the compiler they are for")
      ->capture_default_str()
      ->type_name("CLANG");
  return command;
}

CLI::App *addCcCommand(CLI::App &app, CompileOptions &options) {
  CLI::App *command =
      app.add_subcommand("cc", "compile with instrumented kernels: fadeprobe cc -- clang++ ...");
  command
      ->add_option("--instrument", options.instrument,
                   "modes, kernels and places: 'accesses;kernels=REGEX;scope=FILE:10-40' (default: "
                   "'summary;blocks': all that a report shows, and numbers without a stream where "
                   "they are enough; before LLVM 17 'accesses;blocks')")
      ->type_name("OPTIONS");
  return command;
}

int runFlags(const CompileOptions &options) {
  const auto plugin = pluginFor(compilerOf({options.compiler}));
  if (!plugin) return kUsageError;
  std::string line;
  for (const std::string &flag : flagsFor(*plugin, {"-x", "hip"}))
    line += (line.empty() ? "" : " ") + quoted(flag);
  fmt::print("{}\n", line);
  return 0;
}

int runCc(const CompileOptions &options, const Words &command) {
  if (command.empty()) {
    complain("no compiler given: fadeprobe cc [--instrument OPTIONS] -- clang++ ...");
    return kUsageError;
  }
  const Words compiler = compilerOf(command);
  const auto plugin = pluginFor(compiler);
  if (!plugin) return kUsageError;
  // Whatever a report shows, unless the user has chosen.
  setenv("FADE_INSTRUMENT",
         options.instrument.empty() ? defaultModes(*plugin) : options.instrument.c_str(),
         options.instrument.empty() ? 0 : 1);

  Words words = compiler;
  for (const std::string &flag : flagsFor(*plugin, command)) words.push_back(flag);
  words.insert(words.end(), command.begin() + static_cast<ptrdiff_t>(compiler.size()),
               command.end());
  std::vector<char *> arguments;
  for (std::string &word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::fflush(nullptr);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  complain(fmt::format("cannot run {}: {}", words[0], std::strerror(error)));
  return error == ENOENT ? 127 : 126;
}

} // namespace fade::cli
