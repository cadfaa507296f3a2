// The CUDA table against the reference, and rows that know nothing of their batch. Skips where there is no device.
#include "kernels/cuda_kernels.hpp"

#include "operands.hpp"

#include <cuda_runtime.h>

#include <algorithm>

namespace rollcall::kernels {
namespace {

class CudaKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) GTEST_SKIP() << "no CUDA device on this machine: its kernels were compiled, not run";
  }
  void TearDown() override {
    for (void* memory : owned_) cudaFree(memory);
  }

  /// A copy that host and device both reach.
  template <class T>
  T* managed(const std::vector<T>& values) {
    void* memory = nullptr;
    EXPECT_EQ(cudaMallocManaged(&memory, values.size() * sizeof(T)), cudaSuccess);
    owned_.push_back(memory);
    std::copy(values.begin(), values.end(), static_cast<T*>(memory));
    return static_cast<T*>(memory);
  }
  float* output(std::int64_t count) { return managed(Floats(static_cast<std::size_t>(count), 0.0F)); }

  /// Runs `call` on the reference and on the device over copies of the same `outputs` floats (all outputs, one after the other) and compares.
  template <class Call>
  void expect_same(const char* what, std::int64_t outputs, double tolerance, const Call& call) {
    ExecutionContext context;
    float *expected = output(outputs), *got = output(outputs);
    call(reference_kernels(), context, expected);
    call(cuda_kernels(), context, got);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess) << what;
    EXPECT_TRUE(near(Floats(got, got + outputs), Floats(expected, expected + outputs), tolerance)) << what;
  }

 private:
  std::vector<void*> owned_;
};

TEST_F(CudaKernels, LinearAndRowKernelsAgreeWithReference) {
  const std::int64_t n = 9, d = 34, o = 50;
  const float *x = managed(random_floats(n * d, 1)), *up = managed(random_floats(n * d, 2)), *dy = managed(random_floats(n * d, 3));
  const float *weight = managed(random_floats(d, 4)), *w = managed(packed(random_floats(o * d, 5), o, d)), *bias = managed(random_floats(o, 6));
  const float *cos = managed(random_floats(n * d / 2, 7)), *sin = managed(random_floats(n * d / 2, 8));
  const std::int32_t* position = managed(std::vector<std::int32_t>{8, 7, 6, 5, 4, 3, 2, 1, 0});
  expect_same("linear", n * o, 1e-5, [&](auto& set, auto& context, float* y) {
    const Product product{w, o, bias, y};
    set.linear(context, x, n, d, &product, 1, 1, 0, panels_of(o));
  });
  expect_same("rms_norm", n * d, 1e-5, [&](auto& set, auto& context, float* y) { set.rms_norm(context, x, n, d, weight, 1e-6F, y); });
  expect_same("rms_norm_backward", n * d + d, 1e-5,
              [&](auto& set, auto& context, float* dx) { set.rms_norm_backward(context, x, n, d, weight, 1e-6F, dy, dx, dx + n * d); });
  expect_same("rope", n * d, 1e-5, [&](auto& set, auto& context, float* y) {
    std::copy(x, x + n * d, y);
    set.rope(context, y, n, 1, d, position, cos, sin, -1);
  });
  expect_same("swiglu", n * d, 1e-5, [&](auto& set, auto& context, float* y) { set.swiglu(context, x, up, n, d, y); });
  expect_same("swiglu_backward", 2 * n * d, 1e-5,
              [&](auto& set, auto& context, float* dgate) { set.swiglu_backward(context, x, up, n, d, dy, dgate, dgate + n * d); });
}

TEST_F(CudaKernels, AttentionAgreesWithReference) {
  const HeadShape shape{6, 2, 34};
  const std::int64_t t = 37, q_floats = t * 6 * 34, kv_floats = t * 2 * 34;
  const float *q = managed(random_floats(q_floats, 1)), *k = managed(random_floats(kv_floats, 2)), *v = managed(random_floats(kv_floats, 3));
  const float* dout = managed(random_floats(q_floats, 4));
  float* page = managed(Floats(static_cast<std::size_t>(page_bytes_fp32(shape)) / sizeof(float)));  // t fits one page
  for (std::int64_t j = 0; j < t; ++j) store_position_fp32(k + j * 2 * 34, v + j * 2 * 34, shape, j, page);
  const void* const* table = managed(std::vector<const void*>{page});
  std::vector<AttentionRow> keys;
  for (std::int64_t i = 0; i < t; ++i) keys.push_back({table, i + 1});
  const AttentionRow* rows = managed(keys);
  expect_same("attention", q_floats, 1e-5, [&](auto& set, auto& context, float* out) { set.attention(context, q, rows, t, shape, {0, 0, 2}, out); });
  expect_same("attention_backward", q_floats + 2 * kv_floats, 2e-5, [&](auto& set, auto& context, float* dq) {
    set.attention_backward(context, q, k, v, dout, t, t, shape, 0, shape.kv_heads, dq, dq + q_floats, dq + q_floats + kv_floats);
  });
}

TEST_F(CudaKernels, TokenColumnsAgreeWithReference) {
  const std::int64_t n = 7, v = 101;
  const float *logits = managed(random_floats(n * v, 1, 3.0F)), *dlogprob = managed(random_floats(n, 2)), *dentropy = managed(random_floats(n, 3));
  const std::int32_t* target = managed(random_targets(n, v, 4));
  const auto forward = [&](auto& set, auto& context, float* c) {
    set.token_columns(context, logits, n, v, 0.8F, target, c, c + n, c + 2 * n, nullptr, nullptr);
  };
  expect_same("token_columns", 3 * n, 1e-5, forward);
  float* columns = output(3 * n);
  ExecutionContext host;
  forward(reference_kernels(), host, columns);
  expect_same("token_columns_backward", n * v, 1e-5, [&](auto& set, auto& context, float* dlogits) {
    set.token_columns_backward(context, logits, n, v, 0.8F, target, columns + 2 * n, columns + n, dlogprob, dentropy, dlogits);
  });
}

TEST_F(CudaKernels, RowsDoNotDependOnTheirBatch) {
  const std::int64_t n = 13, d = 40;
  const float *x = managed(random_floats(n * d, 1)), *w = managed(packed(random_floats(d * d, 2), d, d)), *weight = managed(random_floats(d, 3));
  float *whole = output(2 * n * d), *alone = output(2 * d);
  ExecutionContext context;
  const auto both = [&](const float* rows, std::int64_t count, float* y) {
    const Product product{w, d, nullptr, y};
    cuda_kernels().linear(context, rows, count, d, &product, 1, 1, 0, panels_of(d));
    cuda_kernels().rms_norm(context, rows, count, d, weight, 1e-6F, y + count * d);
  };
  both(x, n, whole);
  both(x + 5 * d, 1, alone);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(std::memcmp(whole + 5 * d, alone, d * sizeof(float)), 0);
  EXPECT_EQ(std::memcmp(whole + (n + 5) * d, alone + d, d * sizeof(float)), 0);
}

}  // namespace
}  // namespace rollcall::kernels
