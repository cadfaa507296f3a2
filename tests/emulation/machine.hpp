// Private to the emulation: what its parts know of each other.
#pragma once

#include "emulation.hpp"

#include <random>

namespace emulation {

/// The thread that runs, as shadow memory sees it. Epochs count the barriers that its block and its
/// warp have passed.
struct Running {
  bool in_kernel = false;
  std::uint32_t launch = 0, block = 0;
  std::uint16_t thread = 0, block_epoch = 0, warp_epoch = 0;
  std::uintptr_t stack = 0, stack_end = 0, arguments = 0, arguments_end = 0;
  const void* kernel = nullptr;
};
extern Running running;
std::mt19937_64& random_engine();
void report(std::string problem);  ///< once for each text
/// "function (file:line)" of an address in the program.
std::string source_of(const void* address);

// fibers.cpp
void run_kernel(const Launch& launch);
std::string file_and_line(Site site);

// shadow.cpp
void watch_device(void* begin, std::size_t bytes);  ///< of such regions there are two: of the
                                                    ///< device and managed
void watch_shared(void* begin, std::size_t bytes);
void set_alive(const void* begin, std::size_t bytes, bool alive);
bool is_alive(const void* begin, std::size_t bytes);
void touch(const void* place, std::size_t bytes, bool write, bool atomic, const void* site);
/// Between blocks: what a block left in static shared memory is overwritten.
void forget_static_shared();

inline constexpr unsigned char kGarbage = 0xFF;  // a NaN as bf16, float and double

}  // namespace emulation
