//===- Location.cpp - source ranges and names on locations ----------------===//

#include "ir/spmd/Location.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/SetVector.h"

namespace spmdc {

/// Marks the pair of an expression and the place of its name.
static constexpr llvm::StringLiteral kLet = "let";

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

std::optional<llvm::StringRef> getValueName(mlir::Location loc) {
  if (auto named = llvm::dyn_cast<mlir::NameLoc>(loc))
    return named.getName().getValue();
  return std::nullopt;
}

std::optional<SourcePosition> getNamePosition(mlir::Location loc) {
  if (auto named = llvm::dyn_cast<mlir::NameLoc>(loc))
    if (auto pair = llvm::dyn_cast<mlir::FusedLoc>(named.getChildLoc()))
      if (auto kind = llvm::dyn_cast_if_present<mlir::StringAttr>(pair.getMetadata()); kind && kind.getValue() == kLet)
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
  return mlir::FusedLoc::get(context, unique.getArrayRef(), mlir::StringAttr::get(context, "fused"));
}

} // namespace spmdc
