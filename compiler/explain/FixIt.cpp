//===- FixIt.cpp - fix-its, and the choice among them ---------------------===//

#include "compiler/explain/FixIt.h"

#include "compiler/inspection/NumberedNames.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace spmdc {
namespace {

bool isClearlyMore(double value, double than) { return value > than * (1 + Price::kAlike); }

bool isClearlyFaster(const FixIt &a, const FixIt &b) { return isClearlyMore(b.totals.seconds(), a.totals.seconds()); }

bool isClearlyLeaner(const FixIt &a, const FixIt &b) {
  return isClearlyMore(static_cast<double>(b.totals.peakBytes), static_cast<double>(a.totals.peakBytes));
}

/// The fastest fix-it, or null if there are none. Among fix-its of equal predicted time (Price::kAlike) the one
/// without extra cost, then the one with the fewest changes, then the one with the fewest bytes.
const FixIt *findFastest(const std::vector<const FixIt *> &fixIts) {
  if (fixIts.empty())
    return nullptr;
  const FixIt *fastest = *std::min_element(fixIts.begin(), fixIts.end(), [](const auto *a, const auto *b) {
    return a->totals.seconds() < b->totals.seconds();
  });
  auto keyOf = [&](const FixIt *fixIt) {
    const ProgramTotals &totals = fixIt->totals;
    std::pair<double, double> bytes(totals.wireBytes, totals.peakBytes);
    if (fixIt->hasExtraCost)
      std::swap(bytes.first, bytes.second);
    return std::tuple(isClearlyFaster(*fastest, *fixIt), fixIt->hasExtraCost, fixIt->changes, bytes, totals.flops,
                      totals.seconds());
  };
  return *std::min_element(fixIts.begin(), fixIts.end(),
                           [&](const auto *a, const auto *b) { return keyOf(a) < keyOf(b); });
}

size_t countChanges(const AnnotationEdit &edit) {
  size_t count = 0;
  std::set<std::pair<std::string, size_t>> said; // The name, and how many of its annotation's changes came before.
  std::map<std::string, size_t> before;
  for (const DimEdit &dim : edit)
    count += dim.label.empty() || said.emplace(withoutNumbers(dim.label), before[dim.label]++).second;
  return count;
}

} // namespace

FixIt::FixIt(AnnotationEdit edit, const ProgramTotals &totals, const ProgramTotals &now)
    : edit(std::move(edit)), totals(totals), changes(countChanges(this->edit)),
      isFaster(totals.seconds() < now.seconds()),
      hasExtraCost(isClearlyMore(totals.flops, now.flops) ||
                   isClearlyMore(static_cast<double>(totals.peakBytes), static_cast<double>(now.peakBytes)) ||
                   isClearlyMore(totals.netCommunicationSeconds(), now.netCommunicationSeconds())) {}

ChosenFixIts chooseFixIt(const std::vector<FixIt> &fixIts) {
  auto rankOf = [](const FixIt &fixIt) { return std::tuple(!fixIt.isFaster, fixIt.hasExtraCost, fixIt.changes); };
  auto first = std::min_element(fixIts.begin(), fixIts.end(),
                                [&](const FixIt &a, const FixIt &b) { return rankOf(a) < rankOf(b); });
  if (first == fixIts.end())
    return {};
  std::vector<const FixIt *> equals, fasterThanNow, lean;
  for (const FixIt &fixIt : fixIts) {
    if (rankOf(fixIt) == rankOf(*first))
      equals.push_back(&fixIt);
    if (fixIt.isFaster)
      fasterThanNow.push_back(&fixIt);
  }
  const FixIt &best = *findFastest(equals);
  ChosenFixIts proposal{best, std::nullopt, std::nullopt};
  if (const FixIt *fastest = findFastest(fasterThanNow); fastest && isClearlyFaster(*fastest, best))
    proposal.faster = *fastest;
  for (const FixIt *fixIt : fasterThanNow)
    if (isClearlyLeaner(*fixIt, best) && (!proposal.faster || isClearlyLeaner(*fixIt, *proposal.faster)))
      lean.push_back(fixIt);
  if (const FixIt *leaner = findFastest(lean))
    proposal.leaner = *leaner;
  return proposal;
}

} // namespace spmdc
