#!/usr/bin/env bash
# All generators of tests.fuzz on all cores: tests/soak.sh MINUTES [SEED] [OUT]. Without a seed, a fresh one. Exit code 1 if anything is wrong.
set -euo pipefail
minutes=${1:?minutes}
seed=${2:-$(date +%s)}
out=${3:-$(mktemp -d)}
cd "$(dirname "$0")/.."
echo "seed $seed, reproducers in $out"
exec python -m tests.fuzz --minutes "$minutes" --seed "$seed" --out "$out" --coverage
