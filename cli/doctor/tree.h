// The files of a machine, read with distrust: this machine's, or a copy of another one's in a
// folder. Nothing outside of the folder is ever read, whatever its links say; what is no ordinary
// file is not opened; no file is read beyond a limit.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

namespace fade::doctor {

/// Enough for what the kernel and configuration files say.
inline constexpr std::size_t kUsualLimit = 64 << 10;

/// What was looked at in a tree, by paths of that machine without links in them.
struct Journal {
  std::set<std::string> seen;               ///< what exists, of any kind
  std::map<std::string, std::string> links; ///< that were followed, and what they say
  std::map<std::string, std::size_t> read;  ///< files, and how many bytes of them at most
  std::set<std::string> read_at_end;        ///< those of which the last bytes were read
  std::set<std::string> listed;             ///< folders
};

class Tree {
public:
  /// "" or "/": this machine.
  explicit Tree(std::string root = "");

  bool isThisMachine() const { return root_.empty(); }
  /// Paths are absolute ones of that machine: /proc/cmdline. The real place in this machine's file
  /// system, with all links followed inside of the root; nothing if there is none.
  std::optional<std::string> place(std::string_view path) const;
  /// The same as a path of that machine.
  std::optional<std::string> canonical(std::string_view path) const;
  bool exists(std::string_view path) const { return canonical(path).has_value(); }
  bool isFolder(std::string_view path) const;
  /// What a link says, without following it.
  std::optional<std::string> linkTarget(std::string_view path) const;
  std::optional<struct stat> status(std::string_view path) const;

  /// The first bytes of an ordinary file.
  std::optional<std::string> text(std::string_view path, std::size_t limit = kUsualLimit) const;
  /// The last bytes of it.
  std::optional<std::string> tail(std::string_view path, std::size_t limit = kUsualLimit) const;
  /// The first line, without blanks around it.
  std::optional<std::string> line(std::string_view path) const;
  /// "name value" on each line.
  std::map<std::string, std::string> properties(std::string_view path) const;
  /// Names in a folder, sorted. Of more than 4096 some are missing.
  std::vector<std::string> list(std::string_view path) const;

  /// Everything that is looked at from now on is noted there.
  void keepJournal(Journal &journal) { journal_ = &journal; }

  /// What is there and could not be read, and why: "/etc/x: Permission denied".
  const std::vector<std::string> &unreadable() const { return unreadable_; }

private:
  std::optional<std::string> read(std::string_view path, std::size_t limit, bool from_end) const;
  void note(std::string_view path, int error) const;

  std::string root_; ///< empty: this machine
  mutable std::vector<std::string> unreadable_;
  Journal *journal_ = nullptr;
};

std::string trimmed(std::string_view text);
/// The words between blanks.
std::vector<std::string> wordsOf(std::string_view text);
std::vector<std::string> linesOf(std::string_view text);

} // namespace fade::doctor
