//===- MeshAttr.cpp - the named grid of devices -------------------------------------===//

#include "ir/spmd/ShardingText.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace spmdc {

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef, ArrayRef<AxisRefAttr> axes) {
  llvm::StringSet<> names;
  for (AxisRefAttr axis : axes) {
    if (axis.getSize() < 1)
      return emitError() << "axis '" << axis.getName() << "' of the mesh has no valid size";
    if (!names.insert(axis.getName()).second)
      return emitError() << "the mesh has two axes '" << axis.getName() << "'";
  }
  return success();
}

spmd::MeshShape MeshAttr::toValue() const {
  spmd::MeshShape mesh;
  for (AxisRefAttr axis : getAxes())
    mesh.axes.push_back({axis.getName().str(), axis.getSize()});
  return mesh;
}

MeshAttr MeshAttr::fromValue(MLIRContext *context, StringRef name, const spmd::MeshShape &mesh) {
  SmallVector<AxisRefAttr> axes;
  for (const spmd::MeshAxis &axis : mesh.axes)
    axes.push_back(AxisRefAttr::get(context, axis.name, 1, axis.size));
  return MeshAttr::get(context, name, axes);
}

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  std::string name;
  SmallVector<AxisRefAttr> axes;
  if (parser.parseLess() || parser.parseKeywordOrString(&name))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    std::string axis;
    int64_t size;
    if (parser.parseKeywordOrString(&axis) || parser.parseEqual() || parser.parseInteger(size))
      return {};
    auto emitError = [&] { return parser.emitError(parser.getCurrentLocation()); };
    auto attr = AxisRefAttr::getChecked(function_ref<InFlightDiagnostic()>(emitError), parser.getContext(),
                                        StringRef(axis), int64_t(1), size);
    if (!attr)
      return {};
    axes.push_back(attr);
  }
  if (parser.parseGreater())
    return {};
  auto emitError = [&] { return parser.emitError(parser.getNameLoc()); };
  return MeshAttr::getChecked(function_ref<InFlightDiagnostic()>(emitError), parser.getContext(), StringRef(name),
                              ArrayRef<AxisRefAttr>(axes));
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printKeywordOrString(getName());
  for (AxisRefAttr axis : getAxes())
    printer << ", " << axis.getName() << "=" << axis.getSize();
  printer << ">";
}

} // namespace spmdc
