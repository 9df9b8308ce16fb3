"""Parameters, return kinds and aliasing of public names, read from torch's type stubs and operator schemas."""

from __future__ import annotations

import ast
import inspect
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch


class Signature(NamedTuple):
    """One overload: the parameters that may be given by position with their annotations, the names of those without a
    default (keywords too), the annotation of what is returned, those of keywords, and that of `*args`. A method's
    first parameter is "self"."""

    parameters: tuple[str, ...]
    annotations: tuple[str, ...]
    required: tuple[tuple[str, str], ...]
    returns: str
    keywords: tuple[tuple[str, str], ...] = ()
    rest: str | None = None


# Where the names of the native functions are declared; what is missing here is Python and carries its own signature.
_STUBS = (
    ("torch", "_C/_VariableFunctions.pyi"),
    ("torch.nn.functional", "_C/_nn.pyi"),
    ("torch.nn.functional", "nn/functional.pyi"),
)


def signatures(names: dict[Any, str]) -> dict[str, list[Signature]]:
    """Canonical name -> its overloads, in the order of the stubs."""
    found: dict[str, list[Signature]] = defaultdict(list)
    root = Path(torch.__file__).parent
    bodies = [(namespace, ast.parse((root / path).read_text()).body) for namespace, path in _STUBS]
    classes = ast.parse((root / "_C/__init__.pyi").read_text()).body
    base = next(each for each in classes if isinstance(each, ast.ClassDef) and each.name == "TensorBase")
    for namespace, body in (*bodies, ("torch.Tensor", base.body)):
        for node in body:
            if isinstance(node, ast.FunctionDef):
                found[f"{namespace}.{node.name}"].append(_signature(node))
            elif isinstance(node, ast.AnnAssign) and body is base.body:
                found[f"{namespace}.{ast.unparse(node.target)}"].append(_made([], [], ast.unparse(node.annotation)))
    for value, name in names.items():
        if name not in found:
            found[name] = _without_stubs(value, name)
    methods = {name: overloads for name, overloads in found.items() if name.startswith("torch.Tensor.")}
    return {name: found[name] for name in names.values()} | methods


def _without_stubs(value: Any, name: str) -> list[Signature]:  # noqa: ANN401
    if not inspect.isfunction(value):
        return [_schema_signature(schema) for schema in schemas(name)]
    try:
        return [_runtime_signature(value)]
    except ValueError:  # it wraps a builtin, which has none
        return []


def schemas(name: str) -> list[Any]:
    """The operator schemas of a public name, without those that write into `out=`."""
    return [s for s in _schemas_by_operator().get(_operator(name), ()) if not any(a.is_out for a in s.arguments)]


def may_alias(name: str) -> bool | None:
    """True if a schema says that what is returned may share memory with what is given.

    None where no schema can tell: there is none, or the operator is composed of others and its schema need not say it.
    """
    found = schemas(name)
    if not found:
        return None
    if any(result.alias_info is not None for schema in found for result in schema.returns):
        return True
    key = "CompositeImplicitAutograd"
    composed = any(
        torch._C._dispatch_has_kernel_for_dispatch_key(
            f"{s.name}{'.' if s.overload_name else ''}{s.overload_name}", key
        )
        for s in found
    )
    return None if composed else False


_BY_OPERATOR: dict[str, list[Any]] = {}


def admits_tensors(annotation: str) -> bool:
    """True if a tensor, or a container of tensors, may be given for a parameter that is annotated so."""
    return not annotation or any(word in annotation for word in ("Tensor", "Any", "object", "Callable", "Iterable"))


def first_plain_position(signatures: Sequence[Signature]) -> int | None:
    """The position from which on no overload takes a tensor; None where that is not known."""
    if not signatures:
        return None
    if any(signature.rest is not None and admits_tensors(signature.rest) for signature in signatures):
        return None
    return max(admitting_positions(signatures), default=-1) + 1


def admitting_positions(signatures: Iterable[Signature]) -> set[int]:
    """The positions at which an overload takes a tensor."""
    places = ((number, text) for signature in signatures for number, text in enumerate(signature.annotations))
    return {number for number, text in places if admits_tensors(text)}


def plain_keywords(signatures: Iterable[Sequence[Signature]]) -> list[str]:
    """The names of parameters that take no tensor in any function that says what its parameter of this name takes."""
    admitting: dict[str, bool] = {}
    for overloads in signatures:
        for signature in overloads:
            named = [*zip(signature.parameters, signature.annotations, strict=True), *signature.keywords]
            for name, annotation in named:
                if annotation:
                    admitting[name] = admitting.get(name, False) or admits_tensors(annotation)
    return sorted(name for name, admits in admitting.items() if not admits)


def _schemas_by_operator() -> dict[str, list[Any]]:
    if not _BY_OPERATOR:
        for schema in torch._C._jit_get_all_schemas():
            namespace, _, operator = schema.name.partition("::")
            tensors = any("Tensor" in str(part.type) for part in (*schema.arguments, *schema.returns))
            dispatched = f"{schema.name}{'.' if schema.overload_name else ''}{schema.overload_name}"
            if namespace == "aten" and tensors and torch._C._dispatch_has_kernel(dispatched):
                _BY_OPERATOR.setdefault(operator, []).append(schema)
    return _BY_OPERATOR


def _operator(name: str) -> str:
    """`torch.linalg.norm` -> `linalg_norm`, `torch.Tensor.add` and `torch.nn.functional.relu` -> `add`, `relu`."""
    namespace, _, last = name.rpartition(".")
    prefix = namespace.removeprefix("torch").removeprefix(".")
    return f"{prefix}_{last}" if prefix in ("linalg", "fft", "special") else last


Named = tuple[str, str]  # a parameter and its annotation


def _made(
    positional: Sequence[Named],
    required: Sequence[Named],
    returns: str,
    keywords: Sequence[Named] = (),
    rest: str | None = None,
) -> Signature:
    names, annotations = tuple(name for name, _ in positional), tuple(annotation for _, annotation in positional)
    return Signature(names, annotations, tuple(required), returns, tuple(keywords), rest)


def _signature(node: ast.FunctionDef) -> Signature:
    positional = [(a.arg, _annotation(a)) for a in (*node.args.posonlyargs, *node.args.args)]
    keywords = [(a.arg, _annotation(a)) for a in node.args.kwonlyargs]
    rest = _annotation(node.args.vararg) if node.args.vararg else None
    required = positional[: len(positional) - len(node.args.defaults)]
    required += [("*", rest)] if rest is not None else []
    defaults = zip(keywords, node.args.kw_defaults, strict=True)
    required += [(f"{name}=", annotation) for (name, annotation), default in defaults if default is None]
    return _made(positional, required, ast.unparse(node.returns) if node.returns else "", keywords, rest)


def _annotation(argument: ast.arg) -> str:
    return "Tensor" if argument.arg == "self" else ast.unparse(argument.annotation) if argument.annotation else ""


def _runtime_signature(value: Callable[..., Any]) -> Signature:
    # `unique` and the like pass their arguments on to one of two functions, whose parameters are the same.
    while "if_true" in (captured := inspect.getclosurevars(value).nonlocals):
        value = captured["if_true"]
    signature = inspect.signature(value)
    told: dict[object, list[Named]] = defaultdict(list)
    for each in signature.parameters.values():
        told[each.kind].append((each.name, _text(each.annotation, each.name)))
    positional = told[inspect.Parameter.POSITIONAL_ONLY] + told[inspect.Parameter.POSITIONAL_OR_KEYWORD]
    required = [each for each in positional if signature.parameters[each[0]].default is inspect.Parameter.empty]
    rest = next((annotation for _, annotation in told[inspect.Parameter.VAR_POSITIONAL]), None)
    returns = _text(signature.return_annotation, "")
    return _made(positional, required, returns, told[inspect.Parameter.KEYWORD_ONLY], rest)


def _text(annotation: object, parameter: str) -> str:
    if parameter in ("self", "input"):
        return "Tensor"
    if annotation is inspect.Signature.empty:
        return ""
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def _schema_signature(schema: torch.FunctionSchema) -> Signature:
    named = [(each, (each.name, _of_schema(each.type))) for each in schema.arguments]
    positional = [told for each, told in named if not each.kwarg_only]
    required = [told for each, told in named if not each.kwarg_only and not each.has_default_value()]
    returns = [_of_schema(each.type) for each in schema.returns]
    told_returns = returns[0] if len(returns) == 1 else f"tuple[{', '.join(returns)}]"
    return _made(positional, required, told_returns, [told for each, told in named if each.kwarg_only])


def _of_schema(kind: torch._C.JitType) -> str:
    return str(kind).replace("List[", "list[")
