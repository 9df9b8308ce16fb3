// A device that is not the CPU for machines without one: torch's PrivateUse1 key with host memory behind it.
//
// It allocates, copies and makes views by itself; every other operator takes torch's own CPU fallback. Torch sees a
// real device: `.numpy()` on its tensors raises what it raises on CUDA, and `.cpu()` makes a copy.

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <unordered_set>

namespace {

constexpr auto kDevice = c10::DeviceType::PrivateUse1;
const c10::DispatchKeySet kKeys(c10::DispatchKey::PrivateUse1);

// One device, one stream that has always finished.
struct DeviceGuard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kDevice; }
  c10::Device getDevice() const override { return {kDevice, 0}; }
  c10::Device exchangeDevice(c10::Device) const override { return getDevice(); }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  c10::Stream getStream(c10::Device) const override { return c10::Stream(c10::Stream::DEFAULT, getDevice()); }
  c10::Stream exchangeStream(c10::Stream) const override { return getStream(getDevice()); }
  void record(void**, const c10::Stream&, c10::DeviceIndex, c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}
  void synchronizeEvent(void*) const override {}
  void synchronizeDevice(c10::DeviceIndex) const override {}
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, DeviceGuard);

struct HostAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    void* memory = bytes == 0 ? nullptr : std::malloc(bytes);
    TORCH_CHECK(bytes == 0 || memory != nullptr, "out of memory");
    return {memory, memory, &std::free, c10::Device(kDevice, 0)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &std::free; }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }
};
HostAllocator allocator;
REGISTER_ALLOCATOR(kDevice, &allocator);

// Autograd's engine and torch.Generator ask these.
struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    auto grown = allocator.allocate(bytes);
    std::memcpy(grown.get(), storage.data(), std::min(bytes, storage.nbytes()));
    storage.set_data_ptr(std::move(grown));
    storage.set_nbytes(bytes);
  }
};

at::Tensor empty(
    at::IntArrayRef size,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout>,
    std::optional<at::Device>,
    std::optional<bool>,
    std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(size, &allocator, kKeys, c10::dtype_or_default(dtype), format);
}

at::Tensor empty_strided(
    at::IntArrayRef size,
    at::IntArrayRef stride,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout>,
    std::optional<at::Device>,
    std::optional<bool>) {
  return at::detail::empty_strided_generic(size, stride, &allocator, kKeys, c10::dtype_or_default(dtype));
}

// The same memory as a tensor on the CPU.
at::Tensor on_host(const at::Tensor& tensor) {
  if (tensor.is_cpu()) {
    return tensor;
  }
  auto host = at::from_blob(
      tensor.data_ptr(), tensor.sizes(), tensor.strides(), tensor.options().device(at::kCPU).requires_grad(false));
  host._set_conj(tensor.is_conj());
  host._set_neg(tensor.is_neg());
  return host;
}

at::Tensor copy_from(const at::Tensor& from, const at::Tensor& to, bool) {
  at::NoGradGuard no_grad;
  on_host(to).copy_(on_host(from));
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  to.resize_(from.sizes());
  return copy_from(from, to, false);
}

// What a real accelerator refuses where its operands are on different devices; the fallback would take them to the CPU.
const std::unordered_set<std::string> of_one_device = {
    "aten::addmm", "aten::addmv", "aten::addbmm", "aten::baddbmm", "aten::bmm",
    "aten::dot",   "aten::mm",    "aten::mv"};

void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  if (of_one_device.count(op.schema().name())) {
    std::optional<c10::Device> first;
    for (const c10::IValue& argument : torch::jit::last(*stack, op.schema().arguments().size())) {
      if (!argument.isTensor() || !argument.toTensor().defined()) continue;
      const c10::Device device = argument.toTensor().device();
      TORCH_CHECK(!first || *first == device, "Expected all tensors to be on the same device, but found at least two devices, ",
                  *first, " and ", device, "!");
      first = device;
    }
  }
  at::native::cpu_fallback(op, stack);
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
}

// A view must share its memory, so it cannot go by way of a copy on the CPU.
TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("empty.memory_format", &empty);
  library.impl("empty_strided", &empty_strided);
  library.impl("_copy_from", &copy_from);
  library.impl("_copy_from_and_resize", &copy_from_and_resize);
  library.impl("as_strided", &at::native::as_strided_tensorimpl);
  library.impl("view", &at::native::view);
  library.impl("_reshape_alias", &at::native::_reshape_alias);
  library.impl("view_as_real", &at::native::view_as_real);
  library.impl("view_as_complex", &at::native::view_as_complex);
  library.impl("unfold", &at::native::unfold);
  library.impl("resize_", &at::native::resize_);
  library.impl("set_.source_Storage_storage_offset", &at::native::set_storage_cpu_);
}

// A copy looks at the conjugate and negative bits itself; without this torch would resolve them by way of a copy.
TORCH_LIBRARY_IMPL(aten, Conjugate, library) {
  library.impl("_copy_from", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, Negative, library) {
  library.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

struct Registration {
  Registration() { at::RegisterPrivateUse1HooksInterface(new Hooks); }
} registration;

}  // namespace
