#!/usr/bin/env bash
# The inputs of the GitHub Action, as variables, become the words of one command; its exit code is the step's.
set -euo pipefail

words=(ci)

option() { # name, value: given only when there is a value
  if [ -n "$2" ]; then words+=("$1=$2"); fi
}

option --target "${INPUT_TARGET:-}"
option --model "${INPUT_MODEL:-}"
option --base-url "${INPUT_BASE_URL:-}"
option --against "${INPUT_BASELINE:-}"
option --store "${INPUT_STORE:-}"
option --markdown "${INPUT_MARKDOWN:-}"
option --junit "${INPUT_JUNIT:-}"
option --html "${INPUT_HTML:-}"
option --save "${INPUT_SAVE:-}"
option --fail-on "${INPUT_FAIL_ON:-}"

# One option a line; all after the first space is its value. No word is split, expanded or run by the shell.
while read -r name value; do
  if [ -n "$name" ]; then words+=("$name"); fi
  if [ -n "$value" ]; then words+=("$value"); fi
done <<< "${INPUT_OPTIONS:-}"

# -P: a module of the checkout that bears the name of one of ours, such as click.py, is not taken for it.
exec "${INPUT_PYTHON:-python}" -P -m steelyard "${words[@]}" -- "${INPUT_SUITE:?the input suite says what to run}"
