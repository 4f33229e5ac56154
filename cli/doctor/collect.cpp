#include "doctor/collect.h"

#include "base/diagnostics.h"
#include "codeobj/elf.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace fade::doctor {
namespace {

namespace fs = std::filesystem;
using codeobj::ByteView;

/// Smaller libraries and programs are copied as a whole.
constexpr uint64_t kWhole = 4 << 20, kWholeProgram = 256 << 20;
/// Of larger ones, the start of their GPU code: the list of processors.
constexpr std::size_t kBundleStart = 64 << 10, kCompressedStart = 64 << 20;

/// Variables that are no settings of ROCm's and decide where it is looked for.
constexpr std::array<std::string_view, 13> kPlaces = {
    "HOME", "LD_LIBRARY_PATH", "LD_PRELOAD", "PATH", "ROCM_PATH", "ROCM_HOME", "HIP_PATH",
    "VIRTUAL_ENV", "CONDA_PREFIX",
    // and whether this is a container
    "KUBERNETES_SERVICE_HOST", "APPTAINER_CONTAINER", "SINGULARITY_CONTAINER", "container"};

class Copy {
public:
  Copy(const Tree &tree, const LookOptions &options, std::string folder)
      : tree_(tree), options_(options), folder_(std::move(folder)) {}

  /// Throws what the file system library throws.
  Collected make(const Journal &journal, const Facts &facts);

private:
  void addLink(const std::string &path, const std::string &target);
  void addFile(const std::string &path, const Journal &journal);
  void addNames(const std::string &folder);
  void addNotes(const Facts &facts);
  std::string withoutPrivate(const std::string &path, std::string text) const;
  bool isWanted(const std::string &variable) const;
  std::string groupsOf(std::string_view text) const;
  void write(const std::string &path, std::string_view text);
  void writeExcerpt(const std::string &path, ByteView bytes);
  std::vector<ByteView> partsOf(const codeobj::Blob &blob) const;
  void addNamesIn(ByteView bytes, std::vector<ByteView> &parts) const;
  void fail(const std::string &path, int error) {
    result_.missing.push_back(fmt::format("{}: {}", path, std::strerror(error)));
  }

  const Tree &tree_;
  const LookOptions &options_;
  const std::string folder_;
  std::string program_;            ///< as the tree has it
  std::set<std::string> names_;    ///< of variables
  std::set<std::string> gids_;     ///< that device files belong to
  std::set<std::string> settings_; ///< files of which only some lines are copied
  Collected result_;
};

bool Copy::isWanted(const std::string &variable) const {
  const bool is_place = std::ranges::find(kPlaces, variable) != kPlaces.end() &&
                        (variable != "PATH" || !options_.program.empty());
  return is_place || isInteresting(variable, options_.variables);
}

/// What is in such files besides is nobody's business.
std::string Copy::withoutPrivate(const std::string &path, std::string text) const {
  if (settings_.contains(path)) return settingsIn(text, options_.variables);
  const auto keep = [&](auto &&is_wanted) {
    std::string kept;
    for (const std::string &line : linesOf(text))
      if (is_wanted(line)) kept += line + "\n";
    return kept;
  };
  if (path == "/etc/group") return groupsOf(text);
  if (path == std::string(kNotes) + "environ") // somebody wrote it with env
    return keep([&](const std::string &line) { return isWanted(line.substr(0, line.find('='))); });
  if (path.starts_with("/var/log/"))
    return keep([](const std::string &line) {
      return line.find("amdgpu") != line.npos || line.find("kfd") != line.npos;
    });
  return text;
}

/// Those that device files belong to, without their members.
std::string Copy::groupsOf(std::string_view text) const {
  std::string kept;
  for (const std::string &line : linesOf(text)) {
    const auto first = line.find(':');
    const auto second = line.find(':', first == line.npos ? first : first + 1);
    if (second == line.npos) continue;
    const std::string gid = line.substr(second + 1, line.find(':', second + 1) - second - 1);
    if (gids_.contains(gid) || line.starts_with("render:") || line.starts_with("video:"))
      kept += fmt::format("{}:x:{}:\n", line.substr(0, first), gid);
  }
  return kept;
}

void Copy::write(const std::string &path, std::string_view text) {
  const std::string place = folder_ + path;
  fs::create_directories(fs::path(place).parent_path());
  const int fd = open(place.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  int error = fd < 0 ? errno : writeAll(fd, text);
  if (fd >= 0 && close(fd) != 0 && error == 0) error = errno;
  if (error != 0) return fail(path, error);
  ++result_.files;
  result_.bytes += text.size();
}

/// The names of variables and of processors, where they are.
void Copy::addNamesIn(ByteView bytes, std::vector<ByteView> &parts) const {
  const auto add = [&](std::size_t at, std::size_t size) {
    const std::size_t from = at == 0 ? 0 : at - 1;
    parts.push_back(bytes.subspan(from, std::min(bytes.size() - from, size + 2)));
  };
  const char *const data = reinterpret_cast<const char *>(bytes.data());
  const auto addAll = [&](const char *text, std::size_t size, std::size_t more) {
    for (std::size_t from = 0; from < bytes.size();) {
      const void *found = memmem(data + from, bytes.size() - from, text, size);
      if (!found) break;
      const auto at = static_cast<std::size_t>(static_cast<const char *>(found) - data);
      add(at, size + more);
      from = at + 1;
    }
  };
  for (const std::string &name : names_) addAll(name.c_str(), name.size() + 1, 0);
  constexpr std::size_t longest_processor = 8;
  addAll("gfx", 3, longest_processor);
}

/// Headers, what the dynamic loader reads, the processors of its GPU code.
std::vector<ByteView> Copy::partsOf(const codeobj::Blob &blob) const {
  const ByteView bytes = blob.bytes();
  std::vector<ByteView> parts = {bytes.first(std::min<std::size_t>(bytes.size(), 4096))};
  const auto elf = codeobj::Elf::open(blob);
  if (!elf) return parts;
  uint64_t sections_at = 0;
  std::memcpy(&sections_at, bytes.data() + 40, sizeof sections_at); // e_shoff; the header is whole
  if (sections_at < bytes.size())
    parts.push_back(
        bytes.subspan(sections_at, std::min<std::size_t>(bytes.size() - sections_at, 64 << 10)));
  for (const char *name : {".shstrtab", ".dynamic", ".dynstr", ".interp", ".hip_fatbin"}) {
    const codeobj::Section *section = elf->findSection(name);
    if (!section) continue;
    const auto contents = elf->contents(*section);
    if (!contents) continue;
    std::size_t most = contents->size();
    if (name == std::string_view(".hip_fatbin")) {
      const bool is_compressed = codeobj::asText(*contents).starts_with("CCOB");
      most = std::min(most, is_compressed ? kCompressedStart : kBundleStart);
    }
    parts.push_back(contents->first(most));
  }
  addNamesIn(bytes, parts);
  return parts;
}

/// A file as long as the original, with holes where nobody looks.
void Copy::writeExcerpt(const std::string &path, ByteView bytes) {
  const auto blob = codeobj::Blob::borrow(bytes, path);
  const std::string place = folder_ + path;
  fs::create_directories(fs::path(place).parent_path());
  const int fd = open(place.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return fail(path, errno);
  int error = ftruncate(fd, static_cast<off_t>(bytes.size())) == 0 ? 0 : errno;
  for (const ByteView part : partsOf(blob)) {
    const auto at = static_cast<off_t>(part.data() - bytes.data());
    for (std::size_t done = 0; error == 0 && done < part.size();) {
      const ssize_t n =
          pwrite(fd, part.data() + done, part.size() - done, at + static_cast<off_t>(done));
      if (n <= 0) error = n < 0 ? errno : EIO;
      done += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
    }
    result_.bytes += part.size();
  }
  if (close(fd) != 0 && error == 0) error = errno;
  if (error != 0) return fail(path, error);
  ++result_.files;
}

void Copy::addLink(const std::string &path, const std::string &target) {
  const std::string place = folder_ + path;
  fs::create_directories(fs::path(place).parent_path());
  if (symlink(target.c_str(), place.c_str()) != 0 && errno != EEXIST) fail(path, errno);
}

void Copy::addFile(const std::string &path, const Journal &journal) {
  const auto status = tree_.status(path);
  if (!status || path == "/") return;
  if (S_ISDIR(status->st_mode)) {
    fs::create_directories(folder_ + path);
    return;
  }
  if (!S_ISREG(status->st_mode)) return; // devices are in the notes
  if (const auto read = journal.read.find(path); read != journal.read.end()) {
    const auto text = journal.read_at_end.contains(path) ? tree_.tail(path, read->second)
                                                         : tree_.text(path, read->second);
    if (text) write(path, withoutPrivate(path, *text));
    return;
  }
  const auto place = tree_.place(path);
  const auto blob = codeobj::Blob::mapFile(*place);
  if (!blob || !codeobj::Elf::looksLike(blob->bytes())) return write(path, ""); // it is there
  if (blob->bytes().size() <= (path == program_ ? kWholeProgram : kWhole))
    return write(path, codeobj::asText(blob->bytes()));
  writeExcerpt(path, blob->bytes());
}

/// Files that count by their name alone: kernels for processors, and versions of libraries.
void Copy::addNames(const std::string &folder) {
  const bool is_system = folder.starts_with("/sys/") || folder.starts_with("/proc/");
  for (const std::string &name : tree_.list(folder)) {
    const std::string path = (folder == "/" ? "" : folder) + "/" + name;
    std::error_code error;
    if (fs::exists(fs::symlink_status(folder_ + path, error))) continue;
    const bool counts = is_system || name.find("gfx") != name.npos;
    if (!counts) continue;
    if (const auto target = tree_.linkTarget(path))
      addLink(path, *target);
    else if (tree_.isFolder(path))
      fs::create_directories(folder_ + path);
    else
      write(path, "");
  }
}

/// What this machine says otherwise than by files.
void Copy::addNotes(const Facts &facts) {
  const std::string notes = kNotes;
  std::string environment, devices, log;
  for (const auto &[name, value] : environmentOf(tree_)) {
    if (isWanted(name)) environment += name + "=" + value + "\n";
  }
  write(notes + "environ", environment);
  for (const Record *user : facts.of("user")) {
    std::string groups;
    for (const std::string &id : wordsOf(user->get("gids")))
      groups += (groups.empty() ? "" : ",") + id;
    write(notes + "id", fmt::format("uid={} gid={} groups={}\n", user->get("uid"),
                                    groups.substr(0, groups.find(',')), groups));
  }
  for (const Record *device : facts.of("device"))
    if (const auto status = tree_.status(device->get("path")))
      devices +=
          fmt::format("{:o} {} {} {}{}\n", status->st_mode & 07777, status->st_uid, status->st_gid,
                      device->get("path"), device->is("denied", "yes") ? " denied" : "");
  write(notes + "devices", devices);
  const auto lines = facts.of("log");
  for (auto at = lines.rbegin(); at != lines.rend(); ++at) log += (*at)->get("line") + "\n";
  if (!log.empty()) write(notes + "dmesg", log);
}

Collected Copy::make(const Journal &journal, const Facts &facts) {
  const auto environment = environmentOf(tree_);
  const auto home = environment.find("HOME");
  for (const std::string &path : shellFiles(tree_, home == environment.end() ? "" : home->second)) {
    settings_.insert(path);
    if (const auto real = tree_.canonical(path)) settings_.insert(*real);
  }
  for (const KnownVariable &variable : options_.variables) names_.insert(variable.name);
  for (const Record *variable : facts.of("variable")) names_.insert(variable->get("name"));
  for (const Record *device : facts.of("device")) gids_.insert(device->get("gid"));
  for (const Record *program : facts.of("program"))
    program_ = tree_.canonical(program->get("path")).value_or("");
  for (const auto &[path, target] : journal.links) addLink(path, target);
  for (const std::string &path : journal.seen) addFile(path, journal);
  for (const std::string &folder : journal.listed) addNames(folder);
  if (tree_.isThisMachine()) addNotes(facts);
  return std::move(result_);
}

} // namespace

Result<Collected> collect(const Tree &tree, const LookOptions &options, const std::string &folder) {
  std::error_code error;
  if (fs::exists(folder, error) &&
      !(fs::is_directory(folder, error) && fs::is_empty(folder, error)))
    return Error::of(fmt::format("{} already exists and is not empty", folder));
  try {
    fs::create_directories(folder);
    const std::string absolute = fs::canonical(folder).string();
    Tree watched = tree;
    Journal journal;
    watched.keepJournal(journal);
    const Facts facts = look(watched, options);
    return Copy(tree, options, absolute).make(journal, facts);
  } catch (const std::exception &wrong) {
    return Error::of(fmt::format("cannot collect into {}: {}", folder, wrong.what()));
  }
}

} // namespace fade::doctor
