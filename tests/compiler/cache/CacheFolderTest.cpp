#include "compiler/cache/CacheFolder.h"

#include "tests/support/Messages.h"
#include "tests/support/TemporaryFolder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace spmdc;
using spmd::test::messageOf;
using spmd::test::TemporaryFolder;
using testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

constexpr int64_t kNoLimit = int64_t(1) << 40;

std::string keyOf(char digit) { return std::string(64, digit); }

int modeOf(const std::string &path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 ? static_cast<int>(status.st_mode & 0777) : -1;
}

void setAge(const std::string &path, std::chrono::minutes age) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - age);
}

class CacheFolderTest : public testing::Test {
protected:
  TemporaryFolder temporary;
  std::string path = temporary / "a/b";
  CacheFolder folder{path, kNoLimit};
};

TEST_F(CacheFolderTest, gives_back_what_was_written) {
  EXPECT_EQ(folder.read(keyOf('0')), std::nullopt);
  EXPECT_FALSE(fs::exists(temporary / "a")) << "Reading makes nothing.";
  std::string bytes("\0\n\xff", 3);
  folder.write(keyOf('0'), bytes);
  EXPECT_EQ(folder.read(keyOf('0')), bytes);
  EXPECT_EQ(folder.read(keyOf('1')), std::nullopt);
  folder.write(keyOf('0'), "");
  EXPECT_EQ(folder.read(keyOf('0')), "");
  folder.remove(keyOf('0'));
  EXPECT_EQ(folder.read(keyOf('0')), std::nullopt);
}

// Even under a umask that lets other users write.
TEST_F(CacheFolderTest, is_the_users_alone) {
  mode_t before = umask(0);
  folder.write(keyOf('0'), "x");
  umask(before);
  EXPECT_EQ(modeOf(temporary / "a"), 0700);
  EXPECT_EQ(modeOf(path), 0700);
  EXPECT_EQ(modeOf(folder.pathOf(keyOf('0'))), 0600);
}

TEST_F(CacheFolderTest, does_not_trust_a_folder_that_others_can_write) {
  folder.write(keyOf('0'), "x");
  for (auto [mode, more] : {std::pair(0770, ", or `chmod go-w` it"), {0702, ", or `chmod go-w` it"}, {01777, ""}}) {
    ASSERT_EQ(chmod(path.c_str(), static_cast<mode_t>(mode)), 0);
    std::string expected =
        "'" + path + "' can be written by other users, whose code would be run; name a folder of your own" + more;
    EXPECT_EQ(messageOf([&] { folder.read(keyOf('0')); }), expected);
    EXPECT_EQ(messageOf([&] { folder.write(keyOf('1'), "y"); }), expected);
  }
  ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  EXPECT_EQ(folder.read(keyOf('0')), "x");
}

TEST_F(CacheFolderTest, does_not_trust_what_belongs_to_another_user) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can give files away";
  folder.write(keyOf('0'), "x");
  ASSERT_EQ(chown(folder.pathOf(keyOf('0')).c_str(), 12345, 12345), 0);
  EXPECT_EQ(folder.read(keyOf('0')), std::nullopt);
  EXPECT_FALSE(fs::exists(folder.pathOf(keyOf('0'))));
  ASSERT_EQ(chown(path.c_str(), 12345, 12345), 0);
  EXPECT_EQ(messageOf([&] { folder.read(keyOf('0')); }),
            "'" + path + "' belongs to another user, whose code would be run; name a folder of your own");
}

// A file that other users can write is not trusted; neither is a symbolic link.
TEST_F(CacheFolderTest, removes_files_that_cannot_be_trusted) {
  folder.write(keyOf('0'), "x");
  ASSERT_EQ(chmod(folder.pathOf(keyOf('0')).c_str(), 0620), 0);
  EXPECT_EQ(folder.read(keyOf('0')), std::nullopt);
  EXPECT_FALSE(fs::exists(folder.pathOf(keyOf('0'))));

  std::string other = temporary / "other";
  std::ofstream(other) << "mine";
  fs::create_symlink(other, folder.pathOf(keyOf('0')));
  EXPECT_EQ(folder.read(keyOf('0')), std::nullopt);
  folder.write(keyOf('0'), "y");
  EXPECT_EQ(folder.read(keyOf('0')), "y");
  EXPECT_EQ(fs::file_size(other), 4u) << "The file behind the link is as it was.";
}

TEST_F(CacheFolderTest, says_why_it_cannot_be_used) {
  std::ofstream(temporary / "file") << "x";
  CacheFolder file(temporary / "file", kNoLimit), below(temporary / "file/c", kNoLimit);
  EXPECT_EQ(messageOf([&] { file.read(keyOf('0')); }),
            "'" + (temporary / "file") + "' is not a folder; name another one");
  EXPECT_THAT(messageOf([&] { below.write(keyOf('0'), "x"); }),
              HasSubstr("/file/c' cannot be used: Not a directory; choose another place"));
  CacheFolder nowhere("/proc/none/c", kNoLimit);
  EXPECT_THAT(messageOf([&] { nowhere.write(keyOf('0'), "x"); }),
              HasSubstr("cannot create the folder '/proc/none': No such file or directory"));
}

TEST_F(CacheFolderTest, drops_what_was_not_used_for_longest) {
  CacheFolder small(path, 25);
  std::string ten(10, 'x');
  small.write(keyOf('0'), ten);
  small.write(keyOf('1'), ten);
  setAge(small.pathOf(keyOf('0')), std::chrono::minutes(20));
  setAge(small.pathOf(keyOf('1')), std::chrono::minutes(10));
  EXPECT_EQ(small.read(keyOf('0')), ten); // Used now.
  small.write(keyOf('2'), ten);
  EXPECT_EQ(small.read(keyOf('0')), ten);
  EXPECT_EQ(small.read(keyOf('1')), std::nullopt);
  EXPECT_EQ(small.read(keyOf('2')), ten);
  small.write(keyOf('3'), std::string(26, 'x'));
  EXPECT_EQ(small.read(keyOf('3')), std::nullopt) << "What is larger than all may be is not kept,";
  EXPECT_EQ(small.read(keyOf('2')), ten) << "and nothing goes for it.";
}

// The user may name a folder that contains other files.
TEST_F(CacheFolderTest, leaves_files_that_are_not_its_own) {
  CacheFolder small(path, 5);
  fs::create_directories(path);
  for (std::string name : {"thesis.tex", "0.spmdcache", "spmdcache"}) {
    std::ofstream(path + "/" + name) << std::string(100, 'x');
    setAge(path + "/" + name, std::chrono::hours(1000));
  }
  small.write(keyOf('0'), "x");
  small.write(keyOf('1'), "12345");
  EXPECT_EQ(std::distance(fs::directory_iterator(path), {}), 4);
}

// On a file system without O_TMPFILE, a killed writer leaves a temporary file.
TEST_F(CacheFolderTest, removes_what_a_killed_writer_has_left) {
  folder.write(keyOf('0'), "x");
  std::string old = folder.pathOf(keyOf('1')) + ".123", fresh = folder.pathOf(keyOf('2')) + ".abcdef";
  std::ofstream(old) << "x";
  std::ofstream(fresh) << "x";
  setAge(old, std::chrono::hours(2));
  folder.write(keyOf('3'), "x");
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(fresh));
}

// Readers see one complete content, however many processes write and remove the file.
TEST_F(CacheFolderTest, is_safe_among_threads_and_processes) {
  CacheFolder small(path, 3 * 100'000);
  auto work = [&](unsigned number) {
    for (int round = 0; round < 100; ++round) {
      char digit = "0123456789"[(number + round) % 10];
      if (std::optional<std::string> bytes = small.read(keyOf(digit)))
        EXPECT_EQ(*bytes, std::string(100'000, digit));
      small.write(keyOf(digit), std::string(100'000, digit));
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 8; ++i)
    threads.emplace_back(work, i);
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_LE(std::distance(fs::directory_iterator(path), {}), 3);
}

} // namespace
