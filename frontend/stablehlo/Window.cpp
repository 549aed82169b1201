//===- Window.cpp - the windows of a reduction ----------------------------===//

#include "frontend/stablehlo/Window.h"

#include "runtime/support/ArraySize.h"

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
    if (list->size() != rank || !llvm::all_of(*list, isWindowFactor))
      return std::nullopt;
  if (!spmd::isAllowedSize(window.sizes, 1))
    return std::nullopt;
  if (padding && padding->getNumElements() != static_cast<int64_t>(2 * rank))
    return std::nullopt;
  for (size_t dim = 0; dim < rank; ++dim) {
    auto at = [&](size_t i) { return padding ? padding->getValues<APInt>()[i].getSExtValue() : 0; };
    window.low.push_back(at(2 * dim));
    window.high.push_back(at(2 * dim + 1));
    if (!isWindowPadding(window.low.back()) || !isWindowPadding(window.high.back()))
      return std::nullopt;
  }
  return window;
}

int64_t Window::countPlaces(size_t dim, int64_t size) const {
  return countWindowPlaces(size, sizes[dim], dilations[dim], strides[dim]);
}

bool isWindowFactor(int64_t number) { return number >= 1 && number <= spmd::kMaxArrayBytes; }

bool isWindowPadding(int64_t number) { return number >= -spmd::kMaxArrayBytes && number <= spmd::kMaxArrayBytes; }

int64_t countWindowPlaces(int64_t size, int64_t window, int64_t dilation, int64_t stride) {
  int64_t room = size - spmd::addSaturated(spmd::multiplySaturated(window - 1, dilation), 1);
  return room < 0 ? 0 : room / stride + 1;
}

} // namespace spmdc::stablehlo
