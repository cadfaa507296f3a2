"""The side of the tests: runs them in a process that never saw the program, which it asks for the values of calls.

Functions, classes and objects of the program have stand-ins here (Remote). A call hands its arguments over and brings back a value of Python's own types, or another
stand-in. So what a value is compared with never reaches the program, and the program compares nothing but two objects of its own, which is counted.
"""
import ast, builtins, collections, importlib, json, marshal, operator, sys

# Modules whose effect is on the process that imports them, and parts of `sys`: the program's.
OF_THE_PROCESS = frozenset(
    "solution __main__ builtins io os contextlib asyncio inspect threading multiprocessing concurrent subprocess signal tempfile pathlib shutil logging warnings gc"
    " importlib atexit unittest.mock".split()
)
OF_SYS = frozenset("stdin stdout stderr argv modules path setrecursionlimit getrecursionlimit settrace".split())
# Modules that tests may use without an import, where the program happens to import them too. Its own would decide.
PURE = frozenset("math cmath collections itertools functools operator re string random json copy heapq bisect statistics decimal fractions datetime".split())
CHECK_NOTHING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.Pass)
IMPORTS = (ast.Import, ast.ImportFrom)
COMPARE = {
    "Eq": ("==", operator.eq), "NotEq": ("!=", operator.ne), "Lt": ("<", operator.lt), "LtE": ("<=", operator.le), "Gt": (">", operator.gt),
    "GtE": (">=", operator.ge), "Is": ("is", operator.is_), "IsNot": ("is not", operator.is_not), "In": ("in", lambda part, whole: part in whole),
    "NotIn": ("not in", lambda part, whole: part not in whole),
}
SHOWN = 200  # characters of a value or a message in a reason
NO_VALUE = "what it handed back is no value"


class Gone(BaseException):
    """Nothing more can be asked of the program. No `except Exception` of a test catches it."""


class Unusable(Exception):
    """The tests themselves cannot be run, whatever the program is."""


class Remote:
    """Stands in for an object of the program. `has_seen`: it was made with a value of the tests, perhaps the one that is expected, so what number it is says nothing."""

    __slots__ = ("remote_program", "remote_number", "remote_held", "remote_has_seen")

    def __init__(self, program, number, held, has_seen=False):
        for name, value in (("program", program), ("number", number), ("held", held), ("has_seen", has_seen)):
            object.__setattr__(self, "remote_" + name, value)

    def __getattr__(self, name):
        return self.remote_program.special("getattr", self, name)

    def __setattr__(self, name, value):
        self.remote_program.special("setattr", self, name, value)

    def __delattr__(self, name):
        self.remote_program.special("delattr", self, name)

    def __call__(self, *args, **words):
        return self.remote_program.call(self, args, words)

    def __exit__(self, kind, value, trace):
        return bool(self.remote_program.special("exit", self, kind))

    def __deepcopy__(self, memo):
        return self.remote_program.special("deepcopy", self)

    def __await__(self):
        return self.remote_program.special("await", self)
        yield  # makes it a generator, as Python wants


def special_method(name):
    def method(self, *operands):
        return self.remote_program.special(name, self, *operands)
    return method


def conversion(name):
    def method(self):
        if self.remote_has_seen:
            raise TypeError("an object of the program that has seen a value of the tests is no number")
        return self.remote_program.special(name, self)
    return method


def arithmetic(name, swapped=False):
    """Of objects of the program alone: its own affair. With a value of the tests, the result stays with the program, which has seen that value."""
    function = getattr(operator, f"__{name}__", round)

    def method(self, *others):
        operands = (*others, self) if swapped else (self, *others)
        if all(isinstance(operand, Remote) and not operand.remote_has_seen for operand in operands):
            return self.remote_program.special(name, *operands)
        if self.remote_held and isinstance(self.remote_held[0], (int, float)):
            return function(*(self.remote_held[0] if operand is self else operand for operand in operands))
        return self.remote_program.kept(name, *operands)
    return method


def comparison(name):
    """With a value of the tests, what the object holds as a built-in type is compared, here; an object that holds nothing equals none. Of two objects the program decides."""
    function = getattr(operator, name)

    def method(self, other):
        held = [value.remote_held for value in (self, other) if isinstance(value, Remote)]
        if all(held):
            return function(held[0][0], held[1][0] if len(held) == 2 else other)
        if len(held) == 1:
            return NotImplemented
        self.remote_program.decided = True
        return bool(self.remote_program.special(name, self, other))
    return method


for called in "iter next reversed getitem setitem delitem str repr hash format enter copy instancecheck subclasscheck".split():
    setattr(Remote, f"__{called}__", special_method(called))
for called in "len bool int float complex index".split():
    setattr(Remote, f"__{called}__", conversion(called))
for called in (*BINARY, "abs", "neg", "pos", "invert", "round"):
    setattr(Remote, f"__{called}__", arithmetic(called))
for called in BINARY:
    setattr(Remote, f"__r{called}__", arithmetic(called, True))
for called in COMPARISONS:
    setattr(Remote, f"__{called}__", comparison(called))


def carry_over(old, new):
    """Makes of a mutable argument what the call has made of it; the value to go on with."""
    if type(old) is not type(new) or not isinstance(old, (*MUTABLE, tuple)):
        return new
    if isinstance(old, dict):
        new = {key: carry_over(old[key], item) if key in old else item for key, item in new.items()}
    elif isinstance(old, (list, tuple)):
        new = [carry_over(*both) for both in zip(old, new)] + list(new[len(old):])
    if isinstance(old, tuple):
        return old if len(old) == len(new) and all(map(operator.is_, old, new)) else tuple(new)
    old.clear()
    (old.update if isinstance(old, (dict, set)) else old.extend)(new)
    return old


def attribute_of(error, name):
    """Of an exception of a class of the program's."""
    if name in ("remote_text", "remote_object"):
        raise AttributeError(name)  # the tests have made it
    return getattr(error.remote_object, name)


class Program:
    """What the tests know of the program: a channel to its process."""

    def __init__(self, channel):
        self.channel, self.heard = channel, False
        self.gone = ""  # why nothing more can be asked
        self.decided = False  # whether the program has compared objects of its own since this was last cleared
        self.objects, self.lent, self.errors = {}, [], {}  # stand-ins by number; functions that the program may call; classes of its exceptions by number
        self.values = Values(self.refer, self.resolve)

    def refer(self, value):
        if isinstance(value, Remote):
            return {"object": [value.remote_number]}
        if isinstance(value, type) and hasattr(value, "remote_number"):
            return {"object": [value.remote_number]}
        if callable(value):
            return {"callback": [self.lend(value), getattr(value, "__name__", "function")]}
        if hasattr(value, "__next__"):
            return {"iterator": [self.lend(lambda: [item for _, item in zip(range(1), value)])]}
        held = self.values.held(value)
        if not held:
            raise TypeError(f"tests cannot hand a value of type {type(value).__name__} to the program")
        return held[0]

    def lend(self, function):
        self.lent.append(function)
        return len(self.lent) - 1

    def resolve(self, name, parts):
        if name == "object":
            number, *held = parts
            return self.objects.setdefault(number, Remote(self, number, held))
        if name != "error":
            raise ValueError(name)
        number, title, base = parts
        if number not in self.errors:
            self.errors[number] = type(title, (base,), {"remote_number": number, "__str__": lambda error: error.remote_text, "__getattr__": attribute_of})
        return self.errors[number]

    def lose(self, why):
        self.gone = self.gone or why
        raise Gone(self.gone)

    def send(self, *parts):
        if self.gone:
            raise Gone(self.gone)
        message = self.values.encode(list(parts))
        try:
            send(self.channel, message)
        except OSError:
            self.lose("it ended before its checks")

    def receive(self):
        try:
            message = receive(self.channel, MOST)
        except OSError:
            message = None
        if message is None:
            self.lose("it ended before its checks")
        try:
            kind, *parts = self.values.decode(message)
            if (kind, len(parts)) not in (("value", 1), ("raised", 4), ("callback", 3)):
                raise ValueError(kind)
            return kind, parts
        except MemoryError:
            raise
        except Exception:
            self.lose(NO_VALUE)

    def ask(self, verb, *operands):
        self.send(verb, *operands)
        while True:
            kind, parts = self.receive()
            self.heard = True
            if kind == "value":
                return parts[0]
            if kind == "raised":
                raise self.error(*parts)
            self.call_back(*parts)

    def call_back(self, number, args, words):
        try:
            result = self.lent[number](*args, **words)
        except (Gone, MemoryError):
            raise
        except BaseException as error:
            return self.send("back", "raised", type(error) if type(error).__module__ == "builtins" else RuntimeError, list(error.args))
        self.send("back", "value", result)

    def error(self, kind, text, args, number):
        if not (isinstance(kind, type) and issubclass(kind, BaseException) and isinstance(text, str)):
            self.lose(NO_VALUE)
        error = kind.__new__(kind)
        error.args, error.remote_text = tuple(args), text
        if number is not None:
            error.remote_object = Remote(self, number, [])
        return error

    def special(self, name, *operands):
        return self.ask("special", name, *operands)

    def kept(self, name, *operands):
        result = self.ask("kept", name, *operands)
        if not isinstance(result, Remote):
            self.lose(NO_VALUE)
        return Remote(self, result.remote_number, [], True)

    def call(self, function, args, words):
        args = list(args)
        answer = self.ask("call", function, args, words)
        if type(answer) is not list or len(answer) != 2:
            self.lose(NO_VALUE)
        result, changed = answer
        if changed is not None:
            carry_over([args, words], changed)
        return result

    def module(self, name, root=False):
        module = self.special("module", name)
        return self.special("module", name.partition(".")[0]) if root else module


class Names(dict):
    """The tests' global names. What they do not define is the program's, and may change with each call."""

    def __init__(self, program, shadowed):
        super().__init__(__name__="__main__", __builtins__=builtins)
        self.program, self.shadowed = program, shadowed

    def __missing__(self, name):
        if hasattr(builtins, name) and name not in self.shadowed:
            raise KeyError(name)
        try:
            return self.program.ask("name", name)
        except NameError:
            raise KeyError(name) from None


def is_of_the_process(module):
    return module in OF_THE_PROCESS or module.partition(".")[0] in OF_THE_PROCESS


def module_of_the_program(name, root=False):
    return ast.Call(ast.Name("__module__", ast.Load()), [ast.Constant(name), ast.Constant(root)], [])


class Prepared(ast.NodeTransformer):
    """Statements of the tests, where modules of the program's process are the program's, and comparisons remember both sides."""

    def __init__(self, has_coroutines):
        self.local = {"asyncio"} if has_coroutines else set()

    def visit_Import(self, node):
        made = []
        for alias in node.names:
            if is_of_the_process(alias.name) and alias.name not in self.local:
                name = alias.asname or alias.name.partition(".")[0]
                made.append(ast.Assign([ast.Name(name, ast.Store())], module_of_the_program(alias.name, alias.asname is None)))
            else:
                made.append(ast.Import([alias]))
        return made

    def visit_ImportFrom(self, node):
        made, others = [], []
        for alias in node.names:
            if node.level == 0 and node.module not in self.local and (is_of_the_process(node.module) or f"{node.module}.{alias.name}" in OF_THE_PROCESS):
                part = ast.Attribute(module_of_the_program(node.module), alias.name, ast.Load())
                made.append(ast.Pass() if alias.name == "*" else ast.Assign([ast.Name(alias.asname or alias.name, ast.Store())], part))
            else:
                others.append(alias)
        return made + ([ast.ImportFrom(node.module, others, node.level)] if others else [])

    def visit_Attribute(self, node):
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == "sys" and node.attr in OF_SYS:
            node.value = module_of_the_program("sys")
        return node

    def visit_Assert(self, node):
        self.generic_visit(node)
        test = node.test
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            node.test = ast.Call(ast.Name("__compare__", ast.Load()), [ast.Constant(type(test.ops[0]).__name__), test.left, test.comparators[0]], [])
        return node


def code_of(*statements):
    return compile(ast.fix_missing_locations(ast.Module(list(statements), [])), "tests", "exec")


def is_handed_over(node):
    """Classes of the tests that check nothing are made in the program's process, since their instances go there."""
    return isinstance(node, ast.ClassDef) and not any(
        isinstance(part, ast.Assert) or getattr(part, "attr", getattr(part, "id", "")) == "TestCase" for part in ast.walk(node))


class Vocabulary:
    """The names in the tests, by who defines them."""

    def __init__(self, body):
        nodes = [node for statement in body for node in ast.walk(statement)]
        names = [node for node in nodes if isinstance(node, ast.Name)]
        self.loaded = {node.id for node in names if isinstance(node.ctx, ast.Load)}
        bound = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
        bound.update(node.arg for node in nodes if isinstance(node, ast.arg))
        bound.update(node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and not is_handed_over(node))
        bound.update((alias.asname or alias.name).partition(".")[0] for node in nodes if isinstance(node, IMPORTS) for alias in node.names)
        self.has_coroutines = any(isinstance(node, ast.AsyncFunctionDef) for node in nodes)
        called = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
        self.pure = (self.loaded & PURE) - bound - called
        self.wanted = {name for name in self.loaded - self.pure if not hasattr(builtins, name)}
        names_it = self.wanted - bound or any(isinstance(node, ast.ImportFrom) and node.module == "solution" for node in nodes)
        self.shadowed = set() if names_it else self.innermost(nodes)

    @staticmethod
    def innermost(nodes):
        """Built-in names that the tests call innermost (`sum(10, 15) == 6`) or hand on. Where they name nothing else, one of these is the program's."""
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        named = [call.func for call in calls if not any(isinstance(part, ast.Call) for argument in call.args for part in ast.walk(argument))]
        named += [argument for call in calls for argument in call.args]
        return {node.id for node in named if isinstance(node, ast.Name) and hasattr(builtins, node.id)}


def shown(value):
    """For a reason. The program is not asked, since it would choose the words."""
    try:
        text = "an object of the program" if isinstance(value, Remote) else repr(value)
    except Exception:
        text = "a value of type " + type(value).__name__
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


class Checks:
    """The tests of a prompt against one program. Each assert at the top is a test; another statement that fails is one that did not pass, and ends the list."""

    def __init__(self, source, program):
        self.program, self.compared = program, None
        self.passed, self.first, self.by_program, self.said = 0, 0, 0, ""
        try:
            self.body = ast.parse(source).body
        except (SyntaxError, ValueError, RecursionError):
            self.body = []
        self.count = sum(isinstance(node, ast.Assert) for node in self.body)
        if all(isinstance(node, CHECK_NOTHING) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)) for node in self.body):
            raise Unusable("the tests of the prompt check nothing, or are no Python")

    def begin(self):
        words = Vocabulary(self.body)
        self.prepared = Prepared(words.has_coroutines)
        self.names = Names(self.program, words.shadowed)
        self.names.update({name: importlib.import_module(name) for name in words.pure}, __compare__=self.compare, __module__=self.program.module)
        handed = [node for node in self.body if is_handed_over(node)]
        imports = [node for node in self.body if isinstance(node, IMPORTS) and getattr(node, "module", None) != "solution"]
        code = [[marshal.dumps(code_of(node)) for node in part] for part in (imports, handed)]
        found, made = self.program.ask("begin", *code, sorted(words.wanted | words.shadowed))
        self.names.update((name, found[name]) for name in words.wanted | words.shadowed if name in found)
        if "open" in words.loaded:
            self.names["open"] = self.program.module("builtins").open
        there = [node for node, is_made in zip(handed, made) if is_made]
        self.body = [node for node in self.body if node not in there]

    def compare(self, name, left, right):
        sign, holds = COMPARE[name]
        self.compared = (sign, left, right)
        return holds(left, right)

    def why(self, error):
        if isinstance(error, AssertionError) and not error.args and self.compared:
            sign, left, right = self.compared
            return f"expected {shown(right)}, got {shown(left)}" if sign == "==" else f"{shown(left)} {sign} {shown(right)} does not hold"
        if isinstance(error, Gone):
            return str(error)
        text = str(error)
        return json.dumps((type(error).__name__ + (": " + text if text else ""))[:SHOWN], ensure_ascii=False)

    def run(self):
        """Fills the counts."""
        error = self.failure(self.begin)
        if error:
            self.said = self.why(error)
            return
        tried = 0
        for node in self.body:
            counted = isinstance(node, ast.Assert)
            tried += counted
            self.compared, self.program.decided = None, False
            error = self.failure(lambda: self.execute(node))
            self.by_program += self.program.decided
            if error is None:
                self.passed += counted
                continue
            if isinstance(node, IMPORTS) and isinstance(error, ImportError) and not hasattr(error, "remote_text") and not self.first:
                raise Unusable(f"the tests of the prompt cannot be run here: {error}")
            self.count += not counted
            self.first = self.first or (tried if counted else self.count)
            self.said = self.said or self.why(error)
            if self.program.gone or not counted:
                return
        if self.count == 0:
            self.count = self.passed = 1

    def execute(self, node):
        made = self.prepared.visit(node)
        exec(code_of(*(made if isinstance(made, list) else [made])), self.names)

    def failure(self, step):
        """What it raised, or that the program is gone; None where it did all that it should."""
        try:
            step()
        except MemoryError:
            raise
        except SystemExit as end:
            if end.code or hasattr(end, "remote_text"):
                return end
        except BaseException as error:
            return error
        return Gone(self.program.gone) if self.program.gone else None
