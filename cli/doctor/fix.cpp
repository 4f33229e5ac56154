#include "doctor/fix.h"

#include "base/diagnostics.h"
#include "base/shell_text.h"
#include "doctor/json.h"
#include "doctor/kernel_words.h"
#include "fade/json_writer.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fade::doctor {
namespace {

constexpr std::size_t kLargestFile = 1 << 20;
constexpr const char *kHead = "# Written by fadeprobe doctor --fix --write; "
                              "fadeprobe doctor --fix --revert undoes it.\n";
struct FixFile {
  Fix::Kind kind;
  const char *path;
  const char *command; ///< that makes it take effect
};
constexpr FixFile kFiles[] = {
    {Fix::Kind::environment, "/etc/profile.d/fade-doctor.sh", "log in again"},
    {Fix::Kind::modprobe, "/etc/modprobe.d/fade-doctor.conf",
     "update-initramfs -u (or dracut -f), then reboot"},
    {Fix::Kind::udev, "/etc/udev/rules.d/70-fade-doctor.rules",
     "udevadm control --reload && udevadm trigger"},
    {Fix::Kind::kernel, kGrub, ""},
    {Fix::Kind::kernel, kCommandLine, ""},
    {Fix::Kind::kernel, kCommandLinePart, ""}};

/// Where a fix goes. Which file has the kernel's words depends on how the machine starts.
Result<KernelLine> lineFor(const Tree &tree, const Fix &fix) {
  if (fix.kind == Fix::Kind::kernel) return kernelLineOf(tree, fix.text);
  const auto file = std::ranges::find(kFiles, fix.kind, &FixFile::kind);
  return KernelLine{file->path, kHead, file->command};
}

/// An assignment for a shell.
std::string quoted(const std::string &assignment) {
  const auto equals = assignment.find('=');
  const std::string value = assignment.substr(equals + 1);
  return value.empty() ? assignment : assignment.substr(0, equals + 1) + shellWord(value);
}

std::string lineOf(const Fix &fix) {
  switch (fix.kind) {
  case Fix::Kind::environment: return "export " + quoted(fix.text);
  case Fix::Kind::modprobe: return "options amdgpu " + fix.text;
  default: return fix.text;
  }
}

std::string hexOf(std::string_view bytes) {
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::string bytesOf(const std::string &hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(hex.data() + i, hex.data() + i + 2, value, 16);
    if (error != std::errc() || end != hex.data() + i + 2)
      throw std::invalid_argument("not hexadecimal");
    bytes += static_cast<char>(value);
  }
  return bytes;
}

/// Where a file is or would be in this machine's file system, inside of the tree.
Result<std::string> placeFor(const Tree &tree, const std::string &path) {
  if (const auto place = tree.place(path)) return *place;
  if (tree.linkTarget(path)) return Error::of(path + ": a link that leads nowhere");
  const auto slash = path.rfind('/');
  const auto folder = tree.place(path.substr(0, slash));
  if (!folder) return Error::of(path.substr(0, slash) + ": no such folder");
  return *folder + path.substr(slash);
}

/// Replaces the file as a whole: readers see the old one or the new one.
Status replaceFile(const std::string &place, const std::string &contents, mode_t mode) {
  const std::string temporary = fmt::format("{}.fade-{}", place, getpid());
  const int fd =
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
  if (fd < 0) return Error::of(fmt::format("cannot write {}: {}", place, std::strerror(errno)));
  struct stat old {};
  if (stat(place.c_str(), &old) == 0) (void)!fchown(fd, old.st_uid, old.st_gid);
  int error = writeAll(fd, contents);
  if (error == 0 && (fchmod(fd, mode) != 0 || fsync(fd) != 0)) error = errno;
  if (close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && rename(temporary.c_str(), place.c_str()) != 0) error = errno;
  if (error == 0) return Done{};
  (void)unlink(temporary.c_str());
  return Error::of(fmt::format("cannot write {}: {}", place, std::strerror(error)));
}

/// Makes what is missing of the folders above a path, and notes it.
Status makeFolders(const Tree &tree, const std::string &path, std::vector<std::string> &made) {
  for (auto slash = path.find('/', 1); slash != path.npos; slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    if (tree.exists(folder)) continue;
    const auto place = placeFor(tree, folder);
    if (!place) return place.error();
    if (mkdir(place->c_str(), 0755) != 0)
      return Error::of(fmt::format("cannot create {}: {}", *place, std::strerror(errno)));
    made.push_back(folder);
  }
  return Done{};
}

void removeFolders(const Tree &tree, const std::vector<std::string> &folders) {
  for (auto at = folders.rbegin(); at != folders.rend(); ++at)
    if (const auto place = tree.place(*at)) (void)rmdir(place->c_str()); // only if it is empty
}

mode_t modeOf(const Tree &tree, const std::string &path) {
  const auto status = tree.status(path);
  return status ? status->st_mode & 07777 : 0644;
}

std::string ledgerOf(const FixPlan &plan) {
  JsonWriter json;
  json.object([&] {
    json.field("version", 1);
    json.list("folders", [&] {
      for (const std::string &folder : plan.folders) json.value(folder);
    });
    json.list("files", [&] {
      for (const FileChange &change : plan.changes)
        json.object([&] {
          json.field("path", change.path);
          json.field("was_there", change.was_there);
          json.field("before", hexOf(change.before));
          json.field("after", hexOf(change.after));
        });
    });
  });
  return json.take();
}

Result<FixPlan> readLedger(const Tree &tree) {
  const auto text = tree.text(kLedger, 16 << 20);
  if (!text) return Error::of(fmt::format("nothing to revert: no ledger ({})", kLedger));
  try {
    const Json json = Json::parse(*text);
    if (json.at("version").number() != 1) throw std::invalid_argument("unknown version");
    FixPlan plan;
    for (const Json &folder : json.at("folders").list()) {
      const bool is_ours = std::string_view(kLedger).starts_with(folder.text() + "/") ||
                           std::ranges::any_of(kFiles, [&](const FixFile &one) {
                             return std::string_view(one.path).starts_with(folder.text() + "/");
                           });
      if (!is_ours) throw std::invalid_argument(folder.text() + " is none of the folders made");
      plan.folders.push_back(folder.text());
    }
    for (const Json &file : json.at("files").list()) {
      FileChange change;
      change.path = file.at("path").text();
      change.was_there = file.at("was_there").boolean();
      change.before = bytesOf(file.at("before").text());
      change.after = bytesOf(file.at("after").text());
      // It is a file that anybody with the rights could have changed: only ours are touched.
      if (std::ranges::none_of(kFiles, [&](const FixFile &one) { return change.path == one.path; }))
        throw std::invalid_argument(change.path + " is none of the files that are written");
      plan.changes.push_back(std::move(change));
    }
    return plan;
  } catch (const std::exception &wrong) {
    return Error::of(fmt::format("{}: {}", kLedger, wrong.what()));
  }
}

/// The remedies that are meant.
Result<std::vector<std::pair<std::string, const Remedy *>>>
remediesFor(std::span<const Finding> findings, std::span<const std::string> chosen) {
  std::vector<std::pair<std::string, const Remedy *>> meant;
  const auto firstOf = [](const Finding &finding) {
    const auto at = std::ranges::find_if(finding.remedies,
                                         [](const Remedy &one) { return !one.fixes.empty(); });
    return at == finding.remedies.end() ? nullptr : &*at;
  };
  if (chosen.empty())
    for (const Finding &finding : findings)
      if (const Remedy *remedy = firstOf(finding)) meant.emplace_back(finding.rule, remedy);
  for (const std::string &choice : chosen) {
    const auto colon = std::min(choice.find(':'), choice.size());
    const auto finding = std::ranges::find(findings, choice.substr(0, colon), &Finding::rule);
    if (finding == findings.end())
      return Error::of(fmt::format("no finding named {}", choice.substr(0, colon)));
    const Remedy *remedy = firstOf(*finding);
    if (colon < choice.size()) {
      const uint64_t number = toNumber(choice.substr(colon + 1));
      remedy = number >= 1 && number <= finding->remedies.size() ? &finding->remedies[number - 1]
                                                                 : nullptr;
    }
    if (!remedy || remedy->fixes.empty())
      return Error::of(fmt::format("{}: nothing to write", choice));
    meant.emplace_back(finding->rule, remedy);
  }
  return meant;
}

/// A driver's parameter is set in one place: modprobe.d, if the remedy has both.
std::vector<Fix> fixesOf(const Remedy &remedy) {
  const bool has_modprobe = std::ranges::any_of(
      remedy.fixes, [](const Fix &fix) { return fix.kind == Fix::Kind::modprobe; });
  std::vector<Fix> fixes;
  for (const Fix &fix : remedy.fixes)
    if (!has_modprobe || fix.kind != Fix::Kind::kernel) fixes.push_back(fix);
  return fixes;
}

/// The file as it is so far in the plan.
Result<FileChange *> changeOf(const Tree &tree, const std::string &path, FixPlan &plan) {
  for (FileChange &change : plan.changes)
    if (change.path == path) return &change;
  FileChange change;
  change.path = path;
  if (const auto status = tree.status(path)) {
    const auto text = tree.text(path, kLargestFile + 1);
    if (!text || text->size() > kLargestFile)
      return Error::of(path + ": exists, but cannot be read or is too large");
    change.was_there = true;
    change.before = change.after = *text;
  }
  plan.changes.push_back(std::move(change));
  return &plan.changes.back();
}

Status addFix(const Tree &tree, const std::string &rule, const Fix &fix, FixPlan &plan) {
  if (fix.text.find_first_of("\n\r") != fix.text.npos || fix.text.find('\0') != fix.text.npos)
    return Error::of(rule + ": the text to write has more than one line");
  const auto place = lineFor(tree, fix);
  if (!place) return place.error();
  const auto found = changeOf(tree, place->path, plan);
  if (!found) return found.error();
  FileChange &change = **found;
  if (change.after.empty()) change.after = place->fresh;
  if (fix.kind == Fix::Kind::kernel) {
    auto line = withKernelWord(tree, place->path, change.after, fix.text);
    if (!line) return std::move(line).error();
    change.after = std::move(*line);
  } else {
    const std::string line = lineOf(fix);
    const auto lines = linesOf(change.after);
    if (std::ranges::find(lines, line) == lines.end()) change.after += line + "\n";
  }
  if (std::ranges::find(change.reasons, rule) == change.reasons.end())
    change.reasons.push_back(rule);
  if (std::ranges::find(plan.commands, place->command) == plan.commands.end())
    plan.commands.push_back(place->command);
  return Done{};
}

} // namespace

Result<FixPlan> planFixes(const Tree &tree, std::span<const Finding> findings,
                          std::span<const std::string> chosen) {
  const auto meant = remediesFor(findings, chosen);
  if (!meant) return meant.error();
  FixPlan plan;
  for (const auto &[rule, remedy] : *meant)
    for (const Fix &fix : fixesOf(*remedy))
      if (auto status = addFix(tree, rule, fix, plan); !status) return std::move(status).error();
  std::erase_if(plan.changes,
                [](const FileChange &one) { return one.was_there && one.before == one.after; });
  return plan;
}

Status writeFixes(const Tree &tree, FixPlan plan) {
  if (tree.exists(kLedger) || tree.linkTarget(kLedger))
    return Error::of(fmt::format(
        "fixes were written before ({}): undo them first with --fix --revert", kLedger));
  const auto undo = [&](const Error &error) {
    for (const FileChange &change : plan.changes)
      if (tree.text(change.path, kLargestFile + 1) == change.after) {
        const auto place = placeFor(tree, change.path);
        if (place && change.was_there)
          (void)replaceFile(*place, change.before, modeOf(tree, change.path)).ok();
        else if (place)
          (void)unlink(place->c_str());
      }
    if (const auto ledger = tree.place(kLedger)) (void)unlink(ledger->c_str());
    removeFolders(tree, plan.folders);
    return error;
  };
  for (const std::string &path : [&] {
         std::vector<std::string> paths = {kLedger};
         for (const FileChange &change : plan.changes) paths.push_back(change.path);
         return paths;
       }())
    if (auto status = makeFolders(tree, path, plan.folders); !status) return undo(status.error());
  // First what will be done: whatever happens then can be taken back.
  const auto ledger = placeFor(tree, kLedger);
  if (!ledger) return undo(ledger.error());
  if (auto status = replaceFile(*ledger, ledgerOf(plan), 0644); !status)
    return undo(status.error());
  for (const FileChange &change : plan.changes) {
    const auto place = placeFor(tree, change.path);
    if (!place) return undo(place.error());
    if (auto status = replaceFile(*place, change.after, modeOf(tree, change.path)); !status)
      return undo(status.error());
  }
  return Done{};
}

Result<std::vector<std::string>> revertFixes(const Tree &tree) {
  const auto plan = readLedger(tree);
  if (!plan) return plan.error();
  for (const FileChange &change : plan->changes) { // nothing is done if anything cannot be
    const auto now = tree.text(change.path, kLargestFile + 1);
    const bool is_old = change.was_there ? now == change.before : !tree.exists(change.path);
    if (now != change.after && !is_old)
      return Error::of(fmt::format("{} was changed since it was written: nothing is reverted; "
                                   "edit it by hand, then remove {}",
                                   change.path, kLedger));
  }
  std::vector<std::string> reverted;
  for (const FileChange &change : plan->changes) {
    const auto place = tree.place(change.path);
    if (!place) continue; // it was never written
    if (change.was_there) {
      if (auto status = replaceFile(*place, change.before, modeOf(tree, change.path)); !status)
        return std::move(status).error();
    } else if (unlink(place->c_str()) != 0) {
      return Error::of(fmt::format("cannot remove {}: {}", *place, std::strerror(errno)));
    }
    reverted.push_back(change.path);
  }
  if (const auto ledger = tree.place(kLedger)) (void)unlink(ledger->c_str());
  removeFolders(tree, plan->folders);
  return reverted;
}

std::string asText(const FixPlan &plan) {
  if (plan.changes.empty()) return "Nothing to write.\n";
  std::string text;
  for (const FileChange &change : plan.changes) {
    std::string reasons;
    for (const std::string &rule : change.reasons) reasons += (reasons.empty() ? "" : ", ") + rule;
    text += fmt::format("{} {} ({}):\n", change.was_there ? "change" : "new file", change.path,
                        reasons);
    const auto old_lines = linesOf(change.before);
    const auto new_lines = linesOf(change.after);
    for (const std::string &line : old_lines)
      if (std::ranges::find(new_lines, line) == new_lines.end()) text += "  - " + line + "\n";
    for (const std::string &line : new_lines)
      if (std::ranges::find(old_lines, line) == old_lines.end()) text += "  + " + line + "\n";
  }
  for (const std::string &command : plan.commands) text += "then: " + command + "\n";
  return text + "to write it: fadeprobe doctor --fix --write; to undo it: fadeprobe doctor "
                "--fix --revert\n";
}

} // namespace fade::doctor
