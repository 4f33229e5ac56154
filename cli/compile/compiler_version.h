// Which compiler a command runs, and the instrumentation plugin that was built for it.
#pragma once

#include "fade/compiler.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fade::cli {

/// What a compiler says of itself.
struct Compiler {
  std::string program; ///< as the user calls it
  std::string line;    ///< "AMD clang version 22.0.0git (…)": the whole line
  ClangVersion version;
  std::string root; ///< where it is installed: /opt/rocm-7.2.1/lib/llvm; empty if it does not say
};

/// From what a compiler prints with --version; nothing if it is no clang.
std::optional<Compiler> readCompiler(const std::string &program, std::string_view version_text);

/// A plugin's file, and the version line of the compiler it was built for.
struct Plugin {
  std::string path, built_for;
};

/// All plugins in some folders.
std::vector<Plugin> pluginsIn(const std::vector<std::string> &folders);

/// The one that was built for the compiler; null if there is none.
const Plugin *choosePlugin(const std::vector<Plugin> &plugins, const Compiler &compiler);

/// One line: that no plugin fits, and the command that builds one.
std::string noPluginFor(const Compiler &compiler, const std::vector<Plugin> &plugins);

} // namespace fade::cli
