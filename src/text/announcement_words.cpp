// The tables; jobs/announcements.md shows what they read.
#include "text/announcement_words.hpp"

#include "text/prose.hpp"

#include <algorithm>

namespace rollcall::text {

Phrases::Phrases(std::initializer_list<std::string_view> phrases) {
  for (const std::string_view phrase : phrases) {
    auto words = split(phrase, " ");
    const std::string_view first = words.front();
    words.erase(words.begin());
    rest_[first].push_back(std::move(words));
  }
  for (auto& [first, rests] : rest_) std::stable_sort(rests.begin(), rests.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
}

std::size_t Phrases::behind(const Tokens& tokens, std::size_t at) const {
  const auto low = [&](std::size_t i) { return std::string_view(tokens.low).substr(tokens[i].begin, tokens[i].end - tokens[i].begin); };
  if (at >= tokens.size()) return at;
  const auto found = rest_.find(low(at));
  if (found == rest_.end()) return at;
  for (const auto& rest : found->second) {
    std::size_t next = at + 1, matched = 0;
    for (; matched < rest.size(); ++matched, ++next) {
      while (tokens.is(next, Kind::mark)) ++next;
      if (next >= tokens.size() || low(next) != rest[matched]) break;
    }
    if (matched == rest.size()) return next;
  }
  return at;
}

const AnnouncementWords& announcement_words() {
  static const AnnouncementWords words{
      .answers = {"answer", "answers", "ans", "final result", "final value", "final solution", "respuesta", "réponse", "antwort", "risposta", "resposta", "ответ", "odpowiedź"},
      .results = {"result", "results", "option", "choice"},
      .whole = {"答案是", "答案为", "答案為", "答案", "所以答案是", "因此答案是", "最终答案是", "最终答案", "答えは", "答え", "正解は", "정답은", "답은"},
      .modifiers = {"the", "our", "my", "a", "an", "final", "correct", "right", "true", "actual", "exact", "numerical", "numeric", "desired", "required", "only", "overall",
                    "this", "simplified", "best", "complete", "short", "is", "so", "then", "la", "le", "die", "final", "requested", "whole", "full", "resulting", "is the"},
      .supposed = {"if", "whether", "unless", "suppose", "supposing", "assume", "assuming", "wrong", "incorrect", "false", "initial", "previous", "earlier", "first", "preliminary",
                   "tentative", "old", "naive", "tempting", "intermediate", "partial", "student's", "his", "her", "their", "why", "how", "what", "when", "until", "once", "no",
                   "not", "any", "every", "each", "doubt", "untrue", "thought", "guessed", "might think", "may think", "could think", "would think", "might say", "may say",
                   "might guess", "might believe", "suggested", "proposed", "claimed", "another", "other", "model's", "user's", "possible", "common", "typical", "mistaken"},
      .fillers = {"to", "of", "for", "in", "on", "we", "i", "you", "that", "which", "here", "then", "therefore", "thus", "hence", "now", "so", "obtained", "with", "from", "at",
                  "when", "as", "rounded", "simplified", "expressed", "written", "(", ",", "must", "should", "would", "will", "can", "could", "may", "might", "also", "really",
                  "a", "b", "c", "number", "letter", "using", "after", "by", "being", "wise"},
      .copulas = {"is", "are", "was", "be", "being", "is to be", "becomes", "equals", "equal", "equals to", "totals", "reads", "gives", "turns out to be", "turns out", "comes out to be", "comes out to", "comes out as",
                  "comes to", "works out to be", "works out to", "works out as", "amounts to", "stands at", "simplifies to", "reduces to", "evaluates to", "lies at", "es", "est",
                  "ist", "lautet", "è", "é", "это"},
      .denials = {"not", "never", "neither", "isn't", "isn’t", "wasn't", "aren't", "cannot", "can't", "can’t", "couldn't", "won't", "wouldn't", "shouldn't"},
      .leads = {"therefore", "thus", "hence", "then", "so", "simply", "just", "clearly", "obviously", "indeed", "exactly", "precisely", "actually", "really", "finally", "consequently",
                "also", "still", "again", "always", "now", "of course", "in fact", "as expected", "in this case", "approximately", "approx .", "approx", "about", "around", "roughly",
                "nearly", "circa", "ca .", "ca", "a total of", "in total", "given by", "given as", "given below", "shown below", "equal to", "equivalent to", "equal", "found to be",
                "going to be", "known to be", "determined to be", "calculated to be", "calculated as", "computed as", "computed to be", "shown to be", "expected to be", "seen to be",
                "likely", "most likely", "very likely", "probably", "presumably", "certainly", "definitely", "surely", "evidently", "apparently", "undoubtedly", "without doubt",
                "without a doubt", "as follows", "the following", "the below", "below", "here", "that", "either", "both", "none other than", "no other than", "nothing but", "nothing other than",
                "only", "merely", "be", "to be", "is", "are", "was", "will be", "would be", "should be", "must be", "has to be", "can be", "a", "an", "the", "written as", "expressed as", "stated as",
                "represented by", "represented as", "denoted by", "believed to be", "correctly", "correctly given by", "ultimately", "overall", "thereby", "accordingly", "yes ,", "well ,", "ok ,", "okay ,",
                "a whopping", "an even", "a mere", "some", "boxed as", "the number", "the value", "as i said", "as stated", "for sure",
                "naturally", "plainly", "necessarily", "equally", "even", "quite", "truly", "nothing else than", "no more and no less than", "no less than exactly", "namely", "i think", "i believe",
                "i guess", "in the end", "at last", "after all", "lets say", "say", "we get", "we have", "we find", "we obtain", "it is", "it's", "it equals", "my", "our"},
      .remarks = {"because", "since", "as", "which", "where", "whereby", "after", "before", "by", "using", "so", "thus", "hence", "therefore", "according", "from", "based on",
                  "per the", "when", "whenever", "if", "provided", "assuming", "with", "for", "at", "meaning", "i . e", "ie", "e . g", "that is", "that's", "not", "rather than",
                  "instead of", "as opposed to", "unlike", "rounded", "right", "correct", "i think", "i believe", "i guess", "i hope", "done", "but", "in total", "in all",
                  "altogether", "overall", "total", "left", "remaining", "in the end", "in the box", "in this", "in our", "in that", "in simplest", "in lowest", "in reduced", "in its", "in decimal",
                  "in fact", "in short", "in words", "in conclusion", "in each", "in both", "of them", "of these", "of those", "of which", "of the", "to the nearest", "to two", "to three", "to one",
                  "to be", "on the", "respectively", "inclusive", "exactly", "precisely", "is", "are", "was", "were", "has", "have", "gives", "makes", "satisfies", "works",
                  "holds", "too", "also", "again", "indeed", "again", "now", "we", "this", "it", "they", "he", "she", "you", "let", "let's", "while", "although", "though", "however",
                  "yes", "ok", "okay", "q . e", "qed", "thanks", "thank", "please", "hope", "approximately", "or so", "or thereabouts", "or equivalently", "or about", "or approximately", "or roughly", "equivalently", "only", "alone",
                  "via", "due", "through", "under", "following", "given", "such that", "that", "because of", "thanks to", "considering", "knowing", "noting", "obtained", "found", "and so",
                  "and not", "and this", "and that", "and we", "and it", "and i", "and nothing", "and then", "without", "despite", "even though", "just", "exact", "finally", "final", "once", "upon", "unless", "until", "whose",
                  "every", "each day", "today", "here", "there", "above", "below", "a day", "because it", "as a", "as an", "being", "making", "giving", "leaving", "completing", "confirming", "verifying"},
      .reasons = {"because", "since", "as", "which", "where", "by", "using", "so", "thus", "hence", "therefore", "according", "based on", "not", "rather than", "instead of", "and not",
                  "as opposed to", "unlike", "from", "after", "via", "due", "through", "considering", "knowing", "noting"},
      .about = {"one number", "that of", "verified", "confirmed", "checked", "validated", "correct", "right", "wrong", "incorrect", "rounded", "obtained", "derived", "computed", "calculated", "determined", "found",
                "shown", "given", "written", "expressed", "boxed", "stated", "marked", "highlighted", "presented", "provided", "displayed", "listed", "unique", "unknown", "unclear",
                "clear", "obvious", "simple", "easy", "hard", "difficult", "left", "based", "consistent", "reasonable", "independent", "dependent", "in", "as", "what", "how", "why",
                "when", "where", "accurate", "exact", "final", "complete", "ready", "already", "plausible", "valid", "invalid", "sound", "sensible", "elegant", "beautiful", "nice", "neat", "interesting",
                "surprising", "fun", "good", "great", "fine", "ok", "okay", "always", "known", "proven", "proved", "justified", "supported", "seen", "to be", "for", "from", "by", "at", "on",
                "with", "required", "needed", "expected", "asked", "requested", "desired", "wanted", "hidden", "missing", "trivial", "straightforward", "immediate", "apparent", "well", "too",
                "very", "now", "there", "here", "up", "off", "out", "more", "less", "a bit", "another", "different", "same", "the same", "similar", "likewise", "reached", "achieved", "used",
                "taken", "made", "done", "called", "meant", "supposed", "guaranteed", "acceptable", "accepted", "appropriate", "trustworthy", "reliable", "approximate", "subject", "due", "because", "so", "thus"},
      .comparisons = {"more than", "less than", "fewer than", "greater than", "larger than", "smaller than", "times as", "times more", "times larger", "correct", "sure", "confident", "certain",
                      "right", "accurate", "wrong", "decimal places", "significant", "digits long", "words long", "away from", "steps away", "percent sure", "percent certain"},
      .hedges = {"maybe", "perhaps", "possibly", "even", "also", "then", "else", "it could be", "it might be", "it may be", "it is", "could be", "might be", "may be", "could also be",
                 "might also be", "rather", "potentially", "probably", "alternatively", "the answer is", "the answer could be", "the answer might be", "instead", "it's", "they are", "is it"},
      .second_thoughts = {"or", "maybe", "perhaps", "possibly", "alternatively", "it could also be", "could also be", "it might also be", "might also be", "it may also be",
                          "may also be", "it could be", "it might be", "it may be", "could be", "might be", "may be", "otherwise"},
      .concluding = {"so", "therefore", "thus", "hence", "finally", "and", "in conclusion", "to conclude", "in summary", "to summarize", "in total", "in all", "overall", "as a result", "consequently",
                     "accordingly", "then", "it follows that", "this means that", "this means", "which means that", "which means", "that means", "we conclude that", "we conclude",
                     "ultimately", "in the end", "altogether", "that leaves", "this leaves", "this gives", "this gives us", "that gives", "that gives us", "which gives", "thereby", "we get", "we obtain", "we find", "we find that",
                     "i get", "i obtain", "i find", "we see that", "we have", "i conclude that", "i conclude", "i think", "i believe", "after that", "at last", "conclusion", "done",
                     "this implies", "this implies that", "this yields", "also", "donc", "luego", "probably", "definitely", "certainly", "surely", "maybe", "perhaps", "possibly", "sure",
                     "of course", "yes", "obviously", "clearly", "simply", "exactly", "approximately", "about", "around", "roughly", "indeed", "my guess", "presumably", "likely", "apparently"},
      .premises = {"let", "let's", "suppose", "assume", "consider", "note", "recall", "remember", "check", "checking", "verify", "verifying", "verification", "substituting", "plugging", "to check", "to verify", "question",
                   "problem", "given", "note that", "observe", "notice", "explanation", "hint", "here", "example", "for example", "step", "we need", "we want", "we are given", "we know", "first", "second",
                   "next", "now", "hope", "i hope", "please", "feel free", "thank", "thanks", "proof", "in other words", "because", "remark", "confidence", "source", "page", "figure", "the question", "the problem"},
      .verbs = {"is", "are", "equals", "equal to", "get", "gets", "got", "obtain", "obtains", "obtained", "say", "guess", "give", "gives", "gives us", "have", "has", "had", "yields", "be", "becomes", "costs", "cost", "makes", "make",
                "needs", "need", "left with", "arrive at", "arrives at", "arrived at", "total of", "leading to", "leads to", "up with", "results in", "resulting in", "totals", "find", "finds", "earns", "earn", "comes to", "amounts to", "pays", "saves", "spends", "receives", "takes", "take", "leaves", "so", "therefore",
                "thus", "hence", "thereby", "contains", "choose", "pick", "select", "go with", "going with", "opt for", "chose", "was", "were", "works out to", "comes out to", "equal", "reaches",
                "would be", "should be", "must be", "means", "implies", "to", "it's", "that's", "there's", "that", "namely", "sells", "buys", "eats", "reads", "drives", "weighs", "measures", "lasts", "requires"},
      .corrections = {"wait", "actually", "no", "sorry", "oops", "correction", "hmm", "hold on", "on second thought", "scratch that", "let me correct", "i made", "i was wrong", "that is wrong",
                      "that's wrong", "this is wrong", "that is incorrect", "this is incorrect", "that was wrong", "but wait", "i mean", "or rather", "rather", "however", "my mistake", "edit", "update", "corrected"},
      .retractions = {"wrong", "incorrect", "mistake", "mistaken", "error", "not right", "not correct", "scratch that", "miscalculated", "misread", "isn't right", "can't be right", "cannot be right"},
      .doubts = {"not sure", "don't know", "don’t know", "do not know", "no idea", "unsure", "cannot determine", "can't determine", "can't tell", "cannot tell", "uncertain", "not certain", "give up",
                 "cannot be determined", "can't say", "unable to", "not possible to", "no clue"},
      .approvals = {"is correct", "is right", "is true", "is the one", "it is", "is the correct one", "is the right one", "is my pick", "is my choice", "is what we want", "is what was asked", "is it"},
      .meaningful = {"of", "than", "by", "to", "more", "less", "times", "between", "from", "not", "no", "minus", "negative", "plus", "under", "over", "above", "below", "within", "per", "every", "all", "any",
                     "except", "and", "or", "sum", "difference", "product", "square", "root", "cube", "half", "twice", "double", "triple", "fewer", "greater", "least", "most", "nor", "neither",
                     "multiple", "power", "factor", "percent", "remainder", "reciprocal", "inverse", "opposite", "before", "after", "until", "with", "without", "if", "is", "are", "has", "have", "was"},
      .numbers = {"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen",
                  "eighteen", "nineteen", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety", "hundred", "thousand", "million", "billion", "dozen", "half", "infinity",
                  "negative", "minus", "pi", "a dozen", "a hundred", "a thousand", "a million", "a half", "a quarter", "a third", "one-half", "one-third", "one-quarter", "two-thirds", "three-quarters", "three-fourths", "one-fourth"},
      .functions = {"sin", "cos", "tan", "cot", "sec", "csc", "log", "ln", "exp", "sqrt", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "gcd", "lcm", "max", "min", "mod", "pi", "phi", "theta", "infinity", "inf"}};
  return words;
}

}  // namespace rollcall::text
