#include "compile/compiler_version.h"

#include "codeobj/elf.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace fade::cli {
namespace {

namespace fs = std::filesystem;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r' || text.back() == '\0'))
    text.remove_suffix(1);
  return text;
}

/// Calls `use` with each line until it returns false.
template <class Use> void eachLine(std::string_view text, Use use) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    if (!use(trimmed(text.substr(0, end)))) return;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// The line that a plugin's file has for this; empty if it has none.
std::string builtFor(const fs::path &file) {
  const auto blob = codeobj::Blob::mapFile(file.string());
  if (!blob || !codeobj::Elf::looksLike(blob->bytes())) return {};
  const auto elf = codeobj::Elf::open(*blob);
  if (!elf) return {};
  const codeobj::Section *section = elf->findSection(FADE_COMPILER_SECTION);
  if (!section) return {};
  const auto contents = elf->contents(*section);
  return contents ? std::string(trimmed(codeobj::asText(*contents))) : std::string();
}

} // namespace

std::optional<Compiler> readCompiler(const std::string &program, std::string_view version_text) {
  Compiler compiler;
  compiler.program = program;
  eachLine(version_text, [&](std::string_view line) {
    // hipcc has a line of its own before those of its clang.
    if (const auto version = clangVersion(line); version && compiler.line.empty()) {
      compiler.line = line;
      compiler.version = *version;
    }
    constexpr std::string_view installed = "InstalledDir: ";
    if (line.starts_with(installed))
      compiler.root = fs::path(line.substr(installed.size())).parent_path().string();
    return true;
  });
  if (compiler.line.empty()) return std::nullopt;
  return compiler;
}

std::vector<Plugin> pluginsIn(const std::vector<std::string> &folders) {
  std::vector<Plugin> plugins;
  for (const std::string &folder : folders) {
    std::error_code error;
    for (const auto &entry : fs::directory_iterator(folder, error)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with("libfadeinstr-") || !name.ends_with(".so")) continue;
      if (std::string line = builtFor(entry.path()); !line.empty())
        plugins.push_back({entry.path().string(), std::move(line)});
    }
  }
  std::ranges::sort(plugins, {}, &Plugin::path);
  return plugins;
}

const Plugin *choosePlugin(const std::vector<Plugin> &plugins, const Compiler &compiler) {
  auto found = std::ranges::find(plugins, compiler.line, &Plugin::built_for);
  if (found == plugins.end())
    found = std::ranges::find_if(
        plugins, [&](const Plugin &p) { return pluginFits(p.built_for, compiler.line); });
  return found == plugins.end() ? nullptr : &*found;
}

std::string noPluginFor(const Compiler &compiler, const std::vector<Plugin> &plugins) {
  std::string others;
  for (const Plugin &plugin : plugins)
    others +=
        (others.empty() ? "" : ", ") + plugin.built_for.substr(0, plugin.built_for.find(" ("));
  const unsigned major = compiler.version.number[0];
  // Distributions have each release in a folder of its own, where the build finds it.
  const std::string cure =
      compiler.version.is_release
          ? fmt::format("install llvm-{0}-dev and clang-{0}, and run 'scripts/build' in FADE's "
                        "source folder",
                        major)
          : fmt::format("run 'scripts/build -DFADE_ROCM_LLVM={}' in FADE's source folder",
                        compiler.root.empty() ? "/opt/rocm/llvm" : compiler.root);
  return fmt::format("{} is '{}', and no plugin was built for it ({}): {}", compiler.program,
                     compiler.line,
                     others.empty() ? "no plugin is installed" : "installed: " + others, cure);
}

} // namespace fade::cli
