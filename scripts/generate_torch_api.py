"""Writes knowledge/torch_api.json, what each public name of torch returns, by calling the installed torch.

It takes some two minutes, needs numpy and expecttest besides torch, and is deterministic. What the layers of torch.nn
return, which functions keep a layout that NumPy lacks, and what the members of torch.distributions give was measured
with torch 2.13 and is kept as it stands in the file: a line for a new layer is written by hand.
"""

import argparse
import collections
import itertools
import json
import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from torch_calls import Observation, Recorder, attribute_reads, database_calls
from torch_claims import Claims, OutputClaims, claims_of, claims_without_calls, is_tensor
from torch_generated_calls import generated_calls
from torch_names import canonical_names, public_attributes
from torch_stubs import Signature, plain_keywords, signatures

TARGET = Path(__file__).parent.parent / "src/tonumpy/engine/knowledge/torch_api.json"

_DISTRIBUTIONS = "torch.distributions."
Observations = dict[str, collections.Counter[Observation]]


def measure() -> Observations:
    """Every call that can be made, the same ones counted together."""
    torch.set_num_threads(1)
    # One call seeds as often as it has samples, and for each accelerator torch would note the stack of who did.
    with patch.object(torch.random, "_manual_seed_impl", torch.default_generator.manual_seed):
        return _measure()


def _measure() -> Observations:
    recorder = Recorder()
    observations: Observations = collections.defaultdict(collections.Counter)
    for observation in itertools.chain(database_calls(recorder), attribute_reads()):
        observations[observation.name][observation] += 1
    # The database calls factories with every keyword given, and never plainly.
    enough = {name for name, seen in observations.items() if all(o.input_devices for o in seen)}
    for observation in generated_calls(recorder, signatures(recorder.names), enough):
        observations[observation.name][observation] += 1
    return dict(observations)


def api(observations: Observations) -> dict[str, Any]:
    kept = json.loads(TARGET.read_text("utf-8"))
    distributions = {name: entry for name, entry in kept["callables"].items() if name.startswith(_DISTRIBUTIONS)}
    names, aliases = canonical_names()
    overloads = signatures(names)
    claims = _claims(observations, names, overloads)
    of_attributes = {name: claims.pop(f"torch.Tensor.{name}", None) for name in public_attributes()}
    attributes = {name: _attribute(each) for name, each in of_attributes.items() if each is not None}
    everywhere = plain_keywords(overloads[name] for name in claims if name in overloads)
    tensors = _places_of_tensors(observations)
    plain = [keyword for keyword in everywhere if keyword not in tensors]
    return {
        "torch": torch.__version__.partition("+")[0],
        "aliases": {alias: name for alias, name in aliases.items() if name in claims},
        "attributes": {name: _trimmed(each) for name, each in attributes.items() if each.kind != "NoneType"},
        "modules": kept["modules"],
        "plain_keywords": plain,
        "keeping_layout": kept["keeping_layout"],
        "callables": {name: _entry(each, plain) for name, each in claims.items()} | distributions,
    }


def _places_of_tensors(observations: Observations) -> set[int | str]:
    given = itertools.chain.from_iterable(o.given for seen in observations.values() for o in seen)
    # `alpha` is given a tensor by distributions alone, of which nothing is measured here.
    return {"alpha", *(place for place, what in given if is_tensor(what))}


def _claims(
    observations: Observations, names: Mapping[Any, str], overloads: Mapping[str, Sequence[Signature]]
) -> dict[str, Claims]:
    claims = {name: claims_of(name, list(seen), overloads.get(name, ())) for name, seen in observations.items()}
    for value, name in names.items():
        # What could not be called and has no docstring is an inside of torch.
        guessed = None if name in claims or not value.__doc__ else claims_without_calls(overloads.get(name, ()))
        if guessed is not None:
            claims[name] = guessed
    return claims


def _attribute(claims: Claims) -> OutputClaims:
    output = claims.results[0].outputs[0]
    # Memory that an attribute hands out is somebody's, though it need not be the tensor's own: that of `.grad` is not.
    return output._replace(memory=None) if output.memory == "new" else output


def _entry(claims: Claims, plain: Sequence[str]) -> dict[str, Any]:
    """Return what is claimed, without the names in `plain`, under which no function at all takes a tensor."""
    claims = claims._replace(plain=tuple(name for name in claims.plain if name not in plain))
    results = []
    for result in claims.results:
        told = result._replace(outputs=tuple(map(_trimmed, result.outputs)))._asdict()
        results.append({key: value for key, value in told.items() if value})
    extra = claims._asdict()
    del extra["results"]
    return {"results": results} | {
        key: value for key, value in extra.items() if value or (value == 0 and value is not False)
    }


def _trimmed(values: Sequence[Any]) -> list[Any]:
    trimmed = list(values)
    while trimmed and trimmed[-1] is None:
        trimmed.pop()
    return trimmed


def dump(facts: Mapping[str, Any]) -> str:
    """Write one entry a line, so that a diff shows which facts changed."""
    sections = []
    for key, value in facts.items():
        if isinstance(value, dict):
            lines = [f"{json.dumps(name)}: {json.dumps(value[name], separators=(',', ':'))}" for name in sorted(value)]
            sections.append(f"{json.dumps(key)}: {{\n" + ",\n".join(lines) + "\n}")
        else:
            sections.append(f"{json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(sections) + "\n}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="?", type=Path, default=TARGET)
    parser.add_argument(
        "--observations", type=Path, help="keep what was measured here, and start from it where it exists"
    )
    arguments = parser.parse_args()
    kept: Path | None = arguments.observations
    if kept is not None and kept.exists():
        observations = pickle.loads(kept.read_bytes())
    else:
        observations = measure()
        if kept is not None:
            kept.write_bytes(pickle.dumps(observations))
    arguments.target.write_text(dump(api(observations)))
    calls = sum(sum(seen.values()) for seen in observations.values())
    print(f"{arguments.target}: {len(observations)} names from {calls} calls")


if __name__ == "__main__":
    main()
