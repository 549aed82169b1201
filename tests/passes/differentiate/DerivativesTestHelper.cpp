//===- DerivativesTestHelper.cpp - programs of a derivative ---------------===//

#include "tests/passes/differentiate/DerivativesTestHelper.h"

#include "ir/evaluate/GlobalEvaluator.h"
#include "passes/differentiate/Passes.h"

#include "mlir/Pass/PassManager.h"

namespace spmdc {

void PrintTo(const DerivativeCase &test, std::ostream *os) { *os << test.name; }

std::vector<DerivativeCase> &allDerivativeCases() {
  static std::vector<DerivativeCase> cases;
  return cases;
}

namespace {

/// The shape of `f64[2, 3]`.
std::vector<int64_t> shapeOf(llvm::StringRef type) {
  std::vector<int64_t> shape;
  llvm::StringRef dims = type.drop_front(type.find('[') + 1).drop_back();
  while (!dims.empty()) {
    auto [first, rest] = dims.split(',');
    int64_t size = 0;
    first.trim().getAsInteger(10, size);
    shape.push_back(size);
    dims = rest;
  }
  return shape;
}

std::string typeText(llvm::StringRef type) { return "!spmd.array<" + type.str() + ">"; }

/// `%NAME = sum of the elements of %value, each times a different number`.
std::string weightedSum(const std::string &name, const std::string &value, llvm::StringRef type, int seed) {
  std::vector<int64_t> shape = shapeOf(type);
  int64_t count = elementCount(shape);
  std::string tensor, numbers, dims, w = name + "w", p = name + "p";
  for (int64_t size : shape) {
    tensor += std::to_string(size) + "x";
    dims += (dims.empty() ? "" : ", ") + std::to_string(dims.empty() ? 0 : llvm::StringRef(dims).count(',') + 1);
  }
  for (int64_t i = 0; i < count; ++i)
    numbers += (i ? ", " : "") + std::to_string(0.5 + 0.13 * static_cast<double>((i * 7 + seed) % 11));
  std::string flat = "f64[" + std::to_string(count) + "]";
  return "%" + w + "f = array.constant dense<[" + numbers + "]> : tensor<" + std::to_string(count) + "xf64> -> <" +
         flat + ">\n%" + w + " = array.reshape %" + w + "f : <" + flat + "> -> <" + type.str() + ">\n%" + p +
         " = array.multiply " + value + ", %" + w + " : <" + type.str() + ">\n%" + name + " = array.reduce sum %" + p +
         " dims [" + dims + "] : <" + type.str() + "> -> <f64[]>\n";
}

std::string wrap(const std::string &function) {
  return "module attributes {spmd.mesh = #spmd.mesh<m, a=2, b=2>} {\n" + function + "}\n";
}

} // namespace

void DerivativesTest::SetUp() {
  const DerivativeCase &test = GetParam();
  for (const char *argument : test.arguments)
    inputs.push_back(random(elementCount(shapeOf(argument)), test.low, test.high, test.isSigned));
}

std::vector<double> DerivativesTest::random(size_t count, double low, double high, bool isSigned) {
  std::vector<double> values;
  while (values.size() < count) {
    double value = 0;
    do {
      value = std::uniform_real_distribution<double>(low, high)(engine);
      if (isSigned && engine() % 2)
        value = -value;
    } while (!taken.insert(std::lround(value * 20)).second);
    if (taken.size() > 20)
      taken.clear();
    values.push_back(value);
  }
  return values;
}

std::string DerivativesTest::program(int order) {
  const DerivativeCase &test = GetParam();
  const char *names[] = {"%x", "%y", "%z"};
  std::string arguments, outer, types, blockArguments, outerBlockArguments;
  for (auto [i, type] : llvm::enumerate(test.arguments)) {
    std::string comma = i ? ", " : "", name = names[i];
    arguments += comma + name + ": " + typeText(type);
    types += comma + typeText(type);
  }
  auto block = [&](const std::string &suffix) {
    std::string text, operands;
    for (auto [i, type] : llvm::enumerate(test.arguments))
      text += (i ? ", " : "") + std::string(names[i]) + suffix + ": " + typeText(type);
    return "^bb0(" + text + "):\n";
  };
  auto operands = [&](const std::string &suffix) {
    std::string text;
    for (size_t i = 0; i < test.arguments.size(); ++i)
      text += (i ? ", " : "") + std::string(names[i]) + suffix;
    return text;
  };
  std::string sum = std::string(test.body) + "\n" + weightedSum("s", "%r", test.result, 3);
  std::string scalar = typeText("f64[]"), count = std::to_string(test.arguments.size() + 1);
  std::string signature = " : (" + types + ") -> (" + scalar + ", " + types + ")\n";
  if (order == 0)
    return wrap("func.func @main(" + arguments + ") -> " + scalar + " {\n" + sum + "return %s : " + scalar + "\n}\n");
  std::string results;
  for (size_t i = 1; i <= test.arguments.size(); ++i)
    results += (i > 1 ? ", %g#" : "%g#") + std::to_string(i);
  auto gradientOf = [&](const std::string &operandSuffix, const std::string &yielded, const std::string &body,
                        const std::string &argumentSuffix) {
    return "%g:" + count + " = array.gradient(" + operands(operandSuffix) + ") {\n" + block(argumentSuffix) + body +
           "array.yield " + yielded + " : " + scalar + "\n}" + signature;
  };
  std::string body;
  if (order == 1) {
    body = gradientOf("o", "%s", sum, "");
  } else {
    std::string inner = gradientOf("i", "%s", sum, ""), total;
    llvm::StringRef renamed(inner);
    inner = "%h" + renamed.drop_front(2).str();
    for (auto [i, type] : llvm::enumerate(test.arguments)) {
      std::string name = "t" + std::to_string(i);
      inner += weightedSum(name, "%h#" + std::to_string(i + 1), type, 5 + static_cast<int>(i));
      std::string next = "%u" + std::to_string(i);
      inner += i ? next + " = array.add " + total + ", %" + name + " : <f64[]>\n"
                 : next + " = array.negate %" + name + " : <f64[]>\n";
      total = next;
    }
    body = gradientOf("o", total, inner, "i");
  }
  std::string outerArguments;
  for (auto [i, type] : llvm::enumerate(test.arguments))
    outerArguments += (i ? ", " : "") + std::string(names[i]) + "o: " + typeText(type);
  return wrap("func.func @main(" + outerArguments + ") -> (" + types + ") {\n" + body + "return " + results + " : " +
              types + "\n}\n");
}

mlir::OwningOpRef<mlir::ModuleOp> DerivativesTest::compile(const std::string &text) {
  auto module = parseValid(text);
  if (!module)
    return {};
  mlir::PassManager passes(&context);
  passes.addPass(createDifferentiatePass());
  passes.addPass(createVerifyDifferentiatedPass());
  if (mlir::failed(passes.run(*module))) {
    ADD_FAILURE() << diagnosticText();
    return {};
  }
  return module;
}

Numbers DerivativesTest::evaluate(mlir::ModuleOp module, const Numbers &inputs) {
  std::vector<Tensor> arguments;
  for (auto [type, numbers] : llvm::zip(GetParam().arguments, inputs)) {
    arguments.emplace_back(shapeOf(type), mlir::Float64Type::get(&context));
    for (auto [element, value] : llvm::zip(arguments.back().elements, numbers))
      element.f = value;
  }
  auto results = evaluateGlobal(functionOf(module), arguments);
  if (mlir::failed(results)) {
    ADD_FAILURE() << diagnosticText();
    return {};
  }
  Numbers values;
  for (const Tensor &result : *results)
    values.push_back(floatsOf(result));
  return values;
}

} // namespace spmdc
