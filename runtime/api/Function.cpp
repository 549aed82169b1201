//===- Function.cpp - compiled programs, and calling them -----------------===//

#include "runtime/api/FunctionImpl.h"

#include "runtime/api/Runtime.h"
#include "runtime/artifact/ArtifactFile.h"
#include "runtime/artifact/PlanPrinter.h"
#include "runtime/artifact/ResultNames.h"
#include "runtime/artifact/WireBytes.h"
#include "runtime/device/Allocation.h"
#include "runtime/exec/TargetChoice.h"

#include <algorithm>

namespace spmd {
namespace {

Error usage(const std::string &message) { return Error(message, Error::Kind::Usage); }

FunctionImpl &get(const std::shared_ptr<FunctionImpl> &impl) {
  if (!impl)
    throw usage("a Function without a program is used; make it with load() or jit()");
  return *impl;
}

} // namespace

std::vector<ValueDescription> describeValues(const std::vector<ValueInfo> &values, const Mesh &mesh) {
  std::vector<ValueDescription> result;
  std::vector<size_t> numbers = resultNumbers(values);
  for (const ValueInfo &value : values)
    result.push_back({value.name, value.dtype, value.shape, NamedSharding(mesh, specOf(value.sharding)),
                      static_cast<int64_t>(numbers[result.size()])});
  return result;
}

Mesh meshForProgram(const MeshShape &shape, const std::optional<Mesh> &given, std::source_location where) {
  std::vector<int64_t> sizes;
  std::vector<std::string> names;
  std::string axes;
  for (const MeshAxis &axis : shape.axes) {
    sizes.push_back(axis.size);
    names.push_back(axis.name);
    axes += (axes.empty() ? "'" : ", '") + axis.name + "': " + std::to_string(axis.size);
  }
  if (given) {
    if (meshShapeOf(*given) != shape)
      throw usage("the program is for Mesh(" + axes + ") and is given " + given->str());
    return *given;
  }
  if (names.empty()) { // A program without a mesh runs on one device: as arrays without a sharding, on the first here.
    std::shared_ptr<Job> job = currentJob(where);
    return Mesh({}, {}, {job->getDevice(job->getLocalDevices().front()->getId())});
  }
  return make_mesh(std::move(sizes), std::move(names), where);
}

Program::Program(std::shared_ptr<Job> ownJob, std::shared_ptr<const Artifact> ownArtifact, const Mesh &onMesh,
                 ProgramOptions options)
    : job(std::move(ownJob)), artifact(std::move(ownArtifact)), mesh(onMesh) {
  parameters = describeValues(artifact->plan.params, mesh);
  results = describeValues(artifact->plan.results, mesh);
  for (const ValueDescription &result : results)
    prototypes.push_back(planArray(job, result.dtype, result.shape, result.sharding, result.name));
  isDonated.resize(parameters.size());
  donatedTo = std::move(options.donatedTo);
  argumentNames = std::move(options.argumentNames);
  for (int number : options.donated) {
    if (number < 0 || static_cast<size_t>(number) >= parameters.size())
      throw usage("donate_argnums has " + std::to_string(number) + ", and '" + artifact->plan.name + "' takes " +
                  std::to_string(parameters.size()) + " arguments, numbered from 0");
    isDonated[static_cast<size_t>(number)] = true;
  }
  bool takesPart = std::any_of(mesh.device_ids().begin(), mesh.device_ids().end(),
                               [&](int64_t id) { return job->findLocalDevice(id) != nullptr; });
  if (!takesPart)
    return;
  ExecutorOptions executorOptions;
  executorOptions.devices = mesh.device_ids();
  executorOptions.localDevices = job->getLocalDevices();
  executorOptions.collectives = &job->getCollectives();
  executorOptions.gpuTransport = job->getGpuTransport();
  executorOptions.health = &job->getClient();
  executorOptions.checkNans = options.checkNans;
  executorOptions.nansEndJob = options.nansEndJob;
  throwsNans = options.checkNans && !options.nansEndJob;
  executorOptions.profileLog = options.profileLog;
  executorOptions.counters = &job->getCounters();
  executorOptions.print = std::move(options.print);
  executorOptions.prepareTimeout = job->getTimeout();
  try {
    executor = Executor::create(artifact, std::move(executorOptions));
  } catch (...) {
    job->markFailed();
    throw;
  }
}

void checkArguments(const std::shared_ptr<Job> &job, const Plan &plan, const Mesh &mesh,
                    const std::vector<ValueDescription> &parameters, const std::vector<Array> &arguments) {
  if (arguments.size() != parameters.size())
    throw usage("'" + plan.name + "' takes " + std::to_string(parameters.size()) + " arguments and is given " +
                std::to_string(arguments.size()));
  for (size_t i = 0; i < arguments.size(); ++i) {
    const ValueDescription &parameter = parameters[i];
    std::string expected = "parameter '" + parameter.name + "' is " + typeText(parameter.dtype, parameter.shape);
    arguments[i].shape(); // Throws for an empty Array.
    const ArrayImpl &argument = *arguments[i].get_impl();
    std::string place = "argument " + std::to_string(i) + " of '" + plan.name + "' is ";
    if (argument.job != job)
      throw usage(place + "of a job that was left with shutdown()");
    if (argument.dtype != parameter.dtype || argument.shape != parameter.shape)
      throw usage(place + typeText(argument.dtype, argument.shape) + " and " + expected);
    if (!isSameLayout(argument.sharding, parameter.sharding, parameter.shape)) {
      std::string spec = shardingOf(parameter.sharding.spec(), parameter.shape.size()).str();
      throw usage(place + argument.describe() + " on " + argument.sharding.mesh().str() + " and " + expected + " @ " +
                  spec + " on " + mesh.str() + "; pass device_put(array, NamedSharding(mesh, " + spec + "))");
    }
  }
}

/// Returns a name for messages: `parameter 'm.w1'`; for a traced callable `argument 0['w1']`, or `a captured array` for
/// an array that it captures.
std::string Program::nameOf(size_t argument) const {
  if (argumentNames.empty())
    return "parameter '" + parameters[argument].name + "'";
  return argument < argumentNames.size() ? argumentNames[argument] : "a captured array";
}

bool Program::spansProcesses() const {
  return std::any_of(mesh.device_ids().begin(), mesh.device_ids().end(),
                     [&](int64_t id) { return !job->findLocalDevice(id); });
}

/// Throws if a donated array is passed as another argument too.
void Program::checkDonated(const std::vector<Array> &arguments) const {
  for (size_t i = 0; i < arguments.size(); ++i)
    for (size_t j = 0; isDonated[i] && j < arguments.size(); ++j)
      if (i != j && arguments[i].get_impl() == arguments[j].get_impl())
        throw usage(nameOf(i) + " of '" + artifact->plan.name + "' is donated and is the same array as " + nameOf(j) +
                    ", which needs it");
}

namespace {

/// The arrays that a call has taken; the destructor gives them back unless keep() was called.
class Donations {
public:
  Donations() = default;
  Donations(const Donations &) = delete;
  Donations &operator=(const Donations &) = delete;
  ~Donations() {
    for (auto &[array, parts] : taken)
      array->undoDonation(std::move(parts));
  }

  /// Takes an array. Returns whether the call may write to the memory.
  bool take(const std::shared_ptr<const ArrayImpl> &array, const PartsRef &parts, const std::string &why) {
    bool isFree = array->deleteDonated(why, parts);
    taken.push_back({array, parts});
    return isFree;
  }
  void keep() { taken.clear(); }

private:
  std::vector<std::pair<std::shared_ptr<const ArrayImpl>, PartsRef>> taken;
};

} // namespace

/// Returns the buffers of the arguments by local device, and the computations that they wait for.
Program::Inputs Program::takeInputs(const std::vector<Array> &arguments) const {
  size_t locals = executor ? executor->getLocalPositions().size() : 0;
  Inputs inputs;
  inputs.buffers.resize(locals);
  for (const Array &argument : arguments) {
    const ArrayImpl &impl = *argument.get_impl();
    inputs.parts.push_back(impl.getParts());
    const std::vector<LocalPart> &parts = *inputs.parts.back();
    // The same device may be at another position of the argument's mesh.
    for (size_t i = 0; i < locals; ++i) {
      int64_t id = executor->getLocalDevices()[i]->getId();
      auto part = std::find_if(parts.begin(), parts.end(),
                               [&](const LocalPart &candidate) { return candidate.device->getId() == id; });
      inputs.buffers[i].push_back(part->buffer);
    }
    if (!impl.pending)
      continue;
    impl.pending->prune();
    if (impl.pending->isDone())
      impl.pending->wait(); // Throws the error of a failed computation.
    else
      inputs.before.push_back(impl.pending);
  }
  return inputs;
}

/// Creates the arrays of the results. A result with a `source` takes the memory of that argument.
std::vector<std::shared_ptr<ArrayImpl>> Program::makeResults(const Inputs &inputs,
                                                             const std::vector<std::optional<size_t>> &source,
                                                             std::vector<std::vector<DeviceBufferRef>> &outputs) const {
  std::vector<std::shared_ptr<ArrayImpl>> made;
  try {
    for (const auto &prototype : prototypes) {
      auto impl = std::make_shared<ArrayImpl>(*prototype);
      std::vector<LocalPart> &parts = impl->editParts();
      std::optional<size_t> reused = source[made.size()];
      int64_t bytes = std::max<int64_t>(1, artifact->plan.results[made.size()].localBytes());
      for (size_t i = 0; i < outputs.size(); ++i) {
        parts[i].buffer = reused ? inputs.buffers[i][*reused] : allocateFor(*parts[i].device, bytes, [&] {
          return "the result " + impl->describe() + " of '" + artifact->plan.name + "'";
        });
        parts[i].use = std::make_shared<const BufferUse>();
        outputs[i].push_back(parts[i].buffer);
      }
      made.push_back(std::move(impl));
    }
  } catch (const Error &error) {
    // The other processes run this call and would wait for this one.
    if (spansProcesses()) {
      job->markFailed();
      job->getClient().reportFailure(error.what());
    }
    throw;
  }
  return made;
}

std::vector<Array> Program::call(const std::vector<Array> &arguments) {
  checkArguments(job, artifact->plan, mesh, parameters, arguments);
  checkDonated(arguments);
  // Keeps the buffers until the launch is queued: another thread that donates one of the arguments meanwhile must not
  // write memory that this launch is going to read.
  Inputs inputs = takeInputs(arguments);
  Donations donations;
  // The parameter whose memory a result takes. A device runs launches one after another, so it writes that memory after
  // all earlier runs have read it.
  std::vector<std::optional<size_t>> source(prototypes.size());
  for (size_t p = 0; p < arguments.size(); ++p) {
    if (!isDonated[p])
      continue;
    bool isFree = donations.take(arguments[p].get_impl(), inputs.parts[p],
                                 "it was donated to " + donatedTo + ", as " + nameOf(p));
    if (int32_t result = artifact->plan.aliases[p]; result >= 0 && isFree)
      source[static_cast<size_t>(result)] = p;
  }
  std::vector<std::vector<DeviceBufferRef>> outputs(inputs.buffers.size());
  std::vector<std::shared_ptr<ArrayImpl>> made = makeResults(inputs, source, outputs);
  std::vector<Array> arrays;
  if (!executor) {
    donations.keep();
    for (std::shared_ptr<ArrayImpl> &impl : made)
      arrays.push_back(Array(std::move(impl)));
    return arrays;
  }
  std::shared_ptr<Launch> launch = executor->launch(std::move(inputs.buffers), std::move(outputs));
  donations.keep();
  auto pending = std::make_shared<Pending>(job, launch, std::move(inputs.before));
  inputs.parts.clear();
  // As with JAX's debug_nans, this call throws, and returns no array whose every use would throw again.
  if (throwsNans)
    pending->wait();
  else
    job->getOpenLaunches().add(std::move(launch));
  for (std::shared_ptr<ArrayImpl> &impl : made) {
    impl->pending = pending;
    arrays.push_back(Array(std::move(impl)));
  }
  return arrays;
}

std::string Program::getText(const std::string &stage) const {
  if (stage != "plan")
    throw usage("a loaded artifact has the stage 'plan' only and not '" + stage +
                "': it holds machine code and no IR; jit() of its source has the others");
  return printPlan(artifact->plan);
}

void Program::lower(const std::vector<Array> *arguments) const {
  if (arguments)
    checkArguments(job, artifact->plan, mesh, parameters, *arguments);
}

CostAnalysis Program::getCosts() const {
  CostAnalysis::Figures figures;
  figures.wire_bytes = wireBytesPerDevice(artifact->plan);
  return CostAnalysis(figures);
}

std::vector<Array> Function::call(const std::vector<Array> &arguments) const { return get(impl).call(arguments); }
std::vector<ValueDescription> Function::parameters() const { return get(impl).getParameters(); }
std::vector<ValueDescription> Function::results() const { return get(impl).getResults(); }
std::vector<Array> Function::result(const std::vector<Array> &results, const std::string &name) const {
  std::vector<ValueInfo> values;
  std::string known;
  for (ValueDescription &value : get(impl).getResults()) {
    known += (known.empty() ? "" : ", ") + value.name;
    values.push_back({std::move(value.name), value.dtype, std::move(value.shape), {}, {}});
  }
  if (results.size() != values.size())
    throw usage("result() is given " + std::to_string(results.size()) +
                " arrays, and a call of this function returns " + std::to_string(values.size()));
  std::vector<Array> found;
  for (const NamedLeaf &leaf : findLeaves(values, name))
    found.push_back(results[leaf.index]);
  if (found.empty())
    throw usage("there is no result '" + name + "'; there are " + (known.empty() ? "none" : known));
  return found;
}

std::string Function::as_text(const std::string &stage) const { return get(impl).getText(stage); }

Lowered Function::lower() const {
  get(impl).lower(nullptr);
  return Lowered(impl);
}

Lowered Function::lower(const std::vector<Array> &arguments) const {
  get(impl).lower(&arguments);
  return Lowered(impl);
}

Function load(const std::string &path, std::optional<Mesh> mesh, std::source_location where) {
  TargetChooser choose = targetChooserFor(currentJob(where)->getLocalDevices());
  return load(std::make_shared<const Artifact>(readArtifact(path, choose)), std::move(mesh), where);
}

Function load(std::shared_ptr<const Artifact> artifact, std::optional<Mesh> mesh, std::source_location where) {
  std::shared_ptr<Job> job = currentJob(where);
  Mesh devices = meshForProgram(artifact->plan.mesh, mesh, where);
  return Function(std::make_shared<Program>(std::move(job), std::move(artifact), devices));
}

} // namespace spmd
