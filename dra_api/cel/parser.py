"""Pratt parser: converts tokens to a tree and expands macros.

The grammar is CEL.g4 of cel-go 0.26 with the options Kubernetes sets: optional syntax on, backtick identifiers off.
Common syntax errors have ANTLR's text; the first one ends the parse.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NoReturn

from .ast import Call, Entry, Expr, Ident, ListExpr, Literal, MapExpr, Select, Struct, qualified_name
from .errors import CelCompileError, Issue, render_issues
from .lexer import Token, tokenize
from .macros import MACROS, MacroError, Maker
from .values import INT_MAX, INT_MIN, UINT_MAX, Uint

__all__ = ["MAX_DEPTH", "parse"]

MAX_DEPTH: Final = 250

_BINARY: Final = {
    "==": (3, "_==_"),
    "!=": (3, "_!=_"),
    "<": (3, "_<_"),
    "<=": (3, "_<=_"),
    ">": (3, "_>_"),
    ">=": (3, "_>=_"),
    "in": (3, "@in"),
    "+": (4, "_+_"),
    "-": (4, "_-_"),
    "*": (5, "_*_"),
    "/": (5, "_/_"),
    "%": (5, "_%_"),
}
_LOGICAL: Final = {"||": (1, "_||_"), "&&": (2, "_&&_")}
# Reserved by the CEL language definition: no variable or function may have such a name, but a field may.
_RESERVED: Final = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "in",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
_START: Final = (
    "'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER"
)
_SIMPLE_ESCAPES: Final = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    '"': '"',
    "'": "'",
    "\\": "\\",
    "?": "?",
    "`": "`",
}


def parse(source: str, *, macros: frozenset[str]) -> Expr:
    """Return the tree of ``source``. ``macros`` are the enabled optional macros (``cel.bind``).

    Raises CelCompileError with every issue in cel-go's format.
    """
    parser = _Parser(source, macros)
    try:
        return parser.run()
    except _SyntaxStop:
        pass
    # The frames of the caller count too, so Python's limit may come before MAX_DEPTH.
    except RecursionError:
        parser.issues = [Issue(-1, -1, f"expression recursion limit exceeded: {MAX_DEPTH}")]
    raise CelCompileError(render_issues(source, parser.issues), tuple(parser.issues))


class _SyntaxStop(Exception):
    """Ends the parse after an issue has been recorded."""


class _Parser:
    def __init__(self, source: str, macros: frozenset[str]) -> None:
        self.source = source
        self.macros = macros
        self.tokens, bad = tokenize(source)
        self.issues = [self._issue(pos, f"Syntax error: token recognition error at: '{text}'") for pos, text in bad]
        self.index = 0
        self.last_id = 0
        self.depth = 0

    def run(self) -> Expr:
        expr = self._expr()
        token = self._peek()
        if token.kind != "EOF":
            # ANTLR calls one superfluous token extraneous, more of them mismatched.
            word = "extraneous" if self.tokens[self.index + 1].kind == "EOF" else "mismatched"
            self._stop(token, f"Syntax error: {word} input '{token.text}' expecting <EOF>")
        if self.issues:
            raise _SyntaxStop
        return expr

    # --- tokens and errors

    def _peek(self) -> Token:
        return self.tokens[self.index]

    def _next(self) -> Token:
        token = self.tokens[self.index]
        if token.kind != "EOF":
            self.index += 1
        return token

    def _take(self, kind: str) -> bool:
        if self.tokens[self.index].kind == kind:
            self.index += 1
            return True
        return False

    def _expect(self, kind: str, expecting: str) -> Token:
        token = self._peek()
        if token.kind != kind:
            if kind == ")" and token.kind == "EOF":
                self._stop(token, "Syntax error: missing ')' at '<EOF>'")
            word = (
                "extraneous"
                if self.tokens[self.index + 1 : self.index + 2]
                and (self.tokens[self.index + 1].kind == kind and not expecting.startswith("{"))
                else "mismatched"
            )
            self._stop(token, f"Syntax error: {word} input '{token.text}' expecting {expecting}")
        return self._next()

    def _issue(self, pos: int, text: str) -> Issue:
        before = self.source[:pos]
        return Issue(before.count("\n") + 1, pos - (before.rfind("\n") + 1), text)

    def _stop(self, token: Token, text: str) -> NoReturn:
        # On empty input ANTLR reports column -1.
        issue = Issue(1, -1, text) if not self.source else self._issue(token.pos, text)
        self.issues.append(issue)
        raise _SyntaxStop

    def _error(self, pos: int, text: str) -> None:
        self.issues.append(self._issue(pos, text))

    def _id(self) -> int:
        self.last_id += 1
        return self.last_id

    def _deeper(self, text: str) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.issues = [Issue(-1, -1, text)]
            raise _SyntaxStop

    # --- expressions

    def _expr(self, minimum: int = 0) -> Expr:
        """Parse an expression of operators of at least precedence ``minimum``; level 0 is the ternary.

        One Python frame handles all precedence levels, so that MAX_DEPTH fits into Python's recursion limit.
        """
        if minimum == 0:
            self._deeper(f"expression recursion limit exceeded: {MAX_DEPTH}")
        left = self._operand()
        chain = 0
        while True:
            token = self._peek()
            logical = _LOGICAL.get(token.kind)
            if logical is not None and logical[0] >= minimum:
                left = self._logical(left, *logical)
                continue
            level, function = _BINARY.get(token.kind, (0, ""))
            if level == 0 or level < minimum:
                break
            self._next()
            # Each operator of a left-associative chain nests the tree one level deeper.
            chain += 1
            self._deeper("max recursion depth exceeded")
            op_id = self._id()
            right = self._expr(level + 1)
            left = Call(op_id, token.pos, function, None, [left, right])
        self.depth -= chain
        if minimum == 0:
            if token.kind == "?":
                left = self._ternary(left)
            self.depth -= 1
        return left

    def _ternary(self, condition: Expr) -> Expr:
        token = self._next()
        op_id = self._id()
        truthy = self._expr(1)
        self._expect(":", "':'")
        return Call(op_id, token.pos, "_?_:_", None, [condition, truthy, self._expr()])

    def _logical(self, left: Expr, level: int, function: str) -> Expr:
        """Parse a chain of one logical operator into one flat call: the result does not depend on the tree's shape."""
        symbol = "||" if function == "_||_" else "&&"
        terms, places = [left], []
        while self._peek().kind == symbol:
            places.append(self._next().pos)
            terms.append(self._expr(level + 1))
        # cel-go builds a balanced tree; errors point at the operator that would be its root.
        return Call(self._id(), places[len(places) // 2], function, None, terms)

    def _operand(self) -> Expr:
        token = self._peek()
        kind = token.kind
        # A single minus before a number is part of the literal; a row of signs is one operator.
        if kind != "!" and (kind != "-" or self.tokens[self.index + 1].kind in ("NUM_INT", "NUM_FLOAT")):
            return self._member(self._primary())
        count = 0
        while self._take(kind):
            count += 1
        op_id = self._id()
        operand = self._member(self._primary())
        # An even number of signs cancels out, as in cel-go's parser.
        if count % 2 == 0:
            return operand
        return Call(op_id, token.pos, "!_" if kind == "!" else "-_", None, [operand])

    def _member(self, expr: Expr) -> Expr:
        chain = 0
        while True:
            token = self._peek()
            if token.kind == ".":
                expr = self._select(expr)
            elif token.kind == "[":
                self._next()
                optional = self._take("?")
                op_id = self._id()
                index = self._expr()
                self._expect("]", "']'")
                expr = Call(op_id, token.pos, "_[?_]" if optional else "_[_]", None, [expr, index])
            elif token.kind == "{" and (name := qualified_name(expr)) is not None:
                expr = self._message(name)
            else:
                self.depth -= chain
                return expr
            chain += 1
            self._deeper("max recursion depth exceeded")

    def _select(self, operand: Expr) -> Expr:
        dot = self._next()
        optional = self._take("?")
        token = self._next()
        if token.kind == "ESC_IDENTIFIER":
            self._error(token.pos, "unsupported syntax: '`'")
            return Select(self._id(), dot.pos, operand, token.text)
        if token.kind != "IDENTIFIER":
            text = "" if token.kind == "EOF" else token.text
            if optional:
                self._stop(
                    token,
                    f"Syntax error: mismatched input '{token.text}' expecting {{IDENTIFIER, ESC_IDENTIFIER}}",
                )
            self._stop(token, f"Syntax error: no viable alternative at input '.{text}'")
        opening = self._peek()
        if opening.kind == "(" and not optional:
            self._next()
            call_id = self._id()
            args = self._args()
            return self._call(call_id, opening.pos, token.text, operand, args)
        if optional:
            field = Literal(self._id(), token.pos, token.text)
            return Call(self._id(), dot.pos, "_?._", None, [operand, field])
        return Select(self._id(), dot.pos, operand, token.text)

    def _args(self) -> list[Expr]:
        args: list[Expr] = []
        if self._take(")"):
            return args
        if not self._starts(self._peek()):
            self._bad_start(self._next(), _START.replace("'(', ", "'(', ')', "))
        while True:
            args.append(self._expr())
            if not self._take(","):
                break
        self._expect(")", "')'")
        return args

    def _call(self, call_id: int, pos: int, name: str, target: Expr | None, args: list[Expr]) -> Expr:
        expander = MACROS.get((name, len(args), target is not None))
        if expander is None and isinstance(target, Ident):
            key = f"{target.name}.{name}"
            # A macro with a namespace, such as cel.bind, exists only if the environment enables it.
            expander = MACROS.get((key, len(args), True)) if key in self.macros else None
        if expander is not None:
            try:
                expanded = expander(Maker(self._id, pos), target, args)
            except MacroError as err:
                self._error(err.expr.pos, err.text)
                # A placeholder: the parse goes on, so that further issues are reported too.
                return Literal(self._id(), pos, None)
            if expanded is not None:
                return expanded
        return Call(call_id, pos, name, target, args)

    def _primary(self) -> Expr:
        token = self._next()
        handler = _PRIMARIES.get(token.kind)
        if handler is None:
            self._bad_start(token, _START)
        return handler(self, token)

    def _starts(self, token: Token) -> bool:
        return token.kind in _PRIMARIES or token.kind == "!"

    def _bad_start(self, token: Token, expected: str) -> NoReturn:
        word = "extraneous" if token.kind != "EOF" and self._starts(self._peek()) else "mismatched"
        self._stop(token, f"Syntax error: {word} input '{token.text}' expecting {{{expected}}}")

    def _paren(self, _: Token) -> Expr:
        inner = self._expr()
        self._expect(")", "')'")
        return inner

    def _name(self, token: Token) -> Expr:
        dot = ""
        if token.kind == ".":
            # A leading dot makes a name absolute. The checker removes it.
            token, dot = self._expect("IDENTIFIER", "IDENTIFIER"), "."
        if token.text in _RESERVED:
            self._error(token.pos, f"reserved identifier: {token.text}")
        opening = self._peek()
        if opening.kind == "(":
            self._next()
            call_id = self._id()
            return self._call(call_id, opening.pos, dot + token.text, None, self._args())
        return Ident(self._id(), token.pos, dot + token.text)

    def _list(self, token: Token) -> Expr:
        list_id = self._id()
        elements: list[Expr] = []
        optional: set[int] = set()
        while self._peek().kind != "]":
            if elements and not self._take(","):
                break
            # CEL.g4 allows a trailing comma, and also a single comma without elements.
            if self._peek().kind == "]" or (not elements and self._take(",")):
                break
            if self._take("?"):
                optional.add(len(elements))
            elements.append(self._expr())
        self._expect("]", "{']', ','}")
        return ListExpr(list_id, token.pos, elements, frozenset(optional))

    def _map(self, token: Token) -> Expr:
        map_id = self._id()
        entries: list[Entry] = []
        while self._peek().kind != "}":
            if entries and not self._take(","):
                break
            if self._peek().kind == "}" or (not entries and self._take(",")):
                break
            optional = self._take("?")
            key = self._expr()
            self._expect(":", "':'")
            entries.append(Entry(key, self._expr(), optional))
        self._expect("}", "{'}', ','}")
        return MapExpr(map_id, token.pos, entries)

    def _message(self, name: str) -> Expr:
        brace = self._next()
        struct_id = self._id()
        entries: list[Entry] = []
        while self._peek().kind != "}":
            if entries and not self._take(","):
                break
            if self._peek().kind == "}":
                break
            optional = self._take("?")
            if self._peek().kind == "ESC_IDENTIFIER":
                key = self._next()
                self._error(key.pos, "unsupported syntax: '`'")
            else:
                key = self._expect("IDENTIFIER", "{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}")
            field = Literal(self._id(), key.pos, key.text)
            self._expect(":", "':'")
            entries.append(Entry(field, self._expr(), optional))
        self._expect("}", "{'}', ','}")
        return Struct(struct_id, brace.pos, name, entries)

    # --- literals

    def _minus(self, token: Token) -> Expr:
        number = self._next()
        if number.kind not in ("NUM_INT", "NUM_FLOAT"):
            self._stop(number, f"Syntax error: mismatched input '{number.text}' expecting {{{_START}}}")
        if number.kind == "NUM_FLOAT":
            return Literal(self._id(), token.pos, -float(number.text))
        return self._integer(token.pos, "-" + number.text)

    def _int(self, token: Token) -> Expr:
        return self._integer(token.pos, token.text)

    def _integer(self, pos: int, text: str) -> Expr:
        value = _number(text)
        if value is None or not INT_MIN <= value <= INT_MAX:
            self._error(pos, "invalid int literal")
            value = 0
        return Literal(self._id(), pos, value)

    def _uint(self, token: Token) -> Expr:
        value = _number(token.text[:-1])
        if value is None or value > UINT_MAX:
            self._error(token.pos, "invalid uint literal")
            value = 0
        return Literal(self._id(), token.pos, Uint(value))

    def _float(self, token: Token) -> Expr:
        value = float(token.text)
        if value == float("inf"):
            self._error(token.pos, "invalid double literal")
        return Literal(self._id(), token.pos, value)

    def _string(self, token: Token) -> Expr:
        value = _unquote(token.text)
        if value is None:
            self._error(token.pos, "unable to unescape string")
            value = ""
        return Literal(self._id(), token.pos, value)

    def _bytes(self, token: Token) -> Expr:
        value = _unquote_bytes(token.text[1:])
        if value is None:
            self._error(token.pos, "unable to unescape string")
            value = b""
        return Literal(self._id(), token.pos, value)

    def _word(self, token: Token) -> Expr:
        value = {"true": True, "false": False}.get(token.kind)
        return Literal(self._id(), token.pos, value)


_PRIMARIES: Final[dict[str, Callable[[_Parser, Token], Expr]]] = {
    "(": _Parser._paren,
    "[": _Parser._list,
    "{": _Parser._map,
    ".": _Parser._name,
    "IDENTIFIER": _Parser._name,
    "-": _Parser._minus,
    "NUM_INT": _Parser._int,
    "NUM_UINT": _Parser._uint,
    "NUM_FLOAT": _Parser._float,
    "STRING": _Parser._string,
    "BYTES": _Parser._bytes,
    "true": _Parser._word,
    "false": _Parser._word,
    "null": _Parser._word,
}


def _number(text: str) -> int | None:
    base = 16 if "x" in text else 10
    digits = text.removeprefix("-").removeprefix("0x").lstrip("0") or "0"
    # More than twenty digits always overflow, and int() refuses more than 4,300.
    if len(digits) > 20:
        return None
    return int(digits, base) * (-1 if text[0] == "-" else 1)


def _body(text: str) -> tuple[str, bool]:
    """The text between the quotes, and whether it is raw."""
    raw = text[0] in "rR"
    if raw:
        text = text[1:]
    quote = 3 if len(text) >= 6 and text[:3] in ('"""', "'''") else 1
    return text[quote:-quote], raw


def _escapes(text: str) -> list[str | tuple[str, int]]:
    """Plain pieces as str, escapes as (letter, code point)."""
    out: list[str | tuple[str, int]] = []
    pos = 0
    while (stop := text.find("\\", pos)) >= 0:
        if stop > pos:
            out.append(text[pos:stop])
        letter = text[stop + 1]
        if letter in _SIMPLE_ESCAPES:
            out.append(_SIMPLE_ESCAPES[letter])
            pos = stop + 2
        elif letter in "01234567":
            out.append(("o", int(text[stop + 1 : stop + 4], 8)))
            pos = stop + 4
        else:
            width = {"x": 2, "u": 4, "U": 8}["x" if letter == "X" else letter]
            out.append((letter.lower() if letter == "X" else letter, int(text[stop + 2 : stop + 2 + width], 16)))
            pos = stop + 2 + width
    out.append(text[pos:])
    return out


def _unquote(text: str) -> str | None:
    body, raw = _body(text)
    # Only triple-quoted text can contain line breaks.
    body = body.replace("\r\n", "\n").replace("\r", "\n") if text.lstrip("rR")[:3] in ('"""', "'''") else body
    if raw or "\\" not in body:
        return body
    out: list[str] = []
    for piece in _escapes(body):
        if isinstance(piece, str):
            out.append(piece)
            continue
        code = piece[1]
        # Surrogates and larger numbers are no characters of a Go string.
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            return None
        out.append(chr(code))
    return "".join(out)


def _unquote_bytes(text: str) -> bytes | None:
    body, raw = _body(text)
    if raw or "\\" not in body:
        return body.encode()
    out = bytearray()
    for piece in _escapes(body):
        if isinstance(piece, str):
            out += piece.encode()
        elif piece[0] in "ox":
            out.append(piece[1])
        else:
            # Unicode escapes have no place in bytes.
            return None
    return bytes(out)
