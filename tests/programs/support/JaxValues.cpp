//===- JaxValues.cpp - arrays in the files with JAX's values --------------===//

#include "tests/programs/support/JaxValues.h"

#include "ir/spmd/SpmdTypes.h"
#include "runtime/support/DType.h"
#include "tests/programs/support/Case.h"
#include "tests/programs/support/CompiledRun.h"

#include "llvm/Support/xxhash.h"

#include <algorithm>
#include <cmath>

namespace spmdc {

Tensor readTensor(const nlohmann::json &json, mlir::MLIRContext &context) {
  auto dtype = spmd::parseDType(json["dtype"].get<std::string>());
  Tensor tensor(json["shape"].get<std::vector<int64_t>>(), getElementType(&context, *dtype));
  for (auto [element, value] : llvm::zip_equal(tensor.elements, json["values"]))
    element = !spmd::isFloat(*dtype)
                  ? Scalar::ofInt(value.get<int64_t>())
                  : Scalar::ofFloat(value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>());
  for (Scalar &element : tensor.elements)
    element = roundTo(element, tensor.elementType); // Texts are the shortest that round to the value of the type.
  return tensor;
}

std::string compareWithJax(const Tensor &expected, const Tensor &actual, double tolerance) {
  if (expected.shape != actual.shape || expected.elementType != actual.elementType)
    return "another type";
  double largest = 0;
  for (const Scalar &element : expected.elements)
    if (std::isfinite(element.f))
      largest = std::max(largest, std::fabs(element.f));
  for (size_t i = 0; i < expected.elements.size(); ++i) {
    Scalar want = expected.elements[i], have = actual.elements[i];
    bool isSame = want.i == have.i && (want.f == have.f || (std::isnan(want.f) && std::isnan(have.f)) ||
                                       std::fabs(want.f - have.f) <= tolerance * largest);
    if (!isSame)
      return "element " + std::to_string(i) + " is " + std::to_string(have.f) + " or " + std::to_string(have.i) +
             ", JAX has " + std::to_string(want.f) + " or " + std::to_string(want.i);
  }
  return "";
}

std::string runBesideJax(const std::string &fileName, const std::string &text, const nlohmann::json &test) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  loadDialects(context);
  std::vector<Tensor> arguments;
  for (const nlohmann::json &argument : test["arguments"])
    arguments.push_back(readTensor(argument, context));
  std::string error;
  auto artifact = compileText(fileName, text, /*optimizationLevel=*/0, error);
  if (!artifact)
    return error;
  auto results = CompiledProgram(artifact).run(context, arguments, Poison::Nan, error);
  if (mlir::failed(results))
    return error;
  if (results->size() != test["results"].size())
    return std::to_string(results->size()) + " results";
  for (auto [index, result] : llvm::enumerate(*results))
    if (std::string difference = compareWithJax(readTensor(test["results"][index], context), result, test["tolerance"]);
        !difference.empty())
      return "result " + std::to_string(index) + ": " + difference;
  return "";
}

} // namespace spmdc
