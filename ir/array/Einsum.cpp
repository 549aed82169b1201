//===- Einsum.cpp - array.einsum -------------------------------------------===//

#include "ir/array/ArrayOps.h"
#include "ir/array/Formula.h"
#include "ir/array/ScalarEvaluation.h"
#include "ir/array/Verification.h"
#include "ir/spmd/DefinitionNotes.h"

#include <map>

using namespace mlir;

namespace spmdc {

void EinsumOp::build(OpBuilder &builder, OperationState &state, ArrayType type, ValueRange operands,
                     ArrayRef<SmallVector<int64_t>> labels, ArrayRef<int64_t> resultLabels) {
  SmallVector<Attribute> lists;
  for (const SmallVector<int64_t> &list : labels)
    lists.push_back(builder.getDenseI64ArrayAttr(list));
  build(builder, state, type, operands, builder.getArrayAttr(lists), builder.getDenseI64ArrayAttr(resultLabels));
}

ArrayRef<int64_t> EinsumOp::getLabelsOf(unsigned operand) {
  return cast<DenseI64ArrayAttr>(getLabels()[operand]).asArrayRef();
}

LogicalResult EinsumOp::verify() {
  if (getNumOperands() < 2)
    return emitOpError("requires at least two operands");
  if (getLabels().size() != getNumOperands() || !llvm::all_of(getLabels(), llvm::IsaPred<DenseI64ArrayAttr>))
    return emitOpError("requires a list of labels for each operand");
  auto isTwice = [](ArrayRef<int64_t> labels) {
    SmallVector<int64_t> sorted(labels);
    llvm::sort(sorted);
    return std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
  };
  Type elementType = getType().getElementType();
  std::map<int64_t, int64_t> sizes, users;
  std::map<int64_t, Value> firstWith; ///< By label, the first operand that has it.
  for (auto [index, operand] : llvm::enumerate(getOperands())) {
    auto type = cast<ArrayType>(operand.getType());
    ArrayRef<int64_t> labels = getLabelsOf(index);
    if (type.getRank() != static_cast<int64_t>(labels.size()) || isTwice(labels))
      return emitOpError() << "operand " << index << " requires one label for each of its dimensions, none twice";
    if (type.getElementType() != elementType)
      return failWithDefinitions(emitOpError() << "element types differ: " << type.str() << " and " << getType().str(),
                                 {{operand, "operand " + std::to_string(index)}});
    for (auto [label, size] : llvm::zip(labels, type.getShape())) {
      ++users[label];
      auto [first, isNew] = firstWith.try_emplace(label, operand);
      if (sizes.emplace(label, size).first->second != size)
        return failWithDefinitions(emitOpError() << "dimensions with the label " << label << " differ in size: "
                                                 << sizes[label] << " and " << size << " in " << type.str(),
                                   {{first->second, "the first"}, {operand, "the second"}});
    }
  }
  if (isTwice(getResultLabels()))
    return emitOpError("has the same label twice in its result");
  SmallVector<int64_t> shape;
  for (int64_t label : getResultLabels()) {
    if (!sizes.count(label))
      return emitOpError() << "has the label " << label << " in its result, but in no operand";
    shape.push_back(sizes[label]);
  }
  for (auto [label, count] : users)
    if (count == 1 && !llvm::is_contained(getResultLabels(), label))
      return emitOpError() << "has the label " << label << " in one operand only: reduce that dimension first";
  return verifyResult(*this, shape, elementType);
}

ShardingRule EinsumOp::getShardingRule() {
  ShardingRule rule;
  std::map<int64_t, int64_t> factors;
  auto factorsOf = [&](ArrayRef<int64_t> labels, ArrayType type, FactorKind kind) {
    ValueFactors dims;
    for (auto [label, size] : llvm::zip(labels, type.getShape())) {
      if (!factors.count(label))
        factors[label] = rule.addFactor(size, kind);
      dims.push_back({factors[label]});
    }
    return dims;
  };
  rule.results = {factorsOf(getResultLabels(), getType(), FactorKind::PassThrough)};
  for (auto [index, operand] : llvm::enumerate(getOperands()))
    rule.operands.push_back(factorsOf(getLabelsOf(index), cast<ArrayType>(operand.getType()), FactorKind::Reduction));
  return rule;
}

TypedAttr EinsumOp::getPaddingValue(unsigned) {
  // All operands: 0 times the padding of another operand (infinity, NaN) may not be 0.
  return scalarAttr(getType().getElementType(), Scalar());
}

Tensor EinsumOp::evaluate(ArrayRef<Tensor> operands) {
  Type type = getType().getElementType();
  SmallVector<int64_t> order(getResultLabels()), shape(getType().getShape());
  for (auto [index, operand] : llvm::enumerate(operands))
    for (auto [label, size] : llvm::zip(getLabelsOf(index), operand.shape))
      if (!llvm::is_contained(order, label)) {
        order.push_back(label);
        shape.push_back(size);
      }
  // For each operand: the position of each of its dimensions in this list.
  SmallVector<SmallVector<int64_t>> places;
  for (size_t index = 0; index < operands.size(); ++index) {
    places.emplace_back();
    for (int64_t label : getLabelsOf(index))
      places.back().push_back(llvm::find(order, label) - order.begin());
  }
  Tensor result(getType().getShape(), type, Scalar());
  if (elementCount(shape) == 0)
    return result;
  bool isSum = order.size() > getResultLabels().size();
  SmallVector<int64_t> at(shape.size());
  do {
    Scalar product;
    for (auto [index, operand] : llvm::enumerate(operands)) {
      SmallVector<int64_t> position;
      for (int64_t place : places[index])
        position.push_back(at[place]);
      product = index ? evaluateMultiply(type, product, operand.at(position)) : operand.at(position);
    }
    Scalar &sum = result.at(ArrayRef<int64_t>(at).take_front(getResultLabels().size()));
    sum = isSum ? evaluateAdd(type, sum, product) : product; // -0 stays -0 if nothing is added.
  } while (nextIndex(at, shape));
  for (Scalar &element : result.elements)
    element = roundTo(element, type);
  return result;
}

SmallVector<Value> EinsumOp::buildCotangents(OpBuilder &builder, Location loc, Value cotangent,
                                             ArrayRef<bool> isNeeded) {
  SmallVector<Value> cotangents(getNumOperands());
  for (unsigned index = 0; index < getNumOperands(); ++index) {
    if (!isNeeded[index])
      continue;
    // The cotangent takes the operand's place.
    SmallVector<Value> factors(getOperands());
    SmallVector<SmallVector<int64_t>> labels;
    for (unsigned other = 0; other < getNumOperands(); ++other)
      labels.emplace_back(other == index ? getResultLabels() : getLabelsOf(other));
    factors[index] = cotangent;
    auto type = cast<ArrayType>(getOperand(index).getType()).withoutSharding();
    cotangents[index] = builder.create<EinsumOp>(loc, type, factors, labels, getLabelsOf(index));
  }
  return cotangents;
}

} // namespace spmdc
