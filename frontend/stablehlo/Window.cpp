//===- Window.cpp - the windows of a reduction ----------------------------===//

#include "frontend/stablehlo/Window.h"

using namespace mlir;

namespace spmdc::stablehlo {

std::optional<Window> Window::get(size_t rank, std::optional<ArrayRef<int64_t>> sizes,
                                  std::optional<ArrayRef<int64_t>> strides,
                                  std::optional<ArrayRef<int64_t>> baseDilations,
                                  std::optional<ArrayRef<int64_t>> dilations,
                                  std::optional<DenseIntElementsAttr> padding) {
  auto listOf = [&](std::optional<ArrayRef<int64_t>> list) {
    return list ? SmallVector<int64_t>(*list) : SmallVector<int64_t>(rank, 1);
  };
  Window window{listOf(sizes), listOf(strides), listOf(baseDilations), listOf(dilations), {}, {}};
  for (const SmallVector<int64_t> *list : {&window.sizes, &window.strides, &window.baseDilations, &window.dilations})
    if (list->size() != rank || llvm::any_of(*list, [](int64_t number) { return number < 1; }))
      return std::nullopt;
  if (padding && padding->getNumElements() != static_cast<int64_t>(2 * rank))
    return std::nullopt;
  for (size_t dim = 0; dim < rank; ++dim) {
    auto at = [&](size_t i) { return padding ? padding->getValues<APInt>()[i].getSExtValue() : 0; };
    window.low.push_back(at(2 * dim));
    window.high.push_back(at(2 * dim + 1));
  }
  return window;
}

int64_t Window::countPlaces(size_t dim, int64_t size) const {
  int64_t room = size - ((sizes[dim] - 1) * dilations[dim] + 1);
  return room < 0 ? 0 : room / strides[dim] + 1;
}

} // namespace spmdc::stablehlo
