//===- NamesTest.cpp - suggestions for names of other libraries -----------===//
//
// ForeignNames.def has suggestions for names of JAX, NumPy and PyTorch. The test uses each name in a program, and
// compiles the suggested code.
//
//===----------------------------------------------------------------------===//

#include "frontend/builtins/Builtins.h"
#include "frontend/sema/Suggest.h"
#include "tests/frontend/FrontendTestHelper.h"

#include <gmock/gmock.h>

#include <regex>

using namespace spmdc;
using namespace spmdc::testing;
using ::testing::ElementsAre;

namespace {

struct Entry {
  const char *kind, *name, *own, *why, *code;
};

const Entry kEntries[] = {
#define RENAMED(name, own) {"renamed", name, own, "", ""},
#define IDIOM(name, code) {"idiom", name, "", "", code},
#define ABSENT(name, why, code) {"absent", name, "", why, code},
#define VALUE(name, code) {"value", name, "", "", code},
#define MODULE(name) {"module", name, "", "", ""},
#include "frontend/sema/ForeignNames.def"
};

const std::string kFunctions = "fn f(v) { return sum(tanh(v)); }\n"
                               "fn hv(v, w) { return sum(grad(f)(v) * w); }\n"
                               "fn fw(v, w) { return sum(tanh(v) * w); }\n";

/// The functions that the suggestions use.
std::string programOf(const std::string &value) {
  return kFunctions +
         "fn main(x: f32[4, 8], y: f32[4, 8], s: f32[4, 4], v: f32[8], w: f32[8], i: i32[4],\n"
         "        mask: bool[4, 8], k: key) {\n  let lo = 0.5; let hi = 2.5; let n = 8;\n  let z = (" +
         value + ", 1);\n  return lo + hi + n; }";
}

bool isOwnName(std::string_view name) { return findBuiltin(name) || isFunctionTransform(name); }

class ForeignNames : public ::testing::TestWithParam<Entry> {
protected:
  std::string name = GetParam().name, kind = GetParam().kind, code = GetParam().code;
  std::string quotedCode = "'" + code + "'";
};
INSTANTIATE_TEST_SUITE_P(, ForeignNames, ::testing::ValuesIn(kEntries),
                         [](const auto &info) { return std::string(info.param.name); });

TEST_P(ForeignNames, compiles) {
  if (code.empty())
    return;
  Compiled compiled(programOf(code));
  EXPECT_TRUE(compiled.isGood()) << compiled.diagnostics.str();
}

/// Functions that a suggestion declares are those of the program above.
TEST_P(ForeignNames, functionsAreKnown) {
  std::string why = GetParam().why;
  std::regex declaration("'(fn [^']*)'");
  for (std::sregex_iterator it(why.begin(), why.end(), declaration), end; it != end; ++it)
    EXPECT_NE(kFunctions.find((*it)[1]), std::string::npos) << (*it)[1];
}

/// No entry has a name of the language, and each suggests an existing one.
TEST_P(ForeignNames, isForeign) {
  EXPECT_FALSE(isOwnName(name));
  if (kind == "renamed")
    EXPECT_EQ(nearestName(name, {GetParam().own}), GetParam().own);
}

TEST_P(ForeignNames, isAnswered) {
  bool isCalled = kind == "idiom" || kind == "absent";
  std::vector<std::string> errors = Compiled(programOf(isCalled ? name + "(x)" : name)).errors();
  // Renamed functions are suggested in calls, renamed types in types.
  if (kind == "renamed" && isOwnName(GetParam().own))
    errors = Compiled(programOf(name + "(x)")).errors();
  ASSERT_GE(errors.size(), 1u);
  std::string expected = kind == "renamed"  ? "unknown "
                         : kind == "absent" ? "'" + name + "' is not in the language: "
                                            : "unknown ";
  EXPECT_NE(errors[0].find(expected), std::string::npos) << errors[0];
  if (!code.empty())
    EXPECT_NE(errors[0].find(quotedCode), std::string::npos) << errors[0];
}

TEST(ForeignNamesTable, isLarge) { EXPECT_GE(std::size(kEntries), 200u); }

TEST(Names, answers) {
  EXPECT_THAT(errorsOf("std(x)"), ElementsAre("2:8: unknown function 'std'; write 'sqrt(var(x))'"));
  EXPECT_THAT(errorsOf("svd(x)"), ElementsAre("2:8: 'svd' is not in the language: there are no factorisations; "
                                              "examples/power_iteration.spmd finds the largest eigenvalue"));
  EXPECT_THAT(errorsOf("nansum(x)"),
              ElementsAre("2:8: unknown function 'nansum'; write 'sum(where(is_nan(x), 0.0, x))'"));
  const char *vmap = "2:8: 'vmap' is not in the language: functions take entire arrays: operations broadcast, products "
                     "and einsum have batch dimensions: 'einsum(\"bi,bi->b\", x, y)'";
  EXPECT_THAT(errorsOf("vmap(tanh)(x)"), ElementsAre(vmap));
  EXPECT_THAT(errorsOf("vmap(tanh)"), ElementsAre(vmap));
  EXPECT_THAT(errorsOf("grad(std)(x)"), ElementsAre("2:13: unknown function 'std'; write 'sqrt(var(x))'"));
  EXPECT_THAT(errorsOf("jnp.linalg.norm(x)"),
              ElementsAre("2:8: there are no methods and no modules, only functions; unknown function 'norm'; write "
                          "'sqrt(sum(x * x))'"));
  EXPECT_THAT(errorsOf("jnp.fft.fft(x)"),
              ElementsAre("2:8: there are no methods and no modules, only functions; 'fft' is not in the language: "
                          "there are no complex numbers"));
  EXPECT_THAT(errorsOf("x * jnp.pi"), ElementsAre("2:12: unknown name 'jnp'; there are no modules: functions and "
                                                  "constants have plain names, as in 'tanh(x)'"));
  EXPECT_THAT(errorsOf("x * pi"), ElementsAre("2:12: unknown name 'pi'; write '3.141592653589793'"));
  // As names of values they give no suggestion: a variable is missing.
  EXPECT_THAT(errorsOf("x * std"), ElementsAre("2:12: unknown name 'std'"));
  EXPECT_THAT(errorsOf("lost(x)(x)"), ElementsAre("2:8: unknown function 'lost'"));
  EXPECT_THAT(
      errorsOf("tanh(x)(x)"),
      ElementsAre("2:8: only a function's name can be called, or the result of grad, value_and_grad, checkpoint or "
                  "shard_map"));
}

/// All short words are near to each other; only a typo gives a suggestion.
TEST(Names, suggestions) {
  std::vector<std::string_view> names = builtinNames();
  names.insert(names.end(), {"relu", "silu", "sgd", "adam", "softmax", "log_softmax", "layer_norm", "cross_entropy"});
  auto nearest = [&](std::string_view name) { return std::string(nearestName(name, names)); };
  for (const char *word : {"std",  "svd",   "det",   "inv", "nansum", "norm", "scan", "solve", "fft", "rand", "step",
                           "loss", "model", "train", "net", "mul",    "add",  "sub",  "gcd",   "lcm", "fmin", "hist"})
    EXPECT_NE(nearest(word), "sgd") << word;
  for (const char *word : {"std", "svd", "nansum", "norm", "scan", "solve", "fft", "gcd", "lcm"})
    EXPECT_EQ(nearest(word), "") << word;
  const std::pair<const char *, const char *> slips[] = {{"rleu", "relu"},
                                                         {"relux", "relu"},
                                                         {"smu", "sum"},
                                                         {"summ", "sum"},
                                                         {"softmx", "softmax"},
                                                         {"sofmax", "softmax"},
                                                         {"ReLU", "relu"},
                                                         {"LayerNorm", "layer_norm"},
                                                         {"logsoftmax", "log_softmax"},
                                                         {"crossentropy", "cross_entropy"},
                                                         {"transpsoe", "transpose"},
                                                         {"concatnate", "concatenate"},
                                                         {"conactenate", "concatenate"},
                                                         {"maxpool", "max_pool"},
                                                         {"argmaks", "argmax"}};
  for (auto [slip, meant] : slips)
    EXPECT_EQ(nearest(slip), meant) << slip;
}

} // namespace
