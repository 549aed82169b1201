#include "runtime/checkpoint/CheckpointDirectory.h"
#include "runtime/checkpoint/PieceFile.h"
#include "tests/runtime/checkpoint/CheckpointTestSupport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

using namespace spmd;
using namespace spmd::testing_checkpoint;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

/// One array `n` of one number.
void save(CheckpointDirectory &directory, int64_t step, int32_t value) {
  std::string folder = directory.begin(step);
  Manifest manifest;
  manifest.step = step;
  manifest.files = {writePieceFile(folder, "process-00000.safetensors", step, {{"n", DType::I32, {}, &value}})};
  manifest.arrays = {{"n", DType::I32, {}, {{0, {}, {}}}}};
  directory.commit(manifest);
}

int32_t load(const std::string &path, int64_t step) {
  Manifest manifest = readManifest(path, step);
  int32_t value = 0;
  PieceFile(checkpointPath(path, step), manifest.files[0])
      .read(manifest.arrays[0], manifest.arrays[0].pieces[0], {}, {}, &value, {}, {});
  return value;
}

TEST(CheckpointDirectory, keeps_what_was_committed) {
  TemporaryFolder folder;
  std::string path = folder / "a/b";
  EXPECT_THAT(findCheckpoints(path), IsEmpty());
  CheckpointDirectory directory(path, "us");
  save(directory, 5, 50);
  save(directory, 12'345'678'901, 60);
  save(directory, 5, 51); // Again: replaced.
  directory.begin(7);
  EXPECT_THAT(findCheckpoints(path), ElementsAre(5, 12'345'678'901));
  EXPECT_EQ(load(path, 5), 51);
  EXPECT_EQ(load(path, 12'345'678'901), 60);
  directory.abandon(7);
  save(directory, 8, 80);
  directory.keepNewest(2);
  EXPECT_THAT(findCheckpoints(path), ElementsAre(8, 12'345'678'901));
  directory.keepNewest(0);
  EXPECT_THAT(findCheckpoints(path), ElementsAre(8, 12'345'678'901));
}

TEST(CheckpointDirectory, sees_only_complete_checkpoints) {
  TemporaryFolder folder;
  for (const char *name : {"step-3", "step-00000000x1", ".step-0000000004.partial", "step-0000000009x"})
    std::filesystem::create_directory(folder / name);
  writeAll(folder / "step-0000000006", "a file");
  EXPECT_THAT(findCheckpoints(folder.str()), IsEmpty());
}

TEST(CheckpointDirectory, a_second_job_is_told_of_the_first) {
  TemporaryFolder folder;
  auto first = std::make_unique<CheckpointDirectory>(folder.str(), "its process 0 has pid 17 on host.a");
  EXPECT_EQ(messageOf([&] { CheckpointDirectory(folder.str(), "me"); }),
            "'" + folder.str() +
                "' is where another job writes its checkpoints (its process 0 has pid 17 on host.a); "
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

// A process's file is missing, as on hosts that do not share the folder: nothing gets a name.
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
