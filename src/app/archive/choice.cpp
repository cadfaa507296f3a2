// The options of all subcommands that read rollouts, and their common error message.
#include "app/archive/choice.hpp"

#include "base/errors/error.hpp"
#include "io/rescored.hpp"
#include "io/row_name.hpp"
#include "io/schema.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

namespace rollcall::app::archive {
namespace {

io::Selection selection_of(const Choice& choice) {
  io::Selection selection{.purpose = {}, .prompt = choice.prompt};
  if (choice.step) selection.first_step = selection.last_step = *choice.step;
  if (!choice.purpose.empty()) selection.purpose = io::purpose_from_text(choice.purpose);
  return selection;
}

/// What the options choose, as text, such as "prompt 3, step 7, purpose train".
std::string text_of(const Choice& choice) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (choice.prompt) add(fmt::format("prompt {}", *choice.prompt));
  if (choice.step) add(fmt::format("step {}", *choice.step));
  if (!choice.row.empty()) add("row " + choice.row);
  if (!choice.purpose.empty()) add("purpose " + choice.purpose);
  return text;
}

/// The verdicts of one name in RUN/rescored, which are read purpose by purpose as each_group
/// proceeds.
class Rescores {
 public:
  Rescores(std::string run, std::string name) : run_(std::move(run)), name_(std::move(name)) {}
  const std::vector<std::string>& component_names() const { return held_.component_names; }
  io::ArchivedGroup apply(io::ArchivedGroup group) {
    if (of_.empty() || held_.purpose != group.purpose) {
      held_ = io::read_rescored(run_, name_, group.purpose);
      of_.clear();
      for (const auto& rescored : held_.groups) of_[rescored.group.id] = &rescored.scores;
    }
    const auto scores = of_.find(group.group.id);
    require(scores != of_.end() && scores->second->size() == group.scores.size(),
            fmt::format("{} has no verdicts on {} step {}, prompt {}",
                        io::rescored_folder(run_, name_).string(), io::text_of(group.purpose),
                        group.step, group.group.id.prompt.value),
            "it is older than these rollouts",
            "rollcall archive rescore with another --name judges all there are now");
    group.scores = *scores->second;
    return group;
  }

 private:
  std::string run_, name_;
  io::Rescored held_;
  std::map<GroupId, const std::vector<Score>*> of_;
};

}  // namespace

void add_source(Command verb, Choice& choice) {
  verb.option("run", choice.source, "RUN|FILE").required();
}
void add_purpose(Command verb, Choice& choice) {
  verb.option("--purpose", choice.purpose, "only this purpose: train, validation, eval or greedy");
}
void add_step(Command verb, Choice& choice) {
  verb.option("--step", choice.step, "only this step");
}
void add_scores(Command verb, Choice& choice) {
  verb.option("--scores", choice.scores,
              "with the verdicts of RUN/rescored/NAME in place of the stored ones");
}
void add_prompt(Command verb, Choice& choice) {
  const Option prompt =
      verb.option("--prompt", choice.prompt, "only this prompt, by its position in its split");
  verb.option("--row", choice.row,
              "only the prompt of this row of task.file, by the row's id, or its line where it has "
              "none")
      .excludes(prompt);
}

void each_chosen(const Choice& choice, const io::Visit& visit) {
  bool found = false;
  Rescores rescores(choice.source, choice.scores);
  io::each_group(
      choice.source, selection_of(choice),
      [&](const io::ArchivedGroup& group, const std::vector<std::string>& component_names) {
        if (!choice.row.empty() && io::row_name(group.prompt.extra).name != choice.row) return true;
        found = true;
        if (choice.scores.empty()) return visit(group, component_names);
        const io::ArchivedGroup judged_anew = rescores.apply(group);
        return visit(judged_anew, rescores.component_names());
      });
  const std::string asked = text_of(choice);
  require(
      found || asked.empty(), fmt::format("{} holds no rollouts of {}", choice.source, asked),
      "they were not drawn, or their shards are not scored yet",
      choice.row.empty()
          ? "rollcall archive ls shows the steps there are"
          : "give the row's \"id\", or the number of its line where the rows have none (rollcall "
            "archive show --prompt N says both)");
}

}  // namespace rollcall::app::archive
