//===- Location.cpp - source ranges and names on locations ----------------===//

#include "ir/spmd/Location.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

#include <algorithm>

namespace spmdc {

/// The tag of a pair of an expression and the location of its name. For the name of a result other than the first, the
/// tag ends with the number of the result.
static constexpr llvm::StringLiteral kLet = "let";

/// The tag of a pair of an expression and the location of its annotation.
static constexpr llvm::StringLiteral kAnnotation = "mark";

/// The tag of the first and the last character of an expression.
static constexpr llvm::StringLiteral kRange = "range";

/// The tag of an expression by which a derivative is computed.
static constexpr llvm::StringLiteral kBackward = "backward";

/// The tag of the locations of several operations that were fused into one.
static constexpr llvm::StringLiteral kFused = "fused";

static llvm::StringRef getKind(mlir::FusedLoc loc) {
  auto metadata = llvm::dyn_cast_if_present<mlir::StringAttr>(loc.getMetadata());
  return metadata ? metadata.getValue() : llvm::StringRef();
}

static bool isFused(mlir::FusedLoc loc, llvm::StringRef kind) { return getKind(loc) == kind; }

/// The number of the result that a pair names; nullopt for another pair.
static std::optional<unsigned> getNamedResult(mlir::FusedLoc loc) {
  llvm::StringRef kind = getKind(loc);
  unsigned result = 0;
  if (!kind.consume_front(kLet) || loc.getLocations().size() != 2 || (!kind.empty() && kind.getAsInteger(10, result)))
    return std::nullopt;
  return result;
}

static bool isNamePair(mlir::FusedLoc loc) { return getNamedResult(loc).has_value(); }

std::string SourcePosition::str() const { return file + ":" + std::to_string(line) + ":" + std::to_string(column); }

mlir::Location getRangeLoc(mlir::MLIRContext *context, llvm::StringRef file, unsigned line, unsigned column,
                           unsigned endLine, unsigned endColumn) {
  mlir::Location first = mlir::FileLineColLoc::get(context, file, line, column);
  mlir::Location last = mlir::FileLineColLoc::get(context, file, endLine, endColumn);
  if (first == last)
    return first;
  return mlir::FusedLoc::get(context, {first, last}, mlir::StringAttr::get(context, kRange));
}

std::optional<unsigned> ValueName::getHandle() const {
  llvm::StringRef digits = name;
  unsigned number = 0;
  if (!digits.consume_front("#") || digits.getAsInteger(10, number))
    return std::nullopt;
  return number;
}

mlir::Location getNamedLoc(mlir::Location loc, const ValueName &name) {
  mlir::MLIRContext *context = loc.getContext();
  if (name.place || name.result) {
    std::string kind = kLet.str() + (name.result ? std::to_string(name.result) : "");
    loc = mlir::FusedLoc::get(context, {loc, name.place.value_or(mlir::UnknownLoc::get(context))},
                              mlir::StringAttr::get(context, kind));
  }
  return mlir::NameLoc::get(mlir::StringAttr::get(context, name.name), loc);
}

/// Removes the last name from a location and returns it; nullopt if there is none.
static std::optional<ValueName> takeName(mlir::Location &loc) {
  auto named = llvm::dyn_cast<mlir::NameLoc>(loc);
  if (!named)
    return std::nullopt;
  ValueName name{named.getName().getValue()};
  loc = named.getChildLoc();
  auto pair = llvm::dyn_cast<mlir::FusedLoc>(loc);
  if (!pair || !isNamePair(pair))
    return name;
  name.result = *getNamedResult(pair);
  if (!llvm::isa<mlir::UnknownLoc>(pair.getLocations().back()))
    name.place = pair.getLocations().back();
  loc = pair.getLocations().front();
  return name;
}

mlir::Location getUnnamedLoc(mlir::Location loc) {
  while (takeName(loc)) {
  }
  return loc;
}

llvm::SmallVector<ValueName> getNamesAndHandles(mlir::Location loc) {
  llvm::SmallVector<ValueName> names;
  while (std::optional<ValueName> name = takeName(loc))
    names.push_back(*name);
  std::reverse(names.begin(), names.end());
  return names;
}

llvm::SmallVector<ValueName> getValueNames(mlir::Location loc) {
  llvm::SmallVector<ValueName> names = getNamesAndHandles(loc);
  llvm::erase_if(names, [](const ValueName &name) { return name.getHandle().has_value(); });
  return names;
}

/// Changes the location inside of the names of `loc`, which stay outermost.
template <typename Change> static mlir::Location changeBeneathNames(mlir::Location loc, Change change) {
  mlir::Location changed = change(getUnnamedLoc(loc));
  for (const ValueName &name : getNamesAndHandles(loc))
    changed = getNamedLoc(changed, name);
  return changed;
}

mlir::Location getAnnotatedLoc(mlir::Location loc, mlir::Location mark) {
  if (getAnnotationRange(loc))
    return loc;
  return changeBeneathNames(loc, [&](mlir::Location inner) -> mlir::Location {
    mlir::MLIRContext *context = loc.getContext();
    return mlir::FusedLoc::get(context, {inner, mark}, mlir::StringAttr::get(context, kAnnotation));
  });
}

mlir::Location getUnannotatedLoc(mlir::Location loc) {
  return changeBeneathNames(loc, [](mlir::Location inner) -> mlir::Location {
    auto pair = llvm::dyn_cast<mlir::FusedLoc>(inner);
    return pair && isFused(pair, kAnnotation) ? pair.getLocations().front() : inner;
  });
}

std::optional<mlir::Location> getAnnotationRange(mlir::Location loc) {
  auto pair = llvm::dyn_cast<mlir::FusedLoc>(getUnnamedLoc(loc));
  if (pair && isFused(pair, kAnnotation))
    return pair.getLocations().back();
  return std::nullopt;
}

std::optional<std::pair<SourcePosition, SourcePosition>> getSourceRange(mlir::Location loc) {
  std::optional<std::pair<SourcePosition, SourcePosition>> result;
  auto positionOf = [](mlir::Location part) {
    auto position = llvm::cast<mlir::FileLineColLoc>(part);
    return SourcePosition{position.getFilename().str(), position.getLine(), position.getColumn()};
  };
  loc->walk([&](mlir::Location part) { // Outer parts first.
    auto range = llvm::dyn_cast<mlir::FusedLoc>(part);
    if (range && isFused(range, kRange))
      result = {positionOf(range.getLocations().front()), positionOf(range.getLocations().back())};
    else if (llvm::isa<mlir::FileLineColLoc>(part))
      result = {positionOf(part), positionOf(part)};
    return result ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
  });
  return result;
}

std::optional<SourcePosition> getSourcePosition(mlir::Location loc) {
  auto range = getSourceRange(loc);
  return range ? std::optional(std::move(range->first)) : std::nullopt;
}

/// The locations of the expressions that were fused into one operation.
static llvm::SmallVector<mlir::Location> getParts(mlir::Location loc) {
  auto several = llvm::dyn_cast<mlir::FusedLoc>(loc);
  if (!several || !isFused(several, kFused))
    return {loc};
  llvm::SmallVector<mlir::Location> parts;
  for (mlir::Location part : several.getLocations())
    llvm::append_range(parts, getParts(part));
  return parts;
}

/// The call site around the expression of a location, if any.
static std::optional<mlir::CallSiteLoc> getCallSite(mlir::Location loc) {
  loc = getUnnamedLoc(loc);
  if (auto pair = llvm::dyn_cast<mlir::FusedLoc>(loc); pair && isFused(pair, kAnnotation))
    return getCallSite(pair.getLocations().front());
  auto site = llvm::dyn_cast<mlir::CallSiteLoc>(loc);
  return site ? std::optional(site) : std::nullopt;
}

llvm::SmallVector<SourcePosition> getSourcePositions(mlir::Location loc) {
  llvm::SmallVector<SourcePosition> result;
  for (mlir::Location part : getParts(loc))
    if (std::optional<SourcePosition> position = getSourcePosition(part))
      result.push_back(std::move(*position));
  return result;
}

llvm::SmallVector<llvm::SmallVector<SourcePosition>> getSourceCallStacks(mlir::Location loc) {
  llvm::SmallVector<llvm::SmallVector<SourcePosition>> ways;
  for (mlir::Location part : getParts(loc)) {
    std::optional<SourcePosition> position = getSourcePosition(part);
    if (!position)
      continue;
    llvm::SmallVector<SourcePosition> &way = ways.emplace_back();
    way.push_back(std::move(*position));
    for (auto site = getCallSite(part); site; site = getCallSite(site->getCaller()))
      if (std::optional<SourcePosition> caller = getSourcePosition(site->getCaller()))
        way.push_back(std::move(*caller));
  }
  return ways;
}

std::optional<llvm::StringRef> getValueName(mlir::Location loc) {
  llvm::SmallVector<ValueName> names = getValueNames(loc);
  return names.empty() ? std::nullopt : std::optional(names.front().name);
}

/// The expression of a location, without names, annotation and calls.
static mlir::Location getExpression(mlir::Location loc) {
  loc = getUnnamedLoc(loc);
  if (auto pair = llvm::dyn_cast<mlir::FusedLoc>(loc); pair && isFused(pair, kAnnotation))
    return getExpression(pair.getLocations().front());
  auto site = llvm::dyn_cast<mlir::CallSiteLoc>(loc);
  return site ? getExpression(site.getCallee()) : loc;
}

mlir::Location getBackwardLoc(mlir::Location loc) {
  if (isBackward(loc))
    return loc;
  return changeBeneathNames(loc, [](mlir::Location inner) -> mlir::Location {
    if (auto site = llvm::dyn_cast<mlir::CallSiteLoc>(inner))
      return mlir::CallSiteLoc::get(getBackwardLoc(site.getCallee()), site.getCaller());
    auto several = llvm::dyn_cast<mlir::FusedLoc>(inner);
    mlir::MLIRContext *context = inner.getContext();
    if (several && isFused(several, kFused))
      return fuseLocs(context, llvm::map_to_vector(several.getLocations(), getBackwardLoc));
    if (several && isFused(several, kAnnotation))
      return mlir::FusedLoc::get(context,
                                 {getBackwardLoc(several.getLocations().front()), several.getLocations().back()},
                                 several.getMetadata());
    return mlir::FusedLoc::get(context, {inner}, mlir::StringAttr::get(context, kBackward));
  });
}

bool isBackward(mlir::Location loc) {
  auto several = llvm::dyn_cast<mlir::FusedLoc>(getExpression(getParts(loc).front()));
  return several && isFused(several, kBackward);
}

mlir::Location fuseLocs(mlir::MLIRContext *context, llvm::ArrayRef<mlir::Location> locs) {
  llvm::SmallSetVector<mlir::Location, 4> unique;
  for (mlir::Location loc : locs)
    if (!llvm::isa<mlir::UnknownLoc>(loc))
      unique.insert(loc);
  if (unique.empty())
    return mlir::UnknownLoc::get(context);
  if (unique.size() == 1)
    return unique.front();
  // Built through the plain constructor: FusedLoc::get(locs) would flatten the ranges into single positions.
  return mlir::FusedLoc::get(context, unique.getArrayRef(), mlir::StringAttr::get(context, kFused));
}

} // namespace spmdc
