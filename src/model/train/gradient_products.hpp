// Private to the model: the products of a backward pass on the host.
#pragma once

#include "model/engine/backend.hpp"

#include <cstdint>
#include <vector>

namespace rollcall::model {

/// Products of gradients are `linear` on transposed operands, in the numerics of the policy. The
/// gradients with respect to weights go to the sink.
class GradientProducts {
 public:
  /// Outputs of a weight whose gradient one member computes at a time.
  static constexpr std::int64_t kOutputs = 128;
  static constexpr std::int64_t kLeast = 8192;  ///< elements that are worth a second thread

  GradientProducts(const PolicyModel::Packed& policy, Backend& backend, Arena& scratch,
                   const GradientSink& sink);
  /// Floats that take_members() takes for each member of the team.
  static std::int64_t member_floats(std::int64_t rows, std::int64_t widest);
  /// Takes the memory of weights(), for at most this many rows and inputs.
  void take_members(std::int64_t rows, std::int64_t widest);
  /// [kOutputs, widest] of a member. It is free while weights() does not run.
  float* made(int member) { return made_[std::size_t(member)]; }

  /// Whether anybody wants the gradients with respect to weights: an empty sink does not.
  bool wanted() const { return bool(*sink_); }
  /// x^T packed. The gradients of all outputs of a weight share this operand.
  const void* packed_inputs(const float* x, std::int64_t rows, std::int64_t width);
  /// The gradient of a weight. dy [rows, linear.outputs] belongs to its outputs from first_output
  /// on.
  void weights(const Linear& linear, std::int64_t first_output, const float* dy, std::int64_t rows,
               const void* packed_x);
  void bias(const Linear& linear, const float* dy, std::int64_t rows);
  /// dx [rows, inputs] = dy [rows, outputs] W.
  void inputs(const Linear& linear, const float* dy, std::int64_t rows, float* dx);
  /// dx += dy W, which is computed in `part` [rows, inputs].
  void add_inputs(const Linear& linear, const float* dy, std::int64_t rows, float* part, float* dx);

 private:
  void* take_bytes(std::int64_t bytes) { return scratch_->take((bytes + 3) / 4); }

  const PolicyModel::Packed* policy_;
  Backend* backend_;
  Team* team_;
  Arena* scratch_;
  const GradientSink* sink_;
  std::vector<float*> turned_, made_;  ///< [member] operand and result of weights()
};

}  // namespace rollcall::model
