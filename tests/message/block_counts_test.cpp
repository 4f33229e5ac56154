// All waves of a dispatch, worked out and counted one workgroup after the other.
#include <fade/block_counts.h>

#include <gtest/gtest.h>

namespace {

using Size = std::array<uint32_t, 3>;

fade::AllWaves counted(const Size &grid, const Size &workgroup, uint32_t wave_size,
                       const fade_control &control) {
  fade::AllWaves all;
  for (uint32_t z = 0; z * workgroup[2] < grid[2]; ++z)
    for (uint32_t y = 0; y * workgroup[1] < grid[1]; ++y)
      for (uint32_t x = 0; x * workgroup[0] < grid[0]; ++x) {
        const Size id{x, y, z};
        bool is_wanted = true;
        uint64_t lanes = 1;
        for (std::size_t i = 0; i < 3; ++i) {
          lanes *= std::min(workgroup[i], grid[i] - id[i] * workgroup[i]);
          is_wanted = is_wanted && control.first_workgroup[i] <= id[i] &&
                      id[i] <= control.last_workgroup[i];
        }
        if (control.sample_workgroups != 0 &&
            (!is_wanted || (x + y + z) % control.sample_workgroups != 0))
          continue;
        all.waves += (lanes + wave_size - 1) / wave_size;
        all.lanes += lanes;
      }
  return all;
}

TEST(AllWaves, AreThoseOfAllWantedWorkgroups) {
  const Size grids[] = {{1, 1, 1}, {64, 1, 1}, {1000, 1, 1}, {64, 48, 1}, {37, 23, 5}, {3, 50, 29}};
  const Size workgroups[] = {{64, 1, 1}, {256, 1, 1}, {16, 16, 1}, {8, 4, 2}, {5, 3, 7}};
  for (const Size &grid : grids)
    for (const Size &workgroup : workgroups)
      for (const uint32_t wave_size : {32u, 64u})
        for (const uint32_t sample : {0u, 1u, 2u, 3u, 7u, 100u})
          for (const Size &last : {Size{~0u, ~0u, ~0u}, Size{3, 4, 2}, Size{2, 0, 0}})
            for (const Size &first : {Size{0, 0, 0}, Size{1, 0, 0}, Size{1, 2, 1}, Size{3, 3, 3}}) {
              fade_control control{};
              control.sample_workgroups = sample;
              for (std::size_t i = 0; i < 3; ++i) {
                control.first_workgroup[i] = first[i];
                control.last_workgroup[i] = last[i];
              }
              const auto expected = counted(grid, workgroup, wave_size, control);
              const auto all = fade::allWaves(grid, workgroup, wave_size, control);
              ASSERT_EQ(all.waves, expected.waves)
                  << grid[0] << " " << workgroup[0] << " " << sample;
              ASSERT_EQ(all.lanes, expected.lanes)
                  << grid[0] << " " << workgroup[0] << " " << sample;
            }
}

TEST(AllWaves, AreMoreThan32BitsCount) {
  fade_control control{};
  const auto all = fade::allWaves({~0u, 1000, 1}, {1024, 1, 1}, 64, control);
  EXPECT_EQ(all.lanes, uint64_t{~0u} * 1000);
  EXPECT_EQ(all.waves, (uint64_t{1} << 26) * 1000);
}

} // namespace
