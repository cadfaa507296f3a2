// The reference kernels: plain double-precision loops in *.ref.cpp that say what each kernel
// computes. Contracts are in kernel_set.hpp.
#pragma once

#include "kernels/kernel_set.hpp"

namespace rollcall::kernels::reference {

void linear(ExecutionContext&, const float* x, std::int64_t n, std::int64_t k,
            const Product* products, int count, int slices, std::int64_t begin, std::int64_t end);
void rms_norm(ExecutionContext&, const float* x, std::int64_t n, std::int64_t d,
              const float* weight, float eps, float* y);
void rms_norm_backward(ExecutionContext&, const float* x, std::int64_t n, std::int64_t d,
                       const float* weight, float eps, const float* dy, float* dx, float* dweight);
void rope(ExecutionContext&, float* x, std::int64_t n, std::int64_t heads, std::int64_t head_dim,
          const std::int32_t* position, const float* cos, const float* sin, int direction);
void attention(ExecutionContext&, const float* q, const AttentionRow* rows, std::int64_t n,
               HeadShape shape, AttentionPart part, float* out);
void attention_backward(ExecutionContext&, const float* q, const float* k, const float* v,
                        const float* dout, std::int64_t queries, std::int64_t keys, HeadShape shape,
                        std::int64_t begin, std::int64_t end, float* dq, float* dk, float* dv);
void swiglu(ExecutionContext&, const float* gate, const float* up, std::int64_t n, std::int64_t f,
            float* y);
void swiglu_backward(ExecutionContext&, const float* gate, const float* up, std::int64_t n,
                     std::int64_t f, const float* dy, float* dgate, float* dup);
void token_columns(ExecutionContext&, const float* logits, std::int64_t n, std::int64_t v,
                   float inverse_temperature, const std::int32_t* target, float* logprob,
                   float* entropy, float* lse, BlockMass* blocks, float* e);
void token_columns_backward(ExecutionContext&, const float* logits, std::int64_t n, std::int64_t v,
                            float inverse_temperature, const std::int32_t* target, const float* lse,
                            const float* entropy, const float* dlogprob, const float* dentropy,
                            float* dlogits);
void wide_columns(ExecutionContext&, const float* logits, const float* other, std::int64_t n,
                  std::int64_t v, float inverse_temperature, const float* lse,
                  const float* other_lse, float* squares, float* kl);
void exponentials(ExecutionContext&, const float* logits, std::int64_t v, float inverse_temperature,
                  float largest, float* e);
void sums_from(ExecutionContext&, const float* e, const float* factor, std::int64_t v,
               const float* least, bool number, double* sum);
std::int64_t places_between(ExecutionContext&, const float* e, const float* factor, std::int64_t v,
                            float low, float high, float* sum, std::int32_t* place);

}  // namespace rollcall::kernels::reference
