#include "support.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <set>
#include <sstream>
#include <stdexcept>
#include <unistd.h>

namespace fade::codeobj::testing {
namespace fs = std::filesystem;

std::string outputOf(const std::string &command) {
  FILE *pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  std::string text;
  std::array<char, 65536> buffer;
  while (std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe))
    text.append(buffer.data(), n);
  if (::pclose(pipe) != 0) throw std::runtime_error("failed: " + command);
  return text;
}

std::string readelf(const std::string &arguments) { return outputOf(FADE_READELF " " + arguments); }

const std::string &readelf(const std::string &options, const std::string &object) {
  // Of all samples at once: to start a program hundreds of times takes longer than the tests.
  static std::map<std::string, std::map<std::string, std::string>> known;
  auto [samples, is_new] = known.try_emplace(options);
  if (is_new) {
    std::string command = options;
    for (const std::string &path : all_code_objects()) command += " " + path;
    std::string *text = nullptr;
    for (const std::string &line : lines_of(readelf(command)))
      if (constexpr std::string_view file = "File: "; line.starts_with(file))
        text = &samples->second[line.substr(file.size())];
      else if (text != nullptr)
        *text += line + "\n";
  }
  const auto found = samples->second.find(object);
  if (found == samples->second.end()) throw std::runtime_error("readelf says nothing of " + object);
  return found->second;
}

std::string objdump(const std::string &arguments) { return outputOf(FADE_OBJDUMP " " + arguments); }
std::string objcopy(const std::string &arguments) { return outputOf(FADE_OBJCOPY " " + arguments); }
std::string bundler(const std::string &arguments) { return outputOf(FADE_BUNDLER " " + arguments); }

std::string symbolizer(const std::string &arguments, const std::string &input) {
  std::string file = temporary_file("addresses");
  write_file(file, asBytes(input));
  return outputOf(FADE_SYMBOLIZER " " + arguments + " < " + file);
}

std::vector<std::string> lines_of(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string data_file(const std::string &name) { return std::string(FADE_TEST_DATA) + "/" + name; }
std::string sample(const std::string &name) {
  return std::string(FADE_SAMPLES) + "/" + name + ".hsaco";
}

std::string built_file(const std::string &name) { return std::string(FADE_SAMPLES) + "/" + name; }

std::string system_library(const std::string &name) {
  for (const char *folder : {"/usr/lib/" FADE_MULTIARCH "/", "/usr/lib/", "/opt/rocm/lib/"})
    if (fs::exists(folder + name)) return folder + name;
  return "";
}

std::vector<std::string> all_code_objects() {
  std::vector<std::string> paths;
  for (const std::string &root :
       {std::string(FADE_SAMPLES), data_file("triton"), data_file("codeobj")}) {
    if (!fs::exists(root)) continue;
    for (const auto &entry : fs::recursive_directory_iterator(root))
      if (entry.path().extension() == ".hsaco") paths.push_back(entry.path().string());
  }
  // The tools of LLVM 19, with which they are compared, do not know gfx950.
  std::erase_if(paths,
                [](const std::string &path) { return path.find("/gfx950/") != std::string::npos; });
  std::ranges::sort(paths);
  return paths;
}

std::vector<std::string> modern_code_objects() {
  auto paths = all_code_objects();
  std::erase_if(paths, [](const std::string &path) { return path.ends_with("-v2.hsaco"); });
  return paths;
}

std::vector<std::string> small_code_objects() {
  auto paths = modern_code_objects();
  std::erase_if(paths, [](const std::string &path) { return fs::file_size(path) > 1'000'000; });
  return paths;
}

std::string test_name(const std::string &path) {
  fs::path p(path);
  std::string name = p.stem().string();
  if (path.find("/triton/") != std::string::npos)
    name = "triton_" + p.parent_path().filename().string() + "_" + name;
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

std::vector<std::uint8_t> contents_of(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

namespace {
/// Folders that go away when the tests have run.
struct Temporaries {
  const pid_t owner = ::getpid();
  std::set<std::string> folders;
  ~Temporaries() {
    std::error_code ignored;
    if (::getpid() == owner)
      for (const std::string &folder : folders) fs::remove_all(folder, ignored);
  }
};
} // namespace

std::string temporary_file(const std::string &name) {
  static Temporaries temporaries;
  const auto *test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::string folder = fmt::format("{}fade-{}-{}", ::testing::TempDir(), ::getpid(),
                                   test != nullptr ? test->line() : 0);
  fs::create_directories(folder);
  temporaries.folders.insert(folder);
  return folder + "/" + name;
}

void write_file(const std::string &path, ByteView bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char *>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
}

std::shared_ptr<const CodeObject> open_object(const std::string &path) {
  auto blob = Blob::mapFile(path);
  if (!blob) throw std::runtime_error(blob.error().message());
  auto object = CodeObject::open(*blob);
  if (!object) throw std::runtime_error(object.error().message());
  return *object;
}

} // namespace fade::codeobj::testing
