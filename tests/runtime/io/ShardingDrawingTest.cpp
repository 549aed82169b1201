#include "runtime/io/ShardingDrawing.h"

#include "runtime/support/Error.h"

#include <gtest/gtest.h>

using namespace spmd;

namespace {

const std::vector<int64_t> kTorus = {0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15};

// The first figure of JAX's multi-process tutorial: 16 devices in a torus's order, rows over all of them.
TEST(ShardingDrawing, rows_over_sixteen_devices_as_in_the_tutorial) {
  MeshShape mesh{{{"a", 16}}};
  EXPECT_EQ(drawSharding(mesh, kTorus, {32, 32}, {{{{"a"}}, {}}, {}}, "TPU"), R"(┌───────────────────────┐
│         TPU 0         │
├───────────────────────┤
│         TPU 1         │
├───────────────────────┤
│         TPU 4         │
├───────────────────────┤
│         TPU 5         │
├───────────────────────┤
│         TPU 2         │
├───────────────────────┤
│         TPU 3         │
├───────────────────────┤
│         TPU 6         │
├───────────────────────┤
│         TPU 7         │
├───────────────────────┤
│         TPU 8         │
├───────────────────────┤
│         TPU 9         │
├───────────────────────┤
│        TPU 12         │
├───────────────────────┤
│        TPU 13         │
├───────────────────────┤
│        TPU 10         │
├───────────────────────┤
│        TPU 11         │
├───────────────────────┤
│        TPU 14         │
├───────────────────────┤
│        TPU 15         │
└───────────────────────┘
)");
}

// Its second figure: the result of relu(x @ y), rows over `a`, replicated over `b`.
TEST(ShardingDrawing, replicas_share_a_box_as_in_the_tutorial) {
  MeshShape mesh{{{"a", 8}, {"b", 2}}};
  std::vector<int64_t> devices = {0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15};
  EXPECT_EQ(drawSharding(mesh, devices, {4096, 4096}, {{{{"a"}}, {}}, {}}, "TPU"), R"(┌───────────────────────┐
│        TPU 0,1        │
├───────────────────────┤
│        TPU 4,5        │
├───────────────────────┤
│        TPU 8,9        │
├───────────────────────┤
│       TPU 12,13       │
├───────────────────────┤
│        TPU 2,3        │
├───────────────────────┤
│        TPU 6,7        │
├───────────────────────┤
│       TPU 10,11       │
├───────────────────────┤
│       TPU 14,15       │
└───────────────────────┘
)");
}

// Four blocks, high enough that JAX puts empty lines around the text.
TEST(ShardingDrawing, blocks_over_two_axes) {
  MeshShape mesh{{{"i", 2}, {"j", 2}}};
  EXPECT_EQ(drawSharding(mesh, {0, 1, 2, 3}, {4, 4}, {{{{"i"}}, {{"j"}}}, {}}, "CPU"), R"(┌──────────┬──────────┐
│          │          │
│  CPU 0   │  CPU 1   │
│          │          │
│          │          │
├──────────┼──────────┤
│          │          │
│  CPU 2   │  CPU 3   │
│          │          │
│          │          │
└──────────┴──────────┘
)");
}

TEST(ShardingDrawing, vectors_are_one_row) {
  MeshShape mesh{{{"i", 2}, {"j", 2}}};
  EXPECT_EQ(drawSharding(mesh, {0, 1, 2, 3}, {8}, {{{{"i"}}}, {}}, "CPU"), R"(┌───────┬───────┐
│CPU 0,1│CPU 2,3│
└───────┴───────┘
)");
}

// 5 rows over 4 devices are 2, 2, 1 and none.
TEST(ShardingDrawing, empty_blocks_are_named_below) {
  MeshShape mesh{{{"a", 4}}};
  std::string text = drawSharding(mesh, {0, 1, 2, 3}, {5, 5}, {{{{"a"}}, {}}, {}}, "CPU");
  EXPECT_NE(text.find("CPU 2 "), std::string::npos);
  EXPECT_TRUE(text.ends_with("┘\nempty: CPU 3\n")) << text;
}

TEST(ShardingDrawing, other_ranks_are_refused) {
  EXPECT_THROW(drawSharding({}, {0}, {}, {}, "CPU"), Error);
  EXPECT_THROW(drawSharding({}, {0}, {1, 2, 3}, {}, "CPU"), Error);
}

} // namespace
