#include "kfd/svm_ranges.h"

#include <gtest/gtest.h>

namespace fade::sim::kfd {
namespace {

using Attribute = kfd_ioctl_svm_attribute;
constexpr uint64_t page = 4096;

class SvmRangesTest : public testing::Test {
protected:
  SvmRanges ranges{{10, 20}};
  bool set(uint64_t start, uint64_t pages, uint32_t type, uint32_t value) {
    Attribute a{type, value};
    return ranges.set(start, pages * page, {&a, 1});
  }
  Attribute get(uint64_t start, uint64_t pages, uint32_t type, uint32_t value = 0) {
    Attribute a{type, value};
    EXPECT_TRUE(ranges.get(start, pages * page, {&a, 1}));
    return a;
  }
};

TEST_F(SvmRangesTest, UnknownRangeHasDefaults) {
  EXPECT_EQ(get(page, 1, KFD_IOCTL_SVM_ATTR_PREFERRED_LOC).value, KFD_IOCTL_SVM_LOCATION_UNDEFINED);
  EXPECT_EQ(get(page, 1, KFD_IOCTL_SVM_ATTR_ACCESS, 10).type, KFD_IOCTL_SVM_ATTR_NO_ACCESS);
}

TEST_F(SvmRangesTest, AccessIsPerGpu) {
  EXPECT_TRUE(set(page, 4, KFD_IOCTL_SVM_ATTR_ACCESS, 10));
  EXPECT_TRUE(set(page, 4, KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE, 20));
  EXPECT_EQ(get(page, 4, KFD_IOCTL_SVM_ATTR_ACCESS, 10).type, KFD_IOCTL_SVM_ATTR_ACCESS);
  EXPECT_EQ(get(page, 4, KFD_IOCTL_SVM_ATTR_ACCESS, 20).type, KFD_IOCTL_SVM_ATTR_ACCESS_IN_PLACE);
  set(page, 4, KFD_IOCTL_SVM_ATTR_NO_ACCESS, 10);
  EXPECT_EQ(get(page, 4, KFD_IOCTL_SVM_ATTR_ACCESS, 10).type, KFD_IOCTL_SVM_ATTR_NO_ACCESS);
}

TEST_F(SvmRangesTest, PartOfARangeMayDiffer) {
  set(0x10000, 4, KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, 10);
  set(0x11000, 1, KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, 20);
  EXPECT_EQ(get(0x10000, 1, KFD_IOCTL_SVM_ATTR_PREFERRED_LOC).value, 10u);
  EXPECT_EQ(get(0x11000, 1, KFD_IOCTL_SVM_ATTR_PREFERRED_LOC).value, 20u);
  EXPECT_EQ(get(0x12000, 2, KFD_IOCTL_SVM_ATTR_PREFERRED_LOC).value, 10u);
  EXPECT_EQ(get(0x10000, 4, KFD_IOCTL_SVM_ATTR_PREFERRED_LOC).value,
            KFD_IOCTL_SVM_LOCATION_UNDEFINED);
}

TEST_F(SvmRangesTest, SetSpansGapsAndRanges) {
  set(0x11000, 1, KFD_IOCTL_SVM_ATTR_PREFERRED_LOC, 20);
  set(0x10000, 3, KFD_IOCTL_SVM_ATTR_ACCESS, 10);
  EXPECT_EQ(get(0x10000, 3, KFD_IOCTL_SVM_ATTR_ACCESS, 10).type, KFD_IOCTL_SVM_ATTR_ACCESS);
  EXPECT_EQ(get(0x11000, 1, KFD_IOCTL_SVM_ATTR_PREFERRED_LOC).value, 20u);
  EXPECT_EQ(get(0x10000, 4, KFD_IOCTL_SVM_ATTR_ACCESS, 10).type, KFD_IOCTL_SVM_ATTR_NO_ACCESS)
      << "the last page was never given";
}

TEST_F(SvmRangesTest, FlagsAccumulateAndClear) {
  set(page, 2, KFD_IOCTL_SVM_ATTR_SET_FLAGS,
      KFD_IOCTL_SVM_FLAG_COHERENT | KFD_IOCTL_SVM_FLAG_GPU_RO);
  set(page, 1, KFD_IOCTL_SVM_ATTR_CLR_FLAGS, KFD_IOCTL_SVM_FLAG_GPU_RO);
  EXPECT_EQ(get(page, 2, KFD_IOCTL_SVM_ATTR_SET_FLAGS).value,
            uint32_t{KFD_IOCTL_SVM_FLAG_COHERENT});
  EXPECT_EQ(get(page, 2, KFD_IOCTL_SVM_ATTR_CLR_FLAGS).value,
            ~uint32_t{KFD_IOCTL_SVM_FLAG_COHERENT | KFD_IOCTL_SVM_FLAG_GPU_RO});
}

TEST_F(SvmRangesTest, UnknownGpuIsRefusedAndChangesNothing) {
  Attribute both[] = {{KFD_IOCTL_SVM_ATTR_ACCESS, 10}, {KFD_IOCTL_SVM_ATTR_ACCESS, 30}};
  EXPECT_FALSE(ranges.set(page, page, both));
  EXPECT_EQ(get(page, 1, KFD_IOCTL_SVM_ATTR_ACCESS, 10).type, KFD_IOCTL_SVM_ATTR_NO_ACCESS);
  EXPECT_FALSE(set(page, 1, 99, 0));
  EXPECT_FALSE(set(page, 0, KFD_IOCTL_SVM_ATTR_ACCESS, 10));
}

TEST_F(SvmRangesTest, RemovedPartIsForgotten) {
  set(0x10000, 4, KFD_IOCTL_SVM_ATTR_ACCESS, 10);
  using Parts = std::vector<SvmRanges::Part>;
  EXPECT_EQ(ranges.remove(0x11000, page), (Parts{{0x11000, page}}));
  EXPECT_EQ(ranges.remove(0x11000, page), Parts{});
  EXPECT_EQ(get(0x10000, 1, KFD_IOCTL_SVM_ATTR_ACCESS, 10).type, KFD_IOCTL_SVM_ATTR_ACCESS);
  EXPECT_EQ(get(0x11000, 1, KFD_IOCTL_SVM_ATTR_ACCESS, 10).type, KFD_IOCTL_SVM_ATTR_NO_ACCESS);
  EXPECT_EQ(get(0x12000, 2, KFD_IOCTL_SVM_ATTR_ACCESS, 10).type, KFD_IOCTL_SVM_ATTR_ACCESS);
}

TEST_F(SvmRangesTest, RemovingMoreThanThereIsNamesOnlyWhatThereWas) {
  set(0x10000, 2, KFD_IOCTL_SVM_ATTR_ACCESS, 10);
  set(0x20000, 1, KFD_IOCTL_SVM_ATTR_ACCESS, 10);
  EXPECT_EQ(ranges.remove(0, 1ull << 40),
            (std::vector<SvmRanges::Part>{{0x10000, 2 * page}, {0x20000, page}}));
}

} // namespace
} // namespace fade::sim::kfd
