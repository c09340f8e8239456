#!/usr/bin/env python3
# ruff: noqa
# mypy: ignore-errors
"""make.py DIR [--files N] [--messages N] [--big-mb N]: a large, boring load. Stdlib only, about a minute at the defaults."""
import argparse, json, os, random
p = argparse.ArgumentParser(); p.add_argument("dir"); p.add_argument("--files", type=int, default=20000); p.add_argument("--messages", type=int, default=50000); p.add_argument("--big-mb", type=int, default=60)
a = p.parse_args(); rnd = random.Random(7); words = ["w%04d" % i for i in range(4000)]
def text(n): return " ".join(rnd.choice(words) for _ in range(n))
root = os.path.join(a.dir, "files")
for i in range(a.files):
    d = os.path.join(root, "d%03d" % (i % 200), "e%02d" % (i % 17)); os.makedirs(d, exist_ok=True)
    with open(os.path.join(d, "f%06d.md" % i), "w") as f: f.write("file%06d\n\n%s\n" % (i, text(60 if i % 50 else 3000)))
with open(os.path.join(root, "big.log"), "w") as f:
    line = "2024-03-01T00:00:00Z INFO same line again and again %s\n"
    n = a.big_mb * 1_000_000 // 90
    for i in range(n): f.write(line % words[i % 4000])
    f.write("biglogtail\n")
deep = root
for i in range(120): deep = os.path.join(deep, "n")
os.makedirs(deep, exist_ok=True); open(os.path.join(deep, "deep.md"), "w").write("deepword\n")
with open(os.path.join(a.dir, "chat.jsonl"), "w") as f:
    for i in range(a.messages):
        f.write(json.dumps({"type": "m.room.message", "event_id": "$n%06d" % i, "room_id": "!garden:example.org", "sender": "@u%d:example.org" % (i % 40), "origin_server_ts": 1672531200000 + i * 60000, "content": {"msgtype": "m.text", "body": ("ok" if i % 3 else "msg%06d %s" % (i, text(12)))}}) + "\n")
