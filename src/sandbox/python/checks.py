"""The tests' side of checks: runs the tests in a process that never sees the program itself, and
knows of it only what remote.py lets it ask.
"""
import ast, builtins, importlib, json, marshal, operator

# Modules whose effect is on the process that imports them, and parts of `sys`: the program's.
OF_THE_PROCESS = frozenset(
    "solution __main__ builtins io os contextlib asyncio inspect threading multiprocessing concurrent subprocess signal tempfile pathlib shutil logging warnings gc"
    " importlib atexit unittest.mock".split()
)
OF_SYS = frozenset("stdin stdout stderr argv modules path setrecursionlimit getrecursionlimit settrace".split())
# Modules that tests may use without an import, where the program happens to import them too. Its
# own would decide.
PURE = frozenset("math cmath collections itertools functools operator re string random json copy heapq bisect statistics decimal fractions datetime".split())
CHECK_NOTHING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.Pass)
IMPORTS = (ast.Import, ast.ImportFrom)
COMPARE = {
    "Eq": ("==", operator.eq), "NotEq": ("!=", operator.ne), "Lt": ("<", operator.lt), "LtE": ("<=", operator.le), "Gt": (">", operator.gt),
    "GtE": (">=", operator.ge), "Is": ("is", operator.is_), "IsNot": ("is not", operator.is_not), "In": ("in", lambda part, whole: part in whole),
    "NotIn": ("not in", lambda part, whole: part not in whole),
}
SHOWN = 200  # characters of a value or a message in a reason


class Unusable(Exception):
    """The tests themselves cannot be run with any program."""


class HandedOver(BaseException):
    """Another process continues these checks."""


class Names(dict):
    """The tests' global names. A name that they do not define is the program's, and may change with
    each call.
    """

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


def run_coroutine(value, **words):
    """asyncio.run, which also accepts the stand-ins of the program's coroutines."""
    return importlib.import_module("asyncio").run(awaited(value), **words)


class Prepared(ast.NodeTransformer):
    """Rewrites the tests so that modules of the program's process are the program's, and
    comparisons remember both sides.
    """

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
        if isinstance(node.value, ast.Name) and node.value.id in self.local and node.attr == "run":
            return ast.Name("__run__", ast.Load())
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
    """Whether a class of the tests is made in the program's process: it checks nothing, and its
    instances are passed to the program.
    """
    return isinstance(node, ast.ClassDef) and not any(
        isinstance(part, ast.Assert) or getattr(part, "attr", getattr(part, "id", "")) == "TestCase" for part in ast.walk(node))


class Vocabulary:
    """The names in the tests, sorted by who defines them."""

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
        self.foreign = self.wanted - bound
        names_it = self.foreign or any(isinstance(node, ast.ImportFrom) and node.module == "solution" for node in nodes)
        self.shadowed = set() if names_it else self.innermost(nodes)

    @staticmethod
    def innermost(nodes):
        """Built-in names that the tests call innermost (`sum(10, 15) == 6`) or pass on. If the
        tests name nothing else, one of these is the program's function.
        """
        calls = [node for node in nodes if isinstance(node, ast.Call)]
        named = [call.func for call in calls if not any(isinstance(part, ast.Call) for argument in call.args for part in ast.walk(argument))]
        named += [argument for call in calls for argument in call.args]
        return {node.id for node in named if isinstance(node, ast.Name) and hasattr(builtins, node.id)}


def shown(value):
    """A value as a reason shows it. The program is not asked, since it could choose the words."""
    try:
        text = "an object of the program" if isinstance(value, Remote) else repr(value)
    except Exception:
        text = "a value of type " + type(value).__name__
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


PLAIN = (ast.Assert, ast.Compare, ast.Call, ast.Name, ast.Load, ast.Store, ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.UnaryOp, ast.unaryop, ast.BoolOp, ast.boolop,
         ast.cmpop, ast.BinOp, ast.Add, ast.Sub, ast.keyword, ast.Expr, ast.Pass, ast.Assign, ast.FunctionDef, ast.arguments, ast.arg)
PLAIN_CALLS = frozenset("abs len sorted set list tuple round min max sum any all".split())


def only_compares(body, words):
    """Whether the tests only call functions of the program and compare the results, without a loop:
    `assert f(1) == 2`, directly or within `def check(candidate)`.
    """
    nodes = [node for statement in body for node in ast.walk(statement)]
    if words.shadowed or words.pure or not all(isinstance(node, PLAIN) for node in nodes):
        return False
    functions = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    inner = {id(node) for statement in body if isinstance(statement, ast.FunctionDef) for node in ast.walk(statement)} - {id(node) for node in body}
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    handed = {id(argument) for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions for argument in node.args}
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.Assign)) and (id(node) in inner or getattr(node, "decorator_list", None)):
            return False
        if isinstance(node, ast.Assign) and not all(isinstance(part, (ast.Constant, ast.Dict, ast.List, ast.Tuple, ast.Load)) for part in ast.walk(node.value)):
            return False
        if isinstance(node, ast.Call) and not isinstance(node.func, ast.Name):
            return False
        if not isinstance(node, ast.Name) or isinstance(node.ctx, ast.Store):
            continue
        if node.id in functions and id(node) in inner:
            return False  # it might call itself
        if hasattr(builtins, node.id) and (node.id not in PLAIN_CALLS or id(node) not in called):
            return False
        if node.id in words.foreign and id(node) not in called and id(node) not in handed:
            return False
    return True


class Tests:
    """The tests of a prompt, prepared to be run against one program after the other."""

    def __init__(self, source):
        try:
            self.prepare(ast.parse(source).body)
        except (SyntaxError, ValueError, RecursionError):
            self.prepare([])

    def prepare(self, body):
        self.check_nothing = all(isinstance(node, CHECK_NOTHING) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)) for node in body)
        self.count = sum(isinstance(node, ast.Assert) for node in body)
        self.words = Vocabulary(body)
        self.is_plain = only_compares(body, self.words)
        handed = [node for node in body if is_handed_over(node)]
        self.handed = [marshal.dumps(code_of(node)) for node in handed]
        self.imports = [marshal.dumps(code_of(node)) for node in body if isinstance(node, IMPORTS) and getattr(node, "module", None) != "solution"]
        prepared = Prepared(self.words.has_coroutines)
        self.steps = []  # code, whether it is counted, whether it imports, number among the classes that are handed over
        for node in body:
            number = handed.index(node) if node in handed else None
            counted, imports = isinstance(node, ast.Assert), isinstance(node, IMPORTS)
            made = prepared.visit(node)
            self.steps.append((code_of(*(made if isinstance(made, list) else [made])), counted, imports, number))


class Checks:
    """A run of the tests against one program. Each assert at the top level is a test; another
    statement that fails counts as a test that did not pass and ends the run.
    """

    def __init__(self, tests, program):
        self.tests, self.program, self.compared = tests, program, None
        self.count, self.passed, self.first, self.by_program, self.said = tests.count, 0, 0, 0, ""
        if tests.check_nothing:
            raise Unusable("the tests of the prompt check nothing, or are no Python")

    def begin(self):
        words = self.tests.words
        self.names = Names(self.program, words.shadowed)
        self.names.update({name: importlib.import_module(name) for name in words.pure}, __compare__=self.compare, __run__=run_coroutine, __module__=self.program.module)
        self.there = []
        if self.tests.is_plain:
            self.names.update((name, Named(self.program, name)) for name in words.foreign)
            return
        found, self.there = self.program.ask("begin", self.tests.imports, self.tests.handed, sorted(words.wanted | words.shadowed))
        self.names.update((name, found[name]) for name in words.wanted | words.shadowed if name in found)
        if "open" in words.loaded:
            self.names["open"] = self.program.module("builtins").open

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
        text = text_of(error)
        return json.dumps((type(error).__name__ + (": " + text if text else ""))[:SHOWN], ensure_ascii=False)

    def run(self):
        """Runs the tests and fills the counts."""
        error = self.failure(self.begin)
        if error:
            self.said = self.why(error)
            return
        tried = 0
        for code, counted, imports, number in self.tests.steps:
            if number is not None and self.there[number]:
                continue
            tried += counted
            self.compared, self.program.decided = None, False
            error = self.failure(lambda: exec(code, self.names))
            self.by_program += self.program.decided
            if error is None:
                self.passed += counted
                continue
            if imports and isinstance(error, ImportError) and not hasattr(error, "remote_text") and not self.first:
                raise Unusable(f"the tests of the prompt cannot be run here: {error}")
            if self.program.gone and not self.program.heard:
                self.said = self.why(error)
                return
            self.count += not counted
            self.first = self.first or (tried if counted else self.count)
            self.said = self.said or self.why(error)
            if self.program.gone or not counted:
                return
        if self.count == 0:
            self.count = self.passed = 1

    def failure(self, step):
        """The error that a step raised, or that the program is gone; None if it succeeded."""
        try:
            step()
        except (MemoryError, HandedOver):
            raise
        except SystemExit as end:
            if end.code or hasattr(end, "remote_text"):
                return end
        except BaseException as error:
            return error
        return Gone(self.program.gone) if self.program.gone else None
