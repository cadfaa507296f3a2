// Checks of Python programs: what is compared where, what crosses between the two processes, and
// what a program can do about it.
#include "sandbox/sandbox.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace rollcall::sandbox {
namespace {

const Sandbox& sandbox() {
  static const Sandbox sandbox({.limits = {.cpu_s = 1,
                                           .wall_s = 15,
                                           .memory = 256 << 20,
                                           .output = 1 << 16,
                                           .files = 1 << 20,
                                           .processes = 8},
                                .workers = 1});
  return sandbox;
}

/// "passed 3/3", "failed 1/3 at 2: expected 6, got 5"; what the program compared itself in
/// brackets.
std::string checked(const std::string& code, const std::string& checks) {
  const Outcome o = sandbox().run(python(code, checks));
  std::string said =
      fmt::format("{} {}/{}", name_of(o.end), o.counts.checks_passed, o.counts.checks);
  if (o.counts.first_failed > 0) said += fmt::format(" at {}", o.counts.first_failed);
  if (!o.reason.empty()) said += ": " + o.reason;
  if (o.counts.by_program > 0) said += fmt::format(" ({} by the program)", o.counts.by_program);
  return said;
}

constexpr const char* kThree = "assert f(1) == 2\nassert f(2) == 3\nassert f(3) == 5";

TEST(Checks, EachAssertIsATest) {
  EXPECT_EQ(checked("f = [0, 2, 3, 5].__getitem__", kThree), "passed 3/3");
  EXPECT_EQ(checked("f = lambda x: x + 1", kThree), "failed 2/3 at 3: expected 5, got 4");
  EXPECT_EQ(checked("def f(x): return 1 / (x - 2)", kThree),
            "failed 0/3 at 1: expected 2, got -1.0");
  // no assert, so it counts after them
  EXPECT_EQ(
      checked("f = lambda x: x", "assert f(1) == 1\nf(1, 2)\nassert f(3) == 3"),
      "failed 1/3 at 3: \"TypeError: <lambda>() takes 1 positional argument but 2 were given\"");
  EXPECT_EQ(checked("f = lambda x: x", "assert f(1) == 2, 'say\\n'"),
            "failed 0/1 at 1: \"AssertionError: say\\n\"");
  EXPECT_EQ(checked("f = lambda x: x", "assert f(2) < 1"), "failed 0/1 at 1: 2 < 1 does not hold");
  EXPECT_EQ(checked("f = 1", "x = 1"),
            "sandbox_error 0/0: the tests of the prompt check nothing, or are no Python");
  EXPECT_EQ(checked("f = 1", "import no_such_module\nassert f == 1").substr(0, 60),
            "sandbox_error 0/0: the tests of the prompt cannot be run her");
}

/// Right programs in the forms that test sets have, each with its checks.
constexpr const char* kRight[][2] = {
    {"def f(x): return x + 1",
     "METADATA = {}\ndef check(candidate):\n  assert candidate(1) == 2\n  for i in range(9):\n    assert candidate(i) is not i\ncheck(f)"},
    {"def f(x): return 0.1 * x",
     "import math\nassert math.isclose(f(3), 0.3)\nassert abs(f(3) - 0.3) < 1e-9\nassert round(f(3), 3) == 0.3"},
    // the tests' imports are the program's, too
    {"def f(a): return math.sqrt(a)", "import math\nassert f(4) == math.sqrt(4)"},
    {"def f(x): return [x, True, None]",
     "assert f(1) == [1, 1.0, None]\nassert f(0)[1] is True and f(0)[2] is None\nassert 1 in f(1) and not 5 in f(1)"},
    // a built-in name may be the program's
    {"def sum(a, b): return a - b", "assert sum(3, 1) == 2"},
    {"def f(l): l.sort()\ndef g(d): d['x'].append(1); return d",
     "l = [2, 1]\nf(l)\nassert l == [1, 2]\nd = {'x': []}\ne = d['x']\nassert g(d) == d\nassert e == [1]"},
    {"n = 0\ndef f():\n  global n; n += 1\n  return n",
     "assert f() == 1\nassert f() == 2\nassert n == 2"},
    {"from collections import *\ndef f(s): return Counter(s)\ndef g(): return defaultdict(int, a=1)",
     "assert f('aab') == {'a': 2, 'b': 1}\nassert g() == {'a': 1}"},
    {"class E(ValueError):\n  def __init__(s, v): s.v = v\ndef f(x): raise E(x)",
     "try:\n  f(3)\n  assert False\nexcept E as e:\n  assert e.v == 3\ntry: f(1)\nexcept ValueError: pass"},
    {"class S:\n  def __init__(s): s.v = []\n  def push(s, x): s.v.append(x); return s\n  def __len__(s): return len(s.v)\n  def __iter__(s): return iter(s.v)",
     "s = S()\nassert len(s.push(1).push(2)) == 2\nassert s.v == [1, 2]\nassert list(s) == [1, 2] and isinstance(s, S)"},
    {"def f(g, l): return [g(x) for x in l]\ndef h(n): return lambda x: x + n",
     "assert f(lambda x: 2 * x, [1]) == [2]\nassert f(str, (i for i in [1])) == ['1']\nassert h(1)(2) == 3"},
    {"def f():\n  i = 0\n  while True:\n    yield i; i += 1",
     "from itertools import islice\nassert list(islice(f(), 3)) == [0, 1, 2]\nassert next(f()) == 0"},
    {"def depth(t): return 1 + max(depth(t.l), depth(t.r)) if t else 0",
     "class T:\n  def __init__(s, l=None, r=None): s.l, s.r = l, r\nassert depth(T(T(), None)) == 2"},
    {"def f(n): print('Hi ' + n)",
     "import io, contextlib\nb = io.StringIO()\nwith contextlib.redirect_stdout(b):\n  f('A')\nassert b.getvalue() == 'Hi A\\n'"},
    {"async def f(x): return x + 1",
     "import asyncio\nassert asyncio.run(f(1)) == 2\nasync def g(): assert await f(2) == 3\nasyncio.run(g())"},
    {"def f(x): return x",
     "from solution import f as g\nimport solution\nassert g(1) == 1 and solution.f(2) == 2"},
    {"def f(x): return x",
     "import random\ndef ref(x): return x\nfor _ in range(5):\n  v = random.random()\n  assert f(v) == ref(v), v"},
    {"def memo(g):\n  import functools\n  return functools.lru_cache(None)(g)",
     "calls = []\n@memo\ndef sq(x):\n  calls.append(x)\n  return x * x\nassert sq(3) == sq(3) == 9\nassert calls == [3]"},
};

TEST(Checks, RightProgramsPass) {
  for (const auto& [code, checks] : kRight)
    EXPECT_EQ(checked(code, checks).substr(0, 6), "passed") << code << "\n"
                                                            << checks << "\n"
                                                            << checked(code, checks);
}

TEST(Checks, TwoObjectsOfTheProgramAreComparedByIt) {
  const char* point =
      "class P:\n  def __init__(s, x): s.x = x\n  def __eq__(s, o): return s.x == o.x\n  def __mul__(s, k): return P(s.x * k)";
  EXPECT_EQ(
      checked(
          point,
          "assert P(1) == P(1)\nassert P(1).x == 1\nassert P(2) * 3 == P(6)\nassert (P(2) * 3).x == 6"),
      "passed 4/4 (2 by the program)");
  EXPECT_EQ(checked(point, "assert P(1) == 1"),
            "failed 0/1 at 1: expected 1, got an object of the program");
}

/// Programs that pass the checks beside them in one process with them. Here none does, and each is
/// decided.
constexpr const char* kForged[][2] = {
    {"class T:\n  def __eq__(s, o): return True\n  __contains__ = __lt__ = __gt__ = __eq__\n  def __iter__(s): return iter([])\ndef f(x): return T()",
     "assert f(1) == 2\nassert 2 == f(1)\nassert f(1) in [2]\nassert 2 in f(1)\nassert [f(1)] == [2]\nassert f(1) < 2\nassert f(1) is True"},
    {"class T:\n  def __sub__(s, o): return 0.0\n  __rsub__ = __round__ = __mod__ = __sub__\n  def __abs__(s): return 0.0\ndef f(x): return T()",
     "assert abs(f(1) - 2.5) < 1e-6\nassert abs(2.5 - f(1)) < 1e-6\nassert round(f(1) - 2.5) == 0\nassert not f(1) - 2.5\nassert float(f(1) - 2.5) == 0"},
    {"class T(float):\n  def __eq__(s, o): return True\n  def __sub__(s, o): return 0.0\ndef f(x): return T(9)",
     "assert f(1) == 2.5\nassert abs(f(1) - 2.5) < 1e-6"},
    {"class T(list):\n  def __len__(s): return 3\n  def __eq__(s, o): return True\ndef f(x): return T()",
     "assert f(1) == [1, 2, 3]\nassert f(2) == []  and f(1) == [1]"},
    {"import ast, builtins, json, marshal, math, operator\nmath.isclose = operator.eq = lambda *a, **k: True\nbuiltins.abs = lambda x: 0\nast.parse = json.loads = None\ndef f(x): return 0",
     "import math\nassert math.isclose(f(1), 2)\nassert f(1) == 2\nassert abs(f(1) - 2) < 1e-6"},
    {"import math\nmath.isclose = lambda *a: True\ndef abs(x): return 0\ndef sorted(x): return [1]\ndef f(x): return 5",
     "assert math.isclose(f(1), 2)\nassert abs(f(1) - 2) < 1e-6\nassert sorted([f(1)]) == [1]"},
    {"import __main__\n__main__.run_checks = __main__.Checks = lambda *a: (1, 1, 0)\n__main__.Answers.answer = lambda s, r: b'[\"value\",[2,null]]'[:9]\ndef f(x): return 0",
     "assert f(1) == 2"},
    {"expected = 1\nimport sys\ndef f(x):\n  g = sys._getframe()\n  while g:\n    if 'expected' in g.f_locals and g.f_locals['expected'] == 7: return 7\n    g = g.f_back",
     "expected = 7\nassert f(1) == expected"},
    {"import gc\nhit = lambda v: type(v) is int and v - 7000 == 177\ndef f(x):\n  for o in gc.get_objects():\n    for v in list(o.values()) if type(o) is dict else o "
     "if type(o) in (tuple, list) else []:\n      if hit(v): return v\n  return 0",
     "assert f(1) == 7177"},
    {"def check(c): pass\ndef f(x): return 0",
     "def check(candidate):\n  assert candidate(1) == 2\ncheck(f)"},
    {"def f(x): raise SystemExit(0)", "assert f(1) == 2"},
    {"def f(x): raise KeyboardInterrupt", "assert f(1) == 2"},
    {"import os\ndef f(x): os._exit(0)", "assert f(1) == 2"},
    {"import os\nos._exit(0)", "assert f(1) == 2"},
    {"raise SystemExit", "assert f(1) == 2"},
    {"import builtins\nbuiltins.AssertionError = Warning\ndef f(x): return 0", "assert f(1) == 2"},
    // its parent is 0: its own group, itself
    {"import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\ndef f(x): return 0",
     "assert f(1) == 2"},
    {"import os\nfor d in range(3, 99):\n  try: os.write(d, b'e' + b'\\1\\0\\0\\0' * 4)\n  except OSError: pass\ndef f(x): return 0",
     "assert f(1) == 2"},
    {"import os\nfor d in range(3, 99):\n  try: os.write(d, b'broken: x')\n  except OSError: pass\ndef f(x): return 0",
     "assert f(1) == 2"},
    {"import os\nfor d in range(3, 99):\n  try: os.write(d, b'u' + b'\\0' * 16 + b'x')\n  except OSError: pass\nos._exit(0)",
     "assert f(1) == 2"},
    {"import os\nos.closerange(0, 99)\ndef f(x): return 2", "assert f(1) == 2"},
    {"import os\nos.execv('/bin/sh', ['sh', '-c', 'cat <&4 >&4'])", "assert f(1) == 2"},
    {"import sys\nsys.maxsize = 0\ndef f(x): return 0", "import sys\nassert f(1) == sys.maxsize"},
    {"def f(x):\n  l = []\n  l.append(l)\n  return l", "assert f(1) == [1]"},
    {"def f(x):\n  l = []\n  for i in range(99999): l = [l]\n  return l", "assert f(1) == [1]"},
    {"def f(x): return 'x' * (17 << 20)", "assert f(1) == 2"},
    {"def f(x): return set(i * ((1 << 61) - 1) for i in range(1, 50000))", "assert f(1) == 2"},
};

TEST(Checks, NothingThatAProgramReachesDecides) {
  for (const auto& [code, checks] : kForged) {
    const Outcome o = sandbox().run(python(code, checks));
    EXPECT_TRUE(o.end != End::passed && o.end != End::sandbox_error && o.counts.checks_passed == 0)
        << code << "\n"
        << checks << "\n"
        << checked(code, checks);
  }
}

/// Whatever a program writes to the channel, framed or not: it is a value at best, and never a
/// verdict.
RC_GTEST_PROP(Checks, NoBytesAreAVerdict, ()) {
  const auto alphabet = std::string("[]{}\",:0123 evalucbkrisdopjtxn-\\\"");
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(alphabet));
  const auto start = *rc::gen::elementOf(
      std::vector<std::string>{"", "[\"value\",", "[\"raised\",", "[\"callback\",0,",
                               "[\"value\",{\"object\":", "[\"value\",{\"error\":"});
  std::string bytes;
  for (const char c : start + text)
    bytes += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  const bool framed = *rc::gen::arbitrary<bool>();
  const std::string code =
      fmt::format("import os, struct\nm = b'{}'\nos.write(4, {})\ndef f(x): return 0\n", bytes,
                  framed ? "struct.pack('Q', len(m)) + m" : "m.ljust(8)");
  const Outcome o = sandbox().run(python(code, "assert f(1) == 7177"));
  RC_ASSERT(o.end == End::failed);
}

/// Values of built-in types come and go unchanged, type by type.
TEST(Checks, ValuesTravelUnchanged) {
  EXPECT_EQ(checked("def f(x): return x", R"(
import random, math, collections, datetime, decimal, fractions
def value(depth):
  kinds = [lambda: None, lambda: True, lambda: random.randint(-9, 9), lambda: random.getrandbits(200) - (1 << 199), lambda: random.gauss(0, 1e9), lambda: -0.0,
           lambda: math.inf, lambda: 1j, lambda: ''.join(chr(random.randrange(0x11000)) for _ in range(5)), lambda: '\ud800', lambda: bytes(range(256)),
           lambda: range(1, 9, 3), lambda: decimal.Decimal('1.10'), lambda: fractions.Fraction(1, 3), lambda: datetime.date(2020, 2, 29), lambda: int]
  nests = [list, tuple, collections.deque, lambda v: {random.random(): i for i in v}, lambda v: {(i,): 0 for i in 'ab'}, lambda v: frozenset('ab'),
           lambda v: {1, 'a', (2, 3)}, lambda v: collections.OrderedDict(a=list(v)), lambda v: collections.Counter('aab'), lambda v: bytearray(b'\0\xff')]
  return random.choice(kinds)() if depth == 0 or random.random() < 0.3 else random.choice(nests)(value(depth - 1) for _ in range(random.randrange(4)))
def same(a, b):
  if type(a) is not type(b): return False
  if isinstance(a, (list, tuple, collections.deque)): return len(a) == len(b) and all(map(same, a, b))
  if isinstance(a, dict): return list(a) == list(b) and all(map(same, a.values(), b.values()))
  return a == b if isinstance(a, (set, frozenset)) else repr(a) == repr(b)
for _ in range(200):
  v = value(3)
  assert same(f(v), v), v
)"),
            "passed 1/1");
}

}  // namespace
}  // namespace rollcall::sandbox
