//===- ProgramCases.cpp - programs for the tests of all backends ----------===//

#include "tests/passes/support/ProgramCases.h"

namespace spmdc {
namespace {

/// The text with `$name` replaced by its value, longer names first.
std::string fill(std::string text, std::vector<std::pair<std::string, std::string>> values) {
  for (const auto &[name, value] : values)
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + value.size()))
      text.replace(at, name.size(), value);
  return text;
}

} // namespace

std::string elementwiseProgram(const std::string &shape) {
  return fill(R"(func.func @main(%x: !spmd.array$t, %y: !spmd.array$t) -> !spmd.array$t {
    %0 = array.multiply %x, %y : $t
    %1 = array.tanh %0 : $t
    %2 = array.add %1, %x : $t
    return %2 : !spmd.array$t
  })",
              {{"$t", "<f32[" + shape + "]>"}});
}

static std::string softmax(const std::string &rows, const std::string &size, const std::string &reduced,
                           const std::string &kept, const std::string &row) {
  return fill(R"(func.func @main(%x: !spmd.array$t) -> !spmd.array$t {
    %m = array.reduce max %x dims [$reduced] : $t -> $row
    %mb = array.broadcast_in_dim %m dims [$kept] : $row -> $t
    %s = array.subtract %x, %mb : $t
    %e = array.exp %s : $t
    %z = array.reduce sum %e dims [$reduced] : $t -> $row
    %zb = array.broadcast_in_dim %z dims [$kept] : $row -> $t
    %p = array.divide %e, %zb : $t
    return %p : !spmd.array$t
  })",
              {{"$t", "<f32[" + rows + ", " + size + "]>"},
               {"$row", "<f32[" + row + "]>"},
               {"$reduced", reduced},
               {"$kept", kept}});
}

std::string softmaxProgram(const std::string &rows, const std::string &size) {
  return softmax(rows, size, "1", "0", rows);
}

std::string softmaxOverFirstProgram(const std::string &rows, const std::string &size) {
  return softmax(rows, size, "0", "1", size);
}

std::string rowsProgram(const std::string &kind, const std::string &type, const std::string &rows, int64_t size) {
  return fill(R"(func.func @main(%x: !spmd.array$t) -> (!spmd.array$row, !spmd.array$row, !spmd.array$less) {
    %0 = array.reduce $kind %x dims [1] : $t -> $row
    %1 = array.reduce max %x dims [1] : $t -> $row
    %2 = array.slice %x [0, 1] to [$rows, $size] step [1, 1] : $t -> $less
    %3 = array.broadcast_in_dim %1 dims [0] : $row -> $less
    %4 = array.add %2, %3 : $less
    return %0, %1, %4 : !spmd.array$row, !spmd.array$row, !spmd.array$less
  })",
              {{"$less", "<" + type + "[$rows, " + std::to_string(size - 1) + "]>"},
               {"$t", "<" + type + "[$rows, $size]>"},
               {"$rows", rows},
               {"$row", "<" + type + "[" + rows + "]>"},
               {"$size", std::to_string(size)},
               {"$kind", kind}});
}

std::string vectorProductProgram(const std::string &type, int64_t batch, int64_t rows, int64_t size) {
  std::string b = std::to_string(batch), r = std::to_string(rows), k = std::to_string(size);
  return fill(R"(func.func @main(%x: !spmd.array$x, %v: !spmd.array$v, %c: !spmd.array$r) -> !spmd.array$r {
    %0 = array.dot_general %x, %v contract [2] x [1] batch [0] x [0] : $x, $v -> $r
    %1 = array.add %0, %c : $r
    return %1 : !spmd.array$r
  })",
              {{"$x", "<" + type + "[" + b + ", " + r + ", " + k + "]>"},
               {"$v", "<" + type + "[" + b + ", " + k + "]>"},
               {"$r", "<" + type + "[" + b + ", " + r + "]>"}});
}

std::string columnsProgram(const std::string &kind, const std::string &type, const std::string &rows,
                           const std::string &columns) {
  return fill(R"(func.func @main(%x: !spmd.array$t) -> (!spmd.array$column, !spmd.array$t) {
    %0 = array.reduce $kind %x dims [0] : $t -> $column
    %1 = array.broadcast_in_dim %0 dims [1] : $column -> $t
    %2 = array.subtract %x, %1 : $t
    return %0, %2 : !spmd.array$column, !spmd.array$t
  })",
              {{"$t", "<" + type + "[" + rows + ", " + columns + "]>"},
               {"$column", "<" + type + "[" + columns + "]>"},
               {"$kind", kind}});
}

std::string laneProductsProgram(const std::string &inner, const std::string &lanes) {
  return fill(
      R"(func.func @main(%x: !spmd.array<f32[5, $k, $n]>, %y: !spmd.array<f32[$k, 40, $n]>) -> !spmd.array<f32[5, 40, $n]> {
    %0 = array.broadcast_in_dim %x dims [0, 1, 3] : <f32[5, $k, $n]> -> <f32[5, $k, 40, $n]>
    %1 = array.broadcast_in_dim %y dims [1, 2, 3] : <f32[$k, 40, $n]> -> <f32[5, $k, 40, $n]>
    %2 = array.multiply %0, %1 : <f32[5, $k, 40, $n]>
    %3 = array.reduce sum %2 dims [1] : <f32[5, $k, 40, $n]> -> <f32[5, 40, $n]>
    return %3 : !spmd.array<f32[5, 40, $n]>
  })",
      {{"$k", inner}, {"$n", lanes}});
}

std::string windowsProgram(const std::string &kind, const std::string &columns, const std::string &channels) {
  return fill(R"(func.func @main(%x: !spmd.array<$e[$r, 2, $c, 3, $n]>) -> (!spmd.array<$e[$r, $c, $n]>,
      !spmd.array<$e[$r, $c, $n]>, !spmd.array<$e[$r, $c, $n]>, !spmd.array<$e[$r, 2, $c, 3, $n]>) {
    %0 = array.reduce max %x dims [1] : <$e[$r, 2, $c, 3, $n]> -> <$e[$r, $c, 3, $n]>
    %1 = array.reduce max %0 dims [2] : <$e[$r, $c, 3, $n]> -> <$e[$r, $c, $n]>
    %2 = array.reduce min %x dims [1, 3] : <$e[$r, 2, $c, 3, $n]> -> <$e[$r, $c, $n]>
    %3 = array.reduce $kind %x dims [1, 3] : <$e[$r, 2, $c, 3, $n]> -> <$e[$r, $c, $n]>
    %4 = array.broadcast_in_dim %1 dims [0, 2, 4] : <$e[$r, $c, $n]> -> <$e[$r, 2, $c, 3, $n]>
    %5 = array.subtract %x, %4 : <$e[$r, 2, $c, 3, $n]>
    return %1, %2, %3, %5 : !spmd.array<$e[$r, $c, $n]>, !spmd.array<$e[$r, $c, $n]>, !spmd.array<$e[$r, $c, $n]>,
      !spmd.array<$e[$r, 2, $c, 3, $n]>
  })",
              {{"$kind", kind}, {"$e", "f32"}, {"$r", "3"}, {"$c", columns}, {"$n", channels}});
}

std::string fullReductionProgram(const std::string &size, const std::string &dims) {
  return fill(R"(func.func @main(%x: !spmd.array$t) -> (!spmd.array<f64[]>, !spmd.array<f64[]>) {
    %s = array.sin %x : $t
    %0 = array.reduce sum %s dims [$dims] : $t -> <f64[]>
    %1 = array.reduce max %x dims [$dims] : $t -> <f64[]>
    return %0, %1 : !spmd.array<f64[]>, !spmd.array<f64[]>
  })",
              {{"$t", "<f64[" + size + "]>"}, {"$dims", dims}});
}

std::string paddedProgram(const std::string &rows, const std::string &size) {
  return fill(
      R"(func.func @main(%x: !spmd.array$t, %edge: !spmd.array<f32[1, $size]>) -> (!spmd.array$t, !spmd.array$t) {
    %three = array.constant dense<3.0> : tensor<f32> -> <f32[]>
    %zero = array.constant dense<0.0> : tensor<f32> -> <f32[]>
    %0 = array.pad %x with %three low [1, -1] high [-1, 1] interior [0, 0] : $t, <f32[]> -> $t
    %1 = array.pad %x with %zero low [-2, 0] high [2, 0] interior [0, 0] : $t, <f32[]> -> $t
    %2 = array.pad %edge with %zero low [0, 0] high [$less, 0] interior [0, 0] : <f32[1, $size]>, <f32[]> -> $t
    %3 = array.reverse %x dims [0, 1] : $t -> $t
    %4 = array.pad %3 with %three low [0, 2] high [0, -2] interior [0, 0] : $t, <f32[]> -> $t
    %5 = array.pad %x with %zero low [0, 1] high [0, -1] interior [0, 0] : $t, <f32[]> -> $t
    %6 = array.reverse %5 dims [1] : $t -> $t
    %7 = array.iota dim 0 : $t
    %8 = array.pad %7 with %three low [1, 1] high [-1, -1] interior [0, 0] : $t, <f32[]> -> $t
    %9 = array.add %0, %1 : $t
    %10 = array.add %9, %2 : $t
    %11 = array.add %10, %4 : $t
    %12 = array.add %11, %6 : $t
    %13 = array.add %12, %8 : $t
    %14 = array.slice %x [0, 0] to [$half, $size] step [1, 1] : $t -> <f32[$half, $size]>
    %15 = array.pad %14 with %three low [1, 0] high [$gaps, 0] interior [1, 0] : <f32[$half, $size]>, <f32[]> -> $t
    %16 = array.multiply %15, %8 : $t
    return %13, %16 : !spmd.array$t, !spmd.array$t
  })",
      {{"$t", "<f32[" + rows + ", " + size + "]>"},
       {"$size", size},
       {"$less", std::to_string(std::stoi(rows) - 1)},
       {"$half", std::to_string(std::stoi(rows) / 2)},
       {"$gaps", std::to_string(std::stoi(rows) - 2 * (std::stoi(rows) / 2))}});
}

std::string joinedProgram(const std::string &rows, const std::string &size) {
  int64_t width = std::stoi(size);
  std::string wide = "<f32[" + rows + ", " + std::to_string(3 * width + 1) + "]>", many, types;
  for (int i = 0; i < 40; ++i) {
    many += (i ? ", %c" : "%c") + std::string(i % 2 ? "" : "p");
    types += (i ? ", " : "") + std::string("!spmd.array<f32[$rows, 1]>");
  }
  return fill(R"(func.func @main(%x: !spmd.array$t, %c: !spmd.array<f32[$rows, 1]>, %e: !spmd.array<f32[1, $size]>)
      -> (!spmd.array$wide, !spmd.array<f32[$rows, 40]>, !spmd.array<f32[$more, $size]>) {
    %three = array.constant dense<3.0> : tensor<f32> -> <f32[]>
    %0 = array.pad %x with %three low [1, -1] high [-1, 1] interior [0, 0] : $t, <f32[]> -> $t
    %1 = array.concatenate %x, %c dim 1 : !spmd.array$t, !spmd.array<f32[$rows, 1]> -> <f32[$rows, $next]>
    %2 = array.exp %1 : <f32[$rows, $next]>
    %3 = array.pad %x with %three low [-1, 1] high [1, -1] interior [0, 0] : $t, <f32[]> -> $t
    %4 = array.concatenate %0, %2, %3 dim 1 : !spmd.array$t, !spmd.array<f32[$rows, $next]>, !spmd.array$t -> $wide
    %5 = array.negate %4 : $wide
    %cp = array.pad %c with %three low [1, 0] high [-1, 0] interior [0, 0] : <f32[$rows, 1]>, <f32[]> -> <f32[$rows, 1]>
    %6 = array.concatenate $many dim 1 : $kinds -> <f32[$rows, 40]>
    %7 = array.concatenate %e, %x dim 0 : !spmd.array<f32[1, $size]>, !spmd.array$t -> <f32[$more, $size]>
    %8 = array.negate %7 : <f32[$more, $size]>
    return %5, %6, %8 : !spmd.array$wide, !spmd.array<f32[$rows, 40]>, !spmd.array<f32[$more, $size]>
  })",
              {{"$t", "<f32[" + rows + ", " + size + "]>"},
               {"$wide", wide},
               {"$many", many},
               {"$kinds", types},
               {"$more", std::to_string(std::stoi(rows) + 1)},
               {"$next", std::to_string(width + 1)},
               {"$rows", rows},
               {"$size", size}});
}

std::string transposeProgram() {
  return R"(func.func @main(%x: !spmd.array<f32[37, 53]>, %y: !spmd.array<i8[3, 20, 40]>)
      -> (!spmd.array<f32[53, 37]>, !spmd.array<i8[40, 3, 20]>) {
    %0 = array.transpose %x perm [1, 0] : <f32[37, 53]> -> <f32[53, 37]>
    %1 = array.transpose %y perm [2, 0, 1] : <i8[3, 20, 40]> -> <i8[40, 3, 20]>
    return %0, %1 : !spmd.array<f32[53, 37]>, !spmd.array<i8[40, 3, 20]>
  })";
}

std::string scanProgram() {
  return fill(R"(func.func @main(%x: !spmd.array$x, %y: !spmd.array$y)
      -> (!spmd.array$x, !spmd.array$x, !spmd.array$y, !spmd.array$y) {
    %0 = array.cumulative max %x dim 1 : $x -> $x
    %1 = array.cumulative max %x dim 0 : $x -> $x
    %2 = array.cumulative sum %y dim 1 : $y -> $y
    %3 = array.cumulative sum %y dim 0 : $y -> $y
    return %0, %1, %2, %3 : !spmd.array$x, !spmd.array$x, !spmd.array$y, !spmd.array$y
  })",
              {{"$x", "<f32[5, 1300]>"}, {"$y", "<i32[40, 9]>"}});
}

std::string returnProgram() {
  return R"(func.func @main(%x: !spmd.array<f32[5]>)
      -> (!spmd.array<f32[5]>, !spmd.array<f32[5]>, !spmd.array<f32[5]>, !spmd.array<f32[2]>) {
    %0 = array.negate %x : <f32[5]>
    %1 = array.constant dense<[1.0, 2.0]> : tensor<2xf32> -> <f32[2]>
    return %x, %0, %0, %1 : !spmd.array<f32[5]>, !spmd.array<f32[5]>, !spmd.array<f32[5]>, !spmd.array<f32[2]>
  })";
}

std::vector<OverwriteCase> getOverwriteCases() {
  auto twoOutputs = [](const std::string &body, const std::string &shape) {
    return fill(R"(func.func @main(%x: !spmd.array$t) -> (!spmd.array$t, !spmd.array$t) {)" + body + R"(
      return %0, %1 : !spmd.array$t, !spmd.array$t
    })",
                {{"$t", "<i32[" + shape + "]>"}});
  };
  std::vector<OverwriteCase> cases;
  cases.push_back({"neighbours of one thread",
                   twoOutputs(R"(
      %0 = array.negate %x : $t
      %1 = array.multiply %x, %x : $t)",
                              "70000"),
                   2, 2});
  // A store and a scan read the same elements: if threads share a row, the store's pass comes first.
  cases.push_back({"store and scan along a row",
                   twoOutputs(R"(
      %0 = array.negate %x : $t
      %1 = array.cumulative sum %x dim 1 : $t -> $t)",
                              "9, 5000"),
                   2, 1});
  cases.push_back({"two scans along a row",
                   twoOutputs(R"(
      %0 = array.cumulative max %x dim 1 : $t -> $t
      %1 = array.cumulative sum %x dim 1 : $t -> $t)",
                              "9, 500"),
                   2, 1});
  cases.push_back({"store and scans along a column",
                   twoOutputs(R"(
      %0 = array.negate %x : $t
      %1 = array.cumulative sum %x dim 0 : $t -> $t)",
                              "9, 500"),
                   2, 2});
  cases.push_back({"two scans along a column",
                   twoOutputs(R"(
      %0 = array.cumulative max %x dim 0 : $t -> $t
      %1 = array.cumulative sum %x dim 0 : $t -> $t)",
                              "9, 500"),
                   2, 2});
  cases.push_back({"reversal",
                   twoOutputs(R"(
      %0 = array.reverse %x dims [0] : $t -> $t
      %1 = array.negate %0 : $t)",
                              "1000"),
                   0, 0});
  for (std::string size : {"20", "500", "20000"})
    // A value shared by a row: all threads of a row read %b, and one writes it.
    cases.push_back({"rows of " + size,
                     fill(R"(func.func @main(%x: !spmd.array$t, %b: !spmd.array<f32[7]>)
        -> (!spmd.array$t, !spmd.array<f32[7]>) {
      %b0 = array.broadcast_in_dim %b dims [0] : <f32[7]> -> $t
      %s = array.add %x, %b0 : $t
      %m = array.reduce max %s dims [1] : $t -> <f32[7]>
      %mb = array.broadcast_in_dim %m dims [0] : <f32[7]> -> $t
      %d = array.subtract %x, %mb : $t
      %e = array.exp %d : $t
      %sum = array.add %m, %b : <f32[7]>
      return %e, %sum : !spmd.array$t, !spmd.array<f32[7]>
    })",
                          {{"$t", "<f32[7, " + size + "]>"}}),
                     2, 2});
  for (std::string size : {"20", "500", "20000"})
    // One thread of a row reads and writes %b, after all have reduced the row.
    cases.push_back({"sums of rows of " + size,
                     fill(R"(func.func @main(%x: !spmd.array$t, %b: !spmd.array<f32[7]>) -> !spmd.array<f32[7]> {
      %m = array.reduce max %x dims [1] : $t -> <f32[7]>
      %sum = array.add %m, %b : <f32[7]>
      return %sum : !spmd.array<f32[7]>
    })",
                          {{"$t", "<f32[7, " + size + "]>"}}),
                     1, 1});
  // All threads of a row read its only element, and one writes it.
  cases.push_back({"scan of one element",
                   R"(func.func @main(%x: !spmd.array<f32[1]>) -> !spmd.array<f32[1]> {
      %0 = array.cumulative sum %x dim 0 : <f32[1]> -> <f32[1]>
      return %0 : !spmd.array<f32[1]>
    })",
                   1, 1});
  // A kernel reads one array in both orders; another has an output in crosswise order.
  cases.push_back({"square and its transpose",
                   R"(func.func @main(%x: !spmd.array<f32[40, 40]>, %y: !spmd.array<f32[40, 40]>)
        -> !spmd.array<f32[40, 40]> {
      %t = array.transpose %x perm [1, 0] : <f32[40, 40]> -> <f32[40, 40]>
      %0 = array.add %t, %y : <f32[40, 40]>
      return %0 : !spmd.array<f32[40, 40]>
    })",
                   1, 1});
  return cases;
}

static std::string attention(const AttentionShape &shape, const std::string &text) {
  auto array = [&](const std::string &type, std::vector<int64_t> sizes) {
    std::string result;
    for (int64_t size : sizes)
      result += (result.empty() ? "" : ", ") + std::to_string(size);
    return "<" + type + "[" + result + "]>";
  };
  const auto &[batch, rows, columns, depth, width, type, mask, transposesResult, divisor, hidden] = shape;
  using Mask = AttentionShape::Mask;
  // The condition of the mask, and which operands it selects.
  std::string condition = "%seen = array.compare ge %column, %least : $i, $i -> $b", seen = "%scaled, %low",
              seenGradient = "%de, %zero";
  if (mask == Mask::Causal)
    condition = "%seen = array.compare le %column, %row : $i, $i -> $b";
  if (mask == Mask::Behind)
    condition = "%seen = array.compare gt %column, %row : $i, $i -> $b";
  if (mask == Mask::Window)
    condition = R"(%before = array.compare le %column, %row : $i, $i -> $b
    %twenty = array.constant dense<20> : tensor<$positions> -> $i
    %end = array.add %column, %twenty : $i
    %near = array.compare gt %end, %row : $i, $i -> $b
    %seen = array.and %before, %near : $b)";
  if (mask == Mask::Hidden) {
    condition = "%seen = array.compare gt %column, %row : $i, $i -> $b";
    seen = "%low, %scaled";
    seenGradient = "%zero, %de";
  }
  return fill(
      fill(text, {{"$scores", R"(%s = array.dot_general %q, %k contract [2] x [2] batch [0] x [0] : $q, $k -> $t
    %divisor = array.constant dense<$divisor> : tensor<$sizes> -> $t
    %low = array.constant dense<$infinity> : tensor<$sizes> -> $t
    %scaled = array.divide %s, %divisor : $t
    %row = array.iota dim 0 : $i
    %column = array.iota dim 1 : $i
    %least = array.constant dense<0> : tensor<$positions> -> $i
    $condition
    %mask = array.broadcast_in_dim %seen dims [1, 2] : $b -> $m
    $masked
    %max = array.reduce max %x dims [2] : $t -> $r
    %maxima = array.broadcast_in_dim %max dims [0, 1] : $r -> $t
    %difference = array.subtract %x, %maxima : $t
    %e = array.exp %difference : $t
    %sum = array.reduce sum %e dims [2] : $t -> $r
    %sums = array.broadcast_in_dim %sum dims [0, 1] : $r -> $t
    %p = array.divide %e, %sums : $t
    $product = array.dot_general %p, %v contract [2] x [1] batch [0] x [0] : $t, $v -> $o
    $result)"}}),
      {{"$product", transposesResult ? "%product" : "%o"},
       {"$result", transposesResult ? "%o = array.transpose %product perm [1, 0, 2] : $o -> $returned" : ""},
       {"$returned", transposesResult ? array(type, {rows, batch, width}) : "$o"},
       {"$condition", condition},
       {"$maskedGradient", mask == Mask::None ? "%dx = array.multiply %both, %e : $t"
                                              : "%dx = array.select %mask, $seenGradient : $m, $t, $t -> $t"},
       {"$masked", mask == Mask::None ? "%x = array.divide %s, %divisor : $t"
                                      : "%x = array.select %mask, $seen : $m, $t, $t -> $t"},
       {"$divisor", std::to_string(divisor)},
       {"$seenGradient", seenGradient},
       {"$seen", seen},
       {"$infinity", !hidden.empty()  ? hidden
                     : type == "bf16" ? "0xFF80"
                     : type == "f16"  ? "0xFC00"
                     : type == "f64"  ? "0xFFF0000000000000"
                                      : "0xFF800000"},
       {"$positions", std::to_string(rows) + "x" + std::to_string(columns) + "xi32"},
       {"$sizes", std::to_string(batch) + "x" + std::to_string(rows) + "x" + std::to_string(columns) + "x" + type},
       {"$q", array(type, {batch, rows, depth})},
       {"$k", array(type, {batch, columns, depth})},
       {"$v", array(type, {batch, columns, width})},
       {"$o", array(type, {batch, rows, width})},
       {"$t", array(type, {batch, rows, columns})},
       {"$u", array(type, {batch, depth, columns})},
       {"$m", array("bool", {batch, rows, columns})},
       {"$r", array(type, {batch, rows})},
       {"$i", array("i32", {rows, columns})},
       {"$b", array("bool", {rows, columns})}});
}

std::string attentionProgram(const AttentionShape &shape) {
  return attention(shape,
                   R"(func.func @main(%q: !spmd.array$q, %k: !spmd.array$k, %v: !spmd.array$v) -> !spmd.array$returned {
    $scores
    return %o : !spmd.array$returned
  })");
}

std::string attentionGradientProgram(const AttentionShape &shape) {
  return attention(shape, R"(func.func @main(%q: !spmd.array$q, %k: !spmd.array$k, %v: !spmd.array$v, %w: !spmd.array$o)
      -> (!spmd.array$returned, !spmd.array$q, !spmd.array$k, !spmd.array$v) {
    $scores
    %zero = array.constant dense<0.0> : tensor<$sizes> -> $t
    %dp = array.dot_general %w, %v contract [2] x [2] batch [0] x [0] : $o, $v -> $t
    %dv = array.dot_general %p, %w contract [1] x [1] batch [0] x [0] : $t, $o -> $v
    %scaledP = array.divide %dp, %sums : $t
    %q1 = array.divide %p, %sums : $t
    %q2 = array.multiply %dp, %q1 : $t
    %q3 = array.negate %q2 : $t
    %inner = array.reduce sum %q3 dims [2] : $t -> $r
    %inners = array.broadcast_in_dim %inner dims [0, 1] : $r -> $t
    %both = array.add %scaledP, %inners : $t
    %de = array.multiply %both, %e : $t
    $maskedGradient
    %ds = array.divide %dx, %divisor : $t
    %dq = array.dot_general %ds, %k contract [2] x [1] batch [0] x [0] : $t, $k -> $q
    %dkt = array.dot_general %q, %ds contract [1] x [1] batch [0] x [0] : $q, $t -> $u
    %dk = array.transpose %dkt perm [0, 2, 1] : $u -> $k
    return %o, %dq, %dk, %dv : !spmd.array$returned, !spmd.array$q, !spmd.array$k, !spmd.array$v
  })");
}

} // namespace spmdc
