//===- MaximaTest.cpp - maxima of NaNs and of signed zeros ----------------===//

#include "tests/passes/cpu/CompiledProgramHelper.h"
#include "tests/passes/support/Tensors.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

using namespace mlir;
using namespace spmdc;

namespace {

// IEEE 754-2019, 9.6: maximum and minimum.
double larger(double x, double y) {
  if (std::isnan(x) || std::isnan(y))
    return std::numeric_limits<double>::quiet_NaN();
  if (x == y)
    return std::signbit(x) ? y : x;
  return x > y ? x : y;
}
double smaller(double x, double y) { return -larger(-x, -y); }

std::vector<double> specialValues(bool isDouble) {
  double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  double least = isDouble ? std::numeric_limits<double>::denorm_min() : std::numeric_limits<float>::denorm_min();
  double most = isDouble ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
  return {0.0, -0.0, 1, -1, least, -least, most, -most, infinity, -infinity, nan, -nan};
}

/// Equal in value and in the sign of zero; all NaNs are equal.
bool isSame(double x, double y) {
  return (std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y));
}

/// Few kinds of values in a row (or in a column), so that many have no NaN, and some have zeros alone.
Tensor makeTensor(int64_t rows, int64_t columns, Type type, bool isByColumn) {
  std::vector<double> values = specialValues(type.isF64());
  std::mt19937 random(1);
  Tensor tensor({rows, columns}, type);
  int64_t lines = isByColumn ? columns : rows, length = isByColumn ? rows : columns;
  for (int64_t line = 0; line < lines; ++line) {
    size_t first = random() % values.size(), kinds = 1 + random() % 3;
    for (int64_t i = 0; i < length; ++i)
      tensor.elements[isByColumn ? i * columns + line : line * columns + i] =
          Scalar::ofFloat(values[(first + random() % kinds) % values.size()]);
  }
  return tensor;
}

} // namespace

// By element, of rows and of columns, as vectors and what is left of them, in f32 and f64.
TEST(Maxima, OfNaNsAndSignedZeros) {
  std::unique_ptr<MLIRContext> context = makeTestContext();
  Location loc = UnknownLoc::get(context.get());
  std::vector<std::string> cpus{"x86-64"};
  std::vector<std::string> features = CpuTarget::host().getInfo().features;
  for (auto [cpu, feature] : {std::pair("x86-64-v3", "avx2"), {"x86-64-v4", "avx512f"}})
    if (llvm::is_contained(features, feature))
      cpus.push_back(cpu);
  constexpr int64_t rows = 150;
  for (bool isDouble : {false, true})
    for (int64_t columns : {1, 7, 16, 37}) {
      std::string name = isDouble ? "f64" : "f32", size = std::to_string(columns),
                  matrix = name + "[150, " + size + "]", text;
      for (std::string kind : {"max", "min"})
        text += "  %" + kind + "0 = array." + kind + "imum %x, %y : <" + matrix + ">\n  %" + kind +
                "1 = array.reduce " + kind + " %x dims [1] : <" + matrix + "> -> <" + name + "[150]>\n  %" + kind +
                "2 = array.reduce " + kind + " %y dims [0] : <" + matrix + "> -> <" + name + "[" + size + "]>\n";
      std::string type = "!spmd.array<" + matrix + ">", ofRows = "!spmd.array<" + name + "[150]>",
                  ofColumns = "!spmd.array<" + name + "[" + size + "]>",
                  types = type + ", " + ofRows + ", " + ofColumns;
      text = "func.func @main(%x: " + type + ", %y: " + type + ") -> (" + types + ", " + types + ") {\n" + text +
             "  return %max0, %max1, %max2, %min0, %min1, %min2 : " + types + ", " + types + "\n}";
      OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context.get());
      ASSERT_TRUE(module) << text;
      Type element = isDouble ? Type(Float64Type::get(context.get())) : Float32Type::get(context.get());
      Tensor x = makeTensor(rows, columns, element, false), y = makeTensor(rows, columns, element, true);
      for (const std::string &cpu : cpus) {
        FailureOr<CpuTarget> target = CpuTarget::named(cpu, loc);
        ASSERT_TRUE(succeeded(target));
        CompiledKernels program(*module, *target);
        ASSERT_TRUE(program.isGood());
        std::vector<Tensor> results = program.run({x, y});
        ASSERT_EQ(results.size(), 6u);
        SCOPED_TRACE(cpu + ", " + matrix);
        for (bool isMaximum : {true, false}) {
          auto *choose = isMaximum ? larger : smaller;
          double start = isMaximum ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
          ArrayRef<Tensor> chosen = ArrayRef(results).slice(isMaximum ? 0 : 3, 3);
          std::vector<double> expectedRows(rows, start), expectedColumns(columns, start);
          for (int64_t i = 0; i < x.size(); ++i) {
            double value = x.elements[i].f, other = y.elements[i].f;
            EXPECT_TRUE(isSame(chosen[0].elements[i].f, choose(value, other)))
                << chosen[0].elements[i].f << " of " << value << " and " << other;
            expectedRows[i / columns] = choose(expectedRows[i / columns], value);
            expectedColumns[i % columns] = choose(expectedColumns[i % columns], other);
          }
          for (int64_t i = 0; i < rows; ++i)
            EXPECT_TRUE(isSame(chosen[1].elements[i].f, expectedRows[i])) << "row " << i << ": " << expectedRows[i];
          for (int64_t i = 0; i < columns; ++i)
            EXPECT_TRUE(isSame(chosen[2].elements[i].f, expectedColumns[i])) << "column " << i;
        }
      }
    }
}
