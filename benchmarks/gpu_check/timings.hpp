// How fast the kernels are on the device at hand, beside what the device could do and what cuBLASLt
// does.
#pragma once

#include <string>
#include <vector>

namespace rollcall::gpu_check {

/// What the device can do: measured bandwidth, and the peak of its tensor cores by its data sheet
/// (0: not known).
struct Device {
  std::string name;
  int capability = 0;              ///< 90: 9.0
  double bandwidth = 0, peak = 0;  ///< bytes/s of a copy, both ways counted; bf16 FLOP/s, dense
};
Device measured_device();

/// A line of the table: "7B gate, 1024 rows", "412 TFLOP/s, 71 % of cuBLASLt, 42 % of peak".
struct Line {
  std::string what, figures;
  bool met = true;  ///< its floor, where it has one
};
std::vector<Line> product_lines(const Device& device);    ///< 7B shapes at 1,024 and 16 rows
std::vector<Line> attention_lines(const Device& device);  ///< decode against long contexts,
                                                          ///< prefill, backward
std::vector<Line> model_lines(const Device& device);  ///< decode and update of SmolLM2 135M and a
                                                      ///< 0.5B

}  // namespace rollcall::gpu_check
