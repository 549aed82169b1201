#include "runtime/coordinator/RollCall.h"

#include "runtime/coordinator/Describe.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

namespace spmd::coordinator {

namespace {

constexpr size_t maxGroups = 4; ///< The largest number of values shown, and of programs asked about.

using Value = std::optional<std::string>; // nullopt: this process does not have the item.

/// Processes that have the same value, in ascending order.
struct Group {
  Value value;
  std::vector<int32_t> processes;
};

/// Groups the processes by value, in the order of the smallest process: the group of process 0 (or of the smallest
/// known one) comes first.
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

/// A line as it is shown, and its code, which is compared.
struct Line {
  size_t number = 0; ///< Counts from 1.
  std::string_view text, code;
};

/// Returns the line without its comment and without the space around it. `//` outside of strings begins a comment in
/// .spmd, MLIR and StableHLO.
std::string_view codeOf(std::string_view line) {
  bool isString = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (isString && line[i] == '\\')
      ++i;
    else if (line[i] == '"')
      isString = !isString;
    else if (!isString && line.substr(i).starts_with("//"))
      line = line.substr(0, i);
  }
  constexpr std::string_view space = " \t\r";
  size_t begin = line.find_first_not_of(space);
  return begin == std::string_view::npos ? std::string_view()
                                         : line.substr(begin, line.find_last_not_of(space) + 1 - begin);
}

/// Returns all lines, or only those with more than a comment.
std::vector<Line> linesOf(std::string_view text, bool withComments) {
  std::vector<Line> lines;
  size_t number = 0;
  for (std::string_view line : splitLines(text)) {
    ++number;
    std::string_view code = withComments ? line : codeOf(line);
    if (withComments || !code.empty())
      lines.push_back({number, line, code});
  }
  return lines;
}

/// Returns the index of the first line that differs.
size_t firstDifferentLine(const std::vector<Line> &a, const std::vector<Line> &b) {
  size_t line = 0;
  while (line < a.size() && line < b.size() && a[line].code == b[line].code)
    ++line;
  return line;
}

/// Returns whether the texts differ only in comments and space.
bool areSameCode(std::string_view left, std::string_view right) {
  std::vector<Line> a = linesOf(left, false), b = linesOf(right, false);
  return a.size() == b.size() && firstDifferentLine(a, b) == a.size();
}

/// Returns the part of a value that is shown; `difference` is the offset at which it begins to differ from another.
std::string quote(const Value &value, size_t difference) {
  constexpr size_t maxShown = 160, before = 60;
  if (!value)
    return "not given";
  if (value->empty())
    return "empty";
  size_t begin = 0;
  if (difference + before > maxShown && difference <= value->size()) {
    begin = difference - before;
    while (begin > 0 && (static_cast<unsigned char>((*value)[begin]) & 0xC0) == 0x80)
      --begin;
  }
  return (begin == 0 ? "`" : "`...") + truncateText(value->substr(begin), maxShown) + "`";
}

size_t firstDifference(const Value &left, const Value &right) {
  std::string_view a, b;
  if (left)
    a = *left;
  if (right)
    b = *right;
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

/// Returns the verdict that an item differs.
Verdict mismatch(const std::string &name, std::vector<Group> groups, const std::map<int32_t, Hello> &hellos) {
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
  std::vector<std::string> places(groups.size()); // Set if a group has the line at another place.
  if (hasLines && groups[0].value && groups[1].value) {
    // Lines with only a comment are compared only if nothing else differs.
    bool onlyComments = areSameCode(*groups[0].value, *groups[1].value);
    auto linesIn = [&](const Group &group) { return linesOf(*group.value, onlyComments); };
    size_t index = firstDifferentLine(linesIn(groups[0]), linesIn(groups[1])), number = 0;
    for (size_t i = 0; i != groups.size(); ++i) {
      if (!groups[i].value)
        continue;
      std::vector<Line> lines = linesIn(groups[i]);
      bool isThere = index < lines.size();
      size_t own = isThere ? lines[index].number : 0;
      number = number == 0 ? own : number;
      if (own != number && isThere)
        places[i] = " (line " + std::to_string(own) + ")";
      groups[i].value = isThere ? std::string(lines[index].text) : "(end of the text)";
    }
    where += " differs at line " + std::to_string(number);
  } else {
    where += " differs";
  }
  size_t difference = firstDifference(groups[0].value, groups[1].value);
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
    verdict.text += (i == 0 ? "" : "; ") + quote(groups[i].value, difference) + places[i] + " on " + who;
  }
  return verdict;
}

using Select = std::function<Value(const Hello &)>;

std::optional<Verdict> check(const std::map<int32_t, Hello> &hellos, const std::string &name, const Select &select) {
  std::vector<Group> groups = groupBy(hellos, select);
  return groups.size() > 1 ? std::optional(mismatch(name, std::move(groups), hellos)) : std::nullopt;
}

const std::string &digestOf(const Hello &hello) { return hello.programDigest; }

/// Returns all names in the order in which the processes give them.
std::vector<std::string> namesOf(const std::vector<const std::vector<JoinColumn> *> &lists) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const std::vector<JoinColumn> *list : lists)
    for (const JoinColumn &column : *list)
      if (seen.insert(column.name).second)
        names.push_back(column.name);
  return names;
}

Value valueOf(const std::vector<JoinColumn> &columns, const std::string &name) {
  for (const JoinColumn &column : columns)
    if (column.name == name)
      return column.value;
  return std::nullopt;
}

/// Compares everything except the program's digest.
std::optional<Verdict> compareOptions(const std::map<int32_t, Hello> &hellos) {
  if (auto verdict = check(hellos, "the build", [](const Hello &hello) { return hello.build; }))
    return verdict;
  if (auto verdict =
          check(hellos, "num_processes", [](const Hello &hello) { return std::to_string(hello.numProcesses); }))
    return verdict;
  if (auto verdict = check(hellos, "the backend", [](const Hello &hello) { return hello.backend; }))
    return verdict;
  std::vector<const std::vector<JoinColumn> *> lists;
  for (const auto &[process, hello] : hellos)
    lists.push_back(&hello.columns);
  for (const std::string &name : namesOf(lists))
    if (auto verdict = check(hellos, name, [&](const Hello &hello) { return valueOf(hello.columns, name); }))
      return verdict;
  return std::nullopt;
}

/// Compares the details of the programs with these digests: the verdict names the first item, among those known of all
/// programs, that differs in more than comments; otherwise the first that differs at all.
std::optional<Verdict> compareDetails(std::map<int32_t, Hello> hellos,
                                      const std::map<std::string, std::vector<JoinColumn>> &programDetails) {
  std::erase_if(hellos, [&](const auto &entry) { return !programDetails.count(entry.second.programDigest); });
  std::vector<const std::vector<JoinColumn> *> lists;
  for (const auto &[digest, details] : programDetails)
    lists.push_back(&details);
  std::optional<Verdict> inComments;
  for (const std::string &name : namesOf(lists)) {
    bool isKnown = std::all_of(lists.begin(), lists.end(), [&](const auto *list) { return valueOf(*list, name); });
    if (!isKnown)
      continue;
    auto select = [&](const Hello &hello) { return valueOf(programDetails.at(hello.programDigest), name); };
    std::optional<Verdict> verdict = check(hellos, name, select);
    if (verdict && std::all_of(lists.begin(), lists.end(), [&](const auto *list) {
          return areSameCode(*valueOf(*lists.front(), name), *valueOf(*list, name));
        }))
      inComments = inComments ? inComments : verdict;
    else if (verdict)
      return verdict;
  }
  return inComments;
}

} // namespace

std::optional<Verdict> compareHellos(const std::map<int32_t, Hello> &hellos,
                                     const std::map<std::string, std::vector<JoinColumn>> &programDetails) {
  if (auto verdict = compareOptions(hellos))
    return verdict;
  if (auto verdict = compareDetails(hellos, programDetails))
    return verdict;
  return check(hellos, "the program's digest", digestOf);
}

std::vector<int32_t> findDifferentPrograms(const std::map<int32_t, Hello> &hellos) {
  std::vector<Group> groups = groupBy(hellos, digestOf);
  if (groups.size() < 2 || compareOptions(hellos))
    return {};
  std::vector<int32_t> processes;
  for (size_t i = 0; i != std::min(groups.size(), maxGroups); ++i)
    processes.push_back(groups[i].processes.front());
  return processes;
}

} // namespace spmd::coordinator
