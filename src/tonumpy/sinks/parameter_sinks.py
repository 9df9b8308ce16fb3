"""From a module to its calls of sinks that are given what comes from a parameter, where other files may call it.

No risk has to be near them: the text that speaks of devices and gradients may be that of the callers.
"""

from __future__ import annotations

from tonumpy.findings import SourceError
from tonumpy.inference.index.bindings import names_in, parameters_of
from tonumpy.inference.summaries.risky_callers import is_torch_beside
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.sinks.places import places_spelt
from tonumpy.sinks.shapes import given_away, may_convert
from tonumpy.sinks.sink_calls import PlainValues, imported
from tonumpy.text.candidates import find_calls
from tonumpy.text.caught import is_shown_to_raise
from tonumpy.text.syntax import FUNCTIONS

if TYPE_CHECKING:
    from tonumpy.inference.index.module import Module
    from tonumpy.sinks.shapes import Names
    from tonumpy.text.candidates import Site

_OWN = frozenset(("self", "cls"))


def find_given_parameters(module: Module) -> list[Site]:
    """Nothing in a test, or where no other file of the repository imports torch.

    A file that names no torch was never parsed: that it cannot be is no concern of ours.
    """
    source = module.source
    places = [] if module.use.is_test else places_spelt(source.text)
    if not places or not is_torch_beside(module):
        return []
    try:
        names = imported(source)
    except SourceError:
        return []
    rows = sorted({source.position_at(each.offset).row for each in places})
    sites = find_calls(source, rows, lambda call: may_convert(call, names))
    sites = [site for site in sites if _is_of_parameters(site, names) and not is_shown_to_raise(site)]
    plain = PlainValues(source, names)
    return [site for site in sites if not plain.are_all_given(site)]


def _is_of_parameters(site: Site, names: Names) -> bool:
    """Whether a function that has parameters gives something away that has a name of its own."""
    scope = site.scopes[-1]
    if not isinstance(scope, FUNCTIONS) or not set(parameters_of(scope)) - _OWN:
        return False
    given = {name for each in given_away(site.call, names) for name in names_in(each)} - _OWN
    return not all("." in name for name in given)  # `self.x` is given by nobody
