//===- ProgramIndex.cpp - values of places in a program -------------------===//

#include "frontend/editor/ProgramIndex.h"
#include "frontend/emit/Leaves.h"
#include "ir/spmd/SpmdOps.h"
#include "ir/spmd/ValueNames.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace spmdc {

/// A type as a program could write it, or the kind of the value.
static std::string describe(const Value &value) {
  constexpr size_t longest = 120;
  auto all = [&](llvm::StringRef open, llvm::StringRef close) {
    std::string text = open.str();
    for (auto [i, element] : llvm::enumerate(value.elements)) {
      text += (i ? ", " : "") + describe(element);
      if (text.size() > longest)
        return text + ", ..." + close.str();
    }
    return text + close.str();
  };
  switch (value.kind) {
  case ValueKind::Type:
    return value.type.str();
  case ValueKind::Partition:
    return "a sharding";
  case ValueKind::Struct:
    return std::string(value.structDecl->name.text);
  case ValueKind::Tuple:
    return all("(", ")");
  case ValueKind::List: {
    std::string first = value.elements.empty() ? "" : describe(value.elements.front());
    bool isUniform = value.elements.size() > 1 &&
                     llvm::all_of(value.elements, [&](const Value &element) { return describe(element) == first; });
    return isUniform ? "[" + first + "; " + std::to_string(value.elements.size()) + "]" : all("[", "]");
  }
  case ValueKind::Constant:
    return value.constant.str();
  default:
    return value.describe();
  }
}

void ProgramIndex::note(TextSpan place, std::vector<uint32_t> calls, const Value &value) {
  if (value.isPoison() || value.kind == ValueKind::None)
    return;
  IndexedPlace &known = places[place];
  auto same = llvm::find_if(known.instances, [&](const IndexedInstance &i) { return i.calls == calls; });
  if (same == known.instances.end()) {
    ++known.instanceCount;
    if (known.instances.size() == maxInstances)
      return;
    same = known.instances.emplace(known.instances.end());
  }
  *same = {std::move(calls), describe(value), {}};
  std::vector<std::string> paths = leafNames(value);
  for (auto [leaf, path] : llvm::zip(getLeaves(value), paths)) {
    if (same->leaves.size() == maxLeaves)
      break;
    IndexedLeaf &noted = same->leaves.emplace_back();
    noted.path = path;
    noted.type = describe(leaf);
    noted.isKey = leaf.isKey();
    if (!leaf.array)
      continue;
    if (llvm::SmallVector<unsigned> handles = getValueHandles(leaf.array); !handles.empty()) {
      noted.handle = handles.front();
      continue;
    }
    noted.handle = nextHandle++;
    addValueHandle(leaf.array, *noted.handle);
  }
}

/// Drops the dimension of a key's words, which programs do not see.
static ArrayType withoutWords(ArrayType type) {
  ShardingAttr sharding = type.getShardingOrOpen();
  return ArrayType::get(type.getShape().drop_back(), type.getElementType(),
                        ShardingAttr::get(type.getContext(), sharding.getDims().drop_back(), sharding.getUnreduced()));
}

static std::string describeLocal(ArrayType type, bool isKey, MeshAttr mesh) {
  ArrayType local = type.getLocal(mesh);
  return isKey ? "key" + shapeStr(local.getShape()) : local.str();
}

void ProgramIndex::addShardings(mlir::ModuleOp propagated) {
  MeshAttr mesh = getMesh(propagated);
  if (mesh.toValue().deviceCount() == 1)
    return;
  struct Found {
    ArrayType type;
    bool isLocal = false;
  };
  llvm::DenseMap<unsigned, Found> found;
  auto visit = [&](mlir::Value value) {
    auto type = llvm::dyn_cast<ArrayType>(value.getType());
    if (!type)
      return;
    mlir::Operation *around = value.getParentBlock()->getParentOp();
    bool isLocal = llvm::isa<ManualOp>(around) || around->getParentOfType<ManualOp>();
    for (unsigned handle : getValueHandles(value))
      found.try_emplace(handle, Found{type, isLocal});
  };
  propagated.walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    llvm::for_each(op->getResults(), visit);
    for (mlir::Region &region : op->getRegions())
      for (mlir::Block &block : region)
        llvm::for_each(block.getArguments(), visit);
  });
  for (auto &[place, known] : places)
    for (IndexedInstance &instance : known.instances)
      for (IndexedLeaf &leaf : instance.leaves) {
        auto it = leaf.handle ? found.find(*leaf.handle) : found.end();
        if (it == found.end())
          continue;
        ArrayType type = leaf.isKey ? withoutWords(it->second.type) : it->second.type;
        leaf.isLocal = it->second.isLocal;
        leaf.sharding = type.getShardingOrOpen().toValue().str();
        leaf.localType = describeLocal(type, leaf.isKey, mesh);
      }
}

const IndexedPlace *ProgramIndex::find(TextSpan place) const {
  auto found = places.find(place);
  return found == places.end() ? nullptr : &found->second;
}

const IndexedPlace *ProgramIndex::findAround(TextSpan place, TextSpan *found) const {
  auto smallest = places.end();
  for (auto it = places.begin(); it != places.end() && it->first.begin <= place.begin; ++it)
    if (it->first.end >= place.end && (smallest == places.end() || it->first.size() <= smallest->first.size()))
      smallest = it;
  if (smallest == places.end())
    return nullptr;
  if (found)
    *found = smallest->first;
  return &smallest->second;
}

} // namespace spmdc
