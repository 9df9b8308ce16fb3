"""Parameters, return kinds and aliasing of public names, read from torch's type stubs and operator schemas."""

from __future__ import annotations

import ast
import contextlib
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
_STUBS = (("torch", "_C/_VariableFunctions.pyi"), ("torch.nn.functional", "_C/_nn.pyi"))
_FUNCTIONAL = ("torch.nn.functional", "nn/functional.pyi")


def signatures(names: dict[Any, str]) -> dict[str, list[Signature]]:
    """Canonical name -> its overloads, in the order of the stubs."""
    found: dict[str, list[Signature]] = defaultdict(list)
    root = Path(torch.__file__).parent
    for namespace, path in (*_STUBS, _FUNCTIONAL):
        for node in ast.parse((root / path).read_text()).body:
            if isinstance(node, ast.FunctionDef):
                found[f"{namespace}.{node.name}"].append(_signature(node))
    for node in ast.parse((root / "_C/__init__.pyi").read_text()).body:
        if isinstance(node, ast.ClassDef) and node.name == "TensorBase":
            for member in node.body:
                if isinstance(member, ast.FunctionDef):
                    found[f"torch.Tensor.{member.name}"].append(_signature(member))
                elif isinstance(member, ast.AnnAssign):
                    found[f"torch.Tensor.{ast.unparse(member.target)}"].append(
                        Signature((), (), (), ast.unparse(member.annotation))
                    )
    for value, name in names.items():
        if name not in found and inspect.isfunction(value):
            with contextlib.suppress(ValueError):  # it wraps a builtin, which has none
                found[name].append(_runtime_signature(value))
        if name not in found:
            found[name].extend(_schema_signature(schema) for schema in schemas(name))
    return {name: found[name] for name in names.values()} | {
        n: s for n, s in found.items() if n.startswith("torch.Tensor.")
    }


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
    first = 0
    for signature in signatures:
        for position, annotation in enumerate(signature.annotations):
            if admits_tensors(annotation):
                first = max(first, position + 1)
        if signature.rest is not None and admits_tensors(signature.rest):
            return None
    return first


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


def _signature(node: ast.FunctionDef) -> Signature:
    positional = [*node.args.posonlyargs, *node.args.args]
    annotations = tuple(_annotation(a) for a in positional)
    with_default = len(node.args.defaults)
    required = [(a.arg, _annotation(a)) for a in positional[: len(positional) - with_default]]
    if node.args.vararg:
        required.append(("*", _annotation(node.args.vararg)))
    required += [
        (f"{a.arg}=", _annotation(a))
        for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        if d is None
    ]
    returns = ast.unparse(node.returns) if node.returns else ""
    keywords = tuple((a.arg, _annotation(a)) for a in node.args.kwonlyargs)
    rest = _annotation(node.args.vararg) if node.args.vararg else None
    return Signature(tuple(a.arg for a in positional), annotations, tuple(required), returns, keywords, rest)


def _annotation(argument: ast.arg) -> str:
    return "Tensor" if argument.arg == "self" else ast.unparse(argument.annotation) if argument.annotation else ""


def _runtime_signature(value: Callable[..., Any]) -> Signature:
    # `unique` and the like pass their arguments on to one of two functions, whose parameters are the same.
    while "if_true" in (captured := inspect.getclosurevars(value).nonlocals):
        value = captured["if_true"]
    signature = inspect.signature(value)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = signature.parameters.values()
    positional = [p for p in parameters if p.kind in kinds]
    required = [(p.name, _text(p.annotation, p.name)) for p in positional if p.default is inspect.Parameter.empty]
    return Signature(
        tuple(p.name for p in positional),
        tuple(_text(p.annotation, p.name) for p in positional),
        tuple(required),
        _text(signature.return_annotation, ""),
        tuple((p.name, _text(p.annotation, p.name)) for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY),
        next((_text(p.annotation, p.name) for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL), None),
    )


def _text(annotation: object, parameter: str) -> str:
    if parameter in ("self", "input"):
        return "Tensor"
    if annotation is inspect.Signature.empty:
        return ""
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def _schema_signature(schema: torch.FunctionSchema) -> Signature:
    positional = [a for a in schema.arguments if not a.kwarg_only]
    required = tuple((a.name, _of_schema(a.type)) for a in positional if not a.has_default_value())
    returns = [_of_schema(r.type) for r in schema.returns]
    return Signature(
        tuple(a.name for a in positional),
        tuple(_of_schema(a.type) for a in positional),
        required,
        returns[0] if len(returns) == 1 else f"tuple[{', '.join(returns)}]",
        tuple((a.name, _of_schema(a.type)) for a in schema.arguments if a.kwarg_only),
    )


def _of_schema(kind: torch._C.JitType) -> str:
    return str(kind).replace("List[", "list[")
