//===- ShardingAttr.cpp - the sharding of an array ------------------------===//

#include "ir/spmd/ShardingText.h"

using namespace mlir;

namespace spmdc {

LogicalResult ShardingAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<DimShardingAttr> dims,
                                   ArrayRef<AxisRefAttr> unreduced) {
  SmallVector<AxisRefAttr> used;
  auto add = [&](AxisRefAttr axis) -> LogicalResult {
    for (AxisRefAttr other : used) {
      if (other.getName() != axis.getName())
        continue;
      bool overlaps = axis.isFullAxis() || other.isFullAxis() ||
                      (axis.getPreSize() < other.getPreSize() * other.getSize() &&
                       other.getPreSize() < axis.getPreSize() * axis.getSize());
      if (overlaps)
        return emitError() << "axis '" << axis.getName() << "' is used twice in one sharding";
    }
    used.push_back(axis);
    return success();
  };
  for (DimShardingAttr dim : dims)
    for (AxisRefAttr axis : dim.getAxes())
      if (failed(add(axis)))
        return failure();
  for (AxisRefAttr axis : unreduced)
    if (failed(add(axis)))
      return failure();
  return success();
}

spmd::Sharding ShardingAttr::toValue() const {
  spmd::Sharding value;
  for (DimShardingAttr dim : getDims()) {
    value.dims.emplace_back();
    for (AxisRefAttr axis : dim.getAxes())
      value.dims.back().push_back(axis.toValue());
  }
  for (AxisRefAttr axis : getUnreduced())
    value.unreduced.push_back(axis.toValue());
  return value;
}

ShardingAttr ShardingAttr::fromValue(MLIRContext *context, const spmd::Sharding &sharding) {
  auto convert = [&](const std::vector<spmd::AxisRef> &axes) {
    SmallVector<AxisRefAttr> result;
    for (const spmd::AxisRef &axis : axes)
      result.push_back(AxisRefAttr::get(context, axis.name, axis.preSize, axis.size));
    return result;
  };
  SmallVector<DimShardingAttr> dims;
  for (const auto &axes : sharding.dims)
    dims.push_back(DimShardingAttr::get(context, convert(axes), true, -1));
  return ShardingAttr::get(context, dims, convert(sharding.unreduced));
}

ShardingAttr ShardingAttr::getClosed() const {
  auto isClosed = [](DimShardingAttr dim) { return dim.getIsClosed() && dim.getPriority() < 0; };
  if (llvm::all_of(getDims(), isClosed)) // The common case; a new attribute needs a lookup in the context's tables.
    return *this;
  SmallVector<DimShardingAttr> dims;
  for (DimShardingAttr dim : getDims())
    dims.push_back(DimShardingAttr::get(getContext(), dim.getAxes(), true, -1));
  return ShardingAttr::get(getContext(), dims, getUnreduced());
}

bool ShardingAttr::isReplicated() const {
  return getUnreduced().empty() && llvm::all_of(getDims(), [](DimShardingAttr dim) { return dim.empty(); });
}

bool ShardingAttr::hasSameAxes(ShardingAttr other) const {
  auto haveSame = [](auto dims) { return std::get<0>(dims).getAxes() == std::get<1>(dims).getAxes(); };
  return *this == other || (getRank() == other.getRank() && getUnreduced() == other.getUnreduced() &&
                            llvm::all_of(llvm::zip(getDims(), other.getDims()), haveSame));
}

ShardingAttr ShardingAttr::getReplicated(MLIRContext *context, int64_t rank, bool isClosed) {
  SmallVector<DimShardingAttr> dims(rank, DimShardingAttr::get(context, {}, isClosed, -1));
  return ShardingAttr::get(context, dims, {});
}

ParseResult parseUnreduced(AsmParser &parser, SmallVectorImpl<AxisRefAttr> &unreduced) {
  if (failed(parser.parseOptionalKeyword("unreduced")))
    return success();
  FailureOr<SmallVector<AxisRefAttr>> axes = parseAxisList(parser, AsmParser::Delimiter::Paren);
  if (failed(axes))
    return failure();
  unreduced.assign(axes->begin(), axes->end());
  return success();
}

void printUnreduced(raw_ostream &os, ArrayRef<AxisRefAttr> unreduced) {
  if (unreduced.empty())
    return;
  os << " unreduced(";
  printAxisList(os, unreduced);
  os << ")";
}

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  SmallVector<DimShardingAttr> dims;
  SmallVector<AxisRefAttr> unreduced;
  auto parseDim = [&]() -> ParseResult {
    if (succeeded(parser.parseOptionalQuestion())) {
      dims.push_back(DimShardingAttr::get(parser.getContext(), {}, false, -1));
      return success();
    }
    FailureOr<DimShardingAttr> dim = parseOptionalDimSharding(parser);
    if (failed(dim))
      return failure();
    dims.push_back(*dim);
    return success();
  };
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim) ||
      parseUnreduced(parser, unreduced) || parser.parseGreater())
    return {};
  auto emitError = [&] { return parser.emitError(parser.getNameLoc()); };
  return ShardingAttr::getChecked(function_ref<InFlightDiagnostic()>(emitError), parser.getContext(),
                                  ArrayRef<DimShardingAttr>(dims), ArrayRef<AxisRefAttr>(unreduced));
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getDims(), printer.getStream(), [&](DimShardingAttr dim) {
    if (dim.str().empty())
      printer << "?";
    printDimSharding(printer.getStream(), dim);
  });
  printer << "]";
  printUnreduced(printer.getStream(), getUnreduced());
  printer << ">";
}

} // namespace spmdc
