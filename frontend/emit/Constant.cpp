//===- Constant.cpp - compile-time numbers --------------------------------===//

#include "frontend/emit/Constant.h"

#include <charconv>
#include <cmath>

namespace spmdc {

namespace {

using Kind = Constant::Kind;

constexpr const char *overflow = "the integer does not fit in 64 bits";

std::optional<Constant> fail(std::string &error, std::string message) {
  error = std::move(message);
  return std::nullopt;
}

std::optional<Constant> intPower(int64_t base, int64_t exponent, std::string &error) {
  if (exponent < 0) {
    if (base == 0)
      return fail(error, "0 to a negative power");
    return Constant::ofFloat(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) && __builtin_mul_overflow(result, base, &result))
      return fail(error, overflow);
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base))
      return fail(error, overflow);
  }
  return Constant::ofInt(result);
}

int64_t floorModulo(int64_t a, int64_t b) {
  if (b == -1)
    return 0; // Also for the lowest integer, whose quotient overflows.
  int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

std::optional<Constant> foldInts(BinaryOp op, int64_t a, int64_t b, bool areBools, std::string &error) {
  int64_t result = 0;
  auto bits = [&](int64_t value) { return areBools ? Constant::ofBool(value) : Constant::ofInt(value); };
  switch (op) {
  case BinaryOp::Add:
    return __builtin_add_overflow(a, b, &result) ? fail(error, overflow) : Constant::ofInt(result);
  case BinaryOp::Subtract:
    return __builtin_sub_overflow(a, b, &result) ? fail(error, overflow) : Constant::ofInt(result);
  case BinaryOp::Multiply:
    return __builtin_mul_overflow(a, b, &result) ? fail(error, overflow) : Constant::ofInt(result);
  case BinaryOp::Divide:
    if (b == 0)
      return fail(error, "division by zero");
    if (b == -1)
      return __builtin_sub_overflow(int64_t(0), a, &result) ? fail(error, overflow) : Constant::ofInt(result);
    if (a % b == 0)
      return Constant::ofInt(a / b);
    return Constant::ofFloat(static_cast<double>(a) / static_cast<double>(b));
  case BinaryOp::Remainder:
    return b == 0 ? fail(error, "remainder of a division by zero") : Constant::ofInt(floorModulo(a, b));
  case BinaryOp::Power:
    return intPower(a, b, error);
  case BinaryOp::BitAnd:
    return bits(a & b);
  case BinaryOp::BitOr:
    return bits(a | b);
  case BinaryOp::BitXor:
    return bits(a ^ b);
  case BinaryOp::ShiftLeft:
    if (b < 0 || b > 62 || (a != 0 && (a << b) >> b != a))
      return fail(error, b < 0 ? "a shift by a negative number" : overflow);
    return Constant::ofInt(a << b);
  case BinaryOp::ShiftRight:
    return b < 0 ? fail(error, "a shift by a negative number") : Constant::ofInt(a >> std::min<int64_t>(b, 63));
  default:
    return std::nullopt;
  }
}

std::optional<Constant> foldFloats(BinaryOp op, double a, double b, std::string &error) {
  switch (op) {
  case BinaryOp::Add:
    return Constant::ofFloat(a + b);
  case BinaryOp::Subtract:
    return Constant::ofFloat(a - b);
  case BinaryOp::Multiply:
    return Constant::ofFloat(a * b);
  case BinaryOp::Divide:
    return b == 0 ? fail(error, "division by zero") : Constant::ofFloat(a / b);
  case BinaryOp::Remainder: {
    if (b == 0)
      return fail(error, "remainder of a division by zero");
    double remainder = std::fmod(a, b);
    return Constant::ofFloat(remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder);
  }
  case BinaryOp::Power:
    return Constant::ofFloat(std::pow(a, b));
  default:
    return fail(error, "'" + std::string(spelling(op)) + "' takes integers or bools, not floats");
  }
}

template <typename T> std::optional<Constant> compare(BinaryOp op, T a, T b) {
  switch (op) {
  case BinaryOp::Equal:
    return Constant::ofBool(a == b);
  case BinaryOp::NotEqual:
    return Constant::ofBool(a != b);
  case BinaryOp::Less:
    return Constant::ofBool(a < b);
  case BinaryOp::LessEqual:
    return Constant::ofBool(a <= b);
  case BinaryOp::Greater:
    return Constant::ofBool(a > b);
  case BinaryOp::GreaterEqual:
    return Constant::ofBool(a >= b);
  default:
    return std::nullopt;
  }
}

} // namespace

std::string Constant::str() const {
  if (kind == Kind::Bool)
    return i ? "true" : "false";
  if (kind == Kind::Int)
    return std::to_string(i);
  char text[32];
  auto [end, error] = std::to_chars(text, text + sizeof text, f);
  std::string digits(text, end);
  return digits.find_first_of(".en") == std::string::npos ? digits + ".0" : digits;
}

std::optional<Constant> foldBinary(BinaryOp op, Constant left, Constant right, std::string &error) {
  if (op == BinaryOp::LogicalAnd)
    return Constant::ofBool(left.isTrue() && right.isTrue());
  if (op == BinaryOp::LogicalOr)
    return Constant::ofBool(left.isTrue() || right.isTrue());
  if (op == BinaryOp::MatMul)
    return fail(error, "'@' multiplies arrays of at least one dimension");
  bool areInts = left.kind != Kind::Float && right.kind != Kind::Float;
  if (auto result = areInts ? compare(op, left.i, right.i) : compare(op, left.asDouble(), right.asDouble()))
    return result;
  if (areInts)
    return foldInts(op, left.i, right.i, left.kind == Kind::Bool && right.kind == Kind::Bool, error);
  return foldFloats(op, left.asDouble(), right.asDouble(), error);
}

std::optional<Constant> foldUnary(UnaryOp op, Constant operand, std::string &error) {
  if (op == UnaryOp::Not)
    return Constant::ofBool(!operand.isTrue());
  if (operand.kind == Kind::Float)
    return Constant::ofFloat(-operand.f);
  if (operand.kind == Kind::Bool)
    return fail(error, "'-' takes a number, not a bool");
  return foldInts(BinaryOp::Subtract, 0, operand.i, false, error);
}

} // namespace spmdc
