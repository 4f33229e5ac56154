#include "doctor/kernel_words.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>

namespace fade::doctor {
namespace {

constexpr std::array<const char *, 2> kGrubNames = {"GRUB_CMDLINE_LINUX_DEFAULT",
                                                    "GRUB_CMDLINE_LINUX"};
constexpr const char *kEntries = "/boot/loader/entries";

bool hasFile(const Tree &tree, const char *folder, std::string_view end) {
  return std::ranges::any_of(tree.list(folder),
                             [&](const std::string &name) { return name.ends_with(end); });
}

/// Kernels that are EFI programs and have their command line in them.
bool hasUnifiedImages(const Tree &tree) {
  for (const char *folder : {"/efi/EFI/Linux", "/boot/EFI/Linux", "/boot/efi/EFI/Linux"})
    if (hasFile(tree, folder, ".efi")) return true;
  const auto has_line = [&](const std::string &path, std::string_view part) {
    return std::ranges::any_of(linesOf(tree.text(path).value_or("")), [&](const std::string &line) {
      const std::string text = trimmed(line);
      return !text.starts_with('#') && text.find(part) != text.npos;
    });
  };
  for (const std::string &name : tree.list("/etc/mkinitcpio.d"))
    if (name.ends_with(".preset") && has_line("/etc/mkinitcpio.d/" + name, "_uki=")) return true;
  return has_line("/etc/kernel/install.conf", "layout=uki");
}

/// Entries of systemd-boot that kernel-install wrote: they are named after the machine.
bool hasInstalledEntries(const Tree &tree) {
  const std::string machine = tree.line("/etc/machine-id").value_or("");
  return !machine.empty() && std::ranges::any_of(tree.list(kEntries), [&](const auto &name) {
    return name.starts_with(machine + "-");
  });
}

/// GRUB names the image that it starts; others do not. Without that word, what is installed counts.
bool startsWithGrub(const Tree &tree, bool has_other) {
  if (!tree.exists(kGrub)) return false;
  const std::string running = tree.line("/proc/cmdline").value_or("");
  const bool is_there = tree.isFolder("/boot/grub") || tree.isFolder("/boot/grub2");
  if (!running.empty() && has_other) return running.find("BOOT_IMAGE=") != running.npos;
  return is_there || !has_other;
}

/// As kernel-install does it where nobody has written the file.
std::string freshLine(const Tree &tree) {
  if (const auto line = tree.line("/usr/lib/kernel/cmdline"); line && !line->empty())
    return *line + "\n";
  std::string text;
  for (const std::string &word : wordsOf(tree.line("/proc/cmdline").value_or("")))
    if (!word.starts_with("BOOT_IMAGE=") && !word.starts_with("initrd="))
      text += (text.empty() ? "" : " ") + word;
  return text.empty() ? "" : text + "\n";
}

std::string commandFor(const Tree &tree, bool is_grub) {
  if (is_grub && tree.isFolder(kEntries))
    return "grub2-mkconfig -o /boot/grub2/grub.cfg --update-bls-cmdline, then reboot";
  if (is_grub) return "update-grub (or grub2-mkconfig -o /boot/grub2/grub.cfg), then reboot";
  if (tree.exists("/etc/mkinitcpio.conf")) return "mkinitcpio -P, then reboot";
  return "kernel-install add $(uname -r) /lib/modules/$(uname -r)/vmlinuz (or reinstall-kernels, "
         "dracut -f --regenerate-all), then reboot";
}

/// Systems that keep the words elsewhere, with a program of their own.
std::optional<std::string> ownWay(const Tree &tree, const std::string &word) {
  if (tree.exists("/run/ostree-booted") || tree.isFolder("/ostree/repo"))
    return fmt::format("this system is made by ostree: rpm-ostree kargs --append-if-missing={}",
                       word);
  if (tree.exists("/etc/NIXOS"))
    return fmt::format("this is NixOS: boot.kernelParams = [ \"{}\" ]; in its configuration", word);
  if (tree.exists("/etc/kernelstub/configuration"))
    return fmt::format("kernelstub keeps the kernel's command line: kernelstub --add-options '{}'",
                       word);
  return std::nullopt;
}

/// Where a variable gets its value in a shell script: the last time.
struct Assignment {
  std::size_t begin = 0, end = 0; ///< of the value, without quotes
  bool is_quoted = false;
  bool is_plain = true; ///< it ends on this line, and is not put together from several parts
};
std::optional<Assignment> lastAssignment(const std::string &text, const std::string &name) {
  std::optional<Assignment> found;
  for (std::size_t line = 0; line < text.size();) {
    const std::size_t end = std::min(text.find('\n', line), text.size());
    std::size_t at = std::min(text.find_first_not_of(" \t", line), end);
    if (text.compare(at, 7, "export ") == 0) at = std::min(at + 7, end);
    if (text.compare(at, name.size() + 1, name + "=") == 0 && at + name.size() < end) {
      Assignment one;
      one.begin = at + name.size() + 1;
      const char quote = one.begin < end ? text[one.begin] : '\0';
      one.is_quoted = quote == '"' || quote == '\'';
      if (one.is_quoted) {
        ++one.begin;
        for (one.end = one.begin; one.end < end && text[one.end] != quote; ++one.end)
          if (quote == '"' && text[one.end] == '\\') ++one.end;
        const char next = one.end + 1 < end ? text[one.end + 1] : ' ';
        one.is_plain = one.end < end && std::strchr(" \t\r;", next) != nullptr;
      } else {
        one.end = std::min(text.find_first_of(" \t\r;", one.begin), end);
        one.is_plain = text.find_first_of("\"'\\$`#", one.begin) >= one.end;
      }
      found = one;
    }
    line = end + 1;
  }
  return found;
}

/// Files that are read after /etc/default/grub and forget what it says.
std::optional<std::string> overriding(const Tree &tree, const std::string &name) {
  for (const std::string &file : tree.list("/etc/default/grub.d")) {
    if (!file.ends_with(".cfg")) continue;
    const std::string path = "/etc/default/grub.d/" + file;
    const std::string text = tree.text(path).value_or("");
    const auto set = lastAssignment(text, name);
    if (set && text.find("$" + name) == text.npos && text.find("${" + name) == text.npos)
      return path;
  }
  return std::nullopt;
}

Result<std::string> withGrubWord(const Tree &tree, std::string text, const std::string &word) {
  const std::string by_hand = fmt::format("add '{}' to the kernel's command line by hand", word);
  for (const std::string name : kGrubNames) {
    const auto at = lastAssignment(text, name);
    if (!at) continue;
    if (!at->is_plain)
      return Error::of(
          fmt::format("{}: {} is not a plain string on one line: {}", kGrub, name, by_hand));
    if (const auto path = overriding(tree, name))
      return Error::of(fmt::format("{} overrides {}: {}", *path, name, by_hand));
    std::string value = text.substr(at->begin, at->end - at->begin);
    const auto words = wordsOf(value);
    if (std::ranges::find(words, word) != words.end()) return text;
    value += (value.empty() ? "" : " ") + word;
    if (!at->is_quoted) value = '"' + value + '"';
    text.replace(at->begin, at->end - at->begin, value);
    return text;
  }
  return Error::of(fmt::format("{} has no line {}=: {}", kGrub, kGrubNames[0], by_hand));
}

} // namespace

Result<KernelLine> kernelLineOf(const Tree &tree, const std::string &word) {
  if (const auto own = ownWay(tree, word)) return Error::of(*own);
  const bool has_line = tree.exists(kCommandLine);
  const bool has_parts =
      tree.exists("/etc/mkinitcpio.conf") && hasFile(tree, "/etc/cmdline.d", ".conf");
  const bool is_installed = hasUnifiedImages(tree) || hasInstalledEntries(tree);
  if (startsWithGrub(tree, has_line || has_parts || is_installed))
    return KernelLine{kGrub, "", commandFor(tree, true)};
  if (has_parts) return KernelLine{kCommandLinePart, "", commandFor(tree, false)};
  if (has_line) return KernelLine{kCommandLine, "", commandFor(tree, false)};
  if (is_installed)
    if (const std::string fresh = freshLine(tree); !fresh.empty())
      return KernelLine{kCommandLine, fresh, commandFor(tree, false)};
  return Error::of(fmt::format(
      "there is neither {} nor {}{}: add '{}' to the kernel's command line by hand", kGrub,
      kCommandLine,
      tree.isFolder(kEntries) ? fmt::format(" (entries of systemd-boot are in {})", kEntries) : "",
      word));
}

Result<std::string> withKernelWord(const Tree &tree, const std::string &path,
                                   const std::string &contents, const std::string &word) {
  if (path == kGrub) return withGrubWord(tree, contents, word);
  bool is_comment = false; // the last line that is not empty
  for (const std::string &line : linesOf(contents)) {
    const auto words = wordsOf(line);
    if (words.empty()) continue;
    is_comment = words[0].starts_with('#');
    if (!is_comment && std::ranges::find(words, word) != words.end()) return contents;
  }
  // Lines count as if they were one; but one that is a comment cannot have more words.
  if (is_comment) return contents + (contents.ends_with('\n') ? "" : "\n") + word + "\n";
  const auto end = contents.find_last_not_of(" \t\r\n");
  const std::string line = end == contents.npos ? "" : contents.substr(0, end + 1) + " ";
  return line + word + (end == contents.npos ? "\n" : contents.substr(end + 1));
}

} // namespace fade::doctor
