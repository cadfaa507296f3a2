// The table of classes, which tests/text/references/folder_tokens.py compares with transformers.
#include "text/tokenizer/tokenizer_class.hpp"

#include "base/files/file.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace rollcall::text {
namespace {

constexpr const char *kText = "<|endoftext|>", *kNone = "", *kOfJson = nullptr;

/// Classes for byte-pair encodings, from transformers' tokenization_auto.py and the constructors.
const TokenizerClass kClasses[] = {
    {"GPT2Tokenizer CodeGenTokenizer",
     "blip-2 codegen dbrx emu3 gpt2 gpt_neo gptj hyperclovax_vision_v2 instructblip instructblipvideo jais2 opt phi starcoder2",
     "hyperclovax_vision_v2",
     {kText, kText, kText, kOfJson, kNone, kOfJson, kOfJson},
     false},
    {"GPTNeoXTokenizer",
     "falcon_mamba gpt_neox mamba mamba2 mpt olmo olmoe rwkv xlstm",
     "",
     {kText, kText, kText, kOfJson, "<|padding|>", kOfJson, kOfJson},
     false},
    {"Qwen2Tokenizer",
     "audioflamingo3 colqwen2 cosmos3_omni dots3_note fun_asr_nano hunyuan_vl internvl lighton_ocr moss_transcribe_diarize ovis2 qianfan_ocr qwen2 qwen2_5_omni "
     "qwen2_5_vl qwen2_audio qwen2_moe qwen2_vl qwen3 qwen3_asr qwen3_moe qwen3_next qwen3_omni_moe qwen3_vl qwen3_vl_moe vibevoice",
     "qwen2",
     {kNone, kText, kText, kOfJson, kText, kOfJson, kOfJson},
     false,
     true},
    {"Qwen3_5Tokenizer",
     "qwen3_5 qwen3_5_moe qwen3_5_moe_text qwen3_5_text qwen4_exp",
     "qwen3_5 qwen3_5_moe qwen3_5_moe_text qwen4_exp",
     {kNone, kText, kText, kOfJson, kText, kOfJson, kOfJson},
     false},
    {"LlamaTokenizer Phi3Tokenizer",
     "idefics idefics2",
     "",
     {"<s>", "</s>", "<unk>", kOfJson, kOfJson, kOfJson, kOfJson}},
    {"CodeLlamaTokenizer",
     "code_llama",
     "",
     {"<s>", "</s>", "<unk>", kOfJson, kOfJson, kOfJson, kOfJson},
     std::nullopt,
     false,
     {{"prefix_token", "▁<PRE>"},
      {"middle_token", "▁<MID>"},
      {"suffix_token", "▁<SUF>"},
      {"eot_token", "▁<EOT>"},
      {"fill_token", "<FILL_ME>"}}},
    {"GemmaTokenizer Siglip2Tokenizer",
     "diffusion_gemma gemma gemma2 gemma3 gemma3_text gemma3n gemma3n_text recurrent_gemma shieldgemma2 siglip2 t5gemma zaya",
     "siglip2",
     {"<bos>", "<eos>", "<unk>", kOfJson, "<pad>", kOfJson, "<mask>"}},
    {"CLIPTokenizer",
     "aimv2 clip clipseg groupvit omdet-turbo oneformer owlv2 owlvit sam3 sam3_video xclip",
     "",
     {"<|startoftext|>", kText, kText, kOfJson, kText, kOfJson, kOfJson}},
    {"CohereTokenizer",
     "aya_vision cohere cohere2",
     "",
     {"<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>", "<UNK>", "<SEP>", "<PAD>", "<CLS>", "<MASK_TOKEN>"},
     false},
    {"RobertaTokenizer BartTokenizer LongformerTokenizer LEDTokenizer",
     "bart bridgetower clap data2vec-text ibert led lilt longformer mega mra roberta roberta-prelayernorm",
     "",
     {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"},
     false},
    {"BlenderbotTokenizer",
     "blenderbot",
     "",
     {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"},
     true},
    {"DebertaTokenizer",
     "deberta",
     "",
     {"[CLS]", "[SEP]", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"},
     false},
    {"WhisperTokenizer",
     "whisper",
     "",
     {kText, kText, kText, kOfJson, kOfJson, kOfJson, kOfJson},
     false},
};

/// Values of model_type for which tokenizer.json is used without a class, even if a file names one.
constexpr const char* kAsIs =
    "EvollaModel arctic aria beam bigbird_pegasus camembertv2-base canary chatlm cohere_asr ernie4_5 ernie4_5_moe flex_olmo fuyu glm glm4 glm4_moe glm4_moe_lite glm4v glm4v_moe glm_image "
    "glmasr got_ocr2 gpt_bigcode gradium_phonon_tts granite granitemoe granitemoehybrid granitemoeshared h2ovl_chat hyperclovax hyperclovax_vlm internlm2 "
    "internlm3 iquestcoder jamba kimi_k25 kimi_linear kosmos-2 llava llava_next mimo_v2_flash minicpm3 minicpm_ocr minicpmv minicpmv4_6 minicpmv4_7 minimax_m2 "
    "ministral ministral3 mistral mistral3 mistral_large4 mixtral modernbert modernbert-decoder molmo molmo2 nemo_speechlm nemotron nvfp4 nystromformer olmo2 "
    "olmo3 olmo_hybrid omniasr opencua openvla paddleocr_vl pegasus_x persimmon phi3 phi3_v phimoe pix2struct pixtral pocket_tts smolvlm stablelm step3_vl umt5 "
    "vipllava voxtral voxtral_realtime xlm-roberta-xl";

bool is_among(std::string_view word, std::string_view list) {
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(' ', at), list.size());
    if (!word.empty() && list.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

const TokenizerClass* find(std::string_view word, const char* TokenizerClass::*list) {
  const auto found =
      std::find_if(std::begin(kClasses), std::end(kClasses),
                   [&](const TokenizerClass& row) { return is_among(word, row.*list); });
  return found == std::end(kClasses) ? nullptr : found;
}

/// Whether tokenizer.json cuts texts into bytes, determined in the same way as in transformers.
bool has_bytes(const std::filesystem::path& file) {
  return std::filesystem::exists(file) &&
         read_file(file).find("\"ByteLevel\"") != std::string::npos;
}

std::string word_at(const FolderFile& file, const char* key) {
  const auto& value = file.at(key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

}  // namespace

const TokenizerClass* tokenizer_class(const std::filesystem::path& folder,
                                      const FolderFile& config) {
  const FolderFile model(folder, "config.json");
  const std::string type = word_at(model, "model_type");
  std::string named = word_at(config, "tokenizer_class");
  if (named.empty()) named = word_at(model, "tokenizer_class");
  if (named.ends_with("Fast")) named.resize(named.size() - 4);
  if (is_among(type, kAsIs)) return nullptr;
  const TokenizerClass* of_type = find(type, &TokenizerClass::of_types);
  if (named.empty() || find(type, &TokenizerClass::for_types) != nullptr) return of_type;
  // This class would replace the byte pre-tokenizer with a different one.
  if (named == "LlamaTokenizer" && has_bytes(folder / "tokenizer.json")) return nullptr;
  return find(named, &TokenizerClass::names);
}

}  // namespace rollcall::text
