// Callables that jit traces.
#include "runtime/api/include/spmd/spmd.h"
#include "tests/runtime/api/ApiTestSupport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

using namespace spmd;
using namespace spmd::testing_api;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// A line of this file, as messages name it.
std::string lineText(int line) { return "TraceTest.cpp:" + std::to_string(line) + ":"; }

class Trace : public MeshTest {
protected:
  Trace() : MeshTest({4, 2}, {"a", "b"}) {}
};

// The tutorial's toy, written in C++.
TEST_F(Trace, a_callable_is_a_program_over_the_arguments_mesh) {
  auto total = jit([](Array x) { return sum(sin(x)); });
  EXPECT_NEAR(total(counted({4, 8}, P("a", "b"))).item<float>(), -0.12398731f, 2e-6);
}

// A trace is a program in the language, with the C++ place of each line.
TEST_F(Trace, the_program_can_be_read) {
  std::string line = lineText(__LINE__ + 1);
  auto layer = jit([](Array x, Array y) { return relu(matmul(x, y)) * 0.5; });
  Lowered lowered = layer.lower(counted({8, 4}, P("a", "b")), counted({4, 3}, P("b")));
  std::string source = lowered.as_text("source");
  EXPECT_THAT(source, AllOf(HasSubstr("mesh m(a=4, b=2)"), HasSubstr("fn main(x0: f32[8@a, 4@b], x1: f32[4@b, 3@_]) {"),
                            HasSubstr("  let v1: f32[8, 3] = x0 @ x1;  // "), HasSubstr(line),
                            HasSubstr("  let v2: f32[8, 3] = relu(v1);"), HasSubstr("  let v3: f32[8, 3] = v2 * 0.5;"),
                            HasSubstr("  return v3;")));
  EXPECT_THAT(lowered.as_text("ast"), HasSubstr("let v1: f32[8, 3] = (@ x0 x1)"));
  EXPECT_THAT(lowered.as_text("plan"), AllOf(HasSubstr("all_reduce sum over (b)"), HasSubstr(line)));
  EXPECT_EQ(lowered.cost_analysis().collectives(), 1);
}

TEST_F(Trace, what_is_lowered_can_be_compiled_and_called) {
  Array x = counted({4}, P("a")), outside = counted({4}, P());
  Function compiled = jit([&](Array x) { return x + outside; }).lower(x).compile();
  EXPECT_EQ(compiled.parameters().size(), 1u);
  EXPECT_EQ(compiled.parameters()[0].sharding, NamedSharding(mesh, P("a")));
  EXPECT_THAT(compiled(x)[0].to_host<float>(), ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(messageOf([&] { compiled(with_sharding_constraint(x, P())); }), HasSubstr("pass device_put(array, "));
}

// As in JAX: the callable runs when types or shardings are new.
TEST_F(Trace, the_second_call_does_not_trace) {
  int traced = 0;
  auto twice = jit([&](Array x) {
    ++traced;
    return x + x;
  });
  Array x = counted({8}, P("a"));
  EXPECT_THAT(twice(x).to_host<float>(), ElementsAre(0, 2, 4, 6, 8, 10, 12, 14));
  twice(twice(x));
  EXPECT_EQ(traced, 1);
  twice(counted({8}, P("b")));
  twice(counted({9}, P("a")));
  twice(astype(x, DType::I32));
  EXPECT_EQ(traced, 4);
  EXPECT_EQ(twice.cache_size(), 4u);
}

TEST_F(Trace, sizes_that_do_not_divide_scalars_and_nothing_at_all) {
  auto f = jit([](Array x) { return x * 2 - 1; });
  EXPECT_THAT(f(counted({5}, P("a"))).to_host<float>(), ElementsAre(-1, 1, 3, 5, 7));
  EXPECT_THAT(f(counted({1}, P("a"))).to_host<float>(), ElementsAre(-1));
  EXPECT_THAT(f(counted({0}, P("a"))).to_host<float>(), ElementsAre());
  EXPECT_EQ(f(counted({}, P())).item<float>(), -1);
  EXPECT_THAT(jit([] { return arange(3) + 1; })().to_host<int32_t>(), ElementsAre(1, 2, 3));
  EXPECT_THAT(jit([] { return ones({6}); }, {.mesh = mesh})().to_host<float>(), Each(1.0f));
}

// Results: an unchanged argument, the same value twice, and a captured value.
TEST_F(Trace, what_is_returned_may_be_anything_that_is_there) {
  Array outside = counted({8}, P("b"));
  auto f = jit([&](Array x) { return std::tuple(x, x + outside, outside, x); });
  auto [first, shifted, captured, last] = f(counted({8}, P("a")));
  EXPECT_THAT(first.to_host<float>(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(shifted.to_host<float>(), ElementsAre(0, 2, 4, 6, 8, 10, 12, 14));
  EXPECT_EQ(captured.to_host<float>(), first.to_host<float>());
  EXPECT_EQ(last.to_host<float>(), first.to_host<float>());
}

TEST_F(Trace, a_jitted_callable_inside_of_another_is_a_part_of_it) {
  auto inner = jit([](Array x) { return x * x; });
  auto outer = jit([&](Array x) { return inner(x) + inner(x + 1); });
  EXPECT_THAT(outer(counted({3}, P())).to_host<float>(), ElementsAre(1, 5, 13));
  EXPECT_EQ(inner.cache_size(), 0u);
}

// Its trace would not end.
TEST_F(Trace, a_callable_that_calls_itself_is_an_error) {
  std::function<Array(Array)> again;
  auto f = jit([&](Array x) { return again(x); });
  again = [&](Array x) { return f(x) + 1; };
  std::string message = messageOf([&] { f(counted({3}, P())); });
  EXPECT_THAT(message, HasSubstr("TraceTest.cpp:"));
  EXPECT_THAT(message, HasSubstr("it seems to call itself"));
  // One that ends does not.
  int depth = 0;
  again = [&](Array x) { return ++depth < 50 ? f(x) + 1 : x; };
  EXPECT_EQ(f(counted({3}, P())).to_host<float>()[0], 49);
}

TEST_F(Trace, a_constraint_says_how_a_result_lies) {
  auto f = jit([](Array x) { return with_sharding_constraint(x + 1, P("b", axes("a"))); });
  EXPECT_EQ(f(counted({4, 8}, P("a"))).sharding(), NamedSharding(mesh, P("b", "a")));
}

TEST_F(Trace, the_type_of_a_traced_value_is_known) {
  jit([](Array x) {
    Array y = matmul(x, transpose(x));
    EXPECT_TRUE(y.is_traced());
    EXPECT_EQ(y.shape(), (Shape{4, 4}));
    EXPECT_EQ(y.ndim(), 2);
    EXPECT_EQ(astype(y, DType::BF16).dtype(), DType::BF16);
    EXPECT_EQ((astype(y, DType::BF16) * 0.5).dtype(), DType::BF16);
    EXPECT_EQ(argmax(y, 0).dtype(), DType::I32);
    EXPECT_EQ(y.str(), "Traced<f32[4, 4]>");
    return y;
  })(counted({4, 2}, P("a")));
}

//===-- Misuse ------------------------------------------------------------===//

// The compiler's message, at the line of the call.
TEST_F(Trace, wrong_shapes_are_errors_of_their_line) {
  std::string line = lineText(__LINE__ + 1);
  auto f = jit([](Array x, Array y) { return matmul(x, y); });
  EXPECT_THAT(messageOf([&] { f(counted({8, 4}, P()), counted({3, 2}, P())); }),
              AllOf(HasSubstr(line), HasSubstr("error: "), HasSubstr("f32[8, 4]"),
                    HasSubstr("in x0 @ x1 (x0: f32[8, 4], x1: f32[3, 2])")));
  EXPECT_EQ(f.cache_size(), 0u);
  EXPECT_THAT(messageOf([&] { jit([](Array x) { return call("sofmax", {x}); })(counted({4}, P())); }),
              HasSubstr("unknown function 'sofmax'; did you mean 'softmax'?"));
}

TEST_F(Trace, a_value_is_not_there_while_tracing) {
  Array x = counted({8}, P("a"));
  auto fetch = jit([](Array x) { return x * sum(x).item<float>(); });
  EXPECT_THAT(messageOf([&] { fetch(x); }),
              AllOf(HasSubstr("'v1', f32[] made at "), HasSubstr("has no value yet: the function that is traced"),
                    HasSubstr("use where()")));
  EXPECT_THAT(messageOf([&] { jit([&](Array y) { return device_put(y, NamedSharding(mesh, P("b"))); })(x); }),
              HasSubstr("has no value yet"));
  EXPECT_THAT(messageOf([&] { jit([&](Array y) { return y.sharding(), y; })(x); }), HasSubstr("has no value yet"));
}

TEST_F(Trace, a_traced_value_does_not_leave_its_function) {
  Array x = counted({8}, P("a")), kept;
  jit([&](Array y) { return kept = y * 2; })(x);
  for (auto use : {std::function([&] { kept + 1; }), std::function([&] { kept.to_host<float>(); }),
                   std::function([&] { jit([&](Array y) { return y + kept; })(x); })})
    EXPECT_THAT(messageOf(use),
                AllOf(HasSubstr("'v1', f32[8] made at "), HasSubstr("is used outside of the function")));
  EXPECT_EQ(kept.shape(), (Shape{8}));
}

TEST_F(Trace, arrays_of_several_meshes_do_not_meet) {
  Mesh other = make_mesh({8}, {"c"});
  Array y = device_put(view(counting(8)), NamedSharding(other, P("c")));
  auto f = jit([](Array x, Array y) { return x + y; });
  EXPECT_THAT(
      messageOf([&] { f(counted({8}, P("a")), y); }),
      AllOf(HasSubstr("the arrays are on several meshes: f32[8] @ P(a) on Mesh('a': 4, 'b': 2) and f32[8] @ P(c) "
                      "on Mesh('c': 8)"),
            HasSubstr("pass device_put")));
  EXPECT_THAT(messageOf([&] { jit([](Array x) { return x; }, {.mesh = mesh})(y); }),
              HasSubstr("is on Mesh('c': 8), and the function is for Mesh('a': 4, 'b': 2); pass device_put(array, "));
  EXPECT_THAT(messageOf([&] { jit([&](Array x) { return x + y; })(counted({8}, P("a"))); }),
              HasSubstr("f32[8] @ P(c) is on Mesh('c': 8), and the program that uses it"));
  // A replicated array is on every mesh of its devices.
  Array whole = device_put(view(counting(8)), NamedSharding(other, P()));
  EXPECT_THAT(f(counted({8}, P("a")), whole).to_host<float>(), ElementsAre(0, 2, 4, 6, 8, 10, 12, 14));
}

TEST_F(Trace, an_array_without_a_value_is_no_argument) {
  auto f = jit([](Array x) { return x; });
  EXPECT_THAT(messageOf([&] { f(Array()); }), HasSubstr("an Array without a value is used"));
  EXPECT_THAT(messageOf([&] { grad([](Array x) { return sum(x); })(Array()); }),
              HasSubstr("an Array without a value is used"));
}

// A trace that fails leaves no state behind.
TEST_F(Trace, an_exception_of_the_callable_ends_the_trace) {
  auto f = jit([](Array x) -> Array { throw std::runtime_error("mine"); });
  EXPECT_THROW(f(counted({8}, P("a"))), std::runtime_error);
  EXPECT_FALSE((counted({8}, P("a")) + 1).is_traced());
  auto looks = jit([](Array x) { return jit([] { return arange(3); }).lower(), x + 1; });
  EXPECT_EQ(looks(counted({1}, P())).item<float>(), 1);
}

TEST_F(Trace, options_of_a_source_are_none_of_a_callable) {
  EXPECT_THAT(messageOf([] { jit([](Array x) { return x; }, {.function = "f"}); }),
              HasSubstr("jit of a callable has no `function`"));
}

// Errors of a run name the line in C++ as well.
TEST(TraceChecks, a_nan_is_reported_at_the_line_that_made_it) {
  initialize({.num_processes = 1, .devices_per_process = 8});
  Mesh mesh = make_mesh({8}, {"i"});
  std::vector<float> values = {0, 1, 4, 9, 16, -1, 36, 49};
  Array x = device_put(view(values), NamedSharding(mesh, P("i")));
  std::string line = lineText(__LINE__ + 1);
  auto checked = jit([](Array x) { return sqrt(x); }, {.check_nans = true});
  EXPECT_THAT(messageOf([&] { checked(x).to_host<float>(); }),
              AllOf(HasSubstr("cpu:5: step 0 ("), HasSubstr(line), HasSubstr("made a NaN")));
  shutdown();
}

} // namespace
