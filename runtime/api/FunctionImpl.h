//===- FunctionImpl.h - what a Function consists of -------------*- C++ -*-===//
#pragma once

#include "runtime/api/ArrayImpl.h"

#include <source_location>

namespace spmd {

/// What may be called: a loaded program, or one that the compiler makes at its first call (runtime/jit).
class FunctionImpl {
public:
  virtual ~FunctionImpl() = default;
  virtual std::vector<Array> call(const std::vector<Array> &arguments) = 0;
  virtual std::vector<ValueDescription> getParameters() const = 0;
  virtual std::vector<ValueDescription> getResults() const = 0;
  virtual std::string getText(const std::string &stage) const = 0;
};

struct ProgramOptions {
  /// Where `print` of the program goes; by default nowhere.
  PrintFunction print;
  /// See ExecutorOptions.
  bool checkNans = false;
  ProfileLog *profileLog = nullptr;
};

/// A compiled program on the devices of a mesh.
class Program final : public FunctionImpl {
public:
  /// Collective among the processes of the mesh. `mesh` must have the axes of the artifact's.
  Program(std::shared_ptr<Job> job, std::shared_ptr<const Artifact> artifact, const Mesh &mesh,
          ProgramOptions options = {});

  std::vector<Array> call(const std::vector<Array> &arguments) override;
  std::vector<ValueDescription> getParameters() const override { return parameters; }
  std::vector<ValueDescription> getResults() const override { return results; }
  std::string getText(const std::string &stage) const override;

  /// Null where no device of this process takes part.
  Executor *getExecutor() { return executor.get(); }
  const Mesh &getMesh() const { return mesh; }

private:
  void checkArguments(const std::vector<Array> &arguments) const;

  std::shared_ptr<Job> job;
  std::shared_ptr<const Artifact> artifact;
  Mesh mesh;
  std::vector<ValueDescription> parameters, results;
  std::vector<std::shared_ptr<const ArrayImpl>> prototypes; ///< Of the results, without buffers.
  std::unique_ptr<Executor> executor;                       ///< Null where no device of this process is in the mesh.
};

/// The mesh of a program over all devices of the job, or the given one where its axes are the program's.
Mesh meshForProgram(const MeshShape &shape, const std::optional<Mesh> &given, std::source_location where);

} // namespace spmd
