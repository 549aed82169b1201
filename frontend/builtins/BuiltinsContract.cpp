//===- BuiltinsContract.cpp - @, einsum, dot_general ----------------------===//

#include "frontend/builtins/Builtins.h"
#include "frontend/builtins/Contraction.h"

#include "llvm/ADT/STLExtras.h"

namespace spmdc {

using spmd::DType;

namespace {

/// The operands in one dtype. Bools are multiplied as i32; `finish` turns their sums back.
struct Operands {
  DTypeClass type;
  llvm::SmallVector<mlir::Value> arrays;

  Operands(Emitter &e, llvm::ArrayRef<Value> values, std::string_view what) : type(e.commonClass(values, what)) {
    for (const Value &value : values)
      arrays.push_back(e.materialize(value, type.dtype == DType::Bool ? DType::I32 : type.dtype));
  }
  Value finish(Emitter &e, mlir::Value result, Range range) const {
    return Value::ofArray(type.dtype == DType::Bool ? e.isNonZero(result) : result, type.isWeak, range);
  }
};

} // namespace

/// As in jnp.matmul: contracts the last dimension of x with the last but one of y, and broadcasts batch dimensions; a
/// vector is a row on the left and a column on the right.
Value emitMatmul(Emitter &e, const Value &x, const Value &y, Range range) {
  for (const Value &side : {x, y})
    if (side.isNumeric() && side.rank() == 0)
      e.fail(side.range, "'@' multiplies arrays of at least one dimension; this is " + side.describe());
  Operands operands(e, {x, y}, "'@'");
  int64_t xRank = x.rank(), yRank = y.rank();
  int64_t contracted = yRank == 1 ? 0 : yRank - 2;
  if (x.shape()[xRank - 1] != y.shape()[contracted])
    e.failAbout(range,
                "'@' of " + x.describe() + " and " + y.describe() + ": dimension " + std::to_string(xRank - 1) +
                    " of the left side is " + std::to_string(x.shape()[xRank - 1]) + ", dimension " +
                    std::to_string(contracted) + " of the right side is " + std::to_string(y.shape()[contracted]),
                {x, y});
  constexpr int row = -1, column = -2, inner = -3; // Batch dimensions are numbered from the end.
  int64_t xBatch = std::max<int64_t>(xRank - 2, 0), yBatch = std::max<int64_t>(yRank - 2, 0);
  Labelled left{operands.arrays[0], {}}, right{operands.arrays[1], {}};
  llvm::SmallVector<int64_t> leftShape, rightShape;
  llvm::SmallVector<int64_t> output;
  for (int64_t fromEnd = std::max(xBatch, yBatch); fromEnd >= 1; --fromEnd) {
    int64_t a = fromEnd <= xBatch ? x.shape()[xBatch - fromEnd] : 1;
    int64_t b = fromEnd <= yBatch ? y.shape()[yBatch - fromEnd] : 1;
    if (a != b && a != 1 && b != 1)
      e.failAbout(range,
                  "'@' of " + x.describe() + " and " + y.describe() + ": batch dimensions " + std::to_string(a) +
                      " and " + std::to_string(b) + " do not broadcast",
                  {x, y});
    // A side with size 1 leaves the dimension out: no broadcast is needed, since the other side has it.
    bool leftHas = fromEnd <= xBatch && (a != 1 || b == 1), rightHas = fromEnd <= yBatch && (b != 1 || a == 1);
    if (leftHas) {
      left.labels.push_back(fromEnd);
      leftShape.push_back(a);
    }
    if (rightHas) {
      right.labels.push_back(fromEnd);
      rightShape.push_back(b);
    }
    output.push_back(fromEnd);
  }
  if (xRank > 1) {
    left.labels.push_back(row);
    leftShape.push_back(x.shape()[xRank - 2]);
    output.push_back(row);
  }
  left.labels.push_back(inner);
  leftShape.push_back(x.shape()[xRank - 1]);
  right.labels.push_back(inner);
  rightShape.push_back(y.shape()[contracted]);
  if (yRank > 1) {
    right.labels.push_back(column);
    rightShape.push_back(y.shape()[yRank - 1]);
    output.push_back(column);
  }
  left.array = e.reshape(left.array, leftShape);
  right.array = e.reshape(right.array, rightShape);
  return operands.finish(e, emitContraction(e, {left, right}, output), range);
}

namespace {

/// The parsed `"bij,bjk->bik"`. Labels are letters; the dimensions of `...` are numbered from the end, from -1 down.
struct EinsumSpec {
  std::vector<std::string> inputs;
  std::optional<std::string> output;
};

EinsumSpec parseSpec(Args &args) {
  if (args[0].kind != ValueKind::String)
    args.fail(0, "a string such as \"bij,bjk->bik\"");
  std::string text;
  for (char c : args[0].string)
    if (c != ' ')
      text += c;
  auto fail = [&](std::string message) { args.e.fail(args[0].range, "'einsum': " + message); };
  EinsumSpec spec;
  size_t arrow = text.find("->");
  if (arrow != std::string::npos) {
    spec.output = text.substr(arrow + 2);
    text.resize(arrow);
  }
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = std::min(text.find(',', begin), text.size());
    spec.inputs.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  auto check = [&](const std::string &part) {
    std::string rest = part;
    if (size_t dots = rest.find("..."); dots != std::string::npos)
      rest.erase(dots, 3);
    for (char c : rest)
      if (!std::isalpha(static_cast<unsigned char>(c)))
        fail("'" + std::string(1, c) + "' in \"" + args[0].string + "\" is neither a letter nor '...', ',' or '->'");
  };
  for (const std::string &input : spec.inputs)
    check(input);
  if (spec.output)
    check(*spec.output);
  return spec;
}

/// The labels of one operand or the result; `...` stands for `dims` dimensions.
llvm::SmallVector<int64_t> labelsOf(const std::string &part, int64_t dims) {
  llvm::SmallVector<int64_t> labels;
  for (size_t i = 0; i < part.size(); ++i) {
    if (part[i] != '.') {
      labels.push_back(part[i]);
      continue;
    }
    for (int64_t dim = dims; dim >= 1; --dim)
      labels.push_back(-dim);
    i += 2;
  }
  return labels;
}

/// The result without `->`: the dimensions of `...`, then the letters that occur once, in alphabetical order.
std::string implicitOutput(const EinsumSpec &spec) {
  std::map<char, int> count;
  bool hasDots = false;
  for (const std::string &input : spec.inputs)
    for (char c : input) {
      hasDots |= c == '.';
      if (c != '.')
        ++count[c];
    }
  std::string output = hasDots ? "..." : "";
  for (auto [letter, occurrences] : count)
    if (occurrences == 1)
      output += letter;
  return output;
}

Value einsum(Args &args) {
  Emitter &e = args.e;
  EinsumSpec spec = parseSpec(args);
  const std::vector<Value> &values = args[1].elements;
  auto fail = [&](Range where, std::string message) { e.fail(where, "'einsum': " + message); };
  if (spec.inputs.size() != values.size())
    fail(args.range, "\"" + args[0].string + "\" names " + std::to_string(spec.inputs.size()) + " arrays, but " +
                         std::to_string(values.size()) + " are given");
  if (!spec.output)
    spec.output = implicitOutput(spec);

  llvm::SmallVector<Labelled> operands;
  Operands arrays(e, values, "'einsum'");
  std::map<int, std::pair<int64_t, size_t>> sizes; // The size of each label, and the operand that determines it.
  int64_t mostDots = 0;
  for (auto [i, input] : llvm::enumerate(spec.inputs)) {
    bool hasDots = input.find("...") != std::string::npos;
    int64_t letters = static_cast<int64_t>(input.size()) - (hasDots ? 3 : 0);
    int64_t dots = values[i].rank() - letters;
    if (dots < 0 || (!hasDots && dots != 0))
      fail(values[i].range, "\"" + input + "\" names " + std::to_string(letters) + " dimensions of " +
                                values[i].describe() + ", which has rank " + std::to_string(values[i].rank()));
    mostDots = std::max(mostDots, hasDots ? dots : 0);
    operands.push_back({arrays.arrays[i], labelsOf(input, dots)});
    for (auto [label, size] : llvm::zip(operands.back().labels, values[i].shape())) {
      auto [known, isNew] = sizes.emplace(label, std::pair(size, i));
      if (isNew || known->second.first == size)
        continue;
      if (label < 0 && (size == 1 || known->second.first == 1)) { // `...` broadcasts.
        known->second.first = std::max(known->second.first, size);
        continue;
      }
      fail(values[i].range, (label < 0 ? "a dimension of '...'" : "'" + std::string(1, label) + "'") + " is " +
                                std::to_string(known->second.first) + " in " + values[known->second.second].describe() +
                                " and " + std::to_string(size) + " in " + values[i].describe());
    }
  }
  // A dimension of `...` of size 1 is dropped if other operands have more elements.
  for (Labelled &operand : operands) {
    llvm::SmallVector<int64_t> labels;
    llvm::SmallVector<int64_t> shape;
    for (auto [label, size] : llvm::zip(operand.labels, plainTypeOf(operand.array).getShape()))
      if (label >= 0 || size == sizes[label].first) {
        labels.push_back(label);
        shape.push_back(size);
      }
    operand = {e.reshape(operand.array, shape), labels};
  }
  llvm::SmallVector<int64_t> output = labelsOf(*spec.output, mostDots);
  for (auto [i, label] : llvm::enumerate(output)) {
    std::string letter = label < 0 ? "..." : std::string(1, label);
    if (!sizes.count(label))
      fail(args[0].range, "'" + letter + "' of the result is in no argument");
    if (llvm::is_contained(llvm::ArrayRef(output).take_front(i), label))
      fail(args[0].range, "'" + letter + "' occurs twice in the result");
  }
  if (mostDots > 0 && spec.output->find("...") == std::string::npos)
    fail(args[0].range, "'...' of the arguments is missing in the result");
  return arrays.finish(e, emitContraction(e, std::move(operands), output), args.range);
}

/// contract=([..], [..]), batch=([..], [..]): dimensions of x and of y.
std::pair<std::vector<int64_t>, std::vector<int64_t>> dimPairs(Args &args, size_t i) {
  if (!args.has(i))
    return {};
  const Value &pairs = args[i];
  auto fail = [&] { args.fail(i, "two lists of dimensions, ([..], [..])"); };
  if (!pairs.isSequence() || pairs.elements.size() != 2)
    fail();
  std::vector<int64_t> sides[2];
  for (int side = 0; side < 2; ++side) {
    const Value &list = pairs.elements[side];
    std::vector<Value> dims = list.isSequence() ? list.elements : std::vector<Value>{list};
    for (const Value &dim : dims) {
      if (!dim.isInt())
        fail();
      int64_t normal = args.normalizeAxis(dim, dim.constant.i, args[side].rank());
      if (llvm::is_contained(sides[side], normal))
        args.e.fail(dim.range, "dimension " + std::to_string(normal) + " is named twice");
      sides[side].push_back(normal);
    }
  }
  if (sides[0].size() != sides[1].size())
    args.e.fail(pairs.range, std::to_string(sides[0].size()) + " dimensions of the left side for " +
                                 std::to_string(sides[1].size()) + " of the right");
  for (auto [a, b] : llvm::zip(sides[0], sides[1]))
    if (args[0].shape()[a] != args[1].shape()[b])
      args.e.fail(pairs.range, "dimension " + std::to_string(a) + " of " + args[0].describe() + " and dimension " +
                                   std::to_string(b) + " of " + args[1].describe() + " differ");
  return {sides[0], sides[1]};
}

/// The result has the batch dimensions, then the remaining ones of x, then those of y.
Value dotGeneral(Args &args) {
  Emitter &e = args.e;
  Operands operands(e, {args.array(0), args.array(1)}, "'dot_general'");
  auto contract = dimPairs(args, 2), batch = dimPairs(args, 3);
  for (int side = 0; side < 2; ++side)
    for (int64_t dim : side ? batch.second : batch.first)
      if (llvm::is_contained(side ? contract.second : contract.first, dim))
        e.fail(args[3].range, "dimension " + std::to_string(dim) + " is both contracted and batch");
  // Labels: batch from 0, contracted from 1000, remaining ones of x from 2000, of y from 3000.
  Labelled sides[2];
  llvm::SmallVector<int64_t> output, free;
  for (size_t i = 0; i < batch.first.size(); ++i)
    output.push_back(i);
  for (int side = 0; side < 2; ++side) {
    sides[side].array = operands.arrays[side];
    for (int64_t dim = 0; dim < args[side].rank(); ++dim) {
      auto position = [&](const std::vector<int64_t> &dims) { return llvm::find(dims, dim) - dims.begin(); };
      const auto &batchDims = side ? batch.second : batch.first, &contracted = side ? contract.second : contract.first;
      int label = 2000 + 1000 * side + static_cast<int>(dim);
      if (llvm::is_contained(batchDims, dim))
        label = static_cast<int>(position(batchDims));
      else if (llvm::is_contained(contracted, dim))
        label = 1000 + static_cast<int>(position(contracted));
      else
        output.push_back(label);
      sides[side].labels.push_back(label);
    }
  }
  return operands.finish(e, emitContraction(e, {sides[0], sides[1]}, output), args.range);
}

Value matmul(Args &args) { return emitMatmul(args.e, args.array(0), args.array(1), args.range); }

const Builtin table[] = {
    {"einsum", "spec *xs", einsum},
    {"dot_general", "x y contract batch=None", dotGeneral},
    {"matmul", "x y", matmul},
};

} // namespace

llvm::ArrayRef<Builtin> contractionBuiltins() { return table; }

} // namespace spmdc
