//===- ExportIndex.cpp - gathers, scatters, sorts -------------------------===//
//
// StableHLO clamps the indices of a gather and drops the updates of a scatter that are outside, as the array operations
// do. Indices get a dimension of one element behind the others, implicitly.
//
//===----------------------------------------------------------------------===//

#include "frontend/stablehlo/export/Exporter.h"

#include "ir/array/ScatterOp.h"

#include <limits>

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// begin, begin + 1, ..., end - 1.
SmallVector<int64_t> range(int64_t begin, int64_t end) { return llvm::to_vector(llvm::seq<int64_t>(begin, end)); }

/// 0, 1, ..., rank - 1 without `dim`.
SmallVector<int64_t> othersOf(int64_t rank, int64_t dim) {
  SmallVector<int64_t> dims = range(0, rank);
  dims.erase(dims.begin() + dim);
  return dims;
}

int64_t rankOf(Value tensor) { return llvm::cast<RankedTensorType>(tensor.getType()).getRank(); }

/// The dimensions of a take's result that are the operand's and not the indices'.
SmallVector<int64_t> windowDims(int64_t operandRank, int64_t indicesRank, int64_t dim) {
  SmallVector<int64_t> dims = range(0, dim);
  dims.append(range(dim + indicesRank, operandRank + indicesRank - 1));
  return dims;
}

Value gather(Exporter &e, Value array, Value x, Value indices, GatherDimsAttr dims, ArrayRef<int64_t> sizes) {
  RankedTensorType type = Exporter::typeOf(array);
  if (type.getNumElements() == 0) // The operand may have no element to take.
    return e.splat(type, Scalar());
  return e.create<GatherOp>(type, x, indices, dims, sizes);
}

Value take(Exporter &e, spmdc::TakeOp op) {
  Value x = e.get(op.getOperand()), indices = e.get(op.getIndices());
  auto dim = static_cast<int64_t>(op.getDim());
  SmallVector<int64_t> sizes(llvm::cast<RankedTensorType>(x.getType()).getShape());
  sizes[dim] = 1;
  auto dims = GatherDimsAttr::get(e.b.getContext(), windowDims(rankOf(x), rankOf(indices), dim), {dim}, {}, {}, {dim},
                                  rankOf(indices));
  return gather(e, op.getResult(), x, indices, dims, sizes);
}

Value takeAlong(Exporter &e, spmdc::TakeAlongOp op) {
  Value x = e.get(op.getOperand()), indices = e.get(op.getIndices());
  auto dim = static_cast<int64_t>(op.getDim());
  SmallVector<int64_t> others = othersOf(rankOf(x), dim), sizes(rankOf(x), 1);
  auto dims = GatherDimsAttr::get(e.b.getContext(), {}, {dim}, others, others, {dim}, rankOf(indices));
  return gather(e, op.getResult(), x, indices, dims, sizes);
}

/// Combines updates, sums and products of bf16 and f16 in f32, rounded once. Without a kind, they replace elements.
Value scatter(Exporter &e, Value array, Value x, Value indices, Value updates, ScatterDimsAttr dims,
              std::optional<ReductionKind> kind = ReductionKind::sum, bool isUnique = false) {
  RankedTensorType type = Exporter::typeOf(array);
  Type element = kind ? e.accumulatorOf(*kind, type.getElementType()) : type.getElementType();
  auto made = e.create<ScatterOp>(TypeRange{type.clone(element)}, e.convert(x, element), indices,
                                  e.convert(updates, element), dims);
  made.setUniqueIndices(isUnique);
  Type scalar = RankedTensorType::get({}, element);
  if (kind)
    e.fillCombiner(made.getUpdateComputation(), *kind, element);
  else
    e.fill(made.getUpdateComputation(), {scalar, scalar},
           [](auto arguments) { return SmallVector<Value>{arguments[1]}; });
  return e.convert(made.getResult(0), type.getElementType());
}

Value scatterAddRows(Exporter &e, spmdc::ScatterAddOp op) {
  Value x = e.get(op.getOperand()), indices = e.get(op.getIndices());
  auto dim = static_cast<int64_t>(op.getDim());
  auto dims = ScatterDimsAttr::get(e.b.getContext(), windowDims(rankOf(x), rankOf(indices), dim), {dim}, {}, {}, {dim},
                                   rankOf(indices));
  return scatter(e, op.getResult(), x, indices, e.get(op.getUpdates()), dims);
}

Value scatterAddAlong(Exporter &e, spmdc::ScatterAddAlongOp op) {
  Value x = e.get(op.getOperand()), indices = e.get(op.getIndices());
  auto dim = static_cast<int64_t>(op.getDim());
  SmallVector<int64_t> others = othersOf(rankOf(x), dim);
  auto dims = ScatterDimsAttr::get(e.b.getContext(), {}, {dim}, others, others, {dim}, rankOf(indices));
  return scatter(e, op.getResult(), x, indices, e.get(op.getUpdates()), dims);
}

/// Any other kind, without the window of a sum's result.
Value scatterAny(Exporter &e, spmdc::ScatterOp op) {
  Value x = e.get(op.getOperand()), indices = e.get(op.getIndices());
  auto dim = static_cast<int64_t>(op.getDim());
  SmallVector<int64_t> others = op.getAlong() ? othersOf(rankOf(x), dim) : SmallVector<int64_t>();
  SmallVector<int64_t> window = op.getAlong() ? SmallVector<int64_t>() : windowDims(rankOf(x), rankOf(indices), dim);
  auto dims = ScatterDimsAttr::get(e.b.getContext(), window, {dim}, others, others, {dim}, rankOf(indices));
  std::optional<ReductionKind> kind = spmdc::getReductionKind(op.getKind());
  return scatter(e, op.getResult(), x, indices, e.get(op.getUpdates()), dims, kind, op.getUnique());
}

/// A stable sort of the elements and their positions. Ascending, zeros of both signs are equal, and NaN is larger than
/// any number: the comparator makes all of them one before it compares, as JAX does. Descending, it compares bits.
Value argsort(Exporter &e, spmdc::ArgsortOp op) {
  Value x = e.get(op.getOperand());
  auto type = llvm::cast<RankedTensorType>(x.getType());
  RankedTensorType positionType = Exporter::typeOf(op.getResult());
  Value positions = e.create<IotaOp>(positionType, op.getDim());
  auto made = e.create<SortOp>(TypeRange{type, positionType}, ValueRange{x, positions}, op.getDim(), true);
  bool isFloat = llvm::isa<FloatType>(type.getElementType());
  Type scalar = RankedTensorType::get({}, type.getElementType());
  Type position = RankedTensorType::get({}, positionType.getElementType());
  e.fill(made.getComparator(), {scalar, scalar, position, position}, [&](auto arguments) {
    auto number = [&](Value value) {
      Value zero = e.splatLike(value, 0), nan = e.splatLike(value, std::numeric_limits<double>::quiet_NaN());
      Value one = e.select(e.compare(value, "EQ", zero), zero, value);
      return e.select(e.compare(value, "NE", value), nan, one);
    };
    bool isNumber = isFloat && !op.getDescending();
    Value left = isNumber ? number(arguments[0]) : arguments[0];
    Value right = isNumber ? number(arguments[1]) : arguments[1];
    return SmallVector<Value>{e.compare(left, op.getDescending() ? "GT" : "LT", right, /*isTotal=*/true)};
  });
  return made.getResult(1);
}

} // namespace

void addIndexExports(ExportRules &rules) {
  rules.add<spmdc::ArgsortOp>(argsort);
  rules.add<spmdc::ScatterAddAlongOp>(scatterAddAlong);
  rules.add<spmdc::ScatterAddOp>(scatterAddRows);
  rules.add<spmdc::ScatterOp>(scatterAny);
  rules.add<spmdc::TakeAlongOp>(takeAlong);
  rules.add<spmdc::TakeOp>(take);
}

} // namespace spmdc::stablehlo
