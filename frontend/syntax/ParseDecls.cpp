//===- ParseDecls.cpp - declarations, blocks and statements ---------------===//

#include "frontend/syntax/ParserImpl.h"

#include <algorithm>

namespace spmdc {

void Parser::declaration() {
  switch (peek().kind) {
  case TokenKind::Mesh:
    return meshDecl();
  case TokenKind::Const:
    return constDecl();
  case TokenKind::Struct:
    return structDecl();
  case TokenKind::Fn:
    return fnDecl();
  default:
    if (atBudget())
      return budgetDecl();
    if (at(TokenKind::Let))
      fail(here(), "'let' is only allowed in functions; outside, 'const N = ...;' names a number");
    failExpected("a declaration ('mesh', 'const', 'struct', 'fn' or 'budget')");
  }
}

void Parser::meshDecl() {
  MeshDecl mesh;
  uint32_t begin = take().begin;
  mesh.name = expectIdentifier("the mesh's name");
  expect(TokenKind::LeftParen, "after the mesh's name");
  commaList(TokenKind::RightParen, "after the mesh's axes", [&] {
    MeshAxisSyntax axis;
    axis.name = expectIdentifier("an axis name");
    expect(TokenKind::Assign, "after the axis name");
    axis.size = expression();
    mesh.axes.push_back(axis);
  });
  accept(TokenKind::Semicolon);
  mesh.range = since(begin);
  if (!ast->meshes.empty())
    diagnostics.error(mesh.range, "a program has at most one mesh")
        .note(ast->meshes.front().range, "the first one is here");
  ast->meshes.push_back(std::move(mesh));
}

void Parser::constDecl() {
  ConstDecl constant;
  uint32_t begin = take().begin;
  constant.name = expectIdentifier("the const's name");
  expect(TokenKind::Assign, "after the const's name");
  constant.value = expression();
  constant.range = since(begin);
  endStatement();
  ast->consts.push_back(std::move(constant));
}

/// `budget wire = 64MiB, collectives = 3;`
void Parser::budgetDecl() {
  take();
  do {
    BudgetItem item;
    item.name = expectIdentifier("the budget's quantity: 'wire', 'collectives' or 'memory'");
    expect(TokenKind::Assign, "after the budget's quantity");
    if (!at(TokenKind::Integer) && !at(TokenKind::Float) && !at(TokenKind::Bytes))
      failExpected("a number, or bytes such as 64MiB");
    item.value = rangeOf(take());
    ast->budget.push_back(item);
  } while (accept(TokenKind::Comma));
  endStatement();
}

/// `<B, D>` after the name of a function or a struct, optional.
std::vector<Identifier> Parser::genericSizes() {
  std::vector<Identifier> generics;
  if (accept(TokenKind::Less))
    commaList(TokenKind::Greater, "after the generic sizes",
              [&] { generics.push_back(expectIdentifier("the name of a generic size")); });
  return generics;
}

void Parser::structDecl() {
  StructDecl decl;
  uint32_t begin = take().begin;
  decl.name = expectIdentifier("the struct's name");
  decl.generics = genericSizes();
  expect(TokenKind::LeftBrace, "after the struct's name");
  commaList(TokenKind::RightBrace, "after the struct's fields", [&] {
    FieldDecl field;
    field.name = expectIdentifier("a field's name");
    expect(TokenKind::Colon, "after the field's name");
    field.type = type();
    decl.fields.push_back(field);
  });
  decl.range = since(begin);
  ast->structs.push_back(std::move(decl));
}

ParamDecl Parser::param() {
  ParamDecl param;
  param.name = expectIdentifier("a parameter's name");
  bind(param.name.text);
  if (isDTypeName(param.name.text) && (at(TokenKind::LeftBracket) || at(TokenKind::Identifier)))
    fail(param.name.range, "a parameter's name comes before its type, as in 'x: f32[8]'");
  if (accept(TokenKind::Colon))
    param.type = type();
  if (accept(TokenKind::Assign))
    param.defaultValue = expression();
  return param;
}

void Parser::fnDecl() {
  FnDecl fn;
  boundTypes.clear();
  uint32_t begin = take().begin;
  fn.name = expectIdentifier("the function's name");
  fn.generics = genericSizes();
  expect(TokenKind::LeftParen, "before the parameters");
  commaList(TokenKind::RightParen, "after the parameters", [&] { fn.params.push_back(param()); });
  if (accept(TokenKind::Arrow))
    fn.result = type();
  else if (!at(TokenKind::LeftBrace))
    failExpected("'->' before the result's type, or '{' before the function's body");
  if (at(TokenKind::Comma))
    fail(here(), "write several results in parentheses, as in '-> (f32, f32)'");
  fn.range = since(begin);
  fn.body = block(BlockKind::Function);
  ast->functions.push_back(std::move(fn));
}

/// Reports a nested declaration, but parses it, so that its uses are not errors.
void Parser::nestedDeclaration() {
  diagnostics.error(here(),
                    at(TokenKind::Fn)      ? "functions cannot be declared inside of a function: move it out, and give "
                                             "it the values that it uses as arguments"
                    : at(TokenKind::Const) ? "a const is only allowed outside of functions; inside, 'let' names a value"
                                           : found() + " is only allowed outside of functions");
  auto bound = boundTypes;
  declaration();
  boundTypes = bound;
}

Block Parser::block(BlockKind kind) {
  Nested nested(*this);
  size_t bound = boundTypes.size();
  Block block;
  uint32_t begin = peek().begin;
  expect(TokenKind::LeftBrace, kind == BlockKind::Function ? "before the function's body" : "before the block");
  while (!at(TokenKind::RightBrace) && !block.value) {
    bool isDeclaration = at(TokenKind::Fn) || at(TokenKind::Struct) || at(TokenKind::Mesh) || at(TokenKind::Const);
    // A declaration at the beginning of a line belongs to the file, and this block was not closed.
    bool beginsLine = peek().begin == 0 || source.getText()[peek().begin - 1] == '\n';
    if (at(TokenKind::End) || (isDeclaration && beginsLine)) {
      report(here(), "expected '}' at the end of the block, found " + found());
      // An unclosed function is kept; the statement around an unclosed inner block is not.
      if (kind != BlockKind::Function)
        throw SyntaxError();
      block.isBroken = true;
      block.range = since(begin);
      boundTypes.resize(bound);
      return block;
    }
    try {
      if (isDeclaration)
        nestedDeclaration();
      else
        statement(block);
    } catch (const SyntaxError &) {
      block.isBroken = true;
      skipStatement();
    }
  }
  block.range = {&source, begin, peek().end};
  checkBlockEnd(block, kind);
  expect(TokenKind::RightBrace, "at the end of the block");
  boundTypes.resize(bound);
  return block;
}

/// Checks the end of a block, and statements that are only allowed there. A block with syntax errors may lack its end.
void Parser::checkBlockEnd(const Block &block, BlockKind kind) {
  Range end = here();
  if (kind == BlockKind::Function && block.value)
    diagnostics.error(block.value->range, "a function's value is returned: write 'return ...;'");
  if (kind == BlockKind::Loop && block.value)
    diagnostics.error(block.value->range, "a loop's next carries are yielded: write 'yield ...;'");
  if (kind == BlockKind::Branch && !block.value && !block.isBroken)
    diagnostics.error(end, "a branch of 'if' must end in a value without ';'");
  bool yields = std::any_of(block.statements.begin(), block.statements.end(),
                            [](const Stmt *stmt) { return stmt->kind == StmtKind::Yield; });
  if (kind == BlockKind::Loop && !yields && !block.value && !block.isBroken)
    diagnostics.error(end, "the body of a loop must end in 'yield ...;'");

  for (const Stmt *stmt : block.statements) {
    if (stmt->kind == StmtKind::Return && kind != BlockKind::Function)
      diagnostics.error(stmt->range, "'return' is only allowed at the end of a function");
    if (stmt->kind == StmtKind::Yield && kind != BlockKind::Loop)
      diagnostics.error(stmt->range, "'yield' is only allowed at the end of a loop");
    bool isEnd = stmt->kind == StmtKind::Return || stmt->kind == StmtKind::Yield;
    if (isEnd && stmt != block.statements.back()) {
      const Stmt *following = *(std::find(block.statements.begin(), block.statements.end(), stmt) + 1);
      diagnostics
          .error(following->range,
                 std::string("nothing may follow '") + (stmt->kind == StmtKind::Return ? "return" : "yield") + "'")
          .note(stmt->range, "it is here");
      break;
    }
  }
}

void Parser::statement(Block &block) {
  uint32_t begin = peek().begin;
  auto finish = [&](Stmt *stmt) {
    stmt->range = since(begin);
    block.statements.push_back(stmt);
    endStatement();
  };
  if (accept(TokenKind::Let)) {
    Stmt *stmt = ast->makeStmt(StmtKind::Let, since(begin));
    stmt->pattern = pattern();
    if (at(TokenKind::Comma)) {
      report(here(), "write several names in parentheses, as in 'let (x, y) = ...'");
      Pattern all;
      all.elements.push_back(std::move(stmt->pattern));
      while (accept(TokenKind::Comma))
        all.elements.push_back(pattern());
      all.range = {&source, all.elements.front().range.begin, all.elements.back().range.end};
      stmt->pattern = std::move(all);
    }
    try {
      if (accept(TokenKind::Colon))
        stmt->type = type();
      expect(TokenKind::Assign, "after the name");
      stmt->value = expression();
    } catch (const SyntaxError &) {
      // The names are declared, but their values are unknown.
      stmt->type = nullptr;
      block.statements.push_back(stmt);
      throw;
    }
    // Binds after the value: `let key = key[0];` shadows only later uses.
    auto bindAll = [&](auto &self, const Pattern &pattern) -> void {
      bind(pattern.name);
      for (const Pattern &element : pattern.elements)
        self(self, element);
    };
    bindAll(bindAll, stmt->pattern);
    return finish(stmt);
  }
  if (at(TokenKind::Return) || at(TokenKind::Yield)) {
    Stmt *stmt = ast->makeStmt(at(TokenKind::Return) ? StmtKind::Return : StmtKind::Yield, here());
    take();
    stmt->value = expression();
    if (at(TokenKind::Comma))
      fail(here(), "write several values in parentheses, as in '(x, y)'");
    return finish(stmt);
  }
  Expr *value = expression();
  if (at(TokenKind::Assign)) {
    const auto *name = dynAs<NameExpr>(*value);
    if (!name && dynAs<SubscriptExpr>(*value))
      fail(here(), "arrays do not change: update(x, v, start=[..]), scatter_add or where return a changed copy");
    report(here(), "a name gets its value once: write 'let' before it");
    if (!name)
      throw SyntaxError();
    // Parses on as if 'let' were there.
    take();
    Stmt *stmt = ast->makeStmt(StmtKind::Let, since(begin));
    stmt->pattern.name = name->name;
    stmt->pattern.range = name->range;
    stmt->value = expression();
    return finish(stmt);
  }
  if (at(TokenKind::RightBrace)) {
    block.value = value;
    return;
  }
  Stmt *stmt = ast->makeStmt(StmtKind::Expression, value->range);
  stmt->value = value;
  finish(stmt);
}

/// The `;` of a statement. If it is missing and the next line parses, only that is reported.
void Parser::endStatement() {
  if (accept(TokenKind::Semicolon))
    return;
  uint32_t lastEnd = next > 0 ? tokens[next - 1].end : 0;
  bool isOnNextLine = source.position(lastEnd).line != here().start().line;
  Range where = isOnNextLine || at(TokenKind::End) ? Range{&source, lastEnd, lastEnd} : here();
  report(where, "expected ';' at the end of the statement, found " + found());
  switch (peek().kind) {
  case TokenKind::Let:
  case TokenKind::Return:
  case TokenKind::Yield:
  case TokenKind::RightBrace:
  case TokenKind::Fn:
  case TokenKind::Struct:
  case TokenKind::Mesh:
  case TokenKind::Const:
  case TokenKind::End:
    return;
  default:
    throw SyntaxError();
  }
}

Pattern Parser::pattern() {
  Nested nested(*this);
  Pattern result;
  uint32_t begin = peek().begin;
  if (accept(TokenKind::LeftParen)) {
    commaList(TokenKind::RightParen, "after the names", [&] { result.elements.push_back(pattern()); });
    result.range = since(begin);
    if (result.elements.empty())
      fail(result.range, "expected a name between the parentheses");
    return result;
  }
  Identifier name = expectIdentifier("a name");
  result.name = name.text;
  result.range = name.range;
  return result;
}

} // namespace spmdc
