#!/bin/sh
# make.sh LIBRARY READER DIRECTORY [NAME...] - records the traces anew, all or those named; `make traces`.
#
# Every input is made here, from fixed seeds. Another version of a program gives another trace, so what is
# stored is what counts; this file says where it came from. README.md in this directory says what each one
# stresses.
set -eu

# The same environment everywhere, and addresses that are the same in every run where the system allows it.
if [ -z "${plain-}" ]; then
    fixed=
    setarch -R true 2> /dev/null && fixed="setarch -R"
    # shellcheck disable=SC2086 # two words or none
    exec env -i plain=1 PATH=/usr/bin:/bin LC_ALL=C TZ=UTC HOME=/nonexistent $fixed sh "$0" "$@"
fi

library=$(realpath "$1") reader=$(realpath "$2") directory=$(realpath "$3")
recorder=$(realpath "$(dirname "$0")/../record.sh")
shift 3
chosen=" $* "
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A generator of its own: awk's rand() is another one in each awk. Minimal standard, Park and Miller 1988.
random='
    function random(n) { seed = seed * 16807 % 2147483647; return int(seed / 2147483647 * n) }
    function word(  n, w) {
        n = 2 + random(3)
        while (n-- > 0)
            w = w substr("bdfgklmnprstvz", 1 + random(14), 1) substr("aeiou", 1 + random(5), 1)
        return w
    }
    function common_word(  k) {  # few words are frequent, most are rare
        k = int(vocabulary ^ (random(100000) / 100000))
        if (!(k in words)) words[k] = word()
        return words[k]
    }'

generate() { # FILE SEED PROGRAM
    awk -v seed="$2" "$random $3" > "$1"
}

trace() { # NAME PROGRAM COMMAND
    program=$2 cmd=$3 sh "$recorder" "$library" "$reader" "$directory/$1.trace.gz" > list ||
        echo "$1: $(command -v "$2" > /dev/null || echo "$2 is not installed; ")not recorded" >&2
    grep -e '->' list | sed "s|^|$1: |; s|$directory/||"
}

# Is this trace to be recorded? Then in a directory of its own.
wanted() {
    [ "$chosen" = "  " ] || [ "${chosen#* "$1" }" != "$chosen" ] || return 1
    mkdir "$work/$1"
    cd "$work/$1"
    unset OLDPWD # else what was recorded before would be seen in the environment
}

text() {
    generate text 11 'BEGIN {
        vocabulary = 4000
        for (line = 0; line < 1500; line++) {
            n = 4 + random(12)
            for (i = 0; i < n; i++) printf "%s%s", common_word(), random(8) == 0 ? ", " : " "
            print common_word() "."
        }
    }'
}

if wanted sqlite3; then
    generate orders.sql 21 'BEGIN {
        print "create table customer(id integer primary key, name text unique, town text);"
        print "create table orders(id integer primary key, customer int, item text, price real);"
        print "create index by_customer on orders(customer);"
        print "begin;"
        for (i = 1; i <= 300; i++)
            print "insert into customer values(" i ", '\''" word() i "'\'', '\''" word() "'\'');"
        for (i = 1; i <= 2500; i++)
            print "insert into orders(customer, item, price) values(" \
                1 + random(300) ", '\''" word() "'\'', " random(10000) / 100 ");"
        print "commit;"
        for (i = 0; i < 60; i++)
            print "select name, count(*), sum(price) from customer c join orders o on o.customer = c.id" \
                " where c.id between " i " and " i + 40 " group by name order by 3 desc limit 5;"
        print "select town, group_concat(item) from customer c join orders o" \
            " on o.customer = c.id group by town;"
        print "update orders set price = price * 1.1 where customer % 3 = 0;"
        print "delete from orders where price < 20;"
        print "vacuum;"
    }'
    trace sqlite3 sqlite3 'sqlite3 -init /dev/null -batch :memory: < orders.sql > out'
fi

if wanted python3; then
    text
    cat > words.py <<'END'
import json
class Word:
    def __init__(self, text):
        self.text, self.lines, self.next = text, [], {}
words = {}
with open("text") as lines:
    for number, line in enumerate(lines.readlines()[:500]):
        before = None
        for text in line.replace(",", "").rstrip(".\n").split():
            word = words.setdefault(text, Word(text))
            word.lines.append(number)
            if before is not None:
                before.next[text] = before.next.get(text, 0) + 1
            before = word
ranking = sorted(words.values(), key=lambda w: (-len(w.lines), w.text))
table = [{"word": w.text, "lines": w.lines[:20], "next": sorted(w.next.items())[:5]} for w in ranking]
assert json.loads(json.dumps(table))[0]["word"] == ranking[0].text
END
    trace python3 python3 'PYTHONMALLOC=malloc PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1 \
        /usr/bin/python3 -s -S words.py'
fi

if wanted perl; then
    text
    cat > words.pl <<'END'
use strict;
my (%lines, %pairs);
while (my $line = <STDIN>) {
    my @words = map { lc } $line =~ /(\w+)/g;
    push @{ $lines{$_} }, $. for @words;
    $pairs{"$words[$_] $words[$_ + 1]"}++ for 0 .. $#words - 1;
}
for my $word (sort { @{ $lines{$b} } <=> @{ $lines{$a} } || $a cmp $b } keys %lines) {
    my $list = join ',', map { sprintf '%04d', $_ } @{ $lines{$word} };
    (my $short = $list) =~ s/(,\d+){5,}$/,.../;
    print "$word: $short\n";
}
print "$_ $pairs{$_}\n" for grep { $pairs{$_} > 3 } sort keys %pairs;
END
    trace perl perl 'PERL_HASH_SEED=0 perl words.pl < text > out'
fi

if wanted cc1; then
    generate program.c 31 'BEGIN {
        for (i = 0; i < 8; i++) {
            print "struct s" i " { int a, b[" 2 + random(30) "]; double d; struct s" i " *next; };"
            print "int f" i "(struct s" i " *s, int n) {"
            print "    int sum = 0;"
            print "    for (int i = 0; i < n; i++) {"
            for (k = random(8); k >= 0; k--)
                print "        if (s->b[i % 2] > " random(1000) ") sum += s->a * " 1 + random(9) \
                    "; else s->d *= " random(100) ".5;"
            print "        switch (i & 7) {"
            for (k = 0; k < 5; k++) print "        case " k ": sum ^= n << " random(30) "; break;"
            print "        }"
            if (i > 0) print "        sum += f" random(i) "((void *)s->next, i - 1);"
            print "    }"
            print "    return s->next ? sum + f" i "(s->next, n / 2) : sum;"
            print "}"
        }
    }'
    trace cc1 cc1 "$(gcc -print-prog-name=cc1) -quiet -O2 program.c -o out.s"
fi

if wanted lua; then
    cat > simulation.lua <<'END'
-- Customers arrive, wait and leave: closures in a heap ordered by time, strings, small tables.
local seed = 41
local function random(n) seed = seed * 16807 % 2147483647 return seed % n end
local heap = {}
local function push(time, action)
    local i = #heap + 1
    heap[i] = {time = time, action = action}
    while i > 1 and heap[i // 2].time > heap[i].time do
        heap[i], heap[i // 2] = heap[i // 2], heap[i]
        i = i // 2
    end
end
local function pop()
    local first, last = heap[1], table.remove(heap)
    if #heap == 0 then return first end
    heap[1] = last
    local i = 1
    while true do
        local least = i
        for child = 2 * i, math.min(2 * i + 1, #heap) do
            if heap[child].time < heap[least].time then least = child end
        end
        if least == i then return first end
        heap[i], heap[least] = heap[least], heap[i]
        i = least
    end
end
local queue, log, now = {}, {}, 0
local function leave(name, since)
    return function() log[#log + 1] = string.format("%s waited %d", name, now - since) end
end
local function arrive(k)
    return function()
        local name = "customer " .. k
        queue[name] = {since = now, wants = string.rep("x", random(60))}
        push(now + random(500), leave(name, now))
        if k < 5000 then push(now + random(10), arrive(k + 1)) end
        if k % 16 == 0 then queue = {} end
    end
end
push(0, arrive(1))
while #heap > 0 do
    local event = pop()
    now = event.time
    event.action()
end
print(#table.concat(log, "\n"))
END
    trace lua lua5.4 'lua5.4 simulation.lua > out'
fi

if wanted jq; then
    generate people.json 51 'BEGIN {
        vocabulary = 60
        printf "["
        for (i = 0; i < 900; i++) {
            printf "%s{\"name\": \"%s\", \"town\": \"%s\", \"age\": %d, \"tags\": [",
                i ? ",\n" : "", word(), common_word(), random(90)
            for (k = random(5); k > 0; k--) printf "\"%s\", ", common_word()
            printf "\"%s\"], \"score\": {\"a\": %d, \"b\": %d}}", common_word(), random(1000), random(1000)
        }
        print "]"
    }'
    cat > towns.jq <<'END'
group_by(.town) | map({town: .[0].town, people: length, mean: (map(.age) | add / length),
    tags: (map(.tags[]) | unique | join(" ")), best: (max_by(.score.a + .score.b) | .name | ascii_upcase)})
    | sort_by(-.people)
END
    trace jq jq 'jq -f towns.jq people.json > out'
fi

if wanted git; then
    generate history 61 'BEGIN {
        for (i = 0; i < 400; i++) lines[i] = word() " " word() " " word()
        for (c = 1; c <= 120; c++) {
            print "commit refs/heads/main\nmark :" c "\nauthor A <a@b> " 1000000000 + c * 3600 " +0000"
            print "committer A <a@b> " 1000000000 + c * 3600 " +0000"
            print "data 12\nChange " sprintf("%03d", c) ".."
            for (k = random(15); k >= 0; k--) lines[random(400)] = word() " " word() " " word()
            text = ""
            for (i = 0; i < 400; i++) text = text lines[i] "\n"
            print "M 644 inline d/file" c % 7 "\ndata " length(text) "\n" text
        }
    }'
    git init -q --bare repository.git
    git --git-dir=repository.git fast-import --quiet < history
    trace git git 'git --git-dir=repository.git --no-pager log -p --stat main > out'
fi

if wanted gawk; then
    text
    cat > words.awk <<'AWK'
{
    gsub(/[,.]/, "")
    for (i = 1; i <= NF; i++) {
        count[$i]++
        where[$i] = where[$i] " " NR
        if (i > 1) pair[$(i - 1), $i]++
    }
}
END {
    n = asorti(count, order)
    for (i = 1; i <= n; i++) {
        k = split(where[order[i]], lines)
        printf "%s %d %s\n", toupper(order[i]), count[order[i]],
            (k > 3 ? lines[1] "-" lines[k] : where[order[i]])
    }
    for (p in pair) if (pair[p] > 3) { split(p, two, SUBSEP); print two[1], two[2], pair[p] }
}
AWK
    trace gawk gawk 'gawk -f words.awk text > out'
fi

if wanted xmllint; then
    generate library.xml 71 'BEGIN {
        vocabulary = 500
        print "<library>"
        for (i = 0; i < 1800; i++) {
            printf "  <book id=\"b%d\" lang=\"%s\"><title>%s %s</title>",
                i, word(), common_word(), common_word()
            for (k = random(3); k >= 0; k--)
                printf "<author born=\"%d\">%s</author>", 1800 + random(200), common_word()
            print "<price>" random(9999) / 100 "</price></book>"
        }
        print "</library>"
    }'
    trace xmllint xmllint \
        "xmllint --format --xpath '//book[author/@born > 1950 and price < 20]/title' library.xml > out"
fi

if wanted clang; then
    cat > program.cc <<'END'
template <int N> struct list { int value; list<N - 1> rest; int sum() const { return value + rest.sum(); } };
template <> struct list<0> { int sum() const { return 0; } };
template <class T, class F> auto twice(F f, T x) -> decltype(f(f(x))) { return f(f(x)); }
struct shape { virtual ~shape() = default; virtual double area() const = 0; };
template <int K> struct box : shape { double side = K; double area() const override { return side * side; } };
template <int K> double total() { box<K> b; const shape &s = b; return s.area() + total<K - 1>(); }
template <> double total<0>() { return 0; }
int main()
{
    list<30> numbers{};
    auto add = [&](int x) { return x + numbers.sum(); };
    return twice(add, 3) + int(total<30>());
}
END
    trace clang clang++ 'clang++ -std=c++17 -S program.cc -o out.s'
fi

if wanted make; then
    # shellcheck disable=SC2016 # the dollars are for make
    generate Makefile 81 'BEGIN {
        print "CFLAGS := -O2 $(foreach n,a b c d e,-I$(n)/include)"
        print "all:"
        for (i = 0; i < 280; i++) {
            print "SOURCES_" i " := $(addsuffix .c,$(foreach w," word() " " word() " " word() ",m" i "/$(w)))"
            print "OBJECTS_" i " := $(patsubst %.c,build/%.o,$(SOURCES_" i "))"
            print "all: lib" i ".a\nlib" i ".a: $(OBJECTS_" i ")\n\tar rc $@ $^"
            print "$(OBJECTS_" i "): build/%.o: %.c\n\t$(CC) $(CFLAGS) -c $< -o $@"
            print "$(SOURCES_" i "):"
        }
    }'
    trace make make 'make -n -r all > out'
fi

if wanted bash; then
    text
    cat > words.sh <<'END'
declare -A count
while read -r -a words; do
    for word in "${words[@]}"; do
        word=${word%[,.]}
        : $((count[$word]++))
    done
done < <(head -40 text)
long=()
for word in "${!count[@]}"; do
    [[ $word =~ ^(.)(.*)$ ]] && capital=${BASH_REMATCH[1]^^}${BASH_REMATCH[2]}
    (( ${#word} > 6 )) && long+=("$capital=${count[$word]}")
done
printf '%s\n' "${long[@]}"
END
    trace bash bash 'bash --norc words.sh > out'
fi
