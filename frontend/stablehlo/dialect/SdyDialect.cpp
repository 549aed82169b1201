//===- SdyDialect.cpp - Shardy's meshes, shardings and regions ------------===//

#include "frontend/stablehlo/dialect/Dialects.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace spmdc::sdy {

/// `"a"`, or a part of an axis: `"a":(1)2`.
static ParseResult parseAxis(AsmParser &parser, SmallVectorImpl<AxisRefAttr> &axes) {
  std::string name;
  int64_t preSize = 1, size = 0;
  if (parser.parseString(&name))
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalColon())) {
    if (parser.parseLParen() || parser.parseInteger(preSize) || parser.parseRParen() || parser.parseInteger(size))
      return failure();
  }
  if (AxisRefAttr::verify([&] { return parser.emitError(loc); }, name, preSize, size).failed())
    return failure();
  axes.push_back(AxisRefAttr::get(parser.getContext(), name, preSize, size));
  return success();
}

static ParseResult parseAxes(AsmParser &parser, SmallVectorImpl<AxisRefAttr> &axes) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, [&] { return parseAxis(parser, axes); });
}

static void printAxis(AsmPrinter &printer, AxisRefAttr axis) {
  printer.printString(axis.getName());
  if (!axis.isFullAxis())
    printer << ":(" << axis.getPreSize() << ")" << axis.getSize();
}

static void printAxes(AsmPrinter &printer, ArrayRef<AxisRefAttr> axes) {
  printer << "{";
  llvm::interleaveComma(axes, printer, [&](AxisRefAttr axis) { printAxis(printer, axis); });
  printer << "}";
}

/// `{"a", ?}p1`: axes, a question mark for an open dimension, a priority.
static ParseResult parseDim(AsmParser &parser, SmallVectorImpl<DimShardingAttr> &dims) {
  SmallVector<AxisRefAttr> axes;
  bool isClosed = true;
  auto parsePart = [&]() -> ParseResult {
    if (!isClosed)
      return parser.emitError(parser.getCurrentLocation(), "'?' ends a dimension's axes");
    if (succeeded(parser.parseOptionalQuestion())) {
      isClosed = false;
      return success();
    }
    return parseAxis(parser, axes);
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parsePart))
    return failure();
  int64_t priority = -1;
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword(&word)))
    if (!word.consume_front("p") || word.getAsInteger(10, priority) || priority < 0)
      return parser.emitError(loc, "a priority is written p0, p1, ...");
  dims.push_back(DimShardingAttr::get(parser.getContext(), axes, isClosed, priority));
  return success();
}

//===- Attributes ---------------------------------------------------------===//

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> axes;
  SmallVector<int64_t> sizes, deviceIds;
  auto parseSizedAxis = [&]() -> ParseResult {
    std::string name;
    int64_t size = 0;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseString(&name) || parser.parseEqual() || parser.parseInteger(size))
      return failure();
    if (size < 1)
      return parser.emitError(loc, "the size of an axis is at least 1");
    axes.push_back(StringAttr::get(parser.getContext(), name));
    sizes.push_back(size);
    return success();
  };
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseSizedAxis))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    auto parseId = [&] { return parser.parseInteger(deviceIds.emplace_back()); };
    if (parser.parseKeyword("device_ids") || parser.parseEqual() ||
        parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseId))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), axes, sizes, deviceIds);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(llvm::zip_equal(getAxes(), getSizes()), printer, [&](auto axis) {
    printer.printString(std::get<0>(axis));
    printer << "=" << std::get<1>(axis);
  });
  printer << "]";
  if (!getDeviceIds().empty()) {
    printer << ", device_ids=[";
    llvm::interleaveComma(getDeviceIds(), printer);
    printer << "]";
  }
  printer << ">";
}

Attribute TensorShardingAttr::parse(AsmParser &parser, Type) {
  StringAttr mesh;
  SmallVector<DimShardingAttr> dims;
  SmallVector<AxisRefAttr> replicated, unreduced;
  if (parser.parseLess() || parser.parseSymbolName(mesh) || parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] { return parseDim(parser, dims); }))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    StringRef word;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&word) || parser.parseEqual())
      return {};
    if (word != "replicated" && word != "unreduced")
      return parser.emitError(loc, "'replicated' or 'unreduced' is expected here"), Attribute();
    if (parseAxes(parser, word == "replicated" ? replicated : unreduced))
      return {};
  }
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseGreater())
    return {};
  if (spmdc::ShardingAttr::verify([&] { return parser.emitError(loc); }, dims, unreduced).failed())
    return {};
  auto sharding = spmdc::ShardingAttr::get(parser.getContext(), dims, unreduced);
  return get(parser.getContext(), mesh.getValue(), sharding, replicated);
}

void TensorShardingAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printer.printSymbolName(getMesh());
  printer << ", [";
  llvm::interleaveComma(getSharding().getDims(), printer, [&](DimShardingAttr dim) {
    printer << "{";
    llvm::interleaveComma(dim.getAxes(), printer, [&](AxisRefAttr axis) { printAxis(printer, axis); });
    if (!dim.getIsClosed())
      printer << (dim.empty() ? "?" : ", ?");
    printer << "}";
    if (dim.getPriority() >= 0)
      printer << "p" << dim.getPriority();
  });
  printer << "]";
  for (auto [word, axes] : {std::pair("replicated", getReplicated()), {"unreduced", getSharding().getUnreduced()}})
    if (!axes.empty()) {
      printer << ", " << word << "=";
      printAxes(printer, axes);
    }
  printer << ">";
}

/// `[<@mesh, [...]>, ...]`.
static ParseResult parseShardings(AsmParser &parser, TensorShardingsAttr &shardings) {
  SmallVector<TensorShardingAttr> parts;
  auto parsePart = [&]() -> ParseResult {
    auto part = llvm::dyn_cast_or_null<TensorShardingAttr>(TensorShardingAttr::parse(parser, {}));
    parts.push_back(part);
    return success(part != nullptr);
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parsePart))
    return failure();
  shardings = TensorShardingsAttr::get(parser.getContext(), parts);
  return success();
}

static void printShardings(AsmPrinter &printer, TensorShardingsAttr shardings) {
  printer << "[";
  llvm::interleaveComma(shardings.getShardings(), printer, [&](TensorShardingAttr part) { part.print(printer); });
  printer << "]";
}

Attribute TensorShardingsAttr::parse(AsmParser &parser, Type) {
  TensorShardingsAttr shardings;
  return parser.parseLess() || parseShardings(parser, shardings) || parser.parseGreater() ? Attribute() : shardings;
}

void TensorShardingsAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printShardings(printer, *this);
  printer << ">";
}

Attribute ManualAxesAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> axes;
  auto parseName = [&]() -> ParseResult {
    std::string name;
    if (parser.parseString(&name))
      return failure();
    axes.push_back(StringAttr::get(parser.getContext(), name));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Braces, parseName))
    return {};
  return get(parser.getContext(), axes);
}

void ManualAxesAttr::print(AsmPrinter &printer) const {
  printer << "{";
  llvm::interleaveComma(getAxes(), printer, [&](StringAttr axis) { printer.printString(axis); });
  printer << "}";
}

/// Skips the rule, up to the bracket that closes it.
Attribute OpShardingRuleAttr::parse(AsmParser &parser, Type) {
  bool isWrong = false;
  auto skipToken = [&]() -> bool {
    StringRef word;
    int64_t number = 0;
    if (OptionalParseResult parsed = parser.parseOptionalInteger(number); parsed.has_value()) {
      isWrong = failed(*parsed);
      return !isWrong;
    }
    return succeeded(parser.parseOptionalKeyword(&word)) || succeeded(parser.parseOptionalComma()) ||
           succeeded(parser.parseOptionalEqual()) || succeeded(parser.parseOptionalArrow()) ||
           succeeded(parser.parseOptionalLParen()) || succeeded(parser.parseOptionalRParen()) ||
           succeeded(parser.parseOptionalLSquare()) || succeeded(parser.parseOptionalRSquare()) ||
           succeeded(parser.parseOptionalLBrace()) || succeeded(parser.parseOptionalRBrace());
  };
  if (parser.parseLess())
    return {};
  while (skipToken()) {
  }
  return isWrong || parser.parseGreater() ? Attribute() : get(parser.getContext());
}

void OpShardingRuleAttr::print(AsmPrinter &printer) const { printer << "<([])->([])>"; }

//===- Parts of the operations' assembly ----------------------------------===//

/// An attribute without its dialect and name.
template <typename Attr> static ParseResult parseStripped(OpAsmParser &parser, Attr &attribute) {
  attribute = llvm::dyn_cast_or_null<Attr>(Attr::parse(parser, {}));
  return success(attribute != nullptr);
}
template <> ParseResult parseStripped(OpAsmParser &parser, TensorShardingsAttr &attribute) {
  return parseShardings(parser, attribute);
}

template <typename Attr> static void printStripped(OpAsmPrinter &printer, Operation *, Attr attribute) {
  attribute.print(printer);
}
template <> void printStripped(OpAsmPrinter &printer, Operation *, TensorShardingsAttr attribute) {
  printShardings(printer, attribute);
}

static ParseResult parseOneType(OpAsmParser &parser, Type &input, Type &result) {
  if (parser.parseType(input))
    return failure();
  result = input;
  return success();
}
static void printOneType(OpAsmPrinter &printer, Operation *, Type input, Type) { printer << input; }

/// `(%arg: tensor<...>) { ... }`.
static ParseResult parseBody(OpAsmParser &parser, Region &body) {
  SmallVector<OpAsmParser::Argument> arguments;
  return failure(parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true) ||
                 parser.parseRegion(body, arguments));
}
static void printBody(OpAsmPrinter &printer, Operation *, Region &body) {
  printer << "(";
  llvm::interleaveComma(body.getArguments(), printer,
                        [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << ") ";
  printer.printRegion(body, /*printEntryBlockArgs=*/false);
}

} // namespace spmdc::sdy

#include "frontend/stablehlo/dialect/SdyOpsDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "frontend/stablehlo/dialect/SdyOpsAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "frontend/stablehlo/dialect/SdyOps.cpp.inc"

namespace spmdc::sdy {

void SdyDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "frontend/stablehlo/dialect/SdyOpsAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "frontend/stablehlo/dialect/SdyOps.cpp.inc"
      >();
}

} // namespace spmdc::sdy
