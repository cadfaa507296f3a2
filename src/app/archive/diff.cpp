// rollcall archive diff: whether two runs hold the same rollouts, and the first one that differs.
#include "app/archive/output.hpp"
#include "app/archive/verbs.hpp"
#include "base/errors/long_phase.hpp"
#include "base/errors/visible.hpp"
#include "io/difference.hpp"

#include <fmt/format.h>

#include <memory>

namespace rollcall::app::archive {
namespace {

ExitCode diff(const std::string& a, const std::string& b) {
  const io::Difference d = [&] {
    const LongPhase phase(fmt::format("comparing {} and {}", a, b));
    return io::compare(a, b);
  }();
  Output out;
  out.write(visible_format("A {}  {} groups, {} rollouts  {}\nB {}  {} groups, {} rollouts  {}\n",
                           d.content_a, d.groups_a, d.rollouts_a, a, d.content_b, d.groups_b,
                           d.rollouts_b, b));
  if (d.first.empty()) out.write("the same content\n");
  else
    out.write(visible_format("{} groups differ, {} are only in A, {} only in B\nfirst: {}\n",
                             d.groups_differing, d.only_a, d.only_b, d.first));
  out.finish();
  return d.first.empty() ? ExitCode::done : ExitCode::failed;
}

}  // namespace

void add_diff(Command command) {
  auto paths = std::make_shared<std::pair<std::string, std::string>>();
  auto verb = command.command(
      "diff",
      "the same content hash, or the first value that differs; exit code 3 when they differ");
  verb.option("a", paths->first, "RUN|FILE").required();
  verb.option("b", paths->second, "RUN|FILE").required();
  verb.runs([paths] { return diff(paths->first, paths->second); });
}

}  // namespace rollcall::app::archive
