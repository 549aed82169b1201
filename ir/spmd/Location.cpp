//===- Location.cpp - source ranges and names on locations ----------------===//

#include "ir/spmd/Location.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

namespace spmdc {

/// Marks the pair of an expression and the place of its name.
static constexpr llvm::StringLiteral kLet = "let";

/// Marks the pair of an expression and the place where its sharding is written.
static constexpr llvm::StringLiteral kMark = "mark";

/// Marks the locations of several operations whose work one does.
static constexpr llvm::StringLiteral kFused = "fused";

static bool isFused(mlir::FusedLoc loc, llvm::StringRef kind) {
  auto metadata = llvm::dyn_cast_if_present<mlir::StringAttr>(loc.getMetadata());
  return metadata && metadata.getValue() == kind;
}

std::string SourcePosition::str() const { return file + ":" + std::to_string(line) + ":" + std::to_string(column); }

mlir::Location getRangeLoc(mlir::MLIRContext *context, llvm::StringRef file, unsigned line, unsigned column,
                           unsigned endLine, unsigned endColumn) {
  mlir::Location first = mlir::FileLineColLoc::get(context, file, line, column);
  mlir::Location last = mlir::FileLineColLoc::get(context, file, endLine, endColumn);
  if (first == last)
    return first;
  return mlir::FusedLoc::get(context, {first, last}, mlir::StringAttr::get(context, "range"));
}

mlir::Location getNamedLoc(mlir::Location loc, llvm::StringRef name) {
  return mlir::NameLoc::get(mlir::StringAttr::get(loc.getContext(), name), loc);
}

mlir::Location getNamedLoc(mlir::Location loc, llvm::StringRef name, mlir::Location nameLoc) {
  return getNamedLoc(
      mlir::FusedLoc::get(loc.getContext(), {loc, nameLoc}, mlir::StringAttr::get(loc.getContext(), kLet)), name);
}

mlir::Location getMarkedLoc(mlir::Location loc, mlir::Location mark) {
  if (getMark(loc))
    return loc;
  // The name stays outermost.
  if (auto named = llvm::dyn_cast<mlir::NameLoc>(loc))
    return getNamedLoc(getMarkedLoc(named.getChildLoc(), mark), named.getName().getValue());
  mlir::MLIRContext *context = loc.getContext();
  if (auto pair = llvm::dyn_cast<mlir::FusedLoc>(loc); pair && isFused(pair, kLet)) {
    llvm::ArrayRef<mlir::Location> parts = pair.getLocations();
    return mlir::FusedLoc::get(context, {getMarkedLoc(parts.front(), mark), parts.back()}, pair.getMetadata());
  }
  return mlir::FusedLoc::get(context, {loc, mark}, mlir::StringAttr::get(context, kMark));
}

mlir::Location getUnmarkedLoc(mlir::Location loc) {
  if (auto named = llvm::dyn_cast<mlir::NameLoc>(loc))
    return getNamedLoc(getUnmarkedLoc(named.getChildLoc()), named.getName().getValue());
  auto pair = llvm::dyn_cast<mlir::FusedLoc>(loc);
  if (pair && isFused(pair, kMark))
    return pair.getLocations().front();
  if (pair && isFused(pair, kLet)) {
    llvm::ArrayRef<mlir::Location> parts = pair.getLocations();
    return mlir::FusedLoc::get(loc.getContext(), {getUnmarkedLoc(parts.front()), parts.back()}, pair.getMetadata());
  }
  return loc;
}

std::optional<mlir::Location> getMark(mlir::Location loc) {
  if (auto named = llvm::dyn_cast<mlir::NameLoc>(loc))
    return getMark(named.getChildLoc());
  auto pair = llvm::dyn_cast<mlir::FusedLoc>(loc);
  if (pair && isFused(pair, kLet))
    return getMark(pair.getLocations().front());
  if (pair && isFused(pair, kMark))
    return pair.getLocations().back();
  return std::nullopt;
}

std::optional<SourcePosition> getSourcePosition(mlir::Location loc) {
  std::optional<SourcePosition> result;
  loc->walk([&](mlir::Location part) {
    auto position = llvm::dyn_cast<mlir::FileLineColLoc>(part);
    if (!position)
      return mlir::WalkResult::advance();
    result = {position.getFilename().str(), position.getLine(), position.getColumn()};
    return mlir::WalkResult::interrupt();
  });
  return result;
}

/// The locations of the expressions whose work was fused into one operation.
static llvm::SmallVector<mlir::Location> getParts(mlir::Location loc) {
  auto several = llvm::dyn_cast<mlir::FusedLoc>(loc);
  if (!several || !isFused(several, kFused))
    return {loc};
  llvm::SmallVector<mlir::Location> parts;
  for (mlir::Location part : several.getLocations())
    llvm::append_range(parts, getParts(part));
  return parts;
}

/// The call that the expression of a location is in, if it is in one.
static std::optional<mlir::CallSiteLoc> getCallSite(mlir::Location loc) {
  if (auto named = llvm::dyn_cast<mlir::NameLoc>(loc))
    return getCallSite(named.getChildLoc());
  if (auto pair = llvm::dyn_cast<mlir::FusedLoc>(loc); pair && (isFused(pair, kLet) || isFused(pair, kMark)))
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

llvm::SmallVector<llvm::SmallVector<SourcePosition>> getSourceWays(mlir::Location loc) {
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
  if (auto named = llvm::dyn_cast<mlir::NameLoc>(loc))
    return named.getName().getValue();
  return std::nullopt;
}

std::optional<SourcePosition> getNamePosition(mlir::Location loc) {
  if (auto named = llvm::dyn_cast<mlir::NameLoc>(loc))
    if (auto pair = llvm::dyn_cast<mlir::FusedLoc>(named.getChildLoc()))
      if (isFused(pair, kLet))
        return getSourcePosition(pair.getLocations().back());
  return getSourcePosition(loc);
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
  // Built through the plain constructor: FusedLoc::get(locs) would flatten the ranges into loose positions.
  return mlir::FusedLoc::get(context, unique.getArrayRef(), mlir::StringAttr::get(context, kFused));
}

} // namespace spmdc
