#!/usr/bin/env bash
# Prints the manual page of a program, or of its verb, made from its help by help2man:
#
#   manual_page.sh PROGRAM [VERB]
set -euo pipefail
program=$1
verb=${2-}
page=$(basename "$program")${verb:+-$verb}
# help2man splits the command at spaces, so that the program's path must have none.
command=./$(basename "$program")${verb:+ $verb}
cd "$(dirname "$program")"

version=$("./$(basename "$program")" --version)
# The text before the usage, up to the end of the first clause.
summary=$($command --help | sed '/^Usage/,$d' | tr '\n' ' ' | sed 's/[;.].*//; s/ *$//')
help2man --no-info --name "$summary" --version-string "${version##* }" "$command" |
  sed -E "s/^(\.TH) \S+ /\1 ${page^^} /; /^\.SH NAME/{n;s/^.* (\\\\- )/$page \1/}"
