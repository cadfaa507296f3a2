"""Random templates over the supported grammar, with random variables; the same seed gives the same ones."""

import random

TEXTS = ["", "a", "Hello World", "  padded \n", "x-y_z", "123", "4.5", "-7", "naïve Σ", "ÀÉ ß ǆ", "日本語", "😀 ok", "a,b,,c", "line1\nline2\r\nline3", "<b>&'\"</b>",
         "user", "assistant", "a</think>b", "1e5", "0x1f", "\t", "İi", "{x}", "%d", "it's", 'say "hi"', "\u00a0", "\\n"]
NAMES = ["a", "b", "c", "d", "e", "f", "g", "messages", "missing"]
METHODS = ["upper()", "lower()", "strip()", "title()", "capitalize()", "swapcase()", "casefold()", "split()", "split(',')", "split('l', 1)", "rsplit(' ', 1)", "rsplit(None, 1)", "splitlines()", "splitlines(true)",
           "startswith('a')", "endswith(('c', 'd'))", "find('l')", "rfind('l')", "index('e')", "count('l')", "count('')", "replace('l', 'L')", "replace('', '-')",
           "replace('a', 'b', 1)", "partition('l')", "rpartition('l')", "zfill(8)", "center(12)", "center(11, '*')", "ljust(9)", "rjust(9, '.')", "isdigit()", "isalpha()", "isalnum()",
           "isupper()", "islower()", "isspace()", "istitle()", "isnumeric()", "isdecimal()", "isascii()", "isprintable()", "removeprefix('a')", "removesuffix('c')", "strip('a ')", "lstrip()",
           "rstrip('\\n ')", "items()", "keys()", "values()", "get('a')", "get('zz', 3)", "index(1)", "count(1)", "copy()", "join(['x', 'y'])", "join(e)", "format(1, b=2)", "expandtabs(4)",
           "append(1)", "update({})", "encode()", "nothing()", "isidentifier()"]
FILTERS = ["abs", "capitalize", "center(9)", "count", "default('D')", "default('D', true)", "d", "dictsort", "dictsort(true)", "dictsort(by='value')", "dictsort(reverse=true)", "e", "escape", "first",
           "float", "float(2.5)", "int", "int(5)", "int(0, 16)", "indent", "indent(2, true)", "indent(3, blank=true)", "items|list", "join", "join(', ')", "join('-', attribute='a')", "last", "length", "list",
           "lower", "map('upper')|list", "map(attribute='a')|list", "map(attribute='a', default='?')|list", "map('default', 'x')|list", "max", "min", "max(attribute='a')", "reject('none')|list", "reject|list",
           "select|list", "select('string')|list", "selectattr('a')|list", "selectattr('a', 'equalto', 1)|list", "selectattr('a', 'defined')|list", "rejectattr('a')|list", "replace('a', 'b')",
           "replace('l', '', 1)", "reverse|list", "reverse", "round", "round(1)", "round(1, 'floor')", "round(method='ceil')", "round(-1)", "safe", "slice(2)|list", "slice(3, 'f')|list", "batch(2)|list",
           "batch(2, 0)|list", "sort", "sort(reverse=true)", "sort(attribute='a')", "sort(case_sensitive=true)", "string", "striptags", "sum", "sum(start=5)", "sum(attribute='a')", "title", "tojson",
           "tojson(indent=2)", "tojson(true)", "tojson(separators=(',', ':'))", "tojson(sort_keys=true)", "tojson(indent=1, sort_keys=true)", "trim", "trim('a')", "truncate(5)", "truncate(7, true)", "truncate(4, end='')",
           "truncate(5, leeway=0)", "unique|list", "unique(true)|list", "upper", "urlencode", "wordcount", "groupby('a')", "groupby('a', default=0)", "filesizeformat", "format(1)", "format(a=1)", "forceescape", "attr('a')",
           "attr('upper')", "xmlattr", "length > 2", "batch(2)|first", "map('int')|sum", "map('string')|join('+')", "map('length')|list"]
TESTS = ["defined", "undefined", "none", "string", "mapping", "sequence", "iterable", "number", "integer", "float", "boolean", "true", "false", "odd", "even", "divisibleby(2)", "divisibleby 3",
         "equalto 1", "eq('a')", "ne 1", "lt 3", "gt(2)", "ge 1", "le 'b'", "callable", "lower", "upper", "in [1, 'a']", "in 'abc'", "escaped", "filter", "test", "sameas none", "sameas true"]
BINARY = ["+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"]
TEXT_FILTERS = {"capitalize", "center", "default", "d", "e", "escape", "indent", "lower", "upper", "title", "trim", "truncate", "replace", "string", "striptags", "urlencode", "reverse", "tojson", "safe", "forceescape"}
LIST_FILTERS = {"list", "map", "select", "reject", "selectattr", "rejectattr", "sort", "unique", "batch", "slice", "reverse|list", "dictsort", "groupby", "reverse"}


class Writer:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = list(NAMES)
        self.macros = []

    def pick(self, items):
        return self.random.choice(items)

    def json_value(self, depth=0):
        kind = self.random.randrange(10 if depth < 3 else 6)
        if kind == 0:
            return self.pick([None, True, False])
        if kind == 1:
            return self.pick([0, 1, 2, 3, -1, -5, 7, 42, 1000, 2**31, 10**15])
        if kind == 2:
            return self.pick([0.0, 1.0, -1.5, 0.1, 2.675, 1e16, 1e-7, 123456.789, 1e300, -0.0, 2.5, 3.5])
        if kind < 6:
            return self.pick(TEXTS)
        if kind < 8:
            same = self.random.random() < 0.5
            first = self.json_value(depth + 1)
            return [first if same and isinstance(first, (dict, list)) else self.json_value(depth + 1) for _ in range(self.random.randrange(5))]
        return {self.pick(["a", "b", "content", "role", "items", "x y", "é", ""]): self.json_value(depth + 1) for _ in range(self.random.randrange(4))}

    def variables(self):
        known = {name: self.json_value() for name in "abcdefg"}
        if self.random.random() < 0.85:  # what `typed` expects
            known.update(a=self.pick(TEXTS), b=self.pick(TEXTS), c=self.random.randrange(-3, 9), d=self.pick([0.5, 2.675, -1.5, 1e16, 3, 12]))
            known["e"] = [{"a": self.pick([1, 2, 3]), "b": self.pick(TEXTS), **({"content": self.pick(TEXTS)} if self.random.random() < 0.5 else {})} for _ in range(self.random.randrange(4))]
            known["f"] = [self.pick(TEXTS) for _ in range(self.random.randrange(5))]
            known["g"] = {"a": self.pick(TEXTS), "b": self.json_value(2), "items": [1, 2]}
        known["messages"] = [{"role": self.pick(["user", "assistant", "system", "tool"]), "content": self.json_value(2)} for _ in range(self.random.randrange(4))]
        return known

    def quoted(self, text):
        quote = self.pick("'\"")
        escaped = text.replace("\\", "\\\\").replace(quote, "\\" + quote)
        if self.random.random() < 0.5:
            escaped = escaped.replace("\n", "\\n").replace("\t", "\\t")
        return quote + escaped + quote

    def atom(self, depth):
        kind = self.random.randrange(13)
        if kind < 5:
            return self.pick(self.names)
        if kind < 7:
            return self.quoted(self.pick(TEXTS))
        if kind == 7:
            return self.pick(["0", "1", "2", "3", "-1", "10", "1_000", "0x1F", "1.5", "2.0", "1e3", "0.1", "0b101"])
        if kind == 8:
            return self.pick(["none", "true", "false", "True", "None"])
        if depth <= 0:
            return "1"
        parts = [self.expression(depth - 2) for _ in range(self.random.randrange(4))]
        if kind == 9:
            return "[" + ", ".join(parts) + "]"
        if kind == 10:
            return "(" + "".join(part + ", " for part in parts) + ")"
        if kind == 11:
            return "{" + ", ".join(f"{self.pick(['1', repr('a'), repr('b'), 'a', '1.0', 'true'])}: {part}" for part in parts) + "}"
        return self.pick(["range(4)", "range(1, 9, 2)", "range(5, 0, -2)", "dict(a=1, b=2)", "dict(e)", "namespace(a=1)", "range(3)|list", "loop.index", "loop.last", "strftime_now('%Y-%m-%d %H:%M:%S %j %B %%')",
                          "cycler('x', 'y').next()", "joiner()()", "raise_exception('no')"] + self.macros)

    def slice(self):
        bound = lambda: self.pick(["", "0", "1", "2", "-1", "-2", "5", "a"])
        return f"{bound()}:{bound()}" + self.pick(["", ":", ":-1", ":2", ":-2"])

    def text(self, depth):
        if depth <= 0 or self.random.random() < 0.2:
            return self.pick(["a", "b", self.quoted(self.pick(TEXTS)), self.quoted(self.pick(TEXTS)), "f[0]", "e[0].b", "g.a", "f|first", "f|join('-')", "messages[0].role"])
        inner = lambda: self.text(depth - 1)
        kind = self.random.randrange(7)
        if kind == 0:
            return f"({inner()}) ~ {self.expression(depth - 1)}"
        if kind == 1:
            return f"({inner()}).{self.pick([m for m in METHODS[:24] + METHODS[44:52] if 'find' not in m and 'count' not in m])}"
        if kind == 2:
            return f"({inner()})|{self.pick([x for x in FILTERS if x.split('(')[0] in TEXT_FILTERS])}"
        if kind == 3:
            return f"({inner()})[{self.slice()}]"
        if kind == 4:
            return f"({inner()}) + ({inner()})"
        if kind == 5:
            return f"({inner()}) if ({self.condition(depth - 1)}) else ({inner()})"
        return f"({self.expression(depth - 1)})|{self.pick(['string', 'tojson', 'tojson(indent=2)', 'default(' + repr('z') + ', true)|string'])}"

    def number(self, depth):
        if depth <= 0 or self.random.random() < 0.3:
            return self.pick(["c", "d", "1", "2", "3", "10", "1.5", "loop.index", "e|length", "f|count", "0.1", "7"])
        inner = lambda: self.number(depth - 1)
        return self.pick([f"({inner()}) {self.pick(['+', '-', '*', '//', '%', '/'])} ({inner()})", f"({inner()})|{self.pick(['abs', 'int', 'float', 'round', 'round(1)', 'round(2)', 'round(-1)', 'round(1, ' + repr('ceil') + ')'])}",
                          f"-({inner()})", f"({self.text(depth - 1)})|{self.pick(['length', 'int', 'float', 'int(3, 16)', 'wordcount'])}", f"({self.text(depth - 1)}).{self.pick(['find(' + repr('a') + ')', 'count(' + repr('l') + ')', 'rfind(b)'])}"])

    def condition(self, depth):
        if depth <= 0:
            return self.pick(["a", "c > 1", "missing is defined", "loop.first", "loop.last", "e", "d", "g.zz", "true", "c is odd", "a is string"])
        a, b = self.text(depth - 1), self.text(depth - 1)
        return self.pick([f"({a}) {self.pick(['==', '!=', '<', '>=', 'in', 'not in'])} ({b})", f"({self.number(depth - 1)}) {self.pick(['<', '<=', '==', '>', '!='])} ({self.number(depth - 1)})",
                          f"({self.expression(depth - 1)}) is {self.pick(['', 'not '])}{self.pick(TESTS[:15] + ['callable', 'sameas none', 'escaped'])}", f"not ({self.condition(depth - 1)})",
                          f"({self.condition(depth - 1)}) {self.pick(['and', 'or'])} ({self.condition(depth - 1)})", f"({a}).{self.pick(['startswith', 'endswith'])}({b})", f"({a}) in f", f"{self.pick(['a', repr('a')])} in g"])

    def sequence(self, depth):
        if depth <= 0 or self.random.random() < 0.25:
            return self.pick(["e", "f", "messages", "range(3)", "[1, 2, 3]", "(a).split()", "g|list", "f[1:]", "e[::-1]", "g.items()|list", "g|dictsort", "[a, b, c]", "(a)|list"])
        inner = self.sequence(depth - 1)
        return self.pick([f"({inner})|{self.pick([x for x in FILTERS if x.split('(')[0] in LIST_FILTERS])}", f"({inner})[{self.slice()}]", f"({self.text(depth - 1)}).{self.pick(['split()', 'splitlines()', 'split(' + repr('a') + ', 1)', 'rsplit(none, 1)', 'partition(' + repr('l') + ')'])}",
                          f"[{self.expression(depth - 1)}, {self.expression(depth - 1)}]", f"({inner})|list + f"])

    def typed(self, depth):
        return self.pick([self.text, self.text, self.number, self.condition, self.sequence])(depth)

    def expression(self, depth=3):
        if self.random.random() < 0.9:
            return self.typed(depth)
        if depth <= 0:
            return self.atom(0)
        inner = lambda: self.expression(depth - 1)
        kind = self.random.randrange(16)
        if kind < 3:
            return self.atom(depth)
        if kind < 6:
            return f"{self.operand(depth)} {self.pick(BINARY)} {self.operand(depth)}"
        if kind < 9:
            return f"{self.operand(depth)}|{self.pick(FILTERS)}"
        if kind == 9:
            return f"{self.operand(depth)} is {self.pick(['', '', 'not '])}{self.pick(TESTS)}"
        if kind == 10:
            return f"{self.operand(depth)}.{self.pick(METHODS + ['a', 'role', 'content', '0', 'b.c', 'items'])}"
        if kind == 11:
            return f"{self.operand(depth)}[{self.pick([self.slice(), inner(), repr('a'), '0', '-1', repr('role')])}]"
        if kind == 12:
            return f"{inner()} if {inner()}" + self.pick(["", f" else {inner()}", f" else {inner()}"])
        if kind == 13:
            return self.pick(["not ", "-", "+"]) + self.operand(depth)
        if kind == 14:
            return f"{self.operand(depth)} {self.pick(['<', '<=', '==', 'in'])} {self.operand(depth)} {self.pick(['<', '>', '!='])} {self.operand(depth)}"
        return self.quoted(self.pick(["%s", "%d-%s", "%5.2f|", "%-6s|", "%(a)s", "%r", "%%", "%x", "%05d", "%+d", "%e", "%g", "%c", "%s %s"])) + " % " + self.operand(depth)

    def operand(self, depth):
        text = self.expression(depth - 1)
        return text if text.isidentifier() else f"({text})"

    def tag(self, text):
        return "{%" + self.pick(["", "", "-", "+"]) + " " + text + " " + self.pick(["", "", "-", "+"]) + "%}"

    def statements(self, depth, in_loop=False):
        return "".join(self.statement(depth, in_loop) for _ in range(self.random.randrange(1, 4)))

    def statement(self, depth, in_loop):
        kind = self.random.randrange(15 if depth > 0 else 5)
        body = lambda loop=in_loop: self.statements(depth - 1, loop)
        if kind < 2:
            return "{{" + self.pick(["", "-", "+"]) + " " + self.expression() + " " + self.pick(["", "-"]) + "}}"
        if kind == 2:
            return self.pick(["text", " ", "\n", "\n  ", "é\n\n", "  \n x ", "{", "}", "# %"])
        if kind == 3:
            name = self.pick("abcdefgh")
            return self.tag(f"set {name} = {self.expression()}")
        if kind == 4:
            if in_loop and self.random.random() < 0.5:
                return self.tag(f"if {self.condition(1)}") + self.tag(self.pick(["break", "continue"])) + self.tag("endif")
            return self.pick(["{# comment #}", "{#- c -#}", "{#+ c +#}\n"])
        if kind < 8:
            text = self.tag(f"if {self.condition(2)}") + body()
            if self.random.random() < 0.4:
                text += self.tag(f"elif {self.condition(2)}") + body()
            if self.random.random() < 0.5:
                text += self.tag("else") + body()
            return text + self.tag("endif")
        if kind < 11:
            target = self.pick(["x", "a", "x, y", "(x, y)"])
            over = self.pick(["messages", "e", "range(3)", "[1, 2, 3]", "'abc'", "{'k': 1, 'l': 2}.items()", "f", "g", self.sequence(2), self.sequence(2)])
            if "," in target:
                over = self.pick(["{'k': 1, 'l': 2}.items()", "[(1, 2), (3, 4)]", "e", "['ab', 'cd']", "f|dictsort"])
            self.names += ["x", "y", "loop.index", "loop.index0", "loop.first", "loop.last", "loop.length", "loop.revindex", "loop.previtem", "loop.nextitem", "loop.cycle('p', 'q')", "loop.changed(x)", "loop.depth"]
            test = self.pick(["", "", f" if {self.condition(1)}"])
            text = self.tag(f"for {target} in {over}{test}") + body(True)
            if self.random.random() < 0.3:
                text += self.tag("else") + body()
            return text + self.tag("endfor")
        if kind == 11:
            name = self.pick(["m", "n"])
            if name + "(1)" not in self.macros:
                self.macros += [name + "(1)", name + "(a, 2)", name + "(q=b)", name + "(1, 2, 3)"]
            self.names += ["p", "q"]
            return self.tag(f"macro {name}(p, q={self.expression(1)})") + self.statements(depth - 1) + self.pick(["", "{{ varargs }}", "{{ kwargs }}"]) + self.tag("endmacro")
        if kind == 12:
            name = self.pick(["h", "a", "b"])
            self.names.append("h")
            return self.tag(f"set {name}{self.pick(['', ' | upper', ' | trim'])}") + body() + self.tag("endset")
        if kind == 13:
            choice = self.random.randrange(4)
            if choice == 0:
                return self.tag("filter " + self.pick(["upper", "trim", "replace('a', 'b')", "indent(2)|title"])) + body() + self.tag("endfilter")
            if choice == 1:
                return self.tag(f"with a = {self.expression(1)}, h = a") + body() + self.tag("endwith")
            if choice == 2:
                return self.tag("raw") + self.pick(["{{ x }}", "{% if %}\n", " x ", "\n"]) + self.tag("endraw")
            return self.tag("generation") + self.statements(depth - 1) + self.tag("endgeneration")
        self.names.append("ns.a")
        return self.tag("set ns = namespace(a=0)") + body() + self.tag(f"set ns.a = {self.expression(2)}") + "{{ ns.a }}"

    def template(self):
        return self.statements(self.random.randrange(1, 4))


def case(seed):
    writer = Writer(seed)
    variables = writer.variables()
    return writer.template(), variables
