// Finds the tables by name, and chooses between those with the same bits by a short measurement,
// because the flags of a processor do not say which one is faster.
#include "kernels/instruction_sets.hpp"
#include "kernels/modules/reference.hpp"
#include "kernels/packing.hpp"
#include "kernels/reference.hpp"

#ifdef ROLLCALL_KERNELS_X86
#include <cpuid.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

#include <chrono>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace rollcall::kernels {

namespace {

#ifdef ROLLCALL_KERNELS_X86

/// Whether the processor has AMX's bfloat16 tiles and Linux lets this process use them. Because
/// their state is large, a process has to ask for it.
bool amx_is_ours() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d >> 22 & 1U) == 0 || (d >> 24 & 1U) == 0)
    return false;
#ifdef __linux__
  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

#endif

[[noreturn]] void refuse(std::string_view numerics) {
  throw std::invalid_argument("there are no kernels of the numerics '" + std::string(numerics) +
                              "'");
}

/// The sets of these numerics that this processor can run, with the plain one last. Throws
/// std::invalid_argument if there are no such numerics.
std::vector<const KernelSet*> runnable_sets(std::string_view numerics) {
  std::vector<const KernelSet*> fp32, bf16;
#ifdef ROLLCALL_KERNELS_X86
  __builtin_cpu_init();
  const bool avx2_fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2_fma && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512vl");
  static const bool tiles = amx_is_ours();
  if (avx512 && tiles) bf16.push_back(&amx::bf16_table);
  if (avx512 && __builtin_cpu_supports("avx512bf16")) bf16.push_back(&avx512_bf16::bf16_table);
  if (avx512) fp32.push_back(&avx512::table), bf16.push_back(&avx512::bf16_table);
  if (avx2_fma) fp32.push_back(&avx2::table), bf16.push_back(&avx2::bf16_table);
#endif
  fp32.push_back(&scalar::table), bf16.push_back(&scalar::bf16_table);
  if (numerics == kFp32FixedOrder) return fp32;
  if (numerics == kBf16Sliced8) return bf16;
  if (numerics == kCudaBf16Sliced8) return {&device_host_kernels()};
  refuse(numerics);
}

/// The operands of the measurement, with the shape of a small model's decode step.
struct Probe {
  static constexpr std::int64_t n = 32, k = 128, o = 192, keys = 32;
  static constexpr HeadShape heads{4, 2, 32};
  std::vector<float> x = std::vector<float>(n * k, 0.5F), packed = std::vector<float>(o * k, 0.25F);
  std::vector<float> y = std::vector<float>(n * o), out = std::vector<float>(n * k);
  std::vector<float> page =
      std::vector<float>(static_cast<std::size_t>(page_bytes_fp32(heads)) / sizeof(float), 0.125F);
  const void* pages = page.data();
  std::vector<AttentionRow> rows = std::vector<AttentionRow>(n, AttentionRow{&pages, keys});
  ExecutionContext context;

  double seconds(const KernelSet& set) {
    const auto start = std::chrono::steady_clock::now();
    const Product product{packed.data(), o, nullptr, y.data()};
    set.linear(context, x.data(), n, k, &product, 1, 1, 0, panels_of(o));
    set.attention(context, x.data(), rows.data(), n, heads, {0, 0, heads.kv_heads}, out.data());
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
};

/// The fastest of `sets` by its best time in several repetitions. The plain set, the last one, is
/// chosen only if there is no other, and a single other set is not measured.
const KernelSet& fastest(const std::vector<const KernelSet*>& sets) {
  if (sets.size() < 3) return *sets.front();
  constexpr int repetitions = 12;  // about half a millisecond in all
  Probe probe;
  const KernelSet* best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t s = 0; s + 1 < sets.size(); ++s)
    for (int r = 0; r < repetitions; ++r)
      if (const double seconds = probe.seconds(*sets[s]); seconds < least) {
        least = seconds;
        best = sets[s];
      }
  return *best;
}

const KernelSet& choose(std::string_view numerics) {
  const char* forced = std::getenv("ROLLCALL_KERNELS");
  const auto sets = runnable_sets(numerics);
  if (!forced || !*forced) return fastest(sets);
  if (const KernelSet* set = kernels_by_name(forced, numerics)) return *set;
  std::string names;
  for (const KernelSet* set : sets) names += (names.empty() ? "" : ", ") + std::string(set->name);
  throw std::runtime_error(
      "ROLLCALL_KERNELS is '" + std::string(forced) + "', which is no set of " +
      std::string(numerics) +
      " that this processor runs (sets of other numerics give other bits); set it to one of " +
      names + ", or leave it unset");
}

}  // namespace

const KernelSet& scalar_kernels() { return scalar::table; }
const KernelSet& plain_kernels(std::string_view numerics) {
  return *runnable_sets(numerics).back();
}

const KernelSet& reference_kernels() {
  static const KernelSet table{
      .name = "reference",
      .numerics = "fp64_loops",
      .packed_bytes = packed_bytes_fp32,
      .pack = pack_fp32,
      .pack_halves = pack_halves_fp32,
      .pack_transposed = scalar::table.pack_transposed,
      .transpose = scalar::table.transpose,
      .linear = reference::linear,
      .rms_norm = reference::rms_norm,
      .rms_norm_backward = reference::rms_norm_backward,
      .rope = reference::rope,
      .page_bytes = page_bytes_fp32,
      .store_position = store_position_fp32,
      .copy_positions = copy_positions_fp32,
      .attention = reference::attention,
      .attention_backward = reference::attention_backward,
      .swiglu = reference::swiglu,
      .swiglu_backward = reference::swiglu_backward,
      .token_columns = reference::token_columns,
      .token_columns_backward = reference::token_columns_backward,
      .wide_columns = reference::wide_columns,
      .exponentials = reference::exponentials,
      .sums_from = reference::sums_from,
      .places_between = reference::places_between,
      .accumulate_fixed_point = scalar::table.accumulate_fixed_point,
      .from_fixed_point = scalar::table.from_fixed_point,
      .sum_of_squares = scalar::table.sum_of_squares,
      .adamw = scalar::table.adamw,
  };
  return table;
}

namespace {

const ModuleKernels& reference_modules() {
  static const ModuleKernels table{
      .name = "reference",
      .numerics = "fp64_loops",
      .attention = reference::attention_in_form,
      .attention_backward = reference::attention_backward_in_form,
      .rms_norm_plus_one = reference::rms_norm_plus_one,
      .rms_norm_plus_one_backward = reference::rms_norm_plus_one_backward,
      .rope_partial = reference::rope_partial,
      .gated = reference::gated,
      .gated_backward = reference::gated_backward,
      .softcap = reference::softcap,
      .softcap_backward = reference::softcap_backward,
      .route = reference::route,
      .route_backward = reference::route_backward,
      .route_inputs_backward = reference::route_inputs_backward,
      .route_weights_backward = reference::route_weights_backward,
      .turn_panels = scalar_modules::table.turn_panels,
      .merge_rows = reference::merge_rows,
      .merge_halves = reference::merge_halves,
  };
  return table;
}

/// What the host does for a device: it merges adapters into the weights that it packs.
const ModuleKernels& device_host_modules() {
  static const ModuleKernels table = [] {
    ModuleKernels set{};
    set.name = "cuda", set.numerics = kCudaBf16Sliced8;
    set.merge_rows = scalar_modules::table.merge_rows;
    set.merge_halves = scalar_modules::table.merge_halves;
    return set;
  }();
  return table;
}

}  // namespace

const ModuleKernels& module_kernels(const KernelSet& set) {
  const std::string_view name = set.name, numerics = set.numerics;
  const ModuleKernels* const tables[] = {
      &reference_modules(),        &device_host_modules(),           &scalar_modules::table,
      &scalar_modules::bf16_table,
#ifdef ROLLCALL_KERNELS_X86
      &avx2_modules::table,        &avx2_modules::bf16_table,        &avx512_modules::table,
      &avx512_modules::bf16_table, &avx512_bf16_modules::bf16_table, &amx_modules::bf16_table,
#endif
  };
  for (const ModuleKernels* table : tables)
    if (name == table->name && numerics == table->numerics) return *table;
  throw std::invalid_argument("there are no kernels of modules for the set '" + std::string(name) +
                              "' of the numerics '" + std::string(numerics) + "'");
}

const KernelSet* kernels_by_name(std::string_view name, std::string_view numerics) {
  if (name == "reference") return &reference_kernels();
  for (const KernelSet* set : runnable_sets(numerics))
    if (name == set->name) return set;
  return nullptr;
}

const KernelSet& selected_kernels(std::string_view numerics) {
  if (numerics == kFp32FixedOrder) {
    static const KernelSet& chosen = choose(kFp32FixedOrder);
    return chosen;
  }
  if (numerics == kBf16Sliced8) {
    static const KernelSet& chosen = choose(kBf16Sliced8);
    return chosen;
  }
  // ROLLCALL_KERNELS chooses between sets of the host only.
  if (numerics == kCudaBf16Sliced8) return device_host_kernels();
  refuse(numerics);
}

}  // namespace rollcall::kernels
