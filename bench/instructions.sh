#!/bin/sh
# instructions.sh FOLDER ALLOCATOR... - instructions of each allocator on the workloads, counted by callgrind.
# Prints CSV: ALLOCATOR,WORKLOAD,CALLS,instructions,AMOUNT, what the workload itself costs included.
# FOLDER: what make built. Stages that walk the whole heap in each call run the short workloads only.
set -eu
folder=$1
shift

command -v valgrind > /dev/null || { echo "instructions need valgrind; type: make setup" >&2; exit 3; }

# The C library chooses its memset and memcpy by what the processor can do, and this count must not depend on it.
baseline=glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-ERMS,-FSRM,-SSSE3,-SSE4_1,-SSE4_2
baseline=$baseline,-Fast_Unaligned_Copy,-AVX_Fast_Unaligned_Load,-Fast_Copy_Backward,-BMI2,-LZCNT,-MOVBE
baseline=$baseline:glibc.cpu.x86_non_temporal_threshold=0x10000000

# Nor on where the clone is: the loader keeps the path of the library in a block of the allocator.
cd "$folder"

for name; do
    workloads='pair seq500 fill large frag realloc seq random mixed'
    case $name in
    system | harness) library= ;;
    bump | freelist) library=./bench/lib$name.so ;;
    [12]-* | my[12])
        library=./lib$name.so
        workloads='pair seq500 fill large frag realloc'
        ;;
    *) library=./lib$name.so ;;
    esac
    # shellcheck disable=SC2086 # a list of words
    timeout --foreground 120 env GLIBC_TUNABLES="$baseline" ${library:+LD_PRELOAD="$library"} \
        valgrind --tool=callgrind --toggle-collect=counted_run --callgrind-out-file=/dev/null ./bench/cell "${library:-$name}" instructions $workloads 2>&1 |
        awk -v name="$name" -v wanted="$workloads" '
            /^ran / { workload["==" $3 "=="] = $2; calls[$2] = $4 }
            $2 == "Collected" && $1 in workload { found++; w = workload[$1]; print name "," w "," calls[w] ",instructions," $4 }
            !/^==[0-9]+==/ || /terminat|valgrind:/ { why = $0 }
            END {
                if (found == split(wanted, words, " "))
                    exit
                sub(/^==[0-9]+== */, "", why)
                print "instructions: " name " did not finish: " why > "/dev/stderr"
                exit 1
            }'
done
