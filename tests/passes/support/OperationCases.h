//===- OperationCases.h - every operation, by element type ------*- C++ -*-===//
//
// The operations that an element type has, as text, with the allowed distance from the reference; the tests of every
// backend use them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "tests/passes/support/ReferenceCheck.h"
#include "tests/support/ElementTypes.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace spmdc {

struct OperationResult {
  std::string text; ///< The operation, with %x, %y, %z of the element type.
  std::string type; ///< Of the result.
  double tolerance = 0;
};

struct OperationCase {
  std::string dtype; ///< MLIR's name.
  std::string language;
  std::vector<int64_t> shape;
};

inline std::string typeText(const std::string &dtype, const std::vector<int64_t> &shape) {
  std::string text = "<" + dtype + "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]>";
}

inline bool isFloatName(const std::string &dtype) {
  return dtype == "f64" || dtype == "f32" || dtype == "bf16" || dtype == "f16";
}

inline std::vector<OperationResult> elementwise(const std::string &dtype, const std::vector<int64_t> &shape) {
  std::string t = typeText(dtype, shape), flag = typeText("bool", shape);
  std::vector<OperationResult> results;
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
  for (spmd::DType toType : spmd::test::elementTypes()) {
    std::string to(spmd::dtypeName(toType));
    std::string target = typeText(to, shape);
    // f64 goes to half precision through f32, as in XLA.
    bool roundsTwice = dtype == "f64" && (to == "bf16" || to == "f16");
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

inline std::vector<OperationResult> structural(const std::string &dtype, const std::vector<int64_t> &shape) {
  // On [a, b]: everything that moves data, and reductions.
  std::string t = typeText(dtype, shape);
  int64_t a = shape[0], b = shape[1];
  auto n = [](int64_t value) { return std::to_string(value); };
  std::vector<OperationResult> results;
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
  double sums = 0; // on powers of two every order gives the same result
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

/// Operations with positions of type i64, as along a dimension of more than 2^30 elements (ir/array/Positions.h). They
/// are a separate program: together with all others, their wider registers would spill.
inline std::vector<OperationResult> widePositions(const std::string &dtype, int64_t a, int64_t b) {
  std::vector<OperationResult> results;
  std::string t = typeText(dtype, {a, b});
  for (std::string isMax : {"true", "false"})
    for (int64_t dim : {0, 1}) {
      std::string type = typeText("i64", {dim == 0 ? b : a});
      results.push_back(
          {"array.arg_reduce %x max = " + isMax + " dim " + std::to_string(dim) + " : " + t + " -> " + type, type});
    }
  return results;
}

/// All element types, by the name that programs give them.
inline auto everyDType() {
  std::vector<std::string> names;
  for (spmd::DType dtype : spmd::test::elementTypes())
    names.emplace_back(spmd::dtypeName(dtype));
  return testing::ValuesIn(names);
}

/// A program of all results. Its parameters: x, y, z of the type, p of bools, s a scalar.
inline std::string programOf(const OperationCase &test, const std::vector<OperationResult> &results) {
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
  return header + types + ") {\n" + body + "  return " + values + " : " + types + "\n}\n";
}

/// Compiles one program of all results and compares each.
inline void checkOperations(const OperationCase &test, const std::vector<OperationResult> &results, InputKind inputs,
                            const MakeProgram &make) {
  SCOPED_TRACE(test.language + " " + typeText(test.dtype, test.shape));
  ProgramCheck options{.inputs = inputs, .seed = 5, .tolerances = {}};
  for (const OperationResult &result : results) {
    options.tolerances.push_back({.ulps = result.tolerance});
    options.names.push_back(result.text);
  }
  checkProgram(programOf(test, results), options, make);
}

} // namespace spmdc
