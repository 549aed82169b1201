//===- Constant.h - compile-time numbers ------------------------*- C++ -*-===//
//
// Literals, consts, generic sizes, and arithmetic on them, with Python's meaning: integers are exact (64 bits; more is
// an error), `/` of integers is an integer if there is no remainder, and a float otherwise.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "frontend/syntax/Ast.h"

#include <cstdint>
#include <optional>
#include <string>

namespace spmdc {

struct Constant {
  enum class Kind { Bool, Int, Float };
  Kind kind = Kind::Int;
  int64_t i = 0; ///< Int, and 0 or 1 for Bool.
  double f = 0;  ///< Float.

  static Constant ofInt(int64_t value) { return {Kind::Int, value, 0}; }
  static Constant ofFloat(double value) { return {Kind::Float, 0, value}; }
  static Constant ofBool(bool value) { return {Kind::Bool, value, 0}; }

  double asDouble() const { return kind == Kind::Float ? f : static_cast<double>(i); }
  bool isTrue() const { return kind == Kind::Float ? f != 0 : i != 0; }
  std::string str() const;
};

/// The value; nullopt with a message in `error` if there is none.
std::optional<Constant> foldBinary(BinaryOp op, Constant left, Constant right, std::string &error);
std::optional<Constant> foldUnary(UnaryOp op, Constant operand, std::string &error);

} // namespace spmdc
