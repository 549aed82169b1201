#include "runtime/checkpoint/CheckpointDirectory.h"
#include "runtime/checkpoint/ShardFile.h"
#include "tests/runtime/checkpoint/CheckpointTestSupport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <memory>

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace spmd;
using namespace spmd::testing_checkpoint;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

/// Writes one array `n` of one number, and returns the manifest for it.
Manifest write(CheckpointDirectory &directory, int64_t step, int32_t value) {
  std::string folder = directory.begin(step);
  Manifest manifest;
  manifest.step = step;
  manifest.files = {writeShardFile(folder, "process-00000.safetensors", step, {{"n", DType::I32, {}, &value}})};
  manifest.arrays = {{"n", DType::I32, {}, {{0, {}, {}}}}};
  return manifest;
}

void save(CheckpointDirectory &directory, int64_t step, int32_t value) {
  directory.commit(write(directory, step, value));
}

/// A job that saves some steps, with ten times the step as the number.
void runJob(const std::string &path, std::optional<int64_t> from, const std::vector<int64_t> &steps) {
  CheckpointDirectory directory(path, "us");
  if (from)
    directory.continueFrom(*from);
  for (int64_t step : steps)
    save(directory, step, static_cast<int32_t>(10 * step));
}

int32_t load(const std::string &path, int64_t step) {
  Manifest manifest = readManifest(path, step);
  int32_t value = 0;
  ShardFile(checkpointPath(path, step), manifest.files[0])
      .read(manifest.arrays[0], manifest.arrays[0].pieces[0], {}, {}, &value, {}, {});
  return value;
}

/// Returns how many of the files another user can read, or -1 if this user cannot become another.
int readableByOthers(const std::vector<std::string> &paths) {
  pid_t child = fork();
  if (child == 0) {
    if (setgroups(0, nullptr) != 0 || setgid(65533) != 0 || setuid(65533) != 0)
      _exit(100);
    int count = 0;
    for (const std::string &path : paths)
      if (open(path.c_str(), O_RDONLY) >= 0)
        ++count;
      else if (errno != EACCES)
        _exit(101);
    _exit(count);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) < 100 ? WEXITSTATUS(status) : -1;
}

TEST(CheckpointDirectory, is_nothing_for_other_users) {
  TemporaryFolder folder;
  std::filesystem::permissions(folder.str(), std::filesystem::perms(0755));
  mode_t before = umask(022);
  runJob(folder / "c", {}, {1, 2});
  runJob(folder / "c", 1, {2});
  writeAll(folder / "open", "for all");
  umask(before);
  std::vector<std::string> paths;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(folder / "c"))
    if (entry.is_regular_file()) {
      paths.push_back(entry.path());
      EXPECT_EQ(static_cast<int>(entry.status().permissions()), 0600) << entry.path();
    }
  EXPECT_EQ(paths.size(), 7u); // The lock, and two files for each of three checkpoints, one of them superseded.
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can open files as another user";
  EXPECT_EQ(readableByOthers({folder / "open"}), 1);
  EXPECT_EQ(readableByOthers(paths), 0);
}

TEST(CheckpointDirectory, keeps_what_was_committed) {
  TemporaryFolder folder;
  std::string path = folder / "a/b";
  EXPECT_THAT(findCheckpoints(path), IsEmpty());
  CheckpointDirectory directory(path, "us");
  save(directory, 5, 50);
  save(directory, 5, 51); // A second time: it replaces the first one.
  save(directory, 12'345'678'901, 60);
  directory.begin(7);
  EXPECT_THAT(findCheckpoints(path), ElementsAre(5, 12'345'678'901));
  EXPECT_EQ(load(path, 5), 51);
  EXPECT_EQ(load(path, 12'345'678'901), 60);
  directory.abandon(7);
  save(directory, 12'345'678'902, 70);
  directory.keepNewest(2);
  EXPECT_THAT(findCheckpoints(path), ElementsAre(12'345'678'901, 12'345'678'902));
  directory.keepNewest(0);
  EXPECT_THAT(findCheckpoints(path), ElementsAre(12'345'678'901, 12'345'678'902));
  EXPECT_EQ(readManifest(path, 12'345'678'902).previous, 12'345'678'901);
}

// A job that goes back to step 20 and keeps one checkpoint ends with its own newest; the ones that it did not continue
// are all kept.
TEST(CheckpointDirectory, supersedes_checkpoints_that_a_job_does_not_continue) {
  TemporaryFolder folder;
  std::string path = folder.str();
  runJob(path, std::nullopt, {10, 20, 30, 40});
  {
    CheckpointDirectory directory(path, "us");
    directory.continueFrom(20);
    EXPECT_THAT(findCheckpoints(path), ElementsAre(10, 20, 30, 40)); // No newer state exists yet.
    save(directory, 25, 1);
    EXPECT_THAT(findCheckpoints(path), ElementsAre(10, 20, 25));
    directory.continueFrom(10); // Read in between: the saved checkpoints still belong to this job.
    save(directory, 30, 2);
    directory.keepNewest(1);
  }
  EXPECT_THAT(findCheckpoints(path), ElementsAre(30));
  EXPECT_EQ(load(path, 30), 2);
  EXPECT_EQ(readManifest(path, 30).previous, 25);
  EXPECT_THAT(findCheckpoints(path + "/superseded-1"), ElementsAre(30, 40));
  EXPECT_EQ(load(path + "/superseded-1", 30), 300);

  // A superseded folder is a folder like any other.
  runJob(path + "/superseded-1", 40, {50});
  EXPECT_THAT(findCheckpoints(path + "/superseded-1"), ElementsAre(30, 40, 50));
}

// Also checkpoints with lower numbers and with the same one.
TEST(CheckpointDirectory, a_job_that_begins_anew_removes_nothing) {
  TemporaryFolder folder;
  std::string path = folder.str();
  runJob(path, std::nullopt, {10, 20, 30});
  EXPECT_EQ(supersededPath(path), path + "/superseded-1");
  runJob(path, std::nullopt, {20, 25});
  EXPECT_THAT(findCheckpoints(path), ElementsAre(20, 25));
  EXPECT_EQ(readManifest(path, 20).previous, std::nullopt);
  EXPECT_THAT(findCheckpoints(path + "/superseded-1"), ElementsAre(10, 20, 30));
  EXPECT_EQ(supersededPath(path), path + "/superseded-2");
  runJob(path, std::nullopt, {100});
  EXPECT_THAT(findCheckpoints(path), ElementsAre(100));
  EXPECT_THAT(findCheckpoints(path + "/superseded-2"), ElementsAre(20, 25));
}

// A job that goes back by itself, without reading: its newest state has the highest step.
TEST(CheckpointDirectory, an_older_step_supersedes_newer_ones_of_the_same_job) {
  TemporaryFolder folder;
  runJob(folder.str(), std::nullopt, {10, 20, 30, 15});
  EXPECT_THAT(findCheckpoints(folder.str()), ElementsAre(10, 15));
  EXPECT_EQ(readManifest(folder.str(), 15).previous, 10);
  EXPECT_THAT(findCheckpoints(folder / "superseded-1"), ElementsAre(20, 30));
}

TEST(CheckpointDirectory, a_save_that_fails_leaves_all_in_place) {
  TemporaryFolder folder;
  runJob(folder.str(), std::nullopt, {10, 20});
  writeAll(folder / "step-0000000005", "a file");
  EXPECT_THAT(messageOf([&] { runJob(folder.str(), std::nullopt, {5}); }), HasSubstr("cannot create '"));
  EXPECT_THAT(findCheckpoints(folder.str()), ElementsAre(10, 20));
  EXPECT_FALSE(std::filesystem::exists(folder / "superseded-1"));
}

TEST(CheckpointDirectory, sees_only_complete_checkpoints) {
  TemporaryFolder folder;
  for (const char *name : {"step-3", "step-00000000x1", ".step-0000000004.partial", "step-0000000009x"})
    std::filesystem::create_directory(folder / name);
  writeAll(folder / "step-0000000006", "a file");
  EXPECT_THAT(findCheckpoints(folder.str()), IsEmpty());
}

TEST(CheckpointDirectory, a_second_job_gets_an_error_that_names_the_first) {
  TemporaryFolder folder;
  auto first = std::make_unique<CheckpointDirectory>(folder.str(), "its process 0 has pid 17 on host.a");
  EXPECT_EQ(messageOf([&] { CheckpointDirectory(folder.str(), "me"); }), "another job writes its checkpoints to '" +
                                                                             folder.str() +
                                                                             "' (its process 0 has pid 17 on host.a); "
                                                                             "give another directory");
  first.reset();
  EXPECT_EQ(messageOf([&] { CheckpointDirectory(folder.str(), "me"); }), "no error");
}

TEST(CheckpointDirectory, removes_what_a_job_left_unfinished) {
  TemporaryFolder folder;
  {
    CheckpointDirectory directory(folder.str(), "us");
    save(directory, 1, 10);
    writeAll(directory.begin(2) + "/process-00000.safetensors", "half");
  }
  EXPECT_TRUE(std::filesystem::exists(folder / ".step-0000000002.partial"));
  CheckpointDirectory directory(folder.str(), "us again");
  EXPECT_FALSE(std::filesystem::exists(folder / ".step-0000000002.partial"));
  EXPECT_THAT(findCheckpoints(folder.str()), ElementsAre(1));
}

// A job that ended between moving others and naming its checkpoint; the manifest is written before both.
TEST(CheckpointDirectory, ends_a_commit_that_was_interrupted) {
  for (std::optional<int64_t> from : {std::optional<int64_t>(), std::optional<int64_t>(10)}) {
    TemporaryFolder folder;
    std::string path = folder.str();
    runJob(path, std::nullopt, {10, 20, 30});
    {
      CheckpointDirectory directory(path, "us");
      Manifest manifest = write(directory, 15, 7);
      manifest.previous = from;
      writeAll(path + "/.step-0000000015.partial/manifest.json", encodeManifest(manifest));
      writeAll(directory.begin(16) + "/manifest.json", "half of one");
    }
    EXPECT_THAT(findCheckpoints(path), ElementsAre(10, 20, 30));
    CheckpointDirectory(path, "us again");
    EXPECT_EQ(load(path, 15), 7);
    EXPECT_FALSE(std::filesystem::exists(folder / ".step-0000000016.partial"));
    using Steps = std::vector<int64_t>;
    EXPECT_EQ(findCheckpoints(path), from ? Steps({10, 15}) : Steps({15}));
    EXPECT_EQ(findCheckpoints(path + "/superseded-1"), from ? Steps({20, 30}) : Steps({10, 20, 30}));
  }
}

// A process's file is missing, as on hosts that do not share the folder: no checkpoint gets a name.
TEST(CheckpointDirectory, refuses_files_that_it_does_not_see) {
  TemporaryFolder folder;
  CheckpointDirectory directory(folder.str(), "us");
  directory.begin(3);
  Manifest manifest;
  manifest.step = 3;
  manifest.files = {{"process-00001.safetensors", 100, 0}};
  EXPECT_THAT(messageOf([&] { directory.commit(manifest); }),
              HasSubstr("must be on a file system that all hosts share"));
  EXPECT_THAT(findCheckpoints(folder.str()), IsEmpty());
}

TEST(CheckpointDirectory, says_why_a_folder_cannot_be_had) {
  TemporaryFolder folder;
  writeAll(folder / "file", "");
  EXPECT_THAT(messageOf([&] { CheckpointDirectory(folder / "file", "us"); }), HasSubstr("cannot "));
  EXPECT_THAT(messageOf([&] { readManifest(folder.str(), 4); }), HasSubstr("step-0000000004/manifest.json"));
}

} // namespace
