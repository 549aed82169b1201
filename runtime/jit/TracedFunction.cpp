//===- TracedFunction.cpp - callables compiled for their arguments --------===//

#include "runtime/api/Runtime.h"
#include "runtime/api/include/spmd/trace.h"
#include "runtime/jit/EagerPrograms.h"
#include "runtime/jit/JitFunction.h"
#include "runtime/jit/LanguageText.h"
#include "runtime/jit/LeafNames.h"
#include "runtime/jit/Trace.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <shared_mutex>

namespace spmd::detail {
namespace {

Error usage(const std::string &message) { return Error(message, Error::Kind::Usage); }

/// A traced program as a function of the callable's arrays; captured arrays are bound.
class TracedProgram final : public FunctionImpl {
public:
  TracedProgram(std::shared_ptr<FunctionImpl> program, TracedText traced, size_t arguments)
      : program(std::move(program)), traced(std::move(traced)), arguments(arguments) {}

  std::vector<Array> call(const std::vector<Array> &given) override { return program->call(withCaptured(given)); }
  std::vector<ValueDescription> getParameters() const override {
    std::vector<ValueDescription> all = program->getParameters();
    all.resize(arguments);
    return all;
  }
  std::vector<ValueDescription> getResults() const override { return program->getResults(); }
  void lower(const std::vector<Array> *given) const override {
    if (!given)
      return program->lower(nullptr);
    std::vector<Array> all = withCaptured(*given);
    program->lower(&all);
  }
  void compile() const override { program->compile(); }
  CostAnalysis getCosts() const override { return program->getCosts(); }
  MemoryUse getMemory() const override { return program->getMemory(); }

  std::string getText(const std::string &stage) const override {
    if (stage != "source")
      return program->getText(stage);
    std::string text;
    size_t line = 0;
    for (size_t begin = 0; begin < traced.text.size(); ++line) {
      size_t end = traced.text.find('\n', begin);
      text += traced.text.substr(begin, end - begin) + "  // " + placeText(traced.places[line]) + "\n";
      begin = end + 1;
    }
    return text;
  }

private:
  std::vector<Array> withCaptured(const std::vector<Array> &given) const {
    std::vector<Array> all = given;
    all.insert(all.end(), traced.captured.begin(), traced.captured.end());
    return all;
  }

  std::shared_ptr<FunctionImpl> program;
  TracedText traced;
  size_t arguments;
};

} // namespace

/// The programs of one callable. Thread-safe; the callable itself is called by one thread at a time.
class TracedFunction {
public:
  TracedFunction(JitOptions ownOptions, std::source_location where) : options(std::move(ownOptions)), where(where) {
    if (options.function != JitOptions().function || !options.constants.empty())
      throw usage(placeText(where) + ": error: jit of a callable has no `function` and no `constants`: the callable is "
                                     "the function, and what it captures is constant");
    if (options.file_name == JitOptions().file_name)
      options.file_name = "<traced>";
  }

  struct Entry {
    std::shared_ptr<FunctionImpl> program;
    std::shared_ptr<const void> tree; ///< The tree structure of the results.
    bool isCommitted = true;          ///< An argument or the options determine the mesh.
  };

  /// The program for these arguments. Moves arguments to its mesh if they are on another one.
  Entry find(TraceInput &input, const TraceBody &body) {
    std::shared_ptr<Job> current = currentJob(where);
    std::vector<Array> &leaves = input.leaves;
    for (const Array &leaf : leaves)
      leaf.shape(); // Throws for an empty Array.
    std::optional<Mesh> said = options.mesh ? options.mesh : meshOfArrays(leaves, where);
    Mesh mesh = said ? *said : defaultMesh(*current);
    std::string key = input.structure + "\n" + meshKey(mesh);
    std::vector<NamedSharding> shardings;
    for (size_t i = 0; i < leaves.size(); ++i) {
      shardings.push_back(shardingOn(mesh, leaves[i], i));
      key += "\n" + shardedTypeText(leaves[i].dtype(), leaves[i].shape(), shardings.back());
    }
    if (std::optional<Entry> known = lookUp(current, key))
      return *known;
    // One thread traces at a time, so that a callable is traced once for each key and need not be thread-safe. A thread
    // that is already tracing another callable does not wait here: two threads that trace each other's callables would
    // deadlock.
    std::unique_lock tracing(tracingMutex, std::defer_lock);
    if (!Trace::current())
      tracing.lock();
    else if (!tracing.try_lock())
      return trace(current, mesh, said.has_value(), key, shardings, input, body);
    if (std::optional<Entry> known = lookUp(current, key)) // Another thread was faster.
      return *known;
    return trace(current, mesh, said.has_value(), key, shardings, input, body);
  }

  const std::source_location &getWhere() const { return where; }

  size_t count() const {
    std::shared_lock lock(mutex);
    return entries.size();
  }

private:
  std::optional<Entry> lookUp(const std::shared_ptr<Job> &current, const std::string &key) const {
    std::shared_lock lock(mutex);
    auto known = entries.find(key);
    return job.lock() == current && known != entries.end() ? std::optional(known->second) : std::nullopt;
  }

  Entry trace(const std::shared_ptr<Job> &current, const Mesh &mesh, bool isCommitted, const std::string &key,
              const std::vector<NamedSharding> &shardings, const TraceInput &input, const TraceBody &body) {
    const std::vector<Array> &leaves = input.leaves;
    std::vector<int> donated = donatedLeaves(input);
    TraceOutput output;
    TracedText traced;
    {
      Trace trace(current, mesh, where);
      std::vector<Array> parameters;
      for (size_t i = 0; i < leaves.size(); ++i)
        parameters.push_back(trace.addParameter(leaves[i].dtype(), leaves[i].shape(), shardings[i]));
      output = body(parameters);
      traced = trace.finish(output.leaves, matchDonated(donated, parameters, output.leaves));
    }
    JitOptions programOptions = options;
    programOptions.donate_argnums = donated;
    programOptions.mesh = mesh;
    auto program = makeJitFunction(current, traced.text, programOptions, where, traced.places,
                                   leafNames(input.structure, input.counts.size()));
    auto made = std::make_shared<TracedProgram>(std::move(program), std::move(traced), leaves.size());
    std::map<std::string, Entry> old; // Destroyed outside of the lock.
    std::lock_guard lock(mutex);
    if (job.lock() != current) // Executors belong to a job.
      old.swap(entries);
    job = current;
    return entries.try_emplace(key, Entry{std::move(made), std::move(output.tree), isCommitted}).first->second;
  }

  /// The arrays of the donated arguments.
  std::vector<int> donatedLeaves(const TraceInput &input) const {
    std::vector<int> leaves;
    for (int argument : options.donate_argnums) {
      if (argument < 0 || static_cast<size_t>(argument) >= input.counts.size())
        throw usage(placeText(where) + ": error: donate_argnums has " + std::to_string(argument) +
                    ", and the call has " + std::to_string(input.counts.size()) + " arguments, numbered from 0");
      auto begin = input.counts.begin();
      size_t first = std::accumulate(begin, begin + argument, size_t(0));
      for (size_t i = 0; i < input.counts[static_cast<size_t>(argument)]; ++i)
        leaves.push_back(static_cast<int>(first + i));
    }
    return leaves;
  }

  /// For each parameter, the result that may reuse its memory: the first free one of its type, or -1.
  static std::vector<int32_t> matchDonated(const std::vector<int> &donated, const std::vector<Array> &parameters,
                                           const std::vector<Array> &results) {
    std::vector<int32_t> taken(parameters.size(), -1);
    for (int p : donated)
      for (size_t r = 0; r < results.size(); ++r) {
        const Array &parameter = parameters[static_cast<size_t>(p)];
        bool isFree = std::find(taken.begin(), taken.end(), static_cast<int32_t>(r)) == taken.end();
        if (isFree && results[r].dtype() == parameter.dtype() && results[r].shape() == parameter.shape()) {
          taken[static_cast<size_t>(p)] = static_cast<int32_t>(r);
          break;
        }
      }
    return taken;
  }

  static std::string meshKey(const Mesh &mesh) {
    std::string text = meshText(mesh);
    for (int64_t id : mesh.device_ids())
      text += std::to_string(id) + ",";
    return text;
  }

  /// The sharding of an argument on the program's mesh.
  NamedSharding shardingOn(const Mesh &mesh, Array &array, size_t number) const {
    if (std::optional<Array> placed = onMesh(array, mesh)) {
      array = *placed;
      return array.sharding().mesh() == mesh ? array.sharding() : NamedSharding(mesh, P());
    }
    throw usage(placeText(where) + ": error: array " + std::to_string(number) + " of the arguments, " +
                array.get_impl()->describe() + ", is on " + array.sharding().mesh().str() +
                ", and the function is for " + mesh.str() +
                "; pass device_put(array, NamedSharding(mesh, ...)) on that mesh");
  }

  JitOptions options;
  std::source_location where;
  std::recursive_mutex tracingMutex; ///< Recursive, because the callable may call its own lower().
  mutable std::shared_mutex mutex;   ///< Protects the two members below.
  std::weak_ptr<Job> job;
  std::map<std::string, Entry> entries; ///< By tree structure, mesh, types and shardings.
};

std::shared_ptr<TracedFunction> makeTracedFunction(JitOptions options, std::source_location where) {
  return std::make_shared<TracedFunction>(std::move(options), where);
}

TraceOutput callTraced(TracedFunction &function, TraceInput input, const TraceBody &body) {
  TracedFunction::Entry entry = function.find(input, body);
  std::vector<Array> results = entry.program->call(input.leaves);
  return {entry.isCommitted ? std::move(results) : uncommitted(std::move(results)), entry.tree};
}

Lowered lowerTraced(TracedFunction &function, TraceInput input, const TraceBody &body) {
  TracedFunction::Entry entry = function.find(input, body);
  entry.program->lower(&input.leaves);
  return Lowered(entry.program);
}

size_t countTraced(const TracedFunction &function) { return function.count(); }
bool isTracing() { return Trace::current() != nullptr; }

/// The jitted callables that are being called within a trace of this thread.
static thread_local int nestedTraces = 0;

NestedTrace::NestedTrace(const TracedFunction &function) {
  // Enough for layers within layers; with frames of 16 KB the calls still fit into a thread's stack of 8 MB.
  constexpr int most = 256;
  if (nestedTraces >= most)
    throw usage(placeText(function.getWhere()) + ": error: " + std::to_string(most) +
                " calls of jitted callables are nested while the one jitted here is traced, so it seems to call "
                "itself, and its trace would not end; use while_loop, fori_loop or cond");
  ++nestedTraces;
}

NestedTrace::~NestedTrace() { --nestedTraces; }

} // namespace spmd::detail
