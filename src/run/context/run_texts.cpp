// Digests, predictions and excerpts of the texts.
#include "run/context/run_texts.hpp"

#include "base/numbers/hash.hpp"

#include <algorithm>
#include <cmath>

namespace rollcall::run {

std::string heldout_digest(const std::vector<Prompt>& heldout) {
  std::uint64_t digest = 0;
  for (const Prompt& prompt : heldout)
    digest = checksum64(prompt.answer, checksum64(prompt.text, digest));
  return hex64(digest);
}

std::string text_fingerprint(const RunTexts& texts) {
  std::string digest = texts.format->fingerprint();
  for (const text::AnswerForm* form : texts.forms)
    if (form->instruction != nullptr)
      digest = Sha256().add(digest).add(text::asked_in(*form, "")).add(form->opening).hex();
  return digest;
}

std::vector<float> predictions(const std::vector<Prompt>& prompts) {
  std::vector<float> all;
  for (const auto& prompt : prompts) all.push_back(prompt.prior);
  if (std::any_of(all.begin(), all.end(), [](float p) { return std::isnan(p); })) all.clear();
  return all;
}

std::string excerpt(const std::string& text) {
  constexpr std::size_t kShown = 40;
  const std::string line = text.substr(0, text.find('\n'));
  return line.size() <= kShown ? line : line.substr(0, kShown) + "...";
}

}  // namespace rollcall::run
