#include "runtime/coordinator/ChildReport.h"

#include "runtime/coordinator/ChildEndMessage.h"
#include "runtime/coordinator/Wire.h"

#include <sys/socket.h>

namespace spmd {

using namespace coordinator;

void ChildReport::update(ChildReport news) {
  if (news.verdict)
    verdict = std::move(news.verdict);
  if (news.error)
    error = std::move(news.error);
  if (news.stepsDone)
    stepsDone = news.stepsDone;
  if (news.savedStep)
    savedStep = news.savedStep;
}

void reportToLauncher(std::optional<int> launcherFd, const ChildReport &report) {
  if (!launcherFd || !isLauncherSocket(*launcherFd))
    return;
  std::string record = encodeChildReport(report);
  (void)!::send(*launcherFd, record.data(), record.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

namespace coordinator {

std::string encodeChildReport(const ChildReport &report) {
  Writer out;
  auto flag = [&](bool isThere) {
    out.integer(static_cast<uint8_t>(isThere));
    return isThere;
  };
  if (flag(report.verdict.has_value()))
    put(out, *report.verdict);
  if (flag(report.error.has_value()))
    out.text(truncateText(*report.error), maxTextBytes);
  if (flag(report.stepsDone.has_value()))
    out.integer(*report.stepsDone);
  if (flag(report.savedStep.has_value()))
    out.integer(*report.savedStep);
  return std::move(out.bytes);
}

std::optional<ChildReport> decodeChildReport(std::string_view record) {
  try {
    Reader in(record);
    ChildReport report;
    if (in.flag())
      get(in, report.verdict.emplace());
    if (in.flag())
      report.error = in.text(maxTextBytes);
    if (in.flag())
      report.stepsDone = in.integer<int64_t>();
    if (in.flag())
      report.savedStep = in.integer<int64_t>();
    in.finish();
    return report;
  } catch (const ProtocolError &) {
    return std::nullopt;
  }
}

} // namespace coordinator
} // namespace spmd
