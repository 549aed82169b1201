//===- SdyAttributes.cpp - meshes and shardings of a portable artifact ----===//

#include "frontend/stablehlo/portable/Pool.h"

#include "frontend/stablehlo/dialect/Dialects.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace spmdc::stablehlo::portable {

/// An axis of a mesh or the part of an axis, until the attribute that names it is made: `[name, size]`, `[before,
/// size]`.
static Attribute makePair(ElementReader &reader, Attribute first, int64_t second) {
  Builder builder(reader.pool.context);
  return builder.getArrayAttr({first, builder.getI64IntegerAttr(second)});
}

static Attribute readMesh(ElementReader &reader) {
  SmallVector<StringAttr> axes;
  SmallVector<int64_t> sizes;
  for (auto axis : reader.attributes<ArrayAttr>()) {
    auto name = axis && axis.size() == 2 ? llvm::dyn_cast<StringAttr>(axis[0]) : StringAttr();
    auto size = name ? llvm::dyn_cast<IntegerAttr>(axis[1]) : IntegerAttr();
    if (!size || size.getInt() < 1)
      return {};
    axes.push_back(name);
    sizes.push_back(size.getInt());
  }
  SmallVector<int64_t> devices = reader.signedNumbers();
  return reader.hasFailed() ? Attribute() : sdy::MeshAttr::get(reader.pool.context, axes, sizes, devices);
}

static Attribute readAxis(ElementReader &reader) {
  StringRef name = reader.string();
  int64_t before = 1, size = 0;
  if (Attribute part = reader.optionalAttribute()) {
    auto pair = llvm::dyn_cast<ArrayAttr>(part);
    auto first = pair && pair.size() == 2 ? llvm::dyn_cast<IntegerAttr>(pair[0]) : IntegerAttr();
    auto second = first ? llvm::dyn_cast<IntegerAttr>(pair[1]) : IntegerAttr();
    if (!second)
      return {};
    before = first.getInt();
    size = second.getInt();
  }
  if (reader.hasFailed())
    return {};
  return AxisRefAttr::getChecked([&] { return reader.pool.emitError(); }, reader.pool.context, name, before, size);
}

static Attribute readDim(ElementReader &reader) {
  auto axes = reader.attributes<AxisRefAttr>();
  bool isClosed = reader.byte() != 0, hasPriority = false;
  uint64_t priority = reader.numberWithFlag(hasPriority);
  if (reader.hasFailed() || priority > uint64_t(INT32_MAX))
    return {};
  return DimShardingAttr::get(reader.pool.context, axes, isClosed, hasPriority ? static_cast<int64_t>(priority) : -1);
}

static Attribute readSharding(ElementReader &reader, bool hasUnreduced) {
  Attribute mesh = reader.attribute();
  auto dims = reader.attributes<DimShardingAttr>();
  auto replicated = reader.attributes<AxisRefAttr>();
  SmallVector<AxisRefAttr> unreduced;
  if (hasUnreduced)
    unreduced = reader.attributes<AxisRefAttr>();
  if (reader.hasFailed())
    return {};
  auto symbol = llvm::dyn_cast<FlatSymbolRefAttr>(mesh);
  if (!symbol) {
    reader.failure.set("it has a sharding with a mesh of its own instead of the name of the program's mesh");
    return {};
  }
  auto sharding = spmdc::ShardingAttr::getChecked([&] { return reader.pool.emitError(); }, reader.pool.context,
                                                  ArrayRef(dims), ArrayRef(unreduced));
  return sharding ? sdy::TensorShardingAttr::get(reader.pool.context, symbol.getValue(), sharding, replicated)
                  : Attribute();
}

Attribute readSdyAttribute(ElementReader &reader) {
  MLIRContext *context = reader.pool.context;
  switch (uint64_t code = reader.number()) {
  case 0: {
    auto axes = reader.attributes<StringAttr>();
    return reader.hasFailed() ? Attribute() : sdy::ManualAxesAttr::get(context, axes);
  }
  case 1: {
    auto name = StringAttr::get(context, reader.string());
    return makePair(reader, name, reader.signedNumber());
  }
  case 2:
    return readMesh(reader);
  case 3: {
    Attribute before = Builder(context).getI64IntegerAttr(reader.signedNumber());
    return makePair(reader, before, reader.signedNumber());
  }
  case 4:
    return readAxis(reader);
  case 5:
    return readDim(reader);
  case 6:
    return readSharding(reader, /*hasUnreduced=*/false);
  case 7:
  case 16: {
    auto parts = reader.attributes<sdy::TensorShardingAttr>();
    return reader.hasFailed() ? Attribute() : sdy::TensorShardingsAttr::get(context, parts);
  }
  case 10: // How shardings pass through a custom call, which has no translation.
    reader.take(reader.left());
    return UnitAttr::get(context);
  case 15:
    return readSharding(reader, /*hasUnreduced=*/true);
  default:
    reader.refuseCode("sdy", code);
    return {};
  }
}

} // namespace spmdc::stablehlo::portable
