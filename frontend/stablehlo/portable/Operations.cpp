//===- Operations.cpp - the operations of a portable artifact -------------===//

#include "frontend/stablehlo/portable/Operations.h"

#include "frontend/stablehlo/portable/VhloOperations.h"

#include "mlir/IR/Operation.h"

using namespace mlir;

namespace spmdc::stablehlo::portable {

namespace {

/// Regions nest through calls of functions here, in MLIR's parser and in the passes.
constexpr unsigned kMaxDepth = 128;

/// The bits of an operation's first byte behind its name: which parts it has.
enum Part : uint8_t {
  HasAttributes = 1,
  HasResults = 2,
  HasOperands = 4,
  HasSuccessors = 8,
  HasRegions = 16,
  HasUseOrders = 32,
  HasProperties = 64
};

class ModuleReader {
public:
  ModuleReader(const Sections &sections, Pool &pool, uint64_t maxTextSize)
      : sections(sections), pool(pool), context(pool.context), textLeft(maxTextSize) {}

  OwningOpRef<ModuleOp> read() {
    Cursor cursor(sections.operationBytes, sections.file.data(), "operations", pool.failure);
    bool hasArguments = false;
    if (cursor.numberWithFlag(hasArguments) != 1 || hasArguments)
      cursor.fail();
    readOperation(cursor, nullptr, 0);
    return std::move(module);
  }

private:
  /// One operation's encoding.
  struct Encoded {
    std::string name, target;
    NamedAttrList attributes;
    SmallVector<Type> types;
    SmallVector<Value> operands;
    uint64_t regions = 0;
    bool isIsolated = false;
  };

  void readOperation(Cursor &cursor, Block *block, unsigned depth);
  void readParts(Cursor &cursor, Encoded &op, const Sections::OperationName &name, uint8_t parts);
  void readAttributes(Cursor &cursor, Encoded &op, const Sections::OperationName &name, uint8_t parts);
  void readProperties(Cursor &cursor, Encoded &op, const Sections::OperationName &name);
  void chooseTarget(Encoded &op, const Sections::OperationName &name, Block *block);
  void readRegions(Cursor &cursor, const Encoded &op, MutableArrayRef<Region> regions, unsigned depth);
  void readRegion(Cursor &cursor, Region &region, unsigned depth);
  void readArguments(Cursor &cursor, Block &block);
  void skipUseOrders(Cursor &cursor, uint64_t valueCount);

  void define(Cursor &cursor, Value value) {
    if (nextValue >= values.size())
      return cursor.fail();
    values[nextValue++] = value;
  }

  void charge(uint64_t textSize) {
    if (textSize > textLeft)
      pool.failure.setTooLong();
    textLeft -= std::min(textLeft, textSize);
  }

  const Sections &sections;
  Pool &pool;
  MLIRContext *context;
  uint64_t textLeft;
  OwningOpRef<ModuleOp> module;
  /// The values of the regions that are open, by their numbers. A region that is isolated from above has its own.
  std::vector<Value> values;
  size_t nextValue = 0;
};

void ModuleReader::readProperties(Cursor &cursor, Encoded &op, const Sections::OperationName &name) {
  uint64_t index = cursor.number();
  if (!name.isRegistered || index >= sections.properties.size())
    return cursor.fail();
  ElementReader reader(sections.properties[index], pool);
  std::optional<SmallVector<StringRef>> names = attributesOf(op.name);
  if (!names)
    return pool.failure.set("it has the operation '" + op.name + "', whose attributes are not known");
  bool mayLack = op.name == "builtin.module"; // All other attributes are required.
  for (StringRef attribute : *names) {
    bool isPresent = true;
    uint64_t number = mayLack ? reader.numberWithFlag(isPresent) : reader.number();
    if (!isPresent)
      continue;
    if (Attribute value = pool.attribute(number)) {
      op.attributes.set(attribute, value);
      charge(pool.textSize(number));
    }
  }
  if (!reader.isAtEnd())
    reader.fail();
}

void ModuleReader::readAttributes(Cursor &cursor, Encoded &op, const Sections::OperationName &name, uint8_t parts) {
  if (parts & HasAttributes) {
    uint64_t number = cursor.number();
    if (auto dictionary = pool.attribute<DictionaryAttr>(number)) {
      op.attributes.append(dictionary.getValue());
      charge(pool.textSize(number));
    }
  }
  if (parts & HasProperties)
    readProperties(cursor, op, name);
}

/// Orders of uses in memory, which no reader of a program depends on.
void ModuleReader::skipUseOrders(Cursor &cursor, uint64_t valueCount) {
  uint64_t orders = valueCount > 1 ? cursor.count() : 1;
  for (; orders > 0 && !cursor.hasFailed(); --orders) {
    if (valueCount > 1)
      cursor.number();
    bool isOfPairs = false;
    uint64_t count = cursor.numberWithFlag(isOfPairs);
    if (count > cursor.left())
      cursor.fail();
    for (; count > 0 && !cursor.hasFailed(); --count)
      cursor.number();
  }
}

void ModuleReader::readParts(Cursor &cursor, Encoded &op, const Sections::OperationName &name, uint8_t parts) {
  readAttributes(cursor, op, name, parts);
  if (parts & HasResults)
    for (uint64_t left = cursor.count(); left > 0 && !cursor.hasFailed(); --left)
      op.types.push_back(pool.type(cursor.number()));
  if (parts & HasOperands)
    for (uint64_t left = cursor.count(); left > 0 && !cursor.hasFailed(); --left) {
      uint64_t number = cursor.number();
      op.operands.push_back(number < values.size() ? values[number] : Value());
      if (!op.operands.back()) // Not defined before: no region of StableHLO has several blocks.
        cursor.fail();
    }
  if (parts & HasSuccessors)
    pool.failure.set("it has branches between blocks (" + op.name + "), and StableHLO has none");
  if (parts & HasUseOrders)
    skipUseOrders(cursor, op.types.size());
  if (parts & HasRegions) {
    op.regions = cursor.numberWithFlag(op.isIsolated);
    if (op.regions > cursor.left())
      cursor.fail();
  }
  if (!cursor.hasFailed()) {
    for (Type type : op.types)
      charge(pool.textSize(type));
    for (Value operand : op.operands)
      charge(16 + pool.textSize(operand.getType()));
  }
}

void ModuleReader::chooseTarget(Encoded &op, const Sections::OperationName &name, Block *block) {
  bool isKnown = name.dialect == "vhlo" || name.dialect == "sdy" || name.dialect == "builtin";
  if (!isKnown)
    return pool.failure.set("it is bytecode of the dialect '" + name.dialect +
                            "', not of a portable artifact; export it with jax.export");
  op.name = (name.dialect + "." + name.name).str();
  bool isInFunction = block && block->getParentOp()->getName().getStringRef() == "func.func";
  op.target = name.dialect == "vhlo" ? nameInStablehlo(name.name, isInFunction) : op.name;
  if (!RegisteredOperationName::lookup(op.target, context))
    pool.failure.set("it has the operation '" + op.target + "', which is not supported");
}

void ModuleReader::readOperation(Cursor &cursor, Block *block, unsigned depth) {
  uint64_t number = cursor.number();
  if (number >= sections.operations.size() || depth > kMaxDepth)
    return cursor.fail();
  const Sections::OperationName &name = sections.operations[number];
  uint8_t parts = cursor.byte();
  Location loc = pool.location(cursor.number());
  Encoded op;
  chooseTarget(op, name, block);
  if (!cursor.hasFailed())
    readParts(cursor, op, name, parts);
  if (!cursor.hasFailed() && name.dialect == "vhlo")
    convertAttributes(op.target, op.attributes, context, pool.failure);
  charge(64);
  if (cursor.hasFailed())
    return;

  if (op.target == "builtin.module") { // One, around everything.
    if (block || op.regions != 1 || !op.types.empty() || !op.operands.empty())
      return cursor.fail();
    module = ModuleOp::create(loc);
    (*module)->setAttrs(op.attributes.getDictionary(context));
    module->getBodyRegion().getBlocks().clear();
    return readRegions(cursor, op, module->getOperation()->getRegions(), depth);
  }
  if (!block)
    return cursor.fail();
  if (op.target == "builtin.unrealized_conversion_cast") { // Between types of VHLO and their own in other dialects.
    if (op.regions != 0 || TypeRange(op.types) != TypeRange(ValueRange(op.operands)))
      return cursor.fail();
    for (Value operand : op.operands)
      define(cursor, operand);
    return;
  }
  OperationState state(loc, op.target);
  state.addOperands(op.operands);
  state.addTypes(op.types);
  state.attributes = op.attributes;
  for (uint64_t i = 0; i < op.regions; ++i)
    state.addRegion();
  Operation *created = Operation::create(state);
  block->push_back(created);
  for (Value result : created->getResults())
    define(cursor, result);
  readRegions(cursor, op, created->getRegions(), depth);
}

void ModuleReader::readRegions(Cursor &cursor, const Encoded &op, MutableArrayRef<Region> regions, unsigned depth) {
  if (regions.empty() || cursor.hasFailed())
    return;
  if (!op.isIsolated) {
    for (Region &region : regions)
      readRegion(cursor, region, depth);
    return;
  }
  std::vector<Value> outer = std::exchange(values, {});
  size_t outerNext = std::exchange(nextValue, 0);
  if (sections.version >= kVersionOfIsolatedRegions) {
    Cursor section(cursor.section().bytes, cursor);
    for (Region &region : regions)
      readRegion(section, region, depth);
    if (!section.isAtEnd())
      section.fail();
  } else {
    for (Region &region : regions)
      readRegion(cursor, region, depth);
  }
  values = std::move(outer);
  nextValue = outerNext;
}

void ModuleReader::readRegion(Cursor &cursor, Region &region, unsigned depth) {
  uint64_t blocks = cursor.number();
  if (blocks == 0 || cursor.hasFailed())
    return;
  uint64_t valueCount = cursor.count();
  if (blocks != 1)
    pool.failure.set("it has a region of " + Twine(blocks) + " blocks, and StableHLO's have one");
  size_t outerCount = values.size(), outerNext = std::exchange(nextValue, outerCount);
  values.resize(outerCount + valueCount);
  Block &block = region.emplaceBlock();
  bool hasArguments = false;
  uint64_t operations = cursor.numberWithFlag(hasArguments);
  if (hasArguments)
    readArguments(cursor, block);
  for (; operations > 0 && !cursor.hasFailed(); --operations)
    readOperation(cursor, &block, depth + 1);
  values.resize(outerCount);
  nextValue = outerNext;
}

void ModuleReader::readArguments(Cursor &cursor, Block &block) {
  uint64_t count = cursor.count();
  for (uint64_t left = count; left > 0 && !cursor.hasFailed(); --left) {
    bool hasLocation = true;
    uint64_t number =
        sections.version < kVersionWithoutUnknownLocations ? cursor.number() : cursor.numberWithFlag(hasLocation);
    Type type = pool.type(number);
    Location loc = UnknownLoc::get(context);
    if (hasLocation) {
      uint64_t place = cursor.number();
      loc = pool.location(place);
      if (!cursor.hasFailed())
        charge(pool.textSize(place));
    }
    if (cursor.hasFailed())
      return;
    charge(pool.textSize(type));
    define(cursor, block.addArgument(type, loc));
  }
  if (sections.version >= kVersionOfUseOrders && cursor.byte() != 0)
    skipUseOrders(cursor, count);
}

} // namespace

OwningOpRef<ModuleOp> readModule(const Sections &sections, Pool &pool, uint64_t maxTextSize) {
  OwningOpRef<ModuleOp> module = ModuleReader(sections, pool, maxTextSize).read();
  return pool.failure.has() ? OwningOpRef<ModuleOp>() : std::move(module);
}

} // namespace spmdc::stablehlo::portable
