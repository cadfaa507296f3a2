// The columns of shards, scores and archives, schema *.8: every table, column, type, unit and
// meaning. One table has one row dimension; in archives an HDF5 group is one table.
#pragma once

#include "core/rollout.hpp"
#include "io/column.hpp"
#include "io/conversation_columns.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::io {

/// The version of archives; compact_tables.hpp has the major version of shards and scores. Readers
/// accept every minor version, because a minor version only adds columns and attributes.
inline constexpr int kSchemaMajor = 1, kSchemaMinor = 8;

/// The columns that name the rollouts of a file; shards, scores and archives have them.
struct KeyColumns {
  std::vector<std::uint64_t> step, prompt_id;  // [group]
  std::vector<std::uint32_t> draw, rollout_count;
  std::vector<std::uint32_t> group, sample;  // [rollout]

  template <class Self, class F>
  static void each(Self& c, F&& f) {
    f(Column{"groups", "step", Dim::group, "1", "training step the group was drawn in"}, c.step);
    f(Column{"groups", "prompt_id", Dim::group, "1", "position of the prompt in its split"},
      c.prompt_id);
    f(Column{"groups", "draw", Dim::group, "1",
             "how often the prompt had been drawn in this step before"},
      c.draw);
    f(Column{"groups", "rollout_count", Dim::group, "rollouts", "rollouts of the group",
             Dim::rollout},
      c.rollout_count);
    f(Column{"rollouts", "group", Dim::rollout, "1", "row of the rollout's group in groups"},
      c.group);
    f(Column{"rollouts", "sample", Dim::rollout, "1",
             "number of the rollout in its group; addresses the random stream"},
      c.sample);
  }
};

/// Names of FinishReason.
inline constexpr const char* kFinishNames = "stop length turns lost";

/// The results of generation; shards and archives have them.
struct RolloutColumns {
  std::vector<std::int32_t> level;  // [group]
  std::vector<float> temperature;
  std::vector<std::uint32_t> prompt_bytes, reference_bytes, planned;
  std::vector<std::int32_t> bin;
  std::vector<std::uint64_t> stream_prompt;
  std::vector<std::int8_t> finish;  // [rollout]
  std::vector<std::uint32_t> turn_count, completion_bytes;
  std::vector<std::int8_t> role;  // [turn]
  std::vector<std::uint32_t> token_count;
  std::vector<std::int32_t> id;  // [token]
  std::vector<float> logprob, entropy;
  std::vector<std::uint64_t> policy_version;
  std::vector<std::uint8_t> prompt, reference, completion;  // [*_byte]
  std::vector<std::uint32_t> shown_bytes, extra_bytes;      // [group]
  std::vector<std::uint8_t> shown, extra;                   // [*_byte]
  std::vector<std::uint32_t> kept_count;                    // [turn]
  std::vector<float> kept_mass;                             // [kept]
  std::vector<std::uint32_t> id_count;
  std::vector<std::int32_t> kept_id;  // [kept_id]
  ConversationColumns conversation;

  template <class Self, class F>
  static void each(Self& c, F&& f) {
    f(Column{"groups", "level", Dim::group, "1",
             "static difficulty of the prompt; 0 when the task knows none"},
      c.level);
    f(Column{"groups", "temperature", Dim::group, "1",
             "sampling temperature; 1 where answers are greedy"},
      c.temperature);
    f(Column{"groups", "prompt_bytes", Dim::group, "bytes", "length of the prompt in text/prompt",
             Dim::prompt_byte},
      c.prompt_bytes);
    f(Column{"groups", "reference_bytes", Dim::group, "bytes",
             "length of the reference answer in text/reference", Dim::reference_byte},
      c.reference_bytes);
    f(since(1,
            Column{"groups", "planned", Dim::group, "rollouts",
                   "rollouts the scheduler asked for; 0 where that was not recorded"},
            0),
      c.planned);
    f(since(1,
            Column{"groups", "bin", Dim::group, "1",
                   "difficulty bin the scheduler had the prompt in; -1 where it has no bins"},
            -1),
      c.bin);
    f(since(
          1,
          Column{"groups", "stream_prompt", Dim::group, "1",
                 "prompt part of the random streams' address (seed, step, prompt, sample, token)"},
          0),
      c.stream_prompt);
    f(Column{"rollouts", "finish", Dim::rollout, "1", "why generation ended", {}, kFinishNames},
      c.finish);
    f(Column{"rollouts", "turn_count", Dim::rollout, "turns", "turns of the rollout", Dim::turn},
      c.turn_count);
    f(Column{"rollouts", "completion_bytes", Dim::rollout, "bytes",
             "length of the decoded policy turns in text/completion", Dim::completion_byte},
      c.completion_bytes);
    f(Column{"turns",
             "role",
             Dim::turn,
             "1",
             "who speaks; only policy tokens are trained on",
             {},
             "prompt policy environment"},
      c.role);
    f(Column{"turns", "token_count", Dim::turn, "tokens", "tokens of the turn", Dim::token},
      c.token_count);
    f(Column{"tokens", "id", Dim::token, "1", "token id"}, c.id);
    f(
        Column{
            "tokens", "logprob", Dim::token, "nats",
            "log-prob under the softmax at the sampling temperature, full or over kept_ids; NaN outside policy turns"},
        c.logprob);
    f(Column{"tokens", "entropy", Dim::token, "nats",
             "entropy of that softmax; NaN outside policy turns"},
      c.entropy);
    f(Column{"tokens", "policy_version", Dim::token, "optimizer steps",
             "weights that sampled the token; 0 outside policy turns"},
      c.policy_version);
    f(Column{"text", "prompt", Dim::prompt_byte, "1", "prompts, UTF-8"}, c.prompt);
    f(Column{"text", "reference", Dim::reference_byte, "1", "reference answers, UTF-8"},
      c.reference);
    f(Column{"text", "completion", Dim::completion_byte, "1", "decoded policy turns, UTF-8"},
      c.completion);
    f(since(6,
            Column{"groups", "shown_bytes", Dim::group, "bytes",
                   "length in text/shown; 0 where the policy was shown text/prompt as it stands",
                   Dim::shown_byte},
            0),
      c.shown_bytes);
    f(since(6,
            Column{"groups", "extra_bytes", Dim::group, "bytes",
                   "length in text/extra; 0 where the prompt comes from no row of a file",
                   Dim::extra_byte},
            0),
      c.extra_bytes);
    f(since(6,
            Column{"text", "shown", Dim::shown_byte, "1",
                   "prompts as the policy was shown them, template included, UTF-8"},
            0),
      c.shown);
    f(since(6,
            Column{
                "text", "extra", Dim::extra_byte, "1",
                "the prompt's row: id or line, and fields beside question and answer; JSON, UTF-8"},
            0),
      c.extra);
    f(since(
          7,
          Column{
              "turns", "kept_count", Dim::turn, "tokens",
              "tokens of the turn that kept speaks of: all of a policy turn that was drawn with top_k or top_p, else 0",
              Dim::kept},
          0),
      c.kept_count);
    f(since(
          7,
          Column{
              "kept", "mass", Dim::kept, "1",
              "probability of the tokens that top_k and top_p left, in the full softmax at the sampling temperature"},
          1),
      c.kept_mass);
    f(since(
          7,
          Column{
              "kept", "id_count", Dim::kept, "tokens",
              "tokens that top_k and top_p left, which log-prob and entropy are of; 0 where these are of the full softmax",
              Dim::kept_id},
          0),
      c.id_count);
    f(since(7, Column{"kept_ids", "id", Dim::kept_id, "1", "ids of those tokens, ascending"}, 0),
      c.kept_id);
    ConversationColumns::each(c.conversation, f);
  }
};

/// The results of scoring, for the rollouts that KeyColumns names; scores and archives have them.
struct ScoreColumns {
  std::vector<double> reward;  // [rollout]
  std::vector<std::uint8_t> correct;
  std::vector<std::uint32_t> extracted_bytes;
  std::vector<double> components;       // [rollout, component]
  std::vector<std::uint8_t> extracted;  // [extracted_byte]
  std::vector<std::uint8_t> undecided;  // [rollout]
  std::vector<std::uint32_t> reason_bytes;
  std::vector<std::uint8_t> reason;       // [reason_byte]
  std::vector<std::uint8_t> clock_ended;  // [rollout]

  template <class Self, class F>
  static void each(Self& c, F&& f) {
    f(Column{"rollouts", "reward", Dim::rollout, "1", "scalar reward, what the objective sees"},
      c.reward);
    f(Column{"rollouts", "correct", Dim::rollout, "1", "what pass@k counts", {}, "wrong correct"},
      c.correct);
    f(Column{"rollouts", "extracted_bytes", Dim::rollout, "bytes",
             "length of the extracted answer in text/extracted; 0 when none was found",
             Dim::extracted_byte},
      c.extracted_bytes);
    f(Column{"rollouts",
             "components",
             Dim::rollout,
             "1",
             "named components of the reward",
             {},
             nullptr,
             true},
      c.components);
    f(Column{"text", "extracted", Dim::extracted_byte, "1", "extracted answers, UTF-8"},
      c.extracted);
    f(since(3,
            Column{"rollouts",
                   "undecided",
                   Dim::rollout,
                   "1",
                   "whether the verifier came to no verdict",
                   {},
                   "decided undecided"},
            0),
      c.undecided);
    f(since(3,
            Column{"rollouts", "reason_bytes", Dim::rollout, "bytes",
                   "length of the verdict's reason in text/reason; 0 when none is given",
                   Dim::reason_byte},
            0),
      c.reason_bytes);
    f(since(3, Column{"text", "reason", Dim::reason_byte, "1", "reasons of verdicts, UTF-8"}, 0),
      c.reason);
    f(since(4,
            Column{"rollouts",
                   "clock_ended",
                   Dim::rollout,
                   "1",
                   "whether a clock ended what was judged",
                   {},
                   "no yes"},
            0),
      c.clock_ended);
  }
};

/// How a step's update used the rollouts that KeyColumns names; training files and archives have
/// these columns.
struct TrainingColumns {
  static constexpr std::uint8_t kUnrecorded = 2;  ///< value of `trained` if nothing is recorded
  static constexpr std::uint8_t kLeft = 3;        ///< value of `trained` for a rollout that counted
                                                  ///< nowhere
  std::vector<std::uint8_t> trained;              // [rollout]
  std::vector<double> weight, advantage;

  template <class Self, class F>
  static void each(Self& c, F&& f) {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    f(since(5,
            Column{"rollouts",
                   "trained",
                   Dim::rollout,
                   "1",
                   "whether its step trained on it",
                   {},
                   "left_out trained unrecorded left"},
            kUnrecorded),
      c.trained);
    f(since(
          5,
          Column{
              "rollouts", "weight", Dim::rollout, "1",
              "what the scheduler multiplied its advantage with; NaN where that was not recorded"},
          none),
      c.weight);
    f(since(
          5,
          Column{
              "rollouts", "advantage", Dim::rollout, "1",
              "advantage before the step's first update and before that weight; NaN where it has none"},
          none),
      c.advantage);
  }
};

inline constexpr std::array<std::string_view, 4> kPurposes{"train", "validation", "eval", "greedy"};
inline std::string text_of(Purpose purpose) {
  return std::string(kPurposes.at(std::size_t(purpose)));
}

}  // namespace rollcall::io
