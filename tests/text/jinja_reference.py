"""Templates rendered by Python's jinja2 as transformers drives it: by transformers' own function where it is installed, else by an environment of the same settings."""

import datetime
import functools
import json

import jinja2
import jinja2.ext
import jinja2.sandbox

NOW = datetime.datetime(2025, 7, 1, 9, 5, 3)  # what SOURCE_DATE_EPOCH=1751360703 says in UTC
EPOCH = "1751360703"


class Generation(jinja2.ext.Extension):
    """The tag `generation`: its body as it is, in a frame of its own."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_said"), [], [], body).set_lineno(line)

    def _said(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


class Namespace(jinja2.utils.Namespace):
    """As transformers 5 has it: names that begin with an underscore are refused."""

    def __init__(*arguments, **attributes):
        for name in dict(*arguments[1:], **attributes):
            refuse_private(name)
        jinja2.utils.Namespace.__init__(*arguments, **attributes)

    def __setitem__(self, name, value):
        refuse_private(name)
        super().__setitem__(name, value)


def refuse_private(name):
    if isinstance(name, str) and name.startswith("_"):
        raise jinja2.exceptions.SecurityError(f"Chat templates cannot store underscore-prefixed attributes on a namespace, but got {name!r}.")


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def own_environment(generation=Generation):
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[generation, jinja2.ext.loopcontrols])
    environment.filters["tojson"] = tojson
    environment.globals["raise_exception"] = raise_exception
    environment.globals["namespace"] = Namespace
    return environment


@functools.lru_cache(maxsize=16)
def compiled(source):
    try:
        from transformers.utils.chat_template_utils import _cached_compile_jinja_template as compile_template
    except ImportError:
        template = own_environment().from_string(source)
    else:
        template = compile_template(source)
    template.globals["strftime_now"] = NOW.strftime
    template.environment.globals["strftime_now"] = NOW.strftime
    return template


def messages_as_passed(messages):
    """What apply_chat_template makes of messages first, by transformers' own functions where they are there (5.24)."""
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        return messages
    try:
        from transformers.utils.chat_template_utils import _alias_reasoning_fields, _normalize_chat_messages
    except ImportError:
        pass
    else:
        return _alias_reasoning_fields(_normalize_chat_messages(messages))
    passed = []
    for message in messages:
        kept = {key: value for key, value in message.items() if value is not None}
        thought = next((kept[name] for name in ("reasoning_content", "thinking", "reasoning") if name in kept), None)
        passed.append(kept if thought is None else {"thinking": thought, **kept, "reasoning_content": thought})
    return passed


def rendered(source, variables):
    """{"output": text} or {"error": message}."""
    if "messages" in variables:
        variables = {**variables, "messages": messages_as_passed(variables["messages"])}
    try:
        return {"output": compiled(source).render(**{"messages": None, "tools": None, "documents": None, "add_generation_prompt": False, **variables})}
    except (Exception, RecursionError) as error:  # a template may fail in any way
        return {"error": f"{type(error).__name__}: {error}"}


def versions():
    import platform

    import markupsafe

    found = {"python": platform.python_version(), "jinja2": jinja2.__version__, "markupsafe": markupsafe.__version__}
    try:
        import transformers

        found["transformers"] = transformers.__version__
    except ImportError:
        pass
    return found
