//===- AxesAttr.cpp - axes and parts of axes ------------------------------===//

#include "ir/spmd/ShardingText.h"

using namespace mlir;

namespace spmdc {

spmd::AxisRef AxisRefAttr::toValue() const { return {getName().str(), getPreSize(), getSize()}; }

int64_t AxisRefAttr::sizeIn(const spmd::MeshShape &mesh) const {
  if (!isFullAxis())
    return getSize();
  int index = mesh.indexOf(getName());
  return index < 0 ? 1 : mesh.axes[index].size;
}

std::string AxisRefAttr::str() const { return toValue().str(); }

LogicalResult AxisRefAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name, int64_t preSize,
                                  int64_t size) {
  if (name.empty())
    return emitError() << "an axis needs a name";
  if (size == 0 ? preSize != 1 : (preSize < 1 || size < 1))
    return emitError() << "bad part (" << preSize << ")" << size << " of axis '" << name << "'";
  return success();
}

/// a | a:(2)4
static FailureOr<AxisRefAttr> parseAxisRef(AsmParser &parser) {
  std::string name;
  if (parser.parseKeywordOrString(&name))
    return failure();
  int64_t preSize = 1, size = 0;
  if (succeeded(parser.parseOptionalColon()))
    if (parser.parseLParen() || parser.parseInteger(preSize) || parser.parseRParen() || parser.parseInteger(size))
      return failure();
  auto emitError = [&] { return parser.emitError(parser.getCurrentLocation()); };
  auto axis = AxisRefAttr::getChecked(function_ref<InFlightDiagnostic()>(emitError), parser.getContext(),
                                      StringRef(name), preSize, size);
  if (!axis)
    return failure();
  return axis;
}

FailureOr<SmallVector<AxisRefAttr>> parseAxisList(AsmParser &parser, AsmParser::Delimiter delimiter) {
  SmallVector<AxisRefAttr> axes;
  if (parser.parseCommaSeparatedList(delimiter, [&]() -> ParseResult {
        FailureOr<AxisRefAttr> axis = parseAxisRef(parser);
        if (failed(axis))
          return failure();
        axes.push_back(*axis);
        return success();
      }))
    return failure();
  return axes;
}

void printAxisList(raw_ostream &os, ArrayRef<AxisRefAttr> axes) {
  llvm::interleaveComma(axes, os, [&](AxisRefAttr axis) { os << axis.str(); });
}

Attribute AxisRefAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<AxisRefAttr> axis = parseAxisRef(parser);
  if (failed(axis) || parser.parseGreater())
    return {};
  return *axis;
}

void AxisRefAttr::print(AsmPrinter &printer) const { printer << "<" << str() << ">"; }

std::vector<spmd::AxisRef> AxesAttr::toValues() const {
  std::vector<spmd::AxisRef> values;
  for (AxisRefAttr axis : getAxes())
    values.push_back(axis.toValue());
  return values;
}

Attribute AxesAttr::parse(AsmParser &parser, Type) {
  FailureOr<SmallVector<AxisRefAttr>> axes = parseAxisList(parser, AsmParser::Delimiter::LessGreater);
  if (failed(axes))
    return {};
  return AxesAttr::get(parser.getContext(), *axes);
}

void AxesAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printAxisList(printer.getStream(), getAxes());
  printer << ">";
}

} // namespace spmdc
