// The gradient of each operation, in the order of the backward pass.
#include "model/train/backward.hpp"

#include "base/errors/error.hpp"
#include "model/decode/left_out.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace rollcall::model {
namespace {

/// Outputs of a weight whose gradient one member computes at a time.
constexpr std::int64_t kOutputs = 128;
/// Tokens of the vocabulary whose logit gradients exist at a time.
constexpr std::int64_t kHeadOutputs = 2048;
/// The rows of a norm are cut into parts of about this many elements, whose gradients with respect
/// to the weight are summed separately. The cut depends on the shape only, and so do the bits.
constexpr std::int64_t kNormElements = 32768;
constexpr std::int64_t kLeast = 8192;  ///< elements that are worth a second thread

std::int64_t norm_rows(std::int64_t width) { return kNormElements / width + 1; }
std::int64_t norm_parts(std::int64_t rows, std::int64_t width) {
  return (rows + norm_rows(width) - 1) / norm_rows(width);
}

struct Widths {
  std::int64_t hidden, q, kv, inner;
  explicit Widths(const ModelConfig& c)
      : hidden(c.hidden_size),
        q(c.num_attention_heads * c.head_dim),
        kv(c.num_key_value_heads * c.head_dim),
        inner(c.intermediate_size) {}
  std::int64_t widest() const { return std::max({hidden, q, kv, inner}); }
};

}  // namespace

std::int64_t Backward::scratch_floats(const ModelConfig& c, const kernels::KernelSet& kernels,
                                      std::int64_t rows, std::int64_t targets, int members) {
  const Widths w(c);
  const auto packed = [&](std::int64_t outputs, std::int64_t inputs) {
    return kernels.packed_bytes(outputs, inputs) / 4 + 16;
  };
  const std::int64_t most = std::max(rows, targets),
                     member = (kOutputs + 32) * (most + w.widest()) + 32;
  const std::int64_t parts =
      std::max(norm_parts(most, w.hidden) * w.hidden,
               norm_parts(rows * c.num_attention_heads, c.head_dim) * c.head_dim);
  const std::int64_t head =
      targets * (w.hidden + 1) + state_floats(c, kernels, targets) + packed(w.hidden, targets);
  const std::int64_t turned = std::max({packed(w.hidden, w.inner), packed(w.inner, w.hidden),
                                        packed(w.q, w.hidden), packed(w.hidden, w.q)});
  const std::int64_t mlp = rows * (3 * w.inner + 2 * w.hidden) + packed(w.widest(), rows) + turned;
  // Keys, values and their gradients count twice, because a sequence with a parent needs copies
  // that include the rows before it.
  const std::int64_t attention =
      rows * (2 * w.q + 2 * w.kv + 4 * Arena::padded(w.kv) + 2 * w.hidden + w.q) +
      packed(w.widest(), rows) + turned;
  return rows * w.hidden + std::max({head, mlp, attention}) + parts + w.widest() +
         members * member + 64 * 16;
}

std::int64_t Backward::state_floats(const ModelConfig& c, const kernels::KernelSet& kernels,
                                    std::int64_t targets) {
  return targets * (2 * c.hidden_size + kHeadOutputs) +
         kernels.packed_bytes(c.hidden_size, kHeadOutputs) / 4 + 4 * 16;
}

Backward::Backward(const PolicyModel::Packed& policy, Backend& backend, PackedSequences& sequences,
                   Arena& scratch, const GradientSink& sink)
    : policy_(&policy),
      backend_(&backend),
      team_(&backend.team()),
      sequences_(&sequences),
      scratch_(&scratch),
      sink_(&sink),
      n_(std::int64_t(sequences.positions().size())) {
  scratch_->give_back(0);
}

/// x^T packed. The gradients of all outputs of a weight share this operand.
const void* Backward::packed_inputs(const float* x, std::int64_t rows, std::int64_t width) {
  const kernels::KernelSet& kernels = *policy_->kernels;
  void* packed = take_bytes(kernels.packed_bytes(width, rows));
  team_->share(kernels::panels_of(width), kLeast / (rows * kernels::kPanel) + 1, 1,
               [&](int, std::int64_t begin, std::int64_t end) {
                 kernels.pack_transposed(x, rows, width, begin, end, packed);
               });
  return packed;
}

/// The gradient of the outputs [first_output, first_output + outputs) of a weight. dy [rows,
/// outputs].
void Backward::weights(const Linear& linear, std::int64_t first_output, std::int64_t outputs,
                       const float* dy, std::int64_t rows, const void* packed_x) {
  const Parts parts = even_parts(outputs, kOutputs, team_->size());
  team_->deal(parts.count, [&](int member, std::int64_t p) {
    const std::int64_t first = p * parts.size, count = std::min(parts.size, outputs - first);
    float *turned = turned_[std::size_t(member)], *made = made_[std::size_t(member)];
    policy_->kernels->transpose(dy + first, rows, outputs, count, turned);
    const kernels::Product product{packed_x, linear.inputs, nullptr, made};
    policy_->kernels->linear(backend_->context(member), turned, count, rows, &product, 1, 1, 0,
                             kernels::panels_of(linear.inputs));
    (*sink_)(linear.weight, (first_output + first) * linear.inputs,
             {made, std::size_t(count * linear.inputs)});
  });
}

void Backward::bias(const Linear& linear, const float* dy) {
  if (!linear.has_bias()) return;
  const std::int64_t mark = scratch_->used();
  float* sum = take(1, linear.outputs);
  std::fill_n(sum, linear.outputs, 0.0F);
  for (std::int64_t row = 0; row < n_; ++row)
    for (std::int64_t o = 0; o < linear.outputs; ++o) sum[o] += dy[row * linear.outputs + o];
  (*sink_)(linear.bias_id, 0, {sum, std::size_t(linear.outputs)});
  scratch_->give_back(mark);
}

void Backward::inputs(const Linear& linear, const float* dy, std::int64_t rows, float* dx) {
  const kernels::KernelSet& kernels = *policy_->kernels;
  const std::int64_t mark = scratch_->used();
  void* turned = take_bytes(kernels.packed_bytes(linear.inputs, linear.outputs));
  team_->share(kernels::panels_of(linear.inputs), kLeast / (linear.outputs * kernels::kPanel) + 1,
               1, [&](int, std::int64_t begin, std::int64_t end) {
                 kernels.pack_transposed(linear.weight_rows, linear.outputs, linear.inputs, begin,
                                         end, turned);
               });
  Linear back;
  back.outputs = linear.inputs, back.inputs = linear.outputs, back.panels = turned;
  backend_->product(dy, rows, back, dx);
  scratch_->give_back(mark);
}

float* Backward::linears(const float* x, std::span<const Through> all) {
  const std::int64_t width = all.front().linear.inputs;
  float* const dx = take(n_, width);
  float* const more = all.size() > 1 ? take(n_, width) : nullptr;
  const std::int64_t mark = scratch_->used();
  const void* packed = packed_inputs(x, n_, width);
  for (const Through& through : all) {
    weights(through.linear, 0, through.linear.outputs, through.dy, n_, packed);
    bias(through.linear, through.dy);
  }
  scratch_->give_back(mark);
  for (const Through& through : all) {
    const bool first = &through == &all.front();
    inputs(through.linear, through.dy, n_, first ? dx : more);
    if (first) continue;
    team_->share(n_ * width, 2 * kLeast, 16, [&](int, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) dx[i] += more[i];
    });
  }
  return dx;
}

void Backward::norm(const Norm& norm, const float* x, std::int64_t rows, const float* dy, float* dx,
                    bool added) {
  const std::int64_t width = norm.width, part = norm_rows(width), parts = norm_parts(rows, width),
                     mark = scratch_->used();
  float* sums = take(parts, width);
  team_->deal(parts, [&](int member, std::int64_t p) {
    const std::int64_t first = p * part, count = std::min(part, rows - first), at = first * width;
    float *sum = sums + p * width, *into = added ? made_[std::size_t(member)] : dx + at;
    std::fill_n(sum, width, 0.0F);
    // One call takes at most kOutputs rows, because a member has memory only for their gradients.
    for (std::int64_t row = 0; row < count; row += kOutputs) {
      const std::int64_t some = std::min(kOutputs, count - row), from = at + row * width;
      float* to = added ? into : into + row * width;
      policy_->kernels->rms_norm_backward(backend_->context(member), x + from, some, width,
                                          norm.values, norm_eps(*policy_), dy + from, to, sum);
      if (added)
        for (std::int64_t i = 0; i < some * width; ++i) dx[from + i] += to[i];
    }
  });
  for (std::int64_t p = 1; p < parts; ++p)
    for (std::int64_t i = 0; i < width; ++i) sums[i] += sums[p * width + i];
  (*sink_)(norm.weight, 0, {sums, std::size_t(width)});
  scratch_->give_back(mark);
}

void Backward::add_missed(const Predictions& predictions, const ColumnGradient& derivative,
                          float scale, std::int64_t row, std::int64_t first, std::int64_t v,
                          float* dlogits) {
  const auto missed = predictions.missed->of(predictions.first_target + std::size_t(row));
  const float by = scale * derivative.miss_logprob[std::size_t(row)];
  const std::int64_t own = std::int64_t(predictions.targets[std::size_t(row)]) - first;
  if (own >= 0 && own < v) dlogits[own] -= by * float(missed.mass());
  for (std::size_t i = 0; i < missed.id.size(); ++i) {
    const std::int64_t id = std::int64_t(missed.id[i]) - first;
    if (id >= 0 && id < v) dlogits[id] += by * missed.share[i];
  }
}

/// The sum of share * log-prob over the missed tokens of a target has the derivative sum of share *
/// (onehot - p). Its p part is that of the target's log-prob times their mass. So that mass is
/// added to the target's derivative, and the onehot that comes with it is subtracted again.
void Backward::states(const Predictions& predictions, double temperature,
                      const ColumnGradient& derivative, float* dnormed, float* part) {
  const Linear& head = policy_->head;
  const kernels::KernelSet& kernels = *policy_->kernels;
  const auto m = std::int64_t(predictions.rows.size());
  const std::int64_t width = head.inputs, mark = scratch_->used();
  float* z = take(m, kHeadOutputs);
  std::vector<std::int32_t> targets(static_cast<std::size_t>(m));
  const bool misses = predictions.missed != nullptr && !derivative.miss_logprob.empty();
  std::vector<float> with_mass;
  for (std::size_t i = 0; misses && i < std::size_t(m); ++i)
    with_mass.push_back(derivative.logprob[i] +
                        derivative.miss_logprob[i] *
                            float(predictions.missed->of(predictions.first_target + i).mass()));
  const float* dlogprob = misses ? with_mass.data() : derivative.logprob.data();
  const bool with_weights = bool(*sink_);
  const void* packed = with_weights ? packed_inputs(predictions.normed, m, width) : nullptr;
  std::fill_n(dnormed, m * width, 0.0F);
  for (std::int64_t first = 0; first < head.outputs; first += kHeadOutputs) {
    Linear block = head;
    block.outputs = std::min(kHeadOutputs, head.outputs - first);
    block.panels = static_cast<const std::byte*>(head.panels) + kernels.packed_bytes(first, width);
    if (head.weight_rows != nullptr) block.weight_rows = head.weight_rows + first * width;
    if (predictions.logits == nullptr) backend_->product(predictions.normed, m, block, z);
    std::transform(predictions.targets.begin(), predictions.targets.end(), targets.begin(),
                   [&](std::int32_t target) { return std::int32_t(target - first); });
    team_->share(
        m, kLeast / block.outputs + 1, 1, [&](int member, std::int64_t begin, std::int64_t end) {
          float* rows = z + begin * block.outputs;
          for (std::int64_t row = begin; predictions.logits != nullptr && row < end; ++row)
            std::copy_n(predictions.logits + row * head.outputs + first, block.outputs,
                        z + row * block.outputs);
          for (std::int64_t row = begin; predictions.kept != nullptr && row < end; ++row)
            leave_out_others(predictions.kept->of(predictions.first_target + std::size_t(row)),
                             first, block.outputs, z + row * block.outputs);
          kernels.token_columns_backward(backend_->context(member), rows, end - begin,
                                         block.outputs, inverse_temperature(temperature),
                                         targets.data() + begin, predictions.lse.data() + begin,
                                         predictions.entropy.data() + begin, dlogprob + begin,
                                         derivative.entropy.data() + begin, rows);
          for (std::int64_t row = begin; misses && row < end; ++row)
            add_missed(predictions, derivative, inverse_temperature(temperature), row, first,
                       block.outputs, z + row * block.outputs);
        });
    if (with_weights) weights(block, first, block.outputs, z, m, packed);
    inputs(block, z, m, part);
    team_->share(m * width, 2 * kLeast, 16, [&](int, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) dnormed[i] += part[i];
    });
  }
  scratch_->give_back(mark);
}

const float* Backward::states(const Predictions& predictions, double temperature,
                              const ColumnGradient& derivative) {
  scratch_->give_back(0);
  const auto m = std::int64_t(predictions.rows.size());
  float *dnormed = take(m, policy_->head.inputs), *part = take(m, policy_->head.inputs);
  states(predictions, temperature, derivative, dnormed, part);
  return dnormed;
}

void Backward::head(const float* hidden, const Predictions& predictions, double temperature,
                    const ColumnGradient& derivative) {
  const auto m = std::int64_t(predictions.rows.size());
  const std::int64_t width = policy_->head.inputs;
  const Widths w(policy_->config);
  dx_ = take(n_, width);
  for (int member = 0; member < team_->size(); ++member) {
    turned_.push_back(take(kOutputs + 32, std::max(n_, m)));
    made_.push_back(take(kOutputs + 32, w.widest()));
  }
  const std::int64_t mark = scratch_->used();
  float *dnormed = take(m, width), *part = take(m, width);
  states(predictions, temperature, derivative, dnormed, part);
  for (std::int64_t i = 0; i < m; ++i)
    std::copy_n(hidden + predictions.rows[std::size_t(i)] * width, width, part + i * width);
  norm(policy_->final_norm, part, m, dnormed, dnormed, false);
  std::fill_n(dx_, n_ * width, 0.0F);
  for (std::int64_t i = 0; i < m; ++i) {
    // The last token of a sequence predicts the first tokens of all sequences that continue it, so
    // its row may occur several times.
    float* to = dx_ + predictions.rows[std::size_t(i)] * width;
    for (std::int64_t c = 0; c < width; ++c) to[c] += dnormed[i * width + c];
  }
  scratch_->give_back(mark);
}

Backward::Heads Backward::attention(const BlockRows<Rows>& rows, const float* dout) {
  const std::int64_t wide = rows.q.width, narrow = rows.k.width;
  const Heads d{take(n_, wide), take(n_, narrow), take(n_, narrow)};
  // Sequences are taken in order, as many at a time as fit into memory for all rows. A sequence
  // with a parent needs a copy of the rows before it.
  const auto needed = [&](std::size_t s) {
    return sequences_->stretch(s).before > 0 ? sequences_->stretch(s).length() : 0;
  };
  for (std::size_t first = 0, last = 0; first < sequences_->sequences(); first = last) {
    const std::int64_t mark = scratch_->used();
    for (std::int64_t rows_taken = 0;
         last < sequences_->sequences() && rows_taken + needed(last) <= n_; ++last)
      rows_taken += needed(last);
    expect(last > first, "a sequence and what it continues stand in one micro-batch");
    attention(rows, dout, d, first, last);
    scratch_->give_back(mark);
  }
  return d;
}

void Backward::attention(const BlockRows<Rows>& rows, const float* dout, const Heads& d,
                         std::size_t first, std::size_t last) {
  const std::int64_t wide = rows.q.width, narrow = rows.k.width;
  // A sequence with a parent gets its keys and values, and their gradients, gathered in one piece
  // of memory.
  std::vector<std::array<float*, 4>> own(last - first);
  for (std::size_t s = first; s < last; ++s) {
    const auto& stretch = sequences_->stretch(s);
    auto& pieces = own[s - first];
    if (stretch.before == 0) {
      const std::int64_t from = stretch.begin * narrow;
      pieces = {rows.k.values + from, rows.v.values + from, d.k + from, d.v + from};
      continue;
    }
    for (float*& piece : pieces) piece = take(stretch.length(), narrow);
    sequences_->gather(s, rows.k.values, narrow, pieces[0]);
    sequences_->gather(s, rows.v.values, narrow, pieces[1]);
  }
  const kernels::HeadShape heads = head_shape(*policy_);
  team_->deal(std::int64_t(own.size()) * heads.kv_heads, [&](int member, std::int64_t index) {
    const auto s = std::size_t(index / heads.kv_heads);
    const std::int64_t head = index % heads.kv_heads;
    const auto& stretch = sequences_->stretch(first + s);
    const auto& [k, v, dk, dv] = own[s];
    const std::int64_t from = stretch.begin * wide;
    policy_->kernels->attention_backward(backend_->context(member), rows.q.values + from, k, v,
                                         dout + from, stretch.rows, stretch.length(), heads, head,
                                         head + 1, d.q + from, dk, dv);
  });
  // Threads share the columns, so that each adds the sequences in order.
  team_->share(narrow, 16, 16, [&](int, std::int64_t begin, std::int64_t end) {
    for (std::size_t s = 0; s < own.size(); ++s) {
      const std::int64_t before = sequences_->stretch(first + s).before;
      if (before == 0) continue;
      for (const auto& [from, into] : {std::pair(own[s][2], d.k), std::pair(own[s][3], d.v)})
        sequences_->each_part(first + s,
                              [&, from = from, into = into](std::int64_t position, std::int64_t row,
                                                            std::int64_t count) {
                                for (std::int64_t i = 0; i < count; ++i) {
                                  const float* more = from + (position + i) * narrow;
                                  float* to = into + (row + i) * narrow;
                                  for (std::int64_t c = begin; c < end; ++c)
                                    to[c] = position < before ? to[c] + more[c] : more[c];
                                }
                              });
    }
  });
}

void Backward::block(std::size_t i, const BlockRows<Rows>& rows) {
  const Layer& layer = policy_->layers[i];
  const std::int64_t mark = scratch_->used(), inner = layer.mlp.gate.outputs;

  const float* dactivated =
      linears(rows.activated.values, std::array{Through{layer.mlp.down, dx_}});
  float *dgate = take(n_, inner), *dup = take(n_, inner);
  team_->share(n_ * inner, kLeast / 2, 16, [&](int member, std::int64_t first, std::int64_t last) {
    policy_->kernels->swiglu_backward(backend_->context(member), rows.gate.values + first,
                                      rows.up.values + first, 1, last - first, dactivated + first,
                                      dgate + first, dup + first);
  });
  const float* dnormed =
      linears(rows.middle_normed.values,
              std::array{Through{layer.mlp.gate, dgate}, Through{layer.mlp.up, dup}});
  norm(layer.mlp_in, rows.middle.values, n_, dnormed, dx_, true);
  scratch_->give_back(mark);

  const float* dattended =
      linears(rows.attended.values, std::array{Through{layer.attention.o, dx_}});
  const Heads d = attention(rows, dattended);
  if (const int rope = layer.attention.rope; rope >= 0) {
    backend_->rope({d.q, rows.q.width}, rope, -1);
    backend_->rope({d.k, rows.k.width}, rope, -1);
  }
  if (layer.attention.q_norm) {
    const std::int64_t dim = layer.attention.q_norm.width;
    norm(layer.attention.q_norm, rows.q_plain.values, n_ * (rows.q.width / dim), d.q, d.q, false);
    norm(layer.attention.k_norm, rows.k_plain.values, n_ * (rows.k.width / dim), d.k, d.k, false);
  }
  dnormed = linears(rows.normed.values,
                    std::array{Through{layer.attention.q, d.q}, Through{layer.attention.k, d.k},
                               Through{layer.attention.v, d.v}});
  norm(layer.attention_in, rows.x.values, n_, dnormed, dx_, true);
  scratch_->give_back(mark);
}

/// Adds the rows of equal tokens in row order. The sink receives one row per distinct token.
void Backward::embedding(std::span<const std::int32_t> tokens) {
  const std::int64_t width = policy_->config.hidden_size;
  std::vector<std::int64_t> order(tokens.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return tokens[std::size_t(a)] < tokens[std::size_t(b)];
  });
  std::vector<std::size_t> group_offsets;
  for (std::size_t i = 0; i < order.size(); ++i)
    if (i == 0 || tokens[std::size_t(order[i])] != tokens[std::size_t(order[i - 1])])
      group_offsets.push_back(i);
  group_offsets.push_back(order.size());
  team_->share(std::int64_t(group_offsets.size()) - 1, kLeast / width + 1, 1,
               [&](int member, std::int64_t first, std::int64_t last) {
                 float* sum = made_[std::size_t(member)];
                 for (std::int64_t t = first; t < last; ++t) {
                   const std::size_t begin = group_offsets[std::size_t(t)];
                   std::copy_n(dx_ + order[begin] * width, width, sum);
                   for (std::size_t i = begin + 1; i < group_offsets[std::size_t(t) + 1]; ++i)
                     for (std::int64_t c = 0; c < width; ++c) sum[c] += dx_[order[i] * width + c];
                   (*sink_)(policy_->embedding.tensor, tokens[std::size_t(order[begin])] * width,
                            {sum, std::size_t(width)});
                 }
               });
}

}  // namespace rollcall::model
