//===- MergedDimsTest.cpp - merged sharded dimensions, executed -----------===//
//
// Top-k, minima and maxima, lookups, scatters and sums of arrays whose dimensions a reshape has merged, with random
// shardings and sizes. Elements are small integers, so that many are equal: among these the order within the full array
// counts. Every stage gives the results of the unpartitioned program.
//
//===----------------------------------------------------------------------===//

#include "ir/array/ArrayOps.h"
#include "tests/programs/support/ExactPrograms.h"
#include "tests/support/BytesAlone.h"

#include "gtest/gtest.h"

using namespace spmdc;

namespace {

class MergedDims : protected ExactPrograms, public ::testing::Test {
protected:
  Random random{62000};

  std::string makeProgram() {
    std::vector<std::string> cuts = random.chance(50)
                                        ? std::vector<std::string>{"b", "a"}
                                        : std::vector<std::string>{random.chance(50) ? "(a, b)" : "(b, a)"};
    auto rank = random.integer(2, 4);
    bool hasBatch = rank > 2 && random.chance(30);
    std::string dims, shape, axis = hasBatch ? "1" : "0";
    int64_t elements = 1, batch = 1;
    for (int64_t d = 0; d < rank; ++d) {
      std::string cut = "_";
      if (!cuts.empty() && (random.chance(50) || d + static_cast<int64_t>(cuts.size()) >= rank)) {
        cut = cuts.back();
        cuts.pop_back();
      }
      int64_t size = random.integer(1, 9);
      (hasBatch && d == 0 ? batch : elements) *= size;
      dims += (d ? ", " : "") + std::to_string(size) + "@" + cut;
      shape += (d ? ", " : "") + std::to_string(size);
    }
    std::string type = random.pick(std::vector<std::string>{"f32", "i32", "bf16"}) + "[" + dims + "]";
    std::string k = std::to_string(random.integer(1, std::min<int64_t>(elements, 5)));
    std::string rows = hasBatch ? ":, " : "";
    std::string flat = "[" + (hasBatch ? std::to_string(batch) + ", " : "") + "-1]";
    std::string along = "axis=" + axis;
    auto [body, result] = random.pick(std::vector<std::pair<std::string, std::string>>{
        {"(v, o)", ""},
        {"(v, o, take_along_axis(f, o, " + along + "))", ""},
        {"(argsort(g)[" + rows + "-" + k + ":], sort(g)[" + rows + "-" + k + ":])", ""},
        {"(argsort(g)[" + rows + ":" + k + "], sort(f)[" + rows + ":" + k + "])", ""},
        {"(argmax(g, " + along + "), argmin(f, " + along + "))", ""},
        {"take(f, i, " + along + ")", ""},
        {"scatter_add(f, i, take(g, i, " + along + "), " + along + ")", ""},
        {"reshape(scatter_add(g, i, take(f, i, " + along + "), " + along + "), [" + shape + "])", " -> " + type},
        {"(max(g, " + along + "), min(f, " + along + "), sum(cast(g, i32), " + along + "))", ""},
        {"(reshape(g + f, [" + shape + "]))", ""},
        {"reshape(g, [" + shape + "])", " -> " + type},
    });
    return "mesh m(a=" + std::to_string(random.integer(1, 4)) + ", b=2)\nfn main(x: " + type + ", i: i32[5])" + result +
           " {\n  let f = reshape(x, " + flat + ");\n  let g = f * f;\n  let (v, o) = top_k(g, " + k + ");\n  return " +
           body + ";\n}\n";
  }
};

class RandomMergedDims : public MergedDims, public ::testing::WithParamInterface<int> {
protected:
  RandomMergedDims() { random = Random(static_cast<uint64_t>(62001 + GetParam())); }
};

constexpr int kBlocks = 4, kPerBlock = 40, kCompiledEvery = 4;

TEST_P(RandomMergedDims, OfAnySizesAndShardings) {
  for (int i = 0; i < kPerBlock && !HasFailure(); ++i) {
    std::string text = makeProgram();
    SCOPED_TRACE(text);
    auto [sample, module] = partition(text, random, bytesAlone());
    ASSERT_TRUE(module);
    checkStages(*module, sample, i % kCompiledEvery == 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, RandomMergedDims, ::testing::Range(0, kBlocks));

/// For a matrix with sharded columns, few elements are sent, no matter which operation reads it.
TEST_F(MergedDims, SendFewElements) {
  for (const char *body : {"top_k(f, 4)", "argsort(abs(f))[-4:]", "sort(f)[:4]", "(argmax(x), argmin(f * f))", "f[i]",
                           "sum(f * 3)", "shard(reshape(scatter_add(f, i, f[i]), [32, 60]), P(b, a))"}) {
    std::string text = std::string("mesh m(a=4, b=2)\nfn main(x: f32[32@b, 60@a], i: i32[5]) {\n") +
                       "  let f = reshape(x, [-1]);\n  return " + body + ";\n}\n";
    SCOPED_TRACE(text);
    auto [sample, module] = partition(text, random, bytesAlone());
    ASSERT_TRUE(module);
    EXPECT_LE(sentBytes(*module), 300);
    checkStages(*module, sample, /*isCompiled=*/true);
  }
}

} // namespace
