// The reference kernels of modules: plain double-precision loops in *.ref.cpp that say what each
// kernel computes. Contracts are in module_kernels.hpp.
#pragma once

#include "kernels/module_kernels.hpp"

namespace rollcall::kernels::reference {

void attention_in_form(ExecutionContext&, const float* q, const AttentionRow* rows, std::int64_t n,
                       HeadShape shape, AttentionPart part, const AttentionForm& form, float* out);
void attention_backward_in_form(ExecutionContext&, const float* q, const float* k, const float* v,
                                const float* dout, std::int64_t queries, std::int64_t keys,
                                HeadShape shape, std::int64_t begin, std::int64_t end,
                                const AttentionForm& form, float* dq, float* dk, float* dv,
                                float* dsinks);
void rms_norm_plus_one(ExecutionContext&, const float* x, std::int64_t n, std::int64_t d,
                       const float* weight, float eps, float* y);
void rms_norm_plus_one_backward(ExecutionContext&, const float* x, std::int64_t n, std::int64_t d,
                                const float* weight, float eps, const float* dy, float* dx,
                                float* dweight);
void rope_partial(ExecutionContext&, float* x, std::int64_t n, std::int64_t heads,
                  std::int64_t head_dim, std::int64_t rotary_dim, const std::int32_t* position,
                  const float* cos, const float* sin, int direction);
void gated(ExecutionContext&, const float* gate, const float* up, std::int64_t n, std::int64_t f,
           Gate form, float* y);
void gated_backward(ExecutionContext&, const float* gate, const float* up, std::int64_t n,
                    std::int64_t f, const float* dy, Gate form, float* dgate, float* dup);
void softcap(ExecutionContext&, float* x, std::int64_t n, float cap);
void softcap_backward(ExecutionContext&, const float* z, float* dz, std::int64_t n, float cap);
void route(ExecutionContext&, const float* x, std::int64_t n, std::int64_t hidden, const float* w,
           const float* bias, const RouteForm& form, const std::uint16_t* record, float* logits,
           std::int32_t* ids, float* weights);
void route_backward(ExecutionContext&, const float* logits, std::int64_t n, const RouteForm& form,
                    const std::int32_t* ids, const float* weights, const float* dweights,
                    const RouteLoss& loss, float* dlogits);
void route_inputs_backward(ExecutionContext&, const float* dlogits, std::int64_t n,
                           std::int64_t experts, const float* w, std::int64_t hidden, float* dx);
void route_weights_backward(ExecutionContext&, const float* dlogits, const float* x, std::int64_t n,
                            std::int64_t experts, std::int64_t hidden, std::int64_t begin,
                            std::int64_t end, float* dw, float* dbias);
void merge_rows(const float* w, std::int64_t rows, std::int64_t k, const float* b, const float* a,
                std::int64_t rank, float scale, float* out);
void merge_halves(const std::uint16_t* w, std::int64_t rows, std::int64_t k, const float* b,
                  const float* a, std::int64_t rank, float scale, float* out);

}  // namespace rollcall::kernels::reference
