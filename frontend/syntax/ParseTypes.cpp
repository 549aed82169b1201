//===- ParseTypes.cpp - types and shardings -------------------------------===//

#include "frontend/syntax/ParserImpl.h"

namespace spmdc {

/// Finds the names of structs before it reads the first declaration, since `Linear<D, H>` would be a comparison if
/// `Linear` were a value.
void Parser::findStructs() {
  for (size_t i = 0; i + 1 < tokens.size(); ++i)
    if (tokens[i].kind == TokenKind::Struct && tokens[i + 1].kind == TokenKind::Identifier)
      structNames.insert(textOf(tokens[i + 1]));
}

/// True at the name of a dtype or a struct that no variable hides, before `[` or `<`.
bool Parser::atType() const {
  if (!at(TokenKind::Identifier))
    return false;
  std::string_view name = textOf(peek());
  bool isDType = peek(1).kind == TokenKind::LeftBracket && isDTypeName(name);
  bool isStruct = peek(1).kind == TokenKind::Less && structNames.count(name);
  return (isDType || isStruct) && !isBound(name);
}

TypeSyntax *Parser::type() {
  Nested nested(*this);
  uint32_t begin = peek().begin;
  if (accept(TokenKind::LeftParen)) {
    TypeSyntax *tuple = ast->makeType(TypeKind::Tuple, here());
    commaList(TokenKind::RightParen, "after the types", [&] { tuple->elements.push_back(type()); });
    tuple->range = since(begin);
    return tuple;
  }
  if (accept(TokenKind::LeftBracket)) {
    TypeSyntax *fixed = ast->makeType(TypeKind::Fixed, here());
    fixed->elements.push_back(type());
    expect(TokenKind::Semicolon, "after the element type");
    fixed->count = expression();
    expect(TokenKind::RightBracket, "after the count");
    fixed->range = since(begin);
    return fixed;
  }
  Identifier name = expectIdentifier("a type");
  bool isArray = isDTypeName(name.text);
  if (!isArray && at(TokenKind::LeftBracket)) {
    std::string known;
    for (std::string_view dtype : dtypeNames())
      known += " " + std::string(dtype);
    fail(name.range, "unknown dtype '" + std::string(name.text) + "'; the dtypes are" + known);
  }
  TypeSyntax *result = ast->makeType(isArray ? TypeKind::Array : TypeKind::Named, name.range);
  result->name = name;
  if (isArray && at(TokenKind::LeftBracket))
    arrayDims(*result);
  // A size goes up to the closing `>`: comparisons in it need parentheses.
  if (!isArray && accept(TokenKind::Less))
    commaList(TokenKind::Greater, "after the sizes", [&] { result->sizes.push_back(binary(sizePrecedence, false)); });
  result->range = since(begin);
  return result;
}

void Parser::arrayDims(TypeSyntax &type) {
  take();
  type.hasBrackets = true;
  commaList(TokenKind::RightBracket, "after the dimensions", [&] {
    DimSyntax dim;
    dim.size = binary(0, /*inDimension=*/true);
    dim.sharding.range = dim.size->range;
    if (accept(TokenKind::At))
      dim.sharding = dimSharding();
    type.dims.push_back(std::move(dim));
  });
}

DimShardingSyntax Parser::dimSharding() {
  DimShardingSyntax result;
  uint32_t begin = peek().begin;
  if (accept(TokenKind::Question)) {
    result.isOpen = true;
  } else if (accept(TokenKind::LeftParen)) {
    commaList(TokenKind::RightParen, "after the axes", [&] {
      Identifier axis = expectIdentifier("an axis name");
      if (axis.text == "_")
        diagnostics.error(axis.range, "'_' (replicated) cannot be combined with axes");
      else
        result.axes.push_back(axis);
    });
    result.isOpen = accept(TokenKind::Question);
  } else {
    Identifier axis = expectIdentifier("an axis name, '_', '?' or '('");
    if (axis.text != "_")
      result.axes.push_back(axis);
    result.isOpen = axis.text != "_" && accept(TokenKind::Question);
  }
  if (accept(TokenKind::Not)) {
    if (!at(TokenKind::Integer))
      failExpected("a priority (0 first) after '!'");
    result.priority = integerValue(take()).value_or(0);
  }
  result.range = since(begin);
  return result;
}

} // namespace spmdc
