//===- IndexExpr.h - symbolic positions in arrays ---------------*- C++ -*-===//
//
// Where a kernel's iteration reads and writes, as expressions over its loop variables: sums of variables, floor
// divisions and remainders by constants. Expressions are kept in one canonical form, with the bounds of the variables
// known, so that reshapes, slices and transposes compose to what a person would write: two expressions that the rules
// can show equal compare equal.
//
// Positions that arrays of indices hold are atoms, too (lookups): what they are is not known, but where they are read
// is, and so on which variables they depend.
//
// What it does not do: multiply variables, or divide by them; array operations on static shapes never need it.
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

/// constant + sum of coefficient * atom; atoms are numbers in an IndexSpace, ascending.
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
  /// The factor of an atom; 0 where it does not occur.
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
    IndexExpr operand;            ///< Of FloorDiv and Mod; never negative.
    int64_t divisor = 1;          ///< Of FloorDiv and Mod.
    std::vector<IndexExpr> place; ///< Of Lookup: the index of the element that holds the position.
    IndexRange range;
  };

  /// A new variable between the two bounds.
  IndexExpr createVariable(int64_t low, int64_t high);
  /// A position between the two bounds that an element of an array holds: a new one for each call.
  IndexExpr createLookup(llvm::ArrayRef<IndexExpr> place, int64_t low, int64_t high);
  const Atom &getAtom(unsigned atom) const { return atoms[atom]; }

  IndexExpr add(const IndexExpr &x, const IndexExpr &y);
  IndexExpr scale(const IndexExpr &x, int64_t factor);
  IndexExpr floorDiv(const IndexExpr &x, int64_t divisor);
  IndexExpr mod(const IndexExpr &x, int64_t divisor);
  IndexRange rangeOf(const IndexExpr &x) const;

  /// Row-major position of an index in an array, and back.
  IndexExpr linearize(llvm::ArrayRef<IndexExpr> index, llvm::ArrayRef<int64_t> shape);
  llvm::SmallVector<IndexExpr> delinearize(const IndexExpr &position, llvm::ArrayRef<int64_t> shape);

  /// Divisions, remainders and lookups in an expression, nested ones included: what it costs beyond multiply and add.
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
