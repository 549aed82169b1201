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
      fail(here(), "'let' stands inside of functions; outside of them 'const N = ...;' names a number");
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
    item.name = expectIdentifier("what the budget is of: 'wire', 'collectives' or 'memory'");
    expect(TokenKind::Assign, "after what the budget is of");
    if (!at(TokenKind::Integer) && !at(TokenKind::Float) && !at(TokenKind::Bytes))
      failExpected("a number, or bytes such as 64MiB");
    item.value = rangeOf(take());
    ast->budget.push_back(item);
  } while (accept(TokenKind::Comma));
  endStatement();
}

/// `<B, D>` behind the name of a function or a struct, or nothing.
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
    fail(param.name.range, "a parameter's name stands before its type, as in 'x: f32[8]'");
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
    fail(here(), "several results stand in parentheses, as in '-> (f32, f32)'");
  fn.range = since(begin);
  fn.body = block(BlockKind::Function);
  ast->functions.push_back(std::move(fn));
}

/// An error, but it is understood, so that what uses it is none.
void Parser::nestedDeclaration() {
  diagnostics.error(
      here(), at(TokenKind::Fn) ? "functions are declared beside one another, not inside of one: move it out, and give "
                                  "it what it uses of this one as arguments"
              : at(TokenKind::Const) ? "a const is declared outside of functions; inside, 'let' names a value"
                                     : found() + " is declared outside of functions");
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
    // At the beginning of a line it is the next declaration of the file, and this block was not closed.
    bool beginsLine = peek().begin == 0 || source.getText()[peek().begin - 1] == '\n';
    if (at(TokenKind::End) || (isDeclaration && beginsLine)) {
      report(here(), "expected '}' at the end of the block, found " + found());
      // A function is understood as far as it goes; what an inner block is part of is not.
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

/// What a block must end in, and what may stand only there. Where a statement was not understood, nothing is missed.
void Parser::checkBlockEnd(const Block &block, BlockKind kind) {
  Range end = here();
  if (kind == BlockKind::Function && block.value)
    diagnostics.error(block.value->range, "a function's value is returned: write 'return ...;'");
  if (kind == BlockKind::Loop && block.value)
    diagnostics.error(block.value->range, "a loop's next carries are yielded: write 'yield ...;'");
  if (kind == BlockKind::Arm && !block.value && !block.isBroken)
    diagnostics.error(end, "an arm of 'if' ends in a value without ';'");
  bool yields = std::any_of(block.statements.begin(), block.statements.end(),
                            [](const Stmt *stmt) { return stmt->kind == StmtKind::Yield; });
  if (kind == BlockKind::Loop && !yields && !block.value && !block.isBroken)
    diagnostics.error(end, "the body of a loop ends in 'yield ...;'");

  for (const Stmt *stmt : block.statements) {
    if (stmt->kind == StmtKind::Return && kind != BlockKind::Function)
      diagnostics.error(stmt->range, "'return' stands at the end of a function only");
    if (stmt->kind == StmtKind::Yield && kind != BlockKind::Loop)
      diagnostics.error(stmt->range, "'yield' stands at the end of a loop only");
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
      report(here(), "several names stand in parentheses, as in 'let (x, y) = ...'");
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
      // The names are known, only not what they stand for.
      stmt->type = nullptr;
      block.statements.push_back(stmt);
      throw;
    }
    // Bound behind the value: `let key = key[0];` shadows only what follows.
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
      fail(here(), "several values stand in parentheses, as in '(x, y)'");
    return finish(stmt);
  }
  Expr *value = expression();
  if (at(TokenKind::Assign)) {
    const auto *name = dynAs<NameExpr>(*value);
    if (!name && dynAs<SubscriptExpr>(*value))
      fail(here(), "arrays do not change: update(x, v, start=[..]), scatter_add or where give one that differs");
    report(here(), "a name gets its value once: write 'let' before it");
    if (!name)
      throw SyntaxError();
    // As if it were there.
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

/// The `;` of a statement. Where it is missing and the next line goes on sensibly, only that is reported.
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
