// Reference for root-mean-square normalisation (Zhang and Sennrich 2019) and its backward pass.
#include "kernels/modules/reference.hpp"
#include "kernels/reference.hpp"

#include <cmath>

namespace rollcall::kernels::reference {

namespace {

double inverse_rms(const float* x, std::int64_t d, double eps) {
  double sum = 0.0;
  for (std::int64_t j = 0; j < d; ++j) sum += static_cast<double>(x[j]) * x[j];
  return 1.0 / std::sqrt(sum / static_cast<double>(d) + eps);
}

/// What is added to a weight: nothing, since -0 + w is w even where w is -0, or 1.
constexpr double kNothing = -0.0, kOne = 1.0;

void norm(const float* x, std::int64_t n, std::int64_t d, const float* weight, double offset,
          float eps, float* y) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double r = inverse_rms(x + i * d, d, eps);
    for (std::int64_t j = 0; j < d; ++j)
      y[i * d + j] = static_cast<float>(x[i * d + j] * r * (offset + weight[j]));
  }
}

void norm_backward(const float* x, std::int64_t n, std::int64_t d, const float* weight,
                   double offset, float eps, const float* dy, float* dx, float* dweight) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float *xi = x + i * d, *g = dy + i * d;
    const double r = inverse_rms(xi, d, eps);
    double mean = 0.0;
    for (std::int64_t j = 0; j < d; ++j)
      mean += xi[j] * (offset + weight[j]) * g[j] / static_cast<double>(d);
    for (std::int64_t j = 0; j < d; ++j) {
      dx[i * d + j] = static_cast<float>(r * ((offset + weight[j]) * g[j] - xi[j] * r * r * mean));
      dweight[j] += static_cast<float>(g[j] * xi[j] * r);
    }
  }
}

}  // namespace

void rms_norm(ExecutionContext&, const float* x, std::int64_t n, std::int64_t d,
              const float* weight, float eps, float* y) {
  norm(x, n, d, weight, kNothing, eps, y);
}
void rms_norm_backward(ExecutionContext&, const float* x, std::int64_t n, std::int64_t d,
                       const float* weight, float eps, const float* dy, float* dx, float* dweight) {
  norm_backward(x, n, d, weight, kNothing, eps, dy, dx, dweight);
}
void rms_norm_plus_one(ExecutionContext&, const float* x, std::int64_t n, std::int64_t d,
                       const float* weight, float eps, float* y) {
  norm(x, n, d, weight, kOne, eps, y);
}
void rms_norm_plus_one_backward(ExecutionContext&, const float* x, std::int64_t n, std::int64_t d,
                                const float* weight, float eps, const float* dy, float* dx,
                                float* dweight) {
  norm_backward(x, n, d, weight, kOne, eps, dy, dx, dweight);
}

}  // namespace rollcall::kernels::reference
