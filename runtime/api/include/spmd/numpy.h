//===- numpy.h - operations on arrays ---------------------------*- C++ -*-===//
//
// JAX's jax.numpy, jax.nn and jax.lax by their names, as functions of the namespace. Each is the language's function of
// docs/language.md, through call() of operand.h, which also reaches functions that are not here. Types are promoted as
// in JAX, and numbers of C++ are weakly typed, as Python's are: `x * 0.5` of a bf16 array is bf16. Shapes are broadcast
// as in NumPy. The compiler chooses the shardings of results from those of the operands; with_sharding_constraint sets
// one.
//
// A number is a constant of the program that uses it. If it changes at each call (a falling learning rate), pass an
// array instead, because each new constant is compiled anew.
//
// Inside of a callable that jit traces, these functions add to its program. Elsewhere each is a cached program of one
// operation that every process of the arrays' mesh calls, and that returns at once. Errors in shapes and types are
// thrown by the call, with its line.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "operand.h"

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

namespace spmd {

/// An axis (negative: from the end), several, or none, which means the function's default: usually all axes.
class Axes {
public:
  Axes() = default;
  Axes(std::nullptr_t) {}
  Axes(std::integral auto axis) : single(static_cast<int64_t>(axis)) {}
  Axes(std::initializer_list<int64_t> axes) : list(std::vector<int64_t>(axes)) {}
  Axes(std::vector<int64_t> axes) : list(std::move(axes)) {}
  /// Returns the operand: a number, a list or None.
  Operand get(std::source_location where) const {
    return single ? Operand(*single, where) : list ? Operand(*list, where) : Operand(nullptr, where);
  }

private:
  std::optional<int64_t> single;
  std::optional<std::vector<int64_t>> list;
};

using Shape = std::vector<int64_t>;

namespace detail {
inline Array unary(const char *function, const Operand &x) { return call(function, {x}, {}, x.get_location()); }
inline Array binary(const char *function, const Operand &x, const Operand &y) {
  return call(function, {x, y}, {}, x.get_location());
}
inline Array infix(const char *format, const Operand &x, const Operand &y) {
  return evaluate(Operand(format, {x, y}, x.get_location()));
}
inline Array reduction(const char *function, const Operand &x, const Axes &axis, bool keepdims) {
  return call(function, {x}, {{"axis", axis.get(x.get_location())}, {"keepdims", keepdims}}, x.get_location());
}
} // namespace detail

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// Element-wise, with broadcasting; at least one side is an Array. Comparisons return bools. `%` has the sign of the
/// divisor. An Array does not convert to bool.
inline Array operator+(const Operand &x, const Operand &y) { return detail::infix("$ + $", x, y); }
inline Array operator-(const Operand &x, const Operand &y) { return detail::infix("$ - $", x, y); }
inline Array operator*(const Operand &x, const Operand &y) { return detail::infix("$ * $", x, y); }
inline Array operator/(const Operand &x, const Operand &y) { return detail::infix("$ / $", x, y); }
inline Array operator%(const Operand &x, const Operand &y) { return detail::infix("$ % $", x, y); }
inline Array operator==(const Operand &x, const Operand &y) { return detail::infix("$ == $", x, y); }
inline Array operator!=(const Operand &x, const Operand &y) { return detail::infix("$ != $", x, y); }
inline Array operator<(const Operand &x, const Operand &y) { return detail::infix("$ < $", x, y); }
inline Array operator<=(const Operand &x, const Operand &y) { return detail::infix("$ <= $", x, y); }
inline Array operator>(const Operand &x, const Operand &y) { return detail::infix("$ > $", x, y); }
inline Array operator>=(const Operand &x, const Operand &y) { return detail::infix("$ >= $", x, y); }
inline Array operator&(const Operand &x, const Operand &y) { return detail::infix("$ & $", x, y); }
inline Array operator|(const Operand &x, const Operand &y) { return detail::infix("$ | $", x, y); }
inline Array operator^(const Operand &x, const Operand &y) { return detail::infix("$ ^ $", x, y); }
inline Array operator-(const Operand &x) { return detail::evaluate(Operand("-$", {x}, x.get_location())); }
/// jnp.logical_not.
inline Array operator!(const Operand &x) { return detail::evaluate(Operand("!$", {x}, x.get_location())); }
/// jnp.power.
inline Array power(const Operand &x, const Operand &y) { return detail::infix("$ ** $", x, y); }

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// jnp.matmul: for vectors, matrices and stacks of matrices. f32 stays f32; bf16 and f16 are accumulated in f32.
inline Array matmul(const Operand &x, const Operand &y) { return detail::infix("$ @ $", x, y); }
/// jnp.einsum: einsum("bij,bjk->bik", {x, y}).
inline Array einsum(const char *spec, const std::vector<Array> &operands,
                    std::source_location where = std::source_location::current()) {
  std::vector<Operand> all = {Operand(spec, where)};
  for (const Array &operand : operands)
    all.push_back(Operand(operand, where));
  return call("einsum", all, {}, where);
}

//===----------------------------------------------------------------------===//
// Element-wise functions
//===----------------------------------------------------------------------===//

inline Array abs(const Operand &x) { return detail::unary("abs", x); }
inline Array sign(const Operand &x) { return detail::unary("sign", x); }
inline Array floor(const Operand &x) { return detail::unary("floor", x); }
inline Array ceil(const Operand &x) { return detail::unary("ceil", x); }
inline Array round(const Operand &x) { return detail::unary("round", x); }
inline Array sqrt(const Operand &x) { return detail::unary("sqrt", x); }
inline Array rsqrt(const Operand &x) { return detail::unary("rsqrt", x); }
inline Array cbrt(const Operand &x) { return detail::unary("cbrt", x); }
inline Array exp(const Operand &x) { return detail::unary("exp", x); }
inline Array exp2(const Operand &x) { return detail::unary("exp2", x); }
inline Array expm1(const Operand &x) { return detail::unary("expm1", x); }
inline Array log(const Operand &x) { return detail::unary("log", x); }
inline Array log1p(const Operand &x) { return detail::unary("log1p", x); }
inline Array log2(const Operand &x) { return detail::unary("log2", x); }
inline Array sin(const Operand &x) { return detail::unary("sin", x); }
inline Array cos(const Operand &x) { return detail::unary("cos", x); }
inline Array tan(const Operand &x) { return detail::unary("tan", x); }
inline Array sinh(const Operand &x) { return detail::unary("sinh", x); }
inline Array cosh(const Operand &x) { return detail::unary("cosh", x); }
inline Array tanh(const Operand &x) { return detail::unary("tanh", x); }
inline Array arcsin(const Operand &x) { return detail::unary("asin", x); }
inline Array arccos(const Operand &x) { return detail::unary("acos", x); }
inline Array arctan(const Operand &x) { return detail::unary("atan", x); }
inline Array arctan2(const Operand &y, const Operand &x) { return detail::binary("atan2", y, x); }
inline Array erf(const Operand &x) { return detail::unary("erf", x); }
inline Array erf_inv(const Operand &x) { return detail::unary("erf_inv", x); }
inline Array isfinite(const Operand &x) { return detail::unary("is_finite", x); }
inline Array isnan(const Operand &x) { return detail::unary("is_nan", x); }
inline Array maximum(const Operand &x, const Operand &y) { return detail::binary("maximum", x, y); }
inline Array minimum(const Operand &x, const Operand &y) { return detail::binary("minimum", x, y); }
inline Array floor_divide(const Operand &x, const Operand &y) { return detail::binary("floor_divide", x, y); }
/// jnp.clip: between two bounds.
inline Array clip(const Operand &x, const Operand &low, const Operand &high) {
  return call("clamp", {low, x, high}, {}, x.get_location());
}
/// jnp.where: x where the condition holds, else y.
inline Array where(const Operand &condition, const Operand &x, const Operand &y) {
  return call("where", {condition, x, y}, {}, condition.get_location());
}
/// x.astype(dtype); jax.lax.convert_element_type.
inline Array astype(const Operand &x, DType dtype) { return call("cast", {x, dtype}, {}, x.get_location()); }
/// jax.lax.bitcast_convert_type: the bits as another dtype of the same width.
inline Array bitcast_convert_type(const Operand &x, DType dtype) {
  return call("bitcast", {x, dtype}, {}, x.get_location());
}
inline Array stop_gradient(const Operand &x) { return detail::unary("stop_gradient", x); }

//===----------------------------------------------------------------------===//
// Reductions, and operations along an axis
//===----------------------------------------------------------------------===//

inline Array sum(const Operand &x, const Axes &axis = {}, bool keepdims = false) {
  return detail::reduction("sum", x, axis, keepdims);
}
inline Array prod(const Operand &x, const Axes &axis = {}, bool keepdims = false) {
  return detail::reduction("prod", x, axis, keepdims);
}
inline Array mean(const Operand &x, const Axes &axis = {}, bool keepdims = false) {
  return detail::reduction("mean", x, axis, keepdims);
}
inline Array var(const Operand &x, const Axes &axis = {}, bool keepdims = false) {
  return detail::reduction("var", x, axis, keepdims);
}
inline Array max(const Operand &x, const Axes &axis = {}, bool keepdims = false) {
  return detail::reduction("max", x, axis, keepdims);
}
inline Array min(const Operand &x, const Axes &axis = {}, bool keepdims = false) {
  return detail::reduction("min", x, axis, keepdims);
}
inline Array any(const Operand &x, const Axes &axis = {}, bool keepdims = false) {
  return detail::reduction("any", x, axis, keepdims);
}
inline Array all(const Operand &x, const Axes &axis = {}, bool keepdims = false) {
  return detail::reduction("all", x, axis, keepdims);
}
/// Returns positions, i32; `call("argmax", {x}, {{"index_dtype", DType::I64}})` returns i64.
inline Array argmax(const Operand &x, const Axes &axis = {}, bool keepdims = false) {
  return detail::reduction("argmax", x, axis, keepdims);
}
inline Array argmin(const Operand &x, const Axes &axis = {}, bool keepdims = false) {
  return detail::reduction("argmin", x, axis, keepdims);
}
inline Array logsumexp(const Operand &x, const Axes &axis = {}, bool keepdims = false) {
  return detail::reduction("logsumexp", x, axis, keepdims);
}
/// Without an axis it treats the array as one row.
inline Array cumsum(const Operand &x, const Axes &axis = {}) {
  return call("cumsum", {x}, {{"axis", axis.get(x.get_location())}}, x.get_location());
}
inline Array cumprod(const Operand &x, const Axes &axis = {}) {
  return call("cumprod", {x}, {{"axis", axis.get(x.get_location())}}, x.get_location());
}
inline Array sort(const Operand &x, int64_t axis = -1) { return call("sort", {x}, {{"axis", axis}}, x.get_location()); }
inline Array argsort(const Operand &x, int64_t axis = -1) {
  return call("argsort", {x}, {{"axis", axis}}, x.get_location());
}

//===----------------------------------------------------------------------===//
// Shapes and positions
//===----------------------------------------------------------------------===//

/// One size may be -1: it follows from the others.
inline Array reshape(const Operand &x, const Shape &shape) { return call("reshape", {x, shape}, {}, x.get_location()); }
/// Without axes it reverses the dimensions.
inline Array transpose(const Operand &x, const Axes &axes = {}) {
  return call("transpose", {x, axes.get(x.get_location())}, {}, x.get_location());
}
inline Array broadcast_to(const Operand &x, const Shape &shape) {
  return call("broadcast_to", {x, shape}, {}, x.get_location());
}
inline Array expand_dims(const Operand &x, int64_t axis) {
  return call("expand_dims", {x, axis}, {}, x.get_location());
}
inline Array squeeze(const Operand &x, const Axes &axis = {}) {
  return call("squeeze", {x, axis.get(x.get_location())}, {}, x.get_location());
}
inline Array concatenate(const std::vector<Array> &arrays, int64_t axis = 0,
                         std::source_location where = std::source_location::current()) {
  return call("concatenate", {Operand(arrays, where)}, {{"axis", axis}}, where);
}
inline Array stack(const std::vector<Array> &arrays, int64_t axis = 0,
                   std::source_location where = std::source_location::current()) {
  return call("stack", {Operand(arrays, where)}, {{"axis", axis}}, where);
}
/// Splits into `n` equal parts.
inline std::vector<Array> split(const Operand &x, int64_t n, int64_t axis = 0) {
  return call_tuple("split", {x, n}, {{"axis", axis}}, x.get_location());
}
inline Array flip(const Operand &x, const Axes &axis = {}) {
  return call("flip", {x, axis.get(x.get_location())}, {}, x.get_location());
}
inline Array roll(const Operand &x, int64_t shift, const Axes &axis = {}) {
  return call("roll", {x, shift, axis.get(x.get_location())}, {}, x.get_location());
}
inline Array tile(const Operand &x, const Shape &counts) { return call("tile", {x, counts}, {}, x.get_location()); }
inline Array repeat(const Operand &x, int64_t count, const Axes &axis = {}) {
  return call("repeat", {x, count, axis.get(x.get_location())}, {}, x.get_location());
}
/// jax.lax.slice: elements `start` to `limit` - 1 of each dimension, every `strides`-th of them (default: all).
Array slice(const Operand &x, const Shape &start, const Shape &limit, const Shape &strides = {});
/// jnp.take; without an axis it treats the array as one row. Indices are integers or an array of them.
inline Array take(const Operand &x, const Operand &indices, const Axes &axis = {}) {
  return call("take", {x, indices}, {{"axis", axis.get(x.get_location())}}, x.get_location());
}
inline Array take_along_axis(const Operand &x, const Operand &indices, int64_t axis = -1) {
  return call("take_along_axis", {x, indices}, {{"axis", axis}}, x.get_location());
}
inline Array tril(const Operand &x, int64_t k = 0) { return call("tril", {x, k}, {}, x.get_location()); }
inline Array triu(const Operand &x, int64_t k = 0) { return call("triu", {x, k}, {}, x.get_location()); }

//===----------------------------------------------------------------------===//
// Creating arrays
//===----------------------------------------------------------------------===//

/// Outside of a trace the array is on the sharding's mesh, and every process of the mesh makes the call; without a
/// sharding it is on this process's first device. In a trace the sharding must be one over the mesh of the trace.
inline Array zeros(const Shape &shape, DType dtype = DType::F32, const std::optional<NamedSharding> &sharding = {},
                   std::source_location where = std::source_location::current()) {
  return call("zeros", {Operand::type(dtype, shape, sharding, where)}, {}, where);
}
inline Array ones(const Shape &shape, DType dtype = DType::F32, const std::optional<NamedSharding> &sharding = {},
                  std::source_location where = std::source_location::current()) {
  return call("ones", {Operand::type(dtype, shape, sharding, where)}, {}, where);
}
inline Array full(const Shape &shape, const Operand &value, DType dtype = DType::F32,
                  const std::optional<NamedSharding> &sharding = {},
                  std::source_location where = std::source_location::current()) {
  return call("full", {Operand::type(dtype, shape, sharding, where), value}, {}, where);
}
/// Has the sharding of x.
inline Array zeros_like(const Array &x, std::source_location where = std::source_location::current()) {
  return detail::evaluate(Operand("like(zeros($), $)", {Operand::type(x.dtype(), x.shape(), {}, where), x}, where));
}
/// 0, 1, ..., stop - 1; or from `start`, by `step`. i32 for integers, else f32.
inline Array arange(const Operand &stop) { return call("arange", {stop}, {}, stop.get_location()); }
inline Array arange(const Operand &start, const Operand &stop, const Operand &step = 1) {
  return call("arange", {start, stop, step}, {}, start.get_location());
}
inline Array eye(int64_t n, std::source_location where = std::source_location::current()) {
  return call("eye", {Operand(n, where)}, {}, where);
}
/// jax.nn.one_hot.
inline Array one_hot(const Operand &x, int64_t num_classes) {
  return call("one_hot", {x, num_classes}, {}, x.get_location());
}

//===----------------------------------------------------------------------===//
// Networks
//===----------------------------------------------------------------------===//

inline Array relu(const Operand &x) { return detail::unary("relu", x); }
inline Array silu(const Operand &x) { return detail::unary("silu", x); }
inline Array gelu(const Operand &x, bool approximate = true) {
  return call("gelu", {x}, {{"approximate", approximate}}, x.get_location());
}
inline Array sigmoid(const Operand &x) { return detail::unary("sigmoid", x); }
inline Array softmax(const Operand &x, int64_t axis = -1) {
  return call("softmax", {x}, {{"axis", axis}}, x.get_location());
}
inline Array log_softmax(const Operand &x, int64_t axis = -1) {
  return call("log_softmax", {x}, {{"axis", axis}}, x.get_location());
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

/// jax.lax.with_sharding_constraint: the same value with this sharding. Dimensions that the P leaves out are not
/// sharded.
inline Array with_sharding_constraint(const Operand &x, const P &spec) {
  return call("shard", {x, spec}, {}, x.get_location());
}

} // namespace spmd
