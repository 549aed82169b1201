//===- JaxValues.cpp - arrays in the files with JAX's values --------------===//

#include "tests/programs/support/JaxValues.h"

#include "ir/spmd/SpmdTypes.h"
#include "runtime/support/DType.h"

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

} // namespace spmdc
