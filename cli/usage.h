// What fadeprobe says about its own command line: help, and one line for each mistake.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class FormatterBase;
class ParseError;
} // namespace CLI

namespace fade::cli {

/// For --help.
std::shared_ptr<CLI::FormatterBase> helpFormat();
/// One line for what CLI11 found wrong, with the option that was probably meant.
std::string explain(const CLI::App &app, const CLI::ParseError &error,
                    const std::vector<std::string> &words);
/// One line for a value that an option without one was given: CLI11 throws something else then.
std::string flagWithValue(const CLI::App &app, const std::vector<std::string> &words);
/// Options before a command would have no effect. One line; empty: there are none.
std::string misplacedOption(const CLI::App &app);

} // namespace fade::cli
