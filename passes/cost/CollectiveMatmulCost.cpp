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

std::string_view ringDirectionsName(RingDirections way) {
  return way == RingDirections::One ? "one way" : way == RingDirections::Both ? "both ways" : "";
}

CollectiveMatmulTime collectiveMatmulTime(const CollectiveMatmulWork &work, RingDirections way) {
  auto hops = static_cast<double>(work.devices - 1);
  if (way == RingDirections::None) {
    double transfer = work.rates.stepSeconds(hops * work.chunkBytes);
    return {work.fullProduct, transfer - work.rates.hiddenSeconds(transfer, work.otherProducts)};
  }
  Timer timer(work);
  timer.time.computation = work.once;
  if (way == RingDirections::One) {
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

RingDirections chooseRingDirections(const CollectiveMatmulWork &work) {
  // Tolerates rounding: two sums of the same times in different orders count as equal.
  constexpr double less = 1 - 1e-9;
  RingDirections best = RingDirections::None;
  for (RingDirections way : {RingDirections::One, RingDirections::Both})
    if (work.devices > (way == RingDirections::Both ? 2 : 1) &&
        collectiveMatmulTime(work, way).total() < less * collectiveMatmulTime(work, best).total())
      best = way;
  return best;
}

} // namespace spmdc
