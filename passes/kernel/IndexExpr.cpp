//===- IndexExpr.cpp - symbolic positions in arrays -----------------------===//

#include "passes/kernel/IndexExpr.h"

#include <algorithm>
#include <numeric>

namespace spmdc {
namespace {

int64_t floorDivide(int64_t x, int64_t y) { return x >= 0 ? x / y : -((-x + y - 1) / y); }

} // namespace

int64_t IndexExpr::coefficientOf(unsigned atom) const {
  for (const auto &[number, coefficient] : terms)
    if (number == atom)
      return coefficient;
  return 0;
}

IndexExpr IndexSpace::createVariable(int64_t low, int64_t high) {
  if (low == high)
    return low;
  Atom atom;
  atom.range = {low, high};
  atoms.push_back(atom);
  IndexExpr result;
  result.terms.emplace_back(static_cast<unsigned>(atoms.size() - 1), 1);
  return result;
}

IndexExpr IndexSpace::createLookup(llvm::ArrayRef<IndexExpr> place, int64_t low, int64_t high) {
  IndexExpr result = createVariable(low, high);
  if (!result.isConstant()) {
    atoms.back().kind = Atom::Lookup;
    atoms.back().place = place.vec();
  }
  return result;
}

IndexRange IndexSpace::rangeOf(const IndexExpr &x) const {
  IndexRange range{x.constant, x.constant};
  for (const auto &[atom, coefficient] : x.terms) {
    const IndexRange &inner = atoms[atom].range;
    range.low += coefficient * (coefficient > 0 ? inner.low : inner.high);
    range.high += coefficient * (coefficient > 0 ? inner.high : inner.low);
  }
  return range;
}

IndexExpr IndexSpace::add(const IndexExpr &x, const IndexExpr &y) {
  IndexExpr result(x.constant + y.constant);
  auto left = x.terms.begin(), right = y.terms.begin();
  while (left != x.terms.end() || right != y.terms.end()) {
    if (right == y.terms.end() || (left != x.terms.end() && left->first < right->first)) {
      result.terms.push_back(*left++);
    } else if (left == x.terms.end() || right->first < left->first) {
      result.terms.push_back(*right++);
    } else {
      if (int64_t sum = left->second + right->second)
        result.terms.emplace_back(left->first, sum);
      ++left;
      ++right;
    }
  }
  // k*c * (e div c) + k * (e mod c) = k * e, also where e is (f div a), and (e div c) has become f div (a*c)
  auto isQuotient = [&](const Atom &mod, const Atom &div) {
    if (div.divisor == mod.divisor && div.operand == mod.operand)
      return true;
    const IndexExpr &e = mod.operand;
    if (e.constant != 0 || e.terms.size() != 1 || e.terms[0].second != 1)
      return false;
    const Atom &inner = atoms[e.terms[0].first];
    return inner.kind == Atom::FloorDiv && div.operand == inner.operand && div.divisor == inner.divisor * mod.divisor;
  };
  for (size_t i = 0; i < result.terms.size(); ++i) {
    auto [number, factor] = result.terms[i];
    if (atoms[number].kind != Atom::Mod)
      continue;
    for (size_t j = 0; j < result.terms.size(); ++j) {
      const Atom &mod = atoms[number], &div = atoms[result.terms[j].first];
      if (div.kind != Atom::FloorDiv || result.terms[j].second != factor * mod.divisor || !isQuotient(mod, div))
        continue;
      IndexExpr whole = scale(mod.operand, factor);
      result.terms.erase(result.terms.begin() + std::max(i, j));
      result.terms.erase(result.terms.begin() + std::min(i, j));
      return add(result, whole);
    }
  }
  return result;
}

IndexExpr IndexSpace::scale(const IndexExpr &x, int64_t factor) {
  if (factor == 0)
    return 0;
  IndexExpr result(x.constant * factor);
  for (const auto &[atom, coefficient] : x.terms)
    result.terms.emplace_back(atom, coefficient * factor);
  return result;
}

std::pair<IndexExpr, IndexExpr> IndexSpace::split(const IndexExpr &x, int64_t divisor) const {
  IndexExpr quotient(floorDivide(x.constant, divisor));
  IndexExpr remainder(x.constant - quotient.constant * divisor);
  for (const auto &[atom, coefficient] : x.terms) {
    int64_t whole = floorDivide(coefficient, divisor), rest = coefficient - whole * divisor;
    // A term is split only if no remainder is left: x + 7y by 4 keeps the term 7y, since no rule would merge its parts
    // again.
    if (rest == 0)
      quotient.terms.emplace_back(atom, whole);
    else
      remainder.terms.emplace_back(atom, coefficient);
  }
  return {quotient, remainder};
}

std::pair<IndexExpr, IndexExpr> IndexSpace::splitNonNegative(const IndexExpr &x, int64_t divisor) const {
  auto [quotient, remainder] = split(x, divisor);
  // 1 - i is (13 - i) - 6 * 2 for i up to 13.
  if (int64_t low = rangeOf(remainder).low; low < 0) {
    int64_t shift = floorDivide(low, divisor);
    quotient.constant += shift;
    remainder.constant -= shift * divisor;
  }
  return {quotient, remainder};
}

IndexExpr IndexSpace::getAtomExpr(Atom::Kind kind, const IndexExpr &operand, int64_t divisor) {
  auto [entry, isNew] = interned.try_emplace({kind, operand, divisor}, static_cast<unsigned>(atoms.size()));
  if (isNew) {
    Atom atom;
    atom.kind = kind;
    atom.operand = operand;
    atom.divisor = divisor;
    IndexRange range = rangeOf(operand);
    if (kind == Atom::FloorDiv)
      atom.range = {floorDivide(range.low, divisor), floorDivide(range.high, divisor)};
    else
      atom.range = {0, divisor - 1};
    atoms.push_back(std::move(atom));
  }
  IndexExpr result;
  result.terms.emplace_back(entry->second, 1);
  return result;
}

/// The greatest common divisor of the coefficients and `start`.
static int64_t commonFactor(const IndexExpr &x, int64_t start) {
  int64_t factor = start;
  for (const auto &[atom, coefficient] : x.terms)
    factor = std::gcd(factor, coefficient);
  return factor;
}

IndexExpr IndexSpace::floorDiv(const IndexExpr &x, int64_t divisor) {
  if (divisor == 1)
    return x;
  auto [quotient, remainder] = splitNonNegative(x, divisor);
  IndexRange range = rangeOf(remainder);
  if (range.low >= 0 && range.high < divisor)
    return quotient;
  // (g*r + k) div (g*c) = r div c for 0 <= k < g
  if (int64_t factor = commonFactor(remainder, divisor); factor > 1)
    return add(quotient, floorDiv(split(remainder, factor).first, divisor / factor));
  // (e div a) div c = e div (a*c); (e mod a) div c = (e div c) mod (a/c) where c divides a
  if (remainder.constant == 0 && remainder.terms.size() == 1 && remainder.terms[0].second == 1) {
    Atom atom = atoms[remainder.terms[0].first];
    if (atom.kind == Atom::FloorDiv)
      return add(quotient, floorDiv(atom.operand, atom.divisor * divisor));
    if (atom.kind == Atom::Mod && atom.divisor % divisor == 0)
      return add(quotient, mod(floorDiv(atom.operand, divisor), atom.divisor / divisor));
  }
  return add(quotient, getAtomExpr(Atom::FloorDiv, remainder, divisor));
}

IndexExpr IndexSpace::mod(const IndexExpr &x, int64_t divisor) {
  if (divisor == 1)
    return 0;
  IndexExpr remainder = splitNonNegative(x, divisor).second;
  IndexRange range = rangeOf(remainder);
  if (range.low >= 0 && range.high < divisor)
    return remainder;
  // (g*r + k) mod (g*c) = g * (r mod c) + k for 0 <= k < g
  if (int64_t factor = commonFactor(remainder, divisor); factor > 1) {
    auto [inner, rest] = split(remainder, factor);
    return add(scale(mod(inner, divisor / factor), factor), rest);
  }
  // (e mod a) mod c = e mod c where c divides a
  if (remainder.constant == 0 && remainder.terms.size() == 1 && remainder.terms[0].second == 1) {
    Atom atom = atoms[remainder.terms[0].first];
    if (atom.kind == Atom::Mod && atom.divisor % divisor == 0)
      return mod(atom.operand, divisor);
  }
  return getAtomExpr(Atom::Mod, remainder, divisor);
}

IndexExpr IndexSpace::linearize(llvm::ArrayRef<IndexExpr> index, llvm::ArrayRef<int64_t> shape) {
  IndexExpr result;
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    result = add(result, scale(index[d], stride));
    stride *= shape[d];
  }
  return result;
}

llvm::SmallVector<IndexExpr> IndexSpace::delinearize(const IndexExpr &position, llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<IndexExpr> index(shape.size());
  IndexExpr rest = position;
  for (size_t d = shape.size(); d-- > 0;) {
    bool isOutermost = std::all_of(shape.begin(), shape.begin() + d, [](int64_t size) { return size == 1; });
    if (shape[d] <= 1)
      continue;
    if (isOutermost) {
      index[d] = rest;
      break;
    }
    index[d] = mod(rest, shape[d]);
    rest = floorDiv(rest, shape[d]);
  }
  return index;
}

unsigned IndexSpace::countDivisions(const IndexExpr &x) const {
  unsigned count = 0;
  for (const auto &[atom, coefficient] : x.terms)
    if (atoms[atom].kind != Atom::Variable)
      count += 1 + countDivisions(atoms[atom].operand);
  return count;
}

bool IndexSpace::dependsOn(const IndexExpr &x, unsigned variable) const {
  for (const auto &[atom, coefficient] : x.terms) {
    if (atom == variable || (atoms[atom].kind != Atom::Variable && dependsOn(atoms[atom].operand, variable)))
      return true;
    for (const IndexExpr &place : atoms[atom].place)
      if (dependsOn(place, variable))
        return true;
  }
  return false;
}

} // namespace spmdc
