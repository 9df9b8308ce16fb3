"""A name in; what people who write torch code mean by it out. Used only where nothing else is known of a value.

These are conventions of the field, not of one repository; docs/inference.md lists them with the reason for each.
"""

from __future__ import annotations

import ast
import re

from tonumpy.inference.lattice.aliases import unless_it_requires_grad
from tonumpy.inference.lattice.joins import TOO_MANY
from tonumpy.inference.lattice.values import (
    DATASET,
    SENT,
    Arguments,
    Constant,
    Foreign,
    LibraryObject,
    Mapping,
    Plain,
    Sequence,
    Tensor,
    Union,
    Unknown,
    Value,
    mapped,
)
from tonumpy.inference.transfer.torch_operators import result_facts
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.chains import last_name

if TYPE_CHECKING:
    from collections.abc import Iterable

# Most conventions are about the last word of a name: `words` of `input_words`. To look it up in a set takes a tenth of
# the time of a regular expression, which would have to be compiled at every start as well.

# Class labels and the lengths of sequences (not of edges) count something, the faces of a mesh are the indices of its
# vertices, an attention or padding mask says which tokens there are, ground truth comes from a dataset, and the running
# statistics of a normalization are buffers: none requires grad.
_WORDS_WITHOUT_GRAD = frozenset("label labels classes target targets gt groundtruth truth row col faces".split())
_NAMES_WITHOUT_GRAD = (
    r"(^|_)(attention|padding)_masks?$|(^|_)(?<!edge_)(?<!bond_)[a-z]?len(gth)?s$|[a-z_]len$"
    r"|^(gt|idx|target)_|[a-z]ids$|^[yY]_true$|^running_(mean|var)$"
)
# Nor do ids and indices, whoever made them: they are integers.
_INDICES = frozenset("id ids ind inds idx idxs index indices indexes".split())
# The second half of a pair that a loader, or another iterator over data, yields.
_ITEMS_WITHOUT_GRAD = r"^([yY]s?|batch_[yY]s?|[yY]s?_batch|[yt]b)$"
# What is in a dataset (`dataset[0]`, `for item in test_set`, `dataset.targets`) requires no grad and is on the CPU.
_DATASETS = frozenset(("dataset", "datasets"))
_DATASET = frozenset(("dataset", "dset", "ds"))
_SPLITS = frozenset("train training test testing val valid validation dev eval".split())  # `trainset`, `dataset_val`
_SETS = _SPLITS | {"data"}
# Nor do the parts of a batch, and of data that has parts with names: a graph, a record.
_BATCH = frozenset(("batch", "minibatch"))
# What a method of a dataset is given that is called so is what the dataset gives: `def plot(self, sample)`.
_SAMPLES = frozenset("sample samples item items example examples".split())
# A loader (`trainloader` and `train_dl`, as torch's own tutorials call it) is taken for torch's, whose batches are made
# on the CPU from what a dataset holds.
_LOADER = (
    r"(^|_)((train|val|valid|eval|dev|test)?(data_?)?loaders?(_(train|val|valid|validation|dev|test))?|dl)$"
    r"|^([tT]rain|[vV]al(id)?|[eE]val|[tT]est|data)(Data|Img)?Loaders?$"
)
LOADER = "torch.utils.data.DataLoader"
# What makes a batch of samples, as torch's own `collate_fn=` does: a function (`collate_fn_padded` as well), or a class
# whose objects are called.
_COLLATING = r"(^|_)collat(e|er)(_(fn|func|function)(_|$)|_(batch|data|samples)$|$)|Collat(e|er|or)($|For|With)"

# Functions that say where they bring what they are given, or that they take the grad from it.
_TO_CPU = r"(^|_|2|to)cpu$"
_DETACHING = frozenset(("detach", "detached"))
# What is computed by a formula, with windows and filter banks that nobody learns: the transform of a signal, and what
# takes back that of a scaler.
_FORMULAS = frozenset(
    "stft istft spectrogram mel_spectrogram melspectrogram log_mel_spectrogram inverse_transform".split()
)
# What holds the numbers by which data are scaled, and scaled back: `scaler.inverse_transform(x)`.
_SCALERS = frozenset("scaler normaliser normalizer".split())
# What a hook on the way back is given: the gradients of a tensor, or of what a module gave and was given.
_GRADIENTS = frozenset("grad grads gradient gradients".split())
_GRADIENTS_OF_HOOKS = frozenset(f"grad_{of}" for of in "in ins out outs input inputs output outputs".split())
# A sample is drawn without grad; one that is drawn with it is called rsample.
_DISTRIBUTIONS = frozenset("dist distr distrib distribution".split())

# What has something to learn, or speaks for what has: `embed`, `forward_features`, `vgg_net`.
_MODEL = (
    r"(?i)model|net(work)?(_|$)|module|layer|encode|decode|embed|forward|predict|infer|extract|feature|backbone|head|policy"
    r"|actor|critic|generat|sample|render"
)

# What holds the numbers, words and switches that a run is set up with: `cfg.scale`, `self.config["eps"]`, `args.sigma`.
_SETTINGS = frozenset("cfg config args opt opts hparams hps settings".split())


# Keywords by which a call of `generate` is known for that of transformers, whose models generate with grad mode off.
_OF_GENERATION = frozenset(
    "max_new_tokens min_new_tokens num_beams do_sample top_k top_p num_return_sequences repetition_penalty"
    " length_penalty no_repeat_ngram_size early_stopping generation_config logits_processor stopping_criteria"
    " eos_token_id pad_token_id".split()
)


def _last_word(name: str) -> str:
    return name.rpartition("_")[2]


def is_id_of_token(attribute: str) -> bool:
    """`tokenizer.pad_token_id`, `config.eos_token_id`: a number, as transformers has it, however it comes about."""
    return attribute.endswith("_token_id")


def is_collating(name: str) -> bool:
    return re.search(_COLLATING, name) is not None


def learnt_from_function(result: Value, function: ast.expr, arguments: Arguments) -> Value:
    """What a function or method of this name gives, where nothing better is known of it: `to_cpu(x)`,
    `detach_to_cpu(x)`, `dist.sample()`, `scaler.inverse_transform(x)`."""
    name = last_name(function) or ""
    owner = last_name(function.value) or "" if isinstance(function, ast.Attribute) else ""
    if name in _FORMULAS or _last_word(owner) in _SCALERS:
        result = _computed(result, arguments)
    if "cpu" in name and re.search(_TO_CPU, name):
        result = left_on_cpu(result)
    samples = name == "sample" and _last_word(owner) in _DISTRIBUTIONS
    detaches = not _DETACHING.isdisjoint(name.split("_"))
    return unless_it_requires_grad(result) if samples or detaches else result


def _computed(result: Value, arguments: Arguments) -> Value:
    """What arithmetic with numbers makes of tensors."""
    given = () if arguments.has_star else arguments.values()
    if not isinstance(result, Unknown) or not any(isinstance(value, (Tensor, Unknown)) for value in given):
        return result
    on_cpu, requires_grad = result_facts(given, True)
    return result._replace(
        on_cpu=on_cpu if result.on_cpu is None and on_cpu is True else result.on_cpu,
        requires_grad=False if result.requires_grad is None and requires_grad is False else result.requires_grad,
    )


def is_gradient(name: str) -> bool:
    return _last_word(name) in _GRADIENTS or name in _GRADIENTS_OF_HOOKS


def speaks_of_model(name: str) -> bool:
    return re.search(_MODEL, name) is not None


# What transformers' `return_tensors` asks for, other than tensors of torch.
_OTHER_TENSORS: dict[str, Value] = {
    "np": Plain("numpy.ndarray"),
    "tf": Foreign("tensorflow"),
    "jax": Foreign("jax"),
    "mlx": Foreign("mlx"),
}


def asked_for_as(arguments: Arguments) -> Value | None:
    """What a function gives that `return_tensors="tf"` tells, as it does transformers' own, to give none of torch's."""
    asked = arguments.named_value("return_tensors")
    return _OTHER_TENSORS.get(asked.value) if isinstance(asked, Constant) and isinstance(asked.value, str) else None


def generates_tokens(method: str, keywords: Iterable[str]) -> bool:
    return method == "generate" and not _OF_GENERATION.isdisjoint(keywords)


def learnt_from_name(value: Value, name: str, *, is_item: bool = False) -> Value:
    """The value of a parameter, attribute or key of this name, where nothing better is known of it.

    `is_item`: of the variable of a loop, or of a part of what an iterator yields.
    """
    value = taken_for_source(value, name)
    # What `.to(dtype)` is given, which moves nothing. One of many may be the type of tensors of some device: `for dtype
    # in tensor_types`.
    if isinstance(value, Unknown) and value.why != TOO_MANY and _last_word(name) == "dtype":
        return Plain("dtype")
    if isinstance(value, (Sequence, Mapping)) and _last_word(name) in _BATCH:
        return mapped(value, unless_it_requires_grad)
    if isinstance(value, (Sequence, Mapping, Union)):
        return mapped(value, lambda part: learnt_from_name(part, name, is_item=is_item))
    if not isinstance(value, (Tensor, Unknown)) or value.requires_grad is not None:
        return value
    if is_item and isinstance(value, Tensor) and not value.is_given and value.certainty == "tensor":
        return learnt_from_name_of_index(value, name)  # what has been computed, whatever a loop calls it
    if is_item and re.search(_ITEMS_WITHOUT_GRAD, name):
        return value._replace(requires_grad=False)
    if is_called_label(name):
        return value._replace(requires_grad=False)
    if isinstance(value, Unknown) and _last_word(name) in _DATASETS:
        return value._replace(requires_grad=False)
    return learnt_from_name_of_index(value, name)


def is_called_label(name: str) -> bool:
    """Labels, lengths, masks and other things that come with data and count, or tell, something."""
    return _last_word(name) in _WORDS_WITHOUT_GRAD or re.search(_NAMES_WITHOUT_GRAD, name) is not None


def learnt_from_name_of_index(value: Value, name: str) -> Value:
    """What a variable is given that is called an index: `kept_inds = nms(boxes, scores)`."""
    if isinstance(value, (Sequence, Union)):
        return mapped(value, lambda part: learnt_from_name_of_index(part, name))
    if isinstance(value, (Tensor, Unknown)) and value.requires_grad is None and _last_word(name) in _INDICES:
        return value._replace(requires_grad=False)
    return value


def holds_settings(holders: Iterable[str]) -> bool:
    """Whether one of the objects that something is taken out of, by its name, is a configuration."""
    return any(_last_word(name) in _SETTINGS for name in holders)


def _is_dataset(name: str) -> bool:
    first, _, last = name.rpartition("_")
    if last in _DATASET or (first in _DATASET and last in _SPLITS):
        return True
    return name.endswith("set") and name[:-3].removesuffix("_") in _SETS


def taken_for_source(value: Value, name: str, given: Iterable[str] = ()) -> Value:
    """The loader, or the loaders, or the dataset, that its name says an unknown value is.

    `given` names what the call that made it is given: with a loader, or a device, it may bring batches elsewhere.
    """
    if not isinstance(value, Unknown) or value.on_cpu is False or value.requires_grad is True:
        return value
    if _is_dataset(name) and value.why != SENT and not any("device" in other for other in given):
        return Unknown(DATASET, value.on_cpu, False)
    if (value.on_cpu, value.requires_grad) != (None, None):
        return value
    if not re.search(_LOADER, name) or any(re.search(_LOADER, other) or "device" in other for other in given):
        return value
    loader = LibraryObject(LOADER, True, False)
    return Sequence(None, loader) if name.endswith("s") else loader


def learnt_from_key(value: Value, constant: str | None) -> Value:
    """What stands under a constant, which is named after it: `batch[self.ITEM_ID]`, `data[EDGE_INDEX_KEY]`. A variable
    is but a position."""
    if constant is None or not constant.isupper():
        return value
    return learnt_from_name(value, constant.lower().removesuffix("_key"))


def holder_of_data(value: Unknown, name: str | None, *, has_names: bool) -> Unknown:
    """What is called a batch or data, when a part of it is taken: `batch["image"]`, `batch[0]`, `data.x`.

    `has_names`: the part is taken by its name. Data whose parts are counted may be a tensor.
    """
    if value.requires_grad is not None or name is None or not was_given(value):
        return value
    is_data = _last_word(name) in _BATCH or (has_names and _last_word(name) == "data")
    return value._replace(requires_grad=False) if is_data else value


def may_hold_data(name: str | None) -> bool:
    return name is not None and ("data" in name or "batch" in name)


def was_given(value: Unknown) -> bool:
    """Not what a function or module has made."""
    return not value.why.startswith(("call", "method"))


def taken_for_data(value: Tensor) -> Tensor:
    """What is made of nothing but what a function or an object was given, where it is known for data on the CPU."""
    is_obscure = value.on_cpu is None and value.requires_grad is not True
    is_given = value.is_given and not value.sent
    return value._replace(on_cpu=True, requires_grad=False) if is_obscure and is_given else value


def held_by_dataset(value: Value) -> Value:
    """What an object of a Dataset was given, and keeps: data on the CPU, which workers can share."""
    if isinstance(value, Tensor):
        return taken_for_data(value)
    if isinstance(value, Unknown):
        is_obscure = value.on_cpu is None and value.requires_grad is not True and was_given(value)
        return Unknown("what a dataset holds", True, False, value.is_no_tensor) if is_obscure else value
    return mapped(value, held_by_dataset)


def is_sample(name: str) -> bool:
    return name in _SAMPLES


def is_called_dataset(name: str) -> bool:
    """A class: `YCB_Dataset`, `LinemodDatasetAugmented`."""
    return "Dataset" in name


def item_of_dataset(value: Value) -> Value:
    """What a Dataset gives, as a loader would take it: data on the CPU, where nothing better is known of it."""
    if isinstance(value, Tensor):
        cpu = True if value.on_cpu is None and not value.sent else value.on_cpu
        return value._replace(on_cpu=cpu, requires_grad=value.requires_grad or False)
    if isinstance(value, Unknown):
        is_obscure = value.on_cpu is not False and value.requires_grad is not True and value.why != SENT
        return Unknown("item of a dataset", True, False, value.is_no_tensor) if is_obscure else value
    return mapped(value, item_of_dataset)


def left_on_cpu(value: Value) -> Value:
    """What was made where only the CPU is spoken of, or is in use; not what was sent elsewhere all the same."""
    if isinstance(value, Unknown) or (isinstance(value, Tensor) and not value.sent):
        return value._replace(on_cpu=True) if value.on_cpu is None else value
    return mapped(value, left_on_cpu)
