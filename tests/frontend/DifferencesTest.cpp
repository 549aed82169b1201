//===- DifferencesTest.cpp - derivatives of the language's functions ------===//
//
// Every function of the language that has a derivative, those of the prelude included, in f64 against central
// differences: its gradient, and the gradient of that. (DerivativesTest.cpp does so for every operation of the
// dialects, gradients.txt compares with JAX.) The tests differentiate a weighted sum of the result's elements, so that
// an error in any element's derivative is found.
//
//===----------------------------------------------------------------------===//

#include "frontend/Prelude.h"
#include "frontend/builtins/Builtins.h"
#include "ir/evaluate/GlobalEvaluator.h"
#include "passes/differentiate/Passes.h"
#include "tests/frontend/FrontendTestHelper.h"
#include "tests/ir/support/CentralDifferences.h"

#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>

using namespace spmdc;
using namespace spmdc::testing;

namespace {

enum class Order { First, Both };

struct FunctionCase {
  /// A body over x: f64[2, 3] and y: f64[3]: an expression, or statements up to a `return`.
  const char *body;
  Order order = Order::Both; ///< First if the second derivative is 0 or jumps.
};

// x is between 0.3 and 2, x - 1.0 on both sides of 0, and no two elements are near to one another.
const double kX[] = {0.37, 1.42, 0.81, 1.93, 0.59, 1.18};
const double kY[] = {0.93, 0.46, 1.61};

const FunctionCase kElementwise[] = {
    {"exp(x)"},
    {"exp2(x)"},
    {"expm1(x)"},
    {"log(x)"},
    {"log1p(x)"},
    {"log2(x)"},
    {"sqrt(x)"},
    {"rsqrt(x)"},
    {"cbrt(x - 1.0)"},
    {"sin(x)"},
    {"cos(x)"},
    {"tan(0.6 * x)"},
    {"tanh(x - 1.0)"},
    {"sinh(x - 1.0)"},
    {"cosh(x - 1.0)"},
    {"asin(x - 1.0)"},
    {"acos(x - 1.0)"},
    {"atan(x - 1.0)"},
    {"atan2(x - 1.0, y)"},
    {"erf(x - 1.0)"},
    {"erf_inv(0.9 * (x - 1.0))"},
    {"sigmoid(x - 1.0)"},
    {"abs(x - 1.0) * x"},
    {"sign(x - 1.0) * x", Order::First},
    {"floor(3.0 * x) * y", Order::First},
    {"ceil(3.0 * x) * y", Order::First},
    {"round(3.0 * x) * y", Order::First},
    {"floor_divide(3.0 * x, y) * x"},
    {"maximum(x, y) * x"},
    {"minimum(x, y) * y"},
    {"max(x, y) ** 2"},
    {"min(x, y) ** 2"},
    {"pow(x, y)"},
    {"where(x > y, x * y, y)"},
    {"clamp(0.5, x, y + 0.2) ** 2"},
    {"cast(cast(x, f64) * y, f64)"},
};

const FunctionCase kOperators[] = {
    {"x + y", Order::First},
    {"-x - y", Order::First},
    {"x * y"},
    {"(x - 1.0) / y"},
    {"(3.0 * x) % y * x"},
    {"x ** y"},
    {"(x - 1.0) ** 3"},
    {"(x - 1.0) ** -2"},
    {"x @ x.T"},
    {"x @ y"},
    {"x.T @ x"},
    {"x[1, ::-2] * x[0, :2]"},
    {"let i = argsort(y); return x[:, i] * x[i[0], None];"},
};

const FunctionCase kReductions[] = {
    {"sum(x, axis=0) * y"},       {"prod(x - 1.0, axis=1)"},
    {"max(x, axis=0) * max(x)"},  {"min(x, axis=1, keepdims=true) * x"},
    {"mean(x, axis=-1) ** 2"},    {"var(x, axis=[0, 1]) * y"},
    {"logsumexp(x, axis=0)"},     {"cumsum(x, axis=1) ** 2"},
    {"cumprod(x - 1.0, axis=1)"}, {"cummax(x, axis=1) * x"},
    {"global_norm((x, y))"},
};

const FunctionCase kShapes[] = {
    {"reshape(x, [3, -1]) ** 2"},
    {"transpose(x) * x[0, 1]"},
    {"broadcast_to(y, [4, 3]) ** 2"},
    {"expand_dims(y, 1) * x.T"},
    {"squeeze(x[:1]) * y"},
    {"concatenate([x, x * y], axis=1) ** 2"},
    {"stack([y, x[0]], axis=1) ** 2"},
    {"split(x, 3, axis=1)[1] * split(y, 3)[2]"},
    {"pad(x, ((1, 0), (0, 2)), constant_values=2.0) ** 2"},
    {"flip(x, axis=1) * x"},
    {"roll(x, 1, axis=1) * x"},
    {"tile(y, [2, 2]) ** 2"},
    {"repeat(y, 2) ** 2"},
    {"full(f64[2, 3], y[1]) * x"},
    {"tril(x) * x"},
    {"triu(x, k=1) * x"},
    {"shard(x * y, P(_, a)) ** 2"},
    {"like(x * x, x) * y"},
    {"x * x - stop_gradient(y) * 0.0"},
};

const FunctionCase kLookups[] = {
    {"take(x, argsort(y), axis=1) * x"},
    {"take_along_axis(x, argsort(x, axis=1), axis=1) * x"},
    {"update(x * x, y[None, :2], start=[argmax(y[:2]), 0]) * x"},
    {"scatter_add(x * x, stack([2, 0, 2, 9]), x[:, :1] * y[0], axis=1) ** 2"},
    {"sort(x, axis=1) * x"},
    {"top_k(x, 2)[0] ** 2"},
    {"uniform(key(3), f64[2, 3], minval=-x, maxval=x * y) ** 2"},
};

const FunctionCase kContractions[] = {
    {"einsum(\"ij,kj,j->ik\", x, x, y)"},
    {"einsum(\"ii->i\", x[:, :2]) * x[:, 2]"},
    {"matmul(x, x.T * 2.0)"},
    {"dot_general(x, x, contract=([1], [1]), batch=([0], [0]))"},
    {"conv1d(x[..., None], reshape(y, [3, 1, 1]))"},
    {"conv2d(x[None, ..., None], reshape(x, [2, 3, 1, 1]), strides=2)"},
    {"max_pool(x[..., None], 2) ** 2"},
    {"avg_pool(x[..., None], 2, padding=\"SAME\") ** 2"},
};

const FunctionCase kPrelude[] = {
    {"relu(x - 1.0) * x"},
    {"silu(x - 1.0)"},
    {"gelu(x - 1.0)"},
    {"gelu(x - 1.0, approximate=false)"},
    {"softmax(x)"},
    {"softmax(x, axis=0)"},
    {"log_softmax(x)"},
    {"layer_norm(x, y, y * y)"},
    {"rms_norm(x, y)"},
    {"cross_entropy(x, argsort(x[:, 0]))"},
    {"cross_entropy(x, softmax(y + x))"},
    {"attention(x, x * y, x + 1.0)"},
    {"attention(x, x * y, x + 1.0, causal=true)"},
    {"dropout(key(3), x * y, 0.5) ** 2"},
};

// The gradient through a step to its inputs: parameters, state, gradients, rates.
const FunctionCase kOptimisers[] = {
    {"sgd(x, x * y, lr=y[0]) ** 2"},
    {"let (p, v) = momentum(x, x - 1.0, x * y, mass=y[1]); return p * v;"},
    {"let (p, m, v) = adam(x, x - 1.0, x * x, y * x, 3, lr=y[0]); return p * m + v * x;"},
    {"let (p, m, v) = adam(x, 0.0 * x, 0.0 * x, y * x, 0); return p * x + m * v;"},
    {"clip_by_global_norm(x * y, 0.7)"},
    {"clip_by_global_norm(x * y, 70.0)"},
    {"let g = clip_by_global_norm(Pair { w: x * x, b: y }, 0.7 * x[0, 0]); return concatenate([g.w, g.b[None]]);"},
    {"let p = Pair { w: x, b: y }; let (q, m, v) = adam(p, 0.1 * p, p * p, p ** 3, 1); return q.w * v.b + m.w;"},
    {"let (w, v) = for i in 0..3 carry (w = x, v = 0.0 * x) {\n"
     "  yield momentum(w, v, clip_by_global_norm(grad(loss)(w, y), 0.5), lr=0.3);\n};\nreturn w * v;"},
};

const FunctionCase kControl[] = {
    {"for i in 0..3 carry (h = x) { yield sin(h) * y + i; }"},
    {"if sum(x) > 1.0 { x * y } else { x }"},
    {"checkpoint(step)(x, y)"},
    {"grad(loss)(x, y)"},
    {"let (l, g) = value_and_grad(loss)(x, y); return l * g;"},
};

// On shards of x: f64[1, 3] on each of two devices.
#define SHARD_MAP(EXPRESSION, OUT) "shard_map(" EXPRESSION ", in=(P(a), P()), out=" OUT ")(x, y) ** 2"
const FunctionCase kCollectives[] = {
    {SHARD_MAP("psums", "P()")},      {SHARD_MAP("pmeans", "P()")},    {SHARD_MAP("pmaxes", "P()")},
    {SHARD_MAP("pmins", "P()")},      {SHARD_MAP("gathered", "P(a)")}, {SHARD_MAP("scattered", "P(a)")},
    {SHARD_MAP("exchanged", "P(a)")}, {SHARD_MAP("permuted", "P(a)")}, {SHARD_MAP("sent", "P(a)")},
    {SHARD_MAP("branched", "P(a)")},
};

const char *const kHelpers = "mesh m(a=2)\n"
                             "struct Pair { w: f64[2, 3], b: f64[3] }\n"
                             "fn step(x, y) { return tanh(x * y) * x; }\n"
                             "fn loss(x, y) { return sum(step(x, y) ** 2); }\n"
                             "fn psums(x, y) { return psum(x * y, a) * y; }\n"
                             "fn pmeans(x, y) { return pmean(x * y, a); }\n"
                             "fn pmaxes(x, y) { return pmax(x * y, a); }\n"
                             "fn pmins(x, y) { return pmin(x * y, a); }\n"
                             "fn gathered(x, y) { return all_gather(x * y, a, tiled=true) * x; }\n"
                             "fn scattered(x, y) { return psum_scatter(concatenate([x, y * x]), a, tiled=true) * x; }\n"
                             "fn exchanged(x, y) { return all_to_all(concatenate([x, y * x]), a, split_axis=0, "
                             "concat_axis=1, tiled=true); }\n"
                             "fn permuted(x, y) { return ppermute(x * y, a, [(0, 1), (1, 0)]) * x; }\n"
                             "fn sent(x, y) { return ppermute(x * y, a, [(0, 1)]) * x; }\n"
                             "fn branched(x, y) { return if sum(y) > 0.0 { psum(x, a) * x } else { x }; }\n"
                             "fn weigh(r) {\n"
                             "  let flat = reshape(r, [-1]);\n"
                             "  return sum(flat * (0.5 + 0.13 * ((arange(flat.shape[0]) * 7 + 3) % 11)));\n"
                             "}\n";

/// Many cases of a kind are one test: a process for each case would take longer than the case.
struct Kind {
  const char *name;
  llvm::ArrayRef<FunctionCase> cases;
};

void PrintTo(const Kind &kind, std::ostream *os) { *os << kind.name; }

const Kind kKinds[] = {{"Elementwise", kElementwise}, {"Operators", kOperators},   {"Reductions", kReductions},
                       {"Shapes", kShapes},           {"Lookups", kLookups},       {"Contractions", kContractions},
                       {"Prelude", kPrelude},         {"Optimisers", kOptimisers}, {"Control", kControl},
                       {"Collectives", kCollectives}};

/// `main` returns `result`, an expression of f, its gradient df (of x and of y), x and y.
std::string programOf(const FunctionCase &test, const std::string &result) {
  std::string body = test.body;
  if (body.find("return ") == body.npos)
    body = "return " + body + ";";
  return kHelpers + ("fn e(x, y) { " + body + " }\n") +
         "fn f(x, y) { return weigh(e(x, y)); }\n"
         "fn df(x, y) { return grad(f, wrt=(0, 1))(x, y); }\n"
         "fn g(x, y) { let (p, q) = df(x, y); return weigh(p) - weigh(q); }\n"
         "fn main(x: f64[2, 3], y: f64[3]) { return " +
         result + "; }\n";
}

class DifferencesTest : public ::testing::TestWithParam<Kind> {
protected:
  /// A program that is compiled once and evaluated at many points.
  struct Program {
    Compiled compiled;
    bool isGood = false;

    explicit Program(const std::string &text) : compiled(text) {
      mlir::PassManager passes(&compiled.context);
      passes.addPass(createDifferentiatePass());
      passes.addPass(createVerifyDifferentiatedPass());
      isGood = compiled.isGood() && succeeded(passes.run(*compiled.module));
      EXPECT_TRUE(isGood) << text << compiled.diagnostics.str();
    }

    Numbers operator()(const Numbers &inputs) {
      llvm::SmallVector<Tensor> arguments;
      for (auto [shape, numbers] : llvm::zip(std::vector<std::vector<int64_t>>{{2, 3}, {3}}, inputs)) {
        arguments.emplace_back(shape, getElementType(&compiled.context, spmd::DType::F64));
        for (auto [element, value] : llvm::zip(arguments.back().elements, numbers))
          element.f = value;
      }
      auto results = evaluateGlobal(compiled.function(), arguments);
      Numbers values;
      if (succeeded(results))
        for (const Tensor &result : *results) {
          values.emplace_back();
          for (Scalar element : result.elements)
            values.back().push_back(element.f);
        }
      return values;
    }
  };

  static void compare(const FunctionCase &test, const std::string &scalar, const std::string &gradient) {
    SCOPED_TRACE(test.body);
    Program value(programOf(test, scalar)), slope(programOf(test, gradient));
    ASSERT_TRUE(value.isGood && slope.isGood);
    Numbers at = {{std::begin(kX), std::end(kX)}, {std::begin(kY), std::end(kY)}};
    expectCentralDifferences(slope(at), at, [&](const Numbers &inputs) { return value(inputs).at(0).at(0); });
  }
};

TEST_P(DifferencesTest, FirstIsTheSlope) {
  for (const FunctionCase &test : GetParam().cases)
    compare(test, "f(x, y)", "df(x, y)");
}

TEST_P(DifferencesTest, SecondIsTheSlopeOfTheFirst) {
  for (const FunctionCase &test : GetParam().cases)
    if (test.order == Order::Both)
      compare(test, "g(x, y)", "grad(g, wrt=(0, 1))(x, y)");
}

INSTANTIATE_TEST_SUITE_P(Functions, DifferencesTest, ::testing::ValuesIn(kKinds),
                         [](const auto &info) { return std::string(info.param.name); });

// A new function needs a case, or an entry here with the reason why it has no derivative.
TEST(Differences, EveryFunctionIsCompared) {
  const std::set<std::string> noFloats = {
      "zeros",     "ones",          "iota",    "arange",     "eye",     "one_hot",   "key",     "bits",   "normal",
      "key_data",  "wrap_key_data", "fold_in", "axis_index", "randint", "axis_size", "print",   "argmax", "argmin",
      "bernoulli", "categorical",   "any",     "all",        "is_nan",  "is_finite", "argsort", "bitcast"};
  std::string all = kHelpers;
  for (const Kind &kind : kKinds)
    for (const FunctionCase &test : kind.cases)
      all += std::string(test.body) + "\n";
  std::set<std::string> names;
  for (std::string_view name : builtinNames())
    names.insert(std::string(name));
  size_t builtins = names.size();
  std::string prelude = "\n" + std::string(preludeText());
  std::regex function("\nfn ([a-z0-9_]+)");
  for (std::sregex_iterator match(prelude.begin(), prelude.end(), function), end; match != end; ++match)
    names.insert(match->str(1));
  EXPECT_GE(builtins, 90u);
  EXPECT_GE(names.size() - builtins, 14u);
  for (const std::string &name : names)
    EXPECT_TRUE(noFloats.count(name) || std::regex_search(all, std::regex("\\b" + name + "\\("))) << name;
  for (const std::string &name : noFloats)
    EXPECT_TRUE(names.count(name)) << name << " is no function";
}

} // namespace
