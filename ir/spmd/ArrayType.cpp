//===- ArrayType.cpp - the array type -----------------------------------------------===//

#include "ir/interfaces/Tensor.h"
#include "ir/spmd/ShardingText.h"
#include "runtime/support/ArraySize.h"

using namespace mlir;

namespace spmdc {

LogicalResult ArrayType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape, Type elementType,
                                ShardingAttr sharding) {
  if (!findDType(elementType))
    return emitError() << "an array cannot have elements of type " << elementType;
  if (llvm::any_of(shape, [](int64_t size) { return size < 0; }))
    return emitError() << "an array cannot have a negative size";
  if (sharding && sharding.getRank() != static_cast<int64_t>(shape.size()))
    return emitError() << "a sharding of rank " << sharding.getRank() << " on an array of rank " << shape.size();
  return success();
}

bool ArrayType::hasAllowedSize() const { return spmd::isAllowedSize(getShape(), spmd::byteSize(getDType())); }

int64_t ArrayType::getNumElements() const { return elementCount(getShape()); }

int64_t ArrayType::getBytes() const { return getNumElements() * spmd::byteSize(getDType()); }

int64_t ArrayType::getLocalBytes(const spmd::MeshShape &mesh, ShardingAttr sharding) const {
  int64_t bytes = spmd::byteSize(getDType());
  for (auto [d, size] : llvm::enumerate(getShape())) {
    int64_t piece = size;
    if (sharding)
      for (AxisRefAttr axis : sharding.getDims()[d].getAxes())
        piece = llvm::divideCeilSigned(piece, axis.sizeIn(mesh));
    bytes *= piece;
  }
  return bytes;
}

ArrayType ArrayType::withSharding(ShardingAttr sharding) const {
  return ArrayType::get(getShape(), getElementType(), sharding);
}

ArrayType ArrayType::withShape(ArrayRef<int64_t> shape) const { return ArrayType::get(shape, getElementType(), {}); }

ArrayType ArrayType::withElementType(Type elementType) const {
  return ArrayType::get(getShape(), elementType, getSharding());
}

ShardingAttr ArrayType::getShardingOrOpen() const {
  return getSharding() ? getSharding() : ShardingAttr::getReplicated(getContext(), getRank(), /*isClosed=*/false);
}

spmd::ShardedShape ArrayType::toShardedShape() const {
  return {std::vector<int64_t>(getShape().begin(), getShape().end()), getShardingOrOpen().toValue()};
}

ArrayType ArrayType::getLocal(MeshAttr mesh) const {
  if (!getSharding())
    return *this;
  std::vector<int64_t> global(getShape().begin(), getShape().end());
  return withShape(spmd::localShape(mesh.toValue(), global, getSharding().toValue()));
}

spmd::DType ArrayType::getDType() const { return spmdc::getDType(getElementType()); }

RankedTensorType ArrayType::getTensorType() const { return RankedTensorType::get(getShape(), getElementType()); }

static void printArray(raw_ostream &os, ArrayType type, bool isIR) {
  os << spmd::dtypeName(type.getDType()) << "[";
  for (int64_t d = 0; d < type.getRank(); ++d) {
    os << (d ? ", " : "") << type.getDimSize(d);
    if (type.getSharding())
      printDimSharding(os, type.getSharding().getDims()[d], isIR);
  }
  os << "]";
  if (type.getSharding())
    printUnreduced(os, type.getSharding().getUnreduced());
}

std::string ArrayType::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  printArray(os, *this, /*isIR=*/false);
  return text;
}

Type ArrayType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef dtypeText;
  if (parser.parseLess() || parser.parseKeyword(&dtypeText))
    return {};
  std::optional<spmd::DType> dtype = spmd::parseDType(dtypeText);
  if (!dtype) {
    parser.emitError(loc) << "unknown dtype '" << dtypeText << "'";
    return {};
  }
  SmallVector<int64_t> shape;
  SmallVector<DimShardingAttr> dims;
  SmallVector<AxisRefAttr> unreduced;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&]() -> ParseResult {
                                       if (parser.parseInteger(shape.emplace_back()))
                                         return failure();
                                       FailureOr<DimShardingAttr> dim = parseOptionalDimSharding(parser);
                                       if (failed(dim))
                                         return failure();
                                       dims.push_back(*dim);
                                       return success();
                                     }) ||
      parseUnreduced(parser, unreduced) || parser.parseGreater())
    return {};
  ShardingAttr sharding;
  bool isAnyKnown = !unreduced.empty() || llvm::any_of(dims, [](DimShardingAttr dim) { return !dim.str().empty(); });
  auto emitError = [&] { return parser.emitError(loc); };
  if (isAnyKnown) {
    sharding = ShardingAttr::getChecked(function_ref<InFlightDiagnostic()>(emitError), parser.getContext(),
                                        ArrayRef<DimShardingAttr>(dims), ArrayRef<AxisRefAttr>(unreduced));
    if (!sharding)
      return {};
  }
  Type elementType = spmdc::getElementType(parser.getContext(), *dtype);
  if (failed(verify(emitError, shape, elementType, sharding)))
    return {};
  auto type = ArrayType::get(shape, elementType, sharding);
  if (!type.hasAllowedSize()) {
    parser.emitError(loc) << "an array cannot have more than 2^56 bytes";
    return {};
  }
  return type;
}

void ArrayType::print(AsmPrinter &printer) const {
  printer << "<";
  printArray(printer.getStream(), *this, /*isIR=*/true);
  printer << ">";
}

} // namespace spmdc
