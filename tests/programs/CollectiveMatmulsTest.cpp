//===- CollectiveMatmulsTest.cpp - collective matmuls, executed ----------------===//
//
// All combinations of a gather or a scatter with a product, on groups of 2 to 8 devices of one axis or two, in all
// element types, with random small integers: sums of them are exact in each type, in any order, so every stage and the
// compiled program must give the bits of the unpartitioned one. Sums of other 16-bit numbers must be as near to those
// in f64 as without collective matmuls. Here they are built whether they pay or not.
//===----------------------------------------------------------------------===//

#include "frontend/Frontend.h"
#include "ir/interfaces/Scalar.h"
#include "passes/collectives/CollectiveMatmulBuilder.h"
#include "passes/pipeline/Pipeline.h"
#include "tests/programs/support/CompiledRun.h"
#include "tests/programs/support/ExactPrograms.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace spmdc;

namespace {

/// The program of one device that a user writes with shard_map, and the same program on global arrays. `$A` are the
/// axes of the ring, `T` is the type.
struct CollectiveMatmulCase {
  const char *name, *parameters, *in, *out, *local, *global;
};

/// A multiple of 8 for every sharded dimension: all shards are even.
const CollectiveMatmulCase kCases[] = {
    {"gather_free_lhs", "x: T[16@$A, 6@_], w: T[6@_, 8@$A]", "(P($A, _), P(_, $A))", "P(_, $A)",
     "all_gather(x, $A, axis=0, tiled=true) @ w", "x @ w"},
    {"gather_free_rhs", "x: T[8@$A, 6@_], w: T[6@_, 16@$A]", "(P($A, _), P(_, $A))", "P($A, _)",
     "x @ all_gather(w, $A, axis=1, tiled=true)", "x @ w"},
    {"gather_contracted_rhs", "x: T[8@$A, 16@_], w: T[16@$A, 5@_]", "(P($A, _), P($A, _))", "P($A, _)",
     "x @ all_gather(w, $A, axis=0, tiled=true)", "x @ w"},
    {"gather_contracted_lhs", "x: T[5@_, 16@$A], w: T[16@_, 8@$A]", "(P(_, $A), P(_, $A))", "P(_, $A)",
     "all_gather(x, $A, axis=1, tiled=true) @ w", "x @ w"},
    {"gather_batch", "x: T[16@$A, 3@_, 4@_], w: T[16@_, 4@_, 8@$A]", "(P($A, _, _), P(_, _, $A))", "P(_, _, $A)",
     "all_gather(x, $A, axis=0, tiled=true) @ w", "x @ w"},
    {"gather_transposed", "x: T[6@_, 16@$A], w: T[6@_, 8@$A]", "(P(_, $A), P(_, $A))", "P(_, $A)",
     "transpose(all_gather(x, $A, axis=1, tiled=true)) @ w", "transpose(x) @ w"},
    {"gather_kept", "x: T[16@$A, 6@_], w: T[6@_, 8@$A]", "(P($A, _), P(_, $A))", "P(_, $A)",
     "all_gather(x, $A, axis=0, tiled=true) @ w + sum(all_gather(x, $A, axis=0, tiled=true), axis=1, keepdims=true)",
     "x @ w + sum(x, axis=1, keepdims=true)"},
    {"gather_for_two", "x: T[16@$A, 16@_], w: T[16@_, 16@$A]", "(P($A, _), P(_, $A))", "P(_, $A)",
     "all_gather(x, $A, axis=0, tiled=true) @ w + transpose(all_gather(x, $A, axis=0, tiled=true)) @ w",
     "x @ w + transpose(x) @ w"},
    {"scatter_lhs", "x: T[16@_, 8@$A], w: T[8@$A, 6@_]", "(P(_, $A), P($A, _))", "P($A, _)",
     "psum_scatter(x @ w, $A, scatter_dimension=0, tiled=true)", "x @ w"},
    {"scatter_rhs", "x: T[6@_, 8@$A], w: T[8@$A, 16@_]", "(P(_, $A), P($A, _))", "P(_, $A)",
     "psum_scatter(x @ w, $A, scatter_dimension=1, tiled=true)", "x @ w"},
    {"scatter_batch", "x: T[16@_, 3@_, 8@$A], w: T[16@_, 8@$A, 4@_]", "(P(_, _, $A), P(_, $A, _))", "P($A, _, _)",
     "psum_scatter(x @ w, $A, scatter_dimension=0, tiled=true)", "x @ w"},
    {"scatter_transposed", "x: T[6@_, 8@$A], w: T[8@$A, 16@_]", "(P(_, $A), P($A, _))", "P($A, _)",
     "psum_scatter(transpose(x @ w), $A, scatter_dimension=0, tiled=true)", "transpose(x @ w)"},
};

struct RingMesh {
  const char *mesh, *axes;
};
const RingMesh kMeshes[] = {
    {"a=2", "a"}, {"a=4", "a"}, {"a=8", "a"}, {"a=4, b=2", "a"}, {"b=2, a=4", "a"}, {"a=2, b=4", "(a, b)"},
};

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

class CollectiveMatmulChecks : protected ExactPrograms {
protected:
  /// Checks every stage and, if `isCompiled`, the compiled program, with a collective matmul for each product that can
  /// be one; returns how many there are. `global` is the same program on global arrays.
  int check(const std::string &text, const std::string &global, RingDirections kind, bool isCompiled) {
    Random random(text.size());
    Sample sample = makeSample(global, random);
    auto module = parse(text);
    if (!module || sample.results.empty())
      return 0;
    EXPECT_TRUE(succeeded(runPipeline(*module, Stage::Array, Stage::Partitioned, {})));
    int rings = buildRings(*module, kind);
    checkStages(*module, sample, isCompiled);
    return rings;
  }

  int buildRings(mlir::ModuleOp module, RingDirections kind) {
    double before = sentBytes(module);
    llvm::DenseSet<mlir::Operation *> products;
    for (const CollectiveMatmul &ring : findCollectiveMatmuls(entryOf(module), getMesh(module), CostModel()))
      if (products.insert(ring.product).second)
        replaceByCollectiveMatmul(ring, ring.work.devices > 2 ? kind : RingDirections::One);
    EXPECT_DOUBLE_EQ(sentBytes(module), before);
    return static_cast<int>(products.size());
  }
};

class CollectiveMatmulPrograms : public CollectiveMatmulChecks,
                                 public ::testing::TestWithParam<std::tuple<CollectiveMatmulCase, const char *>> {};

TEST_P(CollectiveMatmulPrograms, GiveTheBitsOfTheUnpartitioned) {
  auto [test, type] = GetParam();
  for (const RingMesh &mesh : kMeshes)
    for (RingDirections kind : {RingDirections::One, RingDirections::Both}) {
      auto filledIn = [&, type = type](const std::string &text) {
        return replaced(replaced(text, "$A", mesh.axes), "T[", std::string(type) + "[");
      };
      std::string head = "mesh m(" + std::string(mesh.mesh) + ")\n", main = "fn main(" + std::string(test.parameters);
      std::string text = filledIn(head + "fn local(x, w) { return " + test.local + "; }\n" + main +
                                  ") { return shard_map(local, in=" + test.in + ", out=" + test.out + ")(x, w); }\n");
      SCOPED_TRACE(text + std::string(ringDirectionsName(kind)));
      int rings = check(text, filledIn(head + main + ") { return " + test.global + "; }\n"), kind, /*isCompiled=*/true);
      EXPECT_EQ(rings, 1);
      if (HasFailure())
        return;
    }
}

/// Sums of 16-bit partial sums, against f64.
class NarrowSums : public CollectiveMatmulChecks,
                   public ::testing::TestWithParam<std::tuple<const char *, int, RingDirections>> {
protected:
  static constexpr int64_t rows = 16, inner = 64, columns = 24;

  /// Returns normally distributed numbers, rounded to the type.
  Tensor draw(Random &random, std::vector<int64_t> shape, mlir::Type type) {
    Tensor tensor(shape, type);
    for (Scalar &element : tensor.elements) {
      double sum = 0;
      for (int i = 0; i < 12; ++i)
        sum += static_cast<double>(random.integer(0, 1 << 20)) / (1 << 20);
      element = convertScalar(Scalar::ofFloat(sum - 6), mlir::Float64Type::get(&context), type);
    }
    return tensor;
  }

  llvm::SmallVector<Tensor> run(CompiledProgram &program, const std::vector<Tensor> &arguments) {
    std::string error;
    auto results = program.run(context, arguments, Poison::Nan, error);
    EXPECT_TRUE(succeeded(results)) << error;
    return succeeded(results) ? *results : llvm::SmallVector<Tensor>();
  }
};

TEST_P(NarrowSums, AreRoundedOnceAroundARingToo) {
  auto [name, devices, kind] = GetParam();
  bool isBf16 = std::string(name) == "bf16";
  mlir::Type type = isBf16 ? mlir::Type(mlir::BFloat16Type::get(&context)) : mlir::Float16Type::get(&context);
  std::string t = name, r = std::to_string(rows), i = std::to_string(inner), c = std::to_string(columns);
  std::string text = "mesh m(a=" + std::to_string(devices) + ")\nfn main(x: " + t + "[" + r + "@_, " + i +
                     "@a], w: " + t + "[" + i + "@a, " + c + "@_]) -> " + t + "[" + r + "@a, " + c +
                     "@_] { return x @ w; }\n";
  auto compile = [&](bool isRing) {
    Diagnostics diagnostics;
    auto module = importProgram(text, "sum.spmd", {}, context, diagnostics);
    EXPECT_TRUE(module) << diagnostics.str();
    EXPECT_TRUE(succeeded(runPipeline(*module, Stage::Array, Stage::Partitioned, {})));
    if (isRing)
      EXPECT_EQ(buildRings(*module, kind), 1);
    std::string error;
    auto artifact = compileModule(*module, /*optimizationLevel=*/1, error);
    EXPECT_TRUE(artifact) << error;
    return CompiledProgram(artifact);
  };
  CompiledProgram whole = compile(false), ring = compile(true);
  // Half a unit in the last place of numbers between 1 and 2.
  const double unit = std::ldexp(1.0, isBf16 ? -8 : -11);
  double wholeError = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<Tensor> arguments{draw(random, {rows, inner}, type), draw(random, {inner, columns}, type)};
    llvm::SmallVector<Tensor> ofWhole = run(whole, arguments), ofRing = run(ring, arguments);
    ASSERT_TRUE(ofWhole.size() == 1 && ofRing.size() == 1);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column) {
        double sum = 0;
        for (int64_t k = 0; k < inner; ++k)
          sum += arguments[0].elements[row * inner + k].f * arguments[1].elements[k * columns + column].f;
        double whole = ofWhole[0].elements[row * columns + column].f - sum;
        double around = ofRing[0].elements[row * columns + column].f - sum;
        // Partial sums are sent in f32, for whose additions 1e-4 and one percent allow; the sum is rounded once.
        ASSERT_LE(std::abs(around), unit * std::abs(sum) * 1.01 + 1e-4) << row << ", " << column;
        ASSERT_LE(std::abs(whole), unit * std::abs(sum) * 1.01 + 1e-4) << row << ", " << column;
        wholeError += whole * whole;
      }
  }
  EXPECT_GT(wholeError, 0); // The sum is really rounded.
}

INSTANTIATE_TEST_SUITE_P(Groups, NarrowSums,
                         ::testing::Combine(::testing::Values("bf16", "f16"), ::testing::Values(2, 4, 8),
                                            ::testing::Values(RingDirections::One, RingDirections::Both)),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param)) + "_" + std::to_string(std::get<1>(info.param)) +
                                  (std::get<2>(info.param) == RingDirections::One ? "_one_way" : "_both_ways");
                         });

/// einsums with random dimensions in random orders and with random shardings: the partitioner creates gathers and
/// scatters of all dimensions, over one axis or several; sometimes in a loop.
class RandomCollectiveMatmuls : public CollectiveMatmulChecks, public ::testing::TestWithParam<int> {
protected:
  struct Dim {
    char letter;
    int64_t size;
  };
  using Dims = std::vector<Dim>;

  /// Returns `f32[8@a, 12@_]`.
  std::string typeOf(const Dims &dims) {
    std::vector<std::string> cuts(dims.size());
    for (const spmd::MeshAxis &axis : mesh.axes)
      if (random.chance(80) && !dims.empty()) {
        std::string &cut = cuts[static_cast<size_t>(random.integer(0, static_cast<int64_t>(dims.size()) - 1))];
        cut += (cut.empty() ? "" : ", ") + axis.name;
      }
    std::string text = "f32[";
    for (size_t d = 0; d < dims.size(); ++d)
      text += (d ? ", " : "") + std::to_string(dims[d].size) + "@" + (cuts[d].empty() ? "_" : "(" + cuts[d] + ")");
    return text + "]";
  }

  Dims shuffled(Dims dims) {
    for (size_t i = dims.size(); i > 1; --i)
      std::swap(dims[i - 1], dims[static_cast<size_t>(random.integer(0, static_cast<int64_t>(i) - 1))]);
    return dims;
  }

  static std::string lettersOf(const Dims &dims) {
    std::string text;
    for (const Dim &dim : dims)
      text += dim.letter;
    return text;
  }

  std::string makeText() {
    mesh.axes = {{"a", random.pick({2, 4})}};
    if (random.chance(60))
      mesh.axes.push_back({"b", 2});
    Dims batch, left, right, contracted;
    char letter = 'i';
    auto add = [&](Dims &dims, int64_t low, int64_t high) {
      for (int64_t count = random.integer(low, high); count > 0; --count)
        dims.push_back({letter++, mesh.deviceCount() * random.pick({1, 1, 2})});
    };
    add(batch, 0, 1);
    add(left, 0, 2);
    add(right, 1, 2);
    add(contracted, 1, random.chance(20) ? 2 : 1);
    auto joined = [&](std::initializer_list<Dims> parts) {
      Dims all;
      for (const Dims &part : parts)
        all.insert(all.end(), part.begin(), part.end());
      return shuffled(all);
    };
    Dims x = joined({batch, left, contracted}), w = joined({batch, right, contracted});
    Dims y = joined({batch, left, right});
    std::string product = "einsum(\"" + lettersOf(x) + "," + lettersOf(w) + "->" + lettersOf(y) + "\", x, w)";
    std::string text = "mesh m(";
    for (const spmd::MeshAxis &axis : mesh.axes)
      text += (text.back() == '(' ? "" : ", ") + axis.name + "=" + std::to_string(axis.size);
    text += ")\nfn main(x: " + typeOf(x) + ", w: " + typeOf(w) + ") -> " + typeOf(y) + " {\n";
    if (random.chance(30))
      text += "  let y = for i in 0..2 carry (y = zeros(f32[" + sizesOf(y) + "])) { yield y + " + product + "; };\n";
    else
      text += "  let y: " + typeOf(y) + " = " + product + ";\n";
    return text + "  return y;\n}\n";
  }

  static std::string sizesOf(const Dims &dims) {
    std::string text;
    for (const Dim &dim : dims)
      text += (text.empty() ? "" : ", ") + std::to_string(dim.size);
    return text;
  }

  Random random{static_cast<uint64_t>(GetParam())};
  spmd::MeshShape mesh;
};

constexpr int kRandomBlocks = 8, kRandomPerBlock = 25, kCompiledEvery = 5;

TEST_P(RandomCollectiveMatmuls, GiveTheBitsOfTheUnpartitioned) {
  random = Random(static_cast<uint64_t>(9000 + GetParam()));
  int rings = 0;
  for (int i = 0; i < kRandomPerBlock && !HasFailure(); ++i) {
    std::string text = makeText();
    SCOPED_TRACE(text);
    rings +=
        check(text, text, random.chance(50) ? RingDirections::One : RingDirections::Both, i % kCompiledEvery == 0) > 0;
  }
  EXPECT_GE(rings, kRandomPerBlock / 4);
}

INSTANTIATE_TEST_SUITE_P(Blocks, RandomCollectiveMatmuls, ::testing::Range(0, kRandomBlocks));

INSTANTIATE_TEST_SUITE_P(Kinds, CollectiveMatmulPrograms,
                         ::testing::Combine(::testing::ValuesIn(kCases),
                                            ::testing::Values("f32", "f64", "bf16", "f16", "i32")),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param).name) + "_" + std::get<1>(info.param);
                         });

} // namespace
