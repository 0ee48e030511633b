#!/bin/sh
# The student's side of the lab: make start, hint, predict, progress and watch call it.
# Usage: stages/course.sh start N [myM] | hint myN | predict N [seq [mean]] | progress CSV | watch myN
set -u
cd "$(dirname "$0")/.." || exit 1

die() {
    echo "$*" >&2
    exit 1
}

folder_of() { set -- stages/"$1"-*/; [ -d "$1" ] && echo "${1%/}"; }

start() {
    n=$1 from=${2:-}
    mine=stages/my$n
    [ "$n" -gt 1 ] 2> /dev/null || die "start: stage 1 is where the ladder begins: read it, then make start stage=2"
    [ ! -e "$mine" ] || die "start: $mine exists already, and stays as it is; go on with make stage=my$n test"
    before=$((n - 1))
    if [ -n "$from" ]; then
        source=stages/$from
        [ -f "$source/mm.c" ] || die "start: from=$from does not exist; from= takes a stage of your own, such as my$before"
    else
        source=$(folder_of "$before") || die "start: stage $before is not here to begin with; say which with from=my$before"
    fi
    mkdir "$mine" || exit 1
    sed -e "s/^    \.stage = [0-9]*,/    .stage = $n,/" -e "s/^    \.name = \".*\",/    .name = \"my$n\",/" \
        "$source/mm.c" > "$mine/mm.c"
    cat <<END
$mine/mm.c is yours: a copy of $source that calls itself stage $n. What now:
  1. read the chapter             docs/stage-$n.md
  2. say what you expect          make predict stage=$n
  3. see what it cannot do yet    make stage=my$n test      (the goal tests of stage $n fail)
  4. edit $mine/mm.c until that is green; make watch stage=my$n tests each time you save
  5. measure                      make stage=my$n bench
Stuck? make hint stage=my$n. Where am I? make progress.
END
}

hint() {
    n=${1#my} file=docs/hints/stage-${1#my}.md given=stages/$1/.hints
    [ -f "$file" ] || die "hint: there are no hints for $1"
    total=$(grep -c '^## ' "$file")
    next=$(($(cat "$given" 2> /dev/null || echo 0) + 1))
    [ "$next" -le "$total" ] || die "hint: those were all $total; read them again in $file, or see make diff stage=$n"
    awk -v want="$next" -v total="$total" '
        /^## / { i++; if (i == want) { print "Hint " i " of " total ": " substr($0, 4); next } }
        i == want' "$file"
    echo "$next" > "$given"
}

# Kept as lines "stage workload factor", the newest last.
predictions=stages/predictions.txt

ask() {
    printf '%s ' "$1" >&2
    read -r answer || answer=
    echo "$answer"
}

check_factor() {
    echo "$1" | grep -Eq '^[0-9]+([.][0-9]+)?$' || die "predict: '$1' is not a factor; type one such as 5 or 1.5"
}

predict() {
    n=$1 seq=${2:-} mean=${3:-}
    folder_of "$n" > /dev/null || [ -d "stages/my$n" ] || die "predict: there is no stage $n"
    [ "$n" -gt 1 ] || die "predict: stage 1 has no stage before it to be faster than"
    if [ -z "$seq" ]; then
        [ -t 0 ] || die "predict: nobody to ask; type make predict stage=$n seq=5 mean=2"
        echo "How many times faster than stage $((n - 1)) will stage $n be? (2 is twice as fast, 1 no faster.)" >&2
        seq=$(ask "on sequential small allocations?")
        check_factor "$seq"
        mean=$(ask "over all seven workloads?")
    fi
    check_factor "$seq"
    check_factor "$mean"
    printf '%s seq %s\n%s mean %s\n' "$n" "$seq" "$n" "$mean" >> $predictions
    echo "Kept in $predictions. Now measure: make stage=my$n bench (or stage=$n); make progress compares."
}

# The factor by which stage $3 was faster than stage $2 in the results $1: of one workload $4, or "mean" of seven.
measured() {
    awk -F, -v before="$2" -v after="$3" -v workload="$4" '
        $1 == before { a[$2] = $5 }
        $1 == after { b[$2] = $5 }
        END {
            n = split(workload == "mean" ? "seq random fill large frag realloc mixed" : workload, w, " ")
            for (i = 1; i <= n; i++) {
                if (a[w[i]] == "" || b[w[i]] == "") exit
                sum += log(a[w[i]] / b[w[i]])
            }
            printf "%.3g", exp(sum / n)
        }' "$1"
}

progress() {
    results=$1 next=
    for file in stages/my*/mm.c; do
        [ -f "$file" ] || continue
        name=$(basename "$(dirname "$file")") n=${name#my}
        summary=$(make -s --no-print-directory stage="$name" test 2>&1)
        line=$(echo "$summary" | grep -E "^$name: [0-9]+ passed" | tail -1)
        goals=$(echo "$summary" | grep -cE "goal_[0-9]+")
        if [ -z "$line" ]; then
            state="does not build"
            : "${next:=make stage=$name test, and mend what the compiler says}"
        elif echo "$line" | grep -q ' 0 failed'; then
            state="done: ${line#*: }"
        else
            state="${line#*: }$([ "$goals" -gt 0 ] && echo ', a goal among them')"
            : "${next:=make stage=$name test, then edit $file}"
        fi
        echo "stage $n  $name  $state"
        [ "$n" -gt 1 ] || continue # there is none before it to be faster than
        for workload in seq mean; do
            guess=$(awk -v n="$n" -v w=$workload '$1 == n && $2 == w { g = $3 } END { print g }' $predictions 2> /dev/null)
            before=$(basename "$(folder_of $((n - 1)))")
            got=$([ -f "$results" ] && measured "$results" "$before" "$name" $workload)
            printf '    %-22s predicted %-8s measured %s\n' \
                "$([ $workload = seq ] && echo 'sequential small' || echo 'seven workloads')" \
                "${guess:-–}" "${got:-–}"
        done
        [ -n "$guess" ] || : "${next:=make predict stage=$n}"
        [ -n "$got" ] || : "${next:=make stage=$name bench}"
    done
    for n in 2 3 4 5 6; do
        [ -n "$next" ] || [ -d "stages/my$n" ] || next="make start stage=$n"
    done
    echo "Next: ${next:-the top of the ladder is yours; docs/further-projects.md has more}"
}

watch() {
    file=stages/$1/mm.c last=
    echo "Testing $1 whenever $file changes; Ctrl-C ends."
    while :; do
        now=$(cksum < "$file")
        if [ "$now" != "$last" ]; then
            last=$now
            make -s --no-print-directory stage="$1" test
            echo "--- $(date +%T), waiting for a change of $file"
        fi
        # Where inotifywait is missing, look every second.
        inotifywait -qq -t 60 -e modify -e close_write -e move_self "$file" 2> /dev/null || sleep 1
    done
}

"$@"
