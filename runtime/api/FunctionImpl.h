//===- FunctionImpl.h - what a Function consists of -------------*- C++ -*-===//
#pragma once

#include "runtime/api/ArrayImpl.h"
#include "runtime/artifact/MemoryUse.h"

#include <source_location>

namespace spmd {

/// What may be called: a loaded program, or one that the compiler makes at its first call (runtime/jit). All members
/// are safe from any thread.
class FunctionImpl {
public:
  virtual ~FunctionImpl() = default;
  virtual std::vector<Array> call(const std::vector<Array> &arguments) = 0;
  virtual std::vector<ValueDescription> getParameters() const = 0;
  virtual std::vector<ValueDescription> getResults() const = 0;
  /// Finds the program's mistakes without communication, and those of the arguments where there are any to check.
  virtual void lower(const std::vector<Array> *arguments) const = 0;
  /// Makes it ready to be called. Collective among the processes of the mesh.
  virtual void compile() const = 0;
  /// Without communication, as the rest here.
  virtual std::string getText(const std::string &stage) const = 0;
  virtual CostAnalysis getCosts() const = 0;
  virtual MemoryUse getMemory() const = 0;
};

struct ProgramOptions {
  /// Where `print` of the program goes; by default nowhere.
  PrintFunction print;
  /// See ExecutorOptions.
  bool checkNans = false, nansEndJob = false;
  ProfileLog *profileLog = nullptr;
  /// Numbers of parameters whose arguments a call takes for itself, and what their later use is told of that.
  std::vector<int> donated = {};
  std::string donatedTo = {};
  /// What messages call the arguments, where that is not the parameters' names: `argument 0['w']`.
  std::vector<std::string> argumentNames = {};
};

std::vector<ValueDescription> describeValues(const std::vector<ValueInfo> &values, const Mesh &mesh);

/// Throws the usage error where arguments are not what the parameters of `plan` say on this mesh.
void checkArguments(const std::shared_ptr<Job> &job, const Plan &plan, const Mesh &mesh,
                    const std::vector<ValueDescription> &parameters, const std::vector<Array> &arguments);

/// A compiled program on the devices of a mesh.
class Program final : public FunctionImpl {
public:
  /// Collective among the processes of the mesh. `mesh` must have the axes of the artifact's.
  Program(std::shared_ptr<Job> job, std::shared_ptr<const Artifact> artifact, const Mesh &mesh,
          ProgramOptions options = {});

  std::vector<Array> call(const std::vector<Array> &arguments) override;
  std::vector<ValueDescription> getParameters() const override { return parameters; }
  std::vector<ValueDescription> getResults() const override { return results; }
  void lower(const std::vector<Array> *arguments) const override;
  void compile() const override {}
  std::string getText(const std::string &stage) const override;
  CostAnalysis getCosts() const override;
  MemoryUse getMemory() const override { return memoryUseOf(*artifact); }

  /// Null where no device of this process takes part.
  Executor *getExecutor() { return executor.get(); }
  const Mesh &getMesh() const { return mesh; }

private:
  struct Inputs {
    std::vector<std::vector<DeviceBufferRef>> buffers; ///< By local device and parameter.
    std::vector<PartsRef> parts;                       ///< By parameter: what holds the memory.
    std::vector<std::shared_ptr<Pending>> before;
  };
  std::string nameOf(size_t argument) const;
  bool spansProcesses() const;
  void checkDonated(const std::vector<Array> &arguments) const;
  Inputs takeInputs(const std::vector<Array> &arguments) const;
  std::vector<std::shared_ptr<ArrayImpl>> makeResults(const Inputs &inputs,
                                                      const std::vector<std::optional<size_t>> &source,
                                                      std::vector<std::vector<DeviceBufferRef>> &outputs) const;

  std::shared_ptr<Job> job;
  std::shared_ptr<const Artifact> artifact;
  Mesh mesh;
  std::vector<ValueDescription> parameters, results;
  std::vector<std::shared_ptr<const ArrayImpl>> prototypes; ///< Of the results, without buffers.
  std::unique_ptr<Executor> executor;                       ///< Null where no device of this process is in the mesh.
  std::vector<bool> isDonated;                              ///< By parameter.
  std::string donatedTo;
  std::vector<std::string> argumentNames; ///< Empty: they are called as the parameters.
  bool throwsNans = false;                ///< A call that meets a NaN throws it itself, and so waits.
};

/// The mesh of a program over all devices of the job, or the given one where its axes are the program's.
Mesh meshForProgram(const MeshShape &shape, const std::optional<Mesh> &given, std::source_location where);

} // namespace spmd
