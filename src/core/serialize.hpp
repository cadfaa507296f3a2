// Control messages as bytes and back, by Boost.Serialization. No other file names Boost.
#pragma once

#include "base/errors/error.hpp"
#include "core/plan.hpp"
#include "core/rollout.hpp"

#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>
#include <boost/serialization/map.hpp>
#include <boost/serialization/string.hpp>
#include <boost/serialization/utility.hpp>
#include <boost/serialization/vector.hpp>

#include <sstream>
#include <string>

namespace boost::serialization {

template <class A>
void serialize(A& ar, rollcall::SamplingParams& v, unsigned) {
  ar& v.temperature& v.top_k& v.top_p& v.max_new_tokens& v.stop& v.vocab_size& v.logprob& v
      .turn_tokens& v.two_likeliest;
}
template <class A>
void serialize(A& ar, rollcall::GroupId& v, unsigned) {
  ar& v.step& v.prompt& v.draw;
}
template <class A>
void serialize(A& ar, rollcall::Derivation& v, unsigned) {
  ar& v.kind& v.parent& v.parent_sample& v.tier& v.placement;
}
template <class A>
void serialize(A& ar, rollcall::GroupPlan& v, unsigned) {
  ar& v.id& v.level& v.first_sample& v.count& v.bin& v.from& v.samples& v.stream_draw& v.start& v
      .unforked;
}
template <class A>
void serialize(A& ar, rollcall::Prompt& v, unsigned) {
  ar& v.id& v.split& v.level& v.text& v.answer& v.solution& v.domain& v.prior& v.conversation;
}
template <class A>
void serialize(A& ar, rollcall::DerivedPrompt& v, unsigned) {
  ar& v.prompt& v.from& v.given& v.learns_given;
}
template <class A>
void serialize(A& ar, rollcall::StepPlan& v, unsigned) {
  ar& v.purpose& v.split& v.step& v.round& v.policy& v.sampling& v.groups& v.derived& v
      .aggregator& v.aggregated;
}
template <class A>
void serialize(A& ar, rollcall::GroupReport& v, unsigned) {
  ar& v.id& v.level& v.rewards& v.correct& v.lengths& v.answers& v.dropped& v.predicted& v
      .diversity& v.drift& v.from;
}
template <class A>
void serialize(A& ar, rollcall::StepReport& v, unsigned) {
  ar& v.purpose& v.step& v.round& v.producer& v.groups;
}

}  // namespace boost::serialization

namespace rollcall {

/// The native binary archive is enough, because all ranks of a job run the same binary.
template <class T>
std::string to_bytes(const T& value) {
  std::ostringstream out(std::ios::binary);
  boost::archive::binary_oarchive(out, boost::archive::no_header) << value;
  return std::move(out).str();
}

/// Throws ProtocolError when the bytes are not exactly one T.
template <class T>
T from_bytes(const std::string& bytes) {
  T value{};
  std::string problem;
  try {
    std::istringstream in(bytes, std::ios::binary);
    boost::archive::binary_iarchive archive(in, boost::archive::no_header);
    archive >> value;
    if (in.rdbuf()->in_avail() > 0) problem = "bytes are left over";
  } catch (const std::exception& e) {  // thrown by the archive, or for a length that does not fit
                                       // in memory
    problem = e.what();
  }
  require<ProtocolError>(problem.empty(), "a control message cannot be read: " + problem,
                         "ranks must run the same binary",
                         "check that every node starts the same build");
  return value;
}

}  // namespace rollcall
