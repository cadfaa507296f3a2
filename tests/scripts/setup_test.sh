#!/usr/bin/env bash
# scripts/setup --no-install names each missing thing, why it is needed and how to get it, and fails; the scripts refuse unknown arguments.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# A copy of the scripts with a list of two things, one of which exists nowhere.
mkdir -p "$work/tree/scripts"
cp "$root/scripts/setup" "$root/scripts/quickstart" "$root/scripts/test" "$work/tree/scripts/"
cp -r "$root/cmake" "$work/tree/"
cat >"$work/tree/scripts/packages.txt" <<'TXT'
# The list of this test.
g++         build  command:c++                   compiler
no-command  build  command:rollcall-no-such      reason one
no-header   build  header:rollcall/no_such.h     reason two
no-package  build  package:NoSuchThing::NoSuchThing_FOUND  reason three
no-tests    test   command:rollcall-no-tests     reason four
TXT

expect() {  # WHAT PATTERN TEXT
  if ! grep -qE -- "$2" <<<"$3"; then printf 'FAILED %s: no "%s" in:\n%s\n' "$1" "$2" "$3"; failures=$((failures + 1)); fi
}
refuse() {  # WHAT PATTERN TEXT
  if grep -qE -- "$2" <<<"$3"; then printf 'FAILED %s: "%s" in:\n%s\n' "$1" "$2" "$3"; failures=$((failures + 1)); fi
}

cd / || exit 1
output=$(env -u TORCH_ROOT "$work/tree/scripts/setup" --no-install 2>&1); code=$?
expect "exit code" '^1$' "$code"
expect "count" '^scripts/setup: 4 missing' "$output"
for thing in no-command no-header no-package LibTorch; do expect "$thing is named" "^  $thing\$" "$output"; done
for reason in one two three; do expect "reason $reason" "why: reason $reason" "$output"; done
expect "how to get LibTorch" 'scripts/setup libtorch' "$output"
refuse "what is there is not named" 'g\+\+' "$output"
refuse "what only tests need is not named" 'no-tests' "$output"
expect "what tests need" '^  no-tests$' "$("$work/tree/scripts/setup" --no-install --tests 2>&1)"

# A fresh machine has none of the tests' libraries when the program is built (scripts/quickstart).
mkdir -p "$work/bin"
printf '#!/bin/sh\necho "$@"\n' >"$work/bin/cmake"
chmod +x "$work/bin/cmake"
configured() { PATH=$work/bin:$PATH "$work/tree/scripts/setup" "$@" configure >/dev/null && cat "$work/tree/build/logs/configure.log"; }
expect "the program alone" '-DROLLCALL_BUILD_TESTS=OFF' "$(configured)"
expect "with tests" '-DROLLCALL_BUILD_TESTS=ON' "$(configured --tests)"
mkdir -p "$work/tree/build/release" && touch "$work/tree/build/release/CMakeCache.txt"
expect "a tree whose configuration failed is new" '-DROLLCALL_BUILD_TESTS=OFF' "$(configured)"
touch "$work/tree/build/release/build.ninja"
expect "a tree that is there" '^--preset release$' "$(configured)"

for script in setup quickstart test; do
  output=$("$root/scripts/$script" --help 2>&1); code=$?
  expect "$script --help: code" '^0$' "$code"
  expect "$script --help" "^usage: scripts/$script" "$output"
done
output=$("$root/scripts/quickstart" --no-instal 2>&1); code=$?
expect "unknown argument: code" '^2$' "$code"
expect "unknown argument" "unknown argument '--no-instal'" "$output"
output=$("$root/scripts/setup" instal 2>&1); code=$?
expect "unknown step: code" '^1$' "$code"

if ((failures)); then exit 1; fi
echo "scripts/setup: all expectations met"
