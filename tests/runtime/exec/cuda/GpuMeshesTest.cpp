//===- GpuMeshesTest.cpp - programs on several emulated GPUs --------------===//
//
// Each collective, through the host and through NCCL, with sizes that do not divide, against CPU devices: the same
// bits, also for sums of any floats if each device has one addend, because all add along the same tree.
//
//===----------------------------------------------------------------------===//

#include "tests/runtime/exec/cuda/ProgramCheckHelper.h"

#include <gmock/gmock.h>

using namespace spmd;
using namespace spmd::test;
using testing::Contains;
using testing::IsSupersetOf;

namespace {

struct MeshCase {
  const char *name, *axes, *rows, *columns; ///< The replacements of $R and $C.
};
void PrintTo(const MeshCase &mesh, std::ostream *os) { *os << mesh.axes; }

class GpuMeshes : public testing::TestWithParam<MeshCase> {
protected:
  static std::string fill(std::string text) {
    auto put = [&](const std::string &mark, const std::string &by) {
      for (size_t at = 0; (at = text.find(mark, at)) != std::string::npos; at += by.size())
        text.replace(at, mark.size(), by);
    };
    put("$R", GetParam().rows);
    put("$C", GetParam().columns);
    return std::string("mesh m(") + GetParam().axes + ")\n" + text;
  }
  static std::set<CollectiveKind> check(const std::string &text, const ProgramCheck &how = {}) {
    return checkOnGpus(fill(text), how);
  }
};

TEST_P(GpuMeshes, AllReduce) {
  EXPECT_THAT(
      check("fn main(x: f32[11@$R, 5], i: i32[13@$R, 3]) { return (sum(x, axis=0), prod(i, axis=0), max(x)); }\n",
            {.areExact = true}),
      Contains(CollectiveKind::AllReduce));
}

// More than 64 KiB: a reduce_scatter and an all_gather.
TEST_P(GpuMeshes, LargeAllReduce) {
  std::set<CollectiveKind> kinds =
      check("fn main(x: f32[6@$R, 16500]) { return sum(x, axis=0); }\n", {.areExact = true});
  EXPECT_THAT(check("fn f(x) { return psum(x, a); }\n"
                    "fn main(x: f32[12@a, 1401]) { return shard_map(f, in=P(a), out=P())(repeat(x, 4, axis=0)); }\n",
                    {.areExact = true}),
              Contains(CollectiveKind::AllReduce));
  // With two axes it is cheaper to scatter first.
  EXPECT_TRUE(kinds.contains(CollectiveKind::AllReduce) || kinds.contains(CollectiveKind::ReduceScatter));
}

// One row per device, so that only the tree determines the sum.
TEST_P(GpuMeshes, SumsHaveOneTree) {
  for (const char *type : {"f32", "bf16", "f16", "f64"})
    check("fn main(x: T[2@$R, 40]) { return sum(x, axis=0); }\n", {.type = type});
}

TEST_P(GpuMeshes, Gather) {
  EXPECT_THAT(check("fn main(x: f32[7@$R, 3], y: u8[5, 9@$C]) { return (shard(x, P(_, _)), shard(y, P(_, _))); }\n"),
              Contains(CollectiveKind::AllGather));
}

TEST_P(GpuMeshes, ReduceScatter) {
  EXPECT_THAT(check("fn main(x: f32[8@$R, 10, 3]) { let y: f32[10@$R, 3] = sum(x, axis=0); return y * 2.0; }\n",
                    {.areExact = true}),
              Contains(CollectiveKind::ReduceScatter));
}

TEST_P(GpuMeshes, AllToAllAndExchange) {
  std::set<CollectiveKind> kinds = check("fn main(x: f32[7@$R, 10], y: i32[12@$R, 12]) {\n"
                                         "  return (shard(x, P(_, $R)), shard(y, P(_, $R)), shard(x.T, P($R, _)));\n"
                                         "}\n");
  EXPECT_TRUE(kinds.contains(CollectiveKind::AllToAll) || kinds.contains(CollectiveKind::Exchange));
}

TEST_P(GpuMeshes, Halos) {
  check("fn main(x: f32[19@$R, 4], i: i32[10@$R]) {\n"
        "  return (x[1:] + x[:-1], roll(i, 3), flip(x, 0), pad(x, ((2, 1), (0, 0)))[:17], x[::2]);\n"
        "}\n");
}

TEST_P(GpuMeshes, Broadcast) {
  EXPECT_THAT(check("fn main(x: f32[8@$R, 300], i: i32) { return x[abs(i)] * 2.0; }\n"),
              Contains(CollectiveKind::CollectiveBroadcast));
}

TEST_P(GpuMeshes, ManualCollectives) {
  EXPECT_THAT(check("fn f(x) {\n"
                    "  let n = axis_size(a);\n"
                    "  let y = ppermute(x, a, [(0, 1)]) + 100.0 * axis_index(a);\n"
                    "  return (y, psum(x, a), all_gather(x, a), pmax(x, a), psum_scatter(all_gather(x, a), a));\n"
                    "}\n"
                    "fn main(x: f32[12@a, 3]) {\n"
                    "  return shard_map(f, in=P(a), out=(P(a), P(), P(), P(), P(a)))(x);\n"
                    "}\n",
                    {.areExact = true}),
              Contains(CollectiveKind::CollectivePermute));
}

TEST_P(GpuMeshes, ProductsAndLoops) {
  check("fn main(x: f32[12@$R, 10@$C], w: f32[10, 9@$C], v: f32[9, 10]) {\n"
        "  let y = for i in 0..3 carry (y = x) { yield clamp(-4.0, y @ w @ v, 4.0); };\n"
        "  let (z, n) = while sum(abs(y)) * cast(n, f32) < 900.0 carry (z = y, n = 1) { yield (z + x, n + 1); };\n"
        "  return (y, z, n, if sum(z) > 0.0 { sum(z, axis=0) } else { max(z, axis=0) });\n"
        "}\n",
        {.areExact = true});
}

TEST_P(GpuMeshes, SortScatterAndSlices) {
  check("fn main(x: f32[14@$R, 6], k: i32[9@$R], u: f32[9@$R, 6], p: i32, w: f32[3, 6]) {\n"
        "  let at = abs(k) % 14;\n"
        "  return (sort(x, axis=0), scatter_add(x, at, u), take(x, at, axis=0), update(x, w, start=[abs(p), 0]),\n"
        "          cumsum(x, axis=0), argmax(x, axis=0));\n"
        "}\n",
        {.areExact = true});
}

TEST_P(GpuMeshes, OnOneGpu) {
  check("fn main(x: f32[11@$R, 5]) { return (sum(x, axis=0), shard(x, P(_, _)), x[1:] - x[:-1]); }\n",
        {.areExact = true, .sharesGpu = true});
}

// Work between start and done of a transfer, on another stream: with many orders of the streams.
TEST_P(GpuMeshes, OrdersOfStreams) {
  check("fn main(x: f32[8@$R, 6], w: f32[6, 6]) {\n"
        "  let y = for i in 0..4 carry (y = x) {\n"
        "    yield clamp(-3.0, y + sum(y, axis=0) - max(y[1:] - y[:-1]) + (x @ w), 3.0);\n"
        "  };\n"
        "  return (y, sum(y), shard(y, P(_, _)));\n"
        "}\n",
        {.areExact = true, .orders = 6});
}

INSTANTIATE_TEST_SUITE_P(Meshes, GpuMeshes,
                         testing::Values(MeshCase{"Two", "a=2", "a", "_"}, MeshCase{"Four", "a=4", "a", "_"},
                                         MeshCase{"ThreeByTwo", "a=3, b=2", "a", "b"},
                                         MeshCase{"BothAxes", "a=2, b=2", "(a, b)", "_"}),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
