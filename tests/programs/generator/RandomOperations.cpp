//===- RandomOperations.cpp - random keys and numbers ---------------------===//
//
// All stages agree on the bits of values that are computed without transcendental functions.
//
//===----------------------------------------------------------------------===//

#include "tests/programs/generator/Operations.h"

namespace spmdc {

using spmd::DType;

namespace {

/// A key, from a literal or from a number of the program (`$0`).
struct Key {
  std::string text;
  std::vector<int> operands;
};

Key anyKey(ProgramBuilder &b) {
  Key key{"key(" + std::to_string(b.random.integer(-3, 99)) + ")", {}};
  std::optional<int> data = b.find([&](int v) { return spmd::isInteger(b.dtypeOf(v)) && b.rankOf(v) == 0; });
  if (data && b.random.chance(40)) {
    key.operands = {*data};
    key.text = b.random.chance(50) ? "key($0)" : "fold_in(" + key.text + ", $0)";
  }
  // From two words of the program, or from those of a key.
  if (b.random.chance(15)) {
    std::optional<int> words = b.find([&](int v) { return b.dtypeOf(v) == DType::U32 && b.shapeOf(v) == Shape{2}; });
    if (words)
      key = {"wrap_key_data($0)", {*words}};
    else
      key.text = "wrap_key_data(key_data(" + key.text + "))";
  }
  if (b.random.chance(30))
    key.text = "split(" + key.text + ", 3)[" + std::to_string(b.random.integer(-3, 2)) + "]";
  return key;
}

std::string randomType(ProgramBuilder &b, DType dtype, const Shape &shape) {
  return typeText(dtype, shape, b.random.chance(50) ? b.randomAnnotations(shape.size()) : Annotations());
}

bool makeKeys(ProgramBuilder &b) {
  Key key = anyKey(b);
  int64_t count = b.randomSize();
  bool isOne = b.random.chance(30);
  std::string text = isOne ? key.text : "split(" + key.text + ", " + std::to_string(count) + ")";
  return b
      .let("key_data(" + text + ")", key.operands, DType::U32, isOne ? Shape{2} : Shape{count, 2},
           {.bound = integerBound(DType::U32), .bits = true})
      .has_value();
}

bool makeBits(ProgramBuilder &b) {
  Key key = anyKey(b);
  Shape shape = b.randomShape();
  DType dtype = b.random.pick({DType::U32, DType::U32, DType::U64, DType::U16, DType::U8});
  return b
      .let("bits(" + key.text + ", " + randomType(b, dtype, shape) + ")", key.operands, dtype, shape,
           {.bound = integerBound(dtype), .bits = true})
      .has_value();
}

bool makeUniform(ProgramBuilder &b) {
  Key key = anyKey(b);
  Shape shape = b.randomShape();
  DType dtype = b.randomFloat();
  std::string text = "uniform(" + key.text + ", " + randomType(b, dtype, shape);
  int mantissa = dtype == DType::F64 ? 52 : dtype == DType::F32 ? 23 : dtype == DType::F16 ? 10 : 7;
  Accuracy accuracy{.bound = 1, .grain = mantissa, .bits = true};
  if (b.random.chance(40)) {
    text += ", minval=-1.5, maxval=2";
    accuracy = computed(dtype, false, 2, 0, 0, 2);
  }
  return b.let(text + ")", key.operands, dtype, shape, accuracy).has_value();
}

bool makeNormal(ProgramBuilder &b) {
  Key key = anyKey(b);
  Shape shape = b.randomShape();
  DType dtype = b.randomFloat();
  // Near the ends of the range erf_inv is steep, and two numbers may differ only by a rounding of its argument.
  return b
      .let("normal(" + key.text + ", " + randomType(b, dtype, shape) + ")", key.operands, dtype, shape,
           computed(dtype, false, 8, 0, 0, 32))
      .has_value();
}

bool makeBernoulli(ProgramBuilder &b) {
  Key key = anyKey(b);
  Shape shape = b.randomShape();
  return b
      .let("bernoulli(" + key.text + ", 0.3, " + randomType(b, DType::Bool, shape) + ")", key.operands, DType::Bool,
           shape, {.bound = 1, .bits = true})
      .has_value();
}

bool makeRandint(ProgramBuilder &b) {
  Key key = anyKey(b);
  Shape shape = b.randomShape();
  DType dtype = b.randomInteger();
  int64_t low = b.random.integer(spmd::isUnsigned(dtype) ? 0 : -9, 9), high = low + b.random.integer(-1, 300);
  std::string bounds = std::to_string(low) + ", " + std::to_string(high);
  return b
      .let("randint(" + key.text + ", " + randomType(b, dtype, shape) + ", " + bounds + ")", key.operands, dtype, shape,
           {.bound = std::min(integerBound(dtype), 320.0), .bits = true})
      .has_value();
}

/// Logits that are so far apart that rounding does not change the choice.
bool makeCategorical(ProgramBuilder &b) {
  Key key = anyKey(b);
  Shape shape = b.randomShape();
  if (shape.empty())
    return false;
  auto rank = static_cast<int64_t>(shape.size()), dim = b.random.integer(0, rank - 1);
  if (shape[dim] == 0)
    return false;
  DType dtype = b.random.chance(70) ? DType::F32 : DType::F64;
  std::string logits = "100 * iota(" + randomType(b, dtype, shape) + ", axis=" + std::to_string(dim) + ")";
  auto bound = static_cast<double>(shape[dim]);
  shape.erase(shape.begin() + dim);
  return b
      .let("categorical(" + key.text + ", " + logits + ", axis=" + b.dimText(dim, rank) + ")", key.operands, DType::I32,
           shape, {.bound = bound, .bits = true})
      .has_value();
}

} // namespace

std::vector<Operation> randomOperations() {
  return {
      {"keys", 2, makeKeys},
      {"bits", 2, makeBits},
      {"uniform", 3, makeUniform},
      {"normal", 2, makeNormal},
      {"randint", 2, makeRandint},
      {"bernoulli", 2, makeBernoulli},
      {"categorical", 2, makeCategorical},
  };
}

} // namespace spmdc
