"""Names of torch's functions and methods, by how they treat devices."""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Methods that return a view of the same storage, which has the mark already.
VIEWS = _names(
    """adjoint alias as_strided chunk conj data detach diagonal dsplit expand expand_as hsplit mT mH H T imag movedim
    moveaxis narrow permute real select split split_with_sizes squeeze squeeze_ swapaxes swapdims t t_ tensor_split
    transpose transpose_ unbind unflatten unfold unsafe_chunk unsafe_split unsqueeze unsqueeze_ view view_as
    view_as_complex view_as_real vsplit broadcast_tensors broadcast_to detach_ as_strided_ swapaxes_ swapdims_ _conj
    _neg_view resolve_neg_"""
)
# Methods that return no tensor, or that moving.py replaces.
NO_TENSORS = _names(
    """apply_ backward coalesce_ data_ptr dense_dim dim dim_order element_size get_device has_names ndimension nelement
    numel numpy pin_memory q_scale q_zero_point qscheme record_stream register_hook register_post_accumulate_grad_hook
    requires_grad_ retain_grad share_memory_ size sparse_dim storage_offset stride tolist item type untyped_storage
    map_ map2_ to cpu cuda xpu mps npu new new_tensor reinforce rename rename_ align_to refine_names names numpy
    resize resize_ resize_as_ module_load type_as is_shared is_pinned is_complex is_floating_point is_signed
    is_contiguous is_conj is_neg is_inference is_set_to is_nonzero is_coalesced is_distributed is_same_size is_sparse
    _is_view _is_all_true _is_any_true _fix_weakref"""
)
# Binary operators of tensors that are implemented in C.
BINARY = _names(
    """__add__ __radd__ __iadd__ __sub__ __isub__ __mul__ __rmul__ __imul__ __truediv__ __itruediv__ __div__ __idiv__
    __ifloordiv__ __mod__ __imod__ __and__ __rand__ __iand__ __or__ __ror__ __ior__ __xor__ __rxor__ __ixor__
    __lshift__ __ilshift__ __rshift__ __irshift__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__"""
)
# The others, such as `__rsub__`, call these or functions of torch.
DUNDERS = BINARY | _names(
    "__matmul__ __imatmul__ __pow__ __ipow__ __invert__ __neg__ __pos__ __abs__ __getitem__ __setitem__"
)
# Functions of the module `torch` that are not operators.
NO_OPERATORS = _names(
    """set_num_threads get_num_threads is_grad_enabled set_grad_enabled can_cast promote_types result_type is_tensor
    is_storage is_floating_point is_complex is_signed is_conj is_neg is_nonzero is_inference is_same_size numel
    clear_autocast_cache is_autocast_enabled parse_ir parse_schema unify_type_list import_ir_module
    import_ir_module_from_buffer vitals_enabled set_vital read_vitals get_default_dtype set_default_dtype get_device
    _has_compatible_shallow_copy_type _functional_assert_async _assert_async _sync _is_all_true _is_any_true"""
)
# Factories that torch.utils._device._device_constructors lacks: they make CPU tensors.
MORE_FACTORIES = _names("from_numpy frombuffer from_file")
# Operators that accept CPU tensors of any size.
TAKES_HOST = _names(
    """__getitem__ copy_ index index_put index_put_ _index_put_impl_ _unsafe_index _pack_padded_sequence
    _pad_packed_sequence ctc_loss type_as set_ is_same_size view_as expand_as reshape_as  resize_as_
    tensor_split broadcast_tensors result_type can_cast promote_types _nested_view_from_jagged equal_size
    _has_same_storage_numel"""
)
INDEXING = _names("__getitem__ index _unsafe_index")
WRITES_BY_INDEX = _names("__setitem__ index_put_ index_put _index_put_impl_")
GIVES_SIZES = _names("_pack_padded_sequence _pad_packed_sequence")  # they also return sizes, on the CPU
RECURRENT = _names("lstm gru rnn_tanh rnn_relu")  # their batch sizes lie on the CPU
# Operators that accept no CPU tensor, not even one without dimensions.
TAKES_NO_SCALAR = _names(
    """cat concat concatenate stack hstack vstack dstack column_stack embedding index_select gather scatter scatter_
    dot nll_loss nll_loss_nd cross_entropy_loss"""
)
# Functions, as Python calls them, that CUDA's autocast runs in lower precision, and those in float32.
LOWER = _names(
    """conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution _convolution prelu
    addmm addmv addr matmul __matmul__ mm mv linear addbmm baddbmm bmm chain_matmul multi_dot vecdot einsum
    gru_cell lstm_cell rnn_tanh_cell rnn_relu_cell lstm gru rnn_tanh rnn_relu scaled_dot_product_attention bilinear
    _native_multi_head_attention _transformer_encoder_layer_fwd"""
)
FULL = _names(
    """acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow __pow__ softplus
    layer_norm native_layer_norm group_norm rms_norm cosine_similarity poisson_nll_loss cosine_embedding_loss nll_loss
    nll_loss_nd nll_loss2d cross_entropy_loss hinge_embedding_loss kl_div l1_loss smooth_l1_loss huber_loss mse_loss
    margin_ranking_loss multilabel_margin_loss soft_margin_loss triplet_margin_loss multi_margin_loss
    binary_cross_entropy_with_logits dist pdist cdist renorm logsumexp prod softmax log_softmax cumprod cumsum
    vector_norm matrix_norm norm nuclear_norm frobenius_norm sum linalg_vector_norm _softmax _log_softmax ctc_loss"""
)
# Operators for which the host waits until the device has computed their tensor.
WAITS = _names(
    """nonzero masked_select unique _unique _unique2 unique_dim unique_consecutive equal allclose is_nonzero bincount
    repeat_interleave argwhere"""
)
# Methods that read the value of a tensor and return no tensor; the host waits for them, too.
READS = _names(
    """item tolist __bool__ __float__ __int__ __index__ __complex__ __contains__ __repr__ __format__ __reduce_ex__"""
)

# The names under which a `__torch_function__` sees torch's operators: `x + y` is `torch.Tensor.add` there.
SAID_AS = {f"__{name}__": name for name in "add sub mul matmul eq ne lt le gt ge".split()}
SAID_AS |= {f"__i{name}__": f"{name}_" for name in "add sub mul div".split()}
SAID_AS |= {"__radd__": "add", "__rmul__": "mul", "__truediv__": "div", "__div__": "div", "__mod__": "remainder"}
