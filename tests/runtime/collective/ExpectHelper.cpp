//===- ExpectHelper.cpp - reference results by definition -----------------===//

#include "ExpectHelper.h"
#include "JobHelper.h"

#include <cmath>
#include <cstring>

namespace spmd::test {
namespace {

float bf16ToFloat(uint16_t bits) {
  uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

/// Rounds by the definition: to the nearer of the two neighbours, the even one when they are equally near.
uint16_t floatToBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if (std::isnan(value))
    return 0x7fc0;
  auto down = static_cast<uint16_t>(bits >> 16);
  if ((bits & 0xffff) == 0)
    return down;
  uint16_t up = down + 1;
  double below = bf16ToFloat(down), above = bf16ToFloat(up);
  if (std::isinf(above))
    above = std::ldexp(above > 0 ? 1.0 : -1.0, 128);
  double toDown = std::fabs(value - below), toUp = std::fabs(above - value);
  return toDown < toUp || (toDown == toUp && down % 2 == 0) ? down : up;
}

template <typename Float> Float reduceFloat(ReductionKind kind, Float a, Float b) {
  switch (kind) {
  case ReductionKind::Sum:
    return a + b;
  case ReductionKind::Prod:
    return a * b;
  case ReductionKind::Max:
    if (std::isnan(a) || std::isnan(b))
      return std::numeric_limits<Float>::quiet_NaN();
    return a == b ? (std::signbit(a) ? b : a) : std::fmax(a, b);
  default:
    if (std::isnan(a) || std::isnan(b))
      return std::numeric_limits<Float>::quiet_NaN();
    return a == b ? (std::signbit(a) ? a : b) : std::fmin(a, b);
  }
}

template <typename Integer> Integer reduceInteger(ReductionKind kind, Integer a, Integer b) {
  switch (kind) {
  case ReductionKind::Sum:
    return static_cast<Integer>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  case ReductionKind::Prod:
    return static_cast<Integer>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  case ReductionKind::Max:
    return std::max(a, b);
  case ReductionKind::Min:
    return std::min(a, b);
  case ReductionKind::And:
    return a & b;
  case ReductionKind::Or:
    return a | b;
  }
  return 0;
}

/// Reduces one element of each member along the tree.
template <typename T, typename Combine> T tree(const std::vector<T> &values, const Combine &combine) {
  if (values.size() == 1)
    return values[0];
  size_t half = 1;
  while (2 * half < values.size())
    half *= 2;
  return combine(tree(std::vector<T>(values.begin(), values.begin() + half), combine),
                 tree(std::vector<T>(values.begin() + half, values.end()), combine));
}

template <typename T, typename Combine>
void reduceAs(const std::vector<const Value *> &values, Value &result, const Combine &combine) {
  for (size_t i = 0; i < result.bytes.size() / sizeof(T); ++i) {
    std::vector<T> elements(values.size());
    for (size_t p = 0; p < values.size(); ++p)
      std::memcpy(&elements[p], values[p]->bytes.data() + i * sizeof(T), sizeof(T));
    T reduced = tree(elements, combine);
    std::memcpy(result.bytes.data() + i * sizeof(T), &reduced, sizeof(T));
  }
}

template <typename Load, typename Store>
void reduceHalf(const std::vector<const Value *> &values, Value &result, ReductionKind kind, const Load &loadHalf,
                const Store &storeHalf) {
  for (size_t i = 0; i < result.bytes.size() / 2; ++i) {
    std::vector<float> elements;
    for (const Value *value : values) {
      uint16_t bits;
      std::memcpy(&bits, value->bytes.data() + 2 * i, 2);
      elements.push_back(loadHalf(bits));
    }
    uint16_t bits = storeHalf(tree(elements, [&](float a, float b) { return reduceFloat(kind, a, b); }));
    std::memcpy(result.bytes.data() + 2 * i, &bits, 2);
  }
}

Value reduce(const std::vector<const Value *> &values, ReductionKind kind) {
  Value result = zerosLike(values[0]->dtype, values[0]->shape);
  auto asFloat = [&]<typename T>(T) { reduceAs<T>(values, result, [&](T a, T b) { return reduceFloat(kind, a, b); }); };
  auto asInteger = [&]<typename T>(T) {
    reduceAs<T>(values, result, [&](T a, T b) { return reduceInteger(kind, a, b); });
  };
  switch (result.dtype) {
  case DType::F64:
    asFloat(double());
    break;
  case DType::F32:
    asFloat(float());
    break;
  case DType::BF16:
    reduceHalf(values, result, kind, bf16ToFloat, floatToBf16);
    break;
  case DType::F16:
    reduceHalf(
        values, result, kind, [](uint16_t bits) { return static_cast<float>(__builtin_bit_cast(_Float16, bits)); },
        [](float value) { return __builtin_bit_cast(uint16_t, static_cast<_Float16>(value)); });
    break;
  case DType::I64:
    asInteger(int64_t());
    break;
  case DType::I32:
    asInteger(int32_t());
    break;
  case DType::I16:
    asInteger(int16_t());
    break;
  case DType::I8:
    asInteger(int8_t());
    break;
  case DType::U64:
    asInteger(uint64_t());
    break;
  case DType::U32:
    asInteger(uint32_t());
    break;
  case DType::U16:
    asInteger(uint16_t());
    break;
  case DType::U8:
    asInteger(uint8_t());
    break;
  case DType::Bool: {
    bool isOr = kind == ReductionKind::Sum || kind == ReductionKind::Max || kind == ReductionKind::Or;
    reduceAs<uint8_t>(values, result, [&](uint8_t a, uint8_t b) -> uint8_t { return isOr ? a || b : a && b; });
    break;
  }
  case DType::Key:
    abort();
  }
  return result;
}

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Returns the shard of a member, level by level: pad, split, continue with the block.
Value scatter(Value value, int64_t dim, const std::vector<int64_t> &sizes, const std::vector<int64_t> &coordinates) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t block = ceilDiv(value.shape[dim], sizes[i]);
    value = crop(value, dim, coordinates[i] * block, (coordinates[i] + 1) * block);
  }
  return value;
}

/// Concatenates the members' shards (first axis major) to n elements.
Value gather(const std::vector<Value> &parts, int64_t dim, std::vector<int64_t> sizes, int64_t n) {
  if (sizes.empty())
    return parts[0];
  int64_t count = sizes[0];
  sizes.erase(sizes.begin());
  std::vector<Value> blocks;
  size_t perBlock = parts.size() / count;
  for (int64_t i = 0; i < count; ++i)
    blocks.push_back(gather(std::vector<Value>(parts.begin() + i * perBlock, parts.begin() + (i + 1) * perBlock), dim,
                            sizes, ceilDiv(n, count)));
  return crop(concatenate(blocks, dim), dim, 0, n);
}

} // namespace

Value zerosLike(DType dtype, std::vector<int64_t> shape) {
  int64_t bytes = elementCount(shape) * byteSize(dtype);
  return {dtype, std::move(shape), std::vector<char>(bytes)};
}

Value makeValue(DType dtype, std::vector<int64_t> shape, std::mt19937_64 &random) {
  Value value = zerosLike(dtype, std::move(shape));
  int64_t count = elementCount(value.shape), size = byteSize(dtype);
  std::uniform_real_distribution<float> real(-2, 2);
  for (int64_t i = 0; i < count; ++i) {
    char *at = value.bytes.data() + i * size;
    uint64_t bits = random();
    float f = real(random);
    // Sometimes special values: NaN, infinity, zeros of both signs.
    if (bits % 37 == 0)
      f = NAN;
    else if (bits % 41 == 0)
      f = INFINITY;
    else if (bits % 11 == 0)
      f = bits % 2 ? 0.0f : -0.0f;
    if (dtype == DType::F64) {
      double d = f * 1.000000001;
      std::memcpy(at, &d, 8);
    } else if (dtype == DType::F32) {
      std::memcpy(at, &f, 4);
    } else if (dtype == DType::BF16) {
      uint16_t half = floatToBf16(f);
      std::memcpy(at, &half, 2);
    } else if (dtype == DType::F16) {
      auto half = static_cast<_Float16>(f);
      std::memcpy(at, &half, 2);
    } else if (dtype == DType::Bool) {
      *at = bits % 3 == 0;
    } else {
      std::memcpy(at, &bits, size);
    }
  }
  return value;
}

Value crop(const Value &value, int64_t dim, int64_t begin, int64_t end) {
  std::vector<int64_t> shape = value.shape;
  int64_t n = shape[dim];
  shape[dim] = end - begin;
  Value result = zerosLike(value.dtype, shape);
  int64_t inner = byteSize(value.dtype), outer = 1;
  for (size_t d = 0; d < shape.size(); ++d)
    (static_cast<int64_t>(d) < dim ? outer : inner) *= static_cast<int64_t>(d) == dim ? 1 : shape[d];
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = begin; i < end && i < n; ++i)
      std::memcpy(result.bytes.data() + (o * (end - begin) + i - begin) * inner,
                  value.bytes.data() + (o * n + i) * inner, inner);
  return result;
}

Value concatenate(const std::vector<Value> &parts, int64_t dim) {
  std::vector<int64_t> shape = parts[0].shape;
  shape[dim] = 0;
  for (const Value &part : parts)
    shape[dim] += part.shape[dim];
  Value result = zerosLike(parts[0].dtype, shape);
  int64_t inner = byteSize(result.dtype), outer = 1;
  for (size_t d = 0; d < shape.size(); ++d)
    (static_cast<int64_t>(d) < dim ? outer : inner) *= static_cast<int64_t>(d) == dim ? 1 : shape[d];
  char *at = result.bytes.data();
  for (int64_t o = 0; o < outer; ++o)
    for (const Value &part : parts) {
      int64_t bytes = part.shape[dim] * inner;
      std::memcpy(at, part.bytes.data() + o * bytes, bytes);
      at += bytes;
    }
  return result;
}

Value expectedResult(const MeshShape &mesh, const CollectiveDesc &desc, const std::vector<Value> &operands,
                     int64_t position) {
  std::vector<int64_t> sizes;
  for (const AxisRef &axis : desc.axes)
    sizes.push_back(axis.sizeIn(mesh));
  // The group by its definition: devices that differ at most in these axes, ordered by their coordinates over them.
  auto coordinatesOver = [&](int64_t device) {
    std::vector<int64_t> all = mesh.coordinates(device), over;
    for (const AxisRef &axis : desc.axes)
      over.push_back(axis.coordinateIn(mesh, all));
    return over;
  };
  std::vector<std::pair<std::vector<int64_t>, int64_t>> members;
  auto differ = [&](int64_t a, int64_t b) {
    // Equal in every part of every axis over which the collective does not run.
    std::vector<int64_t> ca = mesh.coordinates(a), cb = mesh.coordinates(b);
    for (const AxisRef &axis : desc.axes) {
      size_t index = mesh.indexOf(axis.name);
      int64_t minor = axis.isFullAxis() ? 1 : mesh.axes[index].size / (axis.preSize * axis.size);
      ca[index] -= axis.coordinateIn(mesh, mesh.coordinates(a)) * minor;
      cb[index] -= axis.coordinateIn(mesh, mesh.coordinates(b)) * minor;
    }
    return ca != cb;
  };
  for (int64_t device = 0; device < mesh.deviceCount(); ++device)
    if (!differ(device, position))
      members.push_back({coordinatesOver(device), device});
  std::sort(members.begin(), members.end());
  std::vector<const Value *> group;
  size_t self = 0;
  for (auto &[coordinates, device] : members) {
    if (device == position)
      self = group.size();
    group.push_back(&operands[device]);
  }
  std::vector<int64_t> mine = coordinatesOver(position);

  switch (desc.kind) {
  case CollectiveKind::AllReduce:
    return reduce(group, desc.reduction);
  case CollectiveKind::ReduceScatter:
    return scatter(reduce(group, desc.reduction), desc.splitDim, sizes, mine);
  case CollectiveKind::AllGather: {
    std::vector<Value> parts;
    for (const Value *value : group)
      parts.push_back(*value);
    return gather(parts, desc.concatDim, sizes, desc.resultShape[desc.concatDim]);
  }
  case CollectiveKind::AllToAll: {
    std::vector<Value> parts;
    for (const Value *value : group)
      parts.push_back(scatter(*value, desc.splitDim, sizes, mine));
    if (desc.splitDim == desc.concatDim)
      return concatenate(parts, desc.concatDim);
    return gather(parts, desc.concatDim, sizes, desc.resultShape[desc.concatDim]);
  }
  case CollectiveKind::CollectivePermute:
    for (auto [source, target] : desc.pairs)
      if (target == static_cast<int64_t>(self))
        return *group[source];
    return zerosLike(desc.dtype, desc.resultShape);
  case CollectiveKind::CollectiveBroadcast:
    return *group[desc.root];
  case CollectiveKind::Exchange:
    break;
  }
  return {};
}

std::string compareBytes(DType dtype, const std::vector<char> &actual, const std::vector<char> &expected) {
  if (actual.size() != expected.size())
    return "size " + std::to_string(actual.size()) + " instead of " + std::to_string(expected.size());
  int64_t size = byteSize(dtype);
  auto isNan = [&](const char *at) {
    uint64_t bits = 0;
    std::memcpy(&bits, at, size);
    switch (dtype) {
    case DType::F64:
      return (bits & 0x7fffffffffffffffu) > 0x7ff0000000000000u;
    case DType::F32:
      return (bits & 0x7fffffffu) > 0x7f800000u;
    case DType::BF16:
      return (bits & 0x7fffu) > 0x7f80u;
    case DType::F16:
      return (bits & 0x7fffu) > 0x7c00u;
    default:
      return false;
    }
  };
  for (size_t i = 0; i < actual.size(); i += size) {
    if (std::memcmp(&actual[i], &expected[i], size) == 0 || (isNan(&actual[i]) && isNan(&expected[i])))
      continue;
    uint64_t a = 0, e = 0;
    std::memcpy(&a, &actual[i], size);
    std::memcpy(&e, &expected[i], size);
    char text[128];
    snprintf(text, sizeof text, "element %zu has bits %llx instead of %llx", i / size,
             static_cast<unsigned long long>(a), static_cast<unsigned long long>(e));
    return text;
  }
  return "";
}

} // namespace spmd::test
