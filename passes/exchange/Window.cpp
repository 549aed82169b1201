//===- Window.cpp - the elements of an array that a device reads ----------===//

#include "passes/exchange/Window.h"

#include "ir/array/LocalBuilder.h"
#include "passes/exchange/ArrayMoves.h"
#include "passes/exchange/Reasons.h"

using namespace mlir;

namespace spmdc {

Window::Window(Value source, ShardingAttr resultSharding, std::vector<WindowDim> dims)
    : source(source), resultSharding(resultSharding), dims(std::move(dims)) {}

bool Window::canMerge(const Window &other) const {
  return source == other.source && resultSharding.hasSameAxes(other.resultSharding) &&
         llvm::all_of(llvm::zip(dims, other.dims),
                      [](auto pair) { return std::get<0>(pair).canMerge(std::get<1>(pair)); });
}

void Window::add(const Window &other) {
  for (auto [dim, more] : llvm::zip(dims, other.dims))
    dim.add(more);
}

ArrayType Window::getType() const {
  SmallVector<int64_t> shape;
  for (const WindowDim &dim : dims)
    shape.push_back(dim.getNumShards() * dim.getLength());
  return typeOf(source).withShape(shape).withSharding(resultSharding);
}

std::vector<spmd::DimMove> Window::getMoves() const {
  std::vector<spmd::DimMove> moves;
  for (const WindowDim &dim : dims)
    moves.push_back(dim.getMove());
  return moves;
}

double Window::getBytes(const spmd::MeshShape &mesh) const {
  return getExchangeBytes(mesh, typeOf(source), getType(), getMoves());
}

Value Window::build(OpBuilder &builder, ShardingRuleOpInterface op, Value array, MeshAttr mesh) const {
  ArrayType from = typeOf(source);
  std::string why =
      (op->getName().stripDialect() + " reads windows of " + from.str() +
       ": each device receives the elements of its window that it lacks" + whyForCondition(op->getResult(0)))
          .str();
  return buildExchange(builder, op->getLoc(), array, {source, getMoves()}, from, getType(), mesh, why);
}

} // namespace spmdc
