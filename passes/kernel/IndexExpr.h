//===- IndexExpr.h - symbolic positions in arrays ---------------*- C++ -*-===//
//
// The positions that an iteration of a kernel reads and writes, as expressions over its loop variables: sums of
// variables, floor divisions and remainders by constants. Expressions have one canonical form, computed with the bounds
// of the variables, so that reshapes, slices and transposes compose without superfluous divisions: two expressions that
// the rules can prove equal compare equal.
//
// Positions that arrays of indices hold are atoms, too (lookups): their values are unknown, but the indices of the
// elements that hold them are known, and with these the variables on which they depend.
//
// Products of variables and divisions by variables are not supported; array operations on static shapes never need
// them.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace spmdc {

/// The sum constant + coefficient * atom + ...; atoms are numbers in an IndexSpace, ascending.
struct IndexExpr {
  int64_t constant = 0;
  llvm::SmallVector<std::pair<unsigned, int64_t>, 2> terms;

  IndexExpr() = default;
  IndexExpr(int64_t constant) : constant(constant) {}
  bool isConstant() const { return terms.empty(); }
  bool operator==(const IndexExpr &other) const { return constant == other.constant && terms == other.terms; }
  bool operator<(const IndexExpr &other) const {
    return std::tie(constant, terms) < std::tie(other.constant, other.terms);
  }
  /// The coefficient of an atom; 0 if it does not occur.
  int64_t coefficientOf(unsigned atom) const;
};

/// Both ends inclusive.
struct IndexRange {
  int64_t low = 0, high = 0;
};

/// Owns the atoms of the expressions of one kernel.
class IndexSpace {
public:
  struct Atom {
    enum Kind { Variable, FloorDiv, Mod, Lookup } kind = Variable;
    IndexExpr operand;            ///< Operand of FloorDiv and Mod; never negative.
    int64_t divisor = 1;          ///< Divisor of FloorDiv and Mod.
    std::vector<IndexExpr> place; ///< Of a Lookup: the index of the element that holds the position.
    IndexRange range;
  };

  /// A new variable between the two bounds, both inclusive.
  IndexExpr createVariable(int64_t low, int64_t high);
  /// A position that an element of an array holds, between the two bounds. Each call returns a new atom.
  IndexExpr createLookup(llvm::ArrayRef<IndexExpr> place, int64_t low, int64_t high);
  const Atom &getAtom(unsigned atom) const { return atoms[atom]; }

  IndexExpr add(const IndexExpr &x, const IndexExpr &y);
  IndexExpr scale(const IndexExpr &x, int64_t factor);
  IndexExpr floorDiv(const IndexExpr &x, int64_t divisor);
  IndexExpr mod(const IndexExpr &x, int64_t divisor);
  IndexRange rangeOf(const IndexExpr &x) const;

  /// Row-major position of an index in an array, and the inverse.
  IndexExpr linearize(llvm::ArrayRef<IndexExpr> index, llvm::ArrayRef<int64_t> shape);
  llvm::SmallVector<IndexExpr> delinearize(const IndexExpr &position, llvm::ArrayRef<int64_t> shape);

  /// The number of divisions, remainders and lookups in an expression, nested ones included. Multiplications and
  /// additions do not count.
  unsigned countDivisions(const IndexExpr &x) const;
  /// True if the variable occurs, also below divisions.
  bool dependsOn(const IndexExpr &x, unsigned variable) const;

private:
  IndexExpr getAtomExpr(Atom::Kind kind, const IndexExpr &operand, int64_t divisor);
  /// Splits x into divisor * quotient + remainder, term by term.
  std::pair<IndexExpr, IndexExpr> split(const IndexExpr &x, int64_t divisor) const;
  /// The same with a remainder that is never negative: generated code divides without signs.
  std::pair<IndexExpr, IndexExpr> splitNonNegative(const IndexExpr &x, int64_t divisor) const;

  std::vector<Atom> atoms;
  std::map<std::tuple<int, IndexExpr, int64_t>, unsigned> interned;
};

} // namespace spmdc
