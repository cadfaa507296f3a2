"""Stand-ins, in the process of the checks, for what is in the program's process.

A call hands its arguments over and brings back a value of Python's own types, or another stand-in.
So what a value is compared with never reaches the program, and the program compares nothing but two
objects of its own, which is counted.
"""
import collections, operator

NO_VALUE = "what it handed back is no value"


class Gone(BaseException):
    """The program can no longer be asked. No `except Exception` of a test catches this."""


class Remote:
    """Stands in for an object of the program. `has_seen` says that it was made with a value of the
    tests, perhaps the expected one, so its number tells nothing.
    """

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


class Named:
    """A function of the program of which only the name is known until it is called."""

    def __init__(self, program, name):
        self.program, self.name = program, name

    def __call__(self, *args, **words):
        return self.program.call(self, args, words)


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
    """An arithmetic operation. Between objects of the program it is the program's own. With a value
    of the tests, the result stays with the program, which has then seen that value.
    """
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
    """A comparison. With a value of the tests, the built-in value that the object holds is compared
    here; an object that holds none is equal to nothing. Between two objects the program decides.
    """
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
    """Gives a mutable argument the content that the call has given it; returns the value to use
    from then on.
    """
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
    """An attribute of an exception whose class is the program's."""
    if name in ("remote_text", "remote_object"):
        raise AttributeError(name)  # the tests have made it
    return getattr(error.remote_object, name)


class Program:
    """The tests' view of the program: a channel to its process."""

    def __init__(self, channel):
        self.channel, self.heard = channel, False
        self.before_large = None  # receive()
        self.gone = ""  # why nothing more can be asked
        self.decided = False  # whether the program has compared objects of its own since this was last cleared
        self.objects, self.lent, self.errors = {}, [], {}  # stand-ins by number; functions that the program may call; classes of its exceptions by number
        self.values = Values(self.refer, self.resolve)

    def refer(self, value):
        if isinstance(value, Remote):
            return {"object": [value.remote_number]}
        if isinstance(value, Named):
            return {"name": [value.name]}
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
            message = receive(self.channel, MOST, self.before_large)
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
