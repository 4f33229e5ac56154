// GPUs that the device libraries of a distribution do not know.
#include "compile/hip_flags.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace fade::cli;

namespace {

class DeviceLibraries : public testing::Test {
protected:
  DeviceLibraries() : place_(testing::TempDir() + "bitcode." + std::to_string(getpid())) {
    std::filesystem::create_directories(place_);
    // As in Debian 12.
    for (const char *name : {"906", "90a", "1030", "9-generic"})
      std::ofstream(place_ + "/oclc_isa_version_" + name + ".bc") << "BC";
  }
  ~DeviceLibraries() override { std::filesystem::remove_all(place_); }

  std::string said(std::vector<std::string> command) const {
    command.insert(command.begin(), {"clang++", "-x", "hip"});
    return unknownGpusIn(command, place_);
  }

  std::string place_;
};

TEST_F(DeviceLibraries, SayNothingOfGpusTheyKnow) {
  EXPECT_EQ(said({"--offload-arch=gfx90a", "a.hip"}), "");
  EXPECT_EQ(said({"--offload-arch=gfx90a:sramecc+:xnack-,gfx1030", "a.hip"}), "");
  EXPECT_EQ(said({"--offload-arch=gfx9-generic", "--offload-arch=native", "a.hip"}), "");
  EXPECT_EQ(said({"a.hip"}), "");
}

TEST_F(DeviceLibraries, NameEachGpuTheyDoNotKnowOnceAndOthersToUse) {
  EXPECT_EQ(said({"--offload-arch=gfx942:xnack-", "--offload-arch=gfx90a,gfx1100",
                  "--offload-arch=gfx942", "a.hip"}),
            "the device libraries in " + place_ +
                " do not know gfx942, gfx1100: compile for another GPU (gfx906, gfx90a, gfx1030, "
                "...), or with a newer ROCm (--rocm-path, --rocm-device-lib-path)");
}

TEST_F(DeviceLibraries, AreFoundWhereDistributionsHaveThem) {
  const std::string lib = place_ + "/lib";
  const auto put = [&](const std::string &folder) {
    std::filesystem::create_directories(lib + "/" + folder);
    std::ofstream(lib + "/" + folder + "/ocml.bc") << "BC";
    return lib + "/" + folder;
  };
  EXPECT_EQ(deviceLibraries(lib, 19), std::nullopt);
  const std::string of_22 = put("llvm-22/lib/clang/22/amdgcn/bitcode");
  EXPECT_EQ(deviceLibraries(lib, 19), std::nullopt); // clang 19 cannot read them
  const std::string of_17 = put("llvm-17/lib/clang/17/amdgcn/bitcode");
  EXPECT_EQ(deviceLibraries(lib, 19), of_17);
  EXPECT_EQ(deviceLibraries(lib, 22), of_22);
  EXPECT_EQ(deviceLibraries(lib, 24), of_22);
  const std::string of_host = put("x86_64-linux-gnu/amdgcn/bitcode");
  EXPECT_EQ(deviceLibraries(lib, 22), of_host);
  const std::string of_all = put("amdgcn/bitcode");
  EXPECT_EQ(deviceLibraries(lib, 22), of_all);
}

} // namespace
