"""The installed torch in; src/tonumpy/inference/torch_api.json out: what each public name returns, measured by calling it.

    python scripts/generate_torch_api.py [FILE]
"""

from __future__ import annotations

import collections
import itertools
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from torch_calls import Observation, Recorder, attribute_reads, database_calls
from torch_claims import Claims, OutputClaims, claims_of, claims_without_calls
from torch_generated_calls import generated_calls
from torch_names import public_attributes
from torch_stubs import signatures

TARGET = Path(__file__).parent.parent / "src/tonumpy/inference/torch_api.json"

Observations = dict[str, collections.Counter[Observation]]


def measure() -> tuple[Recorder, Observations]:
    """Every call that can be made, the same ones counted together."""
    torch.set_num_threads(1)
    recorder = Recorder()
    observations: Observations = collections.defaultdict(collections.Counter)
    for observation in itertools.chain(database_calls(recorder), attribute_reads(recorder)):
        observations[observation.name][observation] += 1
    # The database calls factories with every keyword given, and never plainly.
    enough = {name for name, seen in observations.items() if all(o.input_devices for o in seen)}
    for observation in generated_calls(recorder, signatures(recorder.names), enough):
        observations[observation.name][observation] += 1
    return recorder, observations


def api(recorder: Recorder, observations: Observations) -> dict[str, Any]:
    overloads = signatures(recorder.names)
    claims = {name: claims_of(name, list(seen), overloads.get(name, ())) for name, seen in observations.items()}
    for value, name in recorder.names.items():
        guessed = None if name in claims or not value.__doc__ else claims_without_calls(overloads.get(name, ()))
        if guessed is not None:
            claims[name] = guessed
    attributes = {name: claims.pop(f"torch.Tensor.{name}") for name in public_attributes() if f"torch.Tensor.{name}" in claims}
    attributes = {name: each for name, each in attributes.items() if each.results[0].outputs[0].kind != "NoneType"}
    return {
        "torch": torch.__version__.partition("+")[0],
        "aliases": {alias: name for alias, name in recorder.aliases.items() if name in claims},
        "attributes": {name: _trimmed(_attribute(each)) for name, each in attributes.items()},
        "callables": {name: _entry(each) for name, each in claims.items()},
    }


def _attribute(claims: Claims) -> OutputClaims:
    output = claims.results[0].outputs[0]
    # Memory that an attribute hands out is somebody's, though it need not be the tensor's own: that of `.grad` is not.
    return output._replace(memory=None) if output.memory == "new" else output


def _entry(claims: Claims) -> dict[str, Any]:
    results = [
        {
            key: value
            for key, value in (
                ("when", result.when),
                ("container", result.container),
                ("fields", result.fields),
                ("outputs", [_trimmed(output) for output in result.outputs]),
            )
            if value
        }
        for result in claims.results
    ]
    extra = claims._asdict()
    del extra["results"]
    return {"results": results} | {key: value for key, value in extra.items() if value}


def _trimmed(values: Sequence[Any]) -> list[Any]:
    trimmed = list(values)
    while trimmed[-1] is None:
        trimmed.pop()
    return trimmed


def dump(facts: Mapping[str, Any]) -> str:
    """One entry a line, so that a diff shows which facts changed."""
    sections = []
    for key, value in facts.items():
        if isinstance(value, dict):
            lines = [f"{json.dumps(name)}: {json.dumps(value[name], separators=(',', ':'))}" for name in sorted(value)]
            sections.append(f"{json.dumps(key)}: {{\n" + ",\n".join(lines) + "\n}")
        else:
            sections.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(sections) + "\n}\n"


def main() -> None:
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    recorder, observations = measure()
    target.write_text(dump(api(recorder, observations)))
    calls = sum(sum(seen.values()) for seen in observations.values())
    print(f"{target}: {len(observations)} names from {calls} calls")


if __name__ == "__main__":
    main()
