// Packs a policy's weights for the kernels.
#include "model/engine/packed_policy.hpp"

#include "base/errors/error.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>

namespace rollcall::model {
namespace {

using RotaryTables = std::vector<std::shared_ptr<const RotaryTable>>;

/// Keeps the tables of the last shape, because a run builds many policies of one shape.
RotaryTables shared_rotary_tables(const std::vector<Rope>& ropes) {
  static std::mutex mutex;
  static RotaryTables last;
  const std::lock_guard lock(mutex);
  const auto same = [](const std::shared_ptr<const RotaryTable>& table, const Rope& rope) {
    return table->rope == rope;
  };
  if (std::equal(last.begin(), last.end(), ropes.begin(), ropes.end(), same)) return last;
  last.clear();
  for (const Rope& rope : ropes)
    last.push_back(std::make_shared<const RotaryTable>(rotary_table(rope)));
  return last;
}

/// Bytes of a packed matrix, rounded up so that the next one is aligned too.
std::int64_t aligned_bytes(const kernels::KernelSet& kernels, std::int64_t outputs,
                           std::int64_t inputs) {
  return (kernels.packed_bytes(outputs, inputs) + 63) / 64 * 64;
}

/// Points the modules of the model to their weights, and packs them.
class Packer {
 public:
  /// `source`: where weights are read from if packed.weights is null; otherwise nullptr.
  Packer(PolicyModel::Packed& packed, const WeightSource* source, Threads threads)
      : packed_(&packed), source_(source), threads_(std::move(threads)) {}

  void run() {
    ModelShape shape = model_shape(packed_->config);
    packed_->backward_parts = backward_parts(shape);
    packed_->layers = std::move(shape.layers);
    packed_->final_norm = shape.final_norm;
    packed_->head = shape.head;
    packed_->rotary = shared_rotary_tables(shape.ropes);
    if (source_ == nullptr) bind();
    else read_vectors();
    take_embedding(slice_of(shape.embedding));
    cut();
  }
  void pack_parts(std::span<const std::size_t> parts) {
    threads_.deal(std::int64_t(parts.size()),
                  [&](std::int64_t i) { pack(packed_->parts[parts[std::size_t(i)]]); });
    std::fill(packed_->renewed.begin(), packed_->renewed.end(), std::uint8_t{0});
  }
  /// The parts that are not packed for the next version yet.
  std::vector<std::size_t> old_parts() const {
    std::vector<std::size_t> old;
    for (std::size_t part = 0; part < packed_->parts.size(); ++part) {
      if (packed_->renewed[part] == 0) old.push_back(part);
    }
    return old;
  }
  void pack(const PackedPart& part) const {
    if (part.linear == nullptr) return;
    const std::int64_t inputs = part.linear->inputs, first = part.first * inputs;
    const TensorId tensor = part.linear->weight;
    const auto count = std::size_t(part.rows * inputs);
    const kernels::KernelSet& kernels = *packed_->kernels;
    if (source_ == nullptr)
      return kernels.pack(part.linear->weight_rows + first, part.rows, inputs, part.panels);
    if (source_->is_bf16(tensor)) {
      std::vector<std::uint16_t> rows(count);
      source_->read(tensor, first, rows);
      return kernels.pack_halves(rows.data(), part.rows, inputs, part.panels);
    }
    std::vector<float> rows(count);
    source_->read(tensor, first, rows);
    kernels.pack(rows.data(), part.rows, inputs, part.panels);
  }

 private:
  const Slice& slice_of(TensorId tensor) const {
    return packed_->layout.slices.at(std::size_t(packed_->layout.slice_of(tensor)));
  }
  /// Points the modules to the weights in memory.
  void bind() {
    const auto values_of = [&](TensorId tensor) {
      return packed_->weights->data() + slice_of(tensor).offset;
    };
    each_linear(*packed_, [&](Linear& linear) { linear.weight_rows = values_of(linear.weight); });
    each_vector(*packed_, [&](const float*& values, std::int64_t, TensorId tensor) {
      values = values_of(tensor);
    });
  }
  /// Reads norms and biases, one after another, and points the modules to them.
  void read_vectors() {
    std::int64_t size = 0;
    each_vector(*packed_, [&](const float*, std::int64_t length, TensorId) { size += length; });
    packed_->vectors = AlignedFloats(std::size_t(size));
    float* into = packed_->vectors.data();
    each_vector(*packed_, [&](const float*& values, std::int64_t length, TensorId tensor) {
      source_->read(tensor, 0, std::span(into, std::size_t(length)));
      values = into;
      into += length;
    });
  }
  void take_embedding(const Slice& slice) {
    Embedding& embedding = packed_->embedding;
    const auto count = std::size_t(slice.count);
    embedding.tensor = slice.tensor, embedding.width = packed_->config.hidden_size;
    if (source_ == nullptr) {
      embedding.weights = packed_->weights->data() + slice.offset;
    } else if (source_->is_bf16(slice.tensor)) {
      embedding.halves = AlignedArray<std::uint16_t>(count);
      in_parts(count, [&](std::size_t first, std::size_t size) {
        source_->read(slice.tensor, std::int64_t(first),
                      embedding.halves.span().subspan(first, size));
      });
    } else {
      embedding.floats = AlignedFloats(count);
      in_parts(count, [&](std::size_t first, std::size_t size) {
        source_->read(slice.tensor, std::int64_t(first),
                      embedding.floats.span().subspan(first, size));
      });
      embedding.weights = embedding.floats.data();
    }
  }
  /// Elements of a part, which stays in a core's cache while it is read and packed.
  static constexpr std::int64_t kPartElements = std::int64_t(1) << 18;
  /// Gives every matrix its place in the panels, and cuts the layout into parts.
  void cut() {
    std::map<TensorId, Linear*> linears;  // by their weights
    each_linear(*packed_, [&](Linear& linear) { linears[linear.weight] = &linear; });
    const kernels::KernelSet& kernels = *packed_->kernels;
    std::int64_t size = 0;
    for (const auto& [tensor, linear] : linears)
      size += aligned_bytes(kernels, linear->outputs, linear->inputs);
    if (packed_->panels.size() == 0) packed_->panels = AlignedArray<std::byte>(std::size_t(size));
    expect(std::int64_t(packed_->panels.size()) == size,
           "panels have the size of all packed matrices");
    std::byte* panels = packed_->panels.data();
    for (const Slice& slice : packed_->layout.slices) {
      const auto found = linears.find(slice.tensor);
      if (found == linears.end()) {
        add_parts(slice.offset, slice.count, kPartElements,
                  [](std::int64_t, std::int64_t) { return PackedPart{}; });
        continue;
      }
      Linear* linear = found->second;
      linear->panels = panels;
      const std::int64_t inputs = linear->inputs,
                         rows =
                             std::max<std::int64_t>(kPartElements / inputs / kernels::kPanel, 1) *
                             kernels::kPanel;
      add_parts(slice.offset, slice.count, rows * inputs,
                [&](std::int64_t first, std::int64_t count) {
                  return PackedPart{linear, first / inputs, count / inputs,
                                    panels + kernels.packed_bytes(first / inputs, inputs)};
                });
      panels += aligned_bytes(kernels, linear->outputs, inputs);
    }
    packed_->cuts.push_back(packed_->layout.size);
    packed_->renewed.assign(packed_->parts.size(), 0);
  }
  template <class Make>
  void add_parts(std::int64_t offset, std::int64_t count, std::int64_t part_elements,
                 const Make& make) {
    for (std::int64_t first = 0; first < count; first += part_elements) {
      packed_->parts.push_back(make(first, std::min(part_elements, count - first)));
      packed_->cuts.push_back(offset + first);
    }
  }

  template <class Work>
  void in_parts(std::size_t count, const Work& work) const {
    constexpr auto part = std::size_t(kPartElements);
    threads_.deal(std::int64_t((count + part - 1) / part), [&](std::int64_t i) {
      const std::size_t first = std::size_t(i) * part;
      work(first, std::min(part, count - first));
    });
  }

  PolicyModel::Packed* packed_;
  const WeightSource* source_;
  Threads threads_;
};

std::unique_ptr<PolicyModel::Packed> new_packed(const ModelConfig& config, PolicyVersion version,
                                                const kernels::KernelSet* kernels) {
  auto packed = std::make_unique<PolicyModel::Packed>();
  packed->config = config;
  packed->version = version;
  packed->kernels = kernels != nullptr ? kernels : &kernels::selected_kernels();
  packed->layout = weight_layout(config);
  return packed;
}

}  // namespace

PolicyModel::PolicyModel(const ModelConfig& config, std::span<const float> weights,
                         PolicyVersion version, const kernels::KernelSet* kernels)
    : PolicyModel(config, std::make_shared<const AlignedFloats>(weights), version, kernels) {}

PolicyModel::PolicyModel(const ModelConfig& config, std::shared_ptr<const AlignedFloats> weights,
                         PolicyVersion version, const kernels::KernelSet* kernels,
                         const Threads& threads)
    : packed_(new_packed(config, version, kernels)) {
  expect(std::int64_t(weights->size()) == packed_->layout.size, "weights fill their layout");
  packed_->weights = std::move(weights);
  Packer(*packed_, nullptr, threads).run();
  renew(version, threads);
}

PolicyModel::PolicyModel(const ModelConfig& config, std::shared_ptr<const AlignedFloats> weights,
                         AlignedArray<std::byte> panels, const kernels::KernelSet& kernels)
    : packed_(new_packed(config, {}, &kernels)) {
  expect(std::int64_t(weights->size()) == packed_->layout.size, "weights fill their layout");
  packed_->weights = std::move(weights), packed_->panels = std::move(panels);
  Packer(*packed_, nullptr, {}).run();
}

PolicyModel::PolicyModel(const ModelConfig& config, const WeightSource& source,
                         PolicyVersion version, const kernels::KernelSet* kernels,
                         const Threads& threads)
    : packed_(new_packed(config, version, kernels)) {
  Packer packer(*packed_, &source, threads);
  packer.run();
  packer.pack_parts(packer.old_parts());
}

void PolicyModel::renew(PolicyVersion version, const Threads& threads) {
  renew(version, Packer(*packed_, nullptr, {}).old_parts(), threads);
}

void PolicyModel::renew(PolicyVersion version, std::span<const std::size_t> parts,
                        const Threads& threads) {
  expect(packed_->weights != nullptr, "only a policy over weights has a next version");
  packed_->version = version, ++packed_->revision;
  Packer(*packed_, nullptr, threads).pack_parts(parts);
}

void PolicyModel::renewed_on_device(PolicyVersion version) { packed_->version = version; }

std::span<const std::int64_t> PolicyModel::cuts() const { return packed_->cuts; }

void PolicyModel::renew_part(std::size_t part) {
  Packer(*packed_, nullptr, {}).pack(packed_->parts[part]);
  packed_->renewed[part] = 1;
}

std::int64_t packed_bytes(const ModelConfig& config, const kernels::KernelSet& kernels) {
  const ModelShape shape = model_shape(config);
  std::int64_t bytes = 0;
  each_linear(shape, [&](const Linear& linear) {
    bytes += aligned_bytes(kernels, linear.outputs, linear.inputs);
  });
  return bytes;
}

PolicyModel::~PolicyModel() = default;
PolicyModel::PolicyModel(PolicyModel&&) noexcept = default;
PolicyModel& PolicyModel::operator=(PolicyModel&&) noexcept = default;
const ModelConfig& PolicyModel::config() const { return packed_->config; }
PolicyVersion PolicyModel::version() const { return packed_->version; }

}  // namespace rollcall::model
