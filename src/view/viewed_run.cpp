// Reads under a lock and builds strings outside it.
#include "view/viewed_run.hpp"

#include "base/errors/error.hpp"
#include "base/files/file.hpp"
#include "base/text/json.hpp"
#include "io/schema.hpp"
#include "run/folder/run_folder.hpp"
#include "text/chat/prompt_format.hpp"
#include "view/script_text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <set>
#include <utility>

namespace rollcall::view {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kPromptsPerPage = 512;
constexpr std::size_t kFiles = 2;

std::optional<RunConfig> read_config(const fs::path& run, std::string& why_not) {
  if (!fs::is_directory(run) || !fs::exists(run / "config.toml")) {
    why_not = "There is no config.toml beside the archive.";
    return std::nullopt;
  }
  try {
    return load_run_config(run / "config.toml", run::kept_settings(run));
  } catch (const Error& error) {
    why_not = fmt::format("config.toml cannot be used: {}", error.what());
    return std::nullopt;
  }
}

std::shared_ptr<const text::Tokenizer> read_tokenizer(const fs::path& run,
                                                      const std::optional<RunConfig>& config,
                                                      std::string& why_not) {
  if (!config) {
    why_not =
        "Tokens are shown by their numbers: there is no config.toml that names the tokenizer.";
    return nullptr;
  }
  try {
    return text::PromptFormat(config->text, run::text_folder(run.string())).tokenizer();
  } catch (const Error& error) {
    why_not = fmt::format("Tokens are shown by their numbers: {}", error.what());
    return nullptr;
  }
}

/// Splits a name at its last dash: "train-12" gives (train, 12).
std::optional<std::pair<std::string, std::uint64_t>> numbered(std::string_view name) {
  const std::size_t dash = name.rfind('-');
  std::uint64_t number = 0;
  if (dash == std::string_view::npos || dash + 1 == name.size()) return std::nullopt;
  const auto [end, error] =
      std::from_chars(name.data() + dash + 1, name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() ||
      (name[dash + 1] == '0' && dash + 2 != name.size()))
    return std::nullopt;
  return std::pair(std::string(name.substr(0, dash)), number);
}

std::optional<Purpose> purpose_of(const std::string& text) {
  const auto place = std::find(io::kPurposes.begin(), io::kPurposes.end(), text);
  return place == io::kPurposes.end() ? std::nullopt
                                      : std::optional(Purpose(place - io::kPurposes.begin()));
}

std::string step_name(const StepKey& key) {
  return fmt::format("step-{}-{}", io::text_of(key.purpose), key.step);
}

void add_field(std::string& out, const char* name, std::string_view text) {
  out += fmt::format(",\"{}\":", name), add_string(out, text);
}

}  // namespace

ViewedRun::ViewedRun(fs::path run, std::string key)
    : run_(std::move(run)),
      key_(std::move(key)),
      config_(read_config(run_, no_config_)),
      tokenizer_(read_tokenizer(run_, config_, no_tokenizer_)),
      advantages_(config_),
      index_(run_) {
  refresh();
}

void ViewedRun::refresh() {
  const std::lock_guard lock(reading_);
  if (!index_.refresh() && !metrics_.empty()) return;
  loaded_.clear(), metrics_.clear(), validations_.clear();
  if (!fs::is_directory(run_) || !fs::exists(run_ / "metrics.jsonl")) return;
  for (auto& row : report::read_metrics(run_)) {
    if (row.phase == "validation") validations_.push_back(row);
    else if (row.phase == "train") metrics_[row.step] = std::move(row);
  }
}

std::vector<std::string> ViewedRun::files() {
  const std::lock_guard lock(reading_);
  std::vector<std::string> names{"steps"};
  std::set<std::pair<Purpose, std::uint64_t>> pages;
  for (const auto& [key, line] : index_.prompts())
    pages.emplace(key.purpose, key.prompt / kPromptsPerPage);
  for (const auto& [purpose, page] : pages)
    names.push_back(fmt::format("prompts-{}-{}", io::text_of(purpose), page));
  for (const auto& [key, line] : index_.steps()) {
    names.push_back(step_name(key));
    for (std::size_t part = 0; part < parts_of(line).size(); ++part)
      names.push_back(fmt::format("tokens-{}-{}-{}", io::text_of(key.purpose), key.step, part));
  }
  return names;
}

std::optional<std::string> ViewedRun::make(const std::string& name) {
  if (name == "steps") return steps_json();
  const auto last = numbered(name);
  if (!last) return std::nullopt;
  if (last->first.starts_with("prompts-")) {
    const auto purpose = purpose_of(last->first.substr(8));
    return purpose ? std::optional(prompts_json(*purpose, last->second)) : std::nullopt;
  }
  const bool tokens = name.starts_with("tokens-");
  const auto key = tokens ? numbered(last->first) : last;
  if (!key || !key->first.starts_with(tokens ? "tokens-" : "step-")) return std::nullopt;
  const auto purpose = purpose_of(key->first.substr(tokens ? 7 : 5));
  if (!purpose) return std::nullopt;
  StepLine line;
  {
    const std::lock_guard lock(reading_);
    const auto found = index_.steps().find({*purpose, key->second});
    if (found == index_.steps().end()) return std::nullopt;
    line = found->second;
  }
  const auto parts = parts_of(line);
  if (tokens && last->second >= parts.size()) return std::nullopt;
  const auto step = content({*purpose, key->second});
  if (!step) return std::nullopt;
  return tokens ? tokens_json(*step, parts[last->second], tokenizer_) : step_json(*step, line);
}

std::string ViewedRun::summary() {
  const std::lock_guard lock(reading_);
  std::uint64_t rollouts = 0;
  for (const auto& [key, line] : index_.steps()) rollouts += line.rollouts;
  std::error_code ignored;
  const fs::path whole = fs::weakly_canonical(fs::absolute(run_), ignored);
  std::string out = "{\"key\":";
  add_string(out, key_);
  add_field(out, "name",
            (whole.has_filename() ? whole.filename() : whole.parent_path().filename()).string());
  add_field(out, "folder", run_.string());
  return out + fmt::format(",\"steps\":{},\"rollouts\":{},\"prompts\":{}}}", index_.steps().size(),
                           rollouts, index_.prompts().size());
}

std::string ViewedRun::steps_json() {
  const std::lock_guard lock(reading_);
  std::string out = "{\"recipe\":";
  add_string(out, config_ ? config_->objective.recipe : "");
  add_field(out, "policy", config_ ? config_->scheduler.policy : ""),
      add_field(out, "task", config_ ? config_->task.name : "");
  add_field(out, "no_config", no_config_), add_field(out, "no_tokenizer", no_tokenizer_),
      add_field(out, "no_advantages", advantages_.why_not());
  out += fmt::format(
      ",\"prompts_per_page\":{},\"fields\":[\"purpose\",\"step\",\"groups\",\"rollouts\",\"reward\",\"pass_rate\",\"cut\",\"entropy\",\"logprob\","
      "\"length\"],\"steps\":[",
      kPromptsPerPage);
  for (const auto& [key, s] : index_.steps()) {
    if (out.back() != '[') out += ",\n";
    out += fmt::format("[\"{}\",{},{},{}", io::text_of(key.purpose), key.step, s.groups.size(),
                       s.rollouts);
    for (const double share :
         {s.reward / double(s.rollouts), pass_rate(s), double(s.cut) / double(s.rollouts),
          s.policy.entropy / double(s.policy.sampled), s.policy.logprob / double(s.policy.sampled),
          double(s.policy.tokens) / double(s.rollouts)})
      out += ',', add_number(out, share, 5);
    out += ']';
  }
  out += "],\"prompt_pages\":{";
  std::map<Purpose, std::set<std::uint64_t>> pages;
  for (const auto& [key, line] : index_.prompts())
    pages[key.purpose].insert(key.prompt / kPromptsPerPage);
  for (const auto& [purpose, numbers] : pages) {
    if (out.back() != '{') out += ',';
    add_string(out, io::text_of(purpose)), out += ':',
        add_list(out, numbers,
                 [](std::string& to, std::uint64_t n) { add_integer(to, std::int64_t(n)); });
  }
  return out + "},\"evaluations\":" + evaluations_json() + "}";
}

std::string ViewedRun::evaluations_json() const {
  auto list = nlohmann::ordered_json::array();
  const auto add = [&](const std::string& name, std::optional<std::uint64_t> step,
                       const nlohmann::json& numbers) {
    nlohmann::ordered_json kept;
    for (const auto& [key, value] : numbers.items())
      if (value.is_number() || (value.is_array() && value.size() == 2 && value[0].is_number()))
        kept[key] = value;
    list.push_back({{"name", name},
                    {"step", step ? nlohmann::ordered_json(*step) : nlohmann::ordered_json()},
                    {"numbers", kept}});
  };
  if (fs::is_directory(run_) && fs::exists(run_ / "result.json")) {
    const auto result =
        nlohmann::json::parse(rollcall::read_file(run_ / "result.json"), nullptr, false);
    for (const auto& [key, name] :
         {std::pair("eval_before", "before training"), std::pair("eval_after", "after training")})
      if (result.is_object() && result.contains(key) && result[key].is_object())
        add(name, std::nullopt, result[key]);
  }
  for (const auto& row : validations_) {
    nlohmann::json numbers;
    for (const auto& [name, value] : row.values) numbers[name] = value;
    add("validation", row.step, numbers);
  }
  std::string out = list.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
  std::string safe;  // keys come from files that anybody may have written
  for (const char c : out)
    safe += c == '<' ? "\\u003c" : c == '>' ? "\\u003e" : c == '&' ? "\\u0026" : std::string(1, c);
  return safe;
}

std::string ViewedRun::prompts_json(Purpose purpose, std::uint64_t page) {
  const std::lock_guard lock(reading_);
  std::string out = "[";
  const auto end = index_.prompts().lower_bound({purpose, (page + 1) * kPromptsPerPage, 0});
  for (auto at = index_.prompts().lower_bound({purpose, page * kPromptsPerPage, 0}); at != end;
       ++at) {
    const auto& [key, prompt] = *at;
    if (out.size() > 1) out += ",\n";
    out += fmt::format("{{\"prompt_id\":{},\"level\":{}", key.prompt, prompt.level);
    add_field(out, "prompt", prompt.text), add_field(out, "reference", prompt.reference);
    if (!prompt.row.empty()) add_field(out, "row", prompt.row);
    out += ",\"visits\":[";
    for (const Visit& visit : prompt.visits) {
      if (out.back() != '[') out += ',';
      out += '[', add_integer(out, std::int64_t(visit.step)), out += ',',
          add_integer(out, visit.rollouts), out += ',', add_integer(out, visit.correct), out += ']';
    }
    out += "]}";
  }
  return out + "]";
}

std::shared_ptr<const StepContent> ViewedRun::content(const StepKey& key) {
  const auto step = loaded(key);
  if (!step) return nullptr;
  std::call_once(step->completed, [&] { complete(*step); });
  return {step, &step->content};
}

std::shared_ptr<ViewedRun::Loaded> ViewedRun::loaded(const StepKey& key) {
  const std::lock_guard lock(reading_);
  for (const auto& file : loaded_)
    if (const auto found = file->find(key); found != file->end()) return found->second;
  auto file = read_file(key);
  const auto found = file->find(key);
  if (found == file->end()) return nullptr;
  loaded_.push_front(file);
  if (loaded_.size() > kFiles) loaded_.pop_back();
  return found->second;
}

std::shared_ptr<ViewedRun::Steps> ViewedRun::read_file(const StepKey& key) {
  const auto [first, last] = index_.file_of(key);
  auto steps = std::make_shared<Steps>();
  const auto visit = [&](Purpose purpose, const io::Visit& each) {
    io::each_group(run_, {.purpose = purpose, .first_step = first, .last_step = last, .prompt = {}},
                   each);
  };
  visit(key.purpose,
        [&](const io::ArchivedGroup& group, const std::vector<std::string>& component_names) {
          auto& step = (*steps)[{group.purpose, group.step}];
          if (!step) {
            step = std::make_shared<Loaded>();
            step->content.key = {group.purpose, group.step},
            step->content.component_names = component_names;
            if (group.purpose == Purpose::train) add_metrics(step->content);
          }
          step->content.before.push_back(index_.visit_before(prompt_key(group), group.step));
          step->content.groups.push_back(group);
          return true;
        });
  if (key.purpose == Purpose::train && advantages_.needs_greedy()) {
    visit(Purpose::greedy, [&](const io::ArchivedGroup& group, const auto&) {
      const auto step = steps->find({Purpose::train, group.step});
      if (step != steps->end() && !group.scores.empty())
        step->second->greedy[group.group.id.prompt] = group.scores.front().reward;
      return true;
    });
  }
  return steps;
}

void ViewedRun::complete(Loaded& loaded) const {
  StepContent& step = loaded.content;
  if (step.key.purpose != Purpose::train) {
    step.no_advantages = "Advantages are not shown: nothing is trained on these rollouts.";
    return;
  }
  try {
    step.advantages = advantages_.of(step.groups, step.component_names, loaded.greedy);
  } catch (const Error& error) {  // the rest of the step can still be shown
    step.no_advantages = fmt::format("Advantages are not shown: {}", error.what());
    return;
  }
  if (!step.advantages.empty()) return;
  step.no_advantages =
      !advantages_.why_not().empty()
          ? advantages_.why_not()
          : fmt::format(
                "Advantages are not shown: the recipe {} goes on from what it learnt in earlier "
                "steps, which the archive does not hold.",
                config_->objective.recipe);
}

void ViewedRun::add_metrics(StepContent& step) const {
  const auto row = metrics_.find(step.key.step);
  if (row == metrics_.end()) return;
  for (const auto& [name, value] : row->second.values) {
    const std::size_t slash = name.rfind('/');
    int bin = 0;
    const bool by_bin =
        name.starts_with("gdro/") && slash > 5 &&
        std::from_chars(name.data() + slash + 1, name.data() + name.size(), bin).ptr ==
            name.data() + name.size();
    if (by_bin) step.bins[name.substr(5, slash - 5)][bin] = value;
    else if (name.starts_with("actor/") || name.starts_with("timing_s/") ||
             name.starts_with("critic/advantages/"))
      step.numbers.emplace_back(name, value);
  }
}

}  // namespace rollcall::view
