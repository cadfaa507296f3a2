// The state as JSON with a format number. Doubles are written so that they are read back exactly.
#include "run/checkpoint/coordinator_state.hpp"

#include "base/errors/error.hpp"
#include "base/text/foreign_json.hpp"
#include "base/text/json.hpp"
#include "io/shard_name.hpp"
#include "run/checkpoint/part.hpp"
#include "run/messages/purposes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace rollcall::run {
namespace {

using nlohmann::json;
// Earlier formats lack: 2 the archive that a run trains from, 3 the checkpoint to roll back to and
// the hash of the first weights, 4 tokenizers and templates from files, 5 examples, 6 the
// arithmetic, 7 files with both rollouts and scores.
constexpr int kOldest = 2;
int newest_format() { return row_of(Part::coordinator).format; }

/// Texts that are written only if they are not empty, so that a build that does not know one of
/// them can read states without it.
constexpr std::pair<const char*, std::string CoordinatorState::*> kOptionalTexts[] = {
    {"judge_digest", &CoordinatorState::judge_digest},
    {"mask_digest", &CoordinatorState::mask_digest},
    {"best_metric", &CoordinatorState::best_metric},
    {"prompts_hash", &CoordinatorState::prompts_hash},
    {"before_prompts", &CoordinatorState::before_prompts},
    {"after_prompts", &CoordinatorState::after_prompts}};

json file_json(const io::PublishedFile& f) { return {f.path, f.bytes, f.checksum}; }
io::PublishedFile file_from(const json& j) {
  return {j.at(0).get<std::string>(), j.at(1).get<std::uint64_t>(), j.at(2).get<std::uint64_t>()};
}

/// Answers and judge tasks are text of a model, which may be any bytes. JSON text may not, so they
/// are written in hexadecimal form.
std::string to_hex(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

std::string from_hex(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes += char(std::stoi(text.substr(i, 2), nullptr, 16));
  return bytes;
}

/// Number, level, text and answer. Prompts other than judge tasks also have their origin, the
/// tokens that their answers begin with, and whether those tokens train.
json derived_json(const DerivedPrompt& derived) {
  const auto& [prompt, from, given, learns] = derived;
  json j{prompt.id.value, prompt.level, to_hex(prompt.text), to_hex(prompt.answer)};
  if (is_judge_task(from.kind)) return j;
  for (const auto number : {std::uint64_t(from.kind), from.parent.step, from.parent.prompt.value,
                            std::uint64_t(from.parent.draw), std::uint64_t(from.parent_sample),
                            std::uint64_t(from.tier), std::uint64_t(from.placement)})
    j.push_back(number);
  j.push_back(given), j.push_back(learns);
  return j;
}

DerivedPrompt derived_from(const json& j) {
  DerivedPrompt derived{.prompt = {.id = {j.at(0).get<std::uint64_t>()},
                                   .level = j.at(1).get<std::int32_t>(),
                                   .text = from_hex(j.at(2).get<std::string>()),
                                   .answer = from_hex(j.at(3).get<std::string>()),
                                   .solution = {}}};
  Derivation& from = derived.from;
  if (j.size() == 4) {
    from.kind = kind_of(GroupId{0, derived.prompt.id, 0}, {});
    return derived;
  }
  from.kind = DerivedKind(j.at(4).get<std::int32_t>());
  from.parent = {
      j.at(5).get<std::uint64_t>(), {j.at(6).get<std::uint64_t>()}, j.at(7).get<std::uint32_t>()};
  from.parent_sample = j.at(8).get<std::uint32_t>(), from.tier = j.at(9).get<std::int32_t>();
  from.placement = Placement(j.at(10).get<std::int32_t>());
  j.at(11).get_to(derived.given), j.at(12).get_to(derived.learns_given);
  return derived;
}

json history_json(const History& h) {
  return {h.parent.step,      h.parent.prompt.value, h.parent.draw,    h.sample,  h.level,
          to_hex(h.question), to_hex(h.reference),   to_hex(h.answer), h.variance};
}

History history_from(const json& j) {
  const auto text_at = [&](std::size_t i) { return from_hex(j.at(i).get<std::string>()); };
  return {.parent = {j.at(0).get<std::uint64_t>(),
                     {j.at(1).get<std::uint64_t>()},
                     j.at(2).get<std::uint32_t>()},
          .sample = j.at(3).get<std::uint32_t>(),
          .level = j.at(4).get<std::int32_t>(),
          .question = text_at(5),
          .reference = text_at(6),
          .answer = text_at(7),
          .variance = j.at(8).get<double>()};
}

json outcomes_json(const std::optional<std::vector<report::PromptOutcome>>& outcomes) {
  if (!outcomes) return nullptr;
  json list = json::array();
  for (const auto& o : *outcomes) {
    json answers = json::array();
    for (const auto& answer : o.answers) answers.push_back(to_hex(answer));
    list.push_back({o.level, o.correct, std::move(answers)});
  }
  return list;
}

std::optional<std::vector<report::PromptOutcome>> outcomes_from(const json& j) {
  if (j.is_null()) return std::nullopt;
  std::vector<report::PromptOutcome> outcomes;
  for (const auto& o : j) {
    outcomes.push_back({o.at(0).get<std::int32_t>(), o.at(1).get<std::vector<std::uint8_t>>(), {}});
    for (const auto& answer : o.at(2))
      outcomes.back().answers.push_back(from_hex(answer.get<std::string>()));
  }
  return outcomes;
}

Purpose purpose_from(const json& j, const std::string& origin) {
  const int value = j.get<int>();
  require<StorageError>(value >= int(Purpose::train) && value <= int(Purpose::greedy),
                        fmt::format("{}: purpose {}", origin, value),
                        "the coordinator's state cannot be restored", "use an older checkpoint");
  return Purpose(value);
}

}  // namespace

bool is_training(const UnpackedFile& file) {
  const auto name = io::ShardName::parse(file.files.shard.path);
  return name && name->holds == io::Holds::training;
}

bool by_step_and_path(const UnpackedFile& a, const UnpackedFile& b) {
  return std::tie(a.step, a.files.shard.path) < std::tie(b.step, b.files.shard.path);
}

bool can_measure(const std::vector<report::PromptOutcome>& outcomes, std::int64_t k) {
  return std::all_of(outcomes.begin(), outcomes.end(), [&](const report::PromptOutcome& o) {
    return std::int64_t(o.correct.size()) >= k;
  });
}

std::vector<PackRequest> pack_requests(std::vector<UnpackedFile> files,
                                       const std::vector<io::ArchiveEntry>& entries) {
  std::stable_sort(files.begin(), files.end(), [](const auto& a, const auto& b) {
    return std::pair(a.purpose, a.step) < std::pair(b.purpose, b.step);
  });
  const auto one_file = [&](const UnpackedFile& first, const UnpackedFile& before,
                            const UnpackedFile& last) {
    // A step was lost, so no file name may include it.
    const bool gap = last.purpose == Purpose::train && last.step > before.step + 1;
    return first.purpose == last.purpose && !gap &&
           std::none_of(entries.begin(), entries.end(), [&](const auto& e) {
             return io::overlap(e, first.purpose, first.step, last.step);
           });
  };
  std::vector<PackRequest> requests;
  for (auto first = files.begin(); first != files.end();) {
    auto next = first;
    PackRequest request;
    for (;
         next != files.end() && one_file(*first, next == first ? *first : *std::prev(next), *next);
         ++next)
      request.files.push_back(next->files);
    expect(next != first, "a shard to pack is of no step that an archive file holds");
    request.name = fmt::format("{}_{:06}-{:06}", purpose_name(first->purpose), first->step,
                               std::prev(next)->step);
    requests.push_back(std::move(request));
    first = next;
  }
  return requests;
}

std::string to_json(const CoordinatorState& s) {
  json j{{"format", newest_format()},
         {"sft_steps", s.sft_steps},
         {"train_steps", s.train_steps},
         {"policy_version", s.policy_version},
         {"metric_rows", s.metric_rows},
         {"bad_steps", s.bad_steps},
         {"grad_norm_mean", s.grad_norm_mean},
         {"rollback_to", s.rollback_to},
         {"weights_hash", s.weights_hash},
         {"rollouts_total", s.rollouts_total},
         {"rollouts_per_level", s.rollouts_per_level},
         {"best_value", s.best_value ? json(*s.best_value) : json(nullptr)},
         {"best_checkpoint", s.best_checkpoint},
         {"packed_steps", s.packed_steps},
         {"text_hash", s.text_hash},
         {"examples_hash", s.examples_hash},
         {"arithmetic", s.arithmetic},
         {"archive_digest", s.archive_digest},
         {"seconds", s.seconds},
         {"before", outcomes_json(s.before)},
         {"after", outcomes_json(s.after)}};
  if (s.groups_drawn) j["groups_drawn"] = *s.groups_drawn;
  if (!s.numerics.empty()) j["numerics"] = json::parse(to_json(s.numerics));
  if (!s.parent.empty()) j["parent"] = json::parse(s.parent);
  if (s.kept) j["kept"] = *s.kept;
  if (s.validations_since_best > 0) j["validations_since_best"] = s.validations_since_best;
  for (const auto& [key, member] : kOptionalTexts)
    if (!(s.*member).empty()) j[key] = s.*member;
  if (!s.graders.empty()) j["graders"] = json::parse(to_json(s.graders));
  if (!s.environment_files.empty())
    j["environment_files"] = json::parse(to_json(s.environment_files));
  for (const DerivedPrompt& derived : s.next)
    j[is_judge_task(derived.from.kind) ? "judge_tasks" : "derived"].push_back(
        derived_json(derived));
  if (s.actions_left > 1) j["actions_left"] = s.actions_left;
  for (const History& history : s.histories) j["histories"].push_back(history_json(history));
  j["unpacked"] = json::array();
  for (const auto& f : s.unpacked)
    j["unpacked"].push_back(
        {int(f.purpose), f.step, file_json(f.files.shard), file_json(f.files.scores)});
  return j.dump();
}

CoordinatorState parse_coordinator_state(const std::string& text, const std::string& origin) {
  try {
    const json j = json::parse(text);
    const int format = j.at("format").get<int>();
    require<EnvironmentError>(
        kOldest <= format && format <= newest_format(),
        fmt::format("{}: format {}", origin, format),
        fmt::format("this build reads formats {} to {}", kOldest, newest_format()),
        "resume with the build that wrote it");
    CoordinatorState s;
    j.at("sft_steps").get_to(s.sft_steps), j.at("train_steps").get_to(s.train_steps),
        j.at("policy_version").get_to(s.policy_version);
    j.at("metric_rows").get_to(s.metric_rows), j.at("bad_steps").get_to(s.bad_steps),
        j.at("grad_norm_mean").get_to(s.grad_norm_mean);
    if (format > 3)
      j.at("rollback_to").get_to(s.rollback_to), j.at("weights_hash").get_to(s.weights_hash);
    j.at("rollouts_total").get_to(s.rollouts_total),
        j.at("rollouts_per_level").get_to(s.rollouts_per_level);
    if (!j.at("best_value").is_null()) s.best_value = j.at("best_value").get<double>();
    j.at("best_checkpoint").get_to(s.best_checkpoint), j.at("seconds").get_to(s.seconds),
        j.at("packed_steps").get_to(s.packed_steps);
    if (format > 4) j.at("text_hash").get_to(s.text_hash);
    if (format > 5) j.at("examples_hash").get_to(s.examples_hash);
    if (format > 6) j.at("arithmetic").get_to(s.arithmetic);
    for (const auto& [key, member] : kOptionalTexts) s.*member = j.value(key, "");
    if (j.contains("kept")) s.kept = j.at("kept").get<std::vector<std::string>>();
    s.validations_since_best = j.value("validations_since_best", std::int64_t{0});
    if (j.contains("groups_drawn")) s.groups_drawn = j.at("groups_drawn").get<std::int64_t>();
    if (j.contains("numerics")) s.numerics = parse_numerics(j.at("numerics").dump());
    if (j.contains("parent")) s.parent = j.at("parent").dump();
    if (j.contains("graders")) s.graders = parse_grader_files(j.at("graders").dump());
    if (j.contains("environment_files"))
      s.environment_files = parse_grader_files(j.at("environment_files").dump());
    if (format > 2) j.at("archive_digest").get_to(s.archive_digest);
    s.before = outcomes_from(j.at("before")), s.after = outcomes_from(j.at("after"));
    for (const char* key : {"judge_tasks", "derived"})
      for (const auto& derived : j.value(key, json::array()))
        s.next.push_back(derived_from(derived));
    std::sort(s.next.begin(), s.next.end(), [](const DerivedPrompt& a, const DerivedPrompt& b) {
      return a.prompt.id < b.prompt.id;
    });
    s.actions_left = j.value("actions_left", std::int64_t{1});
    for (const auto& history : j.value("histories", json::array()))
      s.histories.push_back(history_from(history));
    for (const auto& f : j.at("unpacked"))
      s.unpacked.push_back({purpose_from(f.at(0), origin),
                            f.at(1).get<std::uint64_t>(),
                            {file_from(f.at(2)), file_from(f.at(3))}});
    return s;
  } catch (const std::invalid_argument& e) {
    throw StorageError(
        error_message(fmt::format("{}: an answer is not hexadecimal ({})", origin, e.what()),
                      "the coordinator's state cannot be restored", "use an older checkpoint"));
  } catch (const json::exception& e) {
    throw StorageError(error_message(fmt::format("{}: {}", origin, fault_of(e)),
                                     "the coordinator's state cannot be restored",
                                     "use an older checkpoint"));
  }
}

CoordinatorState state_of(const io::StoredCheckpoint& checkpoint) {
  const std::string file = file_of(Part::coordinator);
  return parse_coordinator_state(checkpoint.read(file),
                                 fmt::format("{}/{}", checkpoint.name(), file));
}

}  // namespace rollcall::run
