//===- RandomSharding.cpp - random shardings of values --------------------===//

#include "tests/programs/support/RandomSharding.h"

using namespace mlir;

namespace spmdc {

ShardingAttr randomSharding(Random &random, MeshAttr mesh, ArrayRef<int64_t> shape) {
  spmd::MeshShape value = mesh.toValue();
  std::vector<std::vector<spmd::AxisRef>> dims(shape.size());
  auto place = [&](const spmd::AxisRef &axis) {
    if (shape.empty() || random.chance(40))
      return;
    auto &dim = dims[static_cast<size_t>(random.integer(0, static_cast<int64_t>(shape.size()) - 1))];
    dim.insert(dim.begin() + random.integer(0, static_cast<int64_t>(dim.size())), axis);
  };
  for (const spmd::MeshAxis &axis : value.axes) {
    bool isSplit = axis.size % 2 == 0 && axis.size > 2 && random.chance(20);
    if (!isSplit) {
      place({axis.name, 1, 0});
      continue;
    }
    place({axis.name, 1, 2});
    place({axis.name, 2, axis.size / 2});
  }
  SmallVector<DimShardingAttr> attrs;
  MLIRContext *context = mesh.getContext();
  for (const auto &axes : dims) {
    SmallVector<AxisRefAttr> refs;
    for (const spmd::AxisRef &axis : axes) {
      // Two adjacent parts of an axis are one part.
      if (!refs.empty() && refs.back().getName() == axis.name && !refs.back().isFullAxis() &&
          refs.back().getPreSize() * refs.back().getSize() == axis.preSize) {
        int64_t size = refs.back().getSize() * axis.size, preSize = refs.back().getPreSize();
        bool isWhole = preSize == 1 && size == value.axes[value.indexOf(axis.name)].size;
        refs.back() = AxisRefAttr::get(context, axis.name, preSize, isWhole ? 0 : size);
        continue;
      }
      refs.push_back(AxisRefAttr::get(context, axis.name, axis.preSize, axis.size));
    }
    attrs.push_back(DimShardingAttr::get(context, refs, /*isClosed=*/true, -1));
  }
  return ShardingAttr::get(context, attrs, {});
}

} // namespace spmdc
