//===- ProgramGenerator.cpp - random programs with known accuracy ---------===//

#include "tests/programs/support/ProgramGenerator.h"

#include "ir/array/ArrayOps.h"
#include "tests/programs/support/RandomSharding.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace spmdc {
namespace {

using Shape = SmallVector<int64_t, 4>;

/// Elements of one array at most: the evaluators are slow on purpose.
constexpr int64_t kMaxElements = 240;
/// Worse than this relative to its bound, a value is not computed with any further.
constexpr double kMaxRelativeError = 0.02;

bool isFloat(Type type) { return isa<FloatType>(type); }

/// Half a unit in the last place of 1.
double roundoff(Type type) { return std::ldexp(1.0, -static_cast<int>(cast<FloatType>(type).getFPMantissaWidth())); }

/// Integers up to this are exact.
double exactLimit(Type type) { return 1.0 / roundoff(type); }

double integerBound(Type type) {
  unsigned width = type.getIntOrFloatBitWidth();
  return width == 1 ? 1 : std::ldexp(1.0, static_cast<int>(isUnsigned(type) ? width : width - 1));
}

class Generator {
public:
  Generator(MLIRContext &context, const GeneratorOptions &options)
      : options(options), random(options.seed), builder(&context), loc(UnknownLoc::get(&context)) {}

  RandomProgram run() {
    OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
    mesh = randomMesh(random, builder.getContext());
    (*module)->setAttr(kMeshAttrName, mesh);
    if (options.mode == ShardingMode::Everything)
      (*module)->setAttr("spmd.stage", builder.getStringAttr("propagated"));
    builder.setInsertionPointToEnd(module->getBody());
    function = builder.create<func::FuncOp>(loc, "main", builder.getFunctionType({}, {}));
    block = function.addEntryBlock();
    builder.setInsertionPointToEnd(block);
    auto params = random.integer(1, 3);
    for (int64_t i = 0; i < params; ++i)
      addParameter(randomShape(), randomElementType());
    // What is drawn for one operation does not move what is drawn for the next ones: prefixes stay the same.
    Random root = random;
    for (int i = 0; i < options.maxOps; ++i) {
      random = Random(root.next());
      addOperation();
    }
    RandomProgram program;
    finish(program);
    program.module = std::move(module);
    program.arguments = std::move(arguments);
    return program;
  }

private:
  //===- Types and leaves -------------------------------------------------===//

  int64_t randomSize() {
    if (random.chance(2))
      return 0;
    return random.pick({1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 12, 16});
  }

  Shape randomShape() {
    Shape shape;
    auto rank = random.pick({0, 1, 1, 2, 2, 2, 2, 3, 3, 4});
    for (int d = 0; d < rank; ++d) {
      int64_t size = randomSize();
      shape.push_back(elementCount(shape) * size > kMaxElements ? 1 : size);
    }
    return shape;
  }

  Type randomFloatType() {
    return random.chance(60)   ? Type(builder.getF32Type())
           : random.chance(40) ? Type(builder.getBF16Type())
           : random.chance(50) ? Type(builder.getF16Type())
                               : Type(builder.getF64Type());
  }

  Type randomIntType() {
    return random.pick({Type(builder.getI32Type()), Type(builder.getI32Type()), Type(builder.getI64Type()),
                        Type(builder.getIntegerType(8)), Type(builder.getIntegerType(32, false)),
                        Type(builder.getIntegerType(8, false))});
  }

  Type randomElementType() {
    return random.chance(65) ? randomFloatType() : random.chance(80) ? randomIntType() : Type(builder.getI1Type());
  }

  /// Random elements, and what is known of them.
  Tensor randomTensor(ArrayRef<int64_t> shape, Type type, Accuracy &accuracy) {
    Tensor tensor(shape, type);
    accuracy = {};
    bool wantsExact = random.chance(50), hasEdges = isFloat(type) && wantsExact && random.chance(8);
    bool isWide = !isFloat(type) && random.chance(25);
    for (Scalar &element : tensor.elements) {
      if (!isFloat(type)) {
        element = roundTo(Scalar::ofInt(isWide ? static_cast<int64_t>(random.next()) : random.integer(-9, 9)), type);
      } else if (!wantsExact) {
        element = roundTo(Scalar::ofFloat(2 * random.real() - 1), type);
      } else if (hasEdges && random.chance(10)) {
        element = Scalar::ofFloat(random.pick({double(INFINITY), double(-INFINITY), double(NAN), -0.0}));
      } else {
        element = Scalar::ofFloat(static_cast<double>(random.integer(-4, 4)));
      }
    }
    if (!isFloat(type))
      accuracy.bound = isWide || isUnsigned(type) ? integerBound(type) : std::min(9.0, integerBound(type));
    else
      accuracy = {wantsExact, wantsExact ? 4.0 : 1.0, 0};
    return tensor;
  }

  Value addParameter(ArrayRef<int64_t> shape, Type type) {
    Accuracy accuracy;
    arguments.push_back(randomTensor(shape, type, accuracy));
    Value value = block->addArgument(ArrayType::get(shape, type), loc);
    return keep(value, accuracy);
  }

  Value keep(Value value, Accuracy accuracy) {
    if (accuracy.exact)
      accuracy.error = 0;
    known[value] = accuracy;
    values.push_back(value);
    return value;
  }

  ArrayType typeOf(Value value) { return cast<ArrayType>(value.getType()); }
  Type elementTypeOf(Value value) { return typeOf(value).getElementType(); }
  Accuracy &of(Value value) { return known[value]; }

  Value constant(ArrayType type, double number) {
    Type elementType = type.getElementType();
    Scalar scalar = isFloat(elementType) ? Scalar::ofFloat(number) : Scalar::ofInt(static_cast<int64_t>(number));
    Value value = builder.create<ConstantOp>(loc, type, roundTo(scalar, elementType));
    known[value] = {true, std::abs(number), 0};
    return value;
  }

  /// A value of this shape and element type: one that is there, a broadcast scalar, a constant, iota, a new parameter.
  Value matching(ArrayRef<int64_t> shape, Type type, bool mustBeExact = false) {
    std::vector<Value> candidates;
    for (Value value : values)
      if (typeOf(value) == ArrayType::get(shape, type) && (!mustBeExact || of(value).exact))
        candidates.push_back(value);
    if (!candidates.empty() && random.chance(75))
      return random.pick(candidates);
    auto arrayType = ArrayType::get(shape, type);
    if (random.chance(25))
      return constant(arrayType,
                      static_cast<double>(random.integer(type.isInteger(1) ? 0 : -3, type.isInteger(1) ? 1 : 3)));
    if (!shape.empty() && !type.isInteger(1) && random.chance(20)) {
      int64_t dim = random.integer(0, static_cast<int64_t>(shape.size()) - 1);
      return keep(builder.create<IotaOp>(loc, arrayType, builder.getI64IntegerAttr(dim)),
                  {true, static_cast<double>(shape[dim]), 0});
    }
    if (!shape.empty() && random.chance(20)) {
      for (Value value : values)
        if (typeOf(value).getRank() < static_cast<int64_t>(shape.size()) && elementTypeOf(value) == type &&
            (!mustBeExact || of(value).exact))
          if (Value result = tryBroadcast(value, shape))
            return result;
    }
    Value parameter = addParameter(shape, type);
    if (!mustBeExact || of(parameter).exact)
      return parameter;
    return constant(arrayType, 2);
  }

  /// The value as a part of `shape`: its dimensions, in order, on dimensions of the same size.
  Value tryBroadcast(Value value, ArrayRef<int64_t> shape) {
    SmallVector<int64_t> dims;
    size_t next = 0;
    for (int64_t size : typeOf(value).getShape()) {
      while (next < shape.size() && shape[next] != size && size != 1)
        ++next;
      if (next == shape.size())
        return {};
      dims.push_back(static_cast<int64_t>(next++));
    }
    auto type = ArrayType::get(shape, elementTypeOf(value));
    return keep(builder.create<BroadcastInDimOp>(loc, type, value, dims), of(value));
  }

  /// A value that satisfies `test`, or null.
  Value findValue(llvm::function_ref<bool(Value)> test) {
    std::vector<Value> candidates;
    for (Value value : values)
      if (test(value))
        candidates.push_back(value);
    if (candidates.empty())
      return {};
    // Later values make longer chains.
    return candidates.size() > 2 && random.chance(50) ? candidates[candidates.size() - 1 - random.integer(0, 1)]
                                                      : random.pick(candidates);
  }

  bool isUsable(Value value) {
    const Accuracy &accuracy = of(value);
    return accuracy.exact || accuracy.error <= kMaxRelativeError * std::max(accuracy.bound, 1e-30);
  }

  /// Floats back into [-4, 4], so that chains neither overflow nor lose what makes them exact.
  Value tame(Value value) {
    if (!isFloat(elementTypeOf(value)) || of(value).bound <= 16)
      return value;
    Value result =
        builder.create<ClampOp>(loc, typeOf(value), constant(typeOf(value), -4), value, constant(typeOf(value), 4));
    Accuracy accuracy = of(value);
    accuracy.bound = 4;
    return keep(result, accuracy);
  }

  /// Of a float result: exact if everything that went in was and integers of this size are; else with this error.
  Accuracy floatAccuracy(Type type, bool inputsExact, double bound, double error, double partials = 1) {
    if (inputsExact && bound <= exactLimit(type))
      return {true, bound, 0};
    return {false, bound, error + 8 * partials * roundoff(type) * bound};
  }

  Accuracy numberAccuracy(Type type, bool inputsExact, double bound, double error, double partials = 1) {
    if (isFloat(type))
      return floatAccuracy(type, inputsExact, bound, error, partials);
    return {true, std::min(bound, integerBound(type)), 0};
  }

  //===- Operations -------------------------------------------------------===//

  void addOperation() {
    Value value = findValue([&](Value v) { return isUsable(v); });
    if (!value)
      value = addParameter(randomShape(), randomElementType());
    int64_t choice = random.integer(0, 99);
    if (choice < 12)
      addUnary(value);
    else if (choice < 20)
      addFunction(value);
    else if (choice < 36)
      addBinary(value);
    else if (choice < 42)
      addCompareAndSelect(value);
    else if (choice < 46)
      addConvert(value);
    else if (choice < 52)
      addBroadcast(value);
    else if (choice < 59)
      addReshape(value);
    else if (choice < 64)
      addTranspose(value);
    else if (choice < 69)
      addSlice(value);
    else if (choice < 73)
      addPad(value);
    else if (choice < 77)
      addConcatenate(value);
    else if (choice < 79)
      addReverse(value);
    else if (choice < 88)
      addDot(value);
    else if (choice < 96)
      addReduce(value);
    else if (choice < 98)
      addArgReduce(value);
    else
      addCumulative(value);
  }

  void addUnary(Value value) {
    ArrayType type = typeOf(value);
    Type elementType = type.getElementType();
    Accuracy accuracy = of(value);
    if (elementType.isInteger(1)) {
      keep(builder.create<NotOp>(loc, value), accuracy);
      return;
    }
    if (!isFloat(elementType)) {
      Accuracy any{true, integerBound(elementType), 0};
      switch (random.integer(0, 4)) {
      case 0:
        keep(builder.create<NegateOp>(loc, value), isUnsigned(elementType) ? any : accuracy);
        return;
      case 1:
        keep(builder.create<AbsOp>(loc, value), accuracy);
        return;
      case 2:
        keep(builder.create<SignOp>(loc, value), {true, 1, 0});
        return;
      case 3:
        keep(builder.create<NotOp>(loc, value), any);
        return;
      default:
        keep(builder.create<PopcntOp>(loc, value), {true, 64, 0});
        return;
      }
    }
    switch (random.integer(0, accuracy.exact ? 5 : 1)) {
    case 0:
      keep(builder.create<NegateOp>(loc, value), accuracy);
      return;
    case 1:
      keep(builder.create<AbsOp>(loc, value), accuracy);
      return;
    case 2:
      keep(builder.create<SignOp>(loc, value), {true, 1, 0});
      return;
    case 3:
      keep(builder.create<FloorOp>(loc, value), accuracy);
      return;
    case 4:
      keep(random.chance(50) ? builder.create<CeilOp>(loc, value).getResult()
                             : builder.create<RoundNearestEvenOp>(loc, value).getResult(),
           accuracy);
      return;
    default:
      keep(builder.create<IsFiniteOp>(loc, type.withElementType(builder.getI1Type()), value), {true, 1, 0});
      return;
    }
  }

  template <typename Op> void addFunctionOp(Value value, double bound, double steepness) {
    Type type = elementTypeOf(value);
    keep(builder.create<Op>(loc, value),
         {false, bound, steepness * of(value).error + 16 * roundoff(type) * std::max(bound, 1.0)});
  }

  void addFunction(Value value) {
    value = tame(value);
    if (!isFloat(elementTypeOf(value)))
      return addUnary(value);
    double bound = of(value).bound;
    switch (random.integer(0, 13)) {
    case 0:
      return addFunctionOp<SinOp>(value, 1, 1);
    case 1:
      return addFunctionOp<CosOp>(value, 1, 1);
    case 2:
      return addFunctionOp<TanhOp>(value, 1, 1);
    case 3:
      return addFunctionOp<ErfOp>(value, 1, 1.2);
    case 4:
      return addFunctionOp<AtanOp>(value, 1.6, 1);
    case 5:
      return addFunctionOp<LogisticOp>(value, 1, 0.25);
    default:
      break;
    }
    if (bound > 4)
      return addFunctionOp<TanhOp>(value, 1, 1);
    switch (random.integer(0, 7)) {
    case 0:
      return addFunctionOp<ExpOp>(value, std::exp(bound), std::exp(bound));
    case 1:
      return addFunctionOp<Exp2Op>(value, std::exp2(bound), std::exp2(bound));
    case 2:
      return addFunctionOp<Expm1Op>(value, std::exp(bound), std::exp(bound));
    case 3:
      return addFunctionOp<SinhOp>(value, std::exp(bound), std::exp(bound));
    case 4:
      return addFunctionOp<CoshOp>(value, std::exp(bound), std::exp(bound));
    default:
      break;
    }
    // Functions of positive numbers: of |x| + 1.
    Value one = constant(typeOf(value), 1), magnitude = builder.create<AbsOp>(loc, value);
    Value shifted = builder.create<AddOp>(loc, magnitude, one);
    keep(shifted, floatAccuracy(elementTypeOf(value), of(value).exact, bound + 1, of(value).error));
    switch (random.integer(0, 5)) {
    case 0:
      return addFunctionOp<LogOp>(shifted, bound + 1, 1);
    case 1:
      return addFunctionOp<Log2Op>(shifted, bound + 1, 1.5);
    case 2:
      return addFunctionOp<Log1pOp>(shifted, bound + 1, 1);
    case 3:
      return addFunctionOp<SqrtOp>(shifted, bound + 1, 0.5);
    case 4:
      return addFunctionOp<RsqrtOp>(shifted, 1, 0.5);
    default:
      return addFunctionOp<CbrtOp>(shifted, bound + 1, 0.5);
    }
  }

  void addBinary(Value lhs) {
    lhs = tame(lhs);
    Type type = elementTypeOf(lhs);
    Value rhs = tame(matching(typeOf(lhs).getShape(), type));
    Accuracy x = of(lhs), y = of(rhs);
    bool exact = x.exact && y.exact;
    if (random.chance(30) && !isFloat(type))
      return addIntegerBinary(lhs, rhs);
    switch (random.integer(0, 5)) {
    case 0:
      keep(builder.create<AddOp>(loc, lhs, rhs), numberAccuracy(type, exact, x.bound + y.bound, x.error + y.error));
      return;
    case 1:
      if (type.isInteger(1)) {
        keep(builder.create<XorOp>(loc, lhs, rhs), {true, 1, 0});
        return;
      }
      keep(builder.create<SubtractOp>(loc, lhs, rhs),
           isUnsigned(type) ? Accuracy{true, integerBound(type), 0}
                            : numberAccuracy(type, exact, x.bound + y.bound, x.error + y.error));
      return;
    case 2:
      keep(builder.create<MultiplyOp>(loc, lhs, rhs),
           numberAccuracy(type, exact, x.bound * y.bound, x.bound * y.error + y.bound * x.error));
      return;
    case 3:
      keep(builder.create<MaximumOp>(loc, lhs, rhs), {exact, std::max(x.bound, y.bound), x.error + y.error});
      return;
    case 4:
      keep(builder.create<MinimumOp>(loc, lhs, rhs), {exact, std::max(x.bound, y.bound), x.error + y.error});
      return;
    default:
      if (!isFloat(type))
        return addIntegerBinary(lhs, rhs);
      keep(builder.create<DivideOp>(loc, lhs, constant(typeOf(lhs), random.pick({2.0, 3.0, -5.0}))),
           {false, x.bound, x.error + 8 * roundoff(type) * x.bound});
      return;
    }
  }

  void addIntegerBinary(Value lhs, Value rhs) {
    Type type = elementTypeOf(lhs);
    Accuracy any{true, integerBound(type), 0};
    int64_t choice = random.integer(0, type.isInteger(1) ? 2 : 8);
    Value result = choice == 0   ? builder.create<AndOp>(loc, lhs, rhs).getResult()
                   : choice == 1 ? builder.create<OrOp>(loc, lhs, rhs).getResult()
                   : choice == 2 ? builder.create<XorOp>(loc, lhs, rhs).getResult()
                   : choice == 3 ? builder.create<DivideOp>(loc, lhs, rhs).getResult()
                   : choice == 4 ? builder.create<RemainderOp>(loc, lhs, rhs).getResult()
                   : choice == 5 ? builder.create<ShiftLeftOp>(loc, lhs, rhs).getResult()
                   : choice == 6 ? builder.create<ShiftRightArithmeticOp>(loc, lhs, rhs).getResult()
                   : choice == 7 ? builder.create<ShiftRightLogicalOp>(loc, lhs, rhs).getResult()
                                 : builder.create<PowerOp>(loc, lhs, rhs).getResult();
    keep(result, any);
  }

  void addCompareAndSelect(Value value) {
    ArrayType type = typeOf(value);
    ArrayType boolType = type.withElementType(builder.getI1Type());
    Value predicate;
    if (of(value).exact) {
      Value other = matching(type.getShape(), type.getElementType(), /*mustBeExact=*/true);
      auto direction = static_cast<ComparisonDirection>(random.integer(0, 5));
      predicate = keep(builder.create<CompareOp>(loc, boolType, value, other, direction), {true, 1, 0});
    } else {
      predicate = matching(type.getShape(), builder.getI1Type());
    }
    if (random.chance(30))
      return;
    Value onFalse = matching(type.getShape(), type.getElementType());
    Accuracy x = of(value), y = of(onFalse);
    keep(builder.create<SelectOp>(loc, type, predicate, value, onFalse),
         {x.exact && y.exact, std::max(x.bound, y.bound), std::max(x.error, y.error)});
  }

  void addConvert(Value value) {
    Type from = elementTypeOf(value), to = randomElementType();
    Accuracy x = of(value);
    if (!isFloat(to) && !x.exact)
      to = randomFloatType();
    if (from == to)
      return;
    Accuracy accuracy{true, isFloat(to) ? 0 : integerBound(to), 0};
    if (isFloat(to))
      accuracy = floatAccuracy(to, x.exact, x.bound, x.error);
    else if (x.bound < integerBound(to) && !isUnsigned(to))
      accuracy.bound = x.bound;
    Value result = builder.create<ConvertOp>(loc, typeOf(value).withElementType(to), value);
    // A number beyond the range of f16 is infinite on one way and not on another: only what surely fits goes there.
    if (isFloat(to) && x.bound > 60000)
      return result.getDefiningOp()->erase();
    keep(result, accuracy);
  }

  void addBroadcast(Value value) {
    ArrayType type = typeOf(value);
    SmallVector<int64_t> shape, dims;
    for (int64_t size : type.getShape()) {
      if (random.chance(35) && shape.size() < 4)
        shape.push_back(randomSize());
      dims.push_back(static_cast<int64_t>(shape.size()));
      shape.push_back(size == 1 && random.chance(50) ? randomSize() : size);
    }
    if (shape.size() < 4 && random.chance(50))
      shape.push_back(randomSize());
    if (elementCount(shape) > kMaxElements)
      return;
    keep(builder.create<BroadcastInDimOp>(loc, type.withShape(shape), value, dims), of(value));
  }

  void addReshape(Value value) {
    ArrayType type = typeOf(value);
    SmallVector<int64_t> shape;
    if (type.getNumElements() == 0) {
      shape = {random.integer(1, 4), 0};
    } else {
      // Prime factors of all dimensions in order, grouped anew.
      for (int64_t size : type.getShape())
        for (int64_t p = 2; size > 1;) {
          if (size % p) {
            ++p;
            continue;
          }
          size /= p;
          if (!shape.empty() && random.chance(55))
            shape.back() *= p;
          else
            shape.push_back(p);
        }
      if (random.chance(25))
        shape.insert(shape.begin() + random.integer(0, static_cast<int64_t>(shape.size())), 1);
    }
    if (shape.size() > 5)
      return;
    keep(builder.create<ReshapeOp>(loc, type.withShape(shape), value), of(value));
  }

  void addTranspose(Value value) {
    SmallVector<int64_t> perm;
    for (int64_t d = 0; d < typeOf(value).getRank(); ++d)
      perm.insert(perm.begin() + random.integer(0, d), d);
    keep(builder.create<TransposeOp>(loc, value, perm), of(value));
  }

  void addSlice(Value value) {
    SmallVector<int64_t> starts, limits, strides;
    for (int64_t size : typeOf(value).getShape()) {
      bool isWhole = random.chance(50);
      starts.push_back(isWhole ? 0 : random.integer(0, size));
      limits.push_back(isWhole ? size : random.integer(starts.back(), size));
      strides.push_back(isWhole ? 1 : random.integer(1, 3));
      if (!isWhole && limits.back() == starts.back() && size > 0 && random.chance(90)) {
        starts.back() = 0;
        limits.back() = size;
      }
    }
    keep(builder.create<SliceOp>(loc, value, starts, limits, strides), of(value));
  }

  void addPad(Value value) {
    ArrayType type = typeOf(value);
    SmallVector<int64_t> low, high, interior, shape;
    for (int64_t size : type.getShape()) {
      bool isPadded = random.chance(60);
      low.push_back(isPadded ? random.integer(-1, 2) : 0);
      high.push_back(isPadded ? random.integer(-1, 2) : 0);
      interior.push_back(isPadded && random.chance(30) ? random.integer(1, 2) : 0);
      shape.push_back(low.back() + high.back() + (size ? (size - 1) * (interior.back() + 1) + 1 : 0));
      if (shape.back() < 0)
        return;
    }
    if (elementCount(shape) > kMaxElements)
      return;
    Value fill = constant(ArrayType::get({}, type.getElementType()), type.getElementType().isInteger(1) ? 1 : 3);
    Accuracy accuracy = of(value);
    accuracy.bound = std::max(accuracy.bound, 3.0);
    keep(builder.create<PadOp>(loc, type.withShape(shape), value, fill, low, high, interior), accuracy);
  }

  void addConcatenate(Value value) {
    ArrayType type = typeOf(value);
    if (type.getRank() == 0)
      return addBroadcast(value);
    int64_t dim = random.integer(0, type.getRank() - 1), total = 0;
    SmallVector<Value> parts;
    Accuracy accuracy = of(value);
    SmallVector<int64_t> shape(type.getShape());
    for (int64_t i = random.integer(1, 2); i >= 0; --i) {
      SmallVector<int64_t> partShape(type.getShape());
      if (random.chance(50))
        partShape[dim] = randomSize();
      Value part = i == 0 ? value : matching(partShape, type.getElementType());
      accuracy.exact &= of(part).exact;
      accuracy.bound = std::max(accuracy.bound, of(part).bound);
      accuracy.error = std::max(accuracy.error, of(part).error);
      total += typeOf(part).getDimSize(dim);
      parts.push_back(part);
    }
    shape[dim] = total;
    if (elementCount(shape) > kMaxElements)
      return;
    keep(builder.create<ConcatenateOp>(loc, type.withShape(shape), parts, builder.getI64IntegerAttr(dim)), accuracy);
  }

  SmallVector<int64_t> randomDims(int64_t rank, int percent) {
    SmallVector<int64_t> dims;
    for (int64_t d = 0; d < rank; ++d)
      if (random.chance(percent))
        dims.push_back(d);
    return dims;
  }

  void addReverse(Value value) {
    SmallVector<int64_t> dims = randomDims(typeOf(value).getRank(), 50);
    keep(builder.create<ReverseOp>(loc, typeOf(value), value, builder.getDenseI64ArrayAttr(dims)), of(value));
  }

  void addDot(Value lhs) {
    lhs = tame(lhs);
    ArrayType left = typeOf(lhs);
    Type elementType = left.getElementType();
    // Each dimension of lhs is batch, contracted or free; rhs has the batch and contracted ones and some of its own.
    SmallVector<int64_t> lhsBatch, lhsContract, rhsBatch, rhsContract, rhsShape;
    enum Role { Batch, Contract, Free };
    SmallVector<std::pair<Role, int64_t>> rhsDims; // role and lhs dimension or size
    int64_t depth = 1;
    for (int64_t d = 0; d < left.getRank(); ++d) {
      int64_t role = random.integer(0, 9);
      if (role < 2)
        rhsDims.insert(rhsDims.begin() + random.integer(0, static_cast<int64_t>(rhsDims.size())), {Batch, d});
      else if (role < 6)
        rhsDims.insert(rhsDims.begin() + random.integer(0, static_cast<int64_t>(rhsDims.size())), {Contract, d});
    }
    for (int64_t i = random.pick({0, 1, 1, 1, 2}); i > 0 && rhsDims.size() < 4; --i)
      rhsDims.insert(rhsDims.begin() + random.integer(0, static_cast<int64_t>(rhsDims.size())), {Free, randomSize()});
    for (auto [index, dim] : llvm::enumerate(rhsDims)) {
      auto [role, number] = dim;
      rhsShape.push_back(role == Free ? number : left.getDimSize(number));
      if (role == Free)
        continue;
      (role == Batch ? lhsBatch : lhsContract).push_back(number);
      (role == Batch ? rhsBatch : rhsContract).push_back(static_cast<int64_t>(index));
      if (role == Contract)
        depth *= left.getDimSize(number);
    }
    if (elementCount(rhsShape) > kMaxElements)
      return;
    Value rhs = tame(matching(rhsShape, elementType));
    SmallVector<int64_t> shape =
        DotGeneralOp::inferShape(left, typeOf(rhs), lhsContract, rhsContract, lhsBatch, rhsBatch);
    if (elementCount(shape) > kMaxElements)
      return;
    Type resultType = elementType;
    if (isFloat(elementType) && elementType.getIntOrFloatBitWidth() == 16 && random.chance(30))
      resultType = builder.getF32Type();
    Accuracy x = of(lhs), y = of(rhs);
    double terms = static_cast<double>(std::max<int64_t>(depth, 1));
    Accuracy accuracy =
        numberAccuracy(resultType, x.exact && y.exact, terms * x.bound * y.bound,
                       terms * (x.bound * y.error + y.bound * x.error) + terms * terms * 0x1p-23 * x.bound * y.bound,
                       /*partials=*/4);
    // The sum of a narrow contraction is kept in f32: exactness ends there for f64 operands too late to matter.
    keep(builder.create<DotGeneralOp>(loc, ArrayType::get(shape, resultType), lhs, rhs,
                                      builder.getDenseI64ArrayAttr(lhsContract),
                                      builder.getDenseI64ArrayAttr(rhsContract), builder.getDenseI64ArrayAttr(lhsBatch),
                                      builder.getDenseI64ArrayAttr(rhsBatch)),
         accuracy);
  }

  /// A kind of reduction that `n` elements like this stand, and what is then known.
  ReductionKind randomReduction(Value value, int64_t n, Accuracy &accuracy) {
    Type type = elementTypeOf(value);
    accuracy = of(value);
    double terms = static_cast<double>(std::max<int64_t>(n, 1));
    int64_t choice = random.integer(0, 9);
    if (choice < 5) {
      double bound = terms * accuracy.bound;
      accuracy = numberAccuracy(type, accuracy.exact, bound, terms * accuracy.error + terms * 0x1p-23 * bound,
                                /*partials=*/4);
      return ReductionKind::sum;
    }
    if (choice == 5 && !isFloat(type)) {
      accuracy.bound = integerBound(type);
      return ReductionKind::prod;
    }
    if (choice == 6 && !isFloat(type)) {
      accuracy.bound = integerBound(type);
      return random.chance(50) ? ReductionKind::and_ : ReductionKind::or_;
    }
    if (n == 0)
      accuracy.bound = isFloat(type) ? INFINITY : integerBound(type);
    return random.chance(50) ? ReductionKind::max : ReductionKind::min;
  }

  void addReduce(Value value) {
    value = tame(value);
    ArrayType type = typeOf(value);
    SmallVector<int64_t> dims = randomDims(type.getRank(), 55);
    int64_t n = 1;
    for (int64_t dim : dims)
      n *= type.getDimSize(dim);
    Accuracy accuracy;
    ReductionKind kind = randomReduction(value, n, accuracy);
    Value result = keep(builder.create<ReduceOp>(loc, value, kind, dims), accuracy);
    // Infinities of empty maxima would make NaNs of everything; one operation sees them, then they are clamped.
    if (accuracy.bound == INFINITY)
      tame(result);
  }

  void addArgReduce(Value value) {
    ArrayType type = typeOf(value);
    if (!of(value).exact || type.getRank() == 0 || type.getElementType().isInteger(1))
      return;
    int64_t dim = random.integer(0, type.getRank() - 1);
    if (type.getDimSize(dim) == 0)
      return;
    SmallVector<int64_t> shape(type.getShape());
    shape.erase(shape.begin() + dim);
    auto resultType = ArrayType::get(shape, builder.getI32Type());
    keep(builder.create<ArgReduceOp>(loc, resultType, value, builder.getBoolAttr(random.chance(50)),
                                     builder.getI64IntegerAttr(dim)),
         {true, static_cast<double>(type.getDimSize(dim)), 0});
  }

  void addCumulative(Value value) {
    value = tame(value);
    ArrayType type = typeOf(value);
    if (type.getRank() == 0)
      return;
    int64_t dim = random.integer(0, type.getRank() - 1);
    Accuracy accuracy;
    ReductionKind kind = randomReduction(value, type.getDimSize(dim), accuracy);
    if (accuracy.bound == INFINITY)
      accuracy.bound = of(value).bound;
    keep(builder.create<CumulativeOp>(loc, type, value, kind, dim), accuracy);
  }

  //===- Shardings and results ----------------------------------------------===//

  /// Choices about the value or operation of this number: the same in every prefix of the program.
  void drawFor(size_t number) { random = Random(options.seed * 0x2545F4914F6CDD1Du + number); }

  ShardingAttr shardingFor(Value value, bool mayBeOpen) {
    return randomSharding(random, mesh, typeOf(value).getShape(), mayBeOpen);
  }

  void finish(RandomProgram &program) {
    // The last value and some others are results.
    drawFor(0);
    SmallVector<Value> results = {values.back()};
    for (Value value : llvm::reverse(values))
      if (results.size() < 3 && random.chance(30) && !llvm::is_contained(results, value))
        results.push_back(value);
    bool isAnnotated = options.mode == ShardingMode::Annotations;
    if (isAnnotated) {
      for (auto [number, value] : llvm::enumerate(values)) {
        auto *op = value.getDefiningOp();
        drawFor(number + 1000);
        if (!op || !random.chance(15))
          continue;
        builder.setInsertionPointAfter(op);
        auto constraint =
            builder.create<ConstraintOp>(loc, typeOf(value).withSharding(shardingFor(value, true)), value);
        // Types of operations carry no sharding yet, those of constraints do: users see the annotated value.
        value.replaceAllUsesExcept(constraint, constraint);
        for (Value &result : results)
          if (result == value)
            result = constraint;
        known[constraint] = known[value];
      }
      builder.setInsertionPointToEnd(block);
    }
    for (BlockArgument argument : block->getArguments()) {
      drawFor(argument.getArgNumber() + 2000);
      if (!isAnnotated || random.chance(70))
        argument.setType(typeOf(argument).withSharding(shardingFor(argument, isAnnotated)));
    }
    if (!isAnnotated)
      for (auto [number, op] : llvm::enumerate(*block)) {
        drawFor(number + 3000);
        op.getResult(0).setType(typeOf(op.getResult(0)).withSharding(shardingFor(op.getResult(0), false)));
      }
    for (Value &result : results) {
      program.results.push_back(known[result]);
      if (!isAnnotated)
        continue;
      Value old = result;
      bool isAnnotatedResult = random.chance(60);
      ArrayType type = typeOf(old).withSharding(isAnnotatedResult ? shardingFor(old, true) : ShardingAttr());
      if (type != old.getType())
        result = builder.create<ConstraintOp>(loc, type, old);
    }
    builder.create<func::ReturnOp>(loc, results);
    SmallVector<Type> resultTypes(ValueRange(results).getTypes());
    function.setFunctionType(builder.getFunctionType(block->getArgumentTypes(), resultTypes));
    for (unsigned i = 0; i < block->getNumArguments(); ++i)
      function.setArgAttr(i, kNameAttrName, builder.getStringAttr("x" + std::to_string(i)));
    for (unsigned i = 0; i < results.size(); ++i)
      function.setResultAttr(i, kNameAttrName, builder.getStringAttr("r" + std::to_string(i)));
  }

  GeneratorOptions options;
  Random random;
  OpBuilder builder;
  Location loc;
  MeshAttr mesh;
  func::FuncOp function;
  Block *block = nullptr;
  std::vector<Value> values;
  DenseMap<Value, Accuracy> known;
  std::vector<Tensor> arguments;
};

} // namespace

RandomProgram generateProgram(MLIRContext &context, const GeneratorOptions &options) {
  return Generator(context, options).run();
}

} // namespace spmdc
