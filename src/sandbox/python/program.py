"""The program's side of checks: carries out what the checking process asks for, one request at a time, and hands back values.

Whatever runs here shares an interpreter with the program, which may change any of it. At worst that hands back another value, as the program's own functions could.
"""
import copy, importlib, marshal, operator, os

LAST = object()
BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
# What Python calls on an object without its name being written.
SPECIAL = {
    "len": len, "iter": iter, "next": next, "reversed": reversed, "getitem": operator.getitem, "setitem": operator.setitem, "delitem": operator.delitem,
    "bool": bool, "str": str, "repr": repr, "int": int, "float": float, "complex": complex, "index": operator.index, "hash": hash, "format": format,
    "abs": abs, "neg": operator.neg, "pos": operator.pos, "invert": operator.invert, "round": round, "getattr": getattr, "setattr": setattr, "delattr": delattr,
    "enter": lambda value: type(value).__enter__(value), "exit": lambda value, kind: type(value).__exit__(value, kind, kind and kind(), None),
    "instancecheck": lambda kind, value: isinstance(value, kind), "subclasscheck": lambda kind, other: issubclass(other, kind),
    "copy": copy.copy, "deepcopy": copy.deepcopy, "await": lambda value: importlib.import_module("asyncio").run(awaited(value)), "module": importlib.import_module,
}
SPECIAL.update({name: getattr(operator, f"__{name}__") for name in BINARY + COMPARISONS})


def is_plain(value):
    return type(value) in ATOMS or type(value) in PARTS_OF or type(value) in (int, list)


def text_of(error):
    try:
        return str(error)
    except Exception:  # an argument that cannot be written, such as an integer of 5000 digits
        return ""


async def awaited(value):
    return await value


class Answers:
    """Serves the requests of one channel, about the names of one module."""

    def __init__(self, names, channel):
        self.names, self.channel = names, channel
        self.objects, self.numbers = [], {}  # what was handed over by number, and the numbers by identity
        self.values = Values(self.refer, self.resolve)
        self.verbs = {"begin": self.begin, "name": self.name, "call": self.call, "special": self.special, "kept": self.kept}

    def number(self, value):
        if id(value) not in self.numbers:
            self.numbers[id(value)] = len(self.objects)
            self.objects.append(value)
        return self.numbers[id(value)]

    def refer(self, value):
        if isinstance(value, type) and issubclass(value, BaseException):
            return {"error": [self.number(value), value.__name__, self.values.portable(value.__base__)]}
        return {"object": [self.number(value), *self.values.held(value)]}

    def resolve(self, name, parts):
        if name == "object":
            return self.objects[parts[0]]
        if name == "name":
            return self.name(*parts)
        if name == "iterator":
            return iter(lambda: next(iter(self.ask_back(parts[0], [], {})), LAST), LAST)
        return self.borrowed(*parts)

    def borrowed(self, number, name):
        """A stand-in for a function of the tests."""
        def function(*args, **words):
            return self.ask_back(number, args, words)
        function.__name__ = function.__qualname__ = name
        return function

    def begin(self, imports, classes, names):
        """Runs imports and classes of the tests, given as code. Returns those of the names that are
        not plain values, and which of the classes could be made.
        """
        for code in imports:
            imported = {}
            try:
                exec(marshal.loads(code), imported)
            except Exception:
                continue  # the tests import it for themselves, and fail there
            for name in imported.keys() - {"__builtins__"}:
                self.names.setdefault(name, imported[name])
        found = {name: self.names[name] for name in names if name in self.names and not is_plain(self.names[name])}
        return found, [self.is_made(code) for code in classes]

    def is_made(self, code):
        try:
            exec(marshal.loads(code), self.names)
        except Exception:
            return False
        return True

    def name(self, name):
        if name not in self.names:
            raise NameError(f"name '{name}' is not defined")
        return self.names[name]

    def call(self, function, args, words):
        """Calls a function. Returns the result, and the arguments if the call has changed them."""
        if not any(isinstance(value, MUTABLE) or isinstance(value, tuple) for value in [*args, *words.values()]):
            return function(*args, **words), None
        before = self.values.encode([args, words])
        result = function(*args, **words)
        return result, None if self.values.encode([args, words]) == before else [args, words]

    def special(self, name, *operands):
        return SPECIAL[name](*operands)

    def kept(self, name, *operands):
        """Applies an operation whose result stays here, whatever its type."""
        return SPECIAL[name](*operands)

    def answer(self, request):
        try:
            verb, *operands = self.values.decode(request)
            result = self.verbs[verb](*operands)
            if verb == "kept":
                return self.values.encode(["value"]).replace(b"]", b"," + write_json({"object": [self.number(result)]}).encode() + b"]")
            return self.values.encode(["value", list(result) if verb == "call" else result])
        except MemoryError:
            raise
        except BaseException as error:
            own = self.number(error) if type(error).__module__ != "builtins" else None
            return self.values.encode(["raised", type(error), text_of(error), list(error.args), own])

    def serve(self, until=None):
        """Answers requests until the channel ends, or until the checking process has returned from
        a function of its own.
        """
        while True:
            request = receive(self.channel, 1 << 40)
            if request is None:
                os._exit(0)  # the checks are over
            if until is not None and request.startswith(until):
                return self.values.decode(request)
            send(self.channel, self.answer(request))

    def ask_back(self, number, args, words):
        send(self.channel, self.values.encode(["callback", number, list(args), words]))
        _, kind, *result = self.serve(b'["back"')
        if kind == "raised":
            raise result[0](*result[1])
        return result[0]
