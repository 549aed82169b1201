//===- PtxTest.cpp - the library's kernels as PTX -------------------------===//

#include "runtime/device/cuda/LibraryPtx.h"

#include <cstdio>
#include <gtest/gtest.h>
#include <regex>
#include <sstream>

using namespace spmd::cuda;

namespace {

std::vector<std::string> moduleNames() {
  std::vector<std::string> names;
  std::istringstream text(SPMDC_GPU_MODULES);
  for (std::string name; std::getline(text, name, ',');)
    names.push_back(name);
  return names;
}

/// Whether the module needs matrix units.
bool isNew(const std::string &module) {
  return module.starts_with("MultiplyHalves") || module.starts_with("MultiplyBytes");
}

class PtxTest : public testing::TestWithParam<std::string> {};

// Any driver since CUDA 10 accepts it for any GPU since Volta; that for matrix units, since CUDA 11 and Ampere.
TEST_P(PtxTest, IsForOldDriversAndGpus) {
  std::string ptx(findLibraryPtx(GetParam()));
  std::smatch version;
  ASSERT_TRUE(std::regex_search(ptx, version, std::regex("\\.version ([0-9])\\.([0-9])")));
  EXPECT_LE(std::stoi(version[1]) * 10 + std::stoi(version[2]), 78);
  EXPECT_NE(ptx.find(isNew(GetParam()) ? ".target sm_80" : ".target sm_70"), std::string::npos);
}

// LibraryLauncher passes 64-bit words.
TEST_P(PtxTest, ArgumentsHave64Bits) {
  std::string ptx(findLibraryPtx(GetParam()));
  size_t parameters = 0;
  for (size_t at = ptx.find(".param ."); at != std::string::npos; at = ptx.find(".param .", at + 1))
    if (ptx.substr(at, 9) != ".param .b") { // Those of a call.
      EXPECT_EQ(ptx.substr(at, 11), ".param .u64");
      ++parameters;
    }
  EXPECT_GT(parameters, 0u);
}

TEST_P(PtxTest, IsAssembledWithoutSpills) {
#ifndef SPMDC_PTXAS
  GTEST_SKIP() << "no ptxas: the CUDA toolkit is not installed";
#else
  std::string path = testing::TempDir() + "/spmd-library-" + GetParam() + ".ptx";
  FILE *file = fopen(path.c_str(), "w");
  std::string ptx = findLibraryPtx(GetParam());
  ASSERT_EQ(fwrite(ptx.data(), 1, ptx.size(), file), ptx.size());
  fclose(file);
  for (const char *chip : {isNew(GetParam()) ? "sm_80" : "sm_75", "sm_90"}) {
    std::string command = std::string(SPMDC_PTXAS) + " -v -arch=" + chip + " -o /dev/null " + path + " 2>&1", text;
    FILE *pipe = popen(command.c_str(), "r");
    std::array<char, 4096> buffer;
    while (size_t count = fread(buffer.data(), 1, buffer.size(), pipe))
      text.append(buffer.data(), count);
    EXPECT_EQ(pclose(pipe), 0) << text;
    // Spills depend on the assembler's choices for a GPU; the kernels were tuned for this one.
    if (std::string(chip) != "sm_90")
      continue;
    std::regex spills("([0-9]+) bytes spill");
    int lines = 0;
    for (std::sregex_iterator spill(text.begin(), text.end(), spills), end; spill != end; ++spill, ++lines)
      EXPECT_EQ((*spill)[1], "0") << chip << ":\n" << text;
    EXPECT_GT(lines, 0) << text;
  }
  remove(path.c_str());
#endif
}

INSTANTIATE_TEST_SUITE_P(Modules, PtxTest, testing::ValuesIn(moduleNames()),
                         [](const auto &info) { return info.param; });

TEST(PtxNames, UnknownModulesAreEmpty) { EXPECT_TRUE(findLibraryPtx("Nothing").empty()); }

} // namespace
