#include "tree_file.h"

#include <cstring>
#include <elf.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>

namespace fade::test {
namespace {

namespace fs = std::filesystem;

std::string unescaped(const std::string &text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      result += text[i];
      continue;
    }
    const char next = text[++i];
    result += next == 'n' ? '\n' : next == 'e' ? '\033' : next == 'a' ? '\a' : next;
  }
  return result;
}

std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

void write(const std::string &path, const std::string &contents) {
  fs::create_directories(fs::path(path).parent_path());
  fs::remove_all(path);
  std::ofstream(path, std::ios::binary) << contents;
}

/// The same bytes on every machine.
std::string garbage(std::size_t size) {
  std::string bytes(size, '\0');
  uint32_t state = 12345;
  for (char &byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

std::map<std::string, std::string> optionsIn(std::istringstream &words) {
  std::map<std::string, std::string> options;
  for (std::string word; words >> word;)
    options[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  return options;
}

void makeNode(const std::string &root, std::istringstream &words) {
  std::string number, version;
  words >> number >> version;
  auto options = optionsIn(words);
  const std::string pci = options.at("pci");
  const unsigned bus = static_cast<unsigned>(std::stoul(pci.substr(5, 2), nullptr, 16));
  const std::string node = root + "/sys/class/kfd/kfd/topology/nodes/" + number;
  write(node + "/properties",
        "cpu_cores_count " + (options.contains("cores") ? options["cores"] : "0") +
            "\nsimd_count 144\ngfx_target_version " + version + "\ndomain 0\nlocation_id " +
            std::to_string(bus << 8) + "\ndrm_render_minor " + options.at("minor") +
            "\nfw_version 110\n");
  write(node + "/mem_banks/0/properties", "heap_type 1\nsize_in_bytes " +
                                              std::to_string(std::stoull(options.at("mib")) << 20) +
                                              "\n");
  write(node + "/io_links/0/properties", "type 2\nnode_from 1\nnode_to 0\nflags 1\n");
  const std::string device = root + "/sys/bus/pci/devices/" + pci;
  write(device + "/vendor", "0x1002\n");
  write(device + "/device", "0x73bf\n");
  write(device + "/class", "0x030000\n");
  fs::remove(device + "/driver");
  fs::create_symlink("../../../bus/pci/drivers/amdgpu", device + "/driver");
}

template <class T> void append(std::string &bytes, const T &value) {
  bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
}

} // namespace

std::string makeElf(const ElfParts &parts) {
  std::string strings(1, '\0');
  std::vector<Elf64_Dyn> entries;
  const auto add = [&](Elf64_Sxword tag, const std::string &text) {
    if (text.empty()) return;
    Elf64_Dyn entry{};
    entry.d_tag = tag;
    entry.d_un.d_val = strings.size();
    entries.push_back(entry);
    strings += text + '\0';
  };
  for (const std::string &name : parts.needed) add(DT_NEEDED, name);
  add(DT_SONAME, parts.soname);
  add(DT_RPATH, parts.rpath);
  add(DT_RUNPATH, parts.runpath);
  for (const std::string &text : parts.strings) strings += text + '\0';
  const uint64_t dynamic_at = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);
  const uint64_t strings_at = dynamic_at + (entries.size() + 2) * sizeof(Elf64_Dyn);
  constexpr uint64_t base = 0x10000; // addresses are no offsets
  Elf64_Dyn table{};
  table.d_tag = DT_STRTAB;
  table.d_un.d_ptr = base + strings_at;
  entries.push_back(table);
  entries.push_back({});

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_phoff = sizeof header;
  header.e_ehsize = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  Elf64_Phdr load{}, dynamic{};
  load.p_type = PT_LOAD;
  load.p_vaddr = base;
  load.p_filesz = load.p_memsz = strings_at + strings.size();
  dynamic.p_type = PT_DYNAMIC;
  dynamic.p_offset = dynamic_at;
  dynamic.p_vaddr = base + dynamic_at;
  dynamic.p_filesz = dynamic.p_memsz = entries.size() * sizeof(Elf64_Dyn);

  std::string bytes;
  append(bytes, header);
  append(bytes, load);
  append(bytes, dynamic);
  for (const Elf64_Dyn &entry : entries) append(bytes, entry);
  return bytes + strings;
}

void TreeFile::make(const std::string &name, const std::string &root) {
  std::ifstream file(FADE_DOCTOR_TREES "/" + name + ".tree");
  if (!file) throw std::runtime_error("no tree of the name " + name);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word, path;
    if (!(words >> word) || word[0] == '#') continue;
    if (word == "prints-no-escapes") prints_no_escapes = true;
    if (word == "prints-no-escapes") continue;
    words >> path;
    std::string rest;
    if (word == "file" || word == "says") {
      std::getline(words >> std::ws, rest);
      rest = unescaped(rest);
    }
    const std::string place = root + unescaped(path);
    if (word == "include")
      make(path, root);
    else if (word == "verdict") {
      findings.clear();
      says.clear();
      loads.clear();
      verdict = std::stoi(path);
    } else if (word == "finding")
      findings.insert(path);
    else if (word == "says")
      says.emplace_back(path, rest);
    else if (word == "program")
      program = path;
    else if (word == "loads")
      words >> loads[path];
    else if (word == "file")
      write(place, rest == "-" ? "" : rest + "\n");
    else if (word == "remove")
      fs::remove_all(place);
    else if (word == "node") {
      std::istringstream all(line.substr(5));
      makeNode(root, all);
    } else if (word == "elf") {
      auto options = optionsIn(words);
      write(place, makeElf({options["soname"], options["rpath"], options["runpath"],
                            split(options["needed"], ','), split(options["strings"], ',')}));
    } else {
      words >> rest;
      fs::create_directories(fs::path(place).parent_path());
      if (word == "mode") {
        chmod((root + rest).c_str(), static_cast<mode_t>(std::stoul(path, nullptr, 8)));
        continue;
      }
      fs::remove_all(place);
      if (word == "link")
        fs::create_symlink(rest, place);
      else if (word == "data")
        fs::copy_file(FADE_DOCTOR_TREES "/../" + rest, place);
      else if (word == "fifo")
        (void)!mkfifo(place.c_str(), 0644);
      else if (word == "folder")
        fs::create_directories(place);
      else if (word == "garbage")
        write(place, garbage(std::stoull(rest)));
      else if (word == "truncated")
        write(place, makeElf({"x", "", "", {"y", "z"}, {std::string(400, 'x')}})
                         .substr(0, std::stoull(rest)));
      else if (word == "big") {
        write(place, "");
        (void)!truncate(place.c_str(), static_cast<off_t>(std::stoll(rest)));
      } else
        throw std::runtime_error(name + ": " + line);
    }
  }
}

Folder::Folder() {
  // Making and removing thousands of small files is most of what these tests do.
  const fs::path memory = "/dev/shm";
  std::error_code error;
  const bool is_usable = fs::is_directory(memory, error) && access(memory.c_str(), W_OK) == 0;
  std::string pattern =
      ((is_usable ? memory : fs::temp_directory_path()) / "fade-doctor-XXXXXX").string();
  if (!mkdtemp(pattern.data())) throw std::runtime_error("no temporary folder");
  path_ = pattern;
}

Folder::~Folder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

} // namespace fade::test
