#include "runtime/coordinator/RollCall.h"

#include "runtime/coordinator/Describe.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

namespace spmd::coordinator {

namespace {

using Value = std::optional<std::string>; // nullopt: this process does not have the item at all.

/// Processes that have the same value, ascending.
struct Group {
  Value value;
  std::vector<int32_t> processes;
};

/// In the order of the smallest process; process 0's group (or the smallest known one's) first.
std::vector<Group> groupBy(const std::map<int32_t, Hello> &hellos, const std::function<Value(const Hello &)> &select) {
  std::vector<Group> groups;
  for (const auto &[process, hello] : hellos) {
    Value value = select(hello);
    auto found = std::find_if(groups.begin(), groups.end(), [&](const Group &group) { return group.value == value; });
    if (found == groups.end())
      found = groups.insert(groups.end(), Group{std::move(value), {}});
    found->processes.push_back(process);
  }
  return groups;
}

std::vector<std::string_view> splitLines(std::string_view text) {
  std::vector<std::string_view> lines;
  for (;;) {
    size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos)
      return lines;
    text.remove_prefix(end + 1);
  }
}

/// The 0-based line at which the first two values part.
size_t firstDifferentLine(std::string_view left, std::string_view right) {
  std::vector<std::string_view> a = splitLines(left), b = splitLines(right);
  size_t line = 0;
  while (line < a.size() && line < b.size() && a[line] == b[line])
    ++line;
  return line;
}

std::string quote(const Value &value) {
  constexpr size_t maxShown = 160;
  if (!value)
    return "not given";
  return value->empty() ? "empty" : "`" + cutText(*value, maxShown) + "`";
}

/// The verdict that an item differs.
Verdict mismatch(const std::string &name, std::vector<Group> groups, const std::map<int32_t, Hello> &hellos) {
  constexpr size_t maxGroups = 4;
  auto smallest = std::min_element(groups.begin() + 1, groups.end(), [](const Group &a, const Group &b) {
    return a.processes.size() < b.processes.size();
  });
  const Group &blamed = groups.front().processes.size() < smallest->processes.size() ? groups.front() : *smallest;
  Verdict verdict;
  verdict.cause = Verdict::Cause::Mismatch;
  verdict.culprit = blamed.processes.front();
  const Hello &culprit = hellos.at(verdict.culprit);
  verdict.host = culprit.host;
  verdict.pid = culprit.pid;

  std::string where = name;
  bool hasLines = std::any_of(groups.begin(), groups.end(), [](const Group &group) {
    return group.value && group.value->find('\n') != std::string::npos;
  });
  std::set<Value> shown;
  if (hasLines && groups[0].value && groups[1].value) {
    size_t line = firstDifferentLine(*groups[0].value, *groups[1].value);
    where += " differs at line " + std::to_string(line + 1);
    for (Group &group : groups) {
      if (!group.value)
        continue;
      std::vector<std::string_view> lines = splitLines(*group.value);
      group.value = line < lines.size() ? Value(std::string(lines[line])) : Value("(end of the text)");
    }
  } else {
    where += " differs";
  }
  verdict.text = "the processes were started with different programs or options: " + where + ": ";
  for (size_t i = 0; i != groups.size(); ++i) {
    if (i == maxGroups) {
      verdict.text += ", and " + std::to_string(groups.size() - i) + " more values";
      break;
    }
    const std::vector<int32_t> &processes = groups[i].processes;
    const Hello &first = hellos.at(processes.front());
    std::string who = processes.size() == 1 ? describeProcess(processes.front(), first.host, first.pid)
                                            : describeProcesses(processes);
    verdict.text += (i == 0 ? "" : "; ") + quote(groups[i].value) + " on " + who;
  }
  return verdict;
}

} // namespace

std::optional<Verdict> compareHellos(const std::map<int32_t, Hello> &hellos) {
  auto check = [&](const std::string &name,
                   const std::function<Value(const Hello &)> &select) -> std::optional<Verdict> {
    std::vector<Group> groups = groupBy(hellos, select);
    return groups.size() > 1 ? std::optional(mismatch(name, std::move(groups), hellos)) : std::nullopt;
  };
  if (auto verdict = check("the build", [](const Hello &hello) { return hello.build; }))
    return verdict;
  if (auto verdict = check("num_processes", [](const Hello &hello) { return std::to_string(hello.numProcesses); }))
    return verdict;
  if (auto verdict = check("the backend", [](const Hello &hello) { return hello.backend; }))
    return verdict;

  // All names in the order in which the processes give them.
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const auto &[process, hello] : hellos)
    for (const JoinColumn &column : hello.columns)
      if (seen.insert(column.name).second)
        names.push_back(column.name);
  for (const std::string &name : names) {
    auto verdict = check(name, [&](const Hello &hello) -> Value {
      for (const JoinColumn &column : hello.columns)
        if (column.name == name)
          return column.value;
      return std::nullopt;
    });
    if (verdict)
      return verdict;
  }
  return check("the program's digest", [](const Hello &hello) { return hello.programDigest; });
}

} // namespace spmd::coordinator
