"""Templates that would work without end or fill the memory are refused, each in one sentence."""

import re
from contextlib import suppress

import pytest
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.jinja.environment import MOST_SOURCE
from rolellm_agents.models.llamacpp.template import ChatTemplate, Turn

TALK: list[Turn] = [{"role": "user", "content": "Who are you?"}]
HOSTILE = r"""
{% for i in range(10**9) %}xEND
MANY {% for j in range(99999) %}ENDEND
MANY {% for j in range(99999) if false %}ENDEND
{{ 'x' * 10**9 }}
{{ 'x' * 1000000000 }}
{{ 1000000000 * 'x' }}
{{ ['x'] * 1000000000 }}
{{ '%*d' % (10**9, 1) }}
{{ '%1000000000d' % 1 }}
{{ '%(a)1000000000s' % {'a': 1} }}
{{ 'x'|center(10**9) }}
{{ 'x'|center(1000000000) }}
{{ 'x'.center(1000000000) }}
{{ 'x'.zfill(1000000000) }}
{{ 'x'.ljust(99999).ljust(1000000000) }}
{{ '\t'.expandtabs(1000000000) }}
{{ '{:1000000000}'.format(1) }}
{{ '{:{w}}'.format(1, w=1000000000) }}
{{ '{0:>{1}}'.format(1, 1000000000) }}
{{ ('\t' * 90000).expandtabs(90000) }}
{{ ('\n' * 90000)|indent(90000) }}
{{ ('a' * 90000)|replace('a', 'b' * 90000) }}
{{ ('a' * 90000).replace('a', 'b' * 90000) }}
{{ ('a' * 90000)|join('b' * 90000) }}
{{ ('b' * 90000).join('a' * 90000) }}
{{ ('b' * 90000).join(range(90000)|map('string')) }}
{{ 10**100000 }}
{{ (2**4000 * 2**4000)|string }}
TEXT {% set ns.x = ns.x + ns.x %}END
TEXT {% set ns.x = ns.x ~ ns.x %}END
TEXT {% set ns.x %}{{ ns.x }}{{ ns.x }}{% endset %}END
LIST {% set ns.x = ns.x + ns.x %}END
LIST {% set ns.x = [ns.x, ns.x] %}END{{ ns.x }}
LIST {% set ns.x = [ns.x, ns.x] %}END{{ ns.x|tojson }}
LIST {% set ns.x = {'a': ns.x, 'b': ns.x} %}END{{ ns.x|string }}
LISTS {% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}END{{ ns.x == ns.y }}
PAIRS {{ {ns.x: 1} }}
PAIRS {{ {}[ns.x] }}
PAIRS {{ {}.get(ns.x) }}
PAIRS {{ ns.x in {} }}
PAIRS {{ [ns.x]|unique|list }}
PAIRS {{ '%s' % ns.x }}
PAIRS {{ '{}'.format(ns.x) }}
TUPLE {% set ns.x = [undefined1, undefined2]|map('default', ns.x)|list %}END{{ ns.x }}
TUPLE {% set ns.x = dict(a=ns.x, b=ns.x) %}END{{ ns.x.items() }}
ONE {% set ns.x = ns %}{{ ns }}
ONE {% set ns.x = [ns, ns] %}{{ ns.x }}
ONE {% set ns.x = ns %}{{ ns|string }}
ONE {% set ns.x = ns %}{{ '{0.x.x}'.format(ns) }}
{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}
{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}
{% for i in [1] recursive %}{{ loop([1]) }}END
{% for i in [[1], [1]] recursive %}{{ loop([1, 1]) }}END
{% block a %}{{ self.a() }}{{ self.a() }}{% endblock %}
{% macro f() %}{{ caller() }}{% endmacro %}{% call f() %}MANY MANY .ENDEND{% endcall %}
{{ lipsum(n=100000000) }}
{{ range(99999)|batch(1)|map('list')|map('batch', 99999, 'x')|list }}
{{ range(99999)|slice(1000000000)|list }}
{{ ['x']|batch(1000000000, 'y')|list }}
MANY {% for j in range(99999)|map('string')|list %}ENDEND
MANY {% set x = range(99999)|list|sort|reverse|list %}END
{% set x = 'x' * 3000000 %}MANY {% set y = x[1:] %}END
{% set x = 'x' * 3000000 %}MANY {{ x[1:] }}END
{% set x = 'x' * 3000000 %}MANY {% if 'y' in x %}{% endif %}END
{% set x = 'x' * 3000000 %}MANY {% if x is lower %}{% endif %}END
{% set x = 'x ' * 1500000 %}MANY {% set y = x.split() %}END
{% set x = 'x ' * 1500000 %}MANY {% set y = x.count('y') %}END
{% set x = range(99999)|list %}MANY {% set y = x.index(99998) %}END
{% set x = range(99999)|list %}MANY {% set y = 99998 in x %}END
{% set x = range(99999)|list %}MANY {% set y = x + [1] %}END
{% for c in 'x' * 3000000 %}{% for c in 'x' * 3000000 %}ENDEND
{{ (1).to_bytes(1000000000, 'big') }}
{{ [[1]]|tojson(indent=1000000000) }}
{{ [[1]]|tojson(indent='x' * 3000000) }}
EMPTY {% set ns.x = [ns.x, 1, 1, 1] %}END{{ ns.x|tojson(indent=99999) }}
EMPTY0 MANY {% set ns.x = [ns.x] %}END{{ ns.x }}
{{ 1 / 0 }}
{{ 'x' + 1 }}
{{ nothing.at.all }}
{% include 'x' %}
{% extends 'x' %}
{% import 'x' as y %}
{{ raise_exception('No.') }}
{{ strftime_now('%Y' * 1000000) }}
{{ ''.__class__.__mro__ }}
{{ messages.append(1) }}
{{ messages|map('center', 1000000000)|list }}
{{ 'x'|attr('center')(1000000000) }}
{{ ['x']|map(attribute='center')|first(1000000000) }}
{{ 'x'.encode().center(1000000000) }}
{{ 'x'.translate({120: 'x' * 3000000}) }}
{{ cycler('x').next() * 1000000000 }}
{% autoescape true %}{{ '<' * 4100000 }}{% endautoescape %}
{{ (2**4095).__str__ }}
{{ 1e308 * 10 ** 400 }}
{{ (1,) * 1000000000 }}
{{ 'abc'|sum }}
{% filter indent(1000000000) %}x{% endfilter %}
{% for i in range(500) %}{% set x = 'x' * 3000000 %}END
{{ messages|groupby('role', default=[1]*10**9) }}
""".strip().splitlines()
"""Each on a line of its own; words in capitals stand for parts that occur often."""
PARTS = {
    "PAIRS ": "TUPLE {% set ns.x = (ns.x, ns.x) %}END",
    "MANY ": "{% for i in range(99999) %}",
    "TEXT ": "{% set ns = namespace(x='x') %}{% for i in range(64) %}",
    "LIST ": "{% set ns = namespace(x=['x']) %}{% for i in range(64) %}",
    "LISTS ": "{% set ns = namespace(x=['x'], y=['x']) %}{% for i in range(40) %}",
    "TUPLE ": "{% set ns = namespace(x=('x',)) %}{% for i in range(40) %}",
    "ONE ": "{% set ns = namespace(x=1) %}",
    "EMPTY ": "EMPTY0 {% for i in range(60) %}",
    "EMPTY0 ": "{% set ns = namespace(x=[]) %}",
    "END": "{% endfor %}",
}
NESTED = {
    "parentheses": "{{ " + "(" * 5_000 + "1" + ")" * 5_000 + " }}",
    "lists": "{{ " + "[" * 5_000 + "]" * 5_000 + " }}",
    "loops": "{% for i in range(9) %}" * 30 + "x" + "{% endfor %}" * 30,
    "conditions": "{% if 1 %}" * 3_000 + "{% endif %}" * 3_000,
    "attributes": "{{ a" + ".a" * 50_000 + " }}",
    "sums": "{{ 1" + "+1" * 50_000 + " }}",
}
LONG = {
    "too long": "x" * (MOST_SOURCE + 1),
    "long text in loops": "{% for i in range(99999) %}" + "y" * 100_000 + "{% endfor %}",
    "long list in a loop": "{% for i in range(99999) %}{% set x = [" + "1," * 50_000 + "] %}{% endfor %}",
}


def written_out(source: str) -> str:
    for part, meaning in PARTS.items():
        source = source.replace(part, meaning)
    return source


def rendered(source: str, talk: list[Turn] = TALK) -> str:
    return ChatTemplate(source, bos="<B>", eos="<E>").render(talk)


def refused(source: str) -> str:
    with pytest.raises(ModelError) as told:
        rendered(source)
    sentence = str(told.value)
    assert re.match(r"The model's chat template (refuses this conversation|cannot be read): \S", sentence)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert len(sentence) < 400
    return sentence


@pytest.mark.parametrize("source", HOSTILE)
def test_a_hostile_template_is_refused(source: str) -> None:
    refused(written_out(source))


@pytest.mark.parametrize("source", [*NESTED.values(), *LONG.values()], ids=[*NESTED, *LONG])
def test_a_template_that_is_nested_too_deeply_or_too_long_is_refused(source: str) -> None:
    refused(source)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", "works longer"),
        ("{{ 'x' * 10**9 }}", "far larger than the conversation"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "calls itself without end"),
        ("{{ '%99999d' % 1 }}", "to a width that no conversation needs"),
        ("{{ 'x'.center(10**9) }}", "uses the number 1000000000 as a size"),
    ],
)
def test_the_sentence_says_why(source: str, why: str) -> None:
    assert why in refused(source)


def test_whether_it_is_refused_does_not_depend_on_the_machine() -> None:
    """The same number of steps each time: the last that is allowed, and one more."""

    def steps(count: int) -> str:
        return "{% for i in range(COUNT) %}{% for j in range(1000) %}{% endfor %}{% endfor %}".replace(
            "COUNT", str(count)
        )

    def is_refused(count: int) -> bool:
        try:
            rendered(steps(count))
        except ModelError:
            return True
        return False

    low, high = 1, 10_000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_refused(middle) else (middle, high)
    assert 100 < low < 1_000
    for _ in range(3):
        assert (is_refused(low), is_refused(high)) == (False, True)


def test_the_budget_grows_with_the_conversation() -> None:
    """A loop in a loop over the messages is what some templates have."""
    source = "{% for a in messages %}{% for b in messages %}{% endfor %}{{ a.content }}{% endfor %}"
    talk = [{"role": "user", "content": "A line of some length, as people write it. " * 10}] * 1_500
    assert len(rendered(source, talk)) == sum(len(turn["content"]) for turn in talk)
    assert (
        len(
            rendered(
                "{{ messages[0].content + messages[0].content }}",
                [{"role": "user", "content": "x" * 5_000_000}],
            )
        )
        == 10_000_000
    )


def test_what_templates_use_has_the_results_of_jinja() -> None:
    source = (
        "{% set ns = namespace(n=0) %}{% for m in messages if m.role != 'system' %}"
        "{% set ns.n = ns.n + 1 %}{{ loop.index0 }}{{ m.content.split('w')[0] ~ ns.n }}|{% endfor %}"
        "{{ messages[::-1]|map(attribute='role')|join(', ') }} {{ '%s-%d' % ('a', 5) }} "
        "{{ '{:>4}'.format(7) }} "
        "{{ {'b': [1, 2], 'a': none}|tojson }} {{ 2 ** 10 * 3 % 7 }} {{ ['b', 'a']|sort|list }} "
        "{{ 'abc'[1:] }} {{ 'b' in 'abc' }} {{ [1, 2] + [3] }} {{ undefined_name|default('d') }} "
        "{{ 'x y'|title|replace('X', 'Z') }} {{ ('a\\nb')|indent(2) }} {{ 3 > 2 }} "
        "{{ dict(a=1).items()|list }}"
    )
    talk = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "a w b"},
        {"role": "assistant", "content": "c"},
    ]
    assert rendered(source, talk) == (
        "0a 1|1c2|assistant, user, system a-5    7 "
        "{\"b\": [1, 2], \"a\": null} 6 ['a', 'b'] bc True [1, 2, 3] d Z Y a\n  b True [('a', 1)]"
    )


VALUES = st.sampled_from(
    [
        "ns.x",
        "ns.y",
        "'ab'",
        "7",
        "99999",
        "10**9",
        "[ns.x, ns.y]",
        "(ns.x, ns.x)",
        "{'a': ns.x, 'b': ns.y}",
        "messages",
        "range(99999)",
        "'\\n\\t%s{}'",
        "nothing",
    ]
)
EXPRESSIONS = st.recursive(
    VALUES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "*", "~", "%", "**", "-", "==", "in", "<"]), inner).map(
            lambda parts: f"({' '.join(parts)})"
        ),
        st.tuples(
            inner,
            st.sampled_from(
                [
                    "string",
                    "list",
                    "tojson",
                    "join(ns.y)",
                    "replace('a', ns.x)",
                    "indent(9999)",
                    "batch(999)|list",
                    "map('string')|list",
                    "sort",
                    "unique|list",
                    "center(10**9)",
                    "tojson(indent=999)",
                    "length",
                    "map('replace', 'a', ns.x)|list",
                    "default(ns.y)",
                    "items|list",
                    "groupby(0)",
                    "first",
                ]
            ),
        ).map(lambda parts: f"({parts[0]}|{parts[1]})"),
        st.tuples(
            inner,
            st.sampled_from(
                [
                    "[1:]",
                    ".split()",
                    ".join(ns.y)",
                    ".replace('a', ns.x)",
                    ".center(99999)",
                    ".format(ns.x, ns.y)",
                    ".expandtabs(9999)",
                    ".count(ns.y)",
                    ".items()",
                    "[ns.x]",
                    ".get(ns.x)",
                    ".encode()",
                ]
            ),
        ).map(lambda parts: f"({parts[0]}{parts[1]})"),
    ),
    max_leaves=6,
)
STATEMENTS = st.one_of(
    EXPRESSIONS.map(lambda one: f"{{% set ns.x = {one} %}}"),
    EXPRESSIONS.map(lambda one: f"{{% set ns.y = {one} %}}"),
    EXPRESSIONS.map(lambda one: f"{{{{ {one} }}}}"),
    EXPRESSIONS.map(lambda one: f"{{% set ns.x %}}{{{{ {one} }}}}{{{{ ns.x }}}}{{% endset %}}"),
    EXPRESSIONS.map(lambda one: f"{{% if {one} %}}x{{% endif %}}"),
)


def _looped(body: tuple[list[str], str, str]) -> str:
    statements, over, condition = body
    return f"{{% for i in {over} {condition} %}}{''.join(statements)}{{% endfor %}}"


BODIES = st.recursive(
    STATEMENTS,
    lambda inner: st.tuples(
        st.lists(inner, min_size=1, max_size=4),
        st.sampled_from(["range(3)", "range(60)", "range(99999)", "ns.x", "ns.y"]),
        st.sampled_from(["", "if false", "if ns.x == ns.y"]),
    ).map(_looped),
    max_leaves=8,
)


@given(st.lists(BODIES, min_size=1, max_size=4))
@examples(0.5)
def test_no_template_of_growing_parts_gets_far(bodies: list[str]) -> None:
    """It would run out of the test's time or of memory if a part cost less than it does."""
    start = "{% set ns = namespace(x='ab', y=['ab', 'b']) %}"
    source = start + "".join(bodies)
    with suppress(ModelError):
        assert len(rendered(source)) < 64_000_000


def test_a_template_takes_no_more_memory_than_its_budget() -> None:
    """Many large values at once: each is allowed, all together are not."""
    parts = "".join(f"{{% set x{number} = 'x' * 3900000 %}}" for number in range(200))
    assert "works longer" in refused(parts)
