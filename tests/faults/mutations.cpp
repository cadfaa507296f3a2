// Mutates what people may be sent (archives, tokenizers, templates, task files, models,
// checkpoints) and what an environment's command or a client of language models says, and reads it
// in child processes with limits of time and memory. Each is read or refused with one of our
// errors: no signal, no time-out, no file left half-written. scripts/mutate_inputs is the long
// form.
// usage: mutations KIND|all COUNT [FIRST]     number N depends on N alone, so a failure is repeated
// by  mutations KIND 1 N
#include "api/call.hpp"
#include "base/errors/error.hpp"
#include "base/text/json.hpp"
#include "environment/command/message.hpp"
#include "io/checkpoint.hpp"
#include "io/origin.hpp"
#include "io/sample_run.hpp"
#include "io/source.hpp"
#include "io/verify.hpp"
#include "model/small_models.hpp"
#include "model/tensors/model_folder.hpp"
#include "model/tensors/weight_files.hpp"
#include "run/checkpoint/coordinator_state.hpp"
#include "task/answer_source.hpp"
#include "task/json_lines.hpp"
#include "task/rows/file_task.hpp"
#include "task/rows/layouts.hpp"
#include "task/rows/row_reading.hpp"
#include "text/chat/chat_template.hpp"
#include "text/tokenizer/text_files.hpp"
#include "text/tokenizer/tokenizer.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace {

using namespace rollcall;
namespace fs = std::filesystem;
using io::test::Dice;

constexpr unsigned kLongest_s = 20;  // for one mutation, on a busy machine
constexpr rlim_t kMemory = rlim_t{4} << 30;
constexpr std::uint64_t kBatch = 500;

/// One kind of input: its bytes, words that stand in such files, and who reads it.
struct Kind {
  const char* name;
  std::string file;  ///< the mutated bytes go there, relative to the folder
  std::string good;
  std::vector<std::string> words;
  std::function<void(const fs::path& folder, const std::string& bytes)> read;
};

const std::vector<std::string> kJsonWords{"{",       "}",       "[",
                                          "]",       "\"",      ":",
                                          ",",       "null",    "true",
                                          "-1",      "1e999",   "18446744073709551616",
                                          "\\u0000", "\\ud800", "9223372036854775807",
                                          "\"\"",    "{}",      "[]",
                                          "0.5",     "\xff"};

std::string repeated(const std::string& word, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += word;
  return all;
}

std::string mutated(const Kind& kind, std::uint64_t number) {
  Dice dice(number);
  std::string bytes = kind.good;
  for (auto n = 1 + dice.below(4); n > 0; --n) {
    const std::size_t at = dice.below(bytes.size() + 1),
                      length = 1 + dice.below(1 + dice.below(64));
    switch (dice.below(9)) {
      case 0: bytes.resize(at); break;
      case 1: bytes.erase(at, length); break;
      case 2: bytes.insert(at, bytes.substr(dice.below(bytes.size() + 1), length)); break;
      case 3: bytes.insert(at, kind.words[dice.below(kind.words.size())]); break;
      case 4: bytes.replace(at, length, kind.words[dice.below(kind.words.size())]); break;
      case 5:
        bytes.insert(at, repeated(kind.words[dice.below(kind.words.size())], 1 + dice.below(3000)));
        break;
      case 6:
        for (std::size_t i = at; i < std::min(bytes.size(), at + 8); ++i) bytes[i] = char(0xff);
        break;
      default:
        if (at < bytes.size())
          bytes[at] =
              char(dice.below(3) == 0 ? bytes[at] ^ (1 << dice.below(8)) : int(dice.below(256)));
        break;
    }
  }
  return bytes;
}

void write(const fs::path& file, const std::string& bytes) { io::test::put(file, bytes); }

Kind archive(const fs::path& folder) {
  const auto entry =
      io::pack(*comm::alone(), folder, "train_000002",
               {io::test::write(folder, io::test::sample(1, 2, 3))}, io::test::identity());
  Kind kind{"archive",
            "sent.h5",
            io::test::content(folder / entry.file.path),
            {"GCOL", "OHDR", "TREE", "SNOD", "HEAP", "FRHP", "OCHK", std::string(8, '\0'),
             std::string(8, '\xff')},
            {}};
  for (const char* part : {"archive", "shards"}) fs::remove_all(folder / part);
  kind.read = [](const fs::path& place, const std::string& bytes) {
    write(place / "sent.h5", bytes);
    const auto told = io::describe(place, "sent.h5");
    if (!io::verify_archive(place, told).empty()) return;
    io::each_group(place / "sent.h5", {}, [](const auto&, const auto&) { return true; });
  };
  return kind;
}

const char* const kTokenizer = R"({"version":"1.0","truncation":null,"padding":null,
"added_tokens":[{"id":9,"content":"<|end|>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],
"normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Replace","pattern":{"Regex":"  +"},"content":" "}]},
"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"(?i:'s|'t)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|\\s+"},
"behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]},
"post_processor":{"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}}],"pair":[],"special_tokens":{}},
"decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true},
"model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,
"ignore_merges":false,"vocab":{"a":0,"b":1,"c":2,"ab":3,"abc":4,"Ġ":5,"1":6,"2":7,"Ġa":8},"merges":[["a","b"],["ab","c"],["Ġ","a"]]}})";

Kind tokenizer() {
  auto words = kJsonWords;
  for (const char* word : {"\"type\"", "\"Sequence\"", "\"Regex\"", "(a*)*b", "(?<!x)", "{1,65535}",
                           "\"merges\"", "\"Unigram\"", "\"WordPiece\"", "\"Metaspace\""})
    words.emplace_back(word);
  return {"tokenizer", "tokenizer.json", kTokenizer, words,
          [](const fs::path&, const std::string& bytes) {
            const auto read = text::parse_tokenizer_json(bytes, "tokenizer.json");
            const auto tokens = read->encode("abc a 12  abc's \n ab" + std::string(64, 'a'));
            (void)read->decode(tokens);
          }};
}

const char* const kTemplate = R"({%- set ns = namespace(found=false, text='') -%}
{%- for m in messages if m.role != 'tool' -%}{%- if loop.first and m['role'] == 'system' -%}{{ '<s>' ~ m.content | trim }}
{%- elif m.content is string -%}{{- '<|' + m.role + '|>' + m.content.split('x')[-1].replace('a', 'b') | upper -}}
{%- else -%}{%- for part in m.content -%}{{ part.text | default('none', true) }}{%- endfor -%}{%- endif -%}{%- set ns.found = true -%}{%- endfor -%}
{%- macro show(x, n=2) -%}{{ x * n }}{{ range(n) | list | join(',') }}{%- endmacro -%}{{ show('ab') }}{{ messages | tojson(indent=2) }}
{%- if add_generation_prompt -%}{{ '<|assistant|>\n' }}{%- endif -%})";

Kind chat_template() {
  return {
      "template",
      "chat_template.jinja",
      kTemplate,
      {"{%",
       "%}",
       "{{",
       "}}",
       "{%- for i in range(999999999) -%}",
       "{%- endfor -%}",
       "range(10**9)",
       "* 99999999",
       "'a' * 10**9",
       "| join('x')",
       "|tojson",
       "(",
       "((((",
       "not ",
       "x[::-1]",
       "**",
       "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
       "~",
       "ns.text",
       "'\\ud800'",
       ".split('')",
       ".replace('', 'aa')",
       "in",
       "|sort",
       "|map('upper')",
       "\xff"},
      [](const fs::path&, const std::string& bytes) {
        const text::ChatTemplate made(bytes, "chat_template.jinja");
        const auto variables = nlohmann::ordered_json::parse(
            R"({"messages":[{"role":"system","content":"be brief"},{"role":"user","content":"axxa"},{"role":"user","content":[{"type":"text","text":"q"}]}],"add_generation_prompt":true})");
        (void)made.render(variables, {.steps = 200'000, .bytes = 1 << 24});
      }};
}

Kind task_file() {
  return {
      "jsonl", "task.jsonl",
      "{\"question\": \"2 + 2?\", \"answer\": \"4\", \"level\": 1}\n{\"question\": \"caf\\u00e9\", \"answer\": 17}\n\n{\"question\": [\"a\"], \"answer\": null}\n",
      kJsonWords, [](const fs::path& folder, const std::string& bytes) {
        write(folder / "task.jsonl", bytes);
        task::each_json_line((folder / "task.jsonl").string(),
                             [](const auto& object, const task::Line& line) {
                               (void)task::text_at(object, "question", "task.question", line);
                               (void)task::text_at(object, "answer", "task.answer", line);
                             });
      }};
}

const char* const kRows =
    R"([{"data_source": "own", "prompt": [{"role": "system", "content": "s"}, {"role": "user", "content": "2 + 2?"}],
"reward_model": {"style": "rule", "ground_truth": "[\"4\"]"}, "tools": "[{\"name\": \"f\"}]", "extra_info": {"index": 0}},
{"nums": [3, 4], "target": 7}, {"question": "q", "choices": {"text": ["a", "b"], "label": ["A", "B"]}, "answerKey": "B"},
{"prompt": "def f():", "test": "def check(c): pass", "entry_point": "f"}, {"question": "q", "input_output": "{\"inputs\": [\"1\"], \"outputs\": [\"2\"]}"},
{"query": "q", "tools": [], "answers": "[{\"name\": \"f\"}]"}, {"prompt": "p", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{"a": null}]},
{"problem": "p", "solution": "so \\boxed{4}", "level": "Level 3"}])";

/// Rows of all layouts in one array, each read by its own layout.
Kind rows() {
  auto words = kJsonWords;
  for (const char* word : {"\"messages\"", "\"answer\"", "\"role\"", "\"question\"", "\"prompt\"",
                           "\"target\"", "\"Level 99999999999\"", "[{", "}]", "],", "\\boxed{"})
    words.emplace_back(word);
  return {"rows", "rows.json", kRows, words, [](const fs::path& folder, const std::string& bytes) {
            write(folder / "rows.json", bytes);
            const std::string file = (folder / "rows.json").string();
            TaskSection section;
            section.name = "file", section.file = file, section.on_bad_line = "drop";
            section.answer_marker = task::kAutoMarker;
            task::each_whole_json_line(file, [&](const auto& object, const task::Line& line) {
              const task::Layout* layout = task::layout_of(object);
              if (layout == nullptr) return;
              (void)task::read_prompt(object, line, *layout, section);
              (void)task::extra_of(object, line, *layout);
            });
            RewardSection reward;
            (void)task::settle_answers(section, reward);
            (void)task::read_rows(section);
          }};
}

std::string model_bytes() {
  const auto config = model::testing::small_config(model::testing::Family::llama);
  return model::to_model_safetensors(model::weight_layout(config),
                                     model::testing::random_weights(config, 1));
}

Kind safetensors() {
  const std::string whole = model_bytes();
  std::uint64_t header = 0;
  std::memcpy(&header, whole.data(), sizeof header);
  const std::string rest = whole.substr(8 + header);
  auto words = kJsonWords;
  for (const char* word : {"\"F32\"", "\"BF16\"", "\"F64\"", "\"shape\"", "\"data_offsets\"",
                           "[0,18446744073709551615]", "\"__metadata__\"", "-0"})
    words.emplace_back(word);
  return {"safetensors", "model.safetensors", whole.substr(0, 8 + header), words,
          [rest](const fs::path& folder, const std::string& bytes) {
            write(folder / "model.safetensors", bytes + rest);
            (void)model::read_weights(model::testing::small_config(model::testing::Family::llama),
                                      folder / "model.safetensors");
          }};
}

Kind checkpoint() {
  run::CoordinatorState state;
  state.train_steps = 4, state.rollouts_total = 64, state.rollouts_per_level[1] = 64,
  state.seconds["step"] = 1.5;
  return {"checkpoint", "checkpoints", run::to_json(state), kJsonWords,
          [](const fs::path& folder, const std::string& bytes) {
            // Half of them damage the file of a whole checkpoint, half are sealed as if a run had
            // written them.
            io::write_checkpoint(
                folder, io::Checkpoint{"train_000004",
                                       {{"coordinator.json", bytes}, {"config.json", "{}"}}});
            if (bytes.size() % 2 == 0)
              write(folder / "checkpoints/train_000004/manifest.json", bytes);
            (void)io::damaged_checkpoints(folder);
            if (const auto newest = io::newest_checkpoint(folder, nullptr))
              (void)run::state_of(*newest);
          }};
}

/// An answer of an environment's command. It never throws, and its state goes back as it came.
Kind environment_answer() {
  auto words = kJsonWords;
  for (const char* word : {"\"state\"", "\"text\"", "\"error\"", "\"components\"", "\"kind\"",
                           "\"flags\"", "\"id\"", "[[[[", "{\"a\":", "\n"})
    words.emplace_back(word);
  return {"environment", "environment.jsonl",
          R"({"id":"train/1/2/0/3","state":{"at":[1,2],"held":null},"text":"caf\u00e9",)"
          R"("reward":0.5,"done":false,"correct":true,"components":{"a":1},"kind":"k",)"
          R"("flags":["repeated"],"reason":"r"})",
          words, [](const fs::path&, const std::string& bytes) {
            const Prompt prompt{};
            environment::Talk talk;
            talk.id = "train/1/2/0/3", talk.prompt = &prompt, talk.actions = {bytes};
            const auto parsed =
                environment::parse_answer(bytes, {.components = {"a"}, .kinds = {"k"}});
            talk.state = parsed.answer.state;
            const std::string line = environment::step_line(talk, 0);
            const auto again = nlohmann::json::parse(line);
            if (line.find('\n') != line.size() - 1 ||
                (talk.state && again.at("state").dump() != *talk.state))
              throw std::logic_error("the state comes back as " + line);
          }};
}

/// A request of a client of language models. It never throws, and a refusal of it is JSON.
Kind request() {
  auto words = kJsonWords;
  for (const char* word : {"\"role\"", "\"content\"", "\"tool\"", "\"tool_calls\":[{}]",
                           "\"stop\":", "\"tool_choice\":", "\"required\"", "\"n\":", "[[[["})
    words.emplace_back(word);
  return {
      "request", "request.json",
      R"({"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"caf\u00e9"}]},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"3"}],"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"auto","stop":["a"],"max_tokens":5,"seed":1,"temperature":1.0,"stream":true})",
      words, [](const fs::path&, const std::string& bytes) {
        std::string refused;
        try {
          const auto read = api::read_call(api::Call::Kind::chat, bytes, {});
          if (const auto* refusal = std::get_if<api::Refusal>(&read))
            refused = api::error_json(*refusal);
        } catch (const std::exception& error) {
          throw std::logic_error(std::string("it threw: ") + error.what());
        }
        if (!refused.empty() && !nlohmann::json::accept(refused))
          throw std::logic_error("no JSON: " + refused);
      }};
}

/// Whether the folder holds what readers may have found there, and nothing that they made.
std::string left_over(const fs::path& folder, const std::string& file) {
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().lexically_relative(folder);
    if (!name.starts_with(file) || name.find("partial") != std::string::npos) return name;
  }
  return {};
}

void limit_child() {
  const rlimit none{0, 0};
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they map terabytes
  const rlimit memory{kMemory, kMemory};
  (void)::setrlimit(RLIMIT_DATA, &memory);
#endif
  (void)::setrlimit(RLIMIT_CORE, &none);
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGALRM}) std::signal(number, SIG_DFL);
}

/// In a child: from `first` to `last`, telling where it is. Exit code 1: what was thrown was none
/// of our errors, or something was left.
[[noreturn]] void work(const Kind& kind, const fs::path& folder, std::uint64_t first,
                       std::uint64_t last, volatile std::uint64_t* at) {
  limit_child();
  io::read_files_of(io::Origin::others);
  for (std::uint64_t number = first; number < last; ++number) {
    *at = number;
    ::alarm(kLongest_s);
    try {
      kind.read(folder, mutated(kind, number));
    } catch (const Error&) {  // refused
    } catch (const std::exception& error) {
      std::printf("%s %llu: %s\n", kind.name, static_cast<unsigned long long>(number),
                  error.what());
      std::fflush(stdout);
      ::_exit(1);
    }
    if (const std::string name = left_over(folder, kind.file); !name.empty()) {
      std::printf("%s %llu: %s is left\n", kind.name, static_cast<unsigned long long>(number),
                  name.c_str());
      std::fflush(stdout);
      ::_exit(1);
    }
  }
  ::_exit(0);
}

int try_all(const Kind& kind, const fs::path& folder, std::uint64_t first, std::uint64_t count) {
  auto* const at = static_cast<std::uint64_t*>(::mmap(
      nullptr, sizeof(std::uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  int failures = 0;
  for (std::uint64_t next = first, end = first + count; next < end;) {
    const std::uint64_t last = std::min(end, next + kBatch);
    std::fflush(stdout);
    const pid_t child = ::fork();
    if (child == 0) work(kind, folder, next, last, at);
    int status = 0;
    ::waitpid(child, &status, 0);
    next = last;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    ++failures, next = *at + 1;
    if (WIFSIGNALED(status))
      std::printf("%s %llu: %s\n", kind.name, static_cast<unsigned long long>(*at),
                  ::strsignal(WTERMSIG(status)));
  }
  ::munmap(at, sizeof(std::uint64_t));
  std::printf("%-11s %llu mutations, %d failures\n", kind.name,
              static_cast<unsigned long long>(count), failures);
  return failures;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "usage: mutations KIND|all COUNT [FIRST]\n"), 2;
  const std::string wanted = argv[1];
  const std::uint64_t count = std::strtoull(argv[2], nullptr, 10),
                      first = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0;
  int failures = 0, tried = 0;
  const io::test::RunFolder packing;
  for (const Kind& kind : {archive(packing), tokenizer(), chat_template(), task_file(), rows(),
                           safetensors(), checkpoint(), environment_answer(), request()}) {
    if (wanted != "all" && wanted != kind.name) continue;
    const io::test::RunFolder folder;
    ++tried, failures += try_all(kind, folder, first, count);
  }
  return tried > 0 && failures == 0 ? 0 : 1;
}
