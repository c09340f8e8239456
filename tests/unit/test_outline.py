"""Definitions and headings are found, with what belongs to them and how far they reach."""

import time
from itertools import accumulate

import pytest

from huginn.forge.chunk import LIMIT, chunks
from huginn.forge.language import language
from huginn.forge.outline import Outline, outline
from tests.support.clean import clean

# Each line as it stands in a file, then `|` and the names around it; `>` in front where a section begins.
PYTHON = """
 import os                    |
                              |
>@deco(                       | A
     1,                       | A
 )                            | A
 # what it is for             | A
 class A(Base):               | A
     size = 1                 | A
                              | A
>    @property                | A f
     async def f(self,        | A f
         other,               | A f
     ) -> int:                | A f
         if other:            | A f
 # a remark that sticks out   | A f
             return 1         | A f
                              | A f
     rest = 2                 | A
                              | A
 # about the constant         |
 CONSTANT = 3                 |
"""
TYPESCRIPT = """
>/** What it is for           | Foo
  */                          | Foo
 export default class Foo<T> {| Foo
   private x = call(1);       | Foo
>  constructor(a: string) {   | Foo constructor
     if (x) {                 | Foo constructor
       y();                   | Foo constructor
     }                        | Foo constructor
   }                          | Foo constructor
>  async run(a: () => void) { | Foo run
   }                          | Foo run
 }                            | Foo run
>export const useThing = async (a) => { | useThing
   call(function () {         | useThing
   });                        | useThing
 }                            | useThing
>const enum E {}              | E
>describe("a thing", () => {  | a_thing
>  it("works", () => {        | a_thing works
"""
JAVA = """
>@Service                     | Foo
 public final class Foo<T> {  | Foo
   private final Logger l = f();| Foo
>  @Override                  | Foo bar
   public <T> List<T> bar(int a,| Foo bar
       int b) throws X {      | Foo bar
     return foo(a);           | Foo bar
   }                          | Foo bar
>  void baz() {               | Foo baz
     } else if (b) {          | Foo baz
"""
C = """
 #include <x.h>               |
                              |
>/* what it                   | foo
    is for */                 | foo
 static int                   | foo
 foo(int a)                   | foo
 {                            | foo
     return bar(a);           | foo
 out:                         | foo
     if (a) {                 | foo
 }                            | foo
                              | foo
 int declared(int);           |
>struct s {                   | s
     int x;                   | s
 };                           | s
>int main(int argc, char **argv) {| main
"""
CPP = """
>class A : public B {         | A
  public:                     | A
>  int get() const {          | A get
   }                          | A get
 };                           | A get
>template <class T>           | A<T>::run
 void A<T>::run(T a) {        | A<T>::run
"""
GO = """
 package m                    |
>// Run does                  | Run
 func (s *Server) Run() error {| Run
 }                            | Run
>type T struct {              | T
 }                            | T
 var x = 1                    |
"""
RUST = """
>/// What it is for           | S
 #[derive(Debug)]             | S
 pub(crate) struct S {}       | S
>impl<T: X> Display for S<T> {| Display_for_S<T>
>    pub async fn fmt(&self) {}| Display_for_S<T> fmt
>pub extern "C" fn e() {}     | e
>macro_rules! m {}            | m
 const X: i32 = 1;            |
"""
MARKDOWN = """
 ---                          |
>title: x                     |
 ---                          |
># One #                      | One
 text                         | One
>## Two                       | One Two
 ```                          | One Two
># not a heading              | One Two
 ```                          | One Two
>Three                        | Three
 =====                        | Three
 - item                       | Three
 ---                          | Three
>Four                         | Three Four
 ---                          | Three Four
"""
RST = """
>=====                        | Title
 Title                        | Title
 =====                        | Title
                              | Title
>.. _label:                   | Title Sub
 Sub                          | Title Sub
 ---                          | Title Sub
>Next                         | Next
 ====                         | Next
"""
TOML = """
 a = 1                        |
># about x                    | x
 [x]                          | x
 b = [1]                      | x
>[[y.z]]                      | y.z
 [secret: private key]        | y.z
"""
MAKEFILE = """
 X := 1                       |
>all: a b                     | all
 ~echo $@                     | all
>.PHONY: clean                | clean
 clean:                       | clean
"""
SQL = """
>-- what it is for            | foo
 CREATE TABLE IF NOT EXISTS foo (| foo
   id int                     | foo
 );                           | foo
>create or replace function s.f() returns int as $$| s.f
 BEGIN                        | s.f
"""
SAMPLES = {
    "a.py": PYTHON, "a.tsx": TYPESCRIPT, "A.java": JAVA, "a.c": C, "a.hpp": CPP, "a.go": GO, "a.rs": RUST,
    "a.md": MARKDOWN,
    "a.rst": RST, "a.toml": TOML, "Makefile": MAKEFILE, "a.sql": SQL,
}  # fmt: skip


def _outline(lines: list[str], path: str) -> Outline:
    starts = list(accumulate((len(line) + 1 for line in lines[:-1]), initial=0))
    return outline("\n".join(lines), lines, starts, language(path))


@pytest.mark.parametrize("path", SAMPLES)
def test_sections_and_names_are_found(path: str) -> None:
    rows = [row.rpartition("|") for row in SAMPLES[path].strip("\n").split("\n")]
    lines = [code[1:].rstrip().replace("~", "\t") for code, _, _ in rows]
    found = _outline(lines, path)
    for number, (code, _, names) in enumerate(rows):
        assert (number in found.sections) == code.startswith(">"), lines[number]
        if lines[number]:
            assert [name.replace(" ", "_") for name in found.names(number)] == names.split(), lines[number]


@pytest.mark.parametrize(
    ("path", "line", "name"),
    [
        ("a.kt", "override suspend fun <T> go(a: T) {}", "go"), ("a.kt", "enum class E { A }", "E"),
        ("a.cs", "public async Task<int> Do(int a)", "Do"), ("a.rb", "def self.x?", "self.x?"),
        ("a.php", "public static function foo($a) {", "foo"), ("a.swift", "@objc func go() {}", "go"),
        ("a.scala", "case class A(x: Int)", "A"), ("a.sh", "foo() {", "foo"), ("a.bash", "function bar {", "bar"),
        ("a.lua", "M.g = function(x)", "M.g"), ("a.ex", "def f?(a), do: 1", "f?"),
        ("a.hs", "foo :: Int -> Int", "foo"),
        ("a.pl", "sub f {", "f"), ("a.R", "f <- function(x) {", "f"), ("a.dart", "  void f(int a) {", "f"),
        ("a.zig", "pub fn f() void {}", "f"), ("a.tf", 'resource "aws_x" "y" {', "aws_x y"),
        ("a.clj", "(defn go [x]", "go"),
        ("a.proto", "rpc Go(A) returns (B);", "Go"), ("a.graphql", "extend type B {}", "B"),
        ("a.jl", "function f(x)", "f"),
        ("a.adoc", "== Part", "Part"), ("a.org", "** Part", "Part"), ("a.ini", "[part]", "part"),
        ("a.ps1", "function Get-It {", "Get-It"),
    ],
)  # fmt: skip
def test_a_definition_of_each_language_is_known(path: str, line: str, name: str) -> None:
    assert _outline([line], path).names(0) == (name,)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("a.py", "default = 1"), ("a.js", "return foo(a) {"), ("a.js", "  if (a) {"), ("a.js", "call(function () {"),
        ("a.java", "    return new Foo(a) {"), ("a.java", "} else if (b) {"), ("a.c", "int declared(int a);"),
        ("a.c", "return (a)"), ("a.go", "functional()"), ("Makefile", "X := 1"), ("a.md", "#hashtag"),
        ("a.txt", "# text"),
        ("a.json", "class A:"), ("a.toml", "x = [1]"),
    ],
)  # fmt: skip
def test_what_only_looks_like_a_definition_is_none(path: str, line: str) -> None:
    assert _outline([line], path).sections == [] or not _outline([line], path).sections


def test_names_are_short_and_on_one_line() -> None:
    (name,) = _outline(["# " + "word\x1b " * 40], "a.md").names(0)
    assert len(name) <= 80
    assert name.isprintable()


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a/b.PY", "python"), ('"bad\\377.py"', "python"), ("Dockerfile", "dockerfile"),
        ("Dockerfile.dev", "dockerfile"),
        ("GNUmakefile", "makefile"), ("CMakeLists.txt", "cmake"), ("a.txt", "text"), ("LICENSE", "text"),
        ("a.unknown", "text"),
        (".editorconfig", "ini"), ("md/x", "text"), ("package.json", "json"),
    ],
)  # fmt: skip
def test_the_language_is_told_by_the_name_of_the_file(path: str, name: str) -> None:
    assert language(path).name == name


ODD = (
    " ",
    "(",
    "a",
    "a b",
    "ab(",
    "public ",
    "static a ",
    "#",
    "[",
    "a<",
    " x y(a,",
    "\n",
    "# x\n",
    "@x\n)\n",
    "x */\n",
    "```\n",
)


@pytest.mark.parametrize(
    "path", ["a.py", "a.ts", "a.java", "a.cpp", "a.rs", "a.md", "a.rst", "a.tf", "Makefile", "a.toml"]
)
def test_no_text_takes_more_than_linear_time(path: str) -> None:
    for odd in ODD:
        text = clean((odd * (1 << 17))[: 1 << 17])
        started = time.process_time()
        pieces = chunks(text, path)
        assert time.process_time() - started < 3, repr(odd)  # at most 0.4 s; a quadratic one takes minutes
        assert all(len(piece.text) <= LIMIT for piece in pieces)
