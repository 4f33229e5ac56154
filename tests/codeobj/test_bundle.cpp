// Bundles, plain and compressed, against clang-offload-bundler on the same bytes.
#include "bundle_writer.h"
#include "codeobj/bundle.h"
#include "extent.h"
#include "support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <set>

namespace fade::codeobj {
namespace {

using testing::BundlePart;
using testing::Compression;
using testing::temporary_file;

std::vector<BundlePart> two_parts() {
  return {{"host-x86_64-unknown-linux--", {}},
          {"hipv4-amdgcn-amd-amdhsa--gfx90a",
           testing::contents_of(testing::sample("arguments-gfx90a-v5"))},
          {"hipv4-amdgcn-amd-amdhsa--gfx1030",
           testing::contents_of(testing::sample("arguments-gfx1030-v5"))}};
}

std::vector<BundleEntry> entries_of(const std::string &path) {
  auto blob = Blob::mapFile(path);
  EXPECT_TRUE(blob);
  auto bundle = Bundle::open(*blob);
  EXPECT_TRUE(bundle) << bundle.error().message();
  auto entries = bundle->entries();
  EXPECT_TRUE(entries) << entries.error().message();
  return *entries;
}

/// The ids of all entries and the bytes of those for AMD, or of every n-th, as the bundler unpacks
/// them.
void expect_equal_to_bundler(const std::string &path, std::size_t every = 1) {
  std::vector<BundleEntry> entries = entries_of(path);
  std::set<std::string> listed, found;
  for (const std::string &line :
       testing::lines_of(testing::bundler("--type=o --list --input=" + path)))
    listed.insert(line);
  for (const BundleEntry &entry : entries) found.insert(entry.id);
  EXPECT_EQ(found, listed);
  std::size_t amd = 0;
  for (const BundleEntry &entry : entries) {
    if (entry.id.find("amdgcn") == std::string::npos || amd++ % every != 0) continue;
    std::string out = temporary_file("entry");
    testing::bundler(fmt::format("--type=o --unbundle --input={} --targets={} --output={}", path,
                                 entry.id, out));
    auto expected = testing::contents_of(out);
    EXPECT_TRUE(std::ranges::equal(entry.blob.bytes(), expected)) << entry.id;
  }
  EXPECT_GT(amd, 0u);
}

std::string bundle_by_bundler(const std::string &name, const std::string &flags) {
  std::string out = temporary_file(name);
  testing::bundler(fmt::format(
      "--type=o --targets=host-x86_64-unknown-linux--,hipv4-amdgcn-amd-amdhsa--gfx90a,"
      "hipv4-amdgcn-amd-amdhsa--gfx1030 --input=/dev/null --input={} --input={} --output={} {}",
      testing::sample("arguments-gfx90a-v5"), testing::sample("arguments-gfx1030-v5"), out, flags));
  return out;
}

TEST(Bundle, PlainOneEqualsTheBundlers) {
  expect_equal_to_bundler(bundle_by_bundler("plain", "--bundle-align=4096"));
}

TEST(Bundle, CompressedOneEqualsTheBundlers) {
  std::string path = bundle_by_bundler("compressed", "--compress");
  ASSERT_TRUE(asText(testing::contents_of(path)).starts_with("CCOB"));
  expect_equal_to_bundler(path);
}

TEST(Bundle, FatBinaryOfRocrandEqualsTheBundlers) {
  std::string library = testing::system_library("librocrand.so.1");
  if (library.empty()) GTEST_SKIP() << "librocrand is not installed";
  std::string section = temporary_file("fatbin");
  testing::objcopy(
      fmt::format("--dump-section .hip_fatbin={} {} {}", section, library, temporary_file("copy")));
  expect_equal_to_bundler(section, extent::steps<std::size_t>(1, 5)); // it unpacks all for each
}

struct Form {
  unsigned version;
  Compression method;
};
void PrintTo(const Form &f, std::ostream *out) {
  *out << "version " << f.version << (f.method == Compression::Zlib ? " zlib" : " zstd");
}

class CompressedForms : public ::testing::TestWithParam<Form> {};

TEST_P(CompressedForms, GiveBackEveryByte) {
  auto parts = two_parts();
  auto bytes =
      testing::compress_bundle(testing::write_bundle(parts), GetParam().version, GetParam().method);
  auto bundle = Bundle::open(Blob::borrow(bytes, "file"));
  ASSERT_TRUE(bundle) << bundle.error().message();
  EXPECT_EQ(bundle->version(), GetParam().version);
  EXPECT_EQ(bundle->size(), bytes.size());
  auto entries = bundle->entries();
  ASSERT_TRUE(entries) << entries.error().message();
  ASSERT_EQ(entries->size(), parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ((*entries)[i].id, parts[i].id);
    EXPECT_TRUE(std::ranges::equal((*entries)[i].blob.bytes(), parts[i].bytes));
  }
}

TEST_P(CompressedForms, AreWhatTheBundlerReadsToo) {
  if (GetParam().version == 3) GTEST_SKIP() << "newer than the installed bundler";
  auto bytes = testing::compress_bundle(testing::write_bundle(two_parts()), GetParam().version,
                                        GetParam().method);
  std::string path = temporary_file("bundle");
  testing::write_file(path, bytes);
  expect_equal_to_bundler(path);
}

TEST_P(CompressedForms, EveryTruncationIsAnError) {
  auto bytes = testing::compress_bundle(testing::write_bundle(two_parts()), GetParam().version,
                                        GetParam().method);
  for (std::size_t size = 0; size < bytes.size(); size += 97) {
    std::vector<std::uint8_t> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    auto bundle = Bundle::open(Blob::borrow(cut, "file"));
    if (bundle) {
      EXPECT_FALSE(bundle->entries()) << size;
    }
  }
}

TEST_P(CompressedForms, SeveralInARowAreAllFound) {
  auto one = testing::compress_bundle(testing::write_bundle(two_parts()), GetParam().version,
                                      GetParam().method);
  std::vector<std::uint8_t> row;
  for (int i = 0; i < 3; ++i) {
    row.insert(row.end(), one.begin(), one.end());
    row.resize((row.size() + 4095) / 4096 * 4096);
  }
  std::vector<Error> errors;
  auto found = findBundles(Blob::borrow(row, "file"), errors);
  EXPECT_TRUE(errors.empty());
  ASSERT_EQ(found.size(), 3u);
  for (const PlacedBundle &placed : found) EXPECT_TRUE(placed.bundle.entries());
}

INSTANTIATE_TEST_SUITE_P(All, CompressedForms,
                         ::testing::Values(Form{1, Compression::Zlib}, Form{1, Compression::Zstd},
                                           Form{2, Compression::Zlib}, Form{2, Compression::Zstd},
                                           Form{3, Compression::Zlib}, Form{3, Compression::Zstd}));

TEST(Bundle, MoreBytesThanPromisedAreAnError) {
  auto bytes = testing::compress_bundle(testing::write_bundle(two_parts()), 2, Compression::Zstd);
  std::uint32_t size = 100;
  std::memcpy(bytes.data() + 12, &size, 4);
  auto bundle = Bundle::open(Blob::borrow(bytes, "file"));
  ASSERT_TRUE(bundle);
  auto entries = bundle->entries();
  ASSERT_FALSE(entries);
  EXPECT_NE(entries.error().message().find("holds more than the 100 bytes it may"),
            std::string::npos);
}

TEST(Bundle, FewBytesThatBecomeAGigabyteAreAnError) {
  // 512 MiB of zeros, in a few kilobytes; zstd and zlib would both inflate them.
  std::vector<std::uint8_t> zeros(512 << 20);
  auto bytes = testing::compress_bundle(zeros, 2, Compression::Zstd);
  ASSERT_LT(bytes.size(), 100'000u);
  auto bundle = Bundle::open(Blob::borrow(bytes, "file"));
  ASSERT_TRUE(bundle);
  auto entries = bundle->entries();
  ASSERT_FALSE(entries);
  EXPECT_NE(entries.error().message().find("holds more than the"), std::string::npos);
}

TEST(Bundle, EntryOutsideTheBundleIsAnErrorThatNamesIt) {
  auto bytes = testing::write_bundle(two_parts());
  // The second entry's size; the first has a name of 27 bytes.
  std::uint64_t huge = ~0ull;
  std::memcpy(bytes.data() + 32 + 24 + 27 + 8, &huge, 8);
  auto bundle = Bundle::open(Blob::borrow(bytes, "file"));
  ASSERT_FALSE(bundle);
  EXPECT_NE(bundle.error().message().find(
                "entry 'hipv4-amdgcn-amd-amdhsa--gfx90a' [0x1000, +0xffffffffffffffff) is "
                "outside the bundle"),
            std::string::npos)
      << bundle.error().message();
}

TEST(Bundle, CountThatCannotBeTrueIsAnError) {
  auto bytes = testing::write_bundle({});
  std::uint64_t count = ~0ull;
  std::memcpy(bytes.data() + 24, &count, 8);
  auto bundle = Bundle::open(Blob::borrow(bytes, "file"));
  ASSERT_FALSE(bundle);
  EXPECT_EQ(bundle.error().message(),
            "file: bundle header+0x18: 18446744073709551615 entries do not fit");
}

TEST(Bundle, GoodOneBehindABrokenOneIsFound) {
  auto good = testing::write_bundle(two_parts());
  std::vector<std::uint8_t> bytes;
  for (char c : std::string_view("CCOB\x07\0\0\0", 8))
    bytes.push_back(static_cast<std::uint8_t>(c));
  bytes.resize(4096);
  bytes.insert(bytes.end(), good.begin(), good.end());
  std::vector<Error> errors;
  auto found = findBundles(Blob::borrow(bytes, "file"), errors);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].offset, 4096u);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].message(), "file: compressed bundle header+0x4: version 7 is unknown");
}

} // namespace
} // namespace fade::codeobj
