// Private to the model: the kernels as differentiable operations of ATen.
#pragma once

#include "model/tape_engine.hpp"

#include <torch/csrc/autograd/custom_function.h>

namespace rollcall::model {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using Tensors = torch::autograd::variable_list;

/// Each operation's forward is a forward kernel. Its backward is LibTorch's matrix product or a backward kernel; the
/// gradient of its weight goes to the tape's sink.
struct LinearRows : Function<LinearRows> {  ///< x W^T + bias
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, Tape* tape, const Linear* linear);
  static Tensors backward(AutogradContext* ctx, const Tensors& grads);
};
struct NormRows : Function<NormRows> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, Tape* tape, const Norm* norm);
  static Tensors backward(AutogradContext* ctx, const Tensors& grads);
};
struct RopeRows : Function<RopeRows> {  ///< in place
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, Tape* tape);
  static Tensors backward(AutogradContext* ctx, const Tensors& grads);
};
struct AttentionRows : Function<AttentionRows> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, Tape* tape);
  static Tensors backward(AutogradContext* ctx, const Tensors& grads);
};
struct SwigluRows : Function<SwigluRows> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& gate, const at::Tensor& up, Tape* tape);
  static Tensors backward(AutogradContext* ctx, const Tensors& grads);
};

/// Token columns of x [M, hidden] through the head, kHeadRows rows of logits at a time; the backward computes them again.
struct HeadColumns : Function<HeadColumns> {
  static Tensors forward(AutogradContext* ctx, const at::Tensor& x, Tape* tape, const HeadCall* call);
  static Tensors backward(AutogradContext* ctx, const Tensors& grads);
};

}  // namespace rollcall::model
