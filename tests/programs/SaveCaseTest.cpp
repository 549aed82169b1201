//===- SaveCaseTest.cpp - a saved program runs with its command -----------===//

#include "tests/programs/support/SaveCase.h"
#include "tests/support/Shell.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <filesystem>

#include <unistd.h>

using namespace spmdc;
using testing::HasSubstr;

namespace {

// The command that is printed for a failing case works: for both kinds of programs, and values of all types.
TEST(SaveCase, TheCommandRunsTheProgram) {
  std::string folder = (std::filesystem::temp_directory_path() / ("saved-" + std::to_string(getpid()))).string();
  for (uint64_t seed = 300; seed < 308; ++seed) {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    loadDialects(context);
    GeneratorOptions options;
    options.seed = seed;
    options.maxDevices = 4;
    Case test = generateCase(context, options, seed % 2 ? Mode::Text : Mode::Everything);
    std::string command = "timeout 60 " SPMDC_BINARY_DIR "/bin/" + saveCase(test, folder);
    auto [status, text] = spmd::test::shell(command);
    EXPECT_EQ(status, 0) << command << "\n" << text << "\n" << test.program.str();
    for (const ProgramResult &result : test.program.results)
      EXPECT_THAT(text, HasSubstr(test.program.nameOf(result.variable) + ": "));
    std::filesystem::remove_all(folder);
  }
}

} // namespace
