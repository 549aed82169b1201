//===- Meshes.cpp - the meshes of a module as one -------------------------===//

#include "frontend/stablehlo/Meshes.h"

#include "frontend/stablehlo/Gspmd.h"
#include "frontend/stablehlo/Translation.h"

#include <set>

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

/// Fails with a message if two axes have one name, or devices are in another order.
FailureOr<spmd::MeshShape> shapeOfMesh(sdy::MeshOp op) {
  sdy::MeshAttr attribute = op.getMesh();
  spmd::MeshShape shape;
  std::set<std::string> names;
  for (auto [axis, size] : llvm::zip_equal(attribute.getAxes(), attribute.getSizes())) {
    if (axis.getValue().empty() || !names.insert(axis.str()).second)
      return refuse(op, "has two axes of one name, or one without a name");
    shape.axes.push_back({axis.str(), size});
  }
  // JAX declares meshes without axes for values on one device.
  if (!shape.axes.empty() &&
      !llvm::equal(attribute.getDeviceIds(), llvm::seq<int64_t>(0, attribute.getDeviceIds().size())))
    return refuse(op, "orders its devices by 'device_ids', which is not supported; use a mesh of devices in order");
  return shape;
}

/// The axes of `other` as axes of `mesh`, both major to minor; nullopt if an axis ends within a part of another one
/// that it does not divide, or the numbers of devices differ.
std::optional<Meshes::Names> express(const spmd::MeshShape &other, const spmd::MeshShape &mesh, MLIRContext *context) {
  Meshes::Names names;
  size_t next = 0;
  int64_t done = 1; // Of the axis `next`: the product of the parts that were taken.
  for (const spmd::MeshAxis &axis : other.axes) {
    SmallVector<AxisRefAttr> &parts = names[axis.name];
    int64_t wanted = axis.size;
    while (wanted > 1) {
      while (next < mesh.axes.size() && mesh.axes[next].size == done) {
        ++next;
        done = 1;
      }
      if (next == mesh.axes.size())
        return std::nullopt;
      const spmd::MeshAxis &own = mesh.axes[next];
      int64_t left = own.size / done, size = wanted % left == 0 ? left : wanted;
      if (left % size)
        return std::nullopt;
      parts.push_back(size == own.size ? AxisRefAttr::get(context, own.name)
                                       : AxisRefAttr::get(context, own.name, done, size));
      done *= size;
      wanted /= size;
    }
  }
  for (; next < mesh.axes.size(); ++next, done = 1)
    if (mesh.axes[next].size != done)
      return std::nullopt;
  return names;
}

} // namespace

FailureOr<Meshes> Meshes::read(ModuleOp module) {
  Meshes meshes;
  if (module.getOps<sdy::MeshOp>().empty()) {
    FailureOr<spmd::MeshShape> shape = meshOfTilings(module);
    if (failed(shape))
      return failure();
    meshes.shape = *shape;
  }
  for (auto op : module.getOps<sdy::MeshOp>()) {
    FailureOr<spmd::MeshShape> shape = shapeOfMesh(op);
    if (failed(shape))
      return failure();
    if (meshes.shape.axes.empty())
      meshes.shape = *shape;
    if (shape->axes.empty() || shape->axes == meshes.shape.axes)
      continue;
    std::optional<Names> names = express(*shape, meshes.shape, module.getContext());
    if (!names)
      return refuse(op,
                    "is a second mesh whose axes are not made of those of the first one, or that has other devices; a "
                    "program has one mesh");
    meshes.others[op.getSymName()] = std::move(*names);
  }
  return meshes;
}

FailureOr<SmallVector<AxisRefAttr>> Meshes::find(StringRef mesh, AxisRefAttr axis) const {
  auto other = others.find(mesh);
  if (other == others.end())
    return SmallVector<AxisRefAttr>{axis};
  auto named = other->second.find(axis.getName());
  if (named == other->second.end() || !axis.isFullAxis())
    return failure();
  return named->second;
}

} // namespace spmdc::stablehlo
