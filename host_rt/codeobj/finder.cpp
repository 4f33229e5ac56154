#include "codeobj/finder.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <set>
#include <sys/stat.h>

namespace fade::codeobj {
namespace {

namespace fs = std::filesystem;

/// Sections in which compilers put bundles.
constexpr std::string_view kBundleSections[] = {".hip_fatbin", "__CLANG_OFFLOAD_BUNDLE__"};

/// Static libraries. Sizes and names are text, padded with blanks.
constexpr std::string_view kArchive = "!<arch>\n", kThinArchive = "!<thin>\n";
constexpr std::string_view kLongNames = "//";
struct MemberHeader {
  char name[16], date[12], owner[6], group[6], mode[8], size[10], end[2];
};
static_assert(sizeof(MemberHeader) == 60);

std::optional<uint64_t> numberIn(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() ||
      std::string_view(end, text.data() + text.size()).find_first_not_of(' ') !=
          std::string_view::npos)
    return std::nullopt;
  return number;
}
std::string_view withoutPadding(std::string_view text) {
  return text.substr(0, text.find_last_not_of(std::string_view(" \0", 2)) + 1);
}
/// As in the symbol that a linker's map shows: short names end with a slash, long ones are in a
/// member of their own (GNU) or in front of the contents (BSD), which get shorter then.
std::string memberName(std::string_view field, std::string_view long_names, ByteView &contents) {
  field = withoutPadding(field);
  if (field.starts_with("#1/")) {
    const auto length = numberIn(field.substr(3));
    if (!length || *length > contents.size()) return std::string(field);
    const std::string_view name = asText(contents.first(*length));
    contents = contents.subspan(*length);
    return std::string(withoutPadding(name));
  }
  if (field.size() > 1 && field.starts_with('/')) {
    const auto at = numberIn(field.substr(1));
    if (!at || *at >= long_names.size()) return std::string(field);
    const std::string_view name = long_names.substr(*at, kLongestString);
    return std::string(name.substr(0, name.find_first_of("/\n")));
  }
  return std::string(field.substr(0, field.find('/', 1)));
}

/// One search. Every function returns false once the caller has seen enough.
class Search {
public:
  explicit Search(const CodeHandler &handler) : handler_(handler) {}

  bool blob(const Blob &blob) {
    ByteView bytes = blob.bytes();
    if (CodeObject::looksLike(bytes)) return code(blob, blob.name(), "", 0, false);
    if (Bundle::looksLike(bytes)) return bundles(blob, 0);
    if (Elf::looksLike(bytes)) return hostFile(blob);
    if (asText(bytes).starts_with(kArchive)) return archive(blob);
    if (asText(bytes).starts_with(kThinArchive))
      report({blob.name(), "", 0, "a thin archive, whose members are files of their own"});
    return true;
  }

  bool file(const std::string &path) {
    auto mapped = Blob::mapFile(path);
    if (mapped) return blob(*mapped);
    report(mapped.error());
    return true;
  }

  bool directory(const std::string &path) {
    std::error_code error;
    // Symbolic links to directories are not followed, so the walk ends.
    fs::recursive_directory_iterator it(path, fs::directory_options::skip_permission_denied, error);
    std::vector<std::string> paths;
    for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
      std::error_code ignored;
      if (it->is_regular_file(ignored)) paths.push_back(it->path().string());
    }
    if (error) report({path, "", 0, fmt::format("cannot list: {}", error.message())});
    // The order of a directory is chance; the order of what is found should not be.
    std::ranges::sort(paths);
    for (const std::string &name : paths)
      if (is_new(name) && !file(name)) return false;
    return true;
  }

private:
  bool hostFile(const Blob &blob) {
    auto elf = Elf::open(blob);
    if (!elf) {
      report(elf.error());
      return true;
    }
    for (const Section &section : elf->sections()) {
      bool wanted = false;
      for (std::string_view name : kBundleSections) wanted |= section.name == name;
      if (!wanted) continue;
      auto contents = elf->contents(section);
      if (!contents)
        report(contents.error());
      else if (!bundles(blob.slice(*contents, blob.name()), section.offset))
        return false;
    }
    return true;
  }

  bool archive(const Blob &where) {
    const ByteView bytes = where.bytes();
    std::string_view long_names;
    for (uint64_t at = kArchive.size(); at < bytes.size();) {
      const auto header = read<MemberHeader>(bytes, at);
      const auto size = header ? numberIn({header->size, sizeof header->size}) : std::nullopt;
      auto contents = size ? part(bytes, at + sizeof *header, *size) : std::nullopt;
      if (!contents || std::string_view(header->end, 2) != "`\n") {
        report({where.name(), "", at, "the archive is damaged or was cut off here"});
        return true;
      }
      at += sizeof *header + *size + *size % 2;
      const std::string_view field(header->name, sizeof header->name);
      if (withoutPadding(field) == kLongNames) {
        long_names = asText(*contents);
        continue;
      }
      const std::string name = memberName(field, long_names, *contents);
      // An archive in an archive is not looked into.
      if (CodeObject::looksLike(*contents) || Elf::looksLike(*contents) ||
          Bundle::looksLike(*contents))
        if (!blob(where.slice(*contents, fmt::format("{}({})", where.name(), name)))) return false;
    }
    return true;
  }

  bool bundles(const Blob &where, uint64_t base) {
    std::vector<Error> errors;
    std::vector<PlacedBundle> found = findBundles(where, errors);
    for (const Error &error : errors) report(error);
    for (const PlacedBundle &placed : found) {
      auto entries = placed.bundle.entries();
      if (!entries) {
        Error error = std::move(entries).error();
        error.offset += base + placed.offset;
        report(error);
        continue;
      }
      bool compressed = placed.bundle.compressed();
      for (BundleEntry &entry : *entries) {
        uint64_t offset = base + placed.offset + (compressed ? 0 : entry.offset);
        if (!CodeObject::looksLike(entry.blob.bytes())) continue; // the host's part, or no code
        if (!code(entry.blob, where.name(), entry.id, offset, compressed)) return false;
      }
    }
    return true;
  }

  bool code(const Blob &blob, const std::string &file, const std::string &entry, uint64_t offset,
            bool compressed) {
    FoundCode found{file, entry, offset, compressed, {}, blob};
    auto header = read<Elf64_Ehdr>(blob.bytes(), 0);
    if (header) {
      unsigned version = header->e_ident[EI_ABIVERSION] + 2u;
      if (auto target = targetFromElfFlags(header->e_flags, version)) found.target = *target;
    }
    return handler_.on_code(std::move(found));
  }

  void report(const Error &error) {
    if (handler_.on_error) handler_.on_error(error);
  }

  /// Hard links and the like are read once.
  bool is_new(const std::string &path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return true; // the error shows when it is opened
    return seen_.emplace(info.st_dev, info.st_ino).second;
  }

  const CodeHandler &handler_;
  std::set<std::pair<dev_t, ino_t>> seen_;
};

} // namespace

Status findCode(const std::string &path, const CodeHandler &handler) {
  Search search(handler);
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::directory) {
    search.directory(path);
    return Done{};
  }
  auto mapped = Blob::mapFile(path);
  if (!mapped) return std::move(mapped).error();
  search.blob(*mapped);
  return Done{};
}

Status findCode(const Blob &blob, const CodeHandler &handler) {
  Search(handler).blob(blob);
  return Done{};
}

Status findCodeInProcess(pid_t process, const CodeHandler &handler) {
  std::string folder = fmt::format("/proc/{}", process);
  std::ifstream maps(folder + "/maps");
  if (!maps)
    return Error{folder + "/maps", "", 0, fmt::format("cannot open: {}", std::strerror(errno))};
  Search search(handler);
  std::set<std::string> seen;
  // 7f12a000-7f12b000 r-xp 00001000 08:01 1234   /usr/lib/libfoo.so
  for (std::string line; std::getline(maps, line);) {
    std::size_t path_at = line.find('/');
    if (path_at == std::string::npos) continue;
    std::string path = line.substr(path_at);
    if (!seen.insert(path).second) continue;
    // Through the process's own root, which may be a container's; a deleted file only through its
    // mapping.
    std::string real = folder + "/root" + path;
    constexpr std::string_view kDeleted = " (deleted)";
    if (path.ends_with(kDeleted)) real = folder + "/map_files/" + line.substr(0, line.find(' '));
    std::error_code error;
    if (!fs::is_regular_file(real, error)) continue; // a device, or gone
    auto mapped = Blob::mapFile(real);
    if (!mapped) continue; // not ours to read
    if (!search.blob(mapped->slice(mapped->bytes(), path))) break;
  }
  return Done{};
}

} // namespace fade::codeobj
