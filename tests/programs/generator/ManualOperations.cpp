//===- ManualOperations.cpp - shard_map and collectives in it -------------===//
//
// A shard_map over one array whose sharded dimensions are even. The function runs a collective over one axis, and the
// result's sharding follows from it. Sometimes axes that do not shard the operand are left automatic: the local array
// is annotated over them, and operations need elements of other shards; or a nested shard_map makes some of them, or
// all, manual too.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/generator/Operations.h"

#include "llvm/ADT/STLExtras.h"

namespace spmdc {

using spmd::DType;

namespace {

/// The operand and its sharding; `axis` shards dimension `dim`.
struct ShardedOperand {
  int x = 0;
  Annotations in;
  std::string axis;
  int64_t axisSize = 1, dim = 0;
  Shape shape, local;
};

std::optional<ShardedOperand> cut(ProgramBuilder &b) {
  std::optional<int> x = b.find([&](int v) {
    return b.isUsable(v) && b.rankOf(v) > 0 && b.dtypeOf(v) != DType::Bool && countOf(b.shapeOf(v)) > 0;
  });
  if (!x)
    return std::nullopt;
  ShardedOperand sharded;
  sharded.x = b.tame(*x);
  sharded.shape = sharded.local = b.shapeOf(sharded.x);
  sharded.in.resize(sharded.shape.size(), DimAnnotation{{}, false, -1});
  for (const spmd::MeshAxis &axis : b.program.mesh.axes) {
    auto dim = static_cast<size_t>(b.random.integer(0, b.rankOf(sharded.x) - 1));
    if (sharded.local[dim] % axis.size != 0 || b.random.chance(30))
      continue;
    sharded.local[dim] /= axis.size;
    sharded.in[dim].axes.push_back(axis.name);
    // The last axis is the minor one of its dimension.
    sharded.axis = axis.name;
    sharded.axisSize = axis.size;
    sharded.dim = static_cast<int64_t>(dim);
  }
  return sharded.axis.empty() ? std::nullopt : std::optional<ShardedOperand>(sharded);
}

/// A permutation: every device of the axis sends to the next.
std::string ringOver(const std::string &axis, int64_t size) {
  std::string pairs;
  for (int64_t from = 0; from < size; ++from)
    pairs += (from ? ", (" : "(") + std::to_string(from) + ", " + std::to_string((from + 1) % size) + ")";
  return "ppermute(x, " + axis + ", [" + pairs + "])";
}

/// Returns the axes that shard the operand, and sometimes another one; the remaining axes are left to the compiler.
/// Empty: all axes.
std::string axisNames(ProgramBuilder &b, const ShardedOperand &p, std::vector<std::string> &automatic) {
  std::string names;
  for (const spmd::MeshAxis &axis : b.program.mesh.axes) {
    bool isUsed = llvm::any_of(
        p.in, [&](const DimAnnotation &annotation) { return llvm::is_contained(annotation.axes, axis.name); });
    if (isUsed || b.random.chance(15))
      names += (names.empty() ? "" : ", ") + axis.name;
    else
      automatic.push_back(axis.name);
  }
  return automatic.empty() ? "" : ", axis_names=(" + names + ",)";
}

/// Returns statements that annotate the local array over axes that are not manual, also unevenly, and that increase
/// neither values nor errors.
std::string automaticSteps(ProgramBuilder &b, const ShardedOperand &p, const std::vector<std::string> &automatic) {
  std::string text;
  for (int64_t count = b.random.integer(1, 3); count > 0; --count) {
    std::string dim = std::to_string(b.random.integer(0, static_cast<int64_t>(p.local.size()) - 1)), step;
    Annotations annotations(p.local.size());
    switch (b.random.integer(0, 4)) {
    case 0:
    case 1:
      for (const std::string &axis : automatic)
        if (b.random.chance(70))
          annotations[static_cast<size_t>(b.random.integer(0, static_cast<int64_t>(annotations.size()) - 1))]
              .axes.push_back(axis);
      for (DimAnnotation &annotation : annotations)
        annotation.isOpen = b.random.chance(50);
      step = "shard(x, " + partitionText(annotations) + ")";
      break;
    case 2:
      step = "roll(x, " + std::to_string(b.random.integer(-2, 2)) + ", axis=" + dim + ")";
      break;
    case 3:
      step = "flip(x, axis=" + dim + ")";
      break;
    default: // Needs elements of all shards; the result equals x.
      step = "minimum(x, max(x, axis=" + dim + ", keepdims=true))";
    }
    // In loops, and on those devices only that have a given index along the manual axis.
    std::string place = "axis_index(" + p.axis + ")";
    switch (b.random.integer(0, 7)) {
    case 0:
      step = "for i in 0..2 carry (x = x) { yield " + step + "; }";
      break;
    case 1:
      step = "if " + place + " % 2 == 0 { " + step + " } else { x }";
      break;
    case 2:
      step = "(while n < " + place + " % 3 carry (n = 0, x = x) { yield (n + 1, " + step + "); })[1]";
      break;
    default:
      break;
    }
    text += "  let x = " + step + ";\n";
  }
  return text;
}

/// Returns a statement that passes the local array to a nested shard_map, over some of the automatic axes; `function`
/// is that shard_map's function. It increases neither values nor errors. Returns nothing if no axis divides a
/// dimension.
std::string stepWithin(ProgramBuilder &b, const ShardedOperand &p, const std::vector<std::string> &automatic,
                       std::string &function) {
  Annotations in(p.local.size(), DimAnnotation{{}, false, -1});
  Shape local = p.local;
  std::string names, last;
  int64_t lastSize = 1;
  for (const spmd::MeshAxis &axis : b.program.mesh.axes) {
    auto dim = static_cast<size_t>(b.random.integer(0, static_cast<int64_t>(local.size()) - 1));
    if (!llvm::is_contained(automatic, axis.name) || local[dim] % axis.size != 0 || b.random.chance(20))
      continue;
    local[dim] /= axis.size;
    in[dim].axes.push_back(axis.name);
    names += (names.empty() ? "" : ", ") + axis.name;
    last = axis.name;
    lastSize = axis.size;
  }
  if (names.empty())
    return "";
  std::string body;
  switch (b.random.integer(0, 4)) {
  case 0:
    body = "pmax(x, (" + p.axis + ", " + last + "))";
    break;
  case 1: // Some groups run a collective, others do not.
    body = "if axis_index(" + p.axis + ") % 2 == 0 { " + ringOver(last, lastSize) + " } else { x }";
    break;
  case 2:
    body = "minimum(x, pmax(x, " + last + "))";
    break;
  case 3:
    body = ringOver(p.axis, p.axisSize);
    break;
  default:
    body = ringOver(last, lastSize);
    break;
  }
  function = "fn %F_within(x) { return " + body + "; }\n";
  // The axes may be omitted if they are all that are left.
  bool isAll = llvm::all_of(automatic, [&](const std::string &axis) {
    return llvm::any_of(in, [&](const DimAnnotation &annotation) { return llvm::is_contained(annotation.axes, axis); });
  });
  std::string given = isAll && b.random.chance(50) ? "" : ", axis_names=(" + names + ",)";
  std::string call = "shard_map(%F_within, in=(" + partitionText(in) + ",), out=" + partitionText(in) + given + ")(x)";
  if (b.random.chance(20))
    call = "for i in 0..2 carry (x = x) { yield " + call + "; }";
  return "  let x = " + call + ";\n";
}

/// `body` is an expression of the local array `x`.
bool letManual(ProgramBuilder &b, const ShardedOperand &p, const std::string &body, const Annotations &out,
               const Shape &shape, const Accuracy &accuracy) {
  std::vector<std::string> automatic;
  std::string names = b.random.chance(70) ? axisNames(b, p, automatic) : "";
  std::string steps = automatic.empty() ? "" : automaticSteps(b, p, automatic), within;
  if (!automatic.empty() && b.random.chance(40)) {
    std::string step = stepWithin(b, p, automatic, within);
    steps = b.random.chance(50) ? steps + step : step + steps;
  }
  if (!b.let("shard_map(%F, in=(" + partitionText(p.in) + ",), out=" + partitionText(out) + names + ")($0)", {p.x},
             b.dtypeOf(p.x), shape, accuracy))
    return false;
  b.program.statements.back().function = within + "fn %F(x) {\n" + steps + "  return " + body + ";\n}\n";
  return true;
}

/// psum, pmean, pmax, pmin over the shards.
bool makeCombined(ProgramBuilder &b, const std::string &name) {
  std::optional<ShardedOperand> p = cut(b);
  if (!p)
    return false;
  DType dtype = b.dtypeOf(p->x);
  Accuracy accuracy = b.of(p->x);
  accuracy.bits &= !spmd::isFloat(dtype);
  auto devices = static_cast<double>(p->axisSize);
  if (name == "pmean" && !spmd::isFloat(dtype))
    return false;
  if (name == "psum" || name == "pmean") {
    accuracy = computed(dtype, accuracy.exact && name == "psum", devices * accuracy.bound, accuracy.grain,
                        devices * accuracy.error, 4);
    if (name == "pmean")
      accuracy.bound = b.of(p->x).bound;
  }
  Annotations out = p->in;
  out[p->dim].axes.pop_back();
  Shape shape = p->shape;
  shape[p->dim] /= p->axisSize;
  return letManual(b, *p, name + "(x, " + p->axis + ")", out, shape, accuracy);
}

/// all_gather: every device has all shards.
bool makeGathered(ProgramBuilder &b) {
  std::optional<ShardedOperand> p = cut(b);
  if (!p)
    return false;
  Shape shape = p->shape;
  shape[p->dim] *= p->axisSize;
  return letManual(b, *p, "all_gather(x, " + p->axis + ", axis=" + std::to_string(p->dim) + ", tiled=true)", p->in,
                   shape, b.of(p->x));
}

/// Returns another dimension that the axis can shard instead.
std::optional<int64_t> otherDim(const ShardedOperand &p) {
  for (int64_t dim = 0; dim < static_cast<int64_t>(p.shape.size()); ++dim)
    if (dim != p.dim && p.local[dim] % p.axisSize == 0)
      return dim;
  return std::nullopt;
}

/// all_to_all moves the axis to another dimension, psum_scatter sums on the way.
bool makeMoved(ProgramBuilder &b, bool isSum) {
  std::optional<ShardedOperand> p = cut(b);
  std::optional<int64_t> to = p ? otherDim(*p) : std::nullopt;
  if (!to)
    return false;
  Annotations out = p->in;
  out[p->dim].axes.pop_back();
  out[*to].axes.push_back(p->axis);
  std::string place = std::to_string(*to);
  if (!isSum)
    return letManual(b, *p,
                     "all_to_all(x, " + p->axis + ", split_axis=" + place + ", concat_axis=" + std::to_string(p->dim) +
                         ", tiled=true)",
                     out, p->shape, b.of(p->x));
  const Accuracy in = b.of(p->x);
  auto devices = static_cast<double>(p->axisSize);
  Shape shape = p->shape;
  shape[p->dim] /= p->axisSize;
  return letManual(b, *p, "psum_scatter(x, " + p->axis + ", scatter_dimension=" + place + ", tiled=true)", out, shape,
                   computed(b.dtypeOf(p->x), in.exact, devices * in.bound, in.grain, devices * in.error, 4));
}

/// ppermute: each shard goes to the next device; sometimes the last one is dropped and replaced by zeros.
bool makePermuted(ProgramBuilder &b) {
  std::optional<ShardedOperand> p = cut(b);
  if (!p)
    return false;
  std::string pairs;
  for (int64_t from = 0; from < p->axisSize; ++from)
    if (from == 0 || from + 1 < p->axisSize || b.random.chance(70))
      pairs += (from ? ", (" : "(") + std::to_string(from) + ", " + std::to_string((from + 1) % p->axisSize) + ")";
  return letManual(b, *p, "ppermute(x, " + p->axis + ", [" + pairs + "])", p->in, p->shape, b.of(p->x));
}

/// Functions of the device's index.
bool makePlace(ProgramBuilder &b, bool isIndex) {
  std::optional<ShardedOperand> p = cut(b);
  if (!p)
    return false;
  DType dtype = b.dtypeOf(p->x);
  const Accuracy in = b.of(p->x);
  auto devices = static_cast<double>(p->axisSize);
  if (!isIndex)
    return letManual(b, *p, "x * axis_size(" + p->axis + ")", p->in, p->shape,
                     computed(dtype, in.exact, devices * in.bound, in.grain, devices * in.error));
  // The i32 would promote other types.
  if (dtype != DType::I32 && !spmd::isFloat(dtype))
    return false;
  return letManual(b, *p, "x + axis_index(" + p->axis + ")", p->in, p->shape,
                   computed(dtype, in.exact, in.bound + devices, in.grain, in.error));
}

std::string ringOf(const ShardedOperand &p) { return ringOver(p.axis, p.axisSize); }
/// Returns another axis that shards the operand: a condition may differ over it.
std::optional<spmd::MeshAxis> otherAxis(ProgramBuilder &b, const ShardedOperand &p) {
  std::vector<spmd::MeshAxis> others;
  for (const spmd::MeshAxis &axis : b.program.mesh.axes)
    for (const DimAnnotation &annotation : p.in)
      if (axis.name != p.axis && llvm::is_contained(annotation.axes, axis.name))
        others.push_back(axis);
  return others.empty() ? std::nullopt : std::optional<spmd::MeshAxis>(b.random.pick(others));
}

/// Some groups run a collective, others none or another one.
bool makeUnderIf(ProgramBuilder &b) {
  std::optional<ShardedOperand> p = cut(b);
  std::optional<spmd::MeshAxis> other = p ? otherAxis(b, *p) : std::nullopt;
  if (!other || !b.of(p->x).exact)
    return false;
  // By the device's index, or by numbers that all devices of a group share.
  std::string condition =
      b.random.chance(60) ? "axis_index(" + other->name + ") < " + std::to_string(b.random.integer(0, other->size))
                          : "psum(sum(cast(x == x, i32)) + axis_index(" + other->name + "), " + p->axis + ") % 2 == 0";
  const Accuracy in = b.of(p->x);
  auto devices = static_cast<double>(p->axisSize);
  Accuracy accuracy = in;
  std::string talk = ringOf(*p);
  if (b.random.chance(40)) {
    talk = "psum(x, " + p->axis + ")";
    accuracy = computed(b.dtypeOf(p->x), in.exact, devices * in.bound, in.grain, devices * in.error, 4);
  }
  std::string arms[] = {talk, b.random.chance(50) ? "x" : ringOf(*p)};
  if (b.random.chance(50))
    std::swap(arms[0], arms[1]);
  std::string body = "if " + condition + " { " + arms[0] + " } else { " + arms[1] + " }";
  return letManual(b, *p, body, p->in, p->shape, accuracy);
}

/// Some groups run more iterations than others.
bool makeUnderWhile(ProgramBuilder &b) {
  std::optional<ShardedOperand> p = cut(b);
  std::optional<spmd::MeshAxis> other = p ? otherAxis(b, *p) : std::nullopt;
  if (!other)
    return false;
  std::string iterations = "axis_index(" + other->name + ") * " + std::to_string(b.random.integer(1, 2)) + " % 4";
  return letManual(b, *p,
                   "(while n < " + iterations + " carry (n = 0, x = x) { yield (n + 1, " + ringOf(*p) + "); })[1]",
                   p->in, p->shape, b.of(p->x));
}

} // namespace

std::vector<Operation> manualOperations() {
  std::vector<Operation> operations = {
      {"all_gather", 2, makeGathered},
      {"ppermute", 2, makePermuted},
      {"all_to_all", 2, [](ProgramBuilder &b) { return makeMoved(b, false); }},
      {"psum_scatter", 2, [](ProgramBuilder &b) { return makeMoved(b, true); }},
      {"axis_index", 2, [](ProgramBuilder &b) { return makePlace(b, true); }},
      {"axis_size", 1, [](ProgramBuilder &b) { return makePlace(b, false); }},
      {"collective_in_if", 4, makeUnderIf},
      {"collective_in_while", 4, makeUnderWhile},
  };
  for (const char *name : {"psum", "pmean", "pmax", "pmin"})
    operations.push_back({name, 2, [name](ProgramBuilder &b) { return makeCombined(b, name); }});
  return operations;
}

} // namespace spmdc
