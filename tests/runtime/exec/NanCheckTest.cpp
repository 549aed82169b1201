#include "runtime/exec/NanCheck.h"

#include "runtime/support/Float16.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>

using namespace spmd;
using testing::HasSubstr;

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// A plan of launches over buffers in the test's own memory: argument 0 -> arena -> result 0, of one dtype and shape,
/// sharded over `a`.
struct Bench {
  explicit Bench(DType dtype = DType::F32, std::vector<int64_t> shape = {4}, int64_t devices = 1, int64_t device = 0) {
    plan.name = "main";
    plan.mesh.axes = {{"a", devices}};
    Sharding cut;
    cut.dims.resize(shape.size());
    if (!shape.empty())
      cut.dims[0] = {{"a"}};
    ValueInfo value{"x", dtype, shape, cut, localShape(plan.mesh, shape, cut)};
    plan.params = {value};
    value.name = "z";
    plan.results = {value};
    using Space = BufferInfo::Space;
    plan.buffers = {{Space::Argument, 0, 0, dtype, value.localShape},
                    {Space::Arena, 0, 0, dtype, value.localShape},
                    {Space::Result, 0, 0, dtype, value.localShape}};
    plan.steps = {{LaunchStep{0, {0, 1}, 1, 1, 1}, {"t.spmd", 3, 5}},
                  {LaunchStep{0, {1, 2}, 1, 1, 1}, {"t.spmd", 4, 5}}};
    memory.assign(3, std::string(static_cast<size_t>(value.localBytes()), '\0'));
    for (std::string &bytes : memory)
      buffers.push_back(bytes.data());
    check.emplace(plan, device);
    check->begin(7, buffers);
  }

  void put(size_t buffer, int64_t index, double value) {
    DType dtype = plan.params[0].dtype;
    char *at = memory[buffer].data() + index * byteSize(dtype);
    auto copy = [&](auto bits) { std::memcpy(at, &bits, sizeof bits); };
    if (dtype == DType::F64)
      copy(value);
    else if (dtype == DType::F32)
      copy(static_cast<float>(value));
    else // Both begin with the sign and the exponent; a quiet NaN has the first bit of the mantissa set.
      copy(static_cast<uint16_t>(std::isnan(value)   ? (dtype == DType::F16 ? 0x7e00 : 0x7fc0)
                                 : std::isinf(value) ? (dtype == DType::F16 ? 0xfc00 : 0xff80)
                                                     : 0x3c00));
  }
  void step(int32_t number) { check->afterStep(number, plan.steps[static_cast<size_t>(number)], "k", buffers); }
  std::string finding() {
    auto found = check->find(buffers);
    return found ? found->text : "none";
  }

  Plan plan;
  std::vector<std::string> memory;
  std::vector<void *> buffers;
  std::optional<NanCheck> check;
};

TEST(NanCheck, NamesTheStepThatMadeIt) {
  for (DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16}) {
    Bench bench(dtype, {6000});
    bench.put(1, 5123, nan);
    bench.step(0);
    bench.put(2, 5123, nan);
    bench.step(1);
    EXPECT_EQ(bench.finding(), "step 0 (k, t.spmd:3:5) made a NaN in launch 7; result 'z' has it at [5123]")
        << dtypeName(dtype);
  }
  Bench second;
  second.step(0);
  second.put(2, 0, nan);
  second.step(1);
  EXPECT_EQ(second.finding(), "step 1 (k, t.spmd:4:5) made a NaN in launch 7; result 'z' has it at [0]");
  EXPECT_EQ(second.check->find(second.buffers)->location->line, 4);
}

TEST(NanCheck, InfinitiesAndNumbersAreFine) {
  for (DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16}) {
    Bench bench(dtype);
    for (int64_t i = 0; i != 4; ++i) {
      bench.put(1, i, -std::numeric_limits<double>::infinity());
      bench.put(2, i, i % 2 ? 1.0 : std::numeric_limits<double>::infinity());
    }
    bench.step(0);
    bench.step(1);
    EXPECT_EQ(bench.finding(), "none") << dtypeName(dtype);
  }
}

TEST(NanCheck, WhatDoesNotReachAResultIsFine) {
  Bench bench;
  bench.put(1, 2, nan);
  bench.step(0);
  bench.step(1);
  EXPECT_EQ(bench.finding(), "none");
}

TEST(NanCheck, WhatIsPrintedIsSeenByTheUser) {
  Bench bench;
  bench.plan.steps.push_back({PrintStep{{"y", ""}, {1}, {bench.plan.results[0]}}, {"t.spmd", 5, 3}});
  bench.put(1, 2, nan);
  bench.step(0);
  bench.step(2);
  bench.put(1, 2, 0);
  bench.step(0); // The memory is overwritten.
  bench.step(1);
  EXPECT_EQ(bench.finding(),
            "step 0 (k, t.spmd:3:5) made a NaN in launch 7; the value printed at t.spmd:5:3 has it at [2]");
  bench.put(2, 3, nan); // A result has precedence over a printed value.
  bench.step(1);
  EXPECT_THAT(bench.finding(), HasSubstr("result 'z' has it at [3]"));
  bench.put(2, 3, 0);
  bench.check->begin(8, bench.buffers);
  bench.step(0);
  bench.step(2);
  bench.step(1);
  EXPECT_EQ(bench.finding(), "none");
}

TEST(NanCheck, WhatIsOverwrittenIsForgotten) {
  Bench bench;
  bench.put(1, 2, nan);
  bench.step(0);
  bench.put(1, 2, 0);
  bench.step(0); // The next iteration of a loop.
  bench.put(2, 1, nan);
  bench.step(1);
  EXPECT_THAT(bench.finding(), HasSubstr("step 1 (k, t.spmd:4:5) made a NaN"));
}

TEST(NanCheck, ArgumentsAreNamed) {
  Bench bench(DType::F32, {2, 3});
  bench.put(0, 4, nan);
  bench.check->begin(1, bench.buffers);
  for (size_t buffer : {1, 2})
    bench.put(buffer, 4, nan);
  bench.step(0);
  bench.step(1);
  EXPECT_EQ(bench.finding(), "argument 'x' holds a NaN at [1, 1]; result 'z' has it at [1, 1]");
}

// Ten rows on four devices: the last has one row and two of padding.
TEST(NanCheck, PaddingIsNotLookedAt) {
  Bench bench(DType::F32, {10, 2}, 4, 3);
  for (size_t buffer : {1, 2})
    for (int64_t i = 2; i != 6; ++i)
      bench.put(buffer, i, nan);
  bench.step(0);
  bench.step(1);
  EXPECT_EQ(bench.finding(), "none");
  bench.put(2, 1, nan);
  EXPECT_THAT(bench.finding(), HasSubstr("result 'z' has it at [9, 1]"));
  Bench empty(DType::F32, {5}, 4, 3); // Two, two, one and no elements.
  empty.put(2, 0, nan);
  empty.step(1);
  EXPECT_EQ(empty.finding(), "none");
}

TEST(NanCheck, ScalarsHaveNoIndex) {
  Bench bench(DType::F32, {});
  bench.put(2, 0, nan);
  bench.step(1);
  EXPECT_EQ(bench.finding(), "step 1 (k, t.spmd:4:5) made a NaN in launch 7; result 'z' has it");
}

// In place: the input that a step overwrites had the NaN before.
TEST(NanCheck, AnOutputThatIsAnInputInheritsIt) {
  Bench bench;
  bench.plan.steps[1].op = LaunchStep{0, {1, 1}, 1, 1, 1};
  bench.plan.steps.push_back({CopyStep{1, 2}, {"t.spmd", 5, 5}});
  bench.put(1, 3, nan);
  bench.step(0);
  bench.step(1);
  bench.put(2, 3, nan);
  bench.step(2);
  EXPECT_THAT(bench.finding(), HasSubstr("step 0 (k, t.spmd:3:5) made a NaN"));
}

TEST(NanCheck, ACollectiveBringsWhatItsOperandDidNotHave) {
  Bench bench;
  CollectiveDesc desc;
  bench.plan.steps = {{CollectiveStartStep{0, desc, 1, 2}, {"t.spmd", 3, 5}},
                      {CollectiveDoneStep{0}, {"t.spmd", 3, 5}}};
  NanCheck check(bench.plan, 0);
  check.begin(1, bench.buffers);
  bench.put(2, 0, nan);
  check.afterStep(1, bench.plan.steps[1], "all_reduce done", bench.buffers);
  auto found = check.find(bench.buffers);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->isForeign);
  EXPECT_EQ(found->text,
            "step 1 (all_reduce done, t.spmd:3:5) brought a NaN from another device in launch 1; result 'z' "
            "has it at [0]");
}

} // namespace
