//===- Differential.h - one program through every station -------*- C++ -*-===//
//
// The check that all random programs go through: what the program means in the global view must be what the
// partitioned program, the kernels, the plan, and the compiled artifact give. Padding is poison, with two kinds of it;
// copies of a result on different devices must agree in every bit.
//
//===----------------------------------------------------------------------===//
#pragma once

#include "passes/pipeline/Stage.h"
#include "tests/programs/support/ProgramGenerator.h"

#include <string>

namespace spmdc {

struct DifferentialOptions {
  /// The last station that is evaluated on the process grid.
  Stage lastStage = Stage::Plan;
  /// Compile to an artifact and run it on all devices of the mesh, in this process.
  bool compiled = false;
  unsigned optimizationLevel = 2;
};

/// Empty where all stations agree; else what differs, with the module of the failing station.
std::string checkProgram(RandomProgram &program, const DifferentialOptions &options);

/// Where two results differ by more than their accuracy allows; else empty.
std::string compareResults(llvm::ArrayRef<Tensor> expected, llvm::ArrayRef<Tensor> actual,
                           llvm::ArrayRef<Accuracy> accuracy);

/// Generates and checks the program of a seed; the text of a failure names the seed and the mode.
std::string checkSeed(const GeneratorOptions &generator, const DifferentialOptions &options);

/// The program of a seed as text.
std::string describeSeed(const GeneratorOptions &generator);

} // namespace spmdc
