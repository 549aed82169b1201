//===- RingCost.cpp - what a product around a ring costs ------------------===//

#include "passes/analysis/RingCost.h"

namespace spmdc {
namespace {

class Timer {
public:
  explicit Timer(const RingWork &work) : work(work) {}

  void compute(double products, double additions = 0) {
    time.computation += products * work.pieceProduct + additions * work.addition;
  }

  /// A piece along each of so many ways, while so many products run; what arrived is added afterwards.
  void step(double ways, double products, double count = 1) {
    double transfer = work.rates.stepSeconds(ways * work.pieceBytes);
    time.exposed += count * (transfer - work.rates.hiddenSeconds(transfer, products * work.pieceProduct));
    compute(count * products, work.isScatter ? count * ways : 0);
  }

  RingTime time;

private:
  const RingWork &work;
};

} // namespace

std::string_view ringWayName(RingWay way) {
  return way == RingWay::One ? "one way" : way == RingWay::Both ? "both ways" : "";
}

RingTime ringTime(const RingWork &work, RingWay way) {
  auto hops = static_cast<double>(work.devices - 1);
  if (way == RingWay::None) {
    double transfer = work.rates.stepSeconds(hops * work.pieceBytes);
    return {work.wholeProduct, transfer - work.rates.hiddenSeconds(transfer, work.otherProducts)};
  }
  Timer timer(work);
  timer.time.computation = work.once;
  if (way == RingWay::One) {
    timer.step(1, 1, hops);
    timer.compute(1);
    return timer.time;
  }
  // A gather: the own piece first, then two pieces a step; of an even number of devices one is left over, which comes
  // under the last two. A scatter is the same backwards.
  bool isEven = work.devices % 2 == 0;
  auto steps = static_cast<double>((work.devices - 1) / 2);
  timer.step(2, 1);
  timer.step(2, 2, steps - 1);
  if (isEven)
    timer.step(1, 2);
  timer.compute(isEven ? 1 : 2);
  return timer.time;
}

RingWay chooseRing(const RingWork &work) {
  // Sums of the same times in different orders are equal.
  constexpr double less = 1 - 1e-9;
  RingWay best = RingWay::None;
  for (RingWay way : {RingWay::One, RingWay::Both})
    if (work.devices > (way == RingWay::Both ? 2 : 1) &&
        ringTime(work, way).total() < less * ringTime(work, best).total())
      best = way;
  return best;
}

} // namespace spmdc
