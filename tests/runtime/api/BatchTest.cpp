#include "runtime/api/RowOrder.h"
#include "runtime/io/Npy.h"
#include "tests/runtime/api/ApiTestSupport.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <set>

using namespace spmd;
using namespace spmd::testing_api;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Returns all rows of batches `begin` to `end` - 1, in order.
std::vector<int64_t> rowsOf(const RowOrder &order, int64_t begin, int64_t end) {
  std::vector<int64_t> rows;
  for (int64_t batch = begin; batch != end; ++batch)
    for (int64_t place = 0; place != order.sizeOf(batch); ++place)
      rows.push_back(order.rowOf(batch, place));
  return rows;
}

TEST(RowOrder, WithoutASeedRowsComeInTheirOrder) {
  RowOrder drop(7, 3, {}, LastBatch::drop), keep(7, 3, {}, LastBatch::keep), wrap(7, 3, {}, LastBatch::wrap);
  EXPECT_EQ(drop.batchesPerEpoch(), 2);
  EXPECT_EQ(keep.batchesPerEpoch(), 3);
  EXPECT_EQ(wrap.batchesPerEpoch(), 3);
  EXPECT_THAT(rowsOf(drop, 0, 3), ElementsAre(0, 1, 2, 3, 4, 5, 0, 1, 2));
  EXPECT_THAT(rowsOf(keep, 0, 4), ElementsAre(0, 1, 2, 3, 4, 5, 6, 0, 1, 2));
  EXPECT_THAT(rowsOf(wrap, 0, 4), ElementsAre(0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4));
  EXPECT_EQ(keep.sizeOf(2), 1);
  EXPECT_EQ(keep.sizeOf(5), 1);
  EXPECT_EQ(keep.sizeOf(3), 3);
}

// Each epoch has each row once, for any number of rows; the order differs between epochs.
TEST(RowOrder, AShuffledEpochIsAPermutation) {
  for (int64_t rows : {1, 2, 3, 4, 5, 16, 17, 255, 1000, 4097}) {
    RowOrder order(rows, 1, 42, LastBatch::keep);
    std::vector<int64_t> first = rowsOf(order, 0, rows), second = rowsOf(order, rows, 2 * rows);
    EXPECT_EQ(std::set<int64_t>(first.begin(), first.end()).size(), static_cast<size_t>(rows)) << rows;
    EXPECT_EQ(*std::min_element(first.begin(), first.end()), 0);
    EXPECT_EQ(*std::max_element(first.begin(), first.end()), rows - 1);
    EXPECT_EQ(std::set<int64_t>(second.begin(), second.end()).size(), static_cast<size_t>(rows));
    if (rows < 100)
      continue;
    EXPECT_NE(first, second);
    EXPECT_EQ(first, rowsOf(RowOrder(rows, 1, 42, LastBatch::keep), 0, rows));
    EXPECT_NE(first, rowsOf(RowOrder(rows, 1, 43, LastBatch::keep), 0, rows));
  }
}

// Every row is at every place about equally often: chi-squared over 8 places x 8 rows of 8,000 epochs.
TEST(RowOrder, AShuffleHasNoFavourites) {
  constexpr int64_t rows = 8, epochs = 8000;
  RowOrder order(rows, 1, 7, LastBatch::keep);
  double expected = static_cast<double>(epochs) / rows, sum = 0;
  for (int64_t place = 0; place != rows; ++place) {
    std::vector<double> counts(rows);
    for (int64_t epoch = 0; epoch != epochs; ++epoch)
      ++counts[static_cast<size_t>(order.rowOf(epoch * rows + place, 0))];
    for (double count : counts)
      sum += (count - expected) * (count - expected) / expected;
  }
  EXPECT_LT(sum, 49 + 5 * 10); // 49 degrees of freedom: five standard deviations.
}

TEST(RowOrder, LargeFilesNeedNoList) {
  RowOrder order(int64_t(1) << 40, 1 << 20, 1, LastBatch::drop);
  std::set<int64_t> seen;
  for (int64_t place = 0; place != 10'000; ++place)
    seen.insert(order.rowOf(12'345, place));
  EXPECT_EQ(seen.size(), 10'000u);
  EXPECT_GT(*seen.rbegin(), int64_t(1) << 39);
}

class Batches : public testing::Test {
protected:
  Batches() {
    std::vector<float> x = counting(7 * 3), y = counting(7);
    writeNpy(folder / "x.npy", DType::F32, {7, 3}, x.data());
    writeNpy(folder / "y.npy", DType::F32, {7}, y.data());
    writeNpy(folder / "short.npy", DType::F32, {6}, y.data());
    writeNpy(folder / "scalar.npy", DType::F32, {}, y.data());
  }

  std::vector<std::string> files() const { return {folder / "x.npy", folder / "y.npy"}; }

  LocalJob job{4};
  TemporaryFolder folder;
};

TEST_F(Batches, FilesGoTogetherAndTheLastBatchMayBeShort) {
  NamedSharding rows(make_mesh({4}, {"i"}), P("i"));
  BatchLoader loader(files(), rows, {.batch_size = 5, .last_batch = LastBatch::keep});
  EXPECT_EQ(loader.batches_per_epoch(), 2);
  for (int epoch = 0; epoch != 2; ++epoch) {
    std::vector<Array> batch = loader.next();
    ASSERT_EQ(batch.size(), 2u);
    EXPECT_EQ(batch[0].shape(), (std::vector<int64_t>{5, 3}));
    EXPECT_EQ(batch[0].sharding(), rows);
    EXPECT_THAT(batch[0].to_host<float>(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14));
    EXPECT_THAT(batch[1].to_host<float>(), ElementsAre(0, 1, 2, 3, 4));
    batch = loader.next();
    EXPECT_THAT(batch[0].to_host<float>(), ElementsAre(15, 16, 17, 18, 19, 20));
    EXPECT_THAT(batch[1].to_host<float>(), ElementsAre(5, 6));
  }
}

TEST_F(Batches, ShuffledRowsStayTogetherOnEverySharding) {
  Mesh mesh = make_mesh({2, 2}, {"i", "j"});
  std::vector<std::vector<float>> seen;
  for (const NamedSharding &sharding : {NamedSharding(mesh, P("i")), NamedSharding(mesh, P()),
                                        NamedSharding(mesh, P(std::vector<std::string>{"i", "j"}))}) {
    BatchLoader loader(files(), sharding, {.batch_size = 4, .shuffle = 3, .last_batch = LastBatch::wrap});
    std::vector<float> all;
    for (int i = 0; i != 7; ++i) { // Four epochs.
      std::vector<Array> batch = loader.next();
      std::vector<float> x = batch[0].to_host<float>(), y = batch[1].to_host<float>();
      for (size_t row = 0; row != 4; ++row) {
        EXPECT_EQ(x[3 * row], 3 * y[row]);
        EXPECT_EQ(x[3 * row + 2], 3 * y[row] + 2);
        all.push_back(y[row]);
      }
    }
    for (int epoch = 0; epoch != 4; ++epoch)
      EXPECT_EQ(std::set<float>(all.begin() + 7 * epoch, all.begin() + 7 * (epoch + 1)).size(), 7u);
    seen.push_back(all);
    loader.seek(2);
    EXPECT_THAT(loader.next()[1].to_host<float>(), ElementsAre(all[8], all[9], all[10], all[11]));
  }
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(seen[0], seen[2]);
}

TEST_F(Batches, MistakesAreNamed) {
  NamedSharding rows(make_mesh({4}, {"i"}), P("i"));
  auto make = [&](std::vector<std::string> some, BatchOptions options) {
    return messageOf([&] { BatchLoader(some, rows, options); });
  };
  std::string x = folder / "x.npy", less = folder / "short.npy", scalar = folder / "scalar.npy";
  EXPECT_EQ(make({x, less}, {.batch_size = 2}),
            "'" + x + "' has 7 rows and '" + less + "' has 6 rows: the rows of a batch belong together");
  EXPECT_EQ(make({x}, {.batch_size = 8}), "'" + x + "' has 7 rows, fewer than a batch of 8");
  EXPECT_EQ(make({x}, {}), "a batch of 0 rows is asked for; give a batch size of at least 1");
  EXPECT_EQ(make({scalar}, {.batch_size = 1}), "'" + scalar + "' has no rows for a batch");
  EXPECT_EQ(make({}, {.batch_size = 1}), "a BatchLoader needs files; give .npy files");
  EXPECT_THAT(make({x + "x"}, {.batch_size = 1}), HasSubstr("cannot read '" + x + "x': No such file or directory"));
  BatchLoader loader({x}, rows, {.batch_size = 2});
  EXPECT_EQ(messageOf([&] { loader.seek(-1); }), "batch -1 is asked for; batches are counted from 0");
}

} // namespace
