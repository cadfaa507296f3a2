// Every file is read once. A step is read again when it is packed, which costs as much as packing
// it.
#include "view/archive_index.hpp"

#include "base/numbers/hash.hpp"
#include "io/row_name.hpp"
#include "io/shard_name.hpp"
#include "text/answer/accepted_answers.hpp"
#include "view/script_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace rollcall::view {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kPromptBytes = 240, kReferenceBytes = 80;  // bytes of each beginning that
                                                                 // lists of prompts show

/// Size and modification time of a file. A published file never changes, but a file of another run
/// may have replaced it.
std::string stamp(const fs::path& path) {
  std::error_code gone;
  const auto bytes = fs::file_size(path, gone);
  const auto changed = fs::last_write_time(path, gone);
  return gone ? "gone;" : fmt::format("{} {};", bytes, changed.time_since_epoch().count());
}

}  // namespace

PromptKey prompt_key(const io::ArchivedGroup& group) {
  return {group.purpose, group.group.id.prompt.value, checksum64(group.prompt.text)};
}

std::vector<ArchiveIndex::Part> ArchiveIndex::parts_of(const io::Source& source) const {
  std::vector<Part> parts;
  for (const auto& entry : source.packed)
    parts.push_back({io::purpose_from_text(entry.purpose), entry.first_step, entry.last_step,
                     hex64(entry.file.checksum)});
  std::map<StepKey, std::string> loose;
  for (const auto& path : source.loose) {
    const auto name = *io::ShardName::parse(path);
    std::string& identity = loose[{name.purpose, name.step}] += path + " ";
    for (const auto& file : io::files_of_shard(path)) identity += stamp(source.root / file);
  }
  for (const auto& path : source.unscored) {  // a step that is only partly scored would look
                                              // complete
    const auto name = *io::ShardName::parse(path);
    loose.erase({name.purpose, name.step});
  }
  for (auto& [key, identity] : loose)
    parts.push_back({key.purpose, key.step, key.step, std::move(identity)});
  std::sort(parts.begin(), parts.end());
  return parts;
}

bool ArchiveIndex::refresh() {
  const auto now = parts_of(io::open_source(run_));
  std::vector<Part> gone, fresh;
  std::set_difference(parts_.begin(), parts_.end(), now.begin(), now.end(),
                      std::back_inserter(gone));
  std::set_difference(now.begin(), now.end(), parts_.begin(), parts_.end(),
                      std::back_inserter(fresh));
  if (gone.empty() && fresh.empty()) return false;
  parts_.clear();  // so that everything is read again if a read fails
  for (const Part& part : gone) forget(part);
  for (const Part& part : fresh) forget(part), read(part);
  parts_ = now;
  count_visits();
  return true;
}

void ArchiveIndex::forget(const Part& part) {
  steps_.erase(steps_.lower_bound({part.purpose, part.first}),
               steps_.upper_bound({part.purpose, part.last}));
}

void ArchiveIndex::read(const Part& part) {
  io::each_group(
      run_,
      {.purpose = part.purpose, .first_step = part.first, .last_step = part.last, .prompt = {}},
      [this](const io::ArchivedGroup& group, const auto&) {
        add(group);
        return true;
      });
}

void ArchiveIndex::add(const io::ArchivedGroup& g) {
  StepLine& step = steps_[{g.purpose, g.step}];
  GroupLine line{prompt_key(g), std::uint32_t(g.group.rollouts.size()), 0, 0};
  for (std::size_t i = 0; i < g.group.rollouts.size(); ++i) {
    line.correct += g.scores[i].correct ? 1 : 0;
    step.reward += g.scores[i].reward;
    step.cut += g.group.rollouts[i].finish == FinishReason::length ? 1 : 0;
    for (const Turn& turn : g.group.rollouts[i].turns)
      line.tokens += turn.role == Role::prompt ? 0 : turn.tokens.size();
    step.policy.add(g.group.rollouts[i]);
  }
  step.rollouts += line.rollouts, step.correct += line.correct;
  PromptLine& prompt = prompts_[line.prompt];
  if (prompt.text.empty() && prompt.reference.empty())
    prompt = {std::string(beginning(g.prompt.text, kPromptBytes)),
              std::string(beginning(text::shown_reference(g.prompt.answer), kReferenceBytes)),
              std::string(beginning(io::row_name(g.prompt.extra).name, kReferenceBytes)),
              g.group.level,
              {}};
  step.groups.push_back(line);
}

double pass_rate(const StepLine& step) {
  std::map<PromptKey, std::pair<double, double>> prompts;
  for (const GroupLine& group : step.groups) {
    auto& [drawn, solved] = prompts[group.prompt];
    drawn += double(group.rollouts), solved += double(group.correct);
  }
  double all = 0.0;
  for (const auto& [prompt, of] : prompts) all += of.second / std::max(of.first, 1.0);
  return all / std::max(double(prompts.size()), 1.0);
}

void ArchiveIndex::count_visits() {
  for (auto& [key, prompt] : prompts_) prompt.visits.clear();
  for (const auto& [key, step] : steps_) {
    for (const GroupLine& group : step.groups) {
      auto& visits = prompts_.at(group.prompt).visits;
      if (visits.empty() || visits.back().step != key.step) visits.push_back({key.step});
      visits.back().rollouts += group.rollouts, visits.back().correct += group.correct;
    }
  }
  std::erase_if(prompts_, [](const auto& entry) { return entry.second.visits.empty(); });
}

std::pair<std::uint64_t, std::uint64_t> ArchiveIndex::file_of(const StepKey& key) const {
  for (const Part& part : parts_)
    if (part.purpose == key.purpose && part.first <= key.step && key.step <= part.last)
      return {part.first, part.last};
  return {key.step, key.step};
}

std::optional<Visit> ArchiveIndex::visit_before(const PromptKey& prompt, std::uint64_t step) const {
  const auto found = prompts_.find(prompt);
  if (found == prompts_.end()) return std::nullopt;
  const auto& visits = found->second.visits;
  const auto at =
      std::lower_bound(visits.begin(), visits.end(), step,
                       [](const Visit& visit, std::uint64_t s) { return visit.step < s; });
  return at == visits.begin() ? std::nullopt : std::optional(*std::prev(at));
}

}  // namespace rollcall::view
