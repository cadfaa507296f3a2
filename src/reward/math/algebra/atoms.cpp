// Numbers atoms by their content, and finds those within a form.
#include "reward/math/algebra/atoms.hpp"

#include "reward/math/limits.hpp"

#include <algorithm>
#include <utility>

namespace rollcall::reward::math {

void append_key(const Poly& poly, std::string& to) {
  for (const Term& term : poly) {
    to += term.coefficient.get_str(36);
    for (const Factor& f : term.factors)
      to += '*' + std::to_string(f.atom) + '^' + std::to_string(f.exponent.num) + '/' +
            std::to_string(f.exponent.den);
    to += '+';
  }
}

int Atoms::number(AtomKind kind, const std::string& name, mpz_class base,
                  std::vector<Form> arguments) {
  std::string key(1, char('a' + int(kind)));
  key += name;
  if (base != 0) key += base.get_str(36);
  for (const Form& form : arguments) {
    key += '(';
    append_key(form.top, key);
    key += ':';
    append_key(form.bottom, key);
  }
  const auto [row, is_new] = numbers_.emplace(std::move(key), int(atoms_.size()));
  if (is_new) {
    if (atoms_.size() >= kMostNodes) exhausted("more functions and variables than are compared");
    atoms_.push_back({kind, name, std::move(base), std::move(arguments), -1});
  }
  return row->second;
}

Form atom_form(int number) {
  Form form = constant(1);
  form.top[0].factors.push_back({number, {1, 1}});
  return form;
}

std::set<int> Atoms::within(const Form& form) const {
  std::set<int> seen;
  std::vector<const Form*> open{&form};
  while (!open.empty()) {
    const Form& next = *open.back();
    open.pop_back();
    for (const Poly* poly : {&next.top, &next.bottom})
      for (const Term& term : *poly)
        for (const Factor& f : term.factors)
          if (seen.insert(f.atom).second)
            for (const Form& argument : (*this)[f.atom].arguments) open.push_back(&argument);
  }
  return seen;
}

std::vector<int> Atoms::variables_of(const Form& form) const {
  std::vector<int> variables;
  for (const int a : within(form))
    if ((*this)[a].kind == AtomKind::variable) variables.push_back(a);
  return variables;
}

bool Atoms::has_imaginary(const Form& form) const {
  const auto atoms = within(form);
  return std::any_of(atoms.begin(), atoms.end(),
                     [&](int a) { return (*this)[a].kind == AtomKind::i; });
}

}  // namespace rollcall::reward::math
