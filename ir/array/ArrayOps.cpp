//===- ArrayOps.cpp - dialect, parsing helpers, verifiers of the array operations ===//

#include "ir/array/ArrayOps.h"

#include "ir/array/Formula.h"
#include "ir/array/FourierOp.h"
#include "ir/array/Positions.h"
#include "ir/array/ScalarEmission.h"
#include "ir/array/ScalarEvaluation.h"
#include "ir/array/ScatterOp.h"
#include "ir/array/Verification.h"
#include "ir/spmd/DefinitionNotes.h"
#include "ir/spmd/ReducePrecision.h"

#include <cmath>

using namespace mlir;

#include "ir/array/ArrayEnums.cpp.inc"
#include "ir/array/ArrayOpsDialect.cpp.inc"

namespace spmdc {

void ArrayDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "ir/array/ArrayOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/array/ScatterOp.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/array/FourierOp.cpp.inc"
      >();
}

Operation *ArrayDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  auto arrayType = dyn_cast<ArrayType>(type);
  if (!elements || !arrayType)
    return nullptr;
  return builder.create<ConstantOp>(loc, arrayType, elements);
}

//===----------------------------------------------------------------------===//
// Shapes of operands and results
//===----------------------------------------------------------------------===//

LogicalResult verifySameArrayShape(Operation *op) {
  ArrayType result = typeOf(op->getResult(0));
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (typeOf(operand).getShape() != result.getShape())
      return failWithDefinitions(op->emitOpError()
                                     << "operand " << index << " is " << typeOf(operand).withoutSharding().str()
                                     << ", the result " << result.withoutSharding().str() << "; shapes must agree",
                                 {{operand, "operand " + std::to_string(index)}});
  return verifyElementTypes(op);
}

LogicalResult verifySameArray(Operation *op) {
  if (failed(verifySameArrayShape(op)))
    return failure();
  ArrayType result = typeOf(op->getResult(0));
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (typeOf(operand).getElementType() != result.getElementType())
      return failWithDefinitions(op->emitOpError() << "operand " << index << " is "
                                                   << typeOf(operand).withoutSharding().str() << ", the result "
                                                   << result.withoutSharding().str() << "; element types must agree",
                                 {{operand, "operand " + std::to_string(index)}});
  return success();
}

/// Prints the common type of all, or `(operands) -> result` if shardings differ.
static void printSameTypes(OpAsmPrinter &printer, ArrayRef<Type> operands, Type result) {
  auto print = [&](Type type) { cast<ArrayType>(type).print(printer); };
  if (llvm::all_of(operands, [&](Type type) { return type == result; }))
    return print(result);
  printer << "(";
  llvm::interleaveComma(operands, printer, print);
  printer << ") -> ";
  print(result);
}

static ParseResult parseSameTypes(OpAsmParser &parser, ArrayRef<Type *> operands, Type &result) {
  auto parse = [&](Type &type) -> ParseResult {
    type = ArrayType::parse(parser);
    return success(type != nullptr);
  };
  if (failed(parser.parseOptionalLParen())) {
    if (parse(result))
      return failure();
    for (Type *operand : operands)
      *operand = result;
    return success();
  }
  for (auto [index, operand] : llvm::enumerate(operands))
    if ((index && parser.parseComma()) || parse(*operand))
      return failure();
  if (parser.parseRParen() || parser.parseArrow())
    return failure();
  return parse(result);
}

static void printSameTypes(OpAsmPrinter &p, Operation *, Type x, Type r) { printSameTypes(p, {x}, r); }
static ParseResult parseSameTypes(OpAsmParser &p, Type &x, Type &r) { return parseSameTypes(p, {&x}, r); }
static void printSameTypes(OpAsmPrinter &p, Operation *, Type x, Type y, Type r) { printSameTypes(p, {x, y}, r); }
static ParseResult parseSameTypes(OpAsmParser &p, Type &x, Type &y, Type &r) { return parseSameTypes(p, {&x, &y}, r); }
static void printSameTypes(OpAsmPrinter &p, Operation *, Type x, Type y, Type z, Type r) {
  printSameTypes(p, {x, y, z}, r);
}
static ParseResult parseSameTypes(OpAsmParser &p, Type &x, Type &y, Type &z, Type &r) {
  return parseSameTypes(p, {&x, &y, &z}, r);
}

/// `[[0, 1], [1, 2]]`.
static void printLabelLists(OpAsmPrinter &printer, Operation *, ArrayAttr lists) {
  printer << "[";
  llvm::interleaveComma(lists, printer, [&](Attribute list) {
    if (auto labels = dyn_cast<DenseI64ArrayAttr>(list))
      labels.print(printer);
    else
      printer.printAttribute(list);
  });
  printer << "]";
}

static ParseResult parseLabelLists(OpAsmParser &parser, ArrayAttr &lists) {
  SmallVector<Attribute> parsed;
  auto parseList = [&] { return success(bool(parsed.emplace_back(DenseI64ArrayAttr::parse(parser, {})))); };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseList))
    return failure();
  lists = parser.getBuilder().getArrayAttr(parsed);
  return success();
}

LogicalResult verifyResult(Operation *op, ArrayRef<int64_t> shape, Type elementType) {
  ArrayType expected = ArrayType::get(shape, elementType), actual = typeOf(op->getResult(0)).withoutSharding();
  if (expected != actual)
    return op->emitOpError() << "result must be " << expected.str() << ", got " << actual.str();
  return success();
}

LogicalResult verifyPositions(Operation *op, int64_t size) {
  auto type = cast<ArrayType>(op->getResult(0).getType());
  if (!isPositionType(type.getElementType()))
    return op->emitOpError() << "positions are i32 or i64, got " << type.withoutSharding().str();
  if (!holdsPositions(type.getElementType(), size))
    return op->emitOpError() << "positions along a dimension of " << size << " elements are i64, got "
                             << type.withoutSharding().str();
  return success();
}

LogicalResult verifyDims(Operation *op, ArrayRef<int64_t> dims, int64_t rank, StringRef what) {
  SmallVector<bool> seen(rank);
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= rank)
      return op->emitOpError() << what << " " << dim << " is outside the rank " << rank;
    if (seen[dim])
      return op->emitOpError() << what << " " << dim << " is named twice";
    seen[dim] = true;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

void ConstantOp::build(OpBuilder &builder, OperationState &state, DenseElementsAttr value) {
  auto tensor = cast<RankedTensorType>(value.getType());
  build(builder, state, ArrayType::get(tensor.getShape(), tensor.getElementType()), value);
}

void ConstantOp::build(OpBuilder &builder, OperationState &state, ArrayType type, Scalar splat) {
  Type elementType = type.getElementType();
  TypedAttr value;
  if (auto floatType = dyn_cast<FloatType>(elementType)) {
    value = builder.getFloatAttr(floatType, splat.f);
  } else {
    unsigned width = elementType.getIntOrFloatBitWidth();
    value = builder.getIntegerAttr(elementType, APInt(width, static_cast<uint64_t>(splat.i), false));
  }
  build(builder, state, type, DenseElementsAttr::get(type.getTensorType(), ArrayRef<Attribute>(value)));
}

LogicalResult ConstantOp::verify() {
  auto tensor = dyn_cast<RankedTensorType>(getValue().getType());
  if (!tensor || !isa<DenseElementsAttr>(getValue()))
    return emitOpError("requires a dense value of tensor type");
  return verifyResult(*this, tensor.getShape(), tensor.getElementType());
}

LogicalResult IotaOp::verify() {
  if (getType().getElementType().isInteger(1) || isa<KeyType>(getType().getElementType()))
    return emitOpError("requires an element type of numbers, got ") << getType().str();
  return verifyDims(*this, {static_cast<int64_t>(getDim())}, getType().getRank(), "dimension");
}

LogicalResult BroadcastInDimOp::verify() {
  ArrayType operand = getOperand().getType(), result = getType();
  if (static_cast<int64_t>(getDims().size()) != operand.getRank())
    return emitOpError("requires one result dimension for each operand dimension");
  if (failed(verifyDims(*this, getDims(), result.getRank(), "dimension")))
    return failure();
  for (auto [index, dim] : llvm::enumerate(getDims())) {
    if (index && getDims()[index - 1] >= dim)
      return emitOpError("requires increasing dimensions");
    int64_t size = operand.getDimSize(index);
    if (size != 1 && size != result.getDimSize(dim))
      return emitOpError() << "operand dimension " << index << " of size " << size << " cannot become " << dim
                           << " of size " << result.getDimSize(dim);
  }
  return verifyResult(*this, result.getShape(), operand.getElementType());
}

LogicalResult ReshapeOp::verify() {
  ArrayType operand = getOperand().getType();
  if (operand.getNumElements() != getType().getNumElements())
    return emitOpError() << operand.str() << " has " << operand.getNumElements() << " elements, " << getType().str()
                         << " has " << getType().getNumElements();
  return verifyResult(*this, getType().getShape(), operand.getElementType());
}

void TransposeOp::build(OpBuilder &builder, OperationState &state, Value operand, ArrayRef<int64_t> perm) {
  ArrayType type = typeOf(operand);
  SmallVector<int64_t> shape;
  for (int64_t dim : perm)
    shape.push_back(type.getDimSize(dim));
  build(builder, state, type.withShape(shape), operand, perm);
}

LogicalResult TransposeOp::verify() {
  ArrayType operand = getOperand().getType();
  if (static_cast<int64_t>(getPerm().size()) != operand.getRank())
    return emitOpError("requires a permutation of all dimensions");
  if (failed(verifyDims(*this, getPerm(), operand.getRank(), "dimension")))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t dim : getPerm())
    shape.push_back(operand.getDimSize(dim));
  return verifyResult(*this, shape, operand.getElementType());
}

static int64_t slicedSize(int64_t start, int64_t limit, int64_t stride) {
  return limit <= start ? 0 : (limit - start + stride - 1) / stride;
}

void SliceOp::build(OpBuilder &builder, OperationState &state, Value operand, ArrayRef<int64_t> starts,
                    ArrayRef<int64_t> limits, ArrayRef<int64_t> strides) {
  SmallVector<int64_t> shape;
  for (auto [start, limit, stride] : llvm::zip(starts, limits, strides))
    shape.push_back(slicedSize(start, limit, stride));
  build(builder, state, typeOf(operand).withShape(shape), operand, starts, limits, strides);
}

LogicalResult SliceOp::verify() {
  ArrayType operand = getOperand().getType();
  auto rank = static_cast<size_t>(operand.getRank());
  if (getStarts().size() != rank || getLimits().size() != rank || getStrides().size() != rank)
    return emitOpError("requires start, limit and step for each dimension");
  SmallVector<int64_t> shape;
  for (auto [dim, start, limit, stride] : llvm::enumerate(getStarts(), getLimits(), getStrides())) {
    if (stride < 1 || start < 0 || start > limit || limit > operand.getDimSize(dim))
      return emitOpError() << "cannot take [" << start << ":" << limit << ":" << stride << "] of dimension " << dim
                           << " of " << operand.str();
    shape.push_back(slicedSize(start, limit, stride));
  }
  return verifyResult(*this, shape, operand.getElementType());
}

bool isPlainZero(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant || !constant.getValue().isSplat())
    return false;
  if (isa<FloatType>(constant.getValue().getElementType()))
    return constant.getValue().getSplatValue<APFloat>().isPosZero();
  return constant.getValue().getSplatValue<APInt>().isZero();
}

LogicalResult PadOp::verify() {
  ArrayType operand = getOperand().getType(), value = getValue().getType();
  auto rank = static_cast<size_t>(operand.getRank());
  if (getLow().size() != rank || getHigh().size() != rank || getInterior().size() != rank)
    return emitOpError("requires low, high and interior for each dimension");
  if (value.getRank() != 0 || value.getElementType() != operand.getElementType())
    return failWithDefinitions(emitOpError()
                                   << "pads " << operand.str() << " with a scalar of its dtype, got " << value.str(),
                               {{getOperand(), "the array"}, {getValue(), "the scalar"}});
  SmallVector<int64_t> shape;
  for (auto [dim, low, high, interior] : llvm::enumerate(getLow(), getHigh(), getInterior())) {
    if (interior < 0)
      return emitOpError("interior padding cannot be negative");
    int64_t size = operand.getDimSize(dim);
    int64_t padded = low + high + (size ? (size - 1) * (interior + 1) + 1 : 0);
    if (padded < 0)
      return emitOpError() << "removes more of dimension " << dim << " than its " << size << " elements";
    shape.push_back(padded);
  }
  return verifyResult(*this, shape, operand.getElementType());
}

LogicalResult ConcatenateOp::verify() {
  if (getOperands().empty())
    return emitOpError("requires at least one operand");
  ArrayType first = typeOf(getOperands()[0]);
  auto dim = static_cast<int64_t>(getDim());
  if (failed(verifyDims(*this, {dim}, first.getRank(), "dimension")))
    return failure();
  SmallVector<int64_t> shape(first.getShape());
  shape[dim] = 0;
  for (Value operand : getOperands()) {
    ArrayType type = typeOf(operand);
    SmallVector<int64_t> expected(shape);
    if (type.getRank() == first.getRank())
      expected[dim] = type.getDimSize(dim);
    if (type.getShape() != ArrayRef<int64_t>(expected) || type.getElementType() != first.getElementType())
      return failWithDefinitions(emitOpError() << "cannot concatenate " << first.str() << " and " << type.str()
                                               << " along dimension " << dim,
                                 {{getOperands()[0], "the first"}, {operand, "the second"}});
    shape[dim] += type.getDimSize(dim);
  }
  return verifyResult(*this, shape, first.getElementType());
}

LogicalResult ReverseOp::verify() {
  if (failed(verifyDims(*this, getDims(), getType().getRank(), "dimension")))
    return failure();
  return verifySameArray(*this);
}

static SmallVector<int64_t> freeDims(int64_t rank, ArrayRef<int64_t> contract, ArrayRef<int64_t> batch) {
  SmallVector<int64_t> result;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(contract, dim) && !llvm::is_contained(batch, dim))
      result.push_back(dim);
  return result;
}

SmallVector<int64_t> DotGeneralOp::getLhsFreeDims() {
  return freeDims(getLhs().getType().getRank(), getLhsContract(), getLhsBatch());
}

SmallVector<int64_t> DotGeneralOp::getRhsFreeDims() {
  return freeDims(getRhs().getType().getRank(), getRhsContract(), getRhsBatch());
}

SmallVector<int64_t> DotGeneralOp::inferShape(ArrayType lhs, ArrayType rhs, ArrayRef<int64_t> lhsContract,
                                              ArrayRef<int64_t> rhsContract, ArrayRef<int64_t> lhsBatch,
                                              ArrayRef<int64_t> rhsBatch) {
  SmallVector<int64_t> shape;
  for (int64_t dim : lhsBatch)
    shape.push_back(lhs.getDimSize(dim));
  for (int64_t dim : freeDims(lhs.getRank(), lhsContract, lhsBatch))
    shape.push_back(lhs.getDimSize(dim));
  for (int64_t dim : freeDims(rhs.getRank(), rhsContract, rhsBatch))
    shape.push_back(rhs.getDimSize(dim));
  return shape;
}

LogicalResult DotGeneralOp::verify() {
  ArrayType lhs = getLhs().getType(), rhs = getRhs().getType();
  SmallVector<int64_t> lhsDims(getLhsContract()), rhsDims(getRhsContract());
  llvm::append_range(lhsDims, getLhsBatch());
  llvm::append_range(rhsDims, getRhsBatch());
  if (failed(verifyDims(*this, lhsDims, lhs.getRank(), "lhs dimension")) ||
      failed(verifyDims(*this, rhsDims, rhs.getRank(), "rhs dimension")))
    return failure();
  if (getLhsContract().size() != getRhsContract().size() || getLhsBatch().size() != getRhsBatch().size())
    return emitOpError("requires as many dimensions of lhs as of rhs");
  for (auto [left, right] : llvm::zip(lhsDims, rhsDims))
    if (lhs.getDimSize(left) != rhs.getDimSize(right))
      return failWithDefinitions(emitOpError() << "dimension " << left << " of " << lhs.str() << " and dimension "
                                               << right << " of " << rhs.str() << " differ in size",
                                 {{getLhs(), "lhs"}, {getRhs(), "rhs"}});
  if (lhs.getElementType() != rhs.getElementType())
    return failWithDefinitions(emitOpError() << "element types differ: " << lhs.str() << " and " << rhs.str(),
                               {{getLhs(), "lhs"}, {getRhs(), "rhs"}});
  if (isa<FloatType>(lhs.getElementType()) != isa<FloatType>(getType().getElementType()))
    return emitOpError() << "cannot accumulate " << lhs.withoutSharding().str() << " in " << getType().str();
  return verifyResult(*this, inferShape(lhs, rhs, getLhsContract(), getRhsContract(), getLhsBatch(), getRhsBatch()),
                      getType().getElementType());
}

static SmallVector<int64_t> withoutDims(ArrayType type, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> shape;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (!llvm::is_contained(dims, dim))
      shape.push_back(type.getDimSize(dim));
  return shape;
}

void ReduceOp::build(OpBuilder &builder, OperationState &state, Value operand, ReductionKind kind,
                     ArrayRef<int64_t> dims) {
  ArrayType type = typeOf(operand);
  build(builder, state, type.withShape(withoutDims(type, dims)), operand, kind, dims);
}

LogicalResult ReduceOp::verify() {
  ArrayType operand = getOperand().getType();
  if (failed(verifyDims(*this, getDims(), operand.getRank(), "dimension")))
    return failure();
  // Partial sums may have a wider element type than the sum.
  bool isWide = mayHoldPartialSums(getType(), operand.getElementType());
  return verifyResult(*this, withoutDims(operand, getDims()), (isWide ? getType() : operand).getElementType());
}

LogicalResult ArgReduceOp::verify() {
  ArrayType operand = getOperand().getType();
  auto dim = static_cast<int64_t>(getDim());
  if (failed(verifyDims(*this, {dim}, operand.getRank(), "dimension")))
    return failure();
  if (operand.getDimSize(dim) == 0)
    return emitOpError() << "dimension " << dim << " of " << operand.str() << " is empty: it has no extreme element";
  if (failed(verifyPositions(*this, operand.getDimSize(dim))))
    return failure();
  return verifyResult(*this, withoutDims(operand, {dim}), getType().getElementType());
}

LogicalResult CumulativeOp::verify() {
  if (failed(verifyDims(*this, {static_cast<int64_t>(getDim())}, getType().getRank(), "dimension")))
    return failure();
  if (getContinued() && getDim() == 0)
    return emitOpError("has no dimension before dimension 0 to continue from");
  return verifySameArray(*this);
}

ArrayType CumulativeOp::getJoinedType() {
  auto dim = static_cast<int64_t>(getDim());
  SmallVector<int64_t> shape(getType().getShape());
  shape[dim - 1] *= shape[dim];
  shape.erase(shape.begin() + dim);
  return getType().withShape(shape);
}

} // namespace spmdc

#define GET_OP_CLASSES
#include "ir/array/ArrayOps.cpp.inc"
