# suite.sh - what the suites written in shell share: the header, JSON, a bar with the time left, Ctrl-C. To be sourced, with
# `folder` set to what make built. From make: COMMIT and FLAGS, for the header, and JSON, where to write it.

# After Ctrl-C a suite ends its loops, prints what it has, and calls finish.
stopped= failed=
trap 'stopped=130' INT TERM

# Both before anything is measured.
need_number() # NAME VALUE: what was typed as NAME=VALUE
{
    case $2 in
    '' | *[!0-9]* | 0)
        echo "$1=$2 is not a number from 1; type for instance $1=6" >&2
        exit 2
        ;;
    esac
}

begin() # CSV COLUMNS
{
    { echo "$2" > "$1.new"; } 2> /dev/null || {
        echo "$1 cannot be written; type csv= with the path of a file that can" >&2
        exit 2
    }
}

suite_started=$(date +%s)

# A bar, on a terminal only; the time left is what the steps before took.
progress() # DONE TOTAL DOING
{
    [ -t 2 ] || return 0
    awk -v finished="$1" -v total="$2" -v seconds=$(($(date +%s) - suite_started)) -v doing="$3" 'BEGIN {
        for (bar = ""; length(bar) < 30;)
            bar = bar (length(bar) < 30 * finished / total ? "#" : ".")
        left = finished > 0 ? sprintf("%3d s left", seconds * (total - finished) / finished) : ""
        printf "\r[%s] %s   %s\033[K", bar, left, doing }' >&2
}

clear_progress()
{
    [ ! -t 2 ] || printf '\r\033[K' >&2
}

# The header of the report, and the CSV once more as JSON, with the same header.
publish() # SUITE CSV
{
    suite_json=${JSON:-${2%.csv}.json}
    "$folder/bench/bench" --title="$1" --rows="$2" --json="$suite_json" --commit="$COMMIT" --flags="$FLAGS" \
        ${stopped:+--interrupted}
}

# The last line of every report.
finish() # CSV...
{
    echo
    echo "raw figures: $*, $suite_json"
    [ -z "$stopped" ] || echo "Warning: interrupted; the tables hold what was measured until then."
    [ -z "$failed" ] || echo "Warning: some measurements failed, as said above; they are missing in the tables."
    exit "${stopped:-${failed:-0}}"
}
