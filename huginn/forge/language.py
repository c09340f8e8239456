"""Which language a file is written in, and how its definitions and headings look.

In: a path. Out: a `Language`: its name, the pattern that finds the lines at which something with a name begins, the
lines above that belong to it, and how its scopes end. The rule that lives here is the table of patterns; a new
language is a line in it. What is done with the matches is in `huginn.forge.outline`.

Each pattern is tried at the beginning of lines only, holds one group that takes part in a match (the name), and
repeats possessively or within bounds, so that no line, however long or odd, takes more than linear time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final


class Scope(Enum):
    """How far a name reaches down from its line."""

    INDENT = "to the next line of code that is not indented further"
    SECTION = "to the next definition that is not indented further"
    MARKDOWN = "to the next heading of the same level or above, marked by # or underlined"
    UNDERLINED = "to the next heading of the same level or above, underlined; levels in the order they appear"
    MARKED = "to the next heading of the same level or above; as many signs as levels"


@dataclass(frozen=True)
class Language:
    """A language: its name, the lines that begin a definition, the lines that lead up to one."""

    name: str
    definition: re.Pattern[str] | None = None
    lead: re.Pattern[str] | None = None
    scope: Scope = Scope.INDENT


_NAME: Final = r"[A-Za-z_$\u0080-\uffff][\w$]{0,99}+"
_GAP: Final = r"[ \t]++"
_HASH: Final = r"#(?!!)|@"
_SLASH: Final = r"//|/\*|\*|@|#\[|\[[A-Za-z]|template\b"
# also a return type on a line of its own
_C_LEAD: Final = _SLASH + r"|[A-Za-z_][\w \t*]{0,80}+\r?$"
_DASH: Final = r"--"
_SEMICOLON: Final = r";|#"

_ACCESS: Final = "public|private|protected|internal|static|final|abstract|override|virtual|async|sealed|partial|default"
_MODIFIERS: Final = (
    rf"(?:{_ACCESS}|pub(?:\([^)\n]{{0,40}}\))?|extern(?:[ \t]++\"[^\"\n]{{0,20}}\")?|unsafe|const|readonly|export"
    r"|declare|open|inline|suspend|data|inner|operator|infix|implicit|native|synchronized|fileprivate|mutating|nonisolated"
    r"|convenience|required|indirect|case|lazy|external|tailrec|companion|actual|expect|base"
    r"|@(?!interface\b)[\w.]{1,40}+(?:\([^()\n]{0,80}+\))?)"
)
# Words that stand where a type would, before something that looks like a call or a condition.
_NO_TYPE: Final = (
    r"(?!(?:return|new|else|throw|case|assert|if|for|foreach|while|switch|catch|do|try|using|lock|await|yield|function|with"
    r"|typeof|delete|goto|default|in|of|not|and|or|elif|super|this)\b)"
)
_ARGUMENTS: Final = r"\((?:[^\n;()]++|\([^\n;()]{0,200}+\))*+\)"
# `Type name(arguments) {`, on one line
_METHOD: Final = (
    rf"{_NO_TYPE}[A-Za-z_][\w.<>\[\],?:*&~ \t]{{0,120}}[ \t*&]{_NO_TYPE}([A-Za-z_~][\w:~]{{0,99}}+)[ \t]*+{_ARGUMENTS}"
    r"[^\n;(){}=]{0,120}\{[ \t]*+\r?$"
)
# `public Type name(`, however the line goes on
_ACCESSED: Final = (
    rf"(?:(?:{_ACCESS}|native|synchronized){_GAP})++(?:[\w.<>\[\],?& \t]{{0,120}}[ \t>])?({_NAME})[ \t]*+\("
)


def _words(words: str, name: str = _NAME, before: str = "") -> str:
    """A definition that begins with one of the words, perhaps after modifiers, and then has its name."""
    return rf"(?:{_MODIFIERS}{_GAP})*+(?:{words}){_GAP}{before}({name})"


def _language(name: str, lead: str, *patterns: str, scope: Scope = Scope.INDENT) -> Language:
    definition = re.compile(r"^[ \t]*+(?:" + "|".join(patterns) + ")", re.MULTILINE) if patterns else None
    return Language(name, definition, re.compile(rf"[ \t]*+(?:{lead})") if lead else None, scope)


_PYTHON = _language("python", _HASH, rf"(?:(?:async{_GAP})?def|class){_GAP}({_NAME})")
_SCRIPT_PATTERNS: Final = (
    _words(r"function\*?|class|interface|enum|namespace|type", rf"\*?{_NAME}"),
    rf"(?:export{_GAP})?(?:const|let|var){_GAP}({_NAME})[^\n=]{{0,120}}=[ \t]*+(?:async\b[ \t]*+)?"
    rf"(?:function\b|class\b|{_NAME}[ \t]*+=>|\([^()\n]{{0,300}}\)[^\n=]{{0,80}}=>)",
    rf"(?:(?:{_ACCESS}|get|set|readonly){_GAP})*+\*?{_NO_TYPE}(#?{_NAME})[ \t]*+(?:<[^\n<>]{{0,80}}>)?{_ARGUMENTS}"
    r"[^\n;(){}=]{0,120}\{[ \t]*+\r?$",
    r"(?:describe|it|test|suite)(?:\.\w{1,20})?\([ \t]*+['\"`]([^'\"`\n]{1,80})",
)
_JAVASCRIPT = _language("javascript", _SLASH, *_SCRIPT_PATTERNS)
_TYPESCRIPT = _language("typescript", _SLASH, *_SCRIPT_PATTERNS)
_JAVA = _language("java", _SLASH, _words("class|interface|enum|record|@interface"), _ACCESSED, _METHOD)
_CSHARP = _language(
    "csharp", _SLASH, _words("class|interface|struct|enum|record|namespace", r"[\w.]{1,99}+"), _ACCESSED, _METHOD
)
_C_PATTERNS: Final = (
    rf"(?:typedef{_GAP})?(?:struct|class|enum(?:{_GAP}class)?|union|namespace){_GAP}([\w:]{{1,99}}+)[^;\n(=]{{0,200}}$",
    r"(?<![ \t])(?:[A-Za-z_][\w:<>,*&~ \t]{0,120}[ \t*&])?"
    + _NO_TYPE
    + r"([A-Za-z_~][\w:~<>]{0,99}+)[ \t]*+\([^;\n]{0,400}+$",
    _METHOD,
)
_C = _language("c", _C_LEAD, *_C_PATTERNS)
_CPP = _language("cpp", _C_LEAD, *_C_PATTERNS)
_RUST = _language(
    "rust",
    _SLASH,
    _words("fn|struct|enum|trait|union|mod|type|macro_rules!"),
    r"(?:unsafe[ \t]++)?impl\b(?:<[^\n{]{0,80}?>)?[ \t]++([^\n{]{1,80})",
)
_KOTLIN_NAME: Final = rf"(?:[\w<>?]{{1,60}}\.)?(?:{_NAME}|`[^`\n]{{1,80}}`)"
_LANGUAGES: Final[dict[str, Language]] = {
    ".py .pyi .pyw .pyx .bzl .star": _PYTHON,
    ".js .jsx .mjs .cjs .vue .svelte": _JAVASCRIPT,
    ".ts .tsx .mts .cts": _TYPESCRIPT,
    ".java .groovy .gradle": _JAVA,
    ".kt .kts": _language(
        "kotlin",
        _SLASH,
        _words(
            "fun|(?:enum |annotation |value )?class|interface|object|typealias",
            _KOTLIN_NAME,
            r"(?:<[^\n<>]{0,60}>[ \t]*+)?",
        ),
    ),
    ".cs": _CSHARP,
    ".c .h": _C,
    ".cc .cpp .cxx .c++ .hh .hpp .hxx .ino .cu .m .mm": _CPP,
    ".go": _language("go", _SLASH, rf"func{_GAP}(?:\([^)\n]{{0,100}}\)[ \t]*+)?(\w++)", rf"type{_GAP}(\w++)"),
    ".rs": _RUST,
    ".rb .rake .gemspec .cr": _language(
        "ruby", _HASH, rf"(?:(?:private|public|protected){_GAP})?(?:def|class|module){_GAP}([\w:.]{{1,99}}+[?!=]?)"
    ),
    ".php .phtml": _language("php", _SLASH, _words("function|class|interface|trait|enum", rf"&?{_NAME}")),
    ".swift": _language(
        "swift", _SLASH, _words("func|class|struct|enum|protocol|extension|actor|typealias"), r"(init)\b"
    ),
    ".scala .sc": _language("scala", _SLASH, _words("def|class|object|trait|type|given")),
    ".sh .bash .zsh .ksh .bats": _language(
        "shell", r"#(?!!)", rf"function{_GAP}([\w:.-]{{1,99}}+)", r"([\w:.-]{1,99}+)[ \t]*+\(\)"
    ),
    ".ps1 .psm1": _language("powershell", "#", r"(?i:function|filter|class)[ \t]++([\w:-]{1,99}+)"),
    ".lua": _language(
        "lua", _DASH, rf"(?:local{_GAP})?function{_GAP}([\w.:]{{1,99}}+)", r"([\w.:]{1,99}+)[ \t]*+=[ \t]*+function\b"
    ),
    ".sql .ddl .pgsql": _language(
        "sql",
        _DASH,
        r"(?i:create)[ \t]++(?:(?i:or[ \t]++replace|temp|temporary|unique|materialized|virtual)[ \t]++)*+"
        r"(?i:table|view|function|procedure|trigger|index|type|schema|sequence)[ \t]++"
        r"(?i:if[ \t]++not[ \t]++exists[ \t]++)?([\w.\"`]{1,120}+)",
        scope=Scope.SECTION,
    ),
    ".ex .exs": _language(
        "elixir",
        _HASH,
        rf"(?:def|defp|defmodule|defmacro|defmacrop|defimpl|defprotocol){_GAP}([\w.]{{1,99}}+[?!]?)",
        rf"(?:test|describe){_GAP}\"([^\"\n]{{1,80}})",
    ),
    ".hs": _language(
        "haskell",
        _DASH,
        r"([a-z_][\w']{0,99}+)[ \t]++::",
        rf"(?:data|newtype|type|class|instance|module){_GAP}([A-Z][\w'.]{{0,80}}+(?:[ \t]++[A-Z][\w'.]{{0,80}}+)?)",
        scope=Scope.SECTION,
    ),
    ".pl .pm .t": _language("perl", "#", rf"(?:sub|package){_GAP}([\w:]{{1,99}}+)"),
    ".r .rmd": _language("r", "#", r"([\w.]{1,99}+)[ \t]*+(?:<-|=)[ \t]*+function\b"),
    ".jl": _language(
        "julia", "#", rf"(?:mutable{_GAP})?(?:function|struct|module|macro|abstract type){_GAP}([\w.!]{{1,99}}+)"
    ),
    ".dart": _language("dart", _SLASH, _words("class|mixin|extension|enum|typedef"), _METHOD),
    ".zig": _language(
        "zig",
        "//",
        _words("fn"),
        rf"(?:pub{_GAP})?const{_GAP}(\w{{1,99}}+)[ \t]*+=[^\n]{{0,20}}\b(?:struct|enum|union)\b",
    ),
    ".clj .cljs .cljc .lisp .el .scm": _language("lisp", ";", r"\(def[\w-]{0,20}+[ \t]++([^\s()]{1,99}+)"),
    ".proto": _language("proto", "//", rf"(?:message|service|enum|rpc|extend|oneof){_GAP}([\w.]{{1,99}}+)"),
    ".graphql .gql": _language(
        "graphql",
        '#|"""',
        rf"(?:extend{_GAP})?(?:type|interface|enum|input|union|scalar|query|mutation|subscription|fragment|directive){_GAP}"
        r"@?(\w{1,99}+)",
    ),
    ".tf .hcl .tfvars": _language(
        "terraform",
        "#|//",
        rf"(?:resource|data|module|variable|output|provider){_GAP}(\"[^\n{{}}]{{1,120}}\")[ \t]*+\{{",
        r"(locals|terraform)[ \t]*+\{",
    ),
    ".mk makefile gnumakefile": _language(
        "makefile",
        "#|\\.PHONY",
        r"(?<![ \t])(?!\.[A-Z])([\w./%$(){}-][\w./%$(){} -]{0,99}?)[ \t]{0,9}:(?![=:])",
        scope=Scope.SECTION,
    ),
    ".toml": _language(
        "toml",
        "#",
        r"(?<![ \t])\[{1,2}+(?!secret: )([^\[\]\n]{1,120}+)\]{1,2}+[ \t]*+(?:#[^\n]*+)?\r?$",
        scope=Scope.SECTION,
    ),
    ".ini .cfg .conf .editorconfig .service .gitconfig": _language(
        "ini", _SEMICOLON, r"(?<![ \t])\[(?!secret: )([^\[\]\n]{1,120}+)\][ \t]*+\r?$", scope=Scope.SECTION
    ),
    ".md .markdown .mdx .mkd": _language(
        "markdown", "", r"(?<![ \t])#{1,6}+[ \t]++([^\n]{1,200})", scope=Scope.MARKDOWN
    ),
    ".rst": _language("rst", r"\.\. _|([=~^\"'`#*+-])\1\1", scope=Scope.UNDERLINED),
    ".adoc .asciidoc": _language("asciidoc", r"\[", r"(?<![ \t])={1,6}+[ \t]++([^\n]{1,200})", scope=Scope.MARKED),
    ".org": _language("org", "", r"(?<![ \t])\*{1,9}+[ \t]++([^\n]{1,200})", scope=Scope.MARKED),
}
# Languages that are cut at blank lines and lines only, by suffix or by the name of the file.
_PLAIN: Final = {
    ".json .jsonc .json5 .ipynb .geojson .webmanifest": "json",
    ".jsonl .ndjson": "jsonl",
    ".yaml .yml": "yaml",
    ".css .scss .sass .less": "css",
    ".html .htm .xhtml .jinja .j2 .jinja2 .hbs .erb": "html",
    ".xml .xsd .xsl .svg .plist .csproj .pom": "xml",
    ".csv .tsv": "csv",
    ".nix": "nix",
    ".ml .mli .fs .fsx": "ml",
    ".erl .hrl": "erlang",
    ".tex .sty .bib": "tex",
    ".vim": "vim",
    ".cmake cmakelists.txt": "cmake",
    ".diff .patch": "diff",
    "dockerfile containerfile .dockerfile": "dockerfile",
    ".txt .text .log": "text",
}
_TEXT: Final = Language("text")
_BY_NAME: Final[dict[str, Language]] = {
    key: language
    for table in (_LANGUAGES, {keys: Language(name) for keys, name in _PLAIN.items()})
    for keys, language in table.items()
    for key in keys.split()
}


def language(path: str) -> Language:
    """The language of a file by its name; plain text if the name tells nothing."""
    # A path that had to be quoted (`huginn.forge.skip.display_path`) ends with the quotation mark.
    name = path.rstrip('"').rsplit("/", 1)[-1].lower()
    stem, dot, suffix = name.rpartition(".")
    return _BY_NAME.get(name) or _BY_NAME.get(dot + suffix) or _BY_NAME.get(stem.split(".")[0]) or _TEXT
