// A process that times the engine on request, for benchmarks/peers/run: a case a line on standard
// input, a JSON answer a line on standard output. It keeps its model from case to case and sleeps
// while another's turn is measured. `bench_engine --short` runs one small case of each kind.
#include "benchmarks/engine/workloads.hpp"
#include "kernels/parameter_kernels.hpp"

#include <exception>
#include <iostream>
#include <map>
#include <string>

namespace {

using rollcall::bench::Json;

Json answer(const Json& given) {
  static const std::map<std::string, Json (*)(const Json&)> kinds{
      {"decode", rollcall::bench::decode},     {"step", rollcall::bench::step},
      {"makespan", rollcall::bench::makespan}, {"draw", rollcall::bench::draw},
      {"update", rollcall::bench::update},     {"linear", rollcall::bench::linear},
      {"stream", rollcall::bench::stream},     {"fma", rollcall::bench::fma},
      {"turns", rollcall::bench::turns}};
  return kinds.at(given.at("kind").get<std::string>())(given);
}

int one_of_each() {
  const Json config{{"architectures", {"LlamaForCausalLM"}},
                    {"model_type", "llama"},
                    {"vocab_size", 99},
                    {"hidden_size", 32},
                    {"intermediate_size", 48},
                    {"num_hidden_layers", 2},
                    {"num_attention_heads", 4},
                    {"num_key_value_heads", 2},
                    {"head_dim", 8},
                    {"rms_norm_eps", 1e-6},
                    {"rope_theta", 10000.0},
                    {"max_position_embeddings", 64},
                    {"tie_word_embeddings", true},
                    {"hidden_act", "silu"}};
  const Json rollouts{{"config", config}, {"threads", 2}, {"groups", 2},
                      {"members", 3},     {"prompt", 5},  {"new", 4}};
  for (const char* kind :
       {"decode", "step", "makespan", "draw", "update", "linear", "stream", "fma", "turns"}) {
    for (const char* by : {"rollcall", "rollcall_bf16", "aten_fp32", "aten_bf16"}) {
      Json given = rollouts;
      given.update({{"kind", kind},
                    {"by", by},
                    {"rows", 3},
                    {"inputs", 40},
                    {"outputs", 50},
                    {"bytes", 1 << 20},
                    {"lengths", {3, 1, 20, 4}},
                    {"slots", 2},
                    {"said", 7},
                    {"vocab", 3000},
                    {"spread", 1.0},
                    {"top_p", 0.9}});
      std::cout << kind << " " << answer(given) << "\n";
      if (std::string(kind) != "linear") break;
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  const rollcall::kernels::KokkosScope kokkos;
  if (argc == 2 && std::string(argv[1]) == "--short") return one_of_each();
  for (std::string line; std::getline(std::cin, line);)
    std::cout << answer(Json::parse(line)) << std::endl;
  return 0;
} catch (const std::exception& e) {
  std::cerr << "bench_engine: " << e.what() << "\n";
  return 1;
}
