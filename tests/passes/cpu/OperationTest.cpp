//===- OperationTest.cpp - every operation and element type, compiled -----===//
//
// All operations that an element type has go into one program, one result each, on shapes of odd sizes, size 1 and 0,
// with inputs full of NaN, infinities, signed zeros, subnormal numbers and extreme integers. The reference evaluator
// computes in double precision: exact operations must agree in every bit, functions within the given units of the last
// place.
//
//===----------------------------------------------------------------------===//

#include "tests/passes/cpu/CompiledProgramHelper.h"

#include "ir/evaluate/GlobalEvaluator.h"
#include "ir/spmd/SpmdTypes.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace spmdc;

namespace {

struct Result {
  std::string text; ///< The operation, with %x, %y, %z of the element type.
  std::string type; ///< Of the result.
  double tolerance = 0;
};

struct Case {
  std::string dtype; ///< MLIR's name.
  std::string language;
  std::vector<int64_t> shape;
};

std::string typeText(const std::string &dtype, const std::vector<int64_t> &shape) {
  std::string text = "<" + dtype + "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]>";
}

bool isFloatName(const std::string &dtype) {
  return dtype == "f64" || dtype == "f32" || dtype == "bf16" || dtype == "f16";
}

std::vector<Result> elementwise(const std::string &dtype, const std::vector<int64_t> &shape) {
  std::string t = typeText(dtype, shape), flag = typeText("bool", shape);
  std::vector<Result> results;
  auto unary = [&](const std::string &name, double tolerance = 0) {
    results.push_back({"array." + name + " %x : " + t, t, tolerance});
  };
  auto binary = [&](const std::string &name, double tolerance = 0) {
    results.push_back({"array." + name + " %x, %y : " + t, t, tolerance});
  };
  for (std::string direction : {"eq", "ne", "lt", "le", "gt", "ge"})
    results.push_back({"array.compare " + direction + " %x, %y : " + t + ", " + t + " -> " + flag, flag});
  for (std::string name : {"maximum", "minimum"})
    binary(name);
  results.push_back({"array.clamp %x, %y, %z : " + t, t});
  results.push_back({"array.select %p, %x, %y : " + flag + ", " + t + ", " + t + " -> " + t, t});
  for (std::string to : {"f64", "f32", "bf16", "f16", "i64", "i32", "i8", "u32", "u8", "bool"}) {
    std::string target = typeText(to, shape);
    // f64 goes to half precision through f32, as XLA does it.
    bool roundsTwice =
        (dtype == "f64" || dtype == "i64" || dtype == "i32" || dtype == "u32") && (to == "bf16" || to == "f16");
    if (to != dtype)
      results.push_back({"array.convert %x : " + t + " -> " + target, target, roundsTwice ? 1.0 : 0.0});
  }
  if (dtype == "bool") {
    for (std::string name : {"and", "or", "xor", "add", "multiply"})
      binary(name);
    unary("not");
    return results;
  }
  for (std::string name : {"add", "subtract", "multiply"})
    binary(name);
  for (std::string name : {"abs", "negate", "sign"})
    unary(name);
  if (!isFloatName(dtype)) {
    for (std::string name : {"divide", "remainder", "and", "or", "xor", "shift_left", "shift_right_arithmetic",
                             "shift_right_logical", "power"})
      binary(name);
    unary("not");
    unary("popcnt");
    return results;
  }
  // Half precision rounds what f32 computes: within one unit.
  double narrow = dtype == "bf16" || dtype == "f16" ? 1 : 0;
  auto within = [&](double ulps) { return narrow ? 1.0 : ulps; };
  binary("divide");
  binary("remainder");
  for (std::string name : {"floor", "ceil", "round_nearest_even", "sqrt"})
    unary(name);
  for (std::string name : {"exp", "exp2", "expm1", "log", "log1p", "log2", "cbrt", "sin", "cos", "tan", "tanh", "sinh",
                           "cosh", "asin", "acos", "atan", "erf", "logistic", "rsqrt"})
    unary(name, within(4));
  binary("atan2", within(4));
  binary("power", within(4));
  results.push_back({"array.is_finite %x : " + t + " -> " + flag, flag});
  return results;
}

std::vector<Result> structural(const std::string &dtype, const std::vector<int64_t> &shape) {
  // On [a, b]: everything that moves data, and reductions.
  std::string t = typeText(dtype, shape);
  int64_t a = shape[0], b = shape[1];
  auto n = [](int64_t value) { return std::to_string(value); };
  std::vector<Result> results;
  auto add = [&](const std::string &text, const std::vector<int64_t> &resultShape, double tolerance = 0,
                 const std::string &resultType = "") {
    std::string type = typeText(resultType.empty() ? dtype : resultType, resultShape);
    results.push_back({text + " : " + t + " -> " + type, type, tolerance});
  };
  add("array.reshape %x", {a * b});
  add("array.reshape %x", {b, a});
  add("array.transpose %x perm [1, 0]", {b, a});
  add("array.broadcast_in_dim %x dims [0, 2]", {a, 3, b});
  add("array.broadcast_in_dim %x dims [1, 2]", {2, a, b});
  add("array.reverse %x dims [0]", {a, b});
  add("array.reverse %x dims [0, 1]", {a, b});
  add("array.slice %x [0, " + n(b / 3) + "] to [" + n(a) + ", " + n(b) + "] step [2, 3]",
      {(a + 1) / 2, (b - b / 3 + 2) / 3});
  auto scalar = typeText(dtype, {});
  for (std::string padding : {"low [1, 2] high [0, 3] interior [0, 0]", "low [0, 1] high [2, 0] interior [1, 2]",
                              "low [0, -1] high [0, 0] interior [0, 0]"}) {
    std::vector<int64_t> padded = padding[5] == '1'   ? std::vector<int64_t>{a + 1, b + 5}
                                  : padding[8] == '1' ? std::vector<int64_t>{2 + a + std::max<int64_t>(a - 1, 0),
                                                                             1 + b + 2 * std::max<int64_t>(b - 1, 0)}
                                                      : std::vector<int64_t>{a, std::max<int64_t>(b - 1, 0)};
    if (b == 0 && padding[8] == '-')
      continue;
    std::string type = typeText(dtype, padded);
    results.push_back({"array.pad %x with %s " + padding + " : " + t + ", " + scalar + " -> " + type, type});
  }
  std::string joined = typeText(dtype, {3 * a, b}), wide = typeText(dtype, {a, 2 * b});
  std::string full = "!spmd.array" + t; // variadic operands print their whole type
  results.push_back(
      {"array.concatenate %x, %y, %z dim 0 : " + full + ", " + full + ", " + full + " -> " + joined, joined});
  results.push_back({"array.concatenate %x, %y dim 1 : " + full + ", " + full + " -> " + wide, wide});
  if (dtype != "bool") {
    results.push_back({"array.iota dim 0 : " + t, t});
    results.push_back({"array.iota dim 1 : " + t, t});
  }
  double sums = 0; // on powers of two every order gives the same
  std::vector<std::string> kinds = {"max", "min"};
  if (dtype == "bool")
    kinds = {"max", "min", "and", "or"};
  else if (isFloatName(dtype))
    kinds = {"max", "min", "sum", "prod"};
  else
    kinds = {"max", "min", "sum", "prod", "and", "or"};
  for (const std::string &kind : kinds) {
    double tolerance = kind == "sum" || kind == "prod" ? sums : 0;
    add("array.reduce " + kind + " %x dims [1]", {a}, tolerance);
    add("array.reduce " + kind + " %x dims [0]", {b}, tolerance);
    add("array.reduce " + kind + " %x dims [0, 1]", {}, tolerance);
    add("array.reduce " + kind + " %x dims []", {a, b}, tolerance);
    add("array.cumulative " + kind + " %x dim 0", {a, b}, tolerance);
    add("array.cumulative " + kind + " %x dim 1", {a, b}, tolerance);
  }
  if (a && b && dtype != "bool")
    for (std::string isMax : {"true", "false"}) {
      add("array.arg_reduce %x max = " + isMax + " dim 0", {b}, 0, "i32");
      add("array.arg_reduce %x max = " + isMax + " dim 1", {a}, 0, "i32");
    }
  return results;
}

/// Compiles one program of all results and compares each.
void check(const Case &test, const std::vector<Result> &results, InputKind kind) {
  SCOPED_TRACE(test.language + " " + typeText(test.dtype, test.shape));
  std::string t = typeText(test.language, test.shape);
  std::string header = "func.func @main(%x: !spmd.array" + t + ", %y: !spmd.array" + t + ", %z: !spmd.array" + t +
                       ", %p: !spmd.array" + typeText("bool", test.shape) + ", %s: !spmd.array" +
                       typeText(test.language, {}) + ") -> (",
              body, values, types;
  for (size_t i = 0; i < results.size(); ++i) {
    std::string name = "%r" + std::to_string(i);
    body += "  " + name + " = " + results[i].text + "\n";
    values += (i ? ", " : "") + name;
    types += (i ? ", " : "") + ("!spmd.array" + results[i].type);
  }
  std::string text = header + types + ") {\n" + body + "  return " + values + " : " + types + "\n}\n";
  std::unique_ptr<MLIRContext> context = makeTestContext();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context.get());
  ASSERT_TRUE(module) << text;
  auto function = *module->getOps<func::FuncOp>().begin();
  std::vector<Tensor> arguments;
  for (auto [number, argument] : llvm::enumerate(function.getArguments())) {
    auto type = cast<ArrayType>(argument.getType());
    arguments.push_back(makeInput(type.getShape(), type.getElementType(), 5 + number, kind));
  }
  auto expected = evaluateGlobal(function, arguments);
  ASSERT_TRUE(succeeded(expected));
  CompiledProgram program(*module);
  ASSERT_TRUE(program.isGood());
  std::vector<Tensor> actual = program.run(arguments);
  ASSERT_EQ(actual.size(), results.size());
  auto show = [](const Scalar &value) { return std::to_string(value.f) + " / " + std::to_string(value.i); };
  for (size_t r = 0; r < results.size(); ++r) {
    const Tensor &wanted = (*expected)[r];
    ASSERT_EQ(actual[r].size(), wanted.size());
    int wrong = 0;
    for (int64_t i = 0; i < wanted.size() && wrong < 3; ++i)
      if (!(ulpDistance(wanted.elementType, actual[r].elements[i], wanted.elements[i]) <= results[r].tolerance)) {
        ++wrong;
        ADD_FAILURE() << results[r].text << ", element " << i << ": " << show(actual[r].elements[i]) << ", expected "
                      << show(wanted.elements[i])
                      << (wanted.size() == arguments[0].size()
                              ? ", of x " + show(arguments[0].elements[i]) + ", y " + show(arguments[1].elements[i])
                              : "");
      }
  }
  std::vector<Tensor> again = program.run(arguments, RangeSplit::Thirds);
  for (size_t r = 0; r < results.size(); ++r)
    EXPECT_EQ(toBytes(again[r]), toBytes(actual[r])) << results[r].text << " depends on how its range is cut";
}

class EveryType : public testing::TestWithParam<std::string> {};

} // namespace

TEST_P(EveryType, Elementwise) {
  std::string dtype = GetParam();
  for (std::vector<int64_t> shape : {std::vector<int64_t>{1003}, {1}, {}, {0, 4}, {3, 5, 7}})
    check({dtype, dtype, shape}, elementwise(dtype, shape), InputKind::Wild);
}

TEST_P(EveryType, Structural) {
  std::string dtype = GetParam();
  for (std::vector<int64_t> shape : {std::vector<int64_t>{13, 37}, {1, 1}, {70, 3}})
    check({dtype, dtype, shape}, structural(dtype, shape), InputKind::Exact);
}

TEST_P(EveryType, StructuralEmpty) {
  std::string dtype = GetParam();
  for (std::vector<int64_t> shape : {std::vector<int64_t>{0, 5}, {4, 0}})
    check({dtype, dtype, shape}, structural(dtype, shape), InputKind::Exact);
}

INSTANTIATE_TEST_SUITE_P(Operation, EveryType,
                         testing::Values("f64", "f32", "bf16", "f16", "i64", "i32", "i8", "u32", "u8", "bool"),
                         [](const auto &info) { return info.param; });
