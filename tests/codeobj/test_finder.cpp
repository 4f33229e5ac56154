// Finding code in files, libraries, directories and processes.
#include "bundle_writer.h"
#include "codeobj/finder.h"
#include "support.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <set>
#include <unistd.h>

namespace fade::codeobj {
namespace {

namespace fs = std::filesystem;
using testing::temporary_file;

struct Found {
  std::vector<FoundCode> codes;
  std::vector<std::string> errors;

  CodeHandler handler() {
    return {[this](FoundCode code) {
              codes.push_back(std::move(code));
              return true;
            },
            [this](const Error &error) { errors.push_back(error.message()); }};
  }
  std::multiset<std::string> kernels() const {
    std::multiset<std::string> names;
    for (const FoundCode &code : codes) {
      auto object = code.open();
      EXPECT_TRUE(object) << object.error().message();
      if (!object) continue;
      for (std::size_t i = 0; i < (*object)->kernelCount(); ++i)
        names.insert(code.target.processor + " " + std::string((*object)->kernelName(i).name));
    }
    return names;
  }
};

Found find_in(const std::string &path) {
  Found found;
  auto status = findCode(path, found.handler());
  EXPECT_TRUE(status) << status.error().message();
  return found;
}

const std::multiset<std::string> kFatKernels = {
    "gfx90a _Z12first_of_onePi",  "gfx90a _Z13second_of_onePi",  "gfx90a _Z11only_of_twoPf",
    "gfx1030 _Z12first_of_onePi", "gfx1030 _Z13second_of_onePi", "gfx1030 _Z11only_of_twoPf"};

TEST(Finder, ReadsEveryBundleOfAFatLibrary) {
  Found found = find_in(testing::built_file("libfat.so"));
  EXPECT_EQ(found.codes.size(), 4u); // two sources, two processors
  EXPECT_EQ(found.kernels(), kFatKernels);
  EXPECT_TRUE(found.errors.empty());
}

TEST(Finder, ReadsEveryCompressedBundleOfAFatLibrary) {
  Found found = find_in(testing::built_file("libfat-compressed.so"));
  ASSERT_EQ(found.codes.size(), 4u);
  EXPECT_TRUE(found.codes[0].compressed);
  EXPECT_EQ(found.kernels(), kFatKernels);
}

TEST(Finder, SaysWhereInTheFileACodeObjectIs) {
  std::string path = testing::built_file("libfat.so");
  auto bytes = testing::contents_of(path);
  for (const FoundCode &code : find_in(path).codes) {
    auto there = part(bytes, code.offset, code.blob.bytes().size());
    ASSERT_TRUE(there);
    EXPECT_TRUE(std::ranges::equal(*there, code.blob.bytes())) << code.bundle_entry;
  }
}

TEST(Finder, ReadsABareCodeObjectAndABundleFile) {
  Found bare = find_in(testing::sample("arguments-gfx90a-v5"));
  ASSERT_EQ(bare.codes.size(), 1u);
  EXPECT_EQ(bare.codes[0].target.processor, "gfx90a");
  std::string path = temporary_file("bundle.hipfb");
  testing::write_file(path, testing::write_bundle(
                                {{"hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+",
                                  testing::contents_of(testing::sample("arguments-gfx90a-v4"))}}));
  Found bundled = find_in(path);
  ASSERT_EQ(bundled.codes.size(), 1u);
  EXPECT_EQ(bundled.codes[0].bundle_entry, "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+");
  EXPECT_EQ(bundled.codes[0].blob.name(), path + "[gfx90a:xnack+]");
}

TEST(Finder, WalksADirectoryTreeLikeATritonCache) {
  const std::string tree = testing::data_file("triton");
  const auto is_object = [](const fs::directory_entry &file) {
    return file.path().extension() == ".hsaco";
  };
  const auto objects = static_cast<std::size_t>(std::count_if(
      fs::recursive_directory_iterator(tree), fs::recursive_directory_iterator(), is_object));
  EXPECT_GE(objects, 56u); // 7 kernels for 8 GPUs, and others
  Found found = find_in(tree);
  EXPECT_EQ(found.codes.size(), objects);
  auto kernels = found.kernels();
  EXPECT_EQ(kernels.size(), objects);
  EXPECT_TRUE(kernels.contains("gfx942 matmul_f16"));
  EXPECT_TRUE(found.errors.empty());
}

std::string member(std::string name, std::string_view contents) {
  std::string out =
      fmt::format("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", name, 0, 0, 0, 100644, contents.size());
  out += contents;
  if (contents.size() % 2 != 0) out += '\n';
  return out;
}

// As ar and llvm-ar write them: names that are short, long (GNU), or in front (BSD).
TEST(Finder, ReadsTheMembersOfAStaticLibrary) {
  const auto mapped = Blob::mapFile(testing::sample("arguments-gfx90a-v5"));
  ASSERT_TRUE(mapped);
  const std::string code(asText(mapped->bytes()));
  const std::string path = temporary_file("libcode.a");
  const std::string whole =
      "!<arch>\n" + member("/", "index") + member("//", "a_rather_long_name_of_a_member.o/\n") +
      member("/0", code + "\n") + member("text.txt/", "hello") + member("short.o/", code) +
      member("#1/12", std::string("../bsd.o\0\0\0\0", 12) + code);
  testing::write_file(path, asBytes(whole));
  Found found = find_in(path);
  EXPECT_TRUE(found.errors.empty()) << found.errors.at(0);
  ASSERT_EQ(found.codes.size(), 3u);
  EXPECT_EQ(found.codes[0].file, path + "(a_rather_long_name_of_a_member.o)");
  EXPECT_EQ(found.codes[1].file, path + "(short.o)");
  EXPECT_EQ(found.codes[2].file, path + "(../bsd.o)");
  for (const FoundCode &one : found.codes) EXPECT_TRUE(one.open());

  // What is there before the end is read, and the rest named.
  testing::write_file(path, asBytes(whole).first(whole.size() - 1));
  found = find_in(path);
  EXPECT_EQ(found.codes.size(), 2u);
  ASSERT_EQ(found.errors.size(), 1u);
  EXPECT_NE(found.errors[0].find("the archive is damaged or was cut off here"), std::string::npos)
      << found.errors[0];
  testing::write_file(path, asBytes("!<thin>\n"));
  found = find_in(path);
  ASSERT_EQ(found.errors.size(), 1u);
  EXPECT_EQ(found.errors[0], path + ": a thin archive, whose members are files of their own");
}

TEST(Finder, EndsInADirectoryWithLoopsAndReadsALinkedFileOnce) {
  fs::path root = temporary_file("tree");
  fs::create_directories(root / "deep" / "deeper");
  fs::copy_file(testing::sample("arguments-gfx90a-v5"), root / "deep" / "a.hsaco",
                fs::copy_options::overwrite_existing);
  std::error_code ignored;
  fs::create_directory_symlink(root, root / "deep" / "deeper" / "up", ignored);
  fs::create_hard_link(root / "deep" / "a.hsaco", root / "same.hsaco", ignored);
  fs::create_symlink("nowhere", root / "dangling", ignored);
  EXPECT_EQ(find_in(root.string()).codes.size(), 1u);
}

TEST(Finder, BrokenFileInADirectoryIsReportedAndTheOthersAreRead) {
  fs::path root = temporary_file("broken");
  fs::create_directories(root);
  fs::copy_file(testing::sample("arguments-gfx90a-v5"), root / "good.hsaco",
                fs::copy_options::overwrite_existing);
  testing::write_file(root / "bad.bundle", asBytes("CCOB\x09\x09 nonsense"));
  testing::write_file(root / "text.txt", asBytes("hello"));
  Found found = find_in(root.string());
  EXPECT_EQ(found.codes.size(), 1u);
  ASSERT_EQ(found.errors.size(), 1u);
  EXPECT_NE(found.errors[0].find("bad.bundle: compressed bundle header"), std::string::npos)
      << found.errors[0];
}

TEST(Finder, MissingPathIsAnError) {
  Found found;
  auto status = findCode("/no/such/thing", found.handler());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message(), "/no/such/thing: cannot open: No such file or directory");
}

TEST(Finder, StopsWhenTheCallerHasSeenEnough) {
  int calls = 0;
  auto status =
      findCode(testing::data_file("triton"), {[&](const FoundCode &) { return ++calls < 3; }, {}});
  EXPECT_TRUE(status);
  EXPECT_EQ(calls, 3);
}

TEST(Finder, ReadsTheFilesAProcessHasMapped) {
  // Mapped into this very process, as the loader would.
  auto mapped = Blob::mapFile(testing::built_file("libfat.so"));
  ASSERT_TRUE(mapped);
  Found found;
  auto status = findCodeInProcess(::getpid(), found.handler());
  ASSERT_TRUE(status) << status.error().message();
  EXPECT_EQ(found.kernels(), kFatKernels);
  EXPECT_EQ(found.codes.at(0).file, fs::canonical(testing::built_file("libfat.so")).string());
}

TEST(Finder, ProcessThatDoesNotExistIsAnError) {
  Found found;
  EXPECT_FALSE(findCodeInProcess(-1, found.handler()));
}

TEST(Finder, KernelsOfRocrandEqualReadelfForEveryProcessor) {
  std::string library = testing::system_library("librocrand.so.1");
  if (library.empty()) GTEST_SKIP() << "librocrand is not installed";
  Found found = find_in(library);
  ASSERT_GE(found.codes.size(), 5u);
  for (const FoundCode &code : found.codes) {
    std::string path = temporary_file("entry.hsaco");
    testing::write_file(path, code.blob.bytes());
    auto object = code.open();
    ASSERT_TRUE(object) << object.error().message();
    EXPECT_TRUE(code.bundle_entry.ends_with((*object)->target().id())) << code.bundle_entry;
    std::set<std::string> expected, names;
    for (const std::string &line : testing::lines_of(testing::readelf("--symbols -W " + path)))
      if (line.find(" OBJECT ") != std::string::npos && line.ends_with(".kd"))
        expected.insert(line.substr(line.find_last_of(' ') + 1));
    for (std::size_t i = 0; i < (*object)->kernelCount(); ++i) {
      names.insert(std::string((*object)->kernelName(i).symbol));
      auto kernel = (*object)->kernel(i);
      ASSERT_TRUE(kernel) << kernel.error().message();
      EXPECT_GT(kernel->code_size, 0u);
    }
    EXPECT_FALSE(names.empty());
    EXPECT_EQ(names, expected) << code.bundle_entry;
  }
}

} // namespace
} // namespace fade::codeobj
