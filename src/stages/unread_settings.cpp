// One row for each section that only some runs read.
#include "stages/unread_settings.hpp"

#include "base/error.hpp"
#include "base/faults.hpp"
#include "base/log.hpp"
#include "method/columns.hpp"
#include "model/model_folder.hpp"
#include "reward/verifier.hpp"
#include "stages/objective_state.hpp"
#include "stages/run_folder.hpp"
#include "task/task.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

namespace rollcall::stages {
namespace {

namespace column = method::column;

bool asks_for(const method::Method& objective, std::initializer_list<std::string_view> names) {
  const auto columns = objective.columns();
  return std::any_of(columns.begin(), columns.end(), [&](const std::string& own) {
    return std::any_of(names.begin(), names.end(), [&](std::string_view name) { return name.ends_with('/') ? own.starts_with(name) : own == name; });
  });
}

struct Row {
  const char* keys;  ///< one of them, or all that begin with it
  bool (*is_read)(const RunConfig& config, const method::Method& objective);
  const char* lacking;  ///< why nothing reads them
  const char* remedy;
};

bool is_jsonl(const RunConfig& c, const method::Method&) { return c.task.name == "jsonl"; }
const reward::Verifier& verifier_of(const RunConfig& c) { return reward::chosen_verifier(c.reward, task::find_task(c.task.name).verifier); }
bool runs_programs(const RunConfig& c, const method::Method&) { return c.reward.command.empty() && reward::runs_code(verifier_of(c)); }
bool has_command(const RunConfig& c, const method::Method&) { return !c.reward.command.empty(); }
bool has_examples(const RunConfig& c, const method::Method&) { return !c.sft.file.empty(); }
bool looks_for_marker(const RunConfig& c, const method::Method& o) {
  if (is_jsonl(c, o) || !c.task.forms.empty() || c.task.extract == "marker") return true;
  return c.reward.command.empty() && c.task.extract.empty() && verifier_of(c).extract == std::string_view("marker");
}
bool is_arithmetic(const RunConfig& c, const method::Method&) { return c.task.name == "arithmetic"; }

constexpr Row kRows[] = {
    {"reference.",
     [](const RunConfig&, const method::Method& o) {
       return asks_for(o, {column::reference_logprob, column::flat_reference});
     },
     "the objective compares with no reference policy", "leave it out, or choose a regularizer that does, for example objective.pieces.regularizer=kl"},
    {"teacher.",
     [](const RunConfig&, const method::Method& o) {
       return asks_for(o, {column::teacher_logprob, column::teacher_kl});
     },
     "the objective follows no teacher", "leave it out, or choose a recipe that distils"},
    {"critic.", [](const RunConfig&, const method::Method& o) { return o.needs_value() || asks_for(o, {column::value}); }, "the objective trains no value head",
     "leave it out, or choose a recipe that does, for example ppo"},
    {"probes.",
     [](const RunConfig&, const method::Method& o) {
       return asks_for(o, {column::reasoning_step, column::probe_accuracy, column::probe_confidence});
     },
     "the objective probes no reasoning steps", "leave it out, or choose a recipe that does, for example spae-step-potential"},
    {"success.", reads_tracked_success, "neither objective nor sampler reads the tracked success of prompts",
     "leave it out, or choose what does, for example objective.recipe=spo-single-stream"},
    {"judge.", [](const RunConfig& c, const method::Method&) { return !c.judge.model.empty(); }, "no model judges", "leave it out, or set judge.model"},
    {"sandbox.", runs_programs, "the verifier runs no programs", "leave it out, or choose a task whose answers are programs"},
    {"reward.processes", has_command, "no command judges", "leave it out, or set reward.command"},
    {"reward.timeout_s", has_command, "no command judges", "leave it out, or set reward.command"},
    {"reward.components", has_command, "no command judges", "leave it out, or set reward.command"},
    {"sft.messages_key", has_examples, "no file of examples is read", "leave it out, or set sft.file"},
    {"sft.prompt_key", has_examples, "no file of examples is read", "leave it out, or set sft.file"},
    {"sft.answer_key", has_examples, "no file of examples is read", "leave it out, or set sft.file"},
    {"task.answer_marker", looks_for_marker, "neither the task nor the rule of extraction looks for a marker", "leave it out, or set task.extract=marker"},
    {"task.operators", is_arithmetic, "the task has none", "leave it out, or set task.name=arithmetic"},
    {"task.digits", is_arithmetic, "the task draws no operands", "leave it out, or set task.name=arithmetic"},
    {"sampling.logprob", [](const RunConfig& c, const method::Method&) { return truncates(c.sampling); }, "draws leave no token out",
     "leave it out, or set sampling.top_k or sampling.top_p"},
    {"task.file", [](const RunConfig& c, const method::Method&) { return c.task.name == "jsonl" || c.task.name == "corpus"; }, "the task reads no file",
     "leave it out, or set task.name=jsonl"},
    {"task.heldout_file", is_jsonl, "the task reads no file of questions", "leave it out, or set task.name=jsonl"},
    {"task.question_key", is_jsonl, "the task reads no file of questions", "leave it out, or set task.name=jsonl"},
    {"task.answer_key", is_jsonl, "the task reads no file of questions", "leave it out, or set task.name=jsonl"},
    {"task.domain_key", is_jsonl, "the task reads no file of questions", "leave it out, or set task.name=jsonl"},
    {"task.prior_key", is_jsonl, "the task reads no file of questions", "leave it out, or set task.name=jsonl"},
};

/// "section.key = value" of all keys of a written run file.
std::map<std::string, std::string> values_of(RunConfig config) {
  std::map<std::string, std::string> values;
  const std::string toml = bind(config).to_toml();
  std::string section;
  for (std::size_t at = 0; at < toml.size();) {
    const std::size_t end = std::min(toml.find('\n', at), toml.size());
    const std::string line = toml.substr(at, end - at);
    at = end + 1;
    if (line.starts_with('[')) section = line.substr(1, line.find(']') - 1);
    else if (const auto equals = line.find(" = "); equals != std::string::npos) values[section + "." + line.substr(0, equals)] = line.substr(equals);
  }
  return values;
}

/// A model that is read has the shape of its own files. A run file may serve for it and for one that
/// is made, so a key that says otherwise is told and not refused.
void tell_other_shapes(const RunConfig& config) {
  const std::filesystem::path folder = weights_source(config);
  if (folder.empty() || !std::filesystem::exists(folder / "config.json")) return;  // told where it is read
  const auto own = model::read_folder_config(folder);
  const ModelSection &stated = config.model, usual;
  const struct {
    const char* key;
    double stated, usual, own;
  } shapes[] = {
      {"hidden_size", double(stated.hidden_size), double(usual.hidden_size), double(own.hidden_size)},
      {"intermediate_size", double(stated.intermediate_size), double(usual.intermediate_size), double(own.intermediate_size)},
      {"num_hidden_layers", double(stated.num_hidden_layers), double(usual.num_hidden_layers), double(own.num_hidden_layers)},
      {"num_attention_heads", double(stated.num_attention_heads), double(usual.num_attention_heads), double(own.num_attention_heads)},
      {"num_key_value_heads", double(stated.num_key_value_heads), double(usual.num_key_value_heads), double(own.num_key_value_heads)},
      {"head_dim", double(stated.head_dim), double(usual.head_dim), double(own.head_dim)},
      {"max_position_embeddings", double(stated.max_position_embeddings), double(usual.max_position_embeddings), double(own.max_position_embeddings)},
      {"rope_theta", stated.rope_theta, usual.rope_theta, own.rope_theta},
      {"rms_norm_eps", stated.rms_norm_eps, usual.rms_norm_eps, own.rms_norm_eps},
      {"tie_word_embeddings", double(stated.tie_word_embeddings), double(usual.tie_word_embeddings), double(own.tie_word_embeddings)},
      {"qk_norm", double(stated.qk_norm), double(usual.qk_norm), double(own.qk_norm)},
      {"attention_bias", double(stated.attention_bias), double(usual.attention_bias), double(own.attention_bias)},
  };
  for (const auto& shape : shapes)
    if (shape.stated != shape.usual && shape.stated != shape.own)
      log_warning("model.{} is {}, and the model in {} has {}, which counts", shape.key, shape.stated, folder.string(), shape.own);
}

}  // namespace

void check_unread_settings(const RunConfig& config, const method::Method& objective) {
  const auto values = values_of(config), usual = values_of({});
  tell_other_shapes(config);
  std::vector<std::string> faults;
  for (const auto& [key, value] : values) {
    if (const auto own = usual.find(key); own != usual.end() && own->second == value) continue;
    for (const Row& row : kRows) {
      const bool all = std::string_view(row.keys).ends_with('.');
      if ((all ? !key.starts_with(row.keys) : key != row.keys) || row.is_read(config, objective)) continue;
      faults.push_back(
          error_message(fmt::format("{} is set, but {} (task.name {}, objective.recipe {})", key, row.lacking, config.task.name, config.objective.recipe),
                        "nothing would read it", row.remedy));
    }
  }
  require_no_faults(faults);
}

}  // namespace rollcall::stages
