#include "doctor/tree.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sstream>
#include <unistd.h>

namespace fade::doctor {
namespace {

constexpr int kMostLinks = 40; // as the kernel
constexpr std::size_t kMostEntries = 4096;
constexpr std::size_t kMostUnreadable = 50;

/// The parts of a path, the last one first.
std::vector<std::string> reversedParts(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const auto slash = std::min(path.find('/'), path.size());
    if (slash > 0) parts.emplace_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  std::ranges::reverse(parts);
  return parts;
}

} // namespace

Tree::Tree(std::string root) : root_(std::move(root)) {
  while (root_.ends_with('/')) root_.pop_back();
}

std::optional<std::string> Tree::canonical(std::string_view path) const {
  std::vector<std::string> todo = reversedParts(path);
  std::string done;
  int links = 0;
  while (!todo.empty()) {
    const std::string part = std::move(todo.back());
    todo.pop_back();
    if (part == "." || part.find('\0') != part.npos) continue;
    if (part == "..") { // at the top it stays there
      done.resize(std::min(done.rfind('/'), done.size()));
      continue;
    }
    const std::string next = done + '/' + part;
    if (next.size() + root_.size() >= PATH_MAX) return std::nullopt;
    struct stat status {};
    if (lstat((root_ + next).c_str(), &status) != 0) {
      if (errno == EACCES) note(next, EACCES);
      return std::nullopt;
    }
    if (!S_ISLNK(status.st_mode)) {
      if (!todo.empty() && !S_ISDIR(status.st_mode)) return std::nullopt;
      done = next;
      continue;
    }
    char target[PATH_MAX];
    const ssize_t size = readlink((root_ + next).c_str(), target, sizeof target);
    if (size <= 0 || ++links > kMostLinks) return std::nullopt;
    const std::string_view to(target, static_cast<std::size_t>(size));
    if (journal_) journal_->links.emplace(next, to);
    if (to.starts_with('/')) done.clear(); // the root is this one, not the machine's
    std::vector<std::string> more = reversedParts(to);
    todo.insert(todo.end(), more.begin(), more.end());
  }
  if (done.empty()) done = "/";
  if (journal_) journal_->seen.insert(done);
  return done;
}

std::optional<std::string> Tree::place(std::string_view path) const {
  auto inside = canonical(path);
  if (!inside) return std::nullopt;
  return root_ + *inside;
}

std::optional<struct stat> Tree::status(std::string_view path) const {
  const auto real = place(path);
  struct stat status {};
  if (!real || lstat(real->c_str(), &status) != 0) return std::nullopt;
  return status;
}

bool Tree::isFolder(std::string_view path) const {
  const auto status = this->status(path);
  return status && S_ISDIR(status->st_mode);
}

std::optional<std::string> Tree::linkTarget(std::string_view path) const {
  const auto slash = path.rfind('/');
  if (slash == path.npos) return std::nullopt;
  const auto folder = canonical(path.substr(0, slash));
  if (!folder) return std::nullopt;
  char target[PATH_MAX];
  const std::string link = (*folder == "/" ? "" : *folder) + std::string(path.substr(slash));
  const ssize_t size = readlink((root_ + link).c_str(), target, sizeof target);
  if (size <= 0) return std::nullopt;
  if (journal_) journal_->links.emplace(link, std::string(target, static_cast<std::size_t>(size)));
  return std::string(target, static_cast<std::size_t>(size));
}

void Tree::note(std::string_view path, int error) const {
  if (unreadable_.size() >= kMostUnreadable) return;
  std::string line = std::string(path) + ": " + std::strerror(error);
  if (std::ranges::find(unreadable_, line) == unreadable_.end())
    unreadable_.push_back(std::move(line));
}

std::optional<std::string> Tree::read(std::string_view path, std::size_t limit,
                                      bool from_end) const {
  const auto inside = canonical(path);
  const std::string real = root_ + inside.value_or("");
  struct stat status {};
  // Opening a pipe waits for its other side, and a device may do anything.
  if (!inside || lstat(real.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const int fd = open(real.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) {
    note(path, errno);
    return std::nullopt;
  }
  if (journal_) {
    std::size_t &most = journal_->read[*inside];
    most = std::max(most, limit);
    if (from_end) journal_->read_at_end.insert(*inside);
  }
  if (from_end && status.st_size > static_cast<off_t>(limit))
    (void)lseek(fd, status.st_size - static_cast<off_t>(limit), SEEK_SET);
  std::string text;
  char buffer[16384];
  while (text.size() < limit) {
    const ssize_t got = ::read(fd, buffer, std::min(sizeof buffer, limit - text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && text.empty()) {
      if (errno != EINVAL) note(path, errno); // a kernel without that: there is nothing to read
      close(fd);
      return std::nullopt;
    }
    if (got <= 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  close(fd);
  return text;
}

std::optional<std::string> Tree::text(std::string_view path, std::size_t limit) const {
  return read(path, limit, false);
}

std::optional<std::string> Tree::tail(std::string_view path, std::size_t limit) const {
  return read(path, limit, true);
}

std::optional<std::string> Tree::line(std::string_view path) const {
  const auto all = text(path, 4096);
  if (!all) return std::nullopt;
  return trimmed(std::string_view(*all).substr(0, all->find('\n')));
}

std::map<std::string, std::string> Tree::properties(std::string_view path) const {
  std::map<std::string, std::string> found;
  for (const std::string &line : linesOf(text(path).value_or(""))) {
    const auto words = wordsOf(line);
    if (words.size() == 2) found.emplace(words[0], words[1]);
  }
  return found;
}

std::vector<std::string> Tree::list(std::string_view path) const {
  std::vector<std::string> names;
  const auto inside = canonical(path);
  if (!inside) return names;
  if (journal_) journal_->listed.insert(*inside);
  const std::unique_ptr<DIR, int (*)(DIR *)> folder(opendir((root_ + *inside).c_str()), closedir);
  if (!folder) {
    if (errno != ENOTDIR) note(path, errno);
    return names;
  }
  while (const dirent *entry = readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() >= kMostEntries) break;
    names.emplace_back(name);
  }
  std::ranges::sort(names);
  return names;
}

std::string trimmed(std::string_view text) {
  constexpr std::string_view blanks(" \t\r\n\0", 5);
  const auto first = text.find_first_not_of(blanks);
  if (first == text.npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(blanks) - first + 1));
}

std::vector<std::string> wordsOf(std::string_view text) {
  std::vector<std::string> words;
  std::istringstream stream{std::string(text)};
  for (std::string word; stream >> word;) words.push_back(std::move(word));
  return words;
}

std::vector<std::string> linesOf(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

} // namespace fade::doctor
