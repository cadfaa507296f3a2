// The fields of each message in the order in which they are serialized. They are apart from
// messages.hpp so that only the files that send messages compile Boost.Serialization.
#pragma once

#include "core/serialize.hpp"
#include "run/messages/messages.hpp"

namespace boost::serialization {

template <class A>
void serialize(A& ar, rollcall::run::RoundPlan& v, unsigned) {
  ar& static_cast<rollcall::StepPlan&>(v) & v.times;
}
template <class A>
void serialize(A& ar, rollcall::run::ShardNotice& v, unsigned) {
  ar& v.file& v.archive_s& v.generation_s& v.derived& v.aggregator& v.aggregated& v.cut& v.figures;
}
template <class A>
void serialize(A& ar, rollcall::run::ScoredFile& v, unsigned) {
  ar& v.shard& v.scores& v.cached_on_rank;
}
template <class A>
void serialize(A& ar, rollcall::run::SlowVerdict& v, unsigned) {
  ar& v.sample& v.seconds;
}
template <class A>
void serialize(A& ar, rollcall::run::VerdictFacts& v, unsigned) {
  ar& v.seconds& v.repeated& v.undecided& v.ended& v.slowest& v.reason& v.causes;
  ar& v.settled& v.lost& v.lost_reason& v.wrong;
  ar& v.judged& v.judged_known& v.judged_undecided& v.judging_s;
}
template <class A>
void serialize(A& ar, rollcall::run::Exhibit& v, unsigned) {
  ar& v.sample& v.correct& v.reward& v.text& v.reason& v.tokens;
}
template <class A>
void serialize(A& ar, rollcall::run::Specimen& v, unsigned) {
  ar& v.id& v.level& v.right_number& v.wrong_number& v.right& v.wrong& v.exhibits& v.cut;
}
template <class A>
void serialize(A& ar, rollcall::run::GradedPart& v, unsigned) {
  ar& v.notice& v.shard.purpose& v.shard.step& v.shard.round& v.shard.producer& v.shard.policy& v
      .shard.temperature;
  ar& v.facts& v.read_s& v.scoring_s& v.groups;
}
template <class A>
void serialize(A& ar, rollcall::run::ScoredNotice& v, unsigned) {
  ar& v.files& v.report& v.verdicts& v.scoring_s& v.archive_s& v.generation_s& v.specimens& v
      .rollouts& v.figures;
}
template <class A>
void serialize(A& ar, rollcall::run::Question& v, unsigned) {
  ar& v.prompt& v.response& v.answer& v.other;
}
template <class A>
void serialize(A& ar, rollcall::run::Judgement& v, unsigned) {
  ar& v.value& v.undecided& v.reason;
}
template <class A>
void serialize(A& ar, rollcall::run::JudgeRequest& v, unsigned) {
  ar& v.id& v.questions;
}
template <class A>
void serialize(A& ar, rollcall::run::JudgeReply& v, unsigned) {
  ar& v.id& v.judgements& v.known;
}
template <class A>
void serialize(A& ar, rollcall::run::SupervisePlan& v, unsigned) {
  ar& v.step& v.lr& v.grad_norm_limit& v.prompts& v.times;
}
template <class A>
void serialize(A& ar, rollcall::run::UpdatePlan& v, unsigned) {
  ar& v.step& v.lr& v.grad_norm_limit& v.progress& v.steps& v.files& v.others& v.training& v.times;
}
template <class A>
void serialize(A& ar, rollcall::scheduling::GroupTraining& v, unsigned) {
  ar& v.id& v.weight& v.keep;
}
template <class A>
void serialize(A& ar, rollcall::run::GroupSignal& v, unsigned) {
  ar& v.id& v.loss& v.mean_abs_advantage& v.drift;
}
template <class A>
void serialize(A& ar, rollcall::run::UpdateReport& v, unsigned) {
  ar& v.outcome& v.updates& v.applied& v.gradient_norm& v.version& v.metrics& v.archive_s& v
      .update_s& v.compute_mean_s& v.compute_max_s& v.groups& v.stored;
}
template <class A>
void serialize(A& ar, rollcall::run::SaveRequest& v, unsigned) {
  ar& v.name& v.earlier;
}
template <class A>
void serialize(A& ar, rollcall::run::SaveReport& v, unsigned) {
  ar& v.files& v.policy_sha256;
}
template <class A>
void serialize(A& ar, rollcall::run::PackRequest& v, unsigned) {
  ar& v.name& v.files;
}
template <class A>
void serialize(A& ar, rollcall::run::PackReport& v, unsigned) {
  ar& v.seconds;
}

}  // namespace boost::serialization
