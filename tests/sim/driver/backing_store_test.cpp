#include "device/backing_store.h"

#include <gtest/gtest.h>
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>

namespace fade::sim {
namespace {

uint64_t committed(const BackingStore &store) {
  struct stat st;
  return fstat(store.fd(), &st) == 0 ? static_cast<uint64_t>(st.st_blocks) * 512 : ~0ull;
}

TEST(BackingStoreTest, LargeMemoryCostsNothingUntilTouched) {
  BackingStore store("test", 256ull << 30);
  ASSERT_TRUE(store.ok());
  auto offset = store.take(128ull << 30);
  ASSERT_TRUE(offset);
  EXPECT_EQ(committed(store), 0u);
  *store.at(*offset + (100ull << 30)) = std::byte{1};
  EXPECT_GT(committed(store), 0u);
  EXPECT_LE(committed(store), 4u << 20);
}

TEST(BackingStoreTest, FreedMemoryIsGivenBackAndComesBackZero) {
  BackingStore store("test", 1 << 20);
  uint64_t offset = *store.take(1 << 16);
  std::fill_n(store.at(offset), 1 << 16, std::byte{0xff});
  EXPECT_GE(committed(store), 1u << 16);
  store.release(offset, 1 << 16);
  EXPECT_EQ(committed(store), 0u);
  EXPECT_EQ(store.take(1 << 16), offset);
  EXPECT_EQ(*store.at(offset), std::byte{0});
}

TEST(BackingStoreTest, HostMappingOfTheFileSeesTheSameBytes) {
  BackingStore store("test", 1 << 20);
  store.take(4096);
  uint64_t offset = *store.take(8192);
  auto *host = static_cast<std::byte *>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED,
                                             store.fd(), static_cast<off_t>(offset)));
  ASSERT_NE(host, MAP_FAILED);
  *store.at(offset + 5000) = std::byte{7};
  EXPECT_EQ(host[5000], std::byte{7});
  munmap(host, 8192);
}

TEST(BackingStoreTest, RangesDoNotOverlapAndHolesAreMerged) {
  uint64_t page = BackingStore::round_up(1);
  BackingStore store("test", 4 * page);
  uint64_t a = *store.take(1), b = *store.take(page), c = *store.take(page), d = *store.take(page);
  EXPECT_EQ((std::set<uint64_t>{a, b, c, d}), (std::set<uint64_t>{0, page, 2 * page, 3 * page}));
  EXPECT_FALSE(store.take(1));
  store.release(b, page);
  store.release(d, page);
  EXPECT_FALSE(store.take(2 * page));
  store.release(c, page);
  EXPECT_EQ(store.take(3 * page), b);
}

} // namespace
} // namespace fade::sim
