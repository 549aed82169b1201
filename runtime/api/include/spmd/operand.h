//===- operand.h - calling the language's operations ------------*- C++ -*-===//
//
// Every function of the language can be called from C++ by its name; numpy.h has the common ones as functions of their
// own. Inside of a callable that jit traces, a call becomes a line of the program. Elsewhere it is a program of this
// one operation, which is compiled once for the types and shardings of its operands, and whose result is returned
// without waiting for it. Needs the library with the compiler.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "array.h"

#include <concepts>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

namespace spmd {

/// The operand of an operation: an array, or a compile-time constant: a number (weakly typed, as a number of Python is
/// in JAX), true or false, a list, a text, a dtype, a P. It remembers the source line that created it, for messages. A
/// temporary value: do not store it.
class Operand {
public:
  using Location = std::source_location;

  Operand(const Array &array, Location where = Location::current());
  Operand(double number, Location where = Location::current());
  Operand(float number, Location where = Location::current()) : Operand(static_cast<double>(number), where) {}
  template <std::integral T>
  Operand(T number, Location where = Location::current()) : Operand(Integer{static_cast<int64_t>(number)}, where) {}
  Operand(bool flag, Location where = Location::current());
  /// `None`.
  Operand(std::nullptr_t, Location where = Location::current());
  /// A text, as einsum takes one.
  Operand(const char *text, Location where = Location::current());
  Operand(DType dtype, Location where = Location::current());
  Operand(const P &spec, Location where = Location::current());
  /// A list of arrays or numbers.
  template <typename T>
    requires std::convertible_to<const T &, Operand>
  Operand(const std::vector<T> &elements, Location where = Location::current()) : where(where) {
    beginList();
    for (const T &element : elements)
      addElement(Operand(element, where));
    endList();
  }

  /// A type with sizes, as `zeros` takes one: `f32[8@a, 4]`.
  static Operand type(DType dtype, const std::vector<int64_t> &shape, const std::optional<NamedSharding> &sharding = {},
                      Location where = Location::current());

  //===- For the implementation of operations ---------------------------------------------------------------------===//

  /// An expression of the language; each `$` in it stands for one of the operands, in their order.
  Operand(const std::string &format, const std::vector<Operand> &operands, Location where);

  const std::string &get_text() const { return text; }
  const std::vector<Array> &get_arrays() const { return arrays; }
  const std::optional<Mesh> &get_mesh() const { return mesh; }
  const Location &get_location() const { return where; }

  /// The placeholder in the text for the next array.
  static constexpr char kArray = '\1';

private:
  struct Integer {
    int64_t value;
  };
  Operand(Integer number, Location where);
  void beginList();
  void addElement(const Operand &element);
  void endList();
  void append(const Operand &other);

  std::string text;
  std::vector<Array> arrays;
  std::optional<Mesh> mesh; ///< The mesh of its shardings, if it has any.
  Location where;
};

/// Arguments that are passed by name: {{"axis", 0}, {"keepdims", true}}.
using Attributes = std::vector<std::pair<std::string, Operand>>;

/// Returns the result of the function of that name, as docs/language.md describes it; also of a function of the
/// prelude. Throws an error, with the line of the call, for wrong operands (shapes, types), an unknown name, and arrays
/// on different meshes.
Array call(const std::string &function, const std::vector<Operand> &operands, const Attributes &attributes = {},
           std::source_location where = std::source_location::current());
/// The same for a function with several results, as `split` and `top_k`.
std::vector<Array> call_tuple(const std::string &function, const std::vector<Operand> &operands,
                              const Attributes &attributes = {},
                              std::source_location where = std::source_location::current());

namespace detail {
/// Returns the value of an expression, which is one array.
Array evaluate(const Operand &expression);
/// Returns the values of an expression.
std::vector<Array> evaluateAll(const Operand &expression);
} // namespace detail

} // namespace spmd
