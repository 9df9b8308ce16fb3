"""The rules and habits, as `tonumpy explain`, `rules` and `habits` show them."""

import argparse
import json
import sys
from collections.abc import Iterable

from tonumpy.cli import standard_streams
from tonumpy.config import ConfigError
from tonumpy.engine.knowledge.habits import HABITS
from tonumpy.report.parts.terminal import markdown
from tonumpy.rules import all_rules
from tonumpy.suggestions import suggestion


def explain(arguments: argparse.Namespace) -> int:
    text = f"{page_asked_for(arguments.rule)}\n"
    standard_streams.write(markdown(text) if standard_streams.has_colour(sys.stdout, arguments) else text, sys.stdout)
    return 0


def page_asked_for(word: str) -> str:
    """The page of a rule, by its code or name, or of a habit: `NAME`, as `why` prints it, or `habit/NAME`."""
    rules = {name: rule for rule in all_rules() for name in (rule.code, rule.name)}
    habits = {habit.id: habit for habit in HABITS}
    name = word.lower().removeprefix("habit/")
    is_habit = name != word.lower()
    found = habits.get(name) if is_habit else rules.get(word.upper()) or rules.get(name) or habits.get(name)
    if found is not None:
        return found.page
    if is_habit:
        raise ConfigError(f"unknown habit `{name}`{suggestion(name, list(habits))}")
    raise ConfigError(f"no rule has the code or name `{word}`{suggestion(word, list(rules))}")


def list_rules(arguments: argparse.Namespace) -> int:
    if arguments.output_format == "json":
        return _print_json(
            {
                "code": rule.code,
                "name": rule.name,
                "on_by_default": rule.on_by_default,
                "preview": rule.is_preview,
                "summary": rule.summary,
                "explanation": rule.page,
            }
            for rule in all_rules()
        )
    width = max(len(rule.name) for rule in all_rules())
    lines = [f"{'code':<6}  {'name':<{width}}  default  what it finds"]
    for rule in all_rules():
        default = "preview" if rule.is_preview else "on" if rule.on_by_default else "off"
        lines.append(f"{rule.code:<6}  {rule.name:<{width}}  {default:<7}  {rule.summary}")
    return _print(lines)


def list_habits(arguments: argparse.Namespace) -> int:
    if arguments.output_format == "json":
        return _print_json(
            {
                "id": habit.id,
                "effect": "lower",
                "applies_to": habit.said_of,
                "summary": habit.summary,
                "explanation": habit.page,
            }
            for habit in HABITS
        )
    width = max(len(habit.id) for habit in HABITS)
    return _print(f"{habit.id:<{width}}  {habit.summary}" for habit in HABITS)


def _print_json(entries: Iterable[dict[str, object]]) -> int:
    return _print([json.dumps(list(entries), indent=2)])


def _print(lines: Iterable[str]) -> int:
    standard_streams.write("".join(f"{line}\n" for line in lines), sys.stdout)
    return 0
