#include "runtime/support/GuardedCopy.h"

#include "runtime/support/File.h"
#include "tests/support/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>

using namespace spmd;

namespace {

/// Three pages, of which the file keeps one.
class Shortened : public ::testing::Test {
protected:
  Shortened() {
    std::ofstream(path, std::ios::binary) << std::string(3 * page, 'x');
    file.emplace(path);
    EXPECT_EQ(::truncate(path.c_str(), static_cast<off_t>(page)), 0);
  }

  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  test::TemporaryFolder folder;
  std::string path = folder / "shortened";
  std::optional<MappedFile> file;
};

TEST_F(Shortened, WhatIsThereIsCopied) {
  std::string target(page, ' ');
  EXPECT_TRUE(copyGuarded(target.data(), file->bytes().data(), page));
  EXPECT_EQ(target, std::string(page, 'x'));
}

TEST_F(Shortened, ReportsMissingPagesRepeatedlyOnEachThread) {
  std::string target(3 * page, ' ');
  for (int i = 0; i < 3; ++i)
    EXPECT_FALSE(copyGuarded(target.data(), file->bytes().data(), 3 * page));
  std::thread([&] { EXPECT_FALSE(copyGuarded(target.data(), file->bytes().data() + page, 1)); }).join();
  EXPECT_TRUE(copyGuarded(target.data(), file->bytes().data(), page));
}

TEST_F(Shortened, ElsewhereTheSignalDoesWhatItDid) {
  EXPECT_EXIT(
      {
        signal(SIGBUS, SIG_DFL); // A sanitizer's own handler would run first otherwise.
        std::string target(page, ' ');
        if (copyGuarded(target.data(), file->bytes().data() + page, page))
          _exit(1);
        volatile char read = file->bytes()[page];
        _exit(read);
      },
      testing::KilledBySignal(SIGBUS), "");
}

} // namespace
