//===- CollectiveMatmulCost.cpp - the time of a collective matmul ---------===//

#include "passes/cost/CollectiveMatmulCost.h"

namespace spmdc {
namespace {

class Timer {
public:
  explicit Timer(const CollectiveMatmulWork &work) : work(work) {}

  void compute(double products, double additions = 0) {
    time.computation += products * work.chunkProduct + additions * work.addition;
  }

  /// `count` steps in each of which a device sends one chunk in each of `ways` directions, while `products` products
  /// run. In a scatter, the received chunks are added afterwards.
  void step(double ways, double products, double count = 1) {
    double transfer = work.rates.stepSeconds(ways * work.chunkBytes);
    time.exposed += count * (transfer - work.rates.hiddenSeconds(transfer, products * work.chunkProduct));
    compute(count * products, work.isScatter ? count * ways : 0);
  }

  CollectiveMatmulTime time;

private:
  const CollectiveMatmulWork &work;
};

} // namespace

std::string_view collectiveMatmulKindName(CollectiveMatmulKind way) {
  return way == CollectiveMatmulKind::One ? "one way" : way == CollectiveMatmulKind::Both ? "both ways" : "";
}

CollectiveMatmulTime collectiveMatmulTime(const CollectiveMatmulWork &work, CollectiveMatmulKind way) {
  auto hops = static_cast<double>(work.devices - 1);
  if (way == CollectiveMatmulKind::None) {
    double transfer = work.rates.stepSeconds(hops * work.chunkBytes);
    return {work.fullProduct, transfer - work.rates.hiddenSeconds(transfer, work.otherProducts)};
  }
  Timer timer(work);
  timer.time.computation = work.once;
  if (way == CollectiveMatmulKind::One) {
    timer.step(1, 1, hops);
    timer.compute(1);
    return timer.time;
  }
  // A gather multiplies with the device's own chunk first, then with two chunks in each step. With an even number of
  // devices one chunk is left over; it arrives during the last two products. A scatter runs the steps in reverse.
  bool isEven = work.devices % 2 == 0;
  auto steps = static_cast<double>((work.devices - 1) / 2);
  timer.step(2, 1);
  timer.step(2, 2, steps - 1);
  if (isEven)
    timer.step(1, 2);
  timer.compute(isEven ? 1 : 2);
  return timer.time;
}

CollectiveMatmulKind chooseCollectiveMatmulKind(const CollectiveMatmulWork &work) {
  // Tolerates rounding: two sums of the same times in different orders count as equal.
  constexpr double less = 1 - 1e-9;
  CollectiveMatmulKind best = CollectiveMatmulKind::None;
  for (CollectiveMatmulKind way : {CollectiveMatmulKind::One, CollectiveMatmulKind::Both})
    if (work.devices > (way == CollectiveMatmulKind::Both ? 2 : 1) &&
        collectiveMatmulTime(work, way).total() < less * collectiveMatmulTime(work, best).total())
      best = way;
  return best;
}

} // namespace spmdc
