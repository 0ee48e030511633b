#!/bin/sh
# A copy of the lab in build/broken, whose stages/my2 is stage 2 with one mistake; runs a command there:
#     docs/examples/broken.sh make stage=my2 test
set -e
cd "$(dirname "$0")/../.."
copy=${B:-build}/broken
mkdir -p "$copy/stages/my2"
cp -Rp Makefile stages common tests bench docs "$copy"
# The mistake: having merged a block with the one before it, coalesce() goes on with the old pointer.
sed '/^        b = before;$/d' stages/2-explicit-list/mm.c > "$copy/mm.c"
! cmp -s stages/2-explicit-list/mm.c "$copy/mm.c" || { echo "broken.sh: nothing to break here" >&2; exit 1; }
cmp -s "$copy/mm.c" "$copy/stages/my2/mm.c" || mv "$copy/mm.c" "$copy/stages/my2/mm.c" # else nothing to build anew
cd "$copy"
unset B
"$@"
