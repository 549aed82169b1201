//===- PartialSumsTest.cpp - sums with partial sums, executed -------------===//
//
// Products whose contracted dimension is sharded are partial sums. Another addend becomes a partial sum too if that
// saves a reduction: random sums, in loops too, with even and uneven sizes. Every stage gives the results of the
// unpartitioned program.
//
//===----------------------------------------------------------------------===//

#include "ir/array/ArrayOps.h"
#include "ir/spmd/SpmdOps.h"
#include "tests/programs/support/ExactPrograms.h"
#include "tests/support/BytesAlone.h"

#include "gtest/gtest.h"

#include <functional>

using namespace spmdc;

namespace {

class PartialSums : protected ExactPrograms, public ::testing::TestWithParam<int> {
protected:
  /// Returns `f32[7@a, 12@_]`; without an axis for a dimension that has none in `axes`.
  std::string typeOf(std::vector<int64_t> shape, std::vector<std::string> axes) {
    std::string text = "f32[";
    for (size_t d = 0; d < shape.size(); ++d)
      text += (d ? ", " : "") + std::to_string(shape[d]) + "@" + (axes[d].empty() ? "_" : axes[d]);
    return text + "]";
  }

  /// Returns a slice of a value computed from them, in the text of `makeText`.
  std::string makeTaken(int64_t rows, int64_t columns, const std::function<std::string(std::vector<int64_t>)> &anyhow,
                        std::string &result) {
    std::string made =
        random.pick(std::vector<std::string>{"x @ y", "x @ y + c", "maximum(x @ y, 0.0) + s", "(x @ y) * (x @ y + c)",
                                             "x @ y + z @ w", "transpose(transpose(x @ y) + transpose(s))"});
    bool ofRows = random.chance(50);
    int64_t size = ofRows ? rows : columns, count = random.integer(1, 3);
    auto resultOf = [&](int64_t taken) { return ofRows ? anyhow({taken, columns}) : anyhow({rows, taken}); };
    std::string indices = "(arange(" + std::to_string(count) + ") * 7 + 1) % " + std::to_string(size),
                axis = ofRows ? "0" : "1", first = std::to_string(random.integer(0, size - count));
    switch (random.integer(0, 3)) {
    case 0:
      result = resultOf(count);
      return "let t = " + made + ";\n  return take(t, " + indices + ", axis=" + axis + ")";
    case 1: {
      result = resultOf(1);
      std::string other = std::to_string(ofRows ? columns : rows),
                  shape = ofRows ? "[1, " + other + "]" : "[" + other + ", 1]";
      return "let t = " + made + ";\n  return take_along_axis(t, reshape(arange(" + other + ") % " +
             std::to_string(size) + ", " + shape + "), axis=" + axis + ")";
    }
    case 2:
      result = resultOf(count);
      return "let t = " + made + ";\n  return t[" + (ofRows ? "" : ":, ") + first + ":" + first + " + " +
             std::to_string(count) + "]";
    default:
      result = anyhow({ofRows ? columns : rows});
      return "let i = sum(arange(3));\n  let t = " + made + ";\n  return t[" + (ofRows ? "i]" : ":, i]");
    }
  }

  std::string makeText(bool isTaken = false) {
    int64_t rows = random.integer(5, 40), columns = random.integer(5, 40);
    bool hasSecond = random.chance(40);
    std::string mesh = "mesh m(a=" + std::to_string(random.pick({2, 3, 4})) + (hasSecond ? ", b=2" : "") + ")\n";
    std::string free = hasSecond && random.chance(60) ? "b" : "";
    // The products have the same sharding; the other addends have random ones.
    auto product = [&](const std::string &left, const std::string &right) {
      int64_t depth = random.integer(3, 20);
      return left + ": " + typeOf({rows, depth}, {free, "a"}) + ", " + right + ": " +
             typeOf({depth, columns}, {"a", ""});
    };
    auto anyhow = [&](std::vector<int64_t> shape) {
      std::vector<std::string> axes(shape.size());
      for (const char *axis : {"a", "b"})
        if ((*axis == 'a' || hasSecond) && random.chance(40))
          if (std::string &place = axes[static_cast<size_t>(random.integer(0, static_cast<int64_t>(axes.size()) - 1))];
              place.empty())
            place = axis;
      return typeOf(shape, axes);
    };
    std::string bias = random.chance(50) ? anyhow({rows, columns}) : anyhow({columns});
    std::string parameters = product("x", "y") + ", " + product("z", "w") + ", s: " + anyhow({rows, columns}) +
                             ", c: " + bias + ", u: f32",
                result = anyhow({rows, columns}), taken;
    if (isTaken)
      taken = makeTaken(rows, columns, anyhow, result);
    std::string text = mesh + "fn main(" + parameters + ") -> " + result + " {\n  ";
    if (isTaken)
      return text + taken + ";\n}\n";
    return text +
           random.pick(std::vector<std::string>{
               "return x @ y + c + z @ w",
               "return (x @ y + c) - (z @ w - s)",
               "return s - x @ y + c + (s - z @ w)",
               "return transpose(transpose(x @ y) - transpose(s)) + z @ w",
               // Factors that are computed at run time.
               "return u * (x @ y) + c - (z @ w) / where(u > 1.0, 2.0, 4.0)",
               "return for i in 0..3 carry (t = s) { yield u * t + (x @ y) * u; }",
               "return for i in 0..3 carry (t = s) { yield t + (x @ y - t) / where(u > 1.0, 2.0, 4.0); }",
               "return flip(x @ y + c, 0) * 2.0 + z @ w",
               "return for i in 0..3 carry (t = s) { yield t + x @ y; }",
               "return for i in 0..3 carry (t = s) { yield t - (x @ y + c) + z @ w; }",
               "return for i in 0..4 carry (t = s) { yield if i % 2 == 0 { t + x @ y } else { t }; }",
               "return for i in 0..4 carry (t = s) { yield if i % 2 == 0 { t - x @ y + c } else { z @ w - t }; }",
               "return for i in 0..4 carry (t = s) { yield t + if i < 3 { if i == 1 { x @ y } else { c + z @ w } } "
               "else { s }; }",
               // Loops and updates in branches make the carry itself a partial sum.
               "return for i in 0..4 carry (t = s) { yield if i % 2 == 0 {\n"
               "    for j in 0..3 carry (u = t) { yield u + x @ y; } } else { t }; }",
               "return for i in 0..4 carry (t = s) { yield if i % 2 == 0 {\n"
               "    for j in 0..3 carry (u = t) { yield u - x @ y + c; } } else { z @ w - t }; }",
               "return for i in 0..4 carry (t = s) { yield if i % 2 == 0 {\n"
               "    for j in 0..3 carry (u = t) { yield u + x @ y; } } else { t + t * t }; }",
               "return for i in 0..4 carry (t = s) { yield if i % 2 == 0 {\n"
               "    scatter_add(t, (arange(" +
                   std::to_string(rows) + ") + i) % " + std::to_string(rows) + ", x @ y) } else { t }; }",
               "let (t, u) = for i in 0..4 carry (t = s, u = s) {\n"
               "    yield (scatter_add(u, arange(" +
                   std::to_string(rows) + "), x @ y), scatter_add(t, arange(" + std::to_string(rows) +
                   "), z @ w)); };\n  return t + u",
               "return for i in 0..4 carry (t = s) { yield x @ y + c; }",
               "return for i in 0..0 carry (t = s) { yield x @ y; }",
               "let (t, i) = while i < 3 carry (t = s, i = 0) {\n"
               "    yield (if i % 2 == 0 { for j in 0..3 carry (u = t) { yield u + x @ y; } } else { t }, i + 1); };\n"
               "  return t",
               // A branch needs a part of them as their sum.
               "let (t, u) = for i in 0..4 carry (t = s, u = s) { let t = t + x @ y;\n"
               "    let (t, u) = if i % 2 == 1 { (s, u + t * t) } else { (t, u) };\n"
               "    yield (t, u); };\n  return t + u",
               // A carry that is not a sum with the carried value.
               "return for i in 0..4 carry (t = s) { yield if i == 0 { x @ y } else { maximum(t, x @ y) }; }",
               "return for i in 0..4 carry (t = s) { yield if i % 2 == 0 { x @ y } else { t * t }; }",
               "let (t, u) = for i in 0..4 carry (t = s, u = s) {\n"
               "    let (t, u) = if i % 2 == 1 { (t + x @ y, u) } else { (t, u) };\n"
               "    yield (u, t); };\n  return t + u",
               "let (t, u) = for i in 0..4 carry (t = s, u = s) { yield (u, t - x @ y); };\n  return t + u",
           }) +
           ";\n}\n";
  }

  /// Returns sums along a dimension of masked products, or of masked rows of a sharded table.
  std::string makeMasked() {
    int64_t rows = random.integer(5, 20), columns = random.integer(5, 20), taken = random.integer(3, 9);
    auto cut = [&](int64_t size) {
      return std::to_string(size) + random.pick(std::vector<std::string>{"@a", "@b", "@(a, b)", "@(b, a)", "@_"});
    };
    std::string r = std::to_string(rows), c = std::to_string(columns), t = std::to_string(taken);
    bool isLookup = random.chance(50);
    std::string array = isLookup ? "take(e, i, axis=0)" : "dot_general(x, y, contract=([2], [0]))";
    std::string masked = random.pick(std::vector<std::string>{
        "where((n > 0)[:, :, None], " + array + ", 0.0)", "where(((n + i) > 0)[:, :, None], " + array + ", 1.0)",
        "where((k > 0)[None, None, :], " + array + ", 0.0) * 2.0", array + " - 1.0"});
    std::string axes = random.pick(std::vector<std::string>{"a", "b", "(a, b)"});
    return "mesh m(a=" + std::to_string(random.pick({2, 3})) + ", b=2)\nfn main(e: f32[23@" + axes + ", " + c +
           "@_], x: f32[" + r + "@_, " + t + "@_, 6@" + axes + "], y: f32[6@" + axes + ", " + c + "@_], i: i32[" +
           cut(rows) + ", " + t + "@_], n: i32[" + cut(rows) + ", " + t + "@_], k: i32[" + cut(columns) + "]) -> f32[" +
           (random.chance(50) ? cut(rows) + ", " + c + "@_" : r + "@_, " + cut(columns)) + "] { return sum(" + masked +
           ", axis=1); }\n";
  }

  Random random{static_cast<uint64_t>(70000 + GetParam())};
  int kept = 0, placed = 0; ///< The numbers of programs in which full arrays, and shards, became partial sums.
};

constexpr int kBlocks = 4, kPerBlock = 80, kCompiledEvery = 6;

TEST_P(PartialSums, AreThoseOfTheUnpartitioned) {
  for (int i = 0; i < kPerBlock && !HasFailure(); ++i) {
    std::string text = makeText();
    SCOPED_TRACE(text);
    auto [sample, module] = partition(text, random, bytesAlone());
    ASSERT_TRUE(module);
    bool isKept = false, isPlaced = false;
    // Only such arrays read the device's index: to compare it with the first device, and to find the place of a shard.
    module->walk([&](AxisIndexOp op) {
      for (mlir::Operation *user : op->getUsers()) {
        isKept |= mlir::isa<CompareOp>(user);
        isPlaced |= mlir::isa<MultiplyOp>(user);
      }
    });
    kept += isKept;
    placed += isPlaced;
    checkStages(*module, sample, i % kCompiledEvery == 0);
  }
  EXPECT_GE(kept, kPerBlock / 20);
  EXPECT_GE(placed, kPerBlock / 20);
}

TEST_P(PartialSums, PartsOfThem) {
  int narrowed = 0;
  for (int i = 0; i < kPerBlock && !HasFailure(); ++i) {
    std::string text = makeText(/*isTaken=*/true);
    SCOPED_TRACE(text);
    auto [sample, module] = partition(text, random, bytesAlone());
    ASSERT_TRUE(module);
    std::string ir;
    llvm::raw_string_ostream(ir) << *module;
    narrowed += ir.find("only the used elements are reduced") != std::string::npos;
    checkStages(*module, sample, i % kCompiledEvery == 0);
  }
  EXPECT_GE(narrowed, kPerBlock / 8);
}

TEST_P(PartialSums, OfWhatMasksLeave) {
  int remade = 0;
  for (int i = 0; i < kPerBlock / 2 && !HasFailure(); ++i) {
    std::string text = makeMasked();
    SCOPED_TRACE(text);
    auto [sample, module] = partition(text, random, bytesAlone());
    ASSERT_TRUE(module);
    std::string ir;
    llvm::raw_string_ostream(ir) << *module;
    remade += ir.find("for use with partial sums") != std::string::npos;
    checkStages(*module, sample, i % kCompiledEvery == 0);
  }
  EXPECT_GE(remade, kPerBlock / 80);
}

INSTANTIATE_TEST_SUITE_P(Blocks, PartialSums, ::testing::Range(0, kBlocks));

} // namespace
