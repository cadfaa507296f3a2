// The GPU check: all tests of the device's kernels, a training of the quickstart's size and
// timings, on whatever GPU is here; one dated table.
//
// usage: gpu_check [PART...]: tests, training, products, attention, models; without one all of them
#include "benchmarks/gpu_check/timings.hpp"
#include "benchmarks/gpu_check/training.hpp"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace rollcall::gpu_check;

constexpr int kUnusable = 2, kFailed = 1;

/// What is asked for of all there is; nothing, after a message, where a name is none.
std::vector<std::string> parts(int argc, char** argv) {
  const std::vector<std::string> all{"tests", "training", "products", "attention", "models"};
  std::vector<std::string> asked(argv + 1, argv + argc);
  for (const std::string& part : asked)
    if (std::find(all.begin(), all.end(), part) == all.end()) {
      std::fprintf(
          stderr,
          "gpu_check: there is no part %s; there are tests, training, products, attention, models, and without one it runs all of them\n",
          part.c_str());
      return {};
    }
  return asked.empty() ? all : asked;
}

/// One clear message where nothing can run.
bool device_is_here() {
  int devices = 0, driver = 0;
  const cudaError_t code = cudaGetDeviceCount(&devices);
  cudaDriverGetVersion(&driver);
  if (code == cudaSuccess && devices > 0) return true;
  if (driver == 0)
    std::fprintf(
        stderr,
        "gpu_check: no NVIDIA driver was found (libcuda.so.1); run it on a machine with a GPU and driver 580 or newer\n");
  else if (code == cudaErrorInsufficientDriver)
    std::fprintf(
        stderr,
        "gpu_check: the driver is too old for it (it offers CUDA %d.%d, CUDA %d.%d is needed); install driver 580 or newer\n",
        driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
  else
    std::fprintf(
        stderr,
        "gpu_check: the driver shows no device (%s); look at nvidia-smi and CUDA_VISIBLE_DEVICES\n",
        cudaGetErrorString(code));
  return false;
}

void print(const std::string& what, const std::string& figures) {
  std::printf("  %-44s %s\n", what.c_str(), figures.c_str());
  std::fflush(stdout);
}

bool print(const std::vector<Line>& lines) {
  bool met = true;
  for (const Line& line : lines) {
    print(line.what, line.figures + (line.met ? "" : "  BELOW ITS FLOOR"));
    met = met && line.met;
  }
  return met;
}

bool run_tests() {
  delete ::testing::UnitTest::GetInstance()->listeners().Release(
      ::testing::UnitTest::GetInstance()->listeners().default_result_printer());
  struct Failures : ::testing::EmptyTestEventListener {
    void OnTestPartResult(const ::testing::TestPartResult& part) override {
      if (part.failed())
        std::printf("  %s:%d: %s\n", part.file_name() ? part.file_name() : "", part.line_number(),
                    part.message());
    }
  };
  ::testing::UnitTest::GetInstance()->listeners().Append(new Failures);
  const bool passed = RUN_ALL_TESTS() == 0;
  const auto& tests = *::testing::UnitTest::GetInstance();
  print("tests of the kernels", std::to_string(tests.successful_test_count()) + " passed, " +
                                    std::to_string(tests.failed_test_count()) + " failed, " +
                                    std::to_string(tests.skipped_test_count()) + " skipped");
  return passed;
}

bool run_training() {
  const TrainingResult r = train(
      {}, [](const std::string& progress) { std::fprintf(stderr, "  %s\n", progress.c_str()); });
  char line[200];
  std::snprintf(line, sizeof line,
                "loss %.2f -> %.2f by example; right answers %.3f -> %.3f by GRPO", r.first_loss,
                r.last_loss, r.before, r.after);
  print("training of the quickstart's size", line);
  std::snprintf(line, sizeof line,
                "%.0f tokens/s generated and trained on; largest difference of a log-prob %g",
                double(r.tokens) / r.seconds, r.largest_difference);
  print("", line);
  return r.last_loss < r.first_loss && r.after > r.before && r.largest_difference == 0.0;
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const std::vector<std::string> asked = parts(argc, argv);
  if (asked.empty() || !device_is_here()) return kUnusable;
  try {
    const Device device = measured_device();
    int driver = 0;
    cudaDriverGetVersion(&driver);
    char date[32];
    const std::time_t now = std::time(nullptr);
    std::strftime(date, sizeof date, "%F", std::gmtime(&now));
    std::printf("%s, %s, compute capability %d.%d, driver of CUDA %d.%d, runtime %d.%d\n", date,
                device.name.c_str(), device.capability / 10, device.capability % 10, driver / 1000,
                driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    print("bandwidth of a copy", std::to_string(int(device.bandwidth * 1e-9)) + " GB/s");
    bool right = true, fast = true;
    const auto runs = [&](const char* part) {
      return std::find(asked.begin(), asked.end(), part) != asked.end();
    };
    if (runs("tests")) right = run_tests() && right;
    if (runs("training")) right = run_training() && right;
    if (runs("products")) fast = print(product_lines(device)) && fast;
    if (runs("attention")) fast = print(attention_lines(device)) && fast;
    if (runs("models")) fast = print(model_lines(device)) && fast;
    std::printf("%s%s\n", right ? "all results are right" : "SOME RESULTS ARE WRONG",
                fast ? "" : "; some figures are below their floors");
    return right ? 0 : kFailed;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_check: %s\n", error.what());
    return kFailed;
  }
}
