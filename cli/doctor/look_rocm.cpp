// ROCm as it is installed: the trees, those inside of Python packages too, and their libraries.
#include "codeobj/bundle.h"
#include "codeobj/elf.h"
#include "doctor/look.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>
#include <set>

namespace fade::doctor {
namespace {

constexpr std::size_t kMostTrees = 16;

struct LibraryKind {
  std::string_view name; ///< libX, without .so
  bool has_gpu_code;
};
constexpr std::array<LibraryKind, 17> kLibraries = {{{"libhsa-runtime64", false},
                                                     {"libhsakmt", false},
                                                     {"librocdxg", false},
                                                     {"libamdhip64", false},
                                                     {"libamd_comgr", false},
                                                     {"librocblas", true},
                                                     {"libhipblaslt", true},
                                                     {"libMIOpen", true},
                                                     {"librocsparse", true},
                                                     {"librocsolver", true},
                                                     {"librocfft", true},
                                                     {"librocrand", true},
                                                     {"librccl", true},
                                                     {"libtorch_hip", true},
                                                     {"libc10_hip", false},
                                                     {"libggml-hip", true},
                                                     {"libtorch_cpu", false}}};

/// A version in what a file is called: libamdhip64.so.6.2.41134 is 6.2.41134.
std::string versionInName(const std::string &file) {
  const auto at = file.find(".so.");
  return at == file.npos ? "" : file.substr(at + 4);
}

/// ROCr's own packages end in ROCm's version: libhsa-runtime64.so.1.14.60200 is of 6.2.0.
std::string rocmVersionInName(const std::string &file) {
  const std::string version = versionInName(file);
  const auto dot = version.rfind('.');
  const uint64_t number = toNumber(dot == version.npos ? "" : version.substr(dot + 1));
  if (number < 30000 || number > 999999) return "";
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

/// All "gfx…" names that follow each other in a text, or in the strings of a binary.
void collectProcessors(std::string_view text, std::set<std::string> &found) {
  for (auto at = text.find("gfx"); at != text.npos; at = text.find("gfx", at + 3)) {
    std::size_t end = at + 3;
    while (end < text.size() && std::isxdigit(static_cast<unsigned char>(text[end]))) ++end;
    const bool is_whole =
        end >= text.size() || !std::isalnum(static_cast<unsigned char>(text[end]));
    const auto name = std::string(text.substr(at, end - at));
    if (is_whole && name.size() >= 6 && name.size() <= 7) found.insert(name);
  }
}

/// What the files of a library's kernels are for, where they lie beside it.
void processorsInFolder(const Tree &tree, const std::string &folder, unsigned depth,
                        std::set<std::string> &found) {
  for (const std::string &name : tree.list(folder)) {
    const std::string path = folder + "/" + name;
    collectProcessors(name, found);
    if (depth > 0 && tree.isFolder(path)) processorsInFolder(tree, path, depth - 1, found);
  }
}

/// What the first bundle in a library is for; the others are for the same.
void processorsInBundle(const std::string &place, std::set<std::string> &found) {
  auto blob = codeobj::Blob::mapFile(place);
  if (!blob || !codeobj::Elf::looksLike(blob->bytes())) return;
  const auto elf = codeobj::Elf::open(*blob);
  if (!elf) return;
  const codeobj::Section *section = elf->findSection(".hip_fatbin");
  if (!section) return;
  const auto contents = elf->contents(*section);
  if (!contents || !codeobj::Bundle::looksLike(*contents)) return;
  const auto bundle = codeobj::Bundle::open(blob->slice(*contents, place));
  if (!bundle) return;
  const auto entries = bundle->entries();
  if (!entries) return;
  for (const codeobj::BundleEntry &entry : *entries) {
    const auto dashes = entry.id.rfind("--");
    if (dashes == entry.id.npos || entry.id.find("amdgcn") == entry.id.npos) continue;
    std::string processor = entry.id.substr(dashes + 2);
    processor.resize(std::min(processor.find(':'), processor.size()));
    if (!processor.empty() && processor.size() < 40) found.insert(processor);
  }
}

void lookAtCode(const Tree &tree, const std::string &root, const std::string &folder,
                Record &library) {
  std::set<std::string> found;
  const std::string name = library.get("name");
  if (name == "librocblas" || name == "libhipblaslt")
    processorsInFolder(tree, folder + "/" + name.substr(3), 3, found);
  if (name == "libMIOpen")
    for (const char *place : {"/share/miopen/db", "/lib/miopen/db"})
      processorsInFolder(tree, root + place, 0, found);
  if (found.empty())
    if (const auto place = tree.place(library.get("path"))) processorsInBundle(*place, found);
  for (const std::string &processor : found) library.addTo("archs", processor);
}

/// The processors that the runtime can name.
void lookAtNames(const Tree &tree, Record &library) {
  const auto place = tree.place(library.get("path"));
  const auto blob = place ? codeobj::Blob::mapFile(*place) : Error::of("");
  if (!blob) return;
  std::set<std::string> found;
  collectProcessors(codeobj::asText(blob->bytes()), found);
  for (const std::string &processor : found) library.addTo("archs", processor);
}

void lookAtLibrary(const Tree &tree, const std::string &root, const std::string &folder,
                   const std::string &file, const LibraryKind &kind, Facts &facts) {
  const std::string path = folder + "/" + file;
  const auto real = tree.canonical(path);
  const auto status = tree.status(path);
  if (!real || !status || !S_ISREG(status->st_mode)) return;
  for (const Record *known : facts.of("library"))
    if (known->is("path", *real)) return;
  Record &library = facts.add("library");
  library.set("name", std::string(kind.name));
  library.set("path", *real);
  library.set("tree", root);
  const std::string real_name = real->substr(real->rfind('/') + 1);
  library.set("file", real_name);
  library.set("version", versionInName(real_name));
  library.set("rocm", rocmVersionInName(real_name));
  if (kind.has_gpu_code) lookAtCode(tree, root, folder, library);
  if (kind.name == "libhsa-runtime64") lookAtNames(tree, library);
}

/// Libraries in a folder that are one of ours; how many there are.
std::size_t lookAtLibraries(const Tree &tree, const std::string &root, const std::string &folder,
                            Facts &facts) {
  const std::size_t before = facts.of("library").size();
  for (const std::string &file : tree.list(folder))
    for (const LibraryKind &kind : kLibraries)
      if (file.starts_with(kind.name) && file.substr(kind.name.size()).starts_with(".so"))
        lookAtLibrary(tree, root, folder, file, kind, facts);
  return facts.of("library").size() - before;
}

/// From what the tree says, else from its HIP, else from its ROCr.
void lookAtVersion(const Tree &tree, const std::string &root, Record &rocm, Facts &facts) {
  for (const char *file : {"/.info/version", "/.info/version-dev", "/share/doc/rocm/version"})
    if (const auto version = tree.line(root + file); version && !version->empty()) {
      rocm.set("version", version->substr(0, version->find('-')));
      rocm.set("source", root + file);
      return;
    }
  for (const char *name : {"libamdhip64", "libhsa-runtime64"})
    for (const Record *library : facts.of("library")) {
      if (!library->is("name", name) || !library->is("tree", root)) continue;
      std::string version = library->get("rocm");
      if (version.empty() && name == std::string("libamdhip64")) {
        const auto parts = library->get("version");
        const auto second = parts.find('.', parts.find('.') + 1);
        if (parts.find('.') != parts.npos) version = parts.substr(0, second);
      }
      if (version.empty()) continue;
      rocm.set("version", version);
      rocm.set("source", library->get("path"));
      return;
    }
}

void lookAtTree(const Tree &tree, const std::string &root, const std::string &origin,
                std::span<const std::string> folders, Facts &facts) {
  const auto real = tree.canonical(root);
  if (!real || facts.of("rocm").size() >= kMostTrees) return;
  for (const Record *known : facts.of("rocm"))
    if (known->is("path", *real)) return;
  std::size_t libraries = 0;
  for (const std::string &folder : folders)
    if (const std::string path = *real + folder; tree.isFolder(path))
      libraries += lookAtLibraries(tree, *real, path, facts);
  const bool has_runtime = std::ranges::any_of(facts.of("library"), [&](const Record *library) {
    return library->is("tree", *real) &&
           (library->is("name", "libhsa-runtime64") || library->is("name", "libamdhip64"));
  });
  if (!has_runtime) return;
  Record &rocm = facts.add("rocm");
  rocm.set("path", *real);
  rocm.set("origin", origin);
  rocm.set("libraries", std::to_string(libraries));
  lookAtVersion(tree, *real, rocm, facts);
}

/// Folders with Python packages.
std::vector<std::string> packageFolders(const Tree &tree, const std::string &program) {
  const auto environment = environmentOf(tree);
  const auto value = [&](const char *name) {
    const auto at = environment.find(name);
    return at == environment.end() ? std::string() : at->second;
  };
  std::vector<std::string> prefixes = {"/usr", "/usr/local", "/opt/venv", "/opt/conda"};
  if (!value("HOME").empty()) prefixes.push_back(value("HOME") + "/.local");
  for (const char *name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (!value(name).empty()) prefixes.insert(prefixes.begin(), value(name));
  // The Python of an environment brings its packages: /home/me/venv/bin/python, which is a link.
  if (const auto bin = program.rfind("/bin/"); bin != program.npos && bin > 0)
    prefixes.insert(prefixes.begin(), program.substr(0, bin));
  std::vector<std::string> folders;
  for (const std::string &prefix : prefixes)
    for (const std::string &python : tree.list(prefix + "/lib"))
      if (python.starts_with("python"))
        for (const char *packages : {"/site-packages", "/dist-packages"})
          if (const std::string path = prefix + "/lib/" + python + packages; tree.isFolder(path))
            folders.push_back(path);
  return folders;
}

/// PyTorch and others bring a ROCm of their own.
void lookAtPackages(const Tree &tree, const std::string &program, Facts &facts) {
  const std::array<std::string, 1> lib = {"/lib"};
  for (const std::string &folder : packageFolders(tree, program))
    for (const std::string &name : tree.list(folder)) {
      if (name != "torch" && !name.starts_with("_rocm_sdk")) continue;
      const std::string root = folder + "/" + name;
      lookAtTree(tree, root, "wheel", lib, facts);
      for (const std::string &line : linesOf(tree.text(root + "/version.py").value_or(""))) {
        const auto words = wordsOf(line);
        if (words.size() < 3 || !words[0].starts_with("hip")) continue;
        std::string version = words.back();
        std::erase_if(version, [](char c) { return c == '\'' || c == '"'; });
        for (Record *rocm : facts.of("rocm"))
          if (rocm->is("path", tree.canonical(root).value_or("")) && version[0] >= '0' &&
              version[0] <= '9') {
            const auto second = version.find('.', version.find('.') + 1);
            rocm->set("version", version.substr(0, second));
            rocm->set("source", root + "/version.py");
          }
      }
    }
}

} // namespace

void lookAtRocm(const Tree &tree, const std::string &program, Facts &facts) {
  const std::array<std::string, 2> lib = {"/lib", "/lib64"};
  const auto environment = environmentOf(tree);
  for (const char *name : {"ROCM_PATH", "ROCM_HOME", "HIP_PATH"})
    if (const auto at = environment.find(name); at != environment.end() && !at->second.empty())
      lookAtTree(tree, at->second, "variable " + std::string(name), lib, facts);
  if (tree.isFolder("/opt/rocm")) lookAtTree(tree, "/opt/rocm", "opt", lib, facts);
  for (const std::string &name : tree.list("/opt"))
    if (name.starts_with("rocm")) {
      lookAtTree(tree, "/opt/" + name, "opt", lib, facts);
      // From 7.14 on versions lie beside each other in there: /opt/rocm/core-10.0.
      for (const std::string &core : tree.list("/opt/" + name))
        if (core.starts_with("core"))
          lookAtTree(tree, "/opt/" + name + "/" + core, "opt", lib, facts);
    }
  std::vector<std::string> system = {"/lib", "/lib64"};
  for (const std::string &name : tree.list("/usr/lib"))
    if (name.ends_with("-linux-gnu")) system.push_back("/lib/" + name);
  lookAtTree(tree, "/usr", "distribution", system, facts);
  lookAtPackages(tree, program, facts);
  Record &machine = facts.one("machine");
  machine.set("rocms", std::to_string(facts.of("rocm").size()));
}

} // namespace fade::doctor
