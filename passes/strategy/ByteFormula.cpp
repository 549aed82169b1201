//===- ByteFormula.cpp - values computed from an array of bytes -----------===//

#include "passes/strategy/ByteFormula.h"

#include "ir/array/ArrayOps.h"
#include "passes/sharding/Rematerialization.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace spmdc {
namespace {

/// A conversion from f8E5M2, the longest, has 14 operations on arrays, and others may follow.
constexpr size_t kMostOperations = 32;

bool isBitOperation(Operation *op) {
  return isa_and_nonnull<AddOp, AndOp, BitcastConvertOp, CompareOp, ConvertOp, MaximumOp, MinimumOp, MultiplyOp, OrOp,
                         SelectOp, ShiftLeftOp, ShiftRightArithmeticOp, ShiftRightLogicalOp, SubtractOp, XorOp>(op);
}

bool isBytes(Value value) {
  Type element = typeOf(value).getElementType();
  return element.isInteger() && element.getIntOrFloatBitWidth() == 8;
}

class Search {
public:
  explicit Search(llvm::function_ref<Value(Value)> getOriginal) : getOriginal(getOriginal) {}

  bool visit(Value copy) {
    Value value = getOriginal(copy);
    if (typeOf(value).getRank() == 0 || isRematerializable(value) || !seen.insert(value).second)
      return true;
    if (isBytes(value)) {
      bool isOnlyOne = !formula.bytes;
      formula.bytes = value;
      return isOnlyOne;
    }
    Operation *op = value.getDefiningOp();
    if (!isBitOperation(op) || seen.size() > kMostOperations ||
        !llvm::all_of(op->getOperands(), [&](Value operand) { return visit(operand); }))
      return false;
    formula.operations.push_back(op);
    return true;
  }

  ByteFormula formula;

private:
  llvm::function_ref<Value(Value)> getOriginal;
  llvm::SmallDenseSet<Value> seen;
};

} // namespace

std::optional<ByteFormula> findByteFormula(Value value, llvm::function_ref<Value(Value)> getOriginal) {
  Search search(getOriginal);
  if (isBytes(value) || typeOf(value).getElementType().isInteger(1) || !search.visit(value) || !search.formula.bytes)
    return std::nullopt;
  return std::move(search.formula);
}

} // namespace spmdc
