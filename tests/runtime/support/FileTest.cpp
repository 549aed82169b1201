#include "runtime/support/File.h"

#include "tests/support/Messages.h"
#include "tests/support/TemporaryFolder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

#include <sys/resource.h>
#include <sys/stat.h>

using namespace spmd;
using spmd::test::messageOf;
using spmd::test::TemporaryFolder;
using testing::EndsWith;

namespace {

TEST(File, saysWhatToDo) {
  EXPECT_EQ(writeProblem(ENOSPC), "No space left on device; free some, or choose another place");
  EXPECT_EQ(writeProblem(EROFS), "Read-only file system; choose another place, or make it writable");
  EXPECT_EQ(writeProblem(ENOTDIR),
            "Not a directory; choose another place, or move the file that has the name of the folder");
  EXPECT_EQ(writeProblem(EIO), "Input/output error");
  TemporaryFolder folder;
  EXPECT_THAT(messageOf([&] { writeFileAtomically(folder / std::string(300, 'x'), ""); }),
              EndsWith("': File name too long; choose a shorter one"));
  EXPECT_EQ(messageOf([&] { writeFileAtomically(folder / "none/x", ""); }),
            "cannot create '" + (folder / "none/x") + "': folder '" + (folder / "none") +
                "': No such file or directory; make its folder first");
}

TEST(File, doesNotReplaceAFolder) {
  TemporaryFolder folder;
  EXPECT_EQ(messageOf([&] { writeFileAtomically(folder / ".", ""); }),
            "cannot write '" + (folder / ".") + "': Is a directory; choose the name of a file in a folder");
  EXPECT_EQ(folder.fileCount(), 0u);
}

// Each failure has its own message, and an empty file is not a failure.
TEST(File, readsWhole) {
  TemporaryFolder folder;
  writeFileAtomically(folder / "x", "12345");
  writeFileAtomically(folder / "empty", "");
  EXPECT_EQ(readWhole(folder / "x", 5), "12345");
  EXPECT_EQ(readWhole(folder / "x", 3), "1234");
  EXPECT_EQ(readWhole(folder / "empty", 5), "");
  EXPECT_EQ(messageOf([&] { readWhole(folder / "none", 5); }),
            "cannot read '" + (folder / "none") + "': No such file or directory");
  EXPECT_EQ(messageOf([&] { readWhole(folder / ".", 5); }), "cannot read '" + (folder / ".") + "': Is a directory");
}

// With the signal ignored, as in the commands, the limit of a file's size is an ordinary error.
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

std::string contentOf(const std::string &path) { return std::string(MappedFile(path).bytes()); }

// Also if the writer is killed: the file has no name until it is complete.
TEST(File, hasNoNameBeforeItIsComplete) {
  TemporaryFolder folder;
  {
    AtomicFile file(folder / "x");
    file.write("half");
    EXPECT_EQ(folder.fileCount(), 0u);
  }
  EXPECT_EQ(folder.fileCount(), 0u);
}

TEST(File, keepsLinksAndModes) {
  TemporaryFolder folder;
  writeFileAtomically(folder / "x", "old");
  std::filesystem::permissions(folder / "x", std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::filesystem::create_symlink("x", folder / "link");
  writeFileAtomically(folder / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(contentOf(folder / "x"), "new");
  EXPECT_EQ(static_cast<int>(std::filesystem::status(folder / "x").permissions()), 0600);
  std::filesystem::create_symlink("later", folder / "ahead");
  writeFileAtomically(folder / "ahead", "there");
  EXPECT_EQ(contentOf(folder / "later"), "there");
  EXPECT_EQ(folder.fileCount(), 4u);
}

int modeOf(const std::string &path) { return static_cast<int>(std::filesystem::status(path).permissions()); }

// The owner of an existing file may have opened it to others.
TEST(File, isForItsOwnerAloneWhereAskedFor) {
  TemporaryFolder folder;
  mode_t before = umask(022);
  writeFileAtomically(folder / "asked", "");
  writeFileAtomically(folder / "own", "", Readers::Owner);
  umask(0277);
  writeFileAtomically(folder / "less", "", Readers::Owner);
  umask(before);
  EXPECT_EQ(modeOf(folder / "asked"), 0644);
  EXPECT_EQ(modeOf(folder / "own"), 0600);
  EXPECT_EQ(modeOf(folder / "less"), 0400);
  std::filesystem::permissions(folder / "own", std::filesystem::perms(0640));
  writeFileAtomically(folder / "own", "again", Readers::Owner);
  EXPECT_EQ(modeOf(folder / "own"), 0640);
}

TEST(File, writesToADeviceAsItIs) {
  writeFileAtomically("/dev/null", "nothing");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_EQ(messageOf([] { writeFileAtomically("/dev/full", "much"); }),
            "cannot write '/dev/full': No space left on device; free some, or choose another place");
}

} // namespace
