//===- EmitTypes.cpp - types, shardings, declared values ------------------===//

#include "frontend/emit/Emitter.h"

#include "llvm/ADT/STLExtras.h"

namespace spmdc {

int64_t Emitter::sizeOf(const Expr &size, const std::string &what) {
  Value value = need(size);
  if (!value.isConstant())
    fail(size.range, what + " must be a number known while compiling, not " + value.describe());
  if (value.constant.kind == Constant::Kind::Float)
    fail(size.range, what + " must be an integer; this is " + value.constant.str() +
                         (size.kind == ExprKind::Binary ? " (a division leaves a remainder)" : ""));
  if (value.constant.kind == Constant::Kind::Bool)
    fail(size.range, what + " must be an integer, not a bool");
  if (value.constant.i < 0)
    fail(size.range, what + " cannot be negative: " + value.constant.str());
  return value.constant.i;
}

std::string Emitter::listedAxes() const {
  std::string list;
  for (const spmd::MeshAxis &axis : meshAxes)
    list += (list.empty() ? "; the mesh has " : ", ") + axis.name;
  return list;
}

DimShardingAttr Emitter::dimSharding(const DimShardingSyntax &sharding) {
  llvm::SmallVector<AxisRefAttr> axes;
  for (const Identifier &axis : sharding.axes) {
    if (llvm::none_of(meshAxes, [&](const spmd::MeshAxis &known) { return known.name == axis.text; }))
      failUnknownAxis(axis);
    axes.push_back(AxisRefAttr::get(builder.getContext(), llvm::StringRef(axis.text)));
  }
  return DimShardingAttr::get(builder.getContext(), axes, !sharding.isOpen, sharding.priority);
}

/// Finds an axis that shards two dimensions of one array.
static std::optional<std::pair<Identifier, Identifier>> repeatedAxis(llvm::ArrayRef<const DimShardingSyntax *> dims) {
  std::map<std::string_view, Identifier> seen;
  for (const DimShardingSyntax *dim : dims)
    for (const Identifier &axis : dim->axes)
      if (auto [first, isNew] = seen.emplace(axis.text, axis); !isNew)
        return std::pair(first->second, axis);
  return std::nullopt;
}

ArrayType Emitter::arrayTypeOf(const TypeSyntax &type) {
  std::optional<spmd::DType> dtype = spmd::parseDType(type.name.text);
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<DimShardingAttr> dims;
  llvm::SmallVector<const DimShardingSyntax *> written;
  for (const DimSyntax &dim : type.dims) {
    shape.push_back(dimSize(*dim.size));
    dims.push_back(dimSharding(dim.sharding));
    written.push_back(&dim.sharding);
  }
  if (auto repeated = repeatedAxis(written)) {
    report(repeated->second.range, "axis '" + std::string(repeated->second.text) + "' is used twice in one array")
        .note(repeated->first.range, "it is used here");
    throw Poisoned();
  }
  auto result = ArrayType::get(shape, elementType(*dtype), ShardingAttr::get(builder.getContext(), dims, {}));
  checkSize(result, type.range);
  return result;
}

ShardingAttr Emitter::shardingFrom(const Value &partition, int64_t rank) {
  if (static_cast<int64_t>(partition.partition.size()) > rank)
    fail(partition.range, "P(...) has " + std::to_string(partition.partition.size()) +
                              " entries, but the array has rank " + std::to_string(rank));
  llvm::SmallVector<DimShardingAttr> dims(partition.partition.begin(), partition.partition.end());
  std::set<llvm::StringRef> seen;
  for (DimShardingAttr dim : dims)
    for (AxisRefAttr axis : dim.getAxes())
      if (!seen.insert(axis.getName()).second)
        fail(partition.range, "axis '" + axis.getName().str() + "' is used twice in one array");
  while (static_cast<int64_t>(dims.size()) < rank)
    dims.push_back(DimShardingAttr::get(builder.getContext(), {}, /*isClosed=*/true));
  return ShardingAttr::get(builder.getContext(), dims, {});
}

ShardingAttr Emitter::keyWords(ShardingAttr sharding) {
  llvm::SmallVector<DimShardingAttr> dims(sharding.getDims());
  dims.push_back(DimShardingAttr::get(builder.getContext(), {}, /*isClosed=*/true));
  return ShardingAttr::get(builder.getContext(), dims, {});
}

llvm::SmallVector<int64_t> Emitter::keyWords(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> result(shape);
  result.push_back(2);
  return result;
}

ArrayType Emitter::keyWords(ArrayType type) {
  ShardingAttr sharding = type.getSharding();
  return ArrayType::get(keyWords(type.getShape()), elementType(spmd::DType::U32),
                        sharding ? keyWords(sharding) : sharding);
}

Value Emitter::coerce(const Value &value, ArrayType type, const std::string &what, Range declared) {
  auto mismatch = [&](const std::string &reason) {
    report(value.range,
           what + " is " + value.describe() + ", but " + type.withoutSharding().str() + " is declared" + reason)
        .note(declared, "declared here");
    throw Poisoned();
  };
  bool isKey = type.getDType() == spmd::DType::Key;
  if (isKey ? !value.isKey() : !value.isNumeric())
    mismatch("");
  std::string perDevice = isManual ? "; inside of shard_map arrays are local to a device" : "";
  if (value.rank() != type.getRank())
    mismatch(" (rank " + std::to_string(value.rank()) + " and " + std::to_string(type.getRank()) + ")" + perDevice);
  for (auto [dim, size] : llvm::enumerate(value.shape()))
    if (size != type.getDimSize(dim))
      mismatch(" (dimension " + std::to_string(dim) + " is " + std::to_string(size) + ", not " +
               std::to_string(type.getDimSize(dim)) + ")" + perDevice);
  if (isKey)
    return Value::ofKey(constrain(value.array, keyWords(type).getSharding(), declared), value.range);
  // A weak value takes the declared dtype if that can hold its kind; any other value must have it.
  DTypeClass own = value.dtypeClass();
  std::optional<DTypeClass> joined = promote(own, {type.getDType(), false});
  bool agrees = own.isWeak ? joined && joined->dtype == type.getDType() : own.dtype == type.getDType();
  if (!agrees)
    mismatch(value.isArray() && !own.isWeak
                 ? "; convert it with cast(..., " + std::string(spmd::dtypeName(type.getDType())) + ")"
                 : "");
  mlir::Value array = materialize(value, type.getDType());
  return Value::ofArray(constrain(array, type.getSharding(), declared), false, value.range);
}

} // namespace spmdc
