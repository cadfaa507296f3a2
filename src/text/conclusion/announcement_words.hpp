// The words by which answers are announced, led into, remarked upon and taken back: tables for
// announcement.cpp.
#pragma once

#include "text/answer/answer_tokens.hpp"

#include <initializer_list>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rollcall::text {

/// Phrases of one word or several, in lower case; of those that begin alike the longest counts.
class Phrases {
 public:
  Phrases(std::initializer_list<std::string_view> phrases);
  /// Where the phrase that begins at token `at` ends; `at` where none does. Marks between its words
  /// do not matter.
  std::size_t behind(const Tokens& tokens, std::size_t at) const;
  bool begins(const Tokens& tokens, std::size_t at) const { return behind(tokens, at) != at; }

 private:
  std::unordered_map<std::string_view, std::vector<std::vector<std::string_view>>>
      rest_;  ///< by first word; the longest first
};

struct AnnouncementWords {
  Phrases answers;    ///< what is announced
  Phrases results;    ///< likewise, where no answer is
  Phrases options;    ///< likewise, and a letter may follow: "option B is correct"
  Phrases whole;      ///< languages that write noun and verb as one word
  Phrases modifiers;  ///< between an article and "answer"
  Phrases supposed;   ///< before "the answer is": it is not said to be so
  Phrases remote;     ///< between "the answer" and its value: it is of another case, or of one that
                      ///< was
  Phrases modals;     ///< before "answer" as a verb
  Phrases sayings;    ///< before "the answer is": somebody says so
  Phrases own;        ///< before those: the writer does
  Phrases fillers;    ///< begin what may stand between "the answer" and "is"
  Phrases copulas;    ///< "is" and its like
  Phrases denials;    ///< "is not"
  Phrases bounds;     ///< before a value: it only bounds what is meant
  Phrases auxiliaries;    ///< between a denial and the verb that it denies
  Phrases equals;         ///< between a name and its value
  Phrases circumstances;  ///< behind a value: what begins so says when it holds
  Phrases leads;          ///< between "is" and the answer
  Phrases remarks;        ///< begin what is no part of the answer any more
  Phrases reasons;        ///< those remarks in which further values are none of the answer
  Phrases about;          ///< say how the answer is, not what it is
  Phrases comparisons;  ///< behind a value: it says how the answer is after all ("3 more than 39",
                        ///< "90% sure")
  Phrases hedges;       ///< between "or" and a further answer
  Phrases second_thoughts;  ///< before a further answer, in the same sentence or at the beginning
                            ///< of the next
  Phrases rivals;   ///< before a value that may be the answer as well: "as well as", "unless it is"
  Phrases rivalry;  ///< behind a value: it is an answer as well ("also works")
  Phrases asides;   ///< end what is counted or paid: "pages in 240 minutes", "$10 for the week"
  Phrases comparatives;  ///< likewise, unless a number follows "than"
  Phrases periods;       ///< behind "a" or "each": a rate
  Phrases connectives;   ///< begin the clause that a sentence comes to: ", so she pays 64"
  Phrases others;        ///< begin a clause about another value: "the next one is 29"
  Phrases settings;      ///< before a value: it says when, where or how long
  Phrases links;         ///< before a value: it is what is meant where it is the only one
  Phrases unreal;        ///< in a sentence: what it says is no conclusion
  Phrases operations;    ///< before a value: it is worked with
  Phrases complements;   ///< before words that a sentence ends by saying of its subject
  Phrases hedged;        ///< before those: nobody says so for sure
  Phrases exceptions;    ///< what follows belongs to the words before
  Phrases concluding;    ///< begin a sentence that concludes
  Phrases premises;      ///< begin a sentence that does not
  Phrases verbs;         ///< before the value in a sentence that concludes
  Phrases corrections;   ///< begin a sentence that takes back what was said before
  Phrases retractions;   ///< say within it that it was wrong
  Phrases doubts;        ///< the writer does not know
  Phrases approvals;     ///< behind a subject: "B is correct"
  Phrases meaningful;    ///< words before a value that are part of it
  Phrases numbers;       ///< in words
  Phrases functions;     ///< names of mathematics that are several letters long
};
const AnnouncementWords& announcement_words();

}  // namespace rollcall::text
