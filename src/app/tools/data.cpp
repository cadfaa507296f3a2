// rollcall data: shows what would be trained on.
#include "app/commands.hpp"
#include "base/errors/log.hpp"
#include "base/errors/visible.hpp"
#include "run/start/data_view.hpp"

#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace rollcall::app {
namespace {

/// The settings of a run file, or those of a run that is trained on a file of questions.
GivenSettings settings_of(const std::string& source, const std::vector<std::string>& assignments) {
  if (source.ends_with(".toml")) return gather_settings(source, assignments);
  std::vector<std::string> all{"task.file=" + source};
  all.insert(all.end(), assignments.begin(), assignments.end());
  return gather_settings("", all);
}

}  // namespace

void add_data(Command program) {
  struct Flags {
    std::string source;
    std::vector<std::string> assignments;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  auto command = program.command(
      "data",
      "what would be trained on: rows, layout, levels, lengths, duplicates, references that cannot "
      "be read, and ten prompts as the policy sees them");
  command
      .option("source", flags->source,
              "a file of questions (JSON lines or one JSON array), or a TOML run file")
      .required();
  command
      .option("--set", flags->assignments,
              "key=value, overrides the run file; may be repeated (model.path=FOLDER: tokens too)")
      .repeated();
  command.flag("--json", flags->json, "one JSON object instead of text");
  command.runs([flags] {
    start_log("warn", 0, 1);  // on standard error, because standard output has the view
    GivenSettings given = settings_of(flags->source, flags->assignments);
    given.faults.require_none();
    const run::DataView view = run::view_data(given.config);
    std::cout << (flags->json ? run::to_json(view) + "\n" : visible_lines(run::to_text(view)))
              << std::flush;
    return ExitCode::done;
  });
}

}  // namespace rollcall::app
