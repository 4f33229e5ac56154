// What a given program would load, and whether that fits together.
#include "codeobj/finder.h"
#include "doctor/loader.h"
#include "doctor/look.h"

#include <algorithm>
#include <fmt/format.h>

namespace fade::doctor {
namespace {

std::string fileName(const std::string &path) { return path.substr(path.rfind('/') + 1); }

/// Where a program is that is named without a path.
std::string findProgram(const Tree &tree, const std::string &name,
                        const std::map<std::string, std::string> &environment) {
  if (name.find('/') != name.npos) return name;
  const auto path = environment.find("PATH");
  std::string list = path == environment.end() ? "/usr/local/bin:/usr/bin:/bin" : path->second;
  for (std::string_view rest = list; !rest.empty();) {
    const auto colon = std::min(rest.find(':'), rest.size());
    const std::string place = std::string(rest.substr(0, colon)) + "/" + name;
    if (const auto status = tree.status(place); status && S_ISREG(status->st_mode)) return place;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return name;
}

/// The tree of ROCm that a library belongs to.
const Record *rocmOf(const Facts &facts, const std::string &path) {
  for (const Record *library : facts.of("library"))
    if (library->is("path", path))
      for (const Record *rocm : facts.of("rocm"))
        if (rocm->is("path", library->get("tree"))) return rocm;
  return nullptr;
}

void noteRuntime(const Facts &facts, const std::string &which, const Loaded &loaded,
                 Record &program) {
  if (program.find(which)) return;
  program.set(which, loaded.path.empty() ? "missing" : loaded.path);
  program.set(which + "_wanted", loaded.name);
  program.set(which + "_by", loaded.by);
  const Record *rocm = rocmOf(facts, loaded.path);
  if (!rocm) return;
  program.set(which + "_tree", rocm->get("path"));
  program.set(which + "_rocm", rocm->get("version"));
}

void noteCode(const Tree &tree, const std::string &path, Record &program) {
  const auto place = tree.place(path);
  if (!place) return;
  codeobj::CodeHandler handler;
  handler.on_code = [&](const codeobj::FoundCode &found) {
    program.addTo("archs", found.target.processor);
    return true;
  };
  handler.on_error = [](const Error &) {};
  (void)codeobj::findCode(*place, handler).ok();
}

} // namespace

void lookAtProgram(const Tree &tree, const std::string &name, Facts &facts) {
  const auto environment = environmentOf(tree);
  const auto value = [&](const char *variable) {
    const auto at = environment.find(variable);
    return at == environment.end() ? std::string() : at->second;
  };
  const LoaderOptions options{value("LD_LIBRARY_PATH"), value("LD_PRELOAD")};
  Record &program = facts.add("program");
  const std::string path = findProgram(tree, name, environment);
  program.set("path", path);
  // A script has no libraries; Python gets them when torch is imported.
  std::vector<std::string> roots = {path};
  if (fileName(path).starts_with("python"))
    for (const Record *library : facts.of("library"))
      if (library->is("name", "libtorch_hip")) roots.push_back(library->get("path"));
  for (const std::string &root : roots) {
    const auto loaded = librariesOf(tree, root, options);
    if (!loaded) {
      std::string problem = loaded.error().message();
      // As that machine calls it.
      if (const auto place = tree.place(root); place && problem.starts_with(*place))
        problem.replace(0, place->size(), root);
      program.set("problem", problem);
      continue;
    }
    for (const Loaded &one : *loaded) {
      const bool is_hip = one.name.starts_with("libamdhip64");
      const bool is_hsa = one.name.starts_with("libhsa-runtime64");
      const bool is_known = is_hip || is_hsa || rocmOf(facts, one.path);
      if (!is_known && !one.path.empty()) continue;
      Record &load = facts.add("load");
      load.set("program", path);
      load.set("name", one.name);
      load.set("path", one.path);
      load.set("found", one.path.empty() ? "no" : "yes");
      load.set("reason", one.reason);
      load.set("by", one.by);
      if (const Record *rocm = rocmOf(facts, one.path)) {
        load.set("tree", rocm->get("path"));
        load.set("rocm", rocm->get("version"));
      }
      if (is_hip) noteRuntime(facts, "hip", one, program);
      if (is_hsa) noteRuntime(facts, "hsa", one, program);
    }
    noteCode(tree, root, program);
  }
}

} // namespace fade::doctor
