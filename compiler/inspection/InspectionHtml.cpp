//===- InspectionHtml.cpp - the report of a program as one page -----------===//

#include "compiler/inspection/InspectionHtml.h"

#include "frontend/syntax/Source.h"
#include "runtime/io/ShardingDrawing.h"

#include <algorithm>
#include <numeric>

namespace spmdc {
namespace {

/// Drawings of more devices are too large to read.
constexpr int64_t kDrawnDevices = 64;

constexpr std::string_view kStyle = R"css(
:root { color-scheme: light dark; --line: #8884; --mark: #fd08; --near: #fd03; }
body { margin: 1rem; font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.1rem; }
table { border-collapse: collapse; } th, td { border: 1px solid var(--line); padding: .2rem .6rem; text-align: left; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
pre { font: 13px/1.4 ui-monospace, monospace; margin: 0; }
.panes { display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); gap: 1rem; align-items: start; }
.code { overflow: auto; max-height: 85vh; border: 1px solid var(--line); }
.source { position: sticky; top: 0; }
.l { display: block; white-space: pre; padding: 0 .5rem; min-height: 1.4em; } .l:target, .l.on { background: var(--mark); }
.l[data-c] { background: var(--near); } .l:target[data-c], .l.on[data-c] { background: var(--mark); }
.g { color: #888; user-select: none; text-decoration: none; }
details { margin: .3rem 0; } summary { cursor: pointer; }
)css";

/// On a click on a line, highlights the corresponding lines in the source and in the IR after each pass.
constexpr std::string_view kScript = R"js(
document.addEventListener('click', function (event) {
  var line = event.target.closest('.l[data-l]');
  if (!line) return;
  document.querySelectorAll('.l.on').forEach(function (other) { other.classList.remove('on'); });
  document.querySelectorAll('.l[data-l="' + line.dataset.l + '"]').forEach(function (other) { other.classList.add('on'); });
});
)js";

/// Escapes text for HTML. Bytes that are not UTF-8, and control characters, become U+FFFD.
std::string escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    size_t length = utf8Length(text);
    unsigned char first = static_cast<unsigned char>(text[0]);
    if (length == 0 || (first < 0x20 && first != '\n' && first != '\t') || first == 0x7f)
      out += "\xEF\xBF\xBD";
    else if (first == '&')
      out += "&amp;";
    else if (first == '<')
      out += "&lt;";
    else if (first == '>')
      out += "&gt;";
    else if (first == '"')
      out += "&quot;";
    else if (first == '\'')
      out += "&#39;";
    else
      out += text.substr(0, length);
    text.remove_prefix(std::max<size_t>(1, length));
  }
  return out;
}

std::vector<std::string_view> linesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    lines.push_back(line);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return lines;
}

class Page {
public:
  Page(const Inspection &inspection, const std::string &fileName, std::string_view source)
      : report(inspection.report), inspection(inspection), fileName(fileName), source(linesOf(source)) {}

  std::string write(const std::vector<PassDump> &dumps) {
    std::string title = escaped(fileName);
    out += "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
           title + "</title>\n<style>" + std::string(kStyle) + "</style>\n</head>\n<body>\n<h1>" + title +
           "</h1>\n<p>" + escaped(meshTitle(report.mesh)) + "</p>\n";
    for (const FunctionReport &function : report.functions) {
      writeTotals(function);
      writeCollectives(function);
      writeValues(function);
    }
    out += "<h2>Source and IR</h2>\n<p>Click a line to highlight the corresponding lines.</p>\n"
           "<div class=\"panes\">\n";
    writeSource();
    writeStages(dumps);
    out += "</div>\n<script>" + std::string(kScript) + "</script>\n</body>\n</html>\n";
    return std::move(out);
  }

private:
  /// The line number of a place (`mlp.spmd:5:7`) in this program, or 0 if the place is in another file.
  size_t lineOf(const std::string &place) const {
    size_t line = lineNumberIn(fileName, place);
    return line <= source.size() ? line : 0;
  }

  std::string linkTo(const std::string &place) const {
    size_t line = lineOf(place);
    return line ? "<a href=\"#s" + std::to_string(line) + "\">" + escaped(place) + "</a>" : escaped(place);
  }

  void writeTotals(const FunctionReport &function) {
    out += "<p>fn " + escaped(function.name) + ", on each device: " + operationsText(function.flopsPerDevice) + ", " +
           bytesText(function.wireBytesPerDevice) + " sent, " +
           bytesText(static_cast<double>(inspection.peakBytesPerDevice)) + " of memory; predicted " +
           timeText(function.communicationSeconds) + " of communication, " + timeText(inspection.computeSeconds()) +
           " of computation</p>\n";
    if (std::string line = combiningText(function); !line.empty())
      out += "<p>" + escaped(line) + "</p>\n";
    for (const std::string &line : whileTexts(inspection, function))
      out += "<p>" + escaped(line) + "</p>\n";
  }

  void writeCollectives(const FunctionReport &function) {
    out += "<h2>Collectives</h2>\n<table>\n<thead><tr><th>collective</th><th>local shapes</th><th>sent</th>"
           "<th>runs</th><th>predicted</th><th>line</th><th>why</th></tr></thead>\n<tbody>\n";
    for (const CollectiveReport &collective : function.collectives)
      out += "<tr><td>" + escaped(collectiveTitle(collective)) + "</td><td>" +
             escaped(shapeText(collective.dtype, collective.operandShape)) + " to " +
             escaped(shapeText(collective.dtype, collective.resultShape)) + "</td><td class=\"n\">" +
             bytesText(collective.wireBytesPerDevice) + "</td><td class=\"n\">" + std::to_string(collective.tripCount) +
             "</td><td class=\"n\">" + timeText(collective.totalSeconds()) + "</td><td>" + linkTo(collective.location) +
             "</td><td>" + escaped(collective.why) +
             (collective.isCounted ? "" : "; " + escaped(std::string(kUncountedText))) +
             (collective.whileLoops.empty() ? "" : "; " + escaped(whileText(collective))) + "</td></tr>\n";
    out += "</tbody>\n</table>\n";
  }

  void writeValues(const FunctionReport &function) {
    out += "<h2>Shardings</h2>\n";
    auto write = [&](const char *kind, const std::vector<ValueReport> &values) {
      for (const ValueReport &value : values)
        out += "<details><summary>" + std::string(kind) + " <b>" + escaped(value.name) +
               "</b>: " + escaped(shapeText(value, value.shape)) + ", " + escaped(value.sharding.str()) + ", " +
               escaped(shapeText(value, value.localShape)) + " on each device, " + linkTo(value.location) +
               "</summary>\n<pre>" + escaped(drawingOf(value)) + "</pre></details>\n";
    };
    write("parameter", function.params);
    write("value", function.values);
    write("result", function.results);
  }

  std::string drawingOf(const ValueReport &value) const {
    if (value.sharding.isFullyReplicated())
      return "replicated";
    if (value.shape.empty() || value.shape.size() > 2)
      return "only arrays of one or two dimensions are drawn";
    int64_t count = report.mesh.deviceCount();
    if (count > kDrawnDevices)
      return "only meshes of up to " + std::to_string(kDrawnDevices) + " devices are drawn; this mesh has " +
             std::to_string(count);
    std::vector<int64_t> devices(static_cast<size_t>(count));
    std::iota(devices.begin(), devices.end(), 0);
    return spmd::drawSharding(report.mesh, devices, value.shape, value.sharding, "CPU");
  }

  void writeSource() {
    std::vector<bool> hasCollective(source.size() + 1);
    for (const FunctionReport &function : report.functions)
      for (const CollectiveReport &collective : function.collectives)
        hasCollective[lineOf(collective.location)] = true;
    out += "<pre class=\"code source\">";
    size_t width = std::to_string(source.size()).size();
    for (size_t i = 0; i < source.size(); ++i) {
      std::string number = std::to_string(i + 1);
      out += "<span class=\"l\" id=\"s" + number + "\" data-l=\"" + number + "\"" +
             (hasCollective[i + 1] ? " data-c=\"1\"" : "") + "><span class=\"g\">" +
             std::string(width - number.size(), ' ') + number + " </span>" + escaped(source[i]) + "</span>";
    }
    out += "</pre>\n";
  }

  /// Writes the IR after each pass, folded; a pass without changes gets one line. The partitioned program is unfolded,
  /// because readers look for its collectives.
  void writeStages(const std::vector<PassDump> &dumps) {
    out += "<div>\n";
    const std::string *before = nullptr;
    for (const PassDump &dump : dumps) {
      bool isChanged = !before || *before != dump.text;
      before = &dump.text;
      if (!isChanged) {
        out += "<p>" + escaped(dump.pass) + ": no change</p>\n";
        continue;
      }
      out += std::string("<details") + (dump.pass == "spmdc-partition" ? " open" : "") + "><summary>" +
             escaped(dump.pass) + "</summary>\n<pre class=\"code\">";
      unsigned number = 0;
      for (std::string_view line : linesOf(dump.text))
        writeIrLine(line, dump, number++);
      out += "</pre></details>\n";
    }
    out += "</div>\n";
  }

  void writeIrLine(std::string_view line, const PassDump &dump, unsigned number) {
    auto place = dump.places.find(number);
    std::string from = place != dump.places.end() && place->second.file == fileName &&
                               place->second.line <= source.size() && place->second.line > 0
                           ? std::to_string(place->second.line)
                           : "";
    size_t width = std::to_string(source.size()).size();
    out += "<span class=\"l\"" + (from.empty() ? "" : " data-l=\"" + from + "\"") + ">" +
           std::string(width - std::min(width, from.size()), ' ') +
           (from.empty() ? "" : "<a class=\"g\" href=\"#s" + from + "\">" + from + "</a>") + " " + escaped(line) +
           "</span>";
  }

  const ProgramReport &report;
  const Inspection &inspection;
  const std::string &fileName;
  std::vector<std::string_view> source;
  std::string out;
};

} // namespace

std::string inspectionHtml(const Inspection &inspection, const std::string &fileName, std::string_view source,
                           const std::vector<PassDump> &dumps) {
  return Page(inspection, fileName, source).write(dumps);
}

} // namespace spmdc
