#include "runtime/checkpoint/ShardFile.h"
#include "tests/runtime/checkpoint/CheckpointTestSupport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

using namespace spmd;
using namespace spmd::testing_checkpoint;
using testing::HasSubstr;

namespace {

/// A [700, 1000] array of f32: 2.8 MB, three checksums.
class ShardFileTest : public testing::Test {
protected:
  ShardFileTest() : values(700 * 1000) {
    std::iota(values.begin(), values.end(), 0.0f);
    array = {"w", DType::F32, {1000, 1000}, {}};
    piece = {0, {300, 0}, {700, 1000}};
    file = writeShardFile(folder.str(), "process-00000.safetensors", 7,
                          {{shardKey(array, piece), DType::F32, piece.size, values.data()}});
    path = folder / file.name;
  }

  std::vector<float> read(std::vector<int64_t> start, std::vector<int64_t> size) {
    std::vector<float> target(static_cast<size_t>((size[0] + 1) * (size[1] + 2)), -1);
    ShardFile(folder.str(), file).read(array, piece, start, size, target.data(), {size[0] + 1, size[1] + 2}, {1, 2});
    return target;
  }

  TemporaryFolder folder;
  std::vector<float> values;
  CheckpointArray array;
  CheckpointShard piece;
  CheckpointFile file;
  std::string path;
};

TEST_F(ShardFileTest, reads_boxes_to_where_they_belong) {
  for (auto [start, size] : std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>>{{{0, 0}, {700, 1000}},
                                                                                               {{699, 999}, {1, 1}},
                                                                                               {{10, 20}, {30, 40}},
                                                                                               {{5, 0}, {3, 1000}},
                                                                                               {{0, 7}, {700, 1}}}) {
    std::vector<float> target = read(start, size);
    for (int64_t i = 0; i <= size[0]; ++i)
      for (int64_t j = 0; j < size[1] + 2; ++j)
        ASSERT_EQ(target[static_cast<size_t>(i * (size[1] + 2) + j)],
                  i >= 1 && j >= 2 ? static_cast<float>((start[0] + i - 1) * 1000 + start[1] + j - 2) : -1.0f);
  }
}

// A damaged byte matters to readers of that MiB only.
TEST_F(ShardFileTest, a_flipped_byte_is_found_by_its_readers) {
  std::string text = readAll(path);
  size_t data = text.size() - values.size() * 4;
  std::string damaged = text;
  damaged[data + (1 << 20) + 5] ^= 1; // In the second MiB: rows 262 to 524.
  writeAll(path, damaged);
  EXPECT_EQ(read({0, 0}, {200, 1000})[1002 + 2], 0.0f);
  EXPECT_EQ(read({600, 0}, {100, 1000})[1002 + 2], 600'000.0f);
  EXPECT_EQ(messageOf([&] { read({250, 0}, {100, 3}); }),
            "'" + path +
                "' is damaged: bytes 1048576 to 2097152 of 'w[300:1000, 0:1000]' do not have the checksum with which "
                "they were written");
}

TEST_F(ShardFileTest, any_damage_of_the_header_or_the_length_is_found) {
  std::string text = readAll(path);
  size_t data = text.size() - values.size() * 4;
  for (size_t i = 0; i < data; ++i) {
    std::string damaged = text;
    damaged[i] ^= 4;
    writeAll(path, damaged);
    EXPECT_NE(messageOf([&] { ShardFile(folder.str(), file); }), "no error") << "byte " << i;
  }
  for (size_t length : {size_t(0), size_t(7), data, text.size() - 1}) {
    writeAll(path, text.substr(0, length));
    EXPECT_THAT(
        messageOf([&] { ShardFile(folder.str(), file); }),
        HasSubstr("it has " + std::to_string(length) + " bytes and was written with " + std::to_string(text.size())));
  }
  std::filesystem::remove(path);
  EXPECT_THAT(messageOf([&] { ShardFile(folder.str(), file); }), HasSubstr("No such file"));
}

TEST_F(ShardFileTest, a_type_other_than_the_manifests_is_damage) {
  array.dtype = DType::I32;
  EXPECT_THAT(messageOf([&] { read({0, 0}, {1, 1}); }), HasSubstr("has another type or shape than the manifest says"));
}

} // namespace
