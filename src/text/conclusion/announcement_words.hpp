// Tables of the words with which a response announces an answer, introduces it, remarks on it, and
// takes it back.
#pragma once

#include "text/answer/answer_tokens.hpp"

#include <initializer_list>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rollcall::text {

/// A set of phrases with one or several words, in lower case. If several begin at the same token,
/// the longest one counts.
class Phrases {
 public:
  Phrases(std::initializer_list<std::string_view> phrases);
  /// The token after the phrase that begins at token `at`; `at` if no phrase begins there. Marks
  /// between its words are skipped.
  std::size_t after(const Tokens& tokens, std::size_t at) const;
  bool begins(const Tokens& tokens, std::size_t at) const { return after(tokens, at) != at; }

 private:
  std::unordered_map<std::string_view, std::vector<std::vector<std::string_view>>>
      rest_;  // the words after the first one, by first word; the longest come first
};

struct AnnouncementWords {
  Phrases answers;        ///< names of what is announced: "answer"
  Phrases results;        ///< names of a result, which count if the response has no "answer"
  Phrases options;        ///< names after which a letter may follow: "option B is correct"
  Phrases whole;          ///< noun and verb together, in languages that write them as one word
  Phrases modifiers;      ///< come between an article and "answer"
  Phrases supposed;       ///< come before "the answer is" if nobody claims that: "if"
  Phrases remote;         ///< after "the answer", say that it belongs to another case: "would be"
  Phrases modals;         ///< come before "answer" as a verb: "might"
  Phrases sayings;        ///< come before "the answer is" if it reports what somebody says: "says"
  Phrases own;            ///< come before modals and sayings if the writer speaks: "I"
  Phrases fillers;        ///< begin the words that may be between "the answer" and "is"
  Phrases copulas;        ///< "is" and similar verbs
  Phrases denials;        ///< "is not" and similar phrases
  Phrases bounds;         ///< come before a value that only bounds the one meant: "less than"
  Phrases auxiliaries;    ///< come between a denial and the verb that it denies
  Phrases equals;         ///< come between a name and its value
  Phrases circumstances;  ///< after a value, begin words that say when it holds
  Phrases leads;          ///< come between "is" and the answer
  Phrases remarks;        ///< begin words after an answer that do not belong to it
  Phrases reasons;        ///< remarks that give a reason; they also end an answer in words
  Phrases about;          ///< say how the answer is, and not what it is
  Phrases comparisons;    ///< after a value, say that it only describes the answer: "% sure"
  Phrases hedges;         ///< come between "or" and a further answer
  Phrases second_thoughts;  ///< come before a further answer in this sentence or the next one
  Phrases rivals;           ///< come before a value that may also be the answer: "unless it is"
  Phrases rivalry;          ///< come after a value that is also an answer: "also works"
  Phrases asides;           ///< come after a count or price: "in" of "pages in 240 minutes"
  Phrases comparatives;     ///< end a count, unless "than" and a number follow: "more"
  Phrases periods;          ///< come after "a" or "each" in a rate: "hour"
  Phrases connectives;      ///< begin the clause that concludes a sentence: ", so she pays 64"
  Phrases others;           ///< begin a clause about another value: "the next one is 29"
  Phrases settings;         ///< come before a value that says when, where or how long
  Phrases links;            ///< come before a value that is meant only if it is the only one
  Phrases unreal;           ///< occur in sentences that are not conclusions
  Phrases operations;       ///< come before a value that is calculated with
  Phrases complements;      ///< come before the words that a sentence says about its subject
  Phrases hedged;           ///< come before complements that are not certain: "may be"
  Phrases exceptions;       ///< come between a value and exceptions that belong to it
  Phrases concluding;       ///< begin a sentence that concludes
  Phrases premises;         ///< begin a sentence that does not conclude
  Phrases verbs;            ///< come before the value in a sentence that concludes
  Phrases corrections;      ///< begin a sentence that takes something back
  Phrases retractions;      ///< say in a sentence with a correction that something was wrong
  Phrases doubts;           ///< say that the writer does not know
  Phrases approvals;        ///< come after an option that is right: "B is correct"
  Phrases meaningful;       ///< come before a value and are part of it
  Phrases numbers;          ///< numbers in words
  Phrases functions;        ///< mathematical names with several letters
};
const AnnouncementWords& announcement_words();

}  // namespace rollcall::text
