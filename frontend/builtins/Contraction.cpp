//===- Contraction.cpp - sums of products over named dimensions -----------===//

#include "frontend/builtins/Contraction.h"

#include "llvm/ADT/STLExtras.h"

namespace spmdc {

namespace {

/// Replaces two dimensions with the same label by their diagonal: in row-major order, every (n + 1)-th element of the
/// merged dimensions.
Labelled takeDiagonals(Emitter &e, Labelled operand) {
  for (size_t i = 0; i < operand.labels.size(); ++i) {
    auto twin = std::find(operand.labels.begin() + i + 1, operand.labels.end(), operand.labels[i]);
    if (twin == operand.labels.end())
      continue;
    size_t j = twin - operand.labels.begin();
    llvm::SmallVector<int64_t> perm, shape;
    llvm::SmallVector<int64_t> labels;
    for (size_t dim = 0; dim < operand.labels.size(); ++dim)
      if (dim != i && dim != j) {
        perm.push_back(dim);
        labels.push_back(operand.labels[dim]);
        shape.push_back(plainTypeOf(operand.array).getDimSize(dim));
      }
    int64_t n = plainTypeOf(operand.array).getDimSize(i);
    perm.append({static_cast<int64_t>(i), static_cast<int64_t>(j)});
    labels.push_back(operand.labels[i]);
    shape.push_back(n * n);
    mlir::Value joined = e.reshape(e.transpose(operand.array, perm), shape);
    operand = {e.sliceDim(joined, shape.size() - 1, 0, n * n, n + 1), labels};
    i = static_cast<size_t>(-1); // Labels have moved: start again.
  }
  return operand;
}

/// Sums over the labels that no other operand and not the result needs.
Labelled sumOut(Emitter &e, Labelled operand, llvm::function_ref<bool(int64_t)> isNeeded) {
  llvm::SmallVector<int64_t> dims;
  llvm::SmallVector<int64_t> kept;
  for (auto [dim, label] : llvm::enumerate(operand.labels)) {
    if (isNeeded(label))
      kept.push_back(label);
    else
      dims.push_back(dim);
  }
  return {e.reduce(operand.array, ReductionKind::sum, dims), kept};
}

} // namespace

mlir::Value emitContraction(Emitter &e, llvm::SmallVector<Labelled> operands, llvm::ArrayRef<int64_t> output) {
  for (Labelled &operand : operands)
    operand = takeDiagonals(e, std::move(operand));
  auto isInResult = [&](int64_t label) { return llvm::is_contained(output, label); };
  for (size_t i = 0; i < operands.size(); ++i)
    operands[i] = sumOut(e, operands[i], [&](int64_t label) {
      return isInResult(label) || llvm::any_of(llvm::enumerate(operands), [&](auto other) {
               return other.index() != i && other.value().has(label);
             });
    });
  auto typeOf = [&](llvm::ArrayRef<int64_t> labels) {
    llvm::SmallVector<int64_t> shape;
    for (int64_t label : labels)
      shape.push_back(llvm::find_if(operands, [&](const Labelled &x) { return x.has(label); })->sizeOf(label));
    return e.admit(plainTypeOf(operands[0].array).withShape(shape));
  };
  if (operands.size() > 2) {
    llvm::SmallVector<mlir::Value> arrays;
    llvm::SmallVector<llvm::SmallVector<int64_t>> labels;
    for (const Labelled &operand : operands) {
      arrays.push_back(operand.array);
      labels.push_back(operand.labels);
    }
    return e.create<EinsumOp>(typeOf(output), arrays, labels, output);
  }
  mlir::Location loc = e.loc();
  Labelled product =
      operands.size() == 1 ? operands[0] : contractPair(e.builder, loc, operands[0], operands[1], isInResult, typeOf);
  return transposeTo(e.builder, loc, product, output, typeOf);
}

} // namespace spmdc
