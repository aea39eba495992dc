#!/usr/bin/env bash
# Completes command lines of the programs in bash, zsh and fish, and reads the manual pages.
#
#   completion_test.sh PROGRAMS        the folder of tune-all and tunedgemm, and of documents/
#
# A shell that is not installed is skipped with a message.
set -euo pipefail
PATH=$(realpath "$1"):$PATH
documents=$(realpath "$1")/documents
export PATH documents

# The words that bash offers for "$@", whose last word is incomplete.
bash_offers() {
  bash --norc --noprofile -c '
    source "$documents/$1"
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    "_${1//-/_}"
    printf "%s\n" "${COMPREPLY[@]}"' bash "$@"
}

# The arguments that zsh passes to the program after completing "$*" on a terminal.
zsh_completes() {
  # shellcheck disable=SC2016  # zsh expands them
  zsh -f -c '
    zmodload zsh/zpty
    zpty shell zsh -f -i
    zpty -w shell "PROMPT= PROMPT2= ; unsetopt zle_bracketed_paste; fpath=($documents \$fpath)"
    zpty -w shell "autoload -U compinit; compinit -u -D; $1() { print -r -- passed: \$* }; print ready"
    zpty -r shell text "*ready*ready*"
    zpty -w -n shell "$*"$'"'\\t\\n'"'
    zpty -r shell text "*passed: *"$'"'\\n'"'
    print -r -- ${text##*passed: }
    zpty -d shell' zsh "$@" </dev/null | tr -d '\r\n'
}

fish_offers() {
  fish --no-config -c "source $documents/$1.fish; complete -C '$*'" | cut -f 1
}

# expect WHAT WANTED FOUND
expect() {
  if [[ "$2" != "$3" ]]; then
    printf '%s: found "%s", expected "%s"\n' "$1" "$3" "$2" >&2
    exit 1
  fi
}

verbs=$(bash_offers tunedgemm "" | xargs)
expect "the verbs in bash" "$(tunedgemm --help | sed -nE '/^Subcommands/,/^$/s/^  ([a-z]+)[ ,].*/\1/p' | xargs)" "$verbs"
expect "a verb in bash" "doctor" "$(bash_offers tunedgemm doct)"
expect "an option in bash" "--wide" "$(bash_offers tunedgemm best --wi)"
expect "an option of a group in bash" "--order-c --order-d" "$(bash_offers tune-all --order | xargs)"
expect "a value in bash" "quick" "$(bash_offers tune-all x.csv --rigor q)"
expect "the program's own option in bash" "--version" "$(bash_offers tunedgemm --v)"
expect "a file in bash" "" "$(bash_offers tunedgemm best --cache "")"

if command -v zsh >/dev/null; then
  expect "a verb in zsh" "doctor" "$(zsh_completes tunedgemm doct)"
  expect "an option in zsh" "best --wide" "$(zsh_completes tunedgemm best --wi)"
  expect "a value in zsh" "--rigor=quick" "$(zsh_completes tune-all --rigor=q)"
else
  echo "skipped: zsh is missing"
fi

if command -v fish >/dev/null; then
  expect "the verbs in fish" "$(xargs -n 1 <<<"$verbs" | sort | xargs)" "$(fish_offers tunedgemm "" | grep -v '^-' | sort | xargs)"
  expect "an option in fish" "--wide" "$(fish_offers tunedgemm best --wi)"
  expect "a value in fish" "quick" "$(fish_offers tune-all --rigor q)"
else
  echo "skipped: fish is missing"
fi

if command -v help2man >/dev/null; then
  grep -q "^tune-all " "$documents/tune-all.1"
  grep -q "^tunedgemm " "$documents/tunedgemm.1"
  for verb in $verbs; do
    grep -q "^tunedgemm-$verb " "$documents/tunedgemm-$verb.1"
  done
  # Every option of the help is in the page.
  for option in $(tune-all --help | grep -oE '^ +--[a-z-]+'); do
    grep -qF -- "${option//-/\\-}" "$documents/tune-all.1"
  done
else
  echo "skipped: help2man is missing"
fi
