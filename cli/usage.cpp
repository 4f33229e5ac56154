#include "usage.h"

#include "base/omniprobe_names.h"
#include "base/program_files.h"
#include "fade/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>

namespace fade::cli {
namespace {

/// What a command runs, behind "--"; empty: nothing.
std::string runBy(const std::string &command) {
  if (command == "diff") return " [-- application A [arguments] -- application B [arguments]]";
  if (command == "cc") return " -- compiler arguments";
  if (command == "optimize") return " -- build command";
  const bool is_needed = command == "trace" || command == "capture" || command == "triton";
  const bool is_possible = command == "profile" || command == "check" || command == "doctor";
  if (is_needed) return " -- application [arguments]";
  return is_possible ? " [-- application [arguments]]" : "";
}

class Usage : public CLI::Formatter {
public:
  /// Without the default values that CLI11 shows in braces: --no-progress{false}.
  std::string make_option_name(const CLI::Option *option, bool is_positional) const override {
    std::string name = Formatter::make_option_name(option, is_positional);
    for (std::size_t open = 0; (open = name.find('{')) != std::string::npos;)
      name.erase(open, name.find('}', open) - open + 1);
    return name;
  }
  /// Without what CLI11 shows of checks: N:UINT in [1 - 256], software|gpu:{software,gpu}.
  std::string make_option_opts(const CLI::Option *option) const override {
    std::string type = option->get_type_name();
    for (const char *check : {":{", ":UINT in", ":INT in", ":FLOAT in"})
      type.erase(std::min(type.find(check), type.size()));
    const std::string more = option->get_expected_max() > 1 && !type.ends_with("...") ? " ..." : "";
    return type.empty() ? "" : " " + type + more;
  }
  static std::string usageOf(const CLI::App &command) {
    std::string text = "usage: fadeprobe " + command.get_name() + " [options]";
    for (const CLI::Option *option : command.get_options())
      if (option->get_positional()) {
        std::string what = option->get_type_name();
        if (option->get_expected_max() > 1 && !what.ends_with("...")) what += "...";
        text += option->get_required() ? " " + what : " [" + what + "]";
      }
    return text + runBy(command.get_name()) + "\n";
  }
  std::string make_usage(const CLI::App *app, std::string) const override {
    if (app->get_parent()) return usageOf(*app);
    std::string names;
    for (const CLI::App *command : app->get_subcommands({}))
      names += (names.empty() ? "" : "|") + command->get_name();
    return "usage: fadeprobe [options] -- application [arguments]\n       fadeprobe " + names +
           " --help\n";
  }
};

/// The command line with the "--" that was probably forgotten before words[at].
std::string withDashes(const std::vector<std::string> &words, std::size_t at) {
  std::string line = "fadeprobe";
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i == at) line += " --";
    if (i > at + 2) return line + " ...";
    line += " " + words[i];
  }
  return line;
}

/// One line for a word that a command has no use for.
std::string unexpectedArgument(const std::string &command, const std::string &word) {
  const bool shows_runs = command == "report" || command == "analyze";
  return fmt::format("{}: unexpected argument '{}'{}", command, word,
                     shows_runs ? ": expected one run; fadeprobe diff A B compares two" : "");
}

} // namespace

std::shared_ptr<CLI::FormatterBase> helpFormat() { return std::make_shared<Usage>(); }

std::string explain(const CLI::App &app, const CLI::ParseError &error,
                    const std::vector<std::string> &words) {
  std::vector<std::string> names;
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames()) names.push_back("--" + name);
  for (const CLI::App *command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string not_expected = std::string(error.what()) + " ";
  if (dynamic_cast<const CLI::ExtrasError *>(&error) != nullptr)
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string &word = words[i];
      const auto name = word.substr(0, word.find('='));
      if (not_expected.find(" " + word + " ") == std::string::npos ||
          std::ranges::find(names, name) != names.end())
        continue;
      if (!word.starts_with('-') && !programOf(word).empty())
        return "unknown command " + word + " (did you mean '" + withDashes(words, i) + "'?)";
      if (!word.starts_with('-') && !app.get_subcommands().empty())
        return unexpectedArgument(app.get_subcommands().front()->get_name(), word);
      if (const auto ours = insteadOfOption(name))
        return fmt::format("{} is an option of omniprobe: use {}", name, *ours);
      return "unknown " + std::string(word.starts_with('-') ? "option " : "command ") + name +
             suggestion(name, known);
    }
  std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

std::string flagWithValue(const CLI::App &app, const std::vector<std::string> &words) {
  std::vector<const CLI::App *> all = app.get_subcommands(nullptr);
  all.push_back(&app);
  for (const std::string &word : words) {
    const std::string name = word.substr(0, word.find('='));
    if (name == word) continue;
    for (const CLI::App *command : all)
      if (const CLI::Option *option = command->get_option_no_throw(name);
          option && option->get_expected_max() == 0)
        return fmt::format("{}: '{}' is neither true nor false", name,
                           word.substr(name.size() + 1));
  }
  return "an option without a value was given one";
}

std::string misplacedOption(const CLI::App &app) {
  const std::vector<const CLI::App *> commands =
      app.get_subcommands([](const CLI::App *command) { return command->parsed(); });
  if (commands.empty()) return "";
  for (const CLI::Option *option : app.get_options())
    if (option->count() != 0)
      return option->get_name() + ": put it after " + commands[0]->get_name() +
             ", whose option it is";
  return "";
}

} // namespace fade::cli
