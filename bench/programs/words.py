# Counts words and who follows whom: many small strings, lists and dicts.
import sys

followers = {}
with open(sys.argv[1]) as f:
    words = f.read().split()
for a, b in zip(words, words[1:]):
    followers.setdefault(a, []).append(b + "!")
table = {k: sorted(set(v)) for k, v in followers.items()}
print(len(words), len(table), sum(len(v) for v in table.values()))
for k in sorted(table)[::97]:
    print(k, table[k][:5])
