//===- ParseExprs.cpp - expressions ---------------------------------------===//

#include "frontend/syntax/ParserImpl.h"

#include <cstdlib>
#include <limits>
#include <optional>

namespace spmdc {

namespace {

struct BinaryRule {
  BinaryOp op;
  unsigned precedence;
};

constexpr unsigned comparisonPrecedence = 3;

/// The left-associative operators, loosest first. `**` binds tighter than unary minus and has its own rule.
std::optional<BinaryRule> binaryRule(TokenKind kind) {
  switch (kind) {
  case TokenKind::OrOr:
    return BinaryRule{BinaryOp::LogicalOr, 1};
  case TokenKind::AndAnd:
    return BinaryRule{BinaryOp::LogicalAnd, 2};
  case TokenKind::EqualEqual:
    return BinaryRule{BinaryOp::Equal, comparisonPrecedence};
  case TokenKind::NotEqual:
    return BinaryRule{BinaryOp::NotEqual, comparisonPrecedence};
  case TokenKind::Less:
    return BinaryRule{BinaryOp::Less, comparisonPrecedence};
  case TokenKind::LessEqual:
    return BinaryRule{BinaryOp::LessEqual, comparisonPrecedence};
  case TokenKind::Greater:
    return BinaryRule{BinaryOp::Greater, comparisonPrecedence};
  case TokenKind::GreaterEqual:
    return BinaryRule{BinaryOp::GreaterEqual, comparisonPrecedence};
  case TokenKind::Or:
    return BinaryRule{BinaryOp::BitOr, 4};
  case TokenKind::Caret:
    return BinaryRule{BinaryOp::BitXor, 5};
  case TokenKind::And:
    return BinaryRule{BinaryOp::BitAnd, 6};
  case TokenKind::ShiftLeft:
    return BinaryRule{BinaryOp::ShiftLeft, 7};
  case TokenKind::ShiftRight:
    return BinaryRule{BinaryOp::ShiftRight, 7};
  case TokenKind::Plus:
    return BinaryRule{BinaryOp::Add, 8};
  case TokenKind::Minus:
    return BinaryRule{BinaryOp::Subtract, 8};
  case TokenKind::Star:
    return BinaryRule{BinaryOp::Multiply, 9};
  case TokenKind::Slash:
    return BinaryRule{BinaryOp::Divide, 9};
  case TokenKind::Percent:
    return BinaryRule{BinaryOp::Remainder, 9};
  case TokenKind::At:
    return BinaryRule{BinaryOp::MatMul, 9};
  default:
    return std::nullopt;
  }
}

} // namespace

/// Parses operators of at least this precedence. In a dimension, `@` ends the size: its sharding follows.
Expr *Parser::binary(unsigned minPrecedence, bool inDimension) {
  Expr *left = unary();
  bool isComparison = false;
  while (true) {
    std::optional<BinaryRule> rule = binaryRule(peek().kind);
    if (!rule || rule->precedence < minPrecedence || (inDimension && rule->op == BinaryOp::MatMul))
      return left;
    Range opRange = here();
    if (rule->precedence == comparisonPrecedence && isComparison)
      fail(opRange, "comparisons do not chain: write 'a < b && b < c'");
    isComparison = rule->precedence == comparisonPrecedence;
    take();
    if (at(TokenKind::Assign) && peek().begin == opRange.end)
      fail(opRange.to(here()), "a name gets its value once: write 'let x = x " + std::string(opRange.text()) + " ...'");
    Expr *right = binary(rule->precedence + 1, inDimension);
    auto *node = ast->make<BinaryExpr>(left->range.to(right->range));
    node->op = rule->op;
    node->opRange = opRange;
    node->left = left;
    node->right = right;
    left = node;
  }
}

Expr *Parser::unary() {
  if (!at(TokenKind::Minus) && !at(TokenKind::Not))
    return power();
  Nested nested(*this);
  const Token &op = take();
  Expr *operand = unary();
  auto *node = ast->make<UnaryExpr>(rangeOf(op).to(operand->range));
  node->op = op.kind == TokenKind::Minus ? UnaryOp::Negate : UnaryOp::Not;
  node->operand = operand;
  return node;
}

Expr *Parser::power() {
  Expr *base = postfix();
  if (!at(TokenKind::StarStar))
    return base;
  Nested nested(*this);
  Range opRange = rangeOf(take());
  Expr *exponent = unary();
  auto *node = ast->make<BinaryExpr>(base->range.to(exponent->range));
  node->op = BinaryOp::Power;
  node->opRange = opRange;
  node->left = base;
  node->right = exponent;
  return node;
}

Expr *Parser::postfix() {
  Expr *base = primary();
  for (unsigned links = 0;; ++links) {
    Nested nested(*this, links);
    if (at(TokenKind::LeftParen)) {
      base = call(base);
    } else if (at(TokenKind::LeftBracket)) {
      base = index(base);
    } else if (accept(TokenKind::Dot)) {
      Identifier field = expectIdentifier("a field's name after '.'");
      auto *node = ast->make<FieldExpr>(base->range.to(field.range));
      node->base = base;
      node->field = field;
      base = node;
    } else {
      return base;
    }
  }
}

Expr *Parser::primary() {
  switch (peek().kind) {
  case TokenKind::Integer:
  case TokenKind::Float:
    return number();
  case TokenKind::String: {
    const Token &token = take();
    auto *node = ast->make<StringExpr>(rangeOf(token));
    node->value = stringValue(textOf(token));
    return node;
  }
  case TokenKind::True:
  case TokenKind::False: {
    const Token &token = take();
    auto *node = ast->make<BoolExpr>(rangeOf(token));
    node->value = token.kind == TokenKind::True;
    return node;
  }
  case TokenKind::LeftParen:
    return parenthesised();
  case TokenKind::LeftBracket:
    return list();
  case TokenKind::If:
    return ifExpr();
  case TokenKind::For:
    return forExpr();
  case TokenKind::While:
    return whileExpr();
  case TokenKind::Identifier:
    break;
  case TokenKind::Dot:
    if (peek(1).kind == TokenKind::Integer && peek(1).begin == peek().end)
      fail(here().to(rangeOf(peek(1))),
           "a digit is missing before the point: write '0." + std::string(textOf(peek(1))) + "'");
    failExpected("an expression");
  default:
    failExpected("an expression");
  }
  if (atType()) {
    uint32_t begin = peek().begin;
    TypeSyntax *syntax = type();
    auto *node = ast->make<TypeExpr>(since(begin));
    node->type = syntax;
    return node;
  }
  bool isOperandNext = peek(1).kind >= TokenKind::Identifier && peek(1).kind <= TokenKind::Float;
  if (textOf(peek()) == "not" && isOperandNext)
    fail(here(), "'not' is written '!'");
  if (textOf(peek()) == "P" && peek(1).kind == TokenKind::LeftParen)
    return partition();
  // A struct's name, or a field and a colon after the brace: no block begins like this, so `if c { x }` is still a
  // condition.
  bool isStruct = peek(1).kind == TokenKind::LeftBrace &&
                  ((peek(2).kind == TokenKind::Identifier && peek(3).kind == TokenKind::Colon) ||
                   (structNames.count(textOf(peek())) && !isBound(textOf(peek()))));
  if (isStruct)
    return structLiteral();
  const Token &token = take();
  auto *node = ast->make<NameExpr>(rangeOf(token));
  node->name = textOf(token);
  return node;
}

Expr *Parser::number() {
  const Token &token = take();
  if (token.kind == TokenKind::Integer) {
    auto *node = ast->make<IntegerExpr>(rangeOf(token));
    node->value = integerValue(token);
    return node;
  }
  auto *node = ast->make<FloatExpr>(rangeOf(token));
  std::string_view text = textOf(token);
  if (text == "inf")
    node->value = std::numeric_limits<double>::infinity();
  else if (text == "nan")
    node->value = std::numeric_limits<double>::quiet_NaN();
  else
    node->value = std::strtod(std::string(text).c_str(), nullptr);
  return node;
}

/// `(e)`, `(a, b)`, `(a,)` or `()`.
Expr *Parser::parenthesised() {
  Nested nested(*this);
  uint32_t begin = take().begin;
  std::vector<Expr *> elements;
  bool hasComma = false;
  while (!at(TokenKind::RightParen)) {
    elements.push_back(expression());
    if (!accept(TokenKind::Comma))
      break;
    hasComma = true;
  }
  expect(TokenKind::RightParen, "to close the parenthesis");
  if (elements.size() == 1 && !hasComma) {
    // The expression now begins at its parenthesis; so does an expression whose left side it is.
    elements[0]->range = since(begin);
    return elements[0];
  }
  auto *node = ast->make<TupleExpr>(since(begin));
  node->elements = std::move(elements);
  return node;
}

Expr *Parser::list() {
  Nested nested(*this);
  uint32_t begin = peek().begin;
  // `[Block; 4]` is a type.
  bool isFixed = peek(1).kind == TokenKind::Identifier && structNames.count(textOf(peek(1))) &&
                 !isBound(textOf(peek(1))) && (peek(2).kind == TokenKind::Semicolon || peek(2).kind == TokenKind::Less);
  if (isFixed) {
    TypeSyntax *syntax = type();
    auto *node = ast->make<TypeExpr>(since(begin));
    node->type = syntax;
    return node;
  }
  take();
  std::vector<Expr *> elements;
  commaList(TokenKind::RightBracket, "to close the list", [&] { elements.push_back(expression()); });
  auto *node = ast->make<ListExpr>(since(begin));
  node->elements = std::move(elements);
  return node;
}

Expr *Parser::partition() {
  Nested nested(*this);
  uint32_t begin = take().begin;
  take();
  std::vector<DimShardingSyntax> dims;
  commaList(TokenKind::RightParen, "to close 'P('", [&] { dims.push_back(dimSharding()); });
  auto *node = ast->make<PartitionExpr>(since(begin));
  node->dims = std::move(dims);
  return node;
}

Expr *Parser::structLiteral() {
  Nested nested(*this);
  const Token &token = take();
  Identifier name{textOf(token), rangeOf(token)};
  take();
  std::vector<Argument> fields;
  try {
    commaList(TokenKind::RightBrace, "to close the struct", [&] {
      Argument field;
      field.name = expectIdentifier("a field's name");
      expect(TokenKind::Colon, "after the field's name");
      field.value = expression();
      fields.push_back(field);
    });
  } catch (const SyntaxError &) {
    // Skips to the struct's brace, so that it does not close the block.
    while (!at(TokenKind::RightBrace) && !at(TokenKind::Semicolon) && !at(TokenKind::LeftBrace) && !at(TokenKind::End))
      take();
    accept(TokenKind::RightBrace);
    throw;
  }
  auto *node = ast->make<StructExpr>(since(name.range.begin));
  node->name = name;
  node->fields = std::move(fields);
  return node;
}

Expr *Parser::call(Expr *callee) {
  Nested nested(*this);
  take();
  std::vector<Argument> arguments;
  commaList(TokenKind::RightParen, "to close the call", [&] {
    Argument argument;
    bool isName = at(TokenKind::Identifier) || at(TokenKind::In);
    if (isName && peek(1).kind == TokenKind::Assign) {
      const Token &name = take();
      argument.name = {textOf(name), rangeOf(name)};
      take();
    }
    argument.value = expression();
    arguments.push_back(argument);
  });
  auto *node = ast->make<CallExpr>(since(callee->range.begin));
  node->callee = callee;
  node->arguments = std::move(arguments);
  return node;
}

Expr *Parser::index(Expr *base) {
  Nested nested(*this);
  take();
  std::vector<Expr *> indices;
  commaList(TokenKind::RightBracket, "to close the index", [&] { indices.push_back(indexItem()); });
  auto *node = ast->make<SubscriptExpr>(since(base->range.begin));
  node->base = base;
  node->indices = std::move(indices);
  return node;
}

Expr *Parser::indexItem() {
  uint32_t begin = peek().begin;
  if (accept(TokenKind::Ellipsis))
    return ast->make<EllipsisExpr>(since(begin));
  if (at(TokenKind::Identifier) && textOf(peek()) == "None") {
    take();
    return ast->make<NoneExpr>(since(begin));
  }
  auto endsPart = [&] { return at(TokenKind::Colon) || at(TokenKind::Comma) || at(TokenKind::RightBracket); };
  Expr *low = at(TokenKind::Colon) ? nullptr : expression();
  if (!accept(TokenKind::Colon))
    return low;
  Expr *high = endsPart() ? nullptr : expression();
  Expr *step = accept(TokenKind::Colon) && !endsPart() ? expression() : nullptr;
  auto *node = ast->make<SliceExpr>(since(begin));
  node->low = low;
  node->high = high;
  node->step = step;
  return node;
}

Expr *Parser::ifExpr() {
  Nested nested(*this);
  uint32_t begin = take().begin;
  Expr *condition = expression();
  Block thenBlock = block(BlockKind::Branch);
  expect(TokenKind::Else, "after the first branch: an 'if' is an expression and needs both");
  Block elseBlock;
  if (at(TokenKind::If)) {
    elseBlock.value = ifExpr();
    elseBlock.range = elseBlock.value->range;
  } else {
    elseBlock = block(BlockKind::Branch);
  }
  auto *node = ast->make<IfExpr>(since(begin));
  node->condition = condition;
  node->thenBlock = std::move(thenBlock);
  node->elseBlock = std::move(elseBlock);
  return node;
}

std::vector<Carry> Parser::carries() {
  std::vector<Carry> result;
  expect(TokenKind::Carry, "before the loop's carries");
  expect(TokenKind::LeftParen, "after 'carry'");
  commaList(TokenKind::RightParen, "after the carries", [&] {
    Carry carry;
    carry.name = expectIdentifier("a carry's name");
    expect(TokenKind::Assign, "after the carry's name");
    carry.initial = expression();
    result.push_back(carry);
  });
  for (const Carry &carry : result)
    bind(carry.name.text);
  return result;
}

Expr *Parser::forExpr() {
  Nested nested(*this);
  size_t bound = boundTypes.size();
  uint32_t begin = take().begin;
  Identifier variable = expectIdentifier("the loop's variable");
  expect(TokenKind::In, "after the loop's variable");
  Expr *low = expression();
  expect(TokenKind::DotDot, "between the loop's bounds, as in 'for i in 0..3'");
  Expr *high = expression();
  bind(variable.text);
  std::vector<Carry> carried = carries();
  Block body = block(BlockKind::Loop);
  boundTypes.resize(bound);
  auto *node = ast->make<ForExpr>(since(begin));
  node->variable = variable;
  node->low = low;
  node->high = high;
  node->carries = std::move(carried);
  node->body = std::move(body);
  return node;
}

Expr *Parser::whileExpr() {
  Nested nested(*this);
  size_t bound = boundTypes.size();
  uint32_t begin = take().begin;
  Expr *condition = expression();
  std::vector<Carry> carried = carries();
  Block body = block(BlockKind::Loop);
  boundTypes.resize(bound);
  auto *node = ast->make<WhileExpr>(since(begin));
  node->condition = condition;
  node->carries = std::move(carried);
  node->body = std::move(body);
  return node;
}

} // namespace spmdc
