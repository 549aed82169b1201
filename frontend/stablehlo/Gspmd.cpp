//===- Gspmd.cpp - shardings in the form of GSPMD -------------------------===//

#include "frontend/stablehlo/Gspmd.h"

#include "ir/interfaces/Tensor.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <set>

using namespace mlir;

namespace spmdc::stablehlo {

namespace {

using Numbers = SmallVector<int64_t>;

constexpr StringRef kAttribute = "mhlo.sharding";
constexpr int64_t kMaxDevices = 1 << 20; // Of a mesh.

/// Takes `4,1,2` from the front; false if there is none.
bool takeNumbers(StringRef &text, Numbers &numbers) {
  do {
    if (text.consumeInteger(10, numbers.emplace_back()) || numbers.back() < 0)
      return false;
  } while (text.consume_front(","));
  return true;
}

bool takeList(StringRef &text, char open, char close, Numbers &numbers) {
  return text.consume_front(StringRef(&open, 1)) && takeNumbers(text, numbers) &&
         text.consume_front(StringRef(&close, 1));
}

/// The number of devices; nullopt if it is too large.
std::optional<int64_t> countOf(const Numbers &sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    if (size < 1 || llvm::MulOverflow(count, size, count) || count > kMaxDevices)
      return std::nullopt;
  return count;
}

/// The factors of `<=[4,2]T(1,0)`, major ones first; empty if it is not well-formed.
SmallVector<DeviceFactor> takeFactors(StringRef &text, int64_t devices) {
  Numbers sizes, order;
  if (!takeList(text, '[', ']', sizes) || countOf(sizes) != devices)
    return {};
  if (text.consume_front("T")) {
    if (!takeList(text, '(', ')', order) || order.size() != sizes.size() || !areDims(order, sizes.size()))
      return {};
  } else {
    order = llvm::to_vector(llvm::seq<int64_t>(0, sizes.size()));
  }
  Numbers strides(sizes.size(), 1);
  for (size_t i = sizes.size() - 1; i-- > 0;)
    strides[i] = strides[i + 1] * sizes[i + 1];
  return llvm::map_to_vector(order, [&](int64_t i) { return DeviceFactor{strides[i], sizes[i]}; });
}

/// The factors of a list of all device numbers in the order of the tiles; empty if they are no product of strides.
SmallVector<DeviceFactor> factorsOfList(ArrayRef<int64_t> devices, ArrayRef<int64_t> tiles) {
  SmallVector<DeviceFactor> factors;
  auto block = static_cast<int64_t>(devices.size());
  for (int64_t tile : tiles) {
    block /= tile;
    if (tile > 1)
      factors.push_back({devices[block], tile});
  }
  for (auto [place, device] : llvm::enumerate(devices)) {
    int64_t rest = static_cast<int64_t>(place), expected = 0;
    for (const DeviceFactor &factor : llvm::reverse(factors)) {
      expected += rest % factor.size * factor.stride;
      rest /= factor.size;
    }
    if (expected != device)
      return {};
  }
  return factors;
}

/// Distributes the factors over tiles, major ones first, dividing them where a tile ends within one.
std::optional<SmallVector<SmallVector<DeviceFactor>>> distribute(SmallVector<DeviceFactor> factors,
                                                                 ArrayRef<int64_t> tiles) {
  SmallVector<SmallVector<DeviceFactor>> dims;
  size_t next = 0;
  for (int64_t tile : tiles) {
    SmallVector<DeviceFactor> &dim = dims.emplace_back();
    while (tile > 1) {
      while (next < factors.size() && factors[next].size == 1)
        ++next;
      if (next == factors.size())
        return std::nullopt;
      DeviceFactor &factor = factors[next];
      int64_t size = tile % factor.size == 0 ? factor.size : tile;
      if (factor.size % size)
        return std::nullopt;
      factor.size /= size;
      dim.push_back({factor.stride * factor.size, size});
      tile /= size;
    }
  }
  return dims;
}

/// All shardings of a module's operations and of its functions' arguments and results.
void forEachSharding(ModuleOp module, llvm::function_ref<void(Operation *, StringRef)> visit) {
  auto visitIn = [&](Operation *op, DictionaryAttr attributes) {
    if (auto text = attributes ? attributes.getAs<StringAttr>(kAttribute) : StringAttr())
      visit(op, text.getValue());
  };
  module.walk([&](Operation *op) {
    visitIn(op, op->getAttrDictionary());
    auto function = llvm::dyn_cast<func::FuncOp>(op);
    for (unsigned i = 0; function && i < function.getNumArguments(); ++i)
      visitIn(op, function.getArgAttrDict(i));
    for (unsigned i = 0; function && i < function.getNumResults(); ++i)
      visitIn(op, function.getResultAttrDict(i));
  });
}

} // namespace

std::optional<Tiling> parseTiling(StringRef text, std::string &error) {
  StringRef rest = text.trim();
  auto fail = [&](const Twine &why) {
    error = ("has the sharding '" + text + "', " + why).str();
    return std::nullopt;
  };
  if (!rest.consume_front("{") || !rest.consume_back("}") || rest.contains('{') != rest.contains("last_tile_dims={"))
    return fail("which is not one of GSPMD for one array");
  rest = rest.trim();
  Tiling tiling;
  tiling.isReplicated = rest == "replicated";
  if (tiling.isReplicated)
    return tiling;
  Numbers tiles, list;
  if (!rest.consume_front("devices="))
    return fail("which is not supported; use {replicated} or {devices=[...]}, or export with Shardy: "
                "jax.config.update('jax_use_shardy_partitioner', True)");
  std::optional<int64_t> devices = takeList(rest, '[', ']', tiles) ? countOf(tiles) : std::nullopt;
  if (!devices)
    return fail("whose tiles are not a list of sizes");
  SmallVector<DeviceFactor> factors;
  if (rest.consume_front("<="))
    factors = takeFactors(rest, *devices);
  else if (takeNumbers(rest, list) && static_cast<int64_t>(list.size()) == *devices)
    factors = factorsOfList(list, tiles);
  std::optional<SmallVector<SmallVector<DeviceFactor>>> dims;
  if (*devices == 1 || !factors.empty())
    dims = distribute(factors, tiles);
  if (!dims)
    return fail("whose devices are no axes of a mesh in order");
  rest = rest.trim();
  bool hasRest = rest == "last_tile_dim_replicate" || rest == "last_tile_dims={replicated}";
  if (!hasRest && !rest.empty())
    return fail("of which '" + rest +
                "' is not supported; export with Shardy: "
                "jax.config.update('jax_use_shardy_partitioner', True)");
  if (hasRest && !dims->empty())
    tiling.rest = dims->pop_back_val();
  tiling.dims = std::move(*dims);
  tiling.devices = *devices;
  return tiling;
}

FailureOr<spmd::MeshShape> meshOfTilings(ModuleOp module) {
  std::set<int64_t> strides{1};
  int64_t devices = 1;
  bool isGood = true;
  forEachSharding(module, [&](Operation *op, StringRef text) {
    std::string error;
    std::optional<Tiling> tiling = parseTiling(text, error);
    if (!tiling || tiling->isReplicated || tiling->devices == 1 || !isGood)
      return; // An error is reported where the sharding is used.
    if (devices != 1 && devices != tiling->devices) {
      refuse(op,
             "has a sharding over " + Twine(tiling->devices) + " devices, and another one is over " + Twine(devices));
      isGood = false;
    }
    devices = tiling->devices;
    tiling->dims.push_back(tiling->rest);
    for (const SmallVector<DeviceFactor> &dim : tiling->dims)
      for (const DeviceFactor &factor : dim)
        strides.insert({factor.stride, factor.stride * factor.size});
    int64_t before = 1;
    for (int64_t stride : strides) {
      if (isGood && stride % before) {
        refuse(op, "has a sharding that divides the devices into groups of " + Twine(stride) +
                       ", and another one into groups of " + Twine(before) + ": no mesh has axes for both");
        isGood = false;
      }
      before = stride;
    }
  });
  if (!isGood)
    return failure();
  spmd::MeshShape mesh;
  for (auto major = strides.rbegin(); std::next(major) != strides.rend(); ++major)
    mesh.axes.push_back({"axis" + std::to_string(mesh.axes.size()), *major / *std::next(major)});
  return mesh;
}

FailureOr<ShardingAttr> shardingOfTiling(Translation &t, Operation *op, StringRef text, ArrayRef<int64_t> shape,
                                         ArrayRef<int64_t> open) {
  std::string error;
  std::optional<Tiling> tiling = parseTiling(text, error);
  if (!tiling)
    return refuse(op, error);
  if (tiling->isReplicated)
    tiling->dims.resize(shape.size());
  if (tiling->dims.size() != shape.size())
    return refuse(op, "has a sharding of ") << tiling->dims.size() << " dimensions for an array of " << shape.size();
  MLIRContext *context = t.b.getContext();
  SmallVector<DimShardingAttr> dims;
  for (auto [dim, factors] : llvm::enumerate(tiling->dims)) {
    SmallVector<AxisRefAttr> axes;
    for (const DeviceFactor &factor : factors) {
      int64_t end = 1;
      for (const spmd::MeshAxis &axis : t.mesh.axes)
        end *= axis.size;
      for (const spmd::MeshAxis &axis : t.mesh.axes) { // An axis is [end / size, end) of the strides.
        int64_t begin = end / axis.size;
        if (axis.size > 1 && begin >= factor.stride && end <= factor.stride * factor.size)
          axes.push_back(AxisRefAttr::get(context, axis.name));
        end = begin;
      }
    }
    bool isOpen = llvm::is_contained(open, static_cast<int64_t>(dim));
    dims.push_back(DimShardingAttr::get(context, axes, !isOpen));
  }
  return ShardingAttr::get(context, dims, {});
}

} // namespace spmdc::stablehlo
