//===- FunctionImpl.h - the representation of a Function --------*- C++ -*-===//
#pragma once

#include "runtime/api/ArrayImpl.h"
#include "runtime/artifact/MemoryUse.h"

#include <source_location>

namespace spmd {

/// A callable program: a loaded one, or one that the compiler compiles at its first call (runtime/jit). All members are
/// thread-safe.
class FunctionImpl {
public:
  virtual ~FunctionImpl() = default;
  virtual std::vector<Array> call(const std::vector<Array> &arguments) = 0;
  virtual std::vector<ValueDescription> getParameters() const = 0;
  virtual std::vector<ValueDescription> getResults() const = 0;
  /// Reports the program's errors, and those of the arguments if there are any, without communication.
  virtual void lower(const std::vector<Array> *arguments) const = 0;
  /// Prepares the first call. Collective among the processes of the mesh.
  virtual void compile() const = 0;
  /// The following functions do not communicate.
  virtual std::string getText(const std::string &stage) const = 0;
  virtual CostAnalysis getCosts() const = 0;
  virtual MemoryUse getMemory() const = 0;
};

struct ProgramOptions {
  /// Receives the text of `print`; by default it is dropped.
  PrintFunction print;
  /// See ExecutorOptions.
  bool checkNans = false, nansEndJob = false;
  ProfileLog *profileLog = nullptr;
  /// Indices of parameters whose arguments a call takes, and the reason that later uses of these arguments quote.
  std::vector<int> donated = {};
  std::string donatedTo = {};
  /// Names of the arguments for messages, if they are not the parameters' names: `argument 0['w']`.
  std::vector<std::string> argumentNames = {};
};

std::vector<ValueDescription> describeValues(const std::vector<ValueInfo> &values, const Mesh &mesh);

/// Throws the usage error if an argument does not have the type and sharding of its parameter of `plan` on this mesh.
void checkArguments(const std::shared_ptr<Job> &job, const Plan &plan, const Mesh &mesh,
                    const std::vector<ValueDescription> &parameters, const std::vector<Array> &arguments);

/// A compiled program on the devices of a mesh.
class Program final : public FunctionImpl {
public:
  /// Collective among the processes of the mesh. `mesh` must have the axes of the artifact's mesh.
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

  /// Null if no device of this process is in the mesh.
  Executor *getExecutor() { return executor.get(); }
  const Mesh &getMesh() const { return mesh; }

private:
  struct Inputs {
    std::vector<std::vector<DeviceBufferRef>> buffers; ///< By local device and parameter.
    std::vector<PartsRef> parts;                       ///< By parameter: keep the memory alive.
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
  std::unique_ptr<Executor> executor;                       ///< Null if no device of this process is in the mesh.
  std::vector<bool> isDonated;                              ///< Indexed by parameter.
  std::string donatedTo;
  std::vector<std::string> argumentNames; ///< Empty: the parameters' names.
  bool throwsNans = false;                ///< A call that finds a NaN throws, and therefore waits for its results.
};

/// Returns the mesh of a program over all devices of the job, or the given one if it has the program's axes.
Mesh meshForProgram(const MeshShape &shape, const std::optional<Mesh> &given, std::source_location where);

} // namespace spmd
