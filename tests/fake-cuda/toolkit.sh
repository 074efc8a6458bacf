#!/bin/sh
# Builds the fake driver and lays it out as a CUDA toolkit, for machines without CUDA:
#
#   tests/fake-cuda/toolkit.sh DIR
#   CUDA_LIBRARY_PATH=DIR LD_LIBRARY_PATH=DIR/lib64 cargo test --features cuda
#
# CUDA_LIBRARY_PATH is what `cust` links against, LD_LIBRARY_PATH is where the programs find libcuda.so.1 when they start.
set -eu

if [ $# -ne 1 ]; then
    echo "usage: $0 DIR" >&2
    exit 2
fi
root=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1/lib64/stubs" "$1/include"
dir=$(cd "$1" && pwd)
target=${CARGO_TARGET_DIR:-$root/target}

(cd "$root" && CARGO_TARGET_DIR="$target" cargo build --release --quiet --package escrow-fake-cuda)

# A new file in place of the old one: a program that runs has the old one mapped.
cp "$target/release/libcuda.so" "$dir/lib64/libcuda.so.1.new"
mv -f "$dir/lib64/libcuda.so.1.new" "$dir/lib64/libcuda.so.1"
ln -sf libcuda.so.1 "$dir/lib64/libcuda.so"
ln -sf ../libcuda.so.1 "$dir/lib64/stubs/libcuda.so"
# Some build scripts take a folder for a toolkit only where this file is.
echo '/* The fake CUDA driver of escrow: no declarations. */' > "$dir/include/cuda.h"
echo "$dir"
