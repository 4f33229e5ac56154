// Variables that change how ROCm behaves: where they are set, and who reads them.
#include "codeobj/bytes.h"
#include "doctor/look.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>

namespace fade::doctor {
namespace {

constexpr std::size_t kMostVariables = 200;
constexpr std::size_t kLongestValue = 4096;

bool isName(std::string_view text) {
  return !text.empty() && text.size() < 100 && (text[0] < '0' || text[0] > '9') &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

Record *recordOf(Facts &facts, const std::string &name) {
  for (Record *record : facts.of("variable"))
    if (record->is("name", name)) return record;
  if (facts.of("variable").size() >= kMostVariables) return nullptr;
  Record &record = facts.add("variable");
  record.set("name", name);
  return &record;
}

std::string unquoted(std::string_view text) {
  std::string value = trimmed(text);
  if (value.size() >= 2 && (value[0] == '"' || value[0] == '\'') && value.back() == value[0])
    return value.substr(1, value.size() - 2);
  return value;
}

/// The assignments of a line: "export A=1 B='x y'", "A=1", "setenv A 1".
std::vector<std::pair<std::string, std::string>> assignmentsIn(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> found;
  std::string line = trimmed(text);
  if (line.starts_with('#')) return found;
  if (const auto words = wordsOf(line); words.size() == 3 && words[0] == "setenv") {
    found.emplace_back(words[1], unquoted(words[2]));
    return found;
  }
  if (const auto words = wordsOf(line);
      words.size() >= 3 && words[0] == "set" && words.size() <= 5) { // fish: set -gx A 1
    std::size_t at = 1;
    bool is_exported = false;
    for (; at < words.size() && words[at].starts_with('-'); ++at)
      is_exported |= words[at] == "--export" ||
                     (words[at][1] != '-' && words[at].find('x') != std::string::npos);
    if (is_exported && at + 2 == words.size() && isName(words[at]))
      found.emplace_back(words[at], unquoted(words[at + 1]));
    return found;
  }
  // A unit of systemd: Environment=A=1 "B=x y".
  for (const std::string_view key : {"Environment=", "DefaultEnvironment="})
    if (line.starts_with(key)) {
      line.erase(0, key.size());
      std::string plain; // quotes stand around whole assignments there
      for (std::size_t i = 0; i < line.size(); ++i) {
        const bool is_start = i == 0 || line[i - 1] == ' ';
        const auto end = is_start && (line[i] == '"' || line[i] == '\'') ? line.find(line[i], i + 1)
                                                                         : std::string::npos;
        const auto equals = line.find('=', i);
        if (end == line.npos || equals >= end) {
          plain += line[i];
          continue;
        }
        plain += line.substr(i + 1, equals - i) + line[i] + line.substr(equals + 1, end - equals);
        i = end;
      }
      line = plain;
      break;
    }
  if (line.starts_with("export ")) line.erase(0, 7);
  std::string_view rest = line;
  while (!rest.empty()) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    const auto equals = rest.find('=');
    if (equals == rest.npos || !isName(rest.substr(0, equals))) break;
    std::size_t end = equals + 1;
    for (char quote = 0; end < rest.size(); ++end) {
      if (quote == 0 && (rest[end] == ' ' || rest[end] == '\t' || rest[end] == ';')) break;
      if (rest[end] == '"' || rest[end] == '\'')
        quote = quote == 0 ? rest[end] : quote == rest[end] ? char{0} : quote;
    }
    found.emplace_back(rest.substr(0, equals), unquoted(rest.substr(equals + 1, end - equals - 1)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return found;
}

/// Whether the bytes hold the name as a string of its own.
bool holdsString(codeobj::ByteView bytes, const std::string &name) {
  const char *const data = reinterpret_cast<const char *>(bytes.data());
  for (std::size_t from = 0; from < bytes.size();) {
    const void *at = memmem(data + from, bytes.size() - from, name.c_str(), name.size() + 1);
    if (!at) return false;
    const auto offset = static_cast<std::size_t>(static_cast<const char *>(at) - data);
    if (offset == 0 || data[offset - 1] == '\0') return true;
    from = offset + 1;
  }
  return false;
}

} // namespace

bool isInteresting(std::string_view name, std::span<const KnownVariable> known) {
  constexpr std::array<std::string_view, 7> prefixes = {
      "HSA_", "HSAKMT_", "HIP_", "ROCR_", "MIOPEN_", "ROCBLAS_", "PYTORCH_HIP_"};
  return std::ranges::any_of(prefixes, [&](auto prefix) { return name.starts_with(prefix); }) ||
         std::ranges::any_of(known, [&](const auto &one) { return one.name == name; });
}

/// Services, and what was added to them in folders of their own.
static void addUnits(const Tree &tree, const std::string &folder, std::vector<std::string> &files) {
  constexpr std::size_t most = 500;
  for (const std::string &name : tree.list(folder)) {
    if (files.size() >= most) return;
    if (name.ends_with(".service"))
      files.push_back(folder + "/" + name);
    else if (name.ends_with(".service.d"))
      for (const std::string &part : tree.list(folder + "/" + name))
        if (part.ends_with(".conf")) files.push_back(folder + "/" + name + "/" + part);
  }
}

std::vector<std::string> shellFiles(const Tree &tree, const std::string &home) {
  std::vector<std::string> files = {"/etc/environment", "/etc/profile", "/etc/bash.bashrc",
                                    "/etc/zsh/zshenv"};
  for (const char *folder : {"/etc/profile.d", "/etc/environment.d", "/etc/fish/conf.d"})
    for (const std::string &name : tree.list(folder))
      files.push_back(fmt::format("{}/{}", folder, name));
  addUnits(tree, "/etc/systemd/system", files);
  for (const char *file : {"/etc/systemd/system.conf", "/etc/systemd/user.conf"})
    files.emplace_back(file);
  if (!home.empty()) {
    addUnits(tree, home + "/.config/systemd/user", files);
    for (const char *name :
         {".profile", ".bash_profile", ".bash_login", ".bashrc", ".bash_aliases", ".zshenv",
          ".zprofile", ".zshrc", ".xprofile", ".pam_environment", ".config/fish/config.fish"})
      files.push_back(home + "/" + name);
    const std::string folder = home + "/.config/environment.d";
    for (const std::string &name : tree.list(folder)) files.push_back(folder + "/" + name);
  }
  return files;
}

std::string settingsIn(std::string_view text, std::span<const KnownVariable> known) {
  std::string kept;
  for (const std::string &line : linesOf(text)) {
    const auto all = assignmentsIn(line);
    if (std::ranges::any_of(all, [&](const auto &one) { return isInteresting(one.first, known); }))
      kept += line + "\n";
  }
  return kept;
}

std::map<std::string, std::string> environmentOf(const Tree &tree) {
  std::map<std::string, std::string> found;
  const auto add = [&](std::string_view pair) {
    const auto equals = pair.find('=');
    if (equals != pair.npos && isName(pair.substr(0, equals)))
      found.emplace(pair.substr(0, equals), pair.substr(equals + 1, kLongestValue));
  };
  if (tree.isThisMachine()) {
    for (char **at = environ; at && *at; ++at) add(*at);
  } else {
    for (const std::string &line : linesOf(tree.text(std::string(kNotes) + "environ").value_or("")))
      add(line);
  }
  return found;
}

void lookAtVariables(const Tree &tree, std::span<const KnownVariable> known, Facts &facts) {
  const auto environment = environmentOf(tree);
  const bool has_environment = tree.isThisMachine() || tree.exists(std::string(kNotes) + "environ");
  for (const auto &[name, value] : environment)
    if (isInteresting(name, known))
      if (Record *record = recordOf(facts, name)) {
        record->values["value"] = value; // an empty one is a value, too
        record->set("in_environment", "yes");
        record->addTo("set_in", "environment");
      }
  const auto home = environment.find("HOME");
  for (const std::string &file : shellFiles(tree, home == environment.end() ? "" : home->second))
    for (const std::string &line : linesOf(tree.text(file).value_or("")))
      for (const auto &[name, value] : assignmentsIn(line))
        if (isInteresting(name, known))
          if (Record *record = recordOf(facts, name)) {
            record->addTo("set_in", file);
            record->set("file", file);
            record->set("file_kind", file.find("/systemd/") != file.npos ? "service" : "shell");
            record->set("file_value", value.substr(0, kLongestValue));
            if (!record->find("in_environment") && has_environment)
              record->set("in_environment", "no");
            if (record->is("in_environment", "yes"))
              record->set("file_differs", record->get("value") == value ? "no" : "yes");
          }
  for (Record *record : facts.of("variable"))
    for (const KnownVariable &one : known)
      if (record->is("name", one.name)) {
        record->set("known", "yes");
        record->set("meaning", one.meaning);
      }
}

void lookForReaders(const Tree &tree, std::span<const KnownVariable> known, Facts &facts) {
  constexpr uint64_t too_large = 512 << 20;
  const auto variables = facts.of("variable");
  if (variables.empty()) return;
  for (const Record *library : facts.of("library")) {
    const auto status = tree.status(library->get("path"));
    const auto place = tree.place(library->get("path"));
    if (!status || !place || !S_ISREG(status->st_mode) ||
        static_cast<uint64_t>(status->st_size) > too_large)
      continue;
    const auto blob = codeobj::Blob::mapFile(*place);
    if (!blob) continue;
    for (Record *variable : variables) {
      const std::string name = variable->get("name");
      for (const KnownVariable &one : known)
        if (one.name == name &&
            std::ranges::find(one.readers, library->get("name")) != one.readers.end())
          variable->addTo("examined", library->get("path"));
      if (holdsString(blob->bytes(), name)) variable->addTo("readers", library->get("path"));
    }
  }
}

} // namespace fade::doctor
