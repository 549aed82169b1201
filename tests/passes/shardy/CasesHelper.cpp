//===- CasesHelper.cpp - reads the cases of Shardy ------------------------===//

#include "tests/passes/shardy/Cases.h"

#include "runtime/sharding/DimMoves.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>

namespace spmdc {
namespace {

/// Characters of a line, taken from the front.
class Reader {
public:
  explicit Reader(const std::string &text) : text(text) {}

  bool atEnd() {
    skipSpace();
    return position == text.size();
  }
  bool take(char wanted) {
    skipSpace();
    if (position == text.size() || text[position] != wanted)
      return false;
    ++position;
    return true;
  }
  void expect(char wanted) {
    if (!take(wanted))
      throw std::runtime_error(std::string("expected '") + wanted + "' in '" + text + "'");
  }
  std::string word() {
    skipSpace();
    size_t start = position;
    while (position < text.size() && (std::isalnum(text[position]) || text[position] == '_'))
      ++position;
    if (start == position)
      throw std::runtime_error("expected a name in '" + text + "'");
    return text.substr(start, position - start);
  }
  int64_t number() { return std::stoll(word()); }

private:
  void skipSpace() {
    while (position < text.size() && text[position] == ' ')
      ++position;
  }

  const std::string &text;
  size_t position = 0;
};

/// `a` or `a:(2)4`.
spmd::AxisRef readAxis(Reader &reader) {
  spmd::AxisRef axis{reader.word()};
  if (!reader.take(':'))
    return axis;
  reader.expect('(');
  axis.preSize = reader.number();
  reader.expect(')');
  axis.size = reader.number();
  return axis;
}

spmd::Sharding readSharding(Reader &reader) {
  spmd::Sharding sharding;
  reader.expect('[');
  if (!reader.take(']')) {
    do {
      std::vector<spmd::AxisRef> &axes = sharding.dims.emplace_back();
      if (reader.take('(')) {
        do
          axes.push_back(readAxis(reader));
        while (reader.take(','));
        reader.expect(')');
      } else if (!reader.take('_')) {
        axes.push_back(readAxis(reader));
      }
    } while (reader.take(','));
    reader.expect(']');
  }
  while (reader.take('+'))
    sharding.unreduced.push_back(readAxis(reader));
  return sharding;
}

std::string axesText(const std::vector<spmd::AxisRef> &axes) {
  if (axes.empty())
    return "_";
  std::string text;
  for (const spmd::AxisRef &axis : axes)
    text += (text.empty() ? "" : ", ") + axis.str();
  return axes.size() == 1 ? text : "(" + text + ")";
}

void readMoves(const std::string &line, ShardyCase &result) {
  Reader reader(line);
  std::vector<int64_t> shape;
  std::string sizes = reader.word();
  for (size_t start = 0; start < sizes.size();) {
    size_t end = std::min(sizes.find('x', start), sizes.size());
    shape.push_back(std::stoll(sizes.substr(start, end - start)));
    start = end + 1;
  }
  reader.expect(':');
  spmd::Sharding before = readSharding(reader);
  while (!reader.atEnd()) {
    ShardyCase::Move move{reader.word(), shape, before, {}};
    before = move.after = readSharding(reader);
    result.moves.push_back(std::move(move));
  }
}

std::vector<std::pair<std::string, std::string>> readValues(const std::string &line) {
  Reader reader(line);
  std::vector<std::pair<std::string, std::string>> values;
  do {
    std::string name = reader.word();
    values.emplace_back(name, shardingText(readSharding(reader)));
  } while (reader.take(';'));
  if (!reader.atEnd())
    throw std::runtime_error("more than shardings in '" + line + "'");
  return values;
}

bool startsWith(const std::string &line, const std::string &prefix, std::string &rest) {
  if (line.rfind(prefix, 0) != 0)
    return false;
  rest = line.substr(prefix.size());
  return true;
}

void readLine(const std::string &line, ShardyCase &result) {
  std::string rest;
  for (const char *strategy : {"basic", "aggressive", "default"})
    for (bool isShardys : {false, true})
      if (startsWith(line, std::string(isShardys ? "shardy " : "") + strategy + ": ", rest)) {
        result.expectations.push_back({strategy, isShardys, readValues(rest)});
        return;
      }
  if (startsWith(line, "from ", rest))
    result.source = rest;
  else if (startsWith(line, "because ", rest))
    result.because = rest;
  else if (startsWith(line, "mesh ", rest)) {
    Reader reader(rest);
    do {
      spmd::MeshAxis axis{reader.word()};
      reader.expect('=');
      axis.size = reader.number();
      result.mesh.axes.push_back(axis);
    } while (reader.take(','));
    result.program = "mesh m(" + rest + ")\n";
  } else if (startsWith(line, "write ", rest)) {
    size_t end = rest.find(' ');
    result.writes.emplace_back(rest.substr(0, end), rest.substr(end + 1));
  } else if (startsWith(line, "moves ", rest)) {
    readMoves(rest, result);
    result.isCounted = true;
  } else if (startsWith(line, "refuses ", rest)) {
    result.refusal = rest;
  } else if (startsWith(line, "sends ", rest)) {
    result.sent += std::stod(rest);
    result.isCounted = true;
  } else if (line == "local") {
    result.isCounted = true;
  } else if (startsWith(line, "fn ", rest) || startsWith(line, "  ", rest)) {
    result.program += line + "\n";
  } else {
    throw std::runtime_error("not understood: " + line);
  }
}

int64_t groupSize(const std::vector<spmd::AxisRef> &axes, const spmd::MeshShape &mesh) {
  int64_t size = 1;
  for (const spmd::AxisRef &axis : axes)
    size *= axis.sizeIn(mesh);
  return size;
}

} // namespace

spmd::Sharding parseSharding(const std::string &text) {
  Reader reader(text);
  return readSharding(reader);
}

std::string shardingText(const spmd::Sharding &sharding) {
  std::string text = "[";
  for (size_t dim = 0; dim < sharding.dims.size(); ++dim)
    text += (dim ? ", " : "") + axesText(sharding.dims[dim]);
  text += "]";
  for (const spmd::AxisRef &axis : sharding.unreduced)
    text += " + " + axis.str();
  return text;
}

double wireBytes(const ShardyCase::Move &move, const spmd::MeshShape &mesh) {
  double before = 4;
  for (int64_t size : spmd::localShape(mesh, move.shape, move.before))
    before *= static_cast<double>(size);
  // Each device receives the elements that it lacks, without padding; a slice of its own shard needs none.
  if (move.kind == "slice" || move.kind == "gather" || move.kind == "all_to_all")
    return 4 * spmd::missingElements(mesh, {move.shape, move.before}, {move.shape, move.after}) /
           static_cast<double>(mesh.deviceCount());
  auto dimsSize = [&](const spmd::Sharding &sharding) {
    int64_t size = 1;
    for (const std::vector<spmd::AxisRef> &axes : sharding.dims)
      size *= groupSize(axes, mesh);
    return size;
  };
  if (move.kind == "all_reduce" || move.kind == "reduce_scatter") {
    double group = static_cast<double>(groupSize(move.before.unreduced, mesh)) /
                   static_cast<double>(groupSize(move.after.unreduced, mesh));
    return (move.kind == "all_reduce" ? 2 : 1) * before * (group - 1) / group;
  }
  if (move.kind == "partial") // Devices do this locally.
    return 0;
  if (move.kind != "permute" || dimsSize(move.before) != dimsSize(move.after))
    throw std::runtime_error("no such collective: " + move.kind);
  // A device that keeps its shard sends nothing.
  int64_t sends = 0, devices = mesh.deviceCount();
  for (int64_t device = 0; device < devices; ++device)
    sends += spmd::ownedRanges(mesh, move.shape, move.before, device) !=
             spmd::ownedRanges(mesh, move.shape, move.after, device);
  return before * static_cast<double>(sends) / static_cast<double>(devices);
}

std::vector<ShardyCase> readShardyCases() {
  std::set<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::directory_iterator(SPMDC_SOURCE_DIR "/tests/passes/shardy"))
    if (entry.path().extension() == ".cases")
      files.insert(entry.path());
  std::vector<ShardyCase> cases;
  for (const std::filesystem::path &file : files) {
    std::ifstream stream(file);
    size_t number = 0;
    for (std::string line, rest; std::getline(stream, line);) {
      ++number;
      try {
        if (line.empty() || line[0] == '#')
          continue;
        if (startsWith(line, "== ", rest)) {
          cases.emplace_back();
          cases.back().file = file.stem();
          cases.back().name = rest;
        } else if (cases.empty()) {
          throw std::runtime_error("a case starts with '== NAME'");
        } else {
          readLine(line, cases.back());
        }
      } catch (const std::exception &error) {
        throw std::runtime_error(file.string() + ":" + std::to_string(number) + ": " + error.what());
      }
    }
  }
  return cases;
}

} // namespace spmdc
