#!/bin/sh
# One check of everything that needs a GPU: builds with what bundle.py carried, compares, measures.
#
#   tests/gpu/check.sh [--carry DIR] [--out DIR] [--torch DIR] [--seconds N] [--dry-run]
#
# Needs CUDA 13, LibTorch, a C++ compiler and Python 3 (its standard library); no network, and at
# most 6 minutes. README.md says what each step shows.
set -eu
folder=$(cd "$(dirname "$0")" && pwd)
command -v python3 >/dev/null 2>&1 || {
  echo "check.sh: python3 is missing; it runs the steps and comes with LibTorch's wheel" >&2
  exit 2
}
exec python3 -B "$folder/check/main.py" "$@"
