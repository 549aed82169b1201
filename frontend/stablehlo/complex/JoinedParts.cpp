//===- JoinedParts.cpp - complex arguments of a program -------------------===//

#include "frontend/stablehlo/complex/JoinedParts.h"

#include "frontend/stablehlo/Translation.h"
#include "frontend/stablehlo/complex/Expander.h"

#include "ir/spmd/ElementFormats.h"

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

RankedTensorType withLastDim(Type type, int64_t size) {
  auto part = llvm::cast<RankedTensorType>(partOf(type));
  SmallVector<int64_t> shape(part.getShape());
  shape.push_back(size);
  return RankedTensorType::get(shape, part.getElementType());
}

Attribute joinedSharding(sdy::TensorShardingAttr annotation) {
  MLIRContext *context = annotation.getContext();
  SmallVector<DimShardingAttr> dims(annotation.getSharding().getDims());
  dims.push_back(DimShardingAttr::get(context, {}, /*isClosed=*/true));
  auto sharding = ShardingAttr::get(context, dims, annotation.getSharding().getUnreduced());
  return sdy::TensorShardingAttr::get(context, annotation.getMesh(), sharding, annotation.getReplicated());
}

/// The location of the first operation that reads an argument: reports name it as the place where the array is taken
/// apart. Arguments themselves have no place in JAX's texts.
Location firstUseOf(BlockArgument argument) {
  Location loc = argument.getLoc();
  for (Operation *user : argument.getUsers()) // The latest use comes first.
    loc = user->getLoc();
  return loc;
}

/// The complex array of an argument.
Value takeApart(OpBuilder &b, Location loc, Value joined, Type complex) {
  auto type = llvm::cast<RankedTensorType>(joined.getType());
  Value parts[2];
  for (int64_t part : {0, 1}) {
    SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape()), strides(type.getRank(), 1);
    starts.back() = part;
    limits.back() = part + 1;
    Value slice = b.create<SliceOp>(loc, withLastDim(complex, 1), joined, starts, limits, strides);
    parts[part] = b.create<ReshapeOp>(loc, partOf(complex), slice);
  }
  return b.create<ComplexOp>(loc, complex, parts[0], parts[1]);
}

/// The array of both parts of a complex result.
Value join(OpBuilder &b, Location loc, Value complex) {
  Type type = complex.getType();
  Value parts[] = {b.create<RealOp>(loc, partOf(type), complex), b.create<ImagOp>(loc, partOf(type), complex)};
  for (Value &part : parts)
    part = b.create<ReshapeOp>(loc, withLastDim(type, 1), part);
  RankedTensorType joined = withLastDim(type, 2);
  return b.create<ConcatenateOp>(loc, joined, parts, joined.getRank() - 1);
}

} // namespace

LogicalResult joinParts(func::FuncOp function, OpBuilder &b) {
  if (function.isExternal())
    return success();
  Block &block = function.getBody().front();
  FunctionType type = function.getFunctionType();
  SmallVector<Type> inputs(type.getInputs()), results(type.getResults());
  b.setInsertionPointToStart(&block);
  for (unsigned i = 0; i < inputs.size(); ++i) {
    if (!isComplex(inputs[i]))
      continue;
    BlockArgument old = block.getArgument(i);
    BlockArgument joined = block.insertArgument(i, withLastDim(inputs[i], 2), old.getLoc());
    Location loc = firstUseOf(old);
    old.replaceAllUsesWith(takeApart(b, loc, joined, inputs[i]));
    block.eraseArgument(i + 1);
    inputs[i] = joined.getType();
    function.setArgAttr(i, kFormatAttrName, getFormatAttr(b.getContext(), spmd::ElementFormat::Complex));
    if (auto sharding = function.getArgAttrOfType<sdy::TensorShardingAttr>(i, "sdy.sharding"))
      function.setArgAttr(i, "sdy.sharding", joinedSharding(sharding));
  }
  Operation *end = block.getTerminator();
  b.setInsertionPoint(end);
  for (unsigned i = 0; i < results.size(); ++i) {
    if (!isComplex(results[i]))
      continue;
    if (i >= end->getNumOperands() || end->getOperand(i).getType() != results[i])
      return refuse(function, "returns other types than it declares");
    end->setOperand(i, join(b, end->getOperand(i).getLoc(), end->getOperand(i)));
    results[i] = withLastDim(results[i], 2);
    function.setResultAttr(i, kFormatAttrName, getFormatAttr(b.getContext(), spmd::ElementFormat::Complex));
    if (auto sharding = function.getResultAttrOfType<sdy::TensorShardingAttr>(i, "sdy.sharding"))
      function.setResultAttr(i, "sdy.sharding", joinedSharding(sharding));
  }
  function.setFunctionType(b.getFunctionType(inputs, results));
  return success();
}

} // namespace spmdc::stablehlo
