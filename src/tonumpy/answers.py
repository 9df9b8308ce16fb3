"""Makes the answers of `why`: each known fact about a conversion, and its evidence.

The conversion's module has `tells_origins` set: evidence has the line behind each fact (see engine/values/origins.py).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tonumpy.conversions import ArgumentConversion, Conversion, FalseMask, MethodConversion, SharedMemory, TakenTensor
from tonumpy.detectors.known import Argued
from tonumpy.device_choices import choices_of
from tonumpy.engine.knowledge.grad_contexts import GRAD_CONTEXTS
from tonumpy.engine.names.module import Module
from tonumpy.engine.values.evidence import AllEvidence, Strength
from tonumpy.engine.values.origins import state_of_device, state_of_grad
from tonumpy.findings import Answer, Ground
from tonumpy.judgements import grounds_of
from tonumpy.phrases import certainty_told
from tonumpy.related import of_written_array, of_written_tensor
from tonumpy.text.candidates import is_in_row
from tonumpy.text.names import last_name
from tonumpy.text.syntax import FUNCTIONS, statements_of

# For a joined fact: the states that some path may have had before the join.
_ALSO = {
    "unknown": ("chosen", "learns"),
    "chosen": ("unknown", "elsewhere"),
    "learns": ("requires grad",),
    "possible": ("unknown",),
    "likely": ("unknown", "tensor"),
}


def answers_of(conversion: Conversion, module: Module) -> tuple[Answer, ...]:
    filename = module.filename
    told = (each for each in grounds_of(conversion) if each.kind != Strength.PROOF.name.lower())
    grounds = [*(each for each in told if _speaks_for_fact(each, conversion)), *_lines_behind(conversion)]

    def of(about: str) -> tuple[Ground, ...]:
        return tuple(each for each in grounds if each.about == about)

    if isinstance(conversion, (TakenTensor, FalseMask)):
        return (_kind(conversion, of("kind")),)  # neither device nor grad matters
    of_mode = (*of("grad mode"), *_line_of_mode(conversion, filename))
    mode = {True: "on", False: "off", None: "unknown (may be on)"}[conversion.grad_mode]
    return (
        _kind(conversion, of("kind")),
        _device(conversion, (*of("device"), *_lines_of_devices(conversion, of("device"), module))),
        _grad(conversion, of("grad") or (of_mode if conversion.grad_mode is False else ())),
        Answer("grad mode", mode, of_mode),
        *_representation(conversion, of("dtype")),
        *_left_to_callers(conversion),
        *_doubtful(conversion),
        *_memory(conversion, filename),
    )


def _lines_of_devices(conversion: Conversion, grounds: tuple[Ground, ...], module: Module) -> list[Ground]:
    if conversion.on_cpu is False or conversion.is_sent:
        lines = (line for choice in choices_of(grounds, module) for line in choice.lines)
        return list(dict.fromkeys(lines))
    return []


def _speaks_for_fact(ground: Ground, conversion: Conversion) -> bool:
    """True unless the ground is a habit of one path, while another path makes the fact unknown."""
    is_open = {"device": conversion.on_cpu is None, "grad": conversion.requires_grad is None}.get(ground.about, False)
    return not is_open or ground.kind not in (("habit", "promise") if ground.about == "device" else ("habit",))


def answers_of_argument(argued: Argued, module: Module) -> tuple[Answer, ...]:
    """The answers about an argument of a function that may convert; it need not be a tensor."""
    lines = lines_of_evidence(argued.evidence, "kind")
    if not argued.is_converter:
        return (Answer("given to", f"`{argued.function}`, {argued.words}", lines),)
    given = Answer("given to", f"`{argued.function}`, which makes an array of a tensor")
    if argued.conversion is not None:
        return (given, *answers_of(argued.conversion, module))
    remedy = "annotate it, or test `isinstance(x, torch.Tensor)`" if argued.words.startswith("unknown") else ""
    return (given, Answer("kind", argued.words, lines, remedy))


def lines_of_evidence(evidence: AllEvidence, about: str, states: Iterable[str] | None = None) -> tuple[Ground, ...]:
    """The lines of code that prove one fact, for all states or for `states`."""
    pieces = sorted(each for each in evidence if each.strength is Strength.PROOF and each.about == about)
    return tuple(
        Ground("code", each.about, "", each.message, each.filename, each.row)
        for each in pieces
        if states is None or each.id in states
    )


def _lines_behind(conversion: Conversion) -> list[Ground]:
    told: list[Ground] = []
    for about, state in _states(conversion).items():
        lines = lines_of_evidence(conversion.evidence, about, (state,))
        told += lines or lines_of_evidence(conversion.evidence, about, _ALSO.get(state, ()))
    return told


def _states(conversion: Conversion) -> dict[str, str]:
    return {
        "kind": conversion.certainty,
        "device": state_of_device(conversion.on_cpu, is_sent=conversion.is_sent),
        "grad": state_of_grad(conversion.requires_grad, param_taint=conversion.param_taint),
        "dtype": conversion.dtype or "",
    }


def _line_of_mode(conversion: Conversion, filename: str) -> list[Ground]:
    """The line of the innermost `with torch.no_grad():` or decorator that sets the grad mode, if there is one."""
    wanted = {True: "on", False: "off", None: ""}[conversion.grad_mode]
    site = conversion.site
    found = None
    for scope in site.scopes:
        for each in getattr(scope, "decorator_list", ()) if isinstance(scope, FUNCTIONS) else ():
            found = each if _mode_of(each) == wanted else found
    row = site.call.lineno
    for statement in statements_of(site.scopes[-1].body):
        is_around = is_in_row(statement, row)
        for item in statement.items if is_around and isinstance(statement, (ast.With, ast.AsyncWith)) else ():
            found = item.context_expr if _mode_of(item.context_expr) == wanted else found
    return [Ground("code", "grad mode", "", "sets it here", filename, found.lineno)] if found and wanted else []


def _mode_of(node: ast.expr) -> str | None:
    name = last_name(node.func if isinstance(node, ast.Call) else node)
    return GRAD_CONTEXTS.get(name or "")


def _memory(conversion: Conversion, filename: str) -> list[Answer]:
    if not isinstance(conversion, (MethodConversion, SharedMemory)):
        return []
    lines = (
        ("tensor", of_written_tensor(conversion, filename)),
        ("array", of_written_array(conversion, filename)),
    )
    return [
        Answer("memory", f"shared by tensor and array, and the {side} is overwritten", grounds, "`.copy()`")
        for side, grounds in lines
        if grounds
    ]


def _left_to_callers(conversion: Conversion) -> list[Answer]:
    is_left = isinstance(conversion, MethodConversion) and conversion.site.is_left_to_callers
    return [Answer("force", "a parameter of the function, so its caller chooses")] if is_left else []


def _doubtful(conversion: Conversion) -> list[Answer]:
    """The answer that says why confidence is low if only a name suggests that parameters are involved."""
    is_doubtful = isinstance(conversion, ArgumentConversion) and conversion.is_doubtful
    why = "low, as what makes it is only taken for a model, and grad mode may be off"
    return [Answer("confidence", why)] if is_doubtful else []


def _kind(conversion: Conversion, grounds: tuple[Ground, ...]) -> Answer:
    remedy = "annotate it, or test `isinstance(x, torch.Tensor)`"
    return {
        "tensor": Answer("kind", "torch tensor (proved)", grounds),
        "likely": Answer("kind", "likely torch tensor, by how it is used", grounds, remedy),
        "possible": Answer(
            "kind",
            "possible torch tensor: type unknown, but torch is the module's only array framework",
            grounds,
            remedy,
        ),
    }[certainty_told(conversion)]


def _device(conversion: Conversion, grounds: tuple[Ground, ...]) -> Answer:
    if conversion.chain.cpu is not None:
        return Answer("device", "on the CPU (the chain moves it there)")
    remedy = "`.cpu()`"
    if conversion.on_cpu is False:
        return Answer("device", "not on the CPU", grounds, remedy)
    if conversion.on_cpu is None:
        sent = conversion.is_sent
        text = "chosen at run time, may be a GPU" if sent else "unknown, may be a GPU"
        return Answer("device", text, grounds, remedy)
    return Answer("device", "on the CPU", grounds)


def _grad(conversion: Conversion, grounds: tuple[Ground, ...]) -> Answer:
    if conversion.chain.detach is not None:
        return Answer("grad", "detached (by the chain)")
    remedy = "" if conversion.grad_mode is False else "`.detach()`, or convert it under `torch.no_grad()`"
    if conversion.requires_grad:
        return Answer("grad", "requires grad", grounds, remedy)
    if conversion.requires_grad is None and conversion.param_taint:
        text = "computed from model parameters: requires grad unless all of them are frozen"
        return Answer("grad", text, grounds, remedy)
    if conversion.requires_grad is None:
        return Answer("grad", "unknown, may require grad", grounds, remedy)
    return Answer("grad", "does not require grad", grounds)


def _representation(conversion: Conversion, of_dtype: tuple[Ground, ...]) -> list[Answer]:
    """The answers about dtype, layout and bit; only a dtype may have evidence other than proof."""
    facts = (
        ("dtype", conversion.dtype, of_dtype),
        ("layout", conversion.layout, ()),
        ("bit", conversion.bit, ()),
    )
    return [Answer(about, text, grounds) for about, text, grounds in facts if text is not None]
