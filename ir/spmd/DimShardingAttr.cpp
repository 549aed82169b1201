//===- DimShardingAttr.cpp - the sharding of one dimension ----------------===//

#include "ir/spmd/ShardingText.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace spmdc {

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

} // namespace

void printDimSharding(raw_ostream &os, DimShardingAttr dim, bool isIR) {
  std::string text = dim.str();
  if (text.empty())
    return;
  bool isPlain = !isIR || llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  os << (isPlain ? "@" : "@\"") << text << (isPlain ? "" : "\"");
}

FailureOr<DimShardingAttr> DimShardingAttr::parseText(MLIRContext *context, StringRef text) {
  if (text.empty())
    return DimShardingAttr::get(context, {}, false, -1);
  return DimShardingText(context, text).parse();
}

FailureOr<DimShardingAttr> parseOptionalDimSharding(AsmParser &parser) {
  StringAttr text;
  SMLoc loc = parser.getCurrentLocation();
  if (failed(parser.parseOptionalSymbolName(text)))
    return DimShardingAttr::get(parser.getContext(), {}, false, -1);
  FailureOr<DimShardingAttr> dim = DimShardingAttr::parseText(parser.getContext(), text.getValue());
  if (failed(dim))
    parser.emitError(loc) << "expected the sharding of a dimension in the language's syntax, got '" << text.getValue()
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

} // namespace spmdc
