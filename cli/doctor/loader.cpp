#include "doctor/loader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <elf.h>
#include <fmt/format.h>
#include <set>

namespace fade::doctor {
namespace {

using codeobj::Blob;
using codeobj::ByteView;

constexpr std::size_t kMostLibraries = 1000, kMostNeeded = 1000, kMostFolders = 200;

std::string folderOf(const std::string &path) { return path.substr(0, path.rfind('/')); }

/// The place in the file of a virtual address.
std::optional<uint64_t> fileOffset(std::span<const Elf64_Phdr> segments, uint64_t address) {
  for (const Elf64_Phdr &segment : segments)
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz)
      return segment.p_offset + (address - segment.p_vaddr);
  return std::nullopt;
}

std::vector<std::string> splitPath(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty() && parts.size() < kMostFolders) {
    const auto end = std::min(list.find_first_of(":;"), list.size());
    if (end > 0) parts.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return parts;
}

void replaceAll(std::string &text, std::string_view what, std::string_view with) {
  for (auto at = text.find(what); at != text.npos && text.size() < 8192;
       at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

/// $ORIGIN and its like, for an object in `folder`.
std::string expanded(std::string text, const std::string &folder) {
  for (const char *name : {"$ORIGIN", "${ORIGIN}"}) replaceAll(text, name, folder);
  for (const char *name : {"$LIB", "${LIB}"}) replaceAll(text, name, "lib");
  return text;
}

/// What the flags of a processor must have for each folder below glibc-hwcaps, the best first.
constexpr std::pair<const char *, std::string_view> kLevels[] = {
    {"x86-64-v4", "avx512f avx512bw avx512cd avx512dq avx512vl"},
    {"x86-64-v3", "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave"},
    {"x86-64-v2", "cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3"}};

/// Those that the machine's processor can use, the best first; none if it is not known.
std::vector<std::string> levelsOf(const Tree &tree) {
  std::set<std::string> flags;
  for (const std::string &line : linesOf(tree.text("/proc/cpuinfo", 64 << 10).value_or("")))
    if (line.starts_with("flags")) {
      const auto words = wordsOf(line.substr(line.find(':') + 1));
      flags.insert(words.begin(), words.end());
      break;
    }
  std::vector<std::string> levels;
  for (auto at = std::rbegin(kLevels); at != std::rend(kLevels); ++at) {
    const auto needed = wordsOf(std::string(at->second));
    if (!std::ranges::all_of(needed, [&](const auto &one) { return flags.contains(one); })) break;
    levels.insert(levels.begin(), at->first);
  }
  return levels;
}

/// "x86-64-v3" for /usr/lib/glibc-hwcaps/x86-64-v3/libx.so; empty for others.
std::string levelIn(const std::string &path) {
  constexpr std::string_view folder = "/glibc-hwcaps/";
  const auto at = path.find(folder);
  if (at == path.npos) return "";
  const auto begin = at + folder.size();
  return path.substr(begin, path.find('/', begin) - begin);
}

class Loader {
public:
  Loader(const Tree &tree, const LoaderOptions &options)
      : tree_(tree), options_(options), levels_(levelsOf(tree)) {
    readCache();
  }

  Result<std::vector<Loaded>> run(const std::string &program) {
    const auto path = tree_.canonical(program);
    auto first = path ? open(*path) : Error::of(program + ": no such file");
    if (!first) return std::move(first).error();
    machine_ = first->machine;
    objects_.push_back({*path, std::move(*first), {}});
    for (std::string list : {options_.preload, tree_.text("/etc/ld.so.preload").value_or("")}) {
      std::ranges::replace_if(
          list, [](char c) { return std::strchr(" \t\n", c) != nullptr; }, ':');
      for (const std::string &one : splitPath(list)) add(one, 0);
    }
    for (std::size_t i = 0; i < objects_.size(); ++i)
      for (std::size_t n = 0; n < objects_[i].dynamic.needed.size(); ++n)
        add(std::string(objects_[i].dynamic.needed[n]), i);
    return std::move(found_);
  }

private:
  struct Object {
    std::string path;
    Dynamic dynamic;
    std::vector<std::size_t> loaders; ///< who asked for it, and who for that one, …
  };

  Result<Dynamic> open(const std::string &path) const {
    const auto place = tree_.place(path);
    const auto status = tree_.status(path);
    if (!place || !status || !S_ISREG(status->st_mode))
      return Error::of(path + ": not an ordinary file");
    auto blob = Blob::mapFile(*place);
    if (!blob) return std::move(blob).error();
    return readDynamic(*blob);
  }

  void readCache() {
    if (const auto text = tree_.text("/etc/ld.so.cache", 16 << 20))
      if (const auto entries = readLoaderCache(codeobj::asBytes(*text)))
        for (const auto &[name, path] : *entries) cache_.emplace(name, path);
    if (!cache_.empty()) return;
    std::vector<std::string> folders; // what the cache would be made from
    readConfiguration("/etc/ld.so.conf", 0, folders);
    configured_ = std::move(folders);
  }

  void readConfiguration(const std::string &path, unsigned depth,
                         std::vector<std::string> &folders) const {
    for (const std::string &line : linesOf(tree_.text(path).value_or(""))) {
      const std::string text = trimmed(line.substr(0, line.find('#')));
      if (text.empty() || folders.size() >= kMostFolders) continue;
      if (!text.starts_with("include ")) {
        folders.push_back(text);
        continue;
      }
      if (depth > 3) continue;
      std::string pattern = trimmed(text.substr(8));
      if (!pattern.starts_with('/')) pattern = folderOf(path) + "/" + pattern;
      const std::string folder = folderOf(pattern);
      for (const std::string &name : tree_.list(folder))
        if (name.ends_with(".conf")) readConfiguration(folder + "/" + name, depth + 1, folders);
    }
  }

  bool tryPath(const std::string &path, Loaded &loaded, const std::string &reason, std::size_t by) {
    const auto real = tree_.canonical(path);
    if (!real) return false;
    auto dynamic = open(*real);
    if (!dynamic || dynamic->machine != machine_) return false; // the loader goes on, too
    loaded.path = *real;
    loaded.reason = reason;
    if (std::ranges::any_of(objects_, [&](const Object &o) { return o.path == *real; }))
      return true;
    std::vector<std::size_t> loaders = {by};
    loaders.insert(loaders.end(), objects_[by].loaders.begin(), objects_[by].loaders.end());
    if (!dynamic->soname.empty()) names_.insert(dynamic->soname);
    objects_.push_back({*real, std::move(*dynamic), std::move(loaders)});
    return true;
  }

  bool tryFolders(const std::string &list, const std::string &origin, Loaded &loaded,
                  const std::string &reason, std::size_t by) {
    for (const std::string &folder : splitPath(list))
      if (tryFolder(expanded(folder, origin), loaded, reason, by)) return true;
    return false;
  }

  /// What is compiled for better processors comes first.
  bool tryFolder(const std::string &folder, Loaded &loaded, const std::string &reason,
                 std::size_t by) {
    for (const std::string &level : levels_)
      if (tryPath(fmt::format("{}/glibc-hwcaps/{}/{}", folder, level, loaded.name), loaded, reason,
                  by))
        return true;
    return tryPath(folder + "/" + loaded.name, loaded, reason, by);
  }

  bool tryCache(Loaded &loaded, std::size_t by) {
    const auto [first, last] = cache_.equal_range(loaded.name);
    const auto try_all = [&](const std::string &level) {
      for (auto at = first; at != last; ++at)
        if (levelIn(at->second) == level && tryPath(at->second, loaded, "ld.so.cache", by))
          return true;
      return false;
    };
    return std::ranges::any_of(levels_, try_all) || try_all("");
  }

  bool tryRpaths(Loaded &loaded, std::size_t by) {
    if (!objects_[by].dynamic.runpath.empty()) return false;
    std::vector<std::size_t> chain = {by};
    chain.insert(chain.end(), objects_[by].loaders.begin(), objects_[by].loaders.end());
    for (const std::size_t at : chain) {
      const Object object = objects_[at]; // trying may add some
      if (object.dynamic.runpath.empty() && tryFolders(object.dynamic.rpath, folderOf(object.path),
                                                       loaded, "RPATH of " + object.path, by))
        return true;
    }
    return false;
  }

  bool tryUsual(Loaded &loaded, std::size_t by) {
    if (tryCache(loaded, by)) return true;
    for (const std::string &folder : configured_)
      if (tryFolder(folder, loaded, "ld.so.conf", by)) return true;
    for (const char *folder :
         {"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu",
          "/usr/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"})
      if (tryFolder(folder, loaded, "usual folders", by)) return true;
    return false;
  }

  void add(const std::string &name, std::size_t by) {
    if (found_.size() >= kMostLibraries || !names_.insert(name).second) return;
    Loaded loaded{name, "", "", objects_[by].path};
    const std::string origin = folderOf(objects_[by].path);
    const std::string runpath = objects_[by].dynamic.runpath;
    if (name.find('/') != name.npos)
      (void)tryPath(expanded(name, origin), loaded, "by its path", by);
    else
      (void)(tryRpaths(loaded, by) ||
             tryFolders(options_.library_path, origin, loaded, "LD_LIBRARY_PATH", by) ||
             tryFolders(runpath, origin, loaded, "RUNPATH of " + objects_[by].path, by) ||
             tryUsual(loaded, by));
    found_.push_back(std::move(loaded));
  }

  const Tree &tree_;
  const LoaderOptions &options_;
  const std::vector<std::string> levels_; ///< below glibc-hwcaps, the best first
  uint16_t machine_ = 0;
  std::multimap<std::string, std::string> cache_;
  std::vector<std::string> configured_;
  std::vector<Object> objects_;
  std::set<std::string> names_; ///< that were asked for, and what those that came call themselves
  std::vector<Loaded> found_;
};

} // namespace

Result<Dynamic> readDynamic(const Blob &blob) {
  const ByteView bytes = blob.bytes();
  const auto header = codeobj::read<Elf64_Ehdr>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
    return blob.error("", 0, "not an ELF file");
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
      header->e_phentsize != sizeof(Elf64_Phdr))
    return blob.error("", 0, "not a 64-bit little-endian ELF file");
  Dynamic dynamic;
  dynamic.machine = header->e_machine;
  std::vector<Elf64_Phdr> segments;
  for (uint64_t i = 0; i < header->e_phnum; ++i) {
    const auto segment = codeobj::read<Elf64_Phdr>(bytes, header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return blob.error("program headers", i, "they run past the end of the file");
    segments.push_back(*segment);
  }
  const auto table = std::ranges::find(segments, uint32_t{PT_DYNAMIC}, &Elf64_Phdr::p_type);
  if (table == segments.end()) return dynamic; // linked statically
  std::vector<Elf64_Dyn> entries;
  uint64_t strings = 0;
  for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= table->p_filesz && entries.size() < 10000;
       at += sizeof(Elf64_Dyn)) {
    const auto entry = codeobj::read<Elf64_Dyn>(bytes, table->p_offset + at);
    if (!entry) return blob.error("dynamic section", at, "it runs past the end of the file");
    if (entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_STRTAB) strings = entry->d_un.d_ptr;
    entries.push_back(*entry);
  }
  const auto base = fileOffset(segments, strings);
  if (!base) return blob.error("dynamic section", 0, "it has no strings");
  for (const Elf64_Dyn &entry : entries) {
    if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_SONAME && entry.d_tag != DT_RPATH &&
        entry.d_tag != DT_RUNPATH)
      continue;
    const auto text = codeobj::cString(bytes, *base + entry.d_un.d_val);
    if (!text) return blob.error("dynamic section", entry.d_un.d_val, "a name is not terminated");
    if (entry.d_tag == DT_SONAME) dynamic.soname = *text;
    if (entry.d_tag == DT_RPATH) dynamic.rpath = *text;
    if (entry.d_tag == DT_RUNPATH) dynamic.runpath = *text;
    if (entry.d_tag == DT_NEEDED && dynamic.needed.size() < kMostNeeded)
      dynamic.needed.emplace_back(*text);
  }
  return dynamic;
}

Result<std::vector<std::pair<std::string, std::string>>> readLoaderCache(ByteView bytes) {
  // | "glibc-ld.so.cache1.1" | count | bytes of strings | flags … | entries … | strings |
  // A much older format may stand before it; offsets count from the start of this one.
  constexpr std::string_view magic = "glibc-ld.so.cache1.1";
  constexpr uint64_t header_size = 48, entry_size = 24;
  std::vector<std::pair<std::string, std::string>> found;
  const auto at = codeobj::asText(bytes).find(magic);
  if (at == std::string_view::npos) return Error::of("ld.so.cache: unknown format");
  const ByteView cache = bytes.subspan(at);
  const auto count = codeobj::read<uint32_t>(cache, magic.size());
  if (!count || *count > (cache.size() / entry_size))
    return Error::of("ld.so.cache: shorter than its header says");
  for (uint64_t i = 0; i < *count; ++i) {
    const uint64_t entry = header_size + i * entry_size;
    const auto key = codeobj::read<uint32_t>(cache, entry + 4);
    const auto value = codeobj::read<uint32_t>(cache, entry + 8);
    const auto name = key ? codeobj::cString(cache, *key) : std::nullopt;
    const auto path = value ? codeobj::cString(cache, *value) : std::nullopt;
    if (!name || !path) return Error::of("ld.so.cache: an entry points past its end");
    found.emplace_back(*name, *path);
  }
  return found;
}

Result<std::vector<Loaded>> librariesOf(const Tree &tree, const std::string &program,
                                        const LoaderOptions &options) {
  return Loader(tree, options).run(program);
}

} // namespace fade::doctor
