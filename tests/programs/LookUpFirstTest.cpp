//===- LookUpFirstTest.cpp - lookups in parts of a table, executed --------===//
//
// Random lookups in slices of one array that is sharded along the sliced dimension, along the dimension of the lookup,
// or along both: every stage gives the results of the unpartitioned program. If each table is on one device, only the
// indices and the found elements are sent.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/support/ExactPrograms.h"
#include "tests/support/BytesAlone.h"

#include "gtest/gtest.h"

using namespace spmdc;

namespace {

class LookUpFirst : protected ExactPrograms, public ::testing::TestWithParam<int> {
protected:
  std::string cut(const std::string &size) {
    return size + random.pick(std::vector<std::string>{"@a", "@b", "@(a, b)", "@(b, a)", "@_"});
  }

  /// Returns one lookup in a slice of the tables `e`, by the indices `j`, along their second dimension.
  std::string lookUp() {
    std::string table = std::to_string(random.integer(0, tables - 1));
    std::string more = std::to_string(random.integer(0, tables - 2)) + ":";
    return random.pick(std::vector<std::string>{
        "take(e[" + table + "], j, axis=0)",
        "e[" + table + ", j]",
        "take(e[" + table + ":], j, axis=1)[0]",
        "take(e[" + more + "], j, axis=1)[1]",
        "take(e[::2, :, :], j, axis=1)[0]",
        "take(e[" + table + ":, :, 1:], j, axis=1)[0, :, :1]",
        "take_along_axis(e[" + table + "], j[:, None], axis=0)",
        "take_along_axis(e[" + table + ", :, 0], j, axis=0)[:, None]",
    });
  }

  Random random{static_cast<uint64_t>(131000 + GetParam())};
  int64_t tables = 4, rows = 9, count = 6;
};

constexpr int kBlocks = 2, kPerBlock = 40, kCompiledEvery = 4;

TEST_P(LookUpFirst, OfAnySizesAndShardings) {
  for (int n = 0; n < kPerBlock && !HasFailure(); ++n) {
    tables = random.integer(2, 7);
    rows = random.pick({1, 7, 24, 40});
    count = random.integer(1, 12);
    std::string one = lookUp(), other = lookUp();
    std::string body = random.pick(std::vector<std::string>{
        "fn main(X) { let j = i % V; return " + one + "; }\n",
        "fn main(X) { let j = i % V; return " + one + " + 2.0 * " + other + "; }\n",
        "fn main(X) { let j = i % V; let t = e[1]; return (take(t, j, axis=0), take(t, -1 - j, axis=0), t[j]); }\n",
        "fn main(X) { let j = i % V; let t = e[1]; return (take(t, j, axis=0), sum(t)); }\n",
        "fn main(X) { let j = i % V; return for k in 0..3 carry (s = 0.0) { yield s * 0.5 + sum(" + one + "); }; }\n",
        "fn loss(e, i) { let j = i % V; return sum(" + one + " * " + other +
            "); }\nfn main(X) { return grad(loss)(e, i); }\n",
    });
    // Over different axes, or none.
    std::string layout = random.pick(
        std::vector<std::string>{"T@a, V", "T@b, V", "T, V@a", "T@a, V@b", "T@b, V@a", "T@(a, b), V", "T, V"});
    layout.replace(layout.find('T'), 1, std::to_string(tables));
    layout.replace(layout.find('V'), 1, std::to_string(rows));
    std::string text =
        "mesh m(a=" + std::to_string(random.pick({1, 2, 3, 4})) + ", b=2)\nconst V = " + std::to_string(rows) + ";\n" +
        body.replace(body.find('X'), 1, "e: f32[" + layout + ", 3], i: i32[" + cut(std::to_string(count)) + "]");
    SCOPED_TRACE(text);
    auto [sample, module] = partition(text, random, bytesAlone());
    ASSERT_TRUE(module);
    checkStages(*module, sample, n % kCompiledEvery == 0);
  }
}

TEST_P(LookUpFirst, TablesStayWhereTheyAre) {
  for (int n = 0; n < kPerBlock && !HasFailure(); ++n) {
    int64_t devices = random.pick({2, 3, 4});
    count = devices * random.integer(1, 5);
    rows = random.integer(8, 20) * count;
    std::string text = "mesh m(a=" + std::to_string(devices) + ")\nfn main(e: f32[" + std::to_string(devices) + "@a, " +
                       std::to_string(rows) + ", 3], i: i32[" + std::to_string(count) + "@a]) -> f32[" +
                       std::to_string(count) + "@a, 3] { return e[" + std::to_string(random.integer(0, devices - 1)) +
                       ", i % " + std::to_string(rows) + "]; }\n";
    SCOPED_TRACE(text);
    auto [sample, module] = partition(text, random, bytesAlone());
    ASSERT_TRUE(module);
    // The indices go to all devices, and the elements that one device finds to the others.
    auto others = static_cast<double>(devices - 1) / static_cast<double>(devices);
    EXPECT_LE(sentBytes(*module), others * static_cast<double>(4 * count + 4 * 3 * count / devices));
    checkStages(*module, sample, n % kCompiledEvery == 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Blocks, LookUpFirst, ::testing::Range(0, kBlocks));

} // namespace
