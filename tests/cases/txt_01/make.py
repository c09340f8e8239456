"""TXT-01: one small file per encoding oddity."""

from __future__ import annotations

from pathlib import Path


def make(folder: Path) -> None:
    """Write the 24 files of the case into `folder`."""

    def write(name: str, data: bytes) -> None:
        (folder / name).write_bytes(data)

    de = "Erste Zeile\nDer Schl\u00fcssel liegt unter der Fu\u00dfmatte {m}\n"
    zh = "\u7b2c\u4e00\u884c\n\u8239\u5728\u5348\u591c\u79bb\u5f00\u6e2f\u53e3 {m}\n" * 4
    ru = "Первая строка\nКлюч лежит под ковриком {m}\n" * 4
    write("utf8.txt", de.format(m="mkutf8").encode())
    write("utf8-bom.txt", b"\xef\xbb\xbf" + de.format(m="mkbom").encode())
    write("utf16le-bom.txt", b"\xff\xfe" + de.format(m="mkutf16le").encode("utf-16-le"))
    write("utf16be-bom.txt", b"\xfe\xff" + de.format(m="mkutf16be").encode("utf-16-be"))
    write("utf32le-bom.txt", b"\xff\xfe\x00\x00" + de.format(m="mkutf32").encode("utf-32-le"))
    write("utf16le-nobom.txt", de.format(m="mknobom").encode("utf-16-le"))
    write("latin1.txt", de.format(m="mklatin").encode("latin-1"))
    write("cp1252-quotes.txt", "He said \u201cthe kettle is on\u201d \u2014 mkcp1252\n".encode("cp1252"))
    write("gb18030.txt", zh.format(m="mkgb").encode("gb18030"))
    write("koi8r.txt", ru.format(m="mkkoi").encode("koi8-r"))
    write(
        "utf8-one-bad-byte.txt",
        ("\u00e4\u00f6\u00fc good text around it, mkonebad\n" * 20).encode()
        + b"\xff\n"
        + "tail mktail \u00e4\n".encode(),
    )
    write("nul-inside.txt", b"plain text with one NUL \x00 in it, mknul\nand more text\n")
    write("really-binary.dat", bytes(range(256)) * 40 + b"mkbinary")
    write("png-head.txt", b"\x89PNG\r\n\x1a\n" + b"\x00\x00\x00\rIHDR" + b"mkpng" * 3)
    write("empty.txt", b"")
    write("blank.txt", b" \t\r\n\n   \n")
    write("zero-width.txt", ("\u200b\u200c\ufeff\u2060" * 30).encode())
    write("no-final-newline.txt", b"one\ntwo mknofinal")
    write("crlf.txt", b"one\r\ntwo mkcrlf\r\nthree\r\n")
    write("lone-cr.txt", b"one\rtwo mkcr\rthree\r")
    write("bidi.txt", "if access == \u202e\u2066// mkbidi\u2069\u2066 admin\n".encode())
    write("surrogate-cesu.txt", b"broken pair \xed\xa0\xbd then mkcesu\n")
    write("Dockerfile", b"FROM scratch\n# mknoext\n")
    write(
        "emoji.txt", ("\U0001f468\u200d\U0001f469\u200d\U0001f467 family mkemoji \U0001f1f3\U0001f1f4\n" * 3).encode()
    )
