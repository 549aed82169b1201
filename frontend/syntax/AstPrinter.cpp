//===- AstPrinter.cpp - prints the syntax tree ----------------------------===//

#include "frontend/syntax/AstPrinter.h"

#include "frontend/syntax/BigStack.h"

#include <charconv>

namespace spmdc {

std::string_view spelling(BinaryOp op) {
  static constexpr std::string_view spellings[] = {"||", "&&", "==", "!=", "<", "<=", ">", ">=", "|", "^",
                                                   "&",  "<<", ">>", "+",  "-", "*",  "/", "%",  "@", "**"};
  return spellings[size_t(op)];
}

std::string_view spelling(UnaryOp op) { return op == UnaryOp::Negate ? "-" : "!"; }

namespace {

class Printer {
public:
  std::string out;

  void program(const Ast &ast) {
    for (const MeshDecl &mesh : ast.meshes)
      printMesh(mesh);
    for (const ConstDecl &constant : ast.consts) {
      place(constant.range);
      out += "const " + std::string(constant.name.text) + " = ";
      expr(*constant.value);
      out += '\n';
    }
    for (const BudgetItem &item : ast.budget) {
      place(item.name.range);
      out += "budget " + std::string(item.name.text) + " = " + std::string(item.value.text()) + "\n";
    }
    for (const StructDecl &decl : ast.structs)
      printStruct(decl);
    for (const FnDecl &fn : ast.functions)
      printFunction(fn);
  }

  void expr(const Expr &expr);
  void type(const TypeSyntax &type);

private:
  void place(const Range &range) {
    LineColumn at = range.start();
    std::string text = std::to_string(at.line) + ":" + std::to_string(at.column);
    out.append(2 * indent, ' ');
    out += text + " ";
  }

  void printMesh(const MeshDecl &mesh) {
    place(mesh.range);
    out += "mesh " + std::string(mesh.name.text) + "(";
    list(mesh.axes, [&](const MeshAxisSyntax &axis) {
      out += std::string(axis.name.text) + "=";
      expr(*axis.size);
    });
    out += ")\n";
  }

  void generics(const std::vector<Identifier> &names) {
    if (names.empty())
      return;
    out += '<';
    list(names, [&](const Identifier &name) { out += name.text; });
    out += '>';
  }

  void printStruct(const StructDecl &decl) {
    place(decl.range);
    out += "struct " + std::string(decl.name.text);
    generics(decl.generics);
    out += '\n';
    ++indent;
    for (const FieldDecl &field : decl.fields) {
      place(field.name.range);
      out += std::string(field.name.text) + ": ";
      type(*field.type);
      out += '\n';
    }
    --indent;
  }

  void printFunction(const FnDecl &fn) {
    place(fn.range);
    out += "fn " + std::string(fn.name.text);
    generics(fn.generics);
    out += '(';
    list(fn.params, [&](const ParamDecl &param) {
      out += param.name.text;
      if (param.type) {
        out += ": ";
        type(*param.type);
      }
      if (param.defaultValue) {
        out += " = ";
        expr(*param.defaultValue);
      }
    });
    out += ')';
    if (fn.result) {
      out += " -> ";
      type(*fn.result);
    }
    out += '\n';
    ++indent;
    statements(fn.body);
    --indent;
  }

  void pattern(const Pattern &pattern) {
    if (!pattern.name.empty()) {
      out += pattern.name;
      return;
    }
    out += '(';
    list(pattern.elements, [&](const Pattern &element) { this->pattern(element); });
    out += ')';
  }

  void statements(const Block &block) {
    for (const Stmt *stmt : block.statements)
      statement(*stmt);
    if (block.value) {
      place(block.value->range);
      out += "value ";
      expr(*block.value);
      out += '\n';
    }
  }

  void statement(const Stmt &stmt) {
    place(stmt.range);
    switch (stmt.kind) {
    case StmtKind::Let:
      out += "let ";
      pattern(stmt.pattern);
      if (stmt.type) {
        out += ": ";
        type(*stmt.type);
      }
      out += " = ";
      break;
    case StmtKind::Return:
      out += "return ";
      break;
    case StmtKind::Yield:
      out += "yield ";
      break;
    case StmtKind::Expression:
      out += "do ";
      break;
    }
    if (stmt.value)
      expr(*stmt.value);
    else
      out += "<error>";
    out += '\n';
  }

  /// A block inside an expression: its statements on separate lines, indented by one level.
  void nested(const Block &block) {
    out += "{\n";
    ++indent;
    statements(block);
    --indent;
    out.append(2 * indent, ' ');
    out += '}';
  }

  void carries(const std::vector<Carry> &carries) {
    out += " carry (";
    list(carries, [&](const Carry &carry) {
      out += std::string(carry.name.text) + " = ";
      expr(*carry.initial);
    });
    out += ") ";
  }

  void sharding(const DimShardingSyntax &sharding) {
    if (sharding.axes.size() == 1) {
      out += sharding.axes[0].text;
    } else if (!sharding.axes.empty()) {
      out += '(';
      list(sharding.axes, [&](const Identifier &axis) { out += axis.text; });
      out += ')';
    } else if (!sharding.isOpen) {
      out += '_';
    }
    if (sharding.isOpen)
      out += '?';
    if (sharding.priority >= 0)
      out += "!" + std::to_string(sharding.priority);
  }

  void arguments(const std::vector<Argument> &arguments) {
    for (const Argument &argument : arguments) {
      out += ' ';
      if (!argument.name.text.empty())
        out += std::string(argument.name.text) + "=";
      expr(*argument.value);
    }
  }

  template <typename Range, typename Print> void list(const Range &elements, Print print) {
    bool isFirst = true;
    for (const auto &element : elements) {
      if (!isFirst)
        out += ", ";
      isFirst = false;
      print(element);
    }
  }

  /// Iterates along the left side: recursion over a long chain would overflow the stack.
  void binaryChain(const Expr &chain) {
    std::vector<const BinaryExpr *> spine;
    const Expr *left = &chain;
    while (const auto *binary = dynAs<BinaryExpr>(*left)) {
      spine.push_back(binary);
      left = binary->left;
      out += '(';
      out += spelling(binary->op);
      out += ' ';
    }
    expr(*left);
    for (auto binary = spine.rbegin(); binary != spine.rend(); ++binary) {
      out += ' ';
      expr(*(*binary)->right);
      out += ')';
    }
  }

  void slice(const SliceExpr &slice) {
    if (slice.low)
      expr(*slice.low);
    out += ':';
    if (slice.high)
      expr(*slice.high);
    if (slice.step) {
      out += ':';
      expr(*slice.step);
    }
  }

  void quoted(std::string_view text) {
    out += '"';
    for (char c : text) {
      if (c == '\n' || c == '\t') {
        out += c == '\n' ? "\\n" : "\\t";
        continue;
      }
      if (c == '"' || c == '\\')
        out += '\\';
      out += c;
    }
    out += '"';
  }

  size_t indent = 0;
};

void Printer::type(const TypeSyntax &syntax) {
  switch (syntax.kind) {
  case TypeKind::Named:
    out += syntax.name.text;
    if (!syntax.sizes.empty()) {
      out += '<';
      list(syntax.sizes, [&](const Expr *size) { expr(*size); });
      out += '>';
    }
    return;
  case TypeKind::Fixed:
    out += '[';
    type(*syntax.elements[0]);
    out += "; ";
    expr(*syntax.count);
    out += ']';
    return;
  case TypeKind::Tuple:
    out += '(';
    list(syntax.elements, [&](const TypeSyntax *element) { type(*element); });
    out += ')';
    return;
  case TypeKind::Array:
    out += syntax.name.text;
    out += '[';
    list(syntax.dims, [&](const DimSyntax &dim) {
      expr(*dim.size);
      if (!dim.sharding.isOpen || !dim.sharding.axes.empty() || dim.sharding.priority >= 0) {
        out += '@';
        sharding(dim.sharding);
      }
    });
    out += ']';
    return;
  }
}

void Printer::expr(const Expr &e) {
  switch (e.kind) {
  case ExprKind::Integer:
    if (std::optional<int64_t> value = as<IntegerExpr>(e).value)
      out += std::to_string(*value);
    else
      out += e.range.text();
    return;
  case ExprKind::Float: {
    char text[32];
    auto [end, error] = std::to_chars(text, text + sizeof text, as<FloatExpr>(e).value);
    std::string_view digits(text, end - text);
    out += digits;
    if (digits.find_first_of(".en") == std::string_view::npos)
      out += ".0";
    return;
  }
  case ExprKind::Bool:
    out += as<BoolExpr>(e).value ? "true" : "false";
    return;
  case ExprKind::String:
    return quoted(as<StringExpr>(e).value);
  case ExprKind::Name:
    out += as<NameExpr>(e).name;
    return;
  case ExprKind::None:
    out += "None";
    return;
  case ExprKind::Ellipsis:
    out += "...";
    return;
  case ExprKind::Unary:
    out += '(';
    out += spelling(as<UnaryExpr>(e).op);
    out += ' ';
    expr(*as<UnaryExpr>(e).operand);
    out += ')';
    return;
  case ExprKind::Binary:
    return binaryChain(e);
  case ExprKind::Call:
    out += "(call ";
    expr(*as<CallExpr>(e).callee);
    arguments(as<CallExpr>(e).arguments);
    out += ')';
    return;
  case ExprKind::Index:
    out += "(index ";
    expr(*as<SubscriptExpr>(e).base);
    for (const Expr *index : as<SubscriptExpr>(e).indices) {
      out += ' ';
      expr(*index);
    }
    out += ')';
    return;
  case ExprKind::Field:
    out += "(field ";
    expr(*as<FieldExpr>(e).base);
    out += " " + std::string(as<FieldExpr>(e).field.text) + ")";
    return;
  case ExprKind::Tuple:
    out += "(tuple";
    for (const Expr *element : as<TupleExpr>(e).elements) {
      out += ' ';
      expr(*element);
    }
    out += ')';
    return;
  case ExprKind::List:
    out += '[';
    list(as<ListExpr>(e).elements, [&](const Expr *element) { expr(*element); });
    out += ']';
    return;
  case ExprKind::Slice:
    return slice(as<SliceExpr>(e));
  case ExprKind::StructLiteral:
    out += "(struct " + std::string(as<StructExpr>(e).name.text);
    arguments(as<StructExpr>(e).fields);
    out += ')';
    return;
  case ExprKind::Type:
    return type(*as<TypeExpr>(e).type);
  case ExprKind::Partition:
    out += "P(";
    list(as<PartitionExpr>(e).dims, [&](const DimShardingSyntax &dim) { sharding(dim); });
    out += ')';
    return;
  case ExprKind::If: {
    const auto &branch = as<IfExpr>(e);
    out += "(if ";
    expr(*branch.condition);
    out += ' ';
    nested(branch.thenBlock);
    out += " else ";
    nested(branch.elseBlock);
    out += ')';
    return;
  }
  case ExprKind::For: {
    const auto &loop = as<ForExpr>(e);
    out += "(for " + std::string(loop.variable.text) + " ";
    expr(*loop.low);
    out += " .. ";
    expr(*loop.high);
    carries(loop.carries);
    nested(loop.body);
    out += ')';
    return;
  }
  case ExprKind::While: {
    const auto &loop = as<WhileExpr>(e);
    out += "(while ";
    expr(*loop.condition);
    carries(loop.carries);
    nested(loop.body);
    out += ')';
    return;
  }
  }
}

} // namespace

std::string printAst(const Ast &ast) {
  Printer printer;
  runOnBigStack([&] { printer.program(ast); });
  return std::move(printer.out);
}

std::string printExpr(const Expr &expr) {
  Printer printer;
  runOnBigStack([&] { printer.expr(expr); });
  return std::move(printer.out);
}

std::string printType(const TypeSyntax &type) {
  Printer printer;
  runOnBigStack([&] { printer.type(type); });
  return std::move(printer.out);
}

} // namespace spmdc
