//===- Shards.cpp - global arrays to shards and back ----------------------===//

#include "ir/evaluate/Shards.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/Support/raw_ostream.h"

#include <bit>
#include <cmath>
#include <limits>

using namespace mlir;

namespace spmdc {

Scalar getPoison(Type elementType, Poison poison) {
  bool isNan = poison == Poison::Nan;
  if (auto floatType = dyn_cast<FloatType>(elementType)) {
    if (isNan)
      return Scalar::ofFloat(std::numeric_limits<double>::quiet_NaN());
    llvm::APFloat largest = llvm::APFloat::getLargest(floatType.getFloatSemantics());
    bool losesInfo;
    largest.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return Scalar::ofFloat(largest.convertToDouble());
  }
  auto intType = cast<IntegerType>(elementType);
  unsigned width = intType.getWidth();
  if (width == 1)
    return Scalar::ofBool(isNan);
  if (intType.isUnsigned())
    return roundTo(Scalar::ofInt(isNan ? -1 : 1), elementType);
  uint64_t sign = uint64_t(1) << (width - 1);
  return roundTo(Scalar::ofInt(static_cast<int64_t>(isNan ? sign - 1 : sign)), elementType);
}

void copyBox(const Tensor &source, ArrayRef<int64_t> sourceStart, Tensor &target, ArrayRef<int64_t> targetStart,
             ArrayRef<int64_t> sizes) {
  if (elementCount(sizes) == 0)
    return;
  SmallVector<int64_t> offset(sizes.size()), from(sizes.size()), to(sizes.size());
  do {
    for (size_t d = 0; d < sizes.size(); ++d) {
      from[d] = sourceStart[d] + offset[d];
      to[d] = targetStart[d] + offset[d];
    }
    target.at(to) = source.at(from);
  } while (nextIndex(offset, sizes));
}

bool isSameScalar(Type elementType, Scalar a, Scalar b) {
  if (!isa<FloatType>(elementType))
    return a.i == b.i;
  if (std::isnan(a.f) || std::isnan(b.f))
    return std::isnan(a.f) && std::isnan(b.f);
  return std::bit_cast<uint64_t>(a.f) == std::bit_cast<uint64_t>(b.f);
}

namespace {

/// Start and size of the box that a device owns.
struct Box {
  SmallVector<int64_t> start, size;
};

Box ownedBox(ArrayType type, const spmd::MeshShape &mesh, int64_t device) {
  std::vector<int64_t> shape(type.getShape().begin(), type.getShape().end());
  Box box;
  for (const spmd::ShardRange &range : spmd::ownedRanges(mesh, shape, type.getShardingOrOpen().toValue(), device)) {
    box.start.push_back(range.start);
    box.size.push_back(range.size);
  }
  return box;
}

std::vector<int64_t> localShapeOf(ArrayType type, const spmd::MeshShape &mesh) {
  std::vector<int64_t> shape(type.getShape().begin(), type.getShape().end());
  return spmd::localShape(mesh, shape, type.getShardingOrOpen().toValue());
}

void printIndex(llvm::raw_ostream &os, ArrayRef<int64_t> index) {
  os << "[";
  llvm::interleaveComma(index, os);
  os << "]";
}

void printScalar(llvm::raw_ostream &os, Type elementType, Scalar value) {
  if (isa<FloatType>(elementType))
    os << value.f;
  else
    os << value.i;
}

} // namespace

DeviceTensors splitIntoShards(const Tensor &global, ArrayType type, const spmd::MeshShape &mesh, Poison poison) {
  DeviceTensors shards;
  SmallVector<int64_t> origin(type.getRank());
  for (int64_t device = 0; device < mesh.deviceCount(); ++device) {
    Tensor shard(localShapeOf(type, mesh), type.getElementType(), getPoison(type.getElementType(), poison));
    Box box = ownedBox(type, mesh, device);
    copyBox(global, box.start, shard, origin, box.size);
    shards.push_back(std::move(shard));
  }
  return shards;
}

FailureOr<Tensor> assembleShards(const DeviceTensors &shards, ArrayType type, const spmd::MeshShape &mesh,
                                 std::string &error) {
  llvm::raw_string_ostream os(error);
  if (!type.getShardingOrOpen().getUnreduced().empty()) {
    os << type.str() << " is unreduced: its shards are not an array yet";
    return failure();
  }
  Tensor global(type.getShape(), type.getElementType());
  std::vector<int64_t> owner(global.elements.size(), -1);
  for (auto [device, shard] : llvm::enumerate(shards)) {
    std::vector<int64_t> expected = localShapeOf(type, mesh);
    if (ArrayRef<int64_t>(shard.shape) != ArrayRef<int64_t>(expected) || shard.elementType != type.getElementType()) {
      os << "device " << device << " holds an array of shape ";
      printIndex(os, shard.shape);
      os << "; a shard of " << type.str() << " has ";
      printIndex(os, expected);
      return failure();
    }
    Box box = ownedBox(type, mesh, static_cast<int64_t>(device));
    if (elementCount(box.size) == 0)
      continue;
    SmallVector<int64_t> local(type.getRank()), index(type.getRank());
    do {
      for (int64_t d = 0; d < type.getRank(); ++d)
        index[d] = box.start[d] + local[d];
      int64_t offset = global.offsetOf(index);
      Scalar value = shard.at(local);
      if (owner[offset] >= 0 && !isSameScalar(type.getElementType(), global.elements[offset], value)) {
        os << "devices " << owner[offset] << " and " << device << " disagree about element ";
        printIndex(os, index);
        os << " of " << type.str() << ": ";
        printScalar(os, type.getElementType(), global.elements[offset]);
        os << " and ";
        printScalar(os, type.getElementType(), value);
        return failure();
      }
      owner[offset] = static_cast<int64_t>(device);
      global.elements[offset] = value;
    } while (nextIndex(local, box.size));
  }
  for (int64_t offset = 0; offset < global.size(); ++offset)
    if (owner[offset] < 0) {
      os << "no device owns element number " << offset << " of " << type.str();
      return failure();
    }
  return global;
}

} // namespace spmdc
