"""The newest commit of each path, held against what a model of the same history says."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from huginn.forge.address import check_address
from huginn.forge.mirror import Mirror
from tests.support.git import EPOCH, Repository

# Names that quoting, globbing, options or text would break; `d` and `d/x` cannot both be there.
NAMES = [
    b"a",
    b"d",
    b"d/x",
    b"d/y z",
    b"tab\there",
    b'quo"te',
    b"line\nend",
    b"-dash",
    b"end ",
    b"\xff\xfe",
    b":100644 x",
]
MODES = ["100644", "100755", "120000"]

Tree = dict[bytes, tuple[str, bytes]]


@dataclass
class Node:
    tree: Tree
    parents: list[int]
    commit: str = field(default="")


def put(tree: Tree, name: bytes, value: tuple[str, bytes]) -> None:
    for other in list(tree):
        if other.startswith(name + b"/") or name.startswith(other + b"/"):
            del tree[other]
    tree[name] = value


@st.composite
def histories(draw: st.DrawFn) -> list[Node]:
    nodes: list[Node] = []
    for _ in range(draw(st.integers(1, 14))):
        everyone = range(len(nodes))
        kind = draw(st.sampled_from(["commit", "commit", "commit", "merge", "root", "revert", "empty"]))
        parents = [draw(st.sampled_from(everyone))] if nodes else []
        on_the_last = draw(st.booleans())
        if nodes and on_the_last:
            parents = [len(nodes) - 1]
        if kind == "root":
            parents = []
        if kind == "merge" and nodes:
            parents += [other for other in [draw(st.sampled_from(everyone))] if other not in parents]
        tree = dict(nodes[parents[0]].tree) if parents else {}
        if kind == "revert" and nodes:
            tree = dict(nodes[draw(st.sampled_from(everyone))].tree)
        elif kind == "merge" and parents:
            for name, value in nodes[parents[-1]].tree.items():
                if draw(st.booleans()):
                    put(tree, name, value)
        if kind in ("commit", "root", "merge"):
            for _ in range(draw(st.integers(0, 3))):
                name = draw(st.sampled_from(NAMES))
                if draw(st.integers(0, 3)) == 0:
                    tree.pop(name, None)
                else:
                    put(tree, name, (draw(st.sampled_from(MODES)), draw(st.sampled_from([b"1", b"2", b""])) + b"x"))
        nodes.append(Node(tree, parents))
    return nodes


def quoted(name: bytes) -> bytes:
    return b'"' + b"".join(b"\\%03o" % byte for byte in name) + b'"'


def write(nodes: list[Node], remote: Repository) -> None:
    stream = b""
    for number, node in enumerate(nodes):
        stream += b"commit refs/heads/c%d\nmark :%d\n" % (number, number + 1)
        stream += b"committer Case Author <author@example.org> %d +0000\ndata 0\n" % (EPOCH + number)
        for word, parent in zip([b"from"] + [b"merge"] * 9, node.parents, strict=False):
            stream += b"%s :%d\n" % (word, parent + 1)
        stream += b"deleteall\n"
        for name, (mode, content) in node.tree.items():
            stream += b"M %s inline %s\ndata %d\n%s\n" % (mode.encode(), quoted(name), len(content), content)
    stream += b"reset refs/heads/main\nfrom :%d\n" % len(nodes)
    marks = remote.path / "marks"
    remote.git("fast-import", "--quiet", f"--export-marks={marks}", stdin=stream)
    for line in marks.read_text().splitlines():
        mark, commit = line.split()
        nodes[int(mark[1:]) - 1].commit = commit


def line_of(nodes: list[Node]) -> list[Node]:
    line = [nodes[-1]]
    while line[-1].parents:
        line.append(nodes[line[-1].parents[0]])
    return line


def expected(nodes: list[Node], until: int | None = None) -> dict[bytes, str]:
    newest: dict[bytes, str] = {}
    for node in line_of(nodes)[:until]:
        before = nodes[node.parents[0]].tree if node.parents else {}
        for name in before.keys() | node.tree.keys():
            if before.get(name) != node.tree.get(name):
                newest.setdefault(name, node.commit)
    return newest


def commits(
    mirror: Mirror, new: str, *, since: str | None = None, wanted: set[bytes] | None = None
) -> dict[bytes, str]:
    return {path: change.commit for path, change in mirror.newest_commits(new, since=since, wanted=wanted).items()}


@settings(max_examples=40, deadline=None)
@given(histories(), st.data())
def test_every_question_about_history_has_the_models_answer(nodes: list[Node], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        remote = Repository(Path(name) / "remote")
        write(nodes, remote)
        address = check_address(str(remote.path), base=Path("/"))
        mirror = Mirror(Path(name) / "mirror.git", address, branch=None)
        tip = mirror.tip()
        assert tip is not None
        new = mirror.fetch(tip)
        assert new == nodes[-1].commit
        assert {entry.path: entry.mode for entry in mirror.tree(new)} == {
            path: mode for path, (mode, _) in nodes[-1].tree.items()
        }
        whole = expected(nodes)
        assert commits(mirror, new) == whole
        assert nodes[-1].tree.keys() <= whole.keys()
        wanted = set(data.draw(st.lists(st.sampled_from([*NAMES, b"never"]))))
        assert commits(mirror, new, wanted=wanted) == {path: whole[path] for path in wanted & whole.keys()}
        line = line_of(nodes)
        place = data.draw(st.integers(0, len(line) - 1))
        assert commits(mirror, new, since=line[place].commit) == expected(nodes, place)
        other = data.draw(st.sampled_from(nodes))
        is_on_line = any(other is node for node in line)
        if mirror.has(other.commit):
            # Two nodes can be the same commit only if they have the same time, so never here.
            assert mirror.on_first_parent_line(other.commit, new) == is_on_line
            here, there = nodes[-1].tree, other.tree
            differing = {path for path in here.keys() | there.keys() if here.get(path) != there.get(path)}
            assert mirror.changed(other.commit, new) == differing
        else:
            assert not is_on_line


def test_after_a_foxtrot_merge_the_old_commit_is_off_the_line(tmp_path: Path) -> None:
    remote = Repository(tmp_path / "remote")
    remote.commit({"a": "1"})
    side = remote.commit({"b": "1"}, branch="side", parents=[remote.head])
    old = remote.commit({"a": "2"})
    new = remote.merge("side", foxtrot=True, files={"a": "2"})
    mirror = Mirror(tmp_path / "m.git", check_address(str(remote.path), base=tmp_path), branch="main")
    tip = mirror.tip()
    assert tip is not None
    assert mirror.fetch(tip) == new
    assert mirror.has(old)
    assert not mirror.on_first_parent_line(old, new)
    assert mirror.on_first_parent_line(side, new)
    assert commits(mirror, new)[b"a"] == new  # not `old`, which the line does not show
    assert mirror.changed(old, new) == {b"b"}


def test_a_walk_that_has_found_all_it_wants_ends_its_process(tmp_path: Path) -> None:
    remote = Repository(tmp_path / "remote")
    stream = b""
    for number in range(3_000):
        stream += b"commit refs/heads/main\ncommitter C <c@example.org> %d +0000\ndata 0\n" % (EPOCH + number)
        stream += b"M 100644 inline f%d\ndata 1\nx\n" % number
    remote.git("fast-import", "--quiet", stdin=stream)
    mirror = Mirror(tmp_path / "m.git", check_address(str(remote.path), base=tmp_path), branch="main")
    tip = mirror.tip()
    assert tip is not None
    new = mirror.fetch(tip)
    assert commits(mirror, new, wanted={b"f2999"}) == {b"f2999": new}
    assert len(mirror.newest_commits(new)) == 3_000
    assert commits(mirror, new, wanted=set()) == {}
