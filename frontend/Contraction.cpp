//===- Contraction.cpp - sums of products over named dimensions -----------===//

#include "frontend/Contraction.h"

#include "llvm/ADT/STLExtras.h"

namespace spmdc {

namespace {

int64_t sizeOf(const Labelled &operand, int label) {
  for (auto [dim, other] : llvm::enumerate(operand.labels))
    if (other == label)
      return Emitter::typeOf(operand.array).getDimSize(dim);
  return 1;
}

/// The diagonal of two dimensions with the same label, which becomes one. In row-major order it is every (n + 1)-th
/// element of the two dimensions joined.
Labelled takeDiagonals(Emitter &e, Labelled operand) {
  for (size_t i = 0; i < operand.labels.size(); ++i) {
    auto twin = std::find(operand.labels.begin() + i + 1, operand.labels.end(), operand.labels[i]);
    if (twin == operand.labels.end())
      continue;
    size_t j = twin - operand.labels.begin();
    llvm::SmallVector<int64_t> perm, shape;
    llvm::SmallVector<int> labels;
    for (size_t dim = 0; dim < operand.labels.size(); ++dim)
      if (dim != i && dim != j) {
        perm.push_back(dim);
        labels.push_back(operand.labels[dim]);
        shape.push_back(Emitter::typeOf(operand.array).getDimSize(dim));
      }
    int64_t n = Emitter::typeOf(operand.array).getDimSize(i);
    perm.append({static_cast<int64_t>(i), static_cast<int64_t>(j)});
    labels.push_back(operand.labels[i]);
    shape.push_back(n * n);
    mlir::Value joined = e.reshape(e.transpose(operand.array, perm), shape);
    operand = {e.sliceDim(joined, shape.size() - 1, 0, n * n, n + 1), labels};
    i = static_cast<size_t>(-1); // Labels have moved: look again from the first.
  }
  return operand;
}

/// Sums over the labels that nothing else needs.
Labelled sumOut(Emitter &e, Labelled operand, llvm::function_ref<bool(int)> isNeeded) {
  llvm::SmallVector<int64_t> dims;
  llvm::SmallVector<int> kept;
  for (auto [dim, label] : llvm::enumerate(operand.labels)) {
    if (isNeeded(label))
      kept.push_back(label);
    else
      dims.push_back(dim);
  }
  return {e.reduce(operand.array, ReductionKind::sum, dims), kept};
}

/// Dimensions of `target` in its order; labels that the operand lacks get the size that `shape` has.
mlir::Value spreadTo(Emitter &e, const Labelled &operand, llvm::ArrayRef<int> target, llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> perm, dims;
  for (auto [dim, label] : llvm::enumerate(target)) {
    auto own = llvm::find(operand.labels, label);
    if (own == operand.labels.end())
      continue;
    perm.push_back(own - operand.labels.begin());
    dims.push_back(dim);
  }
  return e.broadcastInDim(e.transpose(operand.array, perm), shape, dims);
}

/// The product of two operands, summed over the labels that both have and nothing else needs.
Labelled contractPair(Emitter &e, const Labelled &x, const Labelled &y, llvm::function_ref<bool(int)> isNeeded) {
  llvm::SmallVector<int64_t> xContract, yContract, xBatch, yBatch, shape;
  llvm::SmallVector<int> result, xFree, yFree;
  for (auto [dim, label] : llvm::enumerate(x.labels)) {
    auto twin = llvm::find(y.labels, label);
    if (twin == y.labels.end()) {
      xFree.push_back(label);
      continue;
    }
    bool isBatch = isNeeded(label);
    (isBatch ? xBatch : xContract).push_back(dim);
    (isBatch ? yBatch : yContract).push_back(twin - y.labels.begin());
    if (isBatch)
      result.push_back(label);
  }
  for (int label : y.labels)
    if (!llvm::is_contained(x.labels, label))
      yFree.push_back(label);
  result.append(xFree);
  result.append(yFree);
  for (int label : result)
    shape.push_back(llvm::is_contained(x.labels, label) ? sizeOf(x, label) : sizeOf(y, label));
  // Without a sum it is an elementwise product, which fuses with what is around it.
  if (xContract.empty())
    return {e.apply<MultiplyOp>(spreadTo(e, x, result, shape), spreadTo(e, y, result, shape)), result};
  ArrayType type = Emitter::typeOf(x.array).withShape(shape);
  return {e.create<DotGeneralOp>(type, x.array, y.array, xContract, yContract, xBatch, yBatch), result};
}

/// Elements of the pair's product: what the greedy order keeps small.
double resultSize(const Labelled &x, const Labelled &y, llvm::function_ref<bool(int)> isNeeded) {
  double size = 1;
  for (int label : x.labels)
    if (isNeeded(label) || !llvm::is_contained(y.labels, label))
      size *= static_cast<double>(sizeOf(x, label));
  for (int label : y.labels)
    if (!llvm::is_contained(x.labels, label))
      size *= static_cast<double>(sizeOf(y, label));
  return size;
}

} // namespace

mlir::Value emitContraction(Emitter &e, llvm::SmallVector<Labelled> operands, llvm::ArrayRef<int> output) {
  for (Labelled &operand : operands)
    operand = takeDiagonals(e, std::move(operand));
  auto isNeededOutside = [&](size_t i, size_t j) {
    return [&operands, output, i, j](int label) {
      if (llvm::is_contained(output, label))
        return true;
      for (auto [k, operand] : llvm::enumerate(operands))
        if (k != i && k != j && llvm::is_contained(operand.labels, label))
          return true;
      return false;
    };
  };
  for (size_t i = 0; i < operands.size(); ++i)
    operands[i] = sumOut(e, operands[i], isNeededOutside(i, i));
  // The pair with the smallest product first; the first such pair where several are equal.
  while (operands.size() > 1) {
    size_t bestI = 0, bestJ = 1;
    double best = -1;
    for (size_t i = 0; i < operands.size(); ++i)
      for (size_t j = i + 1; j < operands.size(); ++j) {
        double size = resultSize(operands[i], operands[j], isNeededOutside(i, j));
        if (best < 0 || size < best) {
          best = size;
          bestI = i;
          bestJ = j;
        }
      }
    Labelled product = contractPair(e, operands[bestI], operands[bestJ], isNeededOutside(bestI, bestJ));
    operands.erase(operands.begin() + bestJ);
    operands[bestI] = std::move(product);
  }
  llvm::SmallVector<int64_t> perm;
  for (int label : output)
    perm.push_back(llvm::find(operands[0].labels, label) - operands[0].labels.begin());
  return e.transpose(operands[0].array, perm);
}

} // namespace spmdc
