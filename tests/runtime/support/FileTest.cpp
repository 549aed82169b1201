#include "runtime/support/File.h"

#include "tests/support/Messages.h"
#include "tests/support/TemporaryFolder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>

#include <sys/resource.h>

using namespace spmd;
using spmd::test::messageOf;
using spmd::test::TemporaryFolder;
using testing::EndsWith;

namespace {

TEST(File, saysWhatToDo) {
  EXPECT_EQ(writeProblem(ENOSPC), "No space left on device; free some, or choose another place");
  EXPECT_EQ(writeProblem(EROFS), "Read-only file system; choose another place, or see to it that it can be written");
  EXPECT_EQ(writeProblem(ENOTDIR),
            "Not a directory; choose another place, or move the file that stands where a folder should be");
  EXPECT_EQ(writeProblem(EIO), "Input/output error");
  TemporaryFolder folder;
  EXPECT_THAT(messageOf([&] { writeFileAtomically(folder / std::string(300, 'x'), ""); }),
              EndsWith("': File name too long; choose a shorter one"));
  EXPECT_EQ(messageOf([&] { writeFileAtomically(folder / "none/x", ""); }),
            "cannot create '" + (folder / "none/x") + "': No such file or directory; make its folder first");
}

// With the signal ignored, as the commands do, the limit of a file's size is an error like others.
TEST(File, aLimitOfSizesLeavesNothing) {
  TemporaryFolder folder;
  auto *before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  rlimit small{1000, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string message = messageOf([&] { writeFileAtomically(folder / "x", std::string(2000, 'x')); });
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, before);
  EXPECT_EQ(message, "cannot write '" + (folder / "x") + "': File too large; raise the limit (ulimit -f)");
  EXPECT_EQ(folder.fileCount(), 0u);
}

} // namespace
