//===- Inputs.cpp - the arguments of `run` --------------------------------===//

#include "runtime/runner/Inputs.h"

#include "runtime/artifact/PlanPrinter.h"
#include "runtime/io/BoxCopy.h"
#include "runtime/io/Npy.h"
#include "runtime/io/Random.h"
#include "runtime/runner/InputArchive.h"
#include "runtime/runner/InputChecksums.h"
#include "runtime/support/Elements.h"
#include "runtime/support/NameList.h"
#include "runtime/support/Spelling.h"

#include <charconv>
#include <cstring>
#include <map>

namespace spmd {
namespace {

Error usage(const std::string &message) { return Error(message, Error::Kind::Usage); }

struct Spec {
  enum class Kind { Zeros, Ones, Iota, Normal, Key, Npy, Npz, Safetensors, Batches } kind = Kind::Zeros;
  std::string name;  ///< Parameter or struct.
  std::string value; ///< The file.
  uint64_t seed = 0;
  bool isFile() const { return kind == Kind::Npy || isArchive(); }
  bool isArchive() const { return kind == Kind::Npz || kind == Kind::Safetensors; }
};

Spec parseSpec(const std::string &text) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw usage("--input " + text + " is not of the form NAME=FILE or NAME=KIND");
  Spec spec;
  spec.name = text.substr(0, equals);
  spec.value = text.substr(equals + 1);
  const std::string &value = spec.value;
  if (value == "zeros")
    spec.kind = Spec::Kind::Zeros;
  else if (value == "ones")
    spec.kind = Spec::Kind::Ones;
  else if (value == "iota")
    spec.kind = Spec::Kind::Iota;
  else if (value.starts_with("normal:")) {
    spec.kind = Spec::Kind::Normal;
    const char *begin = value.data() + 7, *end = value.data() + value.size();
    auto [rest, error] = std::from_chars(begin, end, spec.seed);
    if (error != std::errc() || rest != end)
      throw usage("--input " + text + ": the seed after 'normal:' is not a number");
  } else if (value.starts_with("key:")) {
    spec.kind = Spec::Kind::Key;
    int64_t seed = 0;
    const char *begin = value.data() + 4, *end = value.data() + value.size();
    auto [rest, error] = std::from_chars(begin, end, seed);
    if (error != std::errc() || rest != end)
      throw usage("--input " + text + ": the seed after 'key:' is not a number");
    spec.seed = static_cast<uint32_t>(seed);
  } else if (value.starts_with("batches:")) {
    spec.kind = Spec::Kind::Batches;
    spec.value = value.substr(8);
    if (!spec.value.ends_with(".npy"))
      throw usage("--input " + text + ": batches are read from a .npy file, and '" + spec.value + "' is not one");
  } else if (value.ends_with(".npy"))
    spec.kind = Spec::Kind::Npy;
  else if (value.ends_with(".npz"))
    spec.kind = Spec::Kind::Npz;
  else if (value.ends_with(".safetensors"))
    spec.kind = Spec::Kind::Safetensors;
  else
    throw usage(
        "--input " + text + ": '" + value +
        "' is neither a file (.npy, .npz, .safetensors) nor one of zeros, ones, iota, normal:SEED and key:SEED");
  return spec;
}

/// The input of each parameter, and its key in an archive.
struct Assignment {
  const Spec *spec = nullptr;
  std::string key;
};

std::vector<Assignment> assign(const Plan &plan, const std::vector<Spec> &specs) {
  std::vector<Assignment> result(plan.params.size());
  std::string known;
  std::vector<std::string> names;
  for (const ValueInfo &param : plan.params) {
    known += (known.empty() ? "" : ", ") + param.name;
    names.push_back(param.name);
  }
  for (const Spec &spec : specs) {
    bool isUsed = false;
    for (size_t i = 0; i < plan.params.size(); ++i) {
      const std::string &name = plan.params[i].name;
      bool isExact = name == spec.name, isLeaf = name.starts_with(spec.name + ".");
      if (!isExact && !isLeaf)
        continue;
      // `--input p=FILE --input p.w=zeros`: the longer name says more about p.w.
      size_t given = result[i].spec ? result[i].spec->name.size() : 0;
      if (given == spec.name.size())
        throw usage("parameter '" + name + "' is given twice, by --input " + result[i].spec->name + " and --input " +
                    spec.name);
      if (isLeaf && (spec.kind == Spec::Kind::Npy || spec.kind == Spec::Kind::Batches))
        throw usage("--input " + spec.name + "=" + spec.value + ": '" + spec.name +
                    "' is a struct; give a .npz or .safetensors file whose keys are its fields");
      if (given < spec.name.size())
        result[i] = {&spec, isExact ? name : name.substr(spec.name.size() + 1)};
      isUsed = true;
    }
    if (!isUsed)
      throw usage("--input " + spec.name + ": the program has no parameter of that name" +
                  (known.empty() ? "; it has none" : "; it has " + known) + didYouMean(spec.name, names));
  }
  std::string missing;
  for (size_t i = 0; i < plan.params.size(); ++i)
    if (!result[i].spec)
      missing += (missing.empty() ? "" : ", ") + plan.params[i].name + ": " + typeText(plan.params[i]);
  if (!missing.empty())
    throw usage("no --input for " + missing +
                "; give NAME=FILE.npy, or NAME=zeros, ones, iota, normal:SEED or key:SEED");
  return result;
}

std::vector<Spec> parseSpecs(const std::vector<std::string> &texts) {
  std::vector<Spec> specs;
  for (const std::string &text : texts)
    specs.push_back(parseSpec(text));
  return specs;
}

void checkKind(const Spec &spec, const ValueInfo &param) {
  const NarrowFormat *narrow = findNarrow(param.format);
  if (spec.kind == Spec::Kind::Normal && !(narrow ? narrow->isFloat() : isFloat(param.dtype)))
    throw usage("--input " + spec.name + "=" + spec.value + ": parameter '" + param.name + "' is " + typeText(param) +
                " and normal generates floats");
  if (spec.kind == Spec::Kind::Key && (param.dtype != DType::U32 || param.shape.size() != 1 || param.shape[0] != 2))
    throw usage("--input " + spec.name + "=" + spec.value + ": parameter '" + param.name + "' is " + typeText(param) +
                " and not one random key");
  if ((spec.kind == Spec::Kind::Ones || spec.kind == Spec::Kind::Iota) && param.dtype == DType::Key)
    throw usage("--input " + spec.name + "=" + spec.value + ": parameter '" + param.name +
                "' is a random key; give a .npy of two u32, or zeros");
}

/// The same as generateRow for narrow numbers, which round the generated ones.
void generateNarrowRow(const Spec &spec, const NarrowFormat &format, int64_t first, int64_t count, void *out) {
  auto *codes = static_cast<uint8_t *>(out);
  for (int64_t i = 0; i < count; ++i) {
    int64_t number = spec.kind == Spec::Kind::Iota ? first + i : int64_t(spec.kind == Spec::Kind::Ones);
    float real = spec.kind == Spec::Kind::Normal ? normalElement(spec.seed, static_cast<uint64_t>(first + i))
                                                 : static_cast<float>(number);
    codes[i] = format.isFloat() ? encodeNarrow(format, real) : wrapNarrow(format, number);
  }
}

/// Generates `count` consecutive elements; `first` is the row-major index of the first one in the global array.
void generateRow(const Spec &spec, const ValueInfo &param, int64_t first, int64_t count, void *out) {
  if (const NarrowFormat *narrow = findNarrow(param.format))
    return generateNarrowRow(spec, *narrow, first, count, out);
  DType dtype = param.dtype;
  if (dtype == DType::Key) {
    std::memset(out, 0, static_cast<size_t>(count) * 8);
    return;
  }
  visitElement(dtype, [&](auto element) {
    auto *elements = static_cast<typename decltype(element)::Stored *>(out);
    for (int64_t i = 0; i < count; ++i) {
      if (spec.kind == Spec::Kind::Normal)
        elements[i] = element.store(normalElement(spec.seed, static_cast<uint64_t>(first + i)));
      else if (spec.kind == Spec::Kind::Key) // The words of the seed; the high word is 0, as for JAX's 32-bit seeds.
        elements[i] = element.store(static_cast<int64_t>(first + i == 1 ? spec.seed : 0));
      else
        elements[i] = element.store(spec.kind == Spec::Kind::Iota ? first + i : int64_t(spec.kind == Spec::Kind::Ones));
    }
  });
}

void generate(const Spec &spec, const ValueInfo &param, const std::vector<ShardRange> &ranges,
              const std::vector<int64_t> &padded, void *target) {
  int64_t elementBytes = byteSize(param.dtype);
  if (ranges.empty())
    return generateRow(spec, param, 0, 1, target);
  std::vector<int64_t> extent = sizesOf(ranges), index(ranges.size());
  int64_t row = extent.back();
  for (int64_t rows = elementCount(extent) / row; rows > 0; --rows) {
    int64_t number = 0, place = 0;
    for (size_t d = 0; d < ranges.size(); ++d) {
      number = number * param.shape[d] + ranges[d].start + index[d];
      place = place * padded[d] + index[d];
    }
    generateRow(spec, param, number, row, static_cast<char *>(target) + place * elementBytes);
    for (size_t d = ranges.size() - 1; d-- > 0;) {
      if (++index[d] < extent[d])
        break;
      index[d] = 0;
    }
  }
}

} // namespace

void checkInputForm(const std::string &spec) { (void)parseSpec(spec); }

void checkInputs(const Plan &plan, const std::vector<std::string> &texts) {
  std::vector<Spec> specs = parseSpecs(texts);
  std::vector<Assignment> assignments = assign(plan, specs);
  for (size_t i = 0; i < plan.params.size(); ++i)
    checkKind(*assignments[i].spec, plan.params[i]);
}

std::vector<std::pair<size_t, std::string>> findBatchInputs(const Plan &plan, const std::vector<std::string> &texts) {
  std::vector<Spec> specs = parseSpecs(texts);
  std::vector<Assignment> assignments = assign(plan, specs);
  std::vector<std::pair<size_t, std::string>> found;
  for (size_t i = 0; i < assignments.size(); ++i)
    if (assignments[i].spec->kind == Spec::Kind::Batches)
      found.emplace_back(i, assignments[i].spec->value);
  return found;
}

std::string inputsText(const Plan &plan, const std::vector<std::string> &texts) {
  std::vector<Spec> specs = parseSpecs(texts);
  std::vector<Assignment> assignments = assign(plan, specs);
  std::string text;
  for (size_t i = 0; i < assignments.size(); ++i) {
    const Spec &spec = *assignments[i].spec;
    text += plan.params[i].name + ": ";
    if (spec.kind == Spec::Kind::Normal || spec.kind == Spec::Kind::Key) // Independent of how the number is written.
      text += (spec.kind == Spec::Kind::Normal ? "normal:" : "key:") + std::to_string(spec.seed);
    else
      text += spec.kind == Spec::Kind::Batches ? "batches of a file" : spec.isFile() ? "a file" : spec.value;
    text += "\n";
  }
  return text;
}

std::vector<std::string> inputFiles(const Plan &plan, const std::vector<std::string> &texts) {
  std::vector<Spec> specs = parseSpecs(texts);
  std::vector<std::string> files;
  for (const Assignment &assignment : assign(plan, specs))
    files.push_back(assignment.spec->isFile() ? assignment.spec->name + "=" + assignment.spec->value : "");
  return files;
}

std::vector<Array> makeInputs(const std::shared_ptr<Job> &job, const Plan &plan, const Mesh &mesh,
                              const std::vector<std::string> &texts,
                              const std::function<void(const std::string &)> &warn) {
  std::vector<Spec> specs = parseSpecs(texts);
  std::vector<Assignment> assignments = assign(plan, specs);
  std::map<std::string, InputArchive> archives; // By file.
  InputChecksums checksums(job);
  std::vector<Array> arrays;
  for (size_t i = 0; i < plan.params.size(); ++i) {
    const ValueInfo &param = plan.params[i];
    const auto &[spec, key] = assignments[i];
    checkKind(*spec, param);
    NamedSharding sharding(mesh, specOf(param.sharding));
    if (spec->kind == Spec::Kind::Batches) {
      arrays.emplace_back();
      continue;
    }
    if (!spec->isFile()) {
      auto fill = [&](const std::vector<ShardRange> &ranges, const std::vector<int64_t> &padded, void *target) {
        generate(*spec, param, ranges, padded, target);
      };
      arrays.push_back(fillArray(job, param.dtype, param.shape, sharding, fill, param.name));
      continue;
    }
    ArraySource source = spec->isArchive()
                             ? archives.try_emplace(spec->value, spec->value, spec->name).first->second.open(key)
                             : openNpy(spec->value);
    source.check(param);
    arrays.push_back(checksums.read(param, sharding, std::move(source)));
  }
  checksums.compare();
  // Enough names to recognize the file; a file of another model may have thousands.
  constexpr size_t shownNames = 5;
  for (const auto &[path, archive] : archives)
    if (std::vector<std::string> unread = archive.listUnread(plan.params); !unread.empty())
      warn("--input " + archive.getName() + "=" + path + ": the program has no parameter or field for " +
           quotedNames(unread, shownNames) + " of the file, which is not read");
  return arrays;
}

} // namespace spmd
