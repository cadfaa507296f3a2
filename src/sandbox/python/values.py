"""Values that cross between a program's process and the one that checks it, as JSON of values of
Python's own types.

A value of any other type stays where it is: `refer` gives it a name and `resolve` finds it again. What a program sends is data to the other side: no name in it
is looked up but in ROWS and among the built-in types, and nothing in it is evaluated.
"""
import builtins, collections, datetime, decimal, fractions, json, os, re, struct

MOST = 16 << 20  # bytes of one message; longer ones count as none
LARGE_MESSAGE = 64 << 10  # bytes
ATOMS = frozenset((type(None), bool, str, float))  # JSON has them as Python does, nan, -0.0 and lone surrogates included
LARGE = 1 << 63  # integers beyond it travel in hexadecimal: reading decimal digits is quadratic, and limited


def pairs(value):
    return [[key, item] for key, item in value.items()]


# Name in JSON, type, what it is made into, what makes it again.
ROWS = [
    ("tuple", tuple, list, tuple),
    ("dict", dict, pairs, dict),
    ("set", set, list, set),
    ("frozenset", frozenset, list, frozenset),
    ("bytes", bytes, lambda value: value.decode("latin-1"), lambda text: text.encode("latin-1")),
    ("bytearray", bytearray, lambda value: value.decode("latin-1"), lambda text: bytearray(text.encode("latin-1"))),
    ("complex", complex, lambda value: [value.real, value.imag], lambda parts: complex(*parts)),
    ("range", range, lambda value: [value.start, value.stop, value.step], lambda parts: range(*parts)),
    ("keys", type({}.keys()), list, lambda items: dict.fromkeys(items).keys()),
    ("values", type({}.values()), list, lambda items: dict(enumerate(items)).values()),
    ("items", type({}.items()), list, lambda items: dict(items).items()),
    ("Counter", collections.Counter, pairs, lambda items: collections.Counter(dict(items))),
    ("OrderedDict", collections.OrderedDict, pairs, collections.OrderedDict),
    ("defaultdict", collections.defaultdict, lambda value: [value.default_factory, pairs(value)], lambda parts: collections.defaultdict(*parts)),
    ("deque", collections.deque, lambda value: [list(value), value.maxlen], lambda parts: collections.deque(*parts)),
    ("Decimal", decimal.Decimal, str, decimal.Decimal),
    ("Fraction", fractions.Fraction, lambda value: [value.numerator, value.denominator], lambda parts: fractions.Fraction(*parts)),
    ("date", datetime.date, datetime.date.isoformat, datetime.date.fromisoformat),
    ("time", datetime.time, datetime.time.isoformat, datetime.time.fromisoformat),
    ("datetime", datetime.datetime, datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    ("timedelta", datetime.timedelta, lambda value: [value.days, value.seconds, value.microseconds], lambda parts: datetime.timedelta(*parts)),
    ("pattern", re.Pattern, lambda value: [value.pattern, value.flags], lambda parts: re.compile(*parts)),
]
PARTS_OF = {kind: (name, parts) for name, kind, parts, _ in ROWS}
MADE_OF = {name: made for name, _, _, made in ROWS}
COMMON = frozenset("tuple dict set frozenset bytes complex int type".split())  # rows that make nothing that lasts
MUTABLE = (list, dict, set, bytearray, collections.deque)

# What a subclass of a built-in type holds as that type, whatever its methods say.
HELD_AS = [
    (int, int.__int__), (float, float.__float__), (str, str.__str__), (bytes, lambda value: bytes.__getitem__(value, slice(None))),
    (tuple, lambda value: tuple(tuple.__iter__(value))), (list, lambda value: list(list.__iter__(value))), (dict, lambda value: dict(dict.items(value))),
    (set, lambda value: set(set.__iter__(value))), (frozenset, lambda value: frozenset(frozenset.__iter__(value))),
]
OF_NAMED_TUPLES = frozenset(vars(collections.namedtuple("Named", ""))) | {"__annotations__", "__orig_bases__", "__static_attributes__", "__firstlineno__"}
named_tuples = {}
write_json = json.JSONEncoder(check_circular=False, separators=(",", ":")).encode


def is_named_tuple(kind):
    """Whether it is a named tuple without methods of its own, which would be lost."""
    fields = getattr(kind, "_fields", None)
    return kind.__bases__ == (tuple,) and isinstance(fields, tuple) and OF_NAMED_TUPLES.issuperset(vars(kind).keys() - set(fields))


def named_tuple(parts):
    name, fields, items = parts
    key = (name, *fields)
    if key not in named_tuples:
        named_tuples[key] = collections.namedtuple(name, fields)
    return named_tuples[key](*items)


def builtin_type(name):
    kind = vars(builtins)[name]
    if not isinstance(kind, type):
        raise TypeError(name)
    return kind


class Values:
    """One side's encoding. `refer(value)` gives JSON for a value without a row, `resolve(name,
    parts)` the value for such JSON.
    """

    def __init__(self, refer, resolve):
        self.refer, self.resolve = refer, resolve
        self.before_rare = None  # called before a value is made that COMMON lacks
        self.read_json = json.JSONDecoder(object_hook=self.made).decode

    def portable(self, value):
        kind = type(value)
        if kind in ATOMS:
            return value
        if kind is int:
            return value if -LARGE < value < LARGE else {"int": hex(value)}
        if kind is list:
            return [self.portable(item) for item in value]
        row = PARTS_OF.get(kind)
        if row:
            return {row[0]: self.portable(row[1](value))}
        if kind is type and vars(builtins).get(value.__name__) is value:
            return {"type": value.__name__}
        if isinstance(value, tuple) and is_named_tuple(kind):
            return {"named": [kind.__name__, list(kind._fields), self.portable(list(value))]}
        return self.refer(value)

    def made(self, tagged):
        (name, parts), = tagged.items()
        if self.before_rare and name not in COMMON:
            self.before_rare()
        if name in MADE_OF:
            return MADE_OF[name](parts)
        if name == "int":
            return int(parts, 16)
        if name == "type":
            return builtin_type(parts)
        if name == "named":
            return named_tuple(parts)
        return self.resolve(name, parts)

    def encode(self, value):
        return write_json(self.portable(value)).encode()

    def decode(self, message):
        return self.read_json(message.decode())

    def held(self, value):
        """JSON of the built-in value that an instance of a subclass holds, in a list; an empty list
        for other values.
        """
        return next(([self.portable(held(value))] for kind, held in HELD_AS if isinstance(value, kind)), [])


def send(channel, message, write=os.write):
    message = struct.pack("Q", len(message)) + message
    while message:
        message = message[write(channel, message):]


def receive(channel, most, before_large=None, read=os.read):
    """Receives a message: None at the end, an empty one in place of a message that is too long.
    `before_large` is called before a large one is read.
    """
    def exactly(count):
        parts = []
        while count > 0:
            part = read(channel, min(count, 1 << 20))
            if not part:
                return None
            parts.append(part)
            count -= len(part)
        return b"".join(parts)
    size = exactly(8)
    if size is None:
        return None
    size, = struct.unpack("Q", size)
    if before_large and size > LARGE_MESSAGE:
        before_large()
    return exactly(size) if size <= most else b""
