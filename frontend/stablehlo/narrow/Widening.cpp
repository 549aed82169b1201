//===- Widening.cpp - arithmetic of narrow numbers ------------------------===//

#include "frontend/stablehlo/narrow/Widening.h"

#include "frontend/stablehlo/Formula.h"
#include "frontend/stablehlo/Translation.h"
#include "frontend/stablehlo/narrow/NarrowTypes.h"

using namespace mlir;
using spmd::NarrowFormat;

namespace spmdc::stablehlo {

namespace {

//===- The kinds of operations --------------------------------------------===//

/// Operations that have elements as they are.
bool movesElements(Operation *op) {
  return isa<AllGatherOp, AllToAllOp, BitcastConvertOp, BroadcastInDimOp, CaseOp, CollectiveBroadcastOp,
             CollectivePermuteOp, CompositeOp, ConcatenateOp, ConstantOp, ConvertOp, CustomCallOp, DynamicSliceOp,
             DynamicUpdateSliceOp, GatherOp, IfOp, OptimizationBarrierOp, PadOp, ReshapeOp, ReverseOp, SelectOp,
             SliceOp, TransposeOp, WhileOp, func::CallOp, sdy::ManualComputationOp, sdy::PropagationBarrierOp,
             sdy::ReshardOp, sdy::ShardingConstraintOp, sdy::ShardingGroupOp>(op) ||
         op->hasTrait<OpTrait::IsTerminator>();
}

/// Operations that combine or compare elements by regions of scalars.
bool hasScalarRegion(Operation *op) {
  return isa<AllReduceOp, CollectiveReduceOp, ReduceOp, ReduceScatterOp, ReduceWindowOp, ScatterOp, SelectAndScatterOp,
             SortOp>(op);
}

/// Whether a region returns one of its arguments, as that of a scatter that overwrites.
bool returnsArgument(Region &region) { return llvm::hasSingleElement(region.front()); }

/// Whether the result of an operation is one of its operands, so that it needs no rounding.
bool choosesOperand(Operation *op) { return isa<MaximumOp, MinimumOp, SelectOp>(op); }

//===- Types --------------------------------------------------------------===//

/// The type in which an operation without regions is computed.
Type wideTypeOf(OpBuilder &b, Operation *op, const NarrowFormat &format) {
  if (!format.isFloat())
    return storageOf(b.getContext(), format);
  if (format.special == spmd::SpecialCodes::Exponent) // Beyond the numbers of f16.
    return b.getF32Type();
  if (!isa<DotGeneralOp, ConvolutionOp>(op))
    return b.getF16Type();
  // Exact, with sums of f32.
  Type result = llvm::cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  return result.isF16() ? Type(b.getF16Type()) : Type(b.getBF16Type());
}

/// The type in which regions compute. A sort compares, for which 16 bits are enough.
Type wideTypeOfRegions(OpBuilder &b, Operation *op, const NarrowFormat &format) {
  if (!format.isFloat())
    return storageOf(b.getContext(), format);
  return isa<SortOp>(op) && format.special != spmd::SpecialCodes::Exponent ? Type(b.getF16Type())
                                                                           : Type(b.getF32Type());
}

//===- Widening -----------------------------------------------------------===//

class Widening {
public:
  explicit Widening(MLIRContext *context) : b(context) {}

  void widen(Operation *op) {
    loc = op->getLoc();
    if (hasScalarRegion(op)) {
      if (auto scatter = dyn_cast<ScatterOp>(op))
        widenIndex(scatter.getScatterIndicesMutable());
      if (!llvm::all_of(op->getRegions(), returnsArgument))
        widenRegions(op);
    } else if (isa<PopcntOp, CountLeadingZerosOp, ShiftRightLogicalOp, ShiftRightArithmeticOp>(op)) {
      widenBits(op);
    } else if (movesElements(op)) {
      widenIndices(op);
    } else {
      widenOperands(op, [&](const NarrowFormat &format) { return wideTypeOf(b, op, format); });
      bool isProduct = isa<DotGeneralOp, ConvolutionOp>(op);
      for (OpResult result : op->getResults())
        if (const NarrowFormat *format = findNarrow(result.getType()))
          widenResult(result, isProduct && format->isFloat() ? Type(b.getF32Type()) : wideTypeOf(b, op, *format));
    }
  }

private:
  /// Constants become constants of the type, so that the neutral values of reductions are recognized.
  Value convert(Value value, Type element) {
    if (auto constant = value.getDefiningOp<ConstantOp>())
      if (auto dense = llvm::dyn_cast<DenseElementsAttr>(constant.getValue());
          dense && dense.getType() == value.getType())
        return b.create<ConstantOp>(loc, withElement(value.getType(), element), constantOf(dense, element));
    return b.create<ConvertOp>(loc, withElement(value.getType(), element), value);
  }

  /// Narrow numbers are exact in every wide type.
  static DenseElementsAttr constantOf(DenseElementsAttr narrow, Type element) {
    bool isSigned = !narrow.getElementType().isUnsignedInteger();
    if (auto floats = llvm::dyn_cast<DenseFPElementsAttr>(narrow))
      return floats.mapValues(element, [&](const APFloat &value) {
        APFloat wide = value;
        bool losesInfo = false;
        wide.convert(llvm::cast<FloatType>(element).getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
        return wide.bitcastToAPInt();
      });
    if (const NarrowFormat *format = findNarrow(narrow.getType()); format->isFloat())
      return llvm::cast<DenseIntElementsAttr>(narrow).mapValues(element, [&](const APInt &code) {
        APFloat wide(spmd::decodeNarrow(*format, static_cast<uint8_t>(code.zextOrTrunc(8).getZExtValue())));
        bool losesInfo = false;
        wide.convert(llvm::cast<FloatType>(element).getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
        return wide.bitcastToAPInt();
      });
    return llvm::cast<DenseIntElementsAttr>(narrow).mapValues(element, [&](const APInt &value) {
      return isSigned ? value.sext(element.getIntOrFloatBitWidth()) : value.zext(element.getIntOrFloatBitWidth());
    });
  }

  void widenOperands(Operation *op, llvm::function_ref<Type(const NarrowFormat &)> typeOf) {
    b.setInsertionPoint(op);
    for (OpOperand &operand : op->getOpOperands())
      if (const NarrowFormat *format = findNarrow(operand.get().getType()))
        operand.set(convert(operand.get(), typeOf(*format)));
  }

  /// The operation has a result of this type, which is converted for its users. Results of f32 are rounded to f16
  /// first, as XLA does after products.
  void widenResult(OpResult result, Type element) {
    Type narrow = result.getType();
    result.setType(withElement(narrow, element));
    b.setInsertionPointAfter(result.getOwner());
    Value wide = result;
    Operation *first = nullptr;
    if (isa<DotGeneralOp, ConvolutionOp>(result.getOwner()) && element.isF32()) {
      wide = convert(wide, b.getF16Type());
      first = wide.getDefiningOp();
    }
    Value converted = b.create<ConvertOp>(loc, narrow, wide);
    result.replaceAllUsesExcept(converted, first ? first : converted.getDefiningOp());
  }

  /// An operand that is read as a number, in a type that is not narrow.
  void widenIndex(OpOperand &operand) {
    b.setInsertionPoint(operand.getOwner());
    if (const NarrowFormat *format = findNarrow(operand.get().getType()))
      operand.set(convert(operand.get(), storageOf(b.getContext(), *format)));
  }

  /// The positions of an operation that moves elements.
  void widenIndices(Operation *op) {
    if (isa<CaseOp>(op))
      widenIndex(op->getOpOperand(0));
    unsigned first = isa<DynamicSliceOp, GatherOp>(op) ? 1 : isa<DynamicUpdateSliceOp>(op) ? 2 : op->getNumOperands();
    for (unsigned i = first; i < op->getNumOperands(); ++i)
      widenIndex(op->getOpOperand(i));
  }

  /// Bits of signed integers as unsigned numbers, or the reverse for the shift that repeats the highest bit, which
  /// StableHLO does of unsigned ones, too.
  void widenBits(Operation *op) {
    bool isSigned = isa<ShiftRightArithmeticOp>(op);
    Type narrow = op->getResult(0).getType();
    const NarrowFormat *format = findNarrow(narrow);
    if (!format || format->isFloat())
      return;
    auto bits = static_cast<unsigned>(format->bits);
    // A signed integer is one without a sign in StableHLO's texts.
    auto integer = [&](unsigned width) {
      return isSigned ? b.getIntegerType(width) : b.getIntegerType(width, /*isSigned=*/false);
    };
    Type reread = withElement(narrow, integer(bits)), bytes = integer(8);
    b.setInsertionPoint(op);
    for (auto [number, operand] : llvm::enumerate(op->getOpOperands())) {
      // A distance of a shift is an unsigned number.
      Type type = number == 0 ? reread : withElement(narrow, b.getIntegerType(bits, /*isSigned=*/false));
      Value same = operand.get();
      if (same.getType() != type)
        same = b.create<BitcastConvertOp>(loc, type, same);
      operand.set(b.create<ConvertOp>(loc, withElement(narrow, bytes), same));
    }
    OpResult result = op->getResult(0);
    widenResult(result, bytes);
    if (!isa<CountLeadingZerosOp>(op))
      return;
    auto converted = llvm::cast<ConvertOp>(*result.user_begin());
    b.setInsertionPoint(converted);
    auto more = DenseElementsAttr::get(llvm::cast<ShapedType>(result.getType()), APInt(8, 8 - bits));
    Value zeros = b.create<ConstantOp>(loc, result.getType(), more);
    converted->setOperand(0, b.create<SubtractOp>(loc, result.getType(), result, zeros));
  }

  /// Operands, results and scalars of the regions in the wide type. The sum, product, maximum or minimum of two scalars
  /// stays as it is, so that results are rounded once; other regions round each of their results.
  void widenRegions(Operation *op) {
    auto typeOf = [&](const NarrowFormat &format) { return wideTypeOfRegions(b, op, format); };
    widenOperands(op, typeOf);
    for (OpResult result : op->getResults())
      if (const NarrowFormat *format = findNarrow(result.getType()))
        widenResult(result, typeOf(*format));
    for (Region &region : op->getRegions()) {
      bool isOneOperation = Translation::getReductionKind(region).has_value();
      for (BlockArgument argument : region.getArguments())
        if (const NarrowFormat *format = findNarrow(argument.getType()))
          argument.setType(withElement(argument.getType(), typeOf(*format)));
      SmallVector<Operation *> inner;
      region.walk([&](Operation *each) { inner.push_back(each); });
      // Values from outside, such as constants that JAX's exports have in front of the loops.
      for (Operation *each : inner)
        for (OpOperand &operand : each->getOpOperands())
          if (const NarrowFormat *format = findNarrow(operand.get().getType());
              format && !region.isAncestor(operand.get().getParentRegion())) {
            b.setInsertionPoint(each);
            operand.set(convert(operand.get(), typeOf(*format)));
          }
      for (Operation *each : inner)
        for (OpResult result : each->getResults())
          if (const NarrowFormat *format = findNarrow(result.getType()))
            widenInner(result, typeOf(*format), isOneOperation);
    }
  }

  void widenInner(OpResult result, Type element, bool staysUnrounded) {
    Operation *op = result.getOwner();
    Type narrow = result.getType(), wide = withElement(narrow, element);
    loc = op->getLoc();
    b.setInsertionPointAfter(op);
    if (isa<ConstantOp>(op)) {
      result.replaceAllUsesWith(convert(result, element));
      return;
    }
    Value rounded = result;
    // A conversion to the narrow type rounds itself; other operations do so between two conversions.
    if (!isa<ConvertOp, BitcastConvertOp>(op)) {
      result.setType(wide);
      if (staysUnrounded || choosesOperand(op) || movesElements(op))
        return;
      rounded = b.create<ConvertOp>(loc, narrow, result);
    }
    Value again = b.create<ConvertOp>(loc, wide, rounded);
    SmallPtrSet<Operation *, 2> kept = {again.getDefiningOp()};
    if (rounded != result)
      kept.insert(rounded.getDefiningOp());
    result.replaceAllUsesExcept(again, kept);
  }

  OpBuilder b;
  Location loc = b.getUnknownLoc();
};

bool hasNarrow(Operation *op) {
  auto isNarrow = [](Type type) { return findNarrow(type) != nullptr; };
  return llvm::any_of(op->getOperandTypes(), isNarrow) || llvm::any_of(op->getResultTypes(), isNarrow);
}

} // namespace

void widenNarrow(ModuleOp module) {
  SmallVector<Operation *> all;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (hasNarrow(op))
      all.push_back(op);
    // Regions of scalars are widened with their operation. Where no narrow number enters one, conversions in it are
    // those of a narrow number that stays inside.
    return hasNarrow(op) && hasScalarRegion(op) ? WalkResult::skip() : WalkResult::advance();
  });
  Widening widening(module.getContext());
  for (Operation *op : all)
    widening.widen(op);
}

} // namespace spmdc::stablehlo
