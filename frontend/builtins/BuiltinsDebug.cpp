//===- BuiltinsDebug.cpp - print ------------------------------------------===//
//
// `print("loss", x)`: prints the text of Python's print, strings and values with a space between them, a newline at the
// end.
//
//===----------------------------------------------------------------------===//

#include "frontend/builtins/Builtins.h"
#include "frontend/emit/Leaves.h"

#include "llvm/ADT/STLExtras.h"

namespace spmdc {
namespace {

/// Text, value, text, value, ..., text.
struct Printed {
  std::vector<std::string> texts = {""};
  std::vector<mlir::Value> values;
};

void printValue(Args &args, const Value &value, Printed &printed) {
  std::string &text = printed.texts.back();
  switch (value.kind) {
  case ValueKind::String:
    text += value.string;
    return;
  case ValueKind::Constant:
    text += value.constant.str();
    return;
  case ValueKind::Array:
    printed.values.push_back(value.array);
    printed.texts.emplace_back();
    return;
  case ValueKind::Tuple:
  case ValueKind::List:
  case ValueKind::Struct: {
    if (value.isStruct())
      text += std::string(value.structDecl->name.text);
    text += value.kind == ValueKind::List ? "[" : "(";
    for (auto [index, element] : llvm::enumerate(value.elements)) {
      printed.texts.back() += index ? ", " : "";
      if (value.isStruct())
        printed.texts.back() += std::string(value.structDecl->fields[index].name.text) + "=";
      printValue(args, element, printed);
    }
    printed.texts.back() += value.kind == ValueKind::List ? "]" : ")";
    return;
  }
  default:
    args.e.fail(value.range, "'print' takes strings and arrays, not " + value.describe());
  }
}

Value print(Args &args) {
  Emitter &e = args.e;
  Printed printed;
  if (args.has(0))
    for (auto [index, value] : llvm::enumerate(args[0].elements)) {
      printed.texts.back() += index ? " " : "";
      // As format strings of Python and of jax.debug.print have.
      if (value.kind == ValueKind::String && value.string.find("{}") != std::string::npos &&
          args[0].elements.size() > 1)
        e.warn(value.range, "'{}' is printed as it is: 'print' writes its arguments one behind the other");
      printValue(args, value, printed);
    }
  printed.texts.back() += "\n";
  llvm::SmallVector<llvm::StringRef> texts(printed.texts.begin(), printed.texts.end());
  e.builder.create<PrintOp>(e.loc(), e.builder.getStrArrayAttr(texts), printed.values, mlir::ArrayAttr());
  Value nothing;
  nothing.kind = ValueKind::None;
  nothing.range = args.range;
  return nothing;
}

const Builtin table[] = {
    {"print", "*values", print},
};

} // namespace

llvm::ArrayRef<Builtin> debugBuiltins() { return table; }

} // namespace spmdc
