//===- DifferentiableFunction.cpp - random functions with a gradient ------===//
//
// Each step maps v to a value of the same shape. The generator tracks how large v is, and by how much the first and
// second derivatives grow. Elements stay at most about 4.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/generator/DifferentiableFunction.h"

#include <algorithm>
#include <cmath>

namespace spmdc {

namespace {

class FunctionMaker {
public:
  FunctionMaker(Random &random, const std::vector<int64_t> &shape, const spmd::MeshShape &mesh)
      : random(random), shape(shape), rank(static_cast<int64_t>(shape.size())), mesh(mesh) {}

  DifferentiableFunction make() {
    std::string body = "  let v = p;\n";
    for (int64_t left = random.integer(1, 5); left > 0; --left)
      body += "  let v = " + step(2) + ";\n";
    int64_t count = 1;
    for (int64_t size : shape)
      count *= size;
    std::string weight = random.chance(50) ? "v" : "v * sin(v)";
    grow(weight == "v" ? 1 : 5, 8);
    DifferentiableFunction result;
    result.text = helpers + "fn %F(p) {\n" + body + "  return sum(" + weight + ");\n}\n";
    result.slope = slope;
    result.curvature = curvature;
    result.value = 4 * static_cast<double>(count);
    result.steps = steps;
    return result;
  }

private:
  /// Records a step whose first and second derivatives are at most these.
  void grow(double first, double second) {
    ++steps;
    curvature = first * curvature + second * slope * slope;
    slope *= first;
  }

  std::string axis() { return "axis=" + std::to_string(random.integer(0, rank - 1)); }

  /// Returns an expression of `v` with at most `depth` nested regions.
  std::string step(int depth) {
    if (depth > 0 && random.chance(40))
      return region(depth);
    if (rank > 0 && random.chance(50))
      return arrayStep();
    switch (random.integer(0, 7)) {
    case 0:
      return grow(1, 1), "sin(v)";
    case 1:
      return grow(1, 1), "tanh(v * 0.5) * 2.0";
    case 2:
      return grow(1, 1), "0.5 * v + 0.25 * atan(v)";
    case 3:
      return grow(2, 3), "sigmoid(v) * v";
    case 4:
      return grow(3, 4), "0.25 * v * v";
    case 5:
      return grow(2, 3), "sin(v) * cos(p)";
    case 6:
      return grow(2, 4), "2.0 * v / (1.0 + v * v)";
    default:
      return grow(2, 2), "where(p > 0.0, tanh(v), 0.5 * sin(2.0 * v))";
    }
  }

  std::string arrayStep() {
    std::string a = axis();
    if (shape[0] > 0 && random.chance(20))
      return rowStep();
    switch (random.integer(0, 7)) {
    case 0:
      return grow(1, 0), "flip(v, " + a + ")";
    case 1:
      return grow(1, 0), "roll(v, " + std::to_string(random.integer(-2, 2)) + ", " + a + ")";
    case 2:
      return grow(2, 0), "0.5 * v - 0.5 * mean(v, " + a + ", keepdims=true)";
    case 3:
      return grow(2, 4), "softmax(v, " + a + ") * 2.0";
    case 4:
      return grow(2, 4), "tanh(cumsum(v, " + a + ") * " + number(1.0 / static_cast<double>(size(a))) + ")";
    case 5: // Windows of a periodic array.
      return grow(2, 0), "0.5 * v + 0.5 * concatenate([" + rest(a) + "], " + a + ")";
    case 6:
      return grow(2, 4), "sin(v) * logsumexp(v * 0.25, " + a + ", keepdims=true) * " +
                             number(1 / (1 + std::log(static_cast<double>(size(a)))));
    default:
      if (rank == 2) {
        std::string scale = number(0.25 / static_cast<double>(shape[0] + shape[1]));
        return grow(4, 8), "(v @ v.T) @ p * " + scale;
      }
      return grow(1, 0), "expand_dims(v, 0)[0]";
    }
  }

  /// Rows at run-time indices: one by one in a loop, or a single one.
  std::string rowStep() {
    std::string rows = std::to_string(shape[0]), start = "t";
    for (int64_t dim = 1; dim < rank; ++dim)
      start += ", 0";
    std::string index = random.chance(50) ? "t" : rows + " - 1 - t";
    switch (random.integer(0, 2)) {
    case 0: // Includes the first row in half of the cases.
      grow(2, 2);
      return "(for t in 0.." + rows + " carry (h = v[0], y = v) { let h = 0.5 * h + 0.5 * sin(v[" + index +
             "]); yield (h, update(y, expand_dims(h, 0), start=[" + start + "])); })[1]";
    case 1: {
      grow(2, 1);
      std::string share = number(1.0 / static_cast<double>(shape[0]));
      return "0.5 * v + 0.5 * (for t in 0.." + rows + " carry (h = 0.0 * v[0]) { yield h + " + share + " * tanh(v[" +
             index + "]); })";
    }
    default:
      grow(2, 2);
      return "0.5 * v + " + number(1.0 / static_cast<double>(shape[0])) + " * sin(v[(sum(cast(p == p, i32)) + " +
             std::to_string(random.integer(0, 9)) + ") % " + rows + "])";
    }
  }

  /// Loops, branches, checkpoint and shard_map around a step.
  std::string region(int depth) {
    switch (random.integer(0, 3)) {
    case 0: {
      int64_t iterations = random.integer(0, 3);
      double before = slope, bend = curvature;
      std::string body = step(depth - 1);
      double first = slope / before, second = std::max(curvature - first * bend, 0.0) / (before * before);
      slope = before;
      curvature = bend;
      for (int64_t i = 0; i < iterations; ++i)
        grow(std::max(first, 1.0), second);
      return "for i in 0.." + std::to_string(iterations) + " carry (v = v) { yield " + body + "; }";
    }
    case 1: {
      double before = slope, bend = curvature;
      std::string first = step(depth - 1);
      double one = slope, two = curvature;
      slope = before;
      curvature = bend;
      std::string second = step(depth - 1);
      slope = std::max(slope, one);
      curvature = std::max(curvature, two);
      // Exact numbers, so that the condition is the same on every device and at every stage.
      return "if sum(cast(p == p, i32)) % 2 == " + std::to_string(random.integer(0, 1)) + " { " + first + " } else { " +
             second + " }";
    }
    case 2: {
      std::string name = "%F_" + std::to_string(helperCount++), body = step(depth - 1);
      helpers += "fn " + name + "(v, p) { return " + body + "; }\n";
      return "checkpoint(" + name + ")(v, p)";
    }
    default:
      return onShards();
    }
  }

  /// A shard_map over one axis; sometimes its function passes its shards to another shard_map, over another axis.
  std::string onShards() {
    for (const spmd::MeshAxis &axis : mesh.axes)
      if (std::optional<int64_t> dim = dividedDim(shape, axis)) {
        std::string steps, axes;
        // Along the other axes the sharding is sometimes left to the compiler.
        if (random.chance(50)) {
          axes = ", axis_names=" + axis.name;
          std::vector<int64_t> local = shape;
          local[static_cast<size_t>(*dim)] /= axis.size;
          for (const spmd::MeshAxis &other : mesh.axes)
            if (std::optional<int64_t> within = dividedDim(local, other); within && other.name != axis.name) {
              std::string names = mesh.axes.size() == 2 && random.chance(50) ? "" : ", axis_names=" + other.name;
              steps = "let v = " + callOnShards(other, *within, "", names) + "; ";
              break;
            }
        }
        return callOnShards(axis, *dim, steps, axes);
      }
    return grow(1, 1), "cos(v)";
  }

  /// Returns a dimension that the axis divides, or nullopt, also sometimes if there is one.
  std::optional<int64_t> dividedDim(const std::vector<int64_t> &of, const spmd::MeshAxis &axis) {
    for (int64_t dim = 0; dim < rank; ++dim)
      if (of[static_cast<size_t>(dim)] % axis.size == 0 && of[static_cast<size_t>(dim)] != 0 && random.chance(50))
        return dim;
    return std::nullopt;
  }

  std::string callOnShards(const spmd::MeshAxis &axis, int64_t dim, const std::string &steps, const std::string &axes) {
    std::string name = "%F_" + std::to_string(helperCount++), cut;
    for (int64_t i = 0; i < rank; ++i)
      cut += (i ? ", " : "") + (i == dim ? axis.name : std::string("_"));
    auto devices = static_cast<double>(axis.size);
    std::string body;
    switch (random.integer(0, 3)) {
    case 0:
      body = "sin(v) * pmean(cos(v), " + axis.name + ")";
      grow(2 + devices, 8);
      break;
    case 1:
      body = "0.5 * v + 0.5 * ppermute(v, " + axis.name + ", [" + ring(axis.size) + "])";
      grow(1, 0);
      break;
    case 2:
      body = "tanh(v) * (0.5 + 0.25 * sin(mean(all_gather(v, " + axis.name + ", axis=" + std::to_string(dim) +
             ", tiled=true))))";
      grow(2 + devices, 8);
      break;
    default:
      body = "for i in 0..2 carry (v = v) { yield if axis_index(" + axis.name +
             ") == 0 { sin(v) } else { 0.5 * v * p }; }";
      grow(5, 8);
      grow(5, 8);
    }
    // Also scalars computed from other devices' shards.
    helpers += "fn " + name + "(v, p) { " + steps + "return " + body + "; }\n";
    return "shard_map(" + name + ", in=(P(" + cut + "), P(" + cut + ")), out=P(" + cut + ")" + axes + ")(v, p)";
  }

  static std::string ring(int64_t size) {
    std::string pairs;
    for (int64_t i = 0; i < size; ++i)
      pairs += (i ? ", (" : "(") + std::to_string(i) + ", " + std::to_string((i + 1) % size) + ")";
    return pairs;
  }

  int64_t size(const std::string &axisText) const {
    return std::max<int64_t>(shape[static_cast<size_t>(axisText.back() - '0')], 1);
  }

  /// Returns all rows but the first, followed by the first.
  std::string rest(const std::string &axisText) const {
    std::string before;
    for (int64_t i = 0; i < axisText.back() - '0'; ++i)
      before += ":, ";
    return "v[" + before + "1:], v[" + before + ":1]";
  }

  static std::string number(double value) { return std::to_string(value); }

  Random &random;
  const std::vector<int64_t> &shape;
  int64_t rank;
  const spmd::MeshShape &mesh;
  std::string helpers;
  int helperCount = 0, steps = 0;
  double slope = 1, curvature = 0;
};

} // namespace

DifferentiableFunction makeDifferentiable(Random &random, const std::vector<int64_t> &shape,
                                          const spmd::MeshShape &mesh) {
  return FunctionMaker(random, shape, mesh).make();
}

} // namespace spmdc
