//===- SpmdTypes.cpp - meshes, shardings, and the array type --------------===//

#include "ir/spmd/SpmdTypes.h"

#include "ir/interfaces/Tensor.h"
#include "ir/spmd/SpmdOps.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "ir/spmd/SpmdEnums.cpp.inc"
#include "ir/spmd/SpmdOpsDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/spmd/SpmdOpsAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/spmd/SpmdOpsTypes.cpp.inc"

namespace spmdc {

void SpmdDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/spmd/SpmdOpsAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/spmd/SpmdOpsTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "ir/spmd/SpmdOps.cpp.inc"
      >();
}

LogicalResult SpmdDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() != kMeshAttrName)
    return success();
  if (!isa<ModuleOp>(op))
    return op->emitOpError("has a 'spmd.mesh'; only a module has one");
  if (!isa<MeshAttr>(attribute.getValue()))
    return op->emitOpError("'spmd.mesh' must be a #spmd.mesh attribute");
  return success();
}

MeshAttr getMesh(Operation *op) {
  for (Operation *parent = op; parent; parent = parent->getParentOp())
    if (auto mesh = parent->getAttrOfType<MeshAttr>(kMeshAttrName))
      return mesh;
  return MeshAttr::get(op->getContext(), "", {});
}

Type getElementType(MLIRContext *context, spmd::DType dtype) {
  Builder b(context);
  switch (dtype) {
  case spmd::DType::F64:
    return b.getF64Type();
  case spmd::DType::F32:
    return b.getF32Type();
  case spmd::DType::BF16:
    return b.getBF16Type();
  case spmd::DType::F16:
    return b.getF16Type();
  case spmd::DType::I64:
    return b.getI64Type();
  case spmd::DType::I32:
    return b.getI32Type();
  case spmd::DType::I8:
    return b.getIntegerType(8);
  case spmd::DType::U32:
    return b.getIntegerType(32, /*isSigned=*/false);
  case spmd::DType::U8:
    return b.getIntegerType(8, /*isSigned=*/false);
  case spmd::DType::Bool:
    return b.getI1Type();
  case spmd::DType::Key:
    return KeyType::get(context);
  }
  llvm_unreachable("unknown dtype");
}

spmd::DType getDType(Type type) {
  if (type.isF64())
    return spmd::DType::F64;
  if (type.isF32())
    return spmd::DType::F32;
  if (type.isBF16())
    return spmd::DType::BF16;
  if (type.isF16())
    return spmd::DType::F16;
  if (isa<KeyType>(type))
    return spmd::DType::Key;
  auto intType = cast<IntegerType>(type);
  switch (intType.getWidth()) {
  case 1:
    return spmd::DType::Bool;
  case 8:
    return intType.isUnsigned() ? spmd::DType::U8 : spmd::DType::I8;
  case 32:
    return intType.isUnsigned() ? spmd::DType::U32 : spmd::DType::I32;
  default:
    return spmd::DType::I64;
  }
}

bool isUnsigned(Type elementType) { return elementType.isUnsignedInteger(); }

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

spmd::AxisRef AxisRefAttr::toValue() const { return {getName().str(), getPreSize(), getSize()}; }

std::string AxisRefAttr::str() const { return toValue().str(); }

LogicalResult AxisRefAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name, int64_t preSize,
                                  int64_t size) {
  if (name.empty())
    return emitError() << "an axis needs a name";
  if (size == 0 ? preSize != 1 : (preSize < 1 || size < 1))
    return emitError() << "bad part (" << preSize << ")" << size << " of axis '" << name << "'";
  return success();
}

/// a | a:(2)4
static FailureOr<AxisRefAttr> parseAxisRef(AsmParser &parser) {
  std::string name;
  if (parser.parseKeywordOrString(&name))
    return failure();
  int64_t preSize = 1, size = 0;
  if (succeeded(parser.parseOptionalColon()))
    if (parser.parseLParen() || parser.parseInteger(preSize) || parser.parseRParen() || parser.parseInteger(size))
      return failure();
  auto axis = AxisRefAttr::getChecked([&] { return parser.emitError(parser.getCurrentLocation()); },
                                      parser.getContext(), name, preSize, size);
  if (!axis)
    return failure();
  return axis;
}

static FailureOr<SmallVector<AxisRefAttr>> parseAxisList(AsmParser &parser, AsmParser::Delimiter delimiter) {
  SmallVector<AxisRefAttr> axes;
  if (parser.parseCommaSeparatedList(delimiter, [&]() -> ParseResult {
        FailureOr<AxisRefAttr> axis = parseAxisRef(parser);
        if (failed(axis))
          return failure();
        axes.push_back(*axis);
        return success();
      }))
    return failure();
  return axes;
}

static void printAxisList(raw_ostream &os, ArrayRef<AxisRefAttr> axes) {
  llvm::interleaveComma(axes, os, [&](AxisRefAttr axis) { os << axis.str(); });
}

Attribute AxisRefAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<AxisRefAttr> axis = parseAxisRef(parser);
  if (failed(axis) || parser.parseGreater())
    return {};
  return *axis;
}

void AxisRefAttr::print(AsmPrinter &printer) const { printer << "<" << str() << ">"; }

std::vector<spmd::AxisRef> AxesAttr::toValues() const {
  std::vector<spmd::AxisRef> values;
  for (AxisRefAttr axis : getAxes())
    values.push_back(axis.toValue());
  return values;
}

Attribute AxesAttr::parse(AsmParser &parser, Type) {
  FailureOr<SmallVector<AxisRefAttr>> axes = parseAxisList(parser, AsmParser::Delimiter::LessGreater);
  if (failed(axes))
    return {};
  return AxesAttr::get(parser.getContext(), *axes);
}

void AxesAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printAxisList(printer.getStream(), getAxes());
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Dimension shardings, in the language's own words
//===----------------------------------------------------------------------===//

std::string DimShardingAttr::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (getAxes().size() == 1) {
    os << getAxes()[0].str();
  } else if (!empty()) {
    os << "(";
    printAxisList(os, getAxes());
    os << ")";
  } else if (getIsClosed()) {
    os << "_";
  }
  if (!getIsClosed() && (!empty() || getPriority() >= 0))
    os << "?";
  if (getPriority() >= 0)
    os << "!" << getPriority();
  return text;
}

namespace {

/// Reads `a`, `_`, `?`, `(a, b:(2)4)?!1` from a string.
class DimShardingText {
public:
  DimShardingText(MLIRContext *context, StringRef text) : context(context), rest(text) {}

  FailureOr<DimShardingAttr> parse() {
    SmallVector<AxisRefAttr> axes;
    bool isClosed = true;
    int64_t priority = -1;
    if (consume("_")) {
      // closed without axes
    } else if (consume("(")) {
      do {
        if (failed(parseAxis(axes)))
          return failure();
      } while (consume(","));
      if (!consume(")"))
        return failure();
    } else if (!peek('?')) {
      if (failed(parseAxis(axes)))
        return failure();
    }
    if (consume("?"))
      isClosed = false;
    if (consume("!"))
      if (failed(parseInteger(priority)))
        return failure();
    if (!rest.empty())
      return failure();
    return DimShardingAttr::get(context, axes, isClosed, priority);
  }

private:
  bool consume(StringRef token) {
    rest = rest.ltrim();
    return rest.consume_front(token);
  }
  bool peek(char c) {
    rest = rest.ltrim();
    return !rest.empty() && rest.front() == c;
  }
  LogicalResult parseInteger(int64_t &value) {
    rest = rest.ltrim();
    return success(!rest.consumeInteger(10, value));
  }
  LogicalResult parseAxis(SmallVectorImpl<AxisRefAttr> &axes) {
    rest = rest.ltrim();
    StringRef name = rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (name.empty() || name == "_")
      return failure();
    rest = rest.drop_front(name.size());
    int64_t preSize = 1, size = 0;
    if (consume(":"))
      if (!consume("(") || failed(parseInteger(preSize)) || !consume(")") || failed(parseInteger(size)) ||
          preSize < 1 || size < 1)
        return failure();
    axes.push_back(AxisRefAttr::get(context, name, preSize, size));
    return success();
  }

  MLIRContext *context;
  StringRef rest;
};

/// Prints `@a`; nothing for an open dimension without axes. In IR more than a name is quoted, `@"(a, b)?"`, since
/// MLIR's lexer would stop there.
void printDimSharding(raw_ostream &os, DimShardingAttr dim, bool isIR = true) {
  std::string text = dim.str();
  if (text.empty())
    return;
  bool isPlain = !isIR || llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  os << (isPlain ? "@" : "@\"") << text << (isPlain ? "" : "\"");
}

} // namespace

FailureOr<DimShardingAttr> DimShardingAttr::parseText(MLIRContext *context, StringRef text) {
  if (text.empty())
    return DimShardingAttr::get(context, {}, false, -1);
  return DimShardingText(context, text).parse();
}

static FailureOr<DimShardingAttr> parseOptionalDimSharding(AsmParser &parser) {
  StringAttr text;
  SMLoc loc = parser.getCurrentLocation();
  if (failed(parser.parseOptionalSymbolName(text)))
    return DimShardingAttr::get(parser.getContext(), {}, false, -1);
  FailureOr<DimShardingAttr> dim = DimShardingAttr::parseText(parser.getContext(), text.getValue());
  if (failed(dim))
    parser.emitError(loc) << "expected the sharding of a dimension as the language writes it, got '" << text.getValue()
                          << "'";
  return dim;
}

Attribute DimShardingAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<DimShardingAttr> dim = parseOptionalDimSharding(parser);
  if (failed(dim) || parser.parseGreater())
    return {};
  return *dim;
}

void DimShardingAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printDimSharding(printer.getStream(), *this);
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Shardings and meshes
//===----------------------------------------------------------------------===//

LogicalResult ShardingAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<DimShardingAttr> dims,
                                   ArrayRef<AxisRefAttr> unreduced) {
  SmallVector<AxisRefAttr> used;
  auto add = [&](AxisRefAttr axis) -> LogicalResult {
    for (AxisRefAttr other : used) {
      if (other.getName() != axis.getName())
        continue;
      bool overlaps = axis.isWholeAxis() || other.isWholeAxis() ||
                      (axis.getPreSize() < other.getPreSize() * other.getSize() &&
                       other.getPreSize() < axis.getPreSize() * axis.getSize());
      if (overlaps)
        return emitError() << "axis '" << axis.getName() << "' is used twice in one sharding";
    }
    used.push_back(axis);
    return success();
  };
  for (DimShardingAttr dim : dims)
    for (AxisRefAttr axis : dim.getAxes())
      if (failed(add(axis)))
        return failure();
  for (AxisRefAttr axis : unreduced)
    if (failed(add(axis)))
      return failure();
  return success();
}

spmd::Sharding ShardingAttr::toValue() const {
  spmd::Sharding value;
  for (DimShardingAttr dim : getDims()) {
    value.dims.emplace_back();
    for (AxisRefAttr axis : dim.getAxes())
      value.dims.back().push_back(axis.toValue());
  }
  for (AxisRefAttr axis : getUnreduced())
    value.unreduced.push_back(axis.toValue());
  return value;
}

ShardingAttr ShardingAttr::fromValue(MLIRContext *context, const spmd::Sharding &sharding) {
  auto convert = [&](const std::vector<spmd::AxisRef> &axes) {
    SmallVector<AxisRefAttr> result;
    for (const spmd::AxisRef &axis : axes)
      result.push_back(AxisRefAttr::get(context, axis.name, axis.preSize, axis.size));
    return result;
  };
  SmallVector<DimShardingAttr> dims;
  for (const auto &axes : sharding.dims)
    dims.push_back(DimShardingAttr::get(context, convert(axes), true, -1));
  return ShardingAttr::get(context, dims, convert(sharding.unreduced));
}

ShardingAttr ShardingAttr::getClosed() const {
  SmallVector<DimShardingAttr> dims;
  for (DimShardingAttr dim : getDims())
    dims.push_back(DimShardingAttr::get(getContext(), dim.getAxes(), true, -1));
  return ShardingAttr::get(getContext(), dims, getUnreduced());
}

bool ShardingAttr::isReplicated() const {
  return getUnreduced().empty() && llvm::all_of(getDims(), [](DimShardingAttr dim) { return dim.empty(); });
}

bool ShardingAttr::hasSameAxes(ShardingAttr other) const { return getClosed() == other.getClosed(); }

ShardingAttr ShardingAttr::getReplicated(MLIRContext *context, int64_t rank, bool isClosed) {
  SmallVector<DimShardingAttr> dims(rank, DimShardingAttr::get(context, {}, isClosed, -1));
  return ShardingAttr::get(context, dims, {});
}

/// [4096@a, 2048] style lists share one reader: `parseDim` reads what stands before `@`.
static ParseResult parseUnreduced(AsmParser &parser, SmallVectorImpl<AxisRefAttr> &unreduced) {
  if (failed(parser.parseOptionalKeyword("unreduced")))
    return success();
  FailureOr<SmallVector<AxisRefAttr>> axes = parseAxisList(parser, AsmParser::Delimiter::Paren);
  if (failed(axes))
    return failure();
  unreduced.assign(axes->begin(), axes->end());
  return success();
}

static void printUnreduced(raw_ostream &os, ArrayRef<AxisRefAttr> unreduced) {
  if (unreduced.empty())
    return;
  os << " unreduced(";
  printAxisList(os, unreduced);
  os << ")";
}

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  SmallVector<DimShardingAttr> dims;
  SmallVector<AxisRefAttr> unreduced;
  auto parseDim = [&]() -> ParseResult {
    if (succeeded(parser.parseOptionalQuestion())) {
      dims.push_back(DimShardingAttr::get(parser.getContext(), {}, false, -1));
      return success();
    }
    FailureOr<DimShardingAttr> dim = parseOptionalDimSharding(parser);
    if (failed(dim))
      return failure();
    dims.push_back(*dim);
    return success();
  };
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim) ||
      parseUnreduced(parser, unreduced) || parser.parseGreater())
    return {};
  return ShardingAttr::getChecked([&] { return parser.emitError(parser.getNameLoc()); }, parser.getContext(), dims,
                                  unreduced);
}

void ShardingAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getDims(), printer.getStream(), [&](DimShardingAttr dim) {
    if (dim.str().empty())
      printer << "?";
    printDimSharding(printer.getStream(), dim);
  });
  printer << "]";
  printUnreduced(printer.getStream(), getUnreduced());
  printer << ">";
}

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef, ArrayRef<AxisRefAttr> axes) {
  llvm::StringSet<> names;
  for (AxisRefAttr axis : axes) {
    if (axis.getSize() < 1)
      return emitError() << "axis '" << axis.getName() << "' of the mesh has no size";
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
    auto attr = AxisRefAttr::getChecked([&] { return parser.emitError(parser.getCurrentLocation()); },
                                        parser.getContext(), axis, 1, size);
    if (!attr)
      return {};
    axes.push_back(attr);
  }
  if (parser.parseGreater())
    return {};
  return MeshAttr::getChecked([&] { return parser.emitError(parser.getNameLoc()); }, parser.getContext(), name, axes);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printKeywordOrString(getName());
  for (AxisRefAttr axis : getAxes())
    printer << ", " << axis.getName() << "=" << axis.getSize();
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

LogicalResult ArrayType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape, Type elementType,
                                ShardingAttr sharding) {
  bool isKnown = elementType.isF64() || elementType.isF32() || elementType.isBF16() || elementType.isF16() ||
                 elementType.isSignlessInteger(64) || elementType.isSignlessInteger(32) ||
                 elementType.isSignlessInteger(8) || elementType.isUnsignedInteger(32) ||
                 elementType.isUnsignedInteger(8) || elementType.isSignlessInteger(1) ||
                 llvm::isa<KeyType>(elementType);
  if (!isKnown)
    return emitError() << "an array cannot have elements of type " << elementType;
  if (llvm::any_of(shape, [](int64_t size) { return size < 0; }))
    return emitError() << "an array cannot have a negative size";
  int64_t count = 1;
  for (int64_t size : shape)
    if (llvm::MulOverflow(count, size, count))
      return emitError() << "an array cannot have more than 2^63 - 1 elements";
  if (sharding && sharding.getRank() != static_cast<int64_t>(shape.size()))
    return emitError() << "a sharding of " << sharding.getRank() << " dimensions on an array of " << shape.size();
  return success();
}

int64_t ArrayType::getNumElements() const { return elementCount(getShape()); }

int64_t ArrayType::getBytes() const { return getNumElements() * spmd::byteSize(getDType()); }

ArrayType ArrayType::withSharding(ShardingAttr sharding) const {
  return ArrayType::get(getShape(), getElementType(), sharding);
}

ArrayType ArrayType::withShape(ArrayRef<int64_t> shape) const { return ArrayType::get(shape, getElementType(), {}); }

ArrayType ArrayType::withElementType(Type elementType) const {
  return ArrayType::get(getShape(), elementType, getSharding());
}

ShardingAttr ArrayType::getShardingOrOpen() const {
  return getSharding() ? getSharding() : ShardingAttr::getReplicated(getContext(), getRank(), /*isClosed=*/false);
}

spmd::ShardedShape ArrayType::toShardedShape() const {
  return {std::vector<int64_t>(getShape().begin(), getShape().end()), getShardingOrOpen().toValue()};
}

ArrayType ArrayType::getLocal(MeshAttr mesh) const {
  if (!getSharding())
    return *this;
  std::vector<int64_t> global(getShape().begin(), getShape().end());
  return withShape(spmd::localShape(mesh.toValue(), global, getSharding().toValue()));
}

spmd::DType ArrayType::getDType() const { return spmdc::getDType(getElementType()); }

RankedTensorType ArrayType::getTensorType() const { return RankedTensorType::get(getShape(), getElementType()); }

static void printArray(raw_ostream &os, ArrayType type, bool isIR) {
  os << spmd::dtypeName(type.getDType()) << "[";
  for (int64_t d = 0; d < type.getRank(); ++d) {
    os << (d ? ", " : "") << type.getDimSize(d);
    if (type.getSharding())
      printDimSharding(os, type.getSharding().getDims()[d], isIR);
  }
  os << "]";
  if (type.getSharding())
    printUnreduced(os, type.getSharding().getUnreduced());
}

std::string ArrayType::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  printArray(os, *this, /*isIR=*/false);
  return text;
}

Type ArrayType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef dtypeText;
  if (parser.parseLess() || parser.parseKeyword(&dtypeText))
    return {};
  std::optional<spmd::DType> dtype = spmd::parseDType(dtypeText);
  if (!dtype) {
    parser.emitError(loc) << "unknown dtype '" << dtypeText << "'";
    return {};
  }
  SmallVector<int64_t> shape;
  SmallVector<DimShardingAttr> dims;
  SmallVector<AxisRefAttr> unreduced;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&]() -> ParseResult {
                                       if (parser.parseInteger(shape.emplace_back()))
                                         return failure();
                                       FailureOr<DimShardingAttr> dim = parseOptionalDimSharding(parser);
                                       if (failed(dim))
                                         return failure();
                                       dims.push_back(*dim);
                                       return success();
                                     }) ||
      parseUnreduced(parser, unreduced) || parser.parseGreater())
    return {};
  ShardingAttr sharding;
  bool isAnyKnown = !unreduced.empty() || llvm::any_of(dims, [](DimShardingAttr dim) { return !dim.str().empty(); });
  auto emitError = [&] { return parser.emitError(loc); };
  if (isAnyKnown) {
    sharding = ShardingAttr::getChecked(emitError, parser.getContext(), dims, unreduced);
    if (!sharding)
      return {};
  }
  Type elementType = spmdc::getElementType(parser.getContext(), *dtype);
  if (failed(verify(emitError, shape, elementType, sharding)))
    return {};
  return ArrayType::get(shape, elementType, sharding);
}

void ArrayType::print(AsmPrinter &printer) const {
  printer << "<";
  printArray(printer.getStream(), *this, /*isIR=*/true);
  printer << ">";
}

} // namespace spmdc
