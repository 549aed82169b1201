//===- Generate.cpp - a random program for a seed -------------------------===//

#include "tests/programs/generator/Generate.h"

#include "tests/programs/generator/Operations.h"

#include "llvm/ADT/STLExtras.h"

namespace spmdc {
namespace {

/// One to three axes, also of size 1 and of odd sizes; sometimes no mesh.
spmd::MeshShape randomMesh(Random &random, int64_t maxDevices) {
  spmd::MeshShape mesh;
  if (random.chance(2))
    return mesh;
  auto axes = random.pick({1, 1, 2, 2, 2, 3});
  int64_t devices = 1;
  for (int i = 0; i < axes; ++i) {
    int64_t size = random.pick({1, 2, 2, 2, 3, 4, 4, 5, 8, 16});
    while (devices * size > maxDevices)
      size /= 2;
    // Large meshes are slow and seldom find failures that small ones do not find.
    if (devices * size > 8 && random.chance(70))
      size = 1;
    devices *= size;
    mesh.axes.push_back({std::string(1, static_cast<char>('a' + i)), size});
  }
  return mesh;
}

/// Makes functions of runs of statements.
void addHelpers(ProgramBuilder &b) {
  size_t count = b.program.statements.size(), begin = 0;
  while (begin < count && b.random.chance(30)) {
    begin += static_cast<size_t>(b.random.integer(0, 3));
    size_t end = begin + static_cast<size_t>(b.random.integer(1, 4));
    if (end > count)
      return;
    b.program.helpers.push_back(
        {begin, end, b.random.pick({HelperStyle::Untyped, HelperStyle::Typed, HelperStyle::Generic})});
    begin = end;
  }
}

/// The last value and some others; a value may be two results, and a parameter may be a result.
void addResults(ProgramBuilder &b) {
  Program &program = b.program;
  auto last = static_cast<int>(program.variables.size()) - 1;
  std::vector<int> chosen = {last};
  for (int variable = last; variable >= 0 && chosen.size() < 4; --variable)
    if (b.random.chance(variable == last ? 4 : 25))
      chosen.push_back(variable);
  bool isTyped = b.random.chance(60);
  for (int variable : chosen) {
    ProgramResult result{variable, isTyped, {}};
    if (isTyped && b.random.chance(70))
      result.annotations = b.randomAnnotations(b.shapeOf(variable).size());
    program.results.push_back(std::move(result));
  }
}

} // namespace

Program generateProgram(mlir::MLIRContext &context, const GeneratorOptions &options, std::set<std::string> *made) {
  // A few programs are larger: loops with a body and a remainder, several blocks of a product.
  SizeLimits limits = options.limits;
  Random root(options.seed);
  if (root.chance(4))
    limits.maxElements *= 10;
  ProgramBuilder b(context, limits, root.next());
  b.program.mesh = randomMesh(b.random, options.maxDevices);
  if (b.random.chance(30))
    b.program.constants.push_back({"N", b.randomSize()});
  for (int64_t i = b.random.integer(1, 3); i > 0; --i) {
    Shape shape = b.randomShape();
    b.addParameter(shape, b.randomDType());
  }
  // The draws for one operation do not change those for the next ones, so that prefixes stay the same.
  for (int i = 0; i < options.maxOperations; ++i) {
    b.random = Random(root.next());
    addOperation(b);
  }
  b.random = Random(options.seed * 0x2545F4914F6CDD1Du + 1);
  addHelpers(b);
  addResults(b);
  if (made)
    made->insert(b.made.begin(), b.made.end());
  return std::move(b.program);
}

} // namespace spmdc
