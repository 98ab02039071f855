// SPDX-License-Identifier: Apache-2.0
// vjp.hpp - vjp.h for C++17 and later: objects that free themselves, exceptions that carry the
// library's reason, and buffers that know their length and dtype.
//
//     vjp::context ctx;
//     vjp_tensor matrix = vjp::dense(VJP_F32, { 2, 3 });
//     vjp::plan plan(ctx, "relu_backward", { vjp::attr("use_dst", false) },
//                    { matrix, matrix }, { matrix });
//     plan.run({ src, diff_dst }, { diff_src });         // vectors, arrays, std::span, ...
//
// Header only, over the C API: what an operator does, and what the library promises, is in vjp.h.
// Everything here may be called from any thread, and one plan may run on many at once.
#ifndef VJP_VJP_HPP
#define VJP_VJP_HPP

#include <vjp/vjp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>
#if __has_include(<version>)
#include <version>
#endif
#ifdef __cpp_lib_span
#include <span>
#endif

namespace vjp
{

// ---- errors ---------------------------------------------------------------------------------

// What every function here throws: what() is "VJP_BAD_SHAPE: diff_dst: dim 1 is 7, src has 5".
class error : public std::runtime_error
{
  public:
    error(vjp_status status, const std::string &reason)
        : std::runtime_error(std::string(vjp_status_string(status)) + ": " + reason),
          status_(status)
    {
    }

    vjp_status status() const noexcept
    {
        return status_;
    }

  private:
    vjp_status status_;
};

namespace detail
{

inline void check(vjp_status status, const char *reason)
{
    if (status != VJP_OK)
        throw error(status, reason);
}

} // namespace detail

// ---- context --------------------------------------------------------------------------------

class context
{
  public:
    context() : context(vjp_context_options VJP_CONTEXT_DEFAULTS)
    {
    }

    explicit context(const vjp_context_options &options) : device_(options.device)
    {
        char reason[VJP_REASON_SIZE];
        vjp_context *made;
        detail::check(vjp_context_create(&options, &made, reason, sizeof reason), reason);
        handle_.reset(made);
    }

    vjp_context *get() const noexcept
    {
        return handle_.get();
    }

    vjp_device device() const noexcept
    {
        return device_;
    }

    std::string isa() const
    {
        return vjp_context_isa(get());
    }

    int threads() const noexcept
    {
        return vjp_context_threads(get());
    }

  private:
    struct destroy {
        void operator()(vjp_context *ctx) const noexcept
        {
            vjp_context_destroy(ctx);
        }
    };
    std::unique_ptr<vjp_context, destroy> handle_;
    vjp_device device_;
};

// ---- descriptions ---------------------------------------------------------------------------

// A dense row-major tensor; a tensor with these strides, in elements.
inline vjp_tensor dense(vjp_dtype dtype, const std::vector<std::int64_t> &shape)
{
    vjp_tensor tensor;
    detail::check(vjp_tensor_contiguous(dtype, static_cast<std::int32_t>(shape.size()),
                                        shape.data(), &tensor),
                  "a tensor with this dtype and shape cannot be described");
    return tensor;
}

inline vjp_tensor strided(vjp_dtype dtype, const std::vector<std::int64_t> &shape,
                          const std::vector<std::int64_t> &strides)
{
    if (shape.size() != strides.size())
        throw error(VJP_BAD_STRIDES, "the shape has " + std::to_string(shape.size()) +
                                         " dims, the strides have " +
                                         std::to_string(strides.size()));
    vjp_tensor tensor;
    detail::check(vjp_tensor_strided(dtype, static_cast<std::int32_t>(shape.size()), shape.data(),
                                     strides.data(), &tensor),
                  "a tensor with this dtype, shape and strides cannot be described");
    return tensor;
}

// An attribute. The name, and a value that is a string, must live until the plan is created.
template <class T> vjp_attr attr(const char *name, T value)
{
    if constexpr (std::is_same_v<T, bool>)
        return vjp_attr_bool(name, value);
    else if constexpr (std::is_integral_v<T>)
        return vjp_attr_s64(name, static_cast<std::int64_t>(value));
    else if constexpr (std::is_floating_point_v<T>)
        return vjp_attr_f64(name, static_cast<double>(value));
    else
        return vjp_attr_str(name, value);
}

// ---- buffers --------------------------------------------------------------------------------

// The dtype of a C++ type. C++17 has no 16-bit floats: specialize this for the type you use, as in
//     template <> struct vjp::dtype_of<my_half> { static constexpr vjp_dtype value = VJP_F16; };
template <class T> struct dtype_of;
template <> struct dtype_of<double> {
    static constexpr vjp_dtype value = VJP_F64;
};
template <> struct dtype_of<float> {
    static constexpr vjp_dtype value = VJP_F32;
};
template <> struct dtype_of<std::int32_t> {
    static constexpr vjp_dtype value = VJP_S32;
};
template <> struct dtype_of<std::int64_t> {
    static constexpr vjp_dtype value = VJP_S64;
};
template <> struct dtype_of<std::uint8_t> {
    static constexpr vjp_dtype value = VJP_U8;
};

// The memory of a tensor, from its lowest address: made from whatever has data() and size(), from a
// C array, or from a pointer and a count (memory of a GPU). nullptr: no such tensor.
template <class Pointer> class buffer
{
  public:
    buffer(std::nullptr_t)
    {
    }

    template <class T>
    buffer(T *elements, std::size_t count)
        : data_(elements), bytes_(count * sizeof(T)),
          dtype_(dtype_of<std::remove_const_t<T>>::value)
    {
    }

    template <class Container, class = decltype(std::size(std::declval<Container &>()))>
    buffer(Container &&container) : buffer(std::data(container), std::size(container))
    {
    }

    Pointer data() const noexcept
    {
        return data_;
    }

    std::size_t bytes() const noexcept
    {
        return bytes_;
    }

    vjp_dtype dtype() const noexcept
    {
        return dtype_;
    }

  private:
    Pointer data_ = nullptr;
    std::size_t bytes_ = 0;
    vjp_dtype dtype_ = VJP_F32;
};

using input = buffer<const void *>;
using output = buffer<void *>;

// ---- plans ----------------------------------------------------------------------------------

class plan
{
  public:
    // Inputs and outputs in the operator's order; those left out at the end, and std::nullopt, are
    // not given or not wanted.
    using tensors = std::vector<std::optional<vjp_tensor>>;

    plan(const context &ctx, const char *op, const std::vector<vjp_attr> &attrs,
         const tensors &inputs, const tensors &outputs)
        : device_(ctx.device())
    {
        const vjp_op_info *info = vjp_op_find(op);
        if (!info)
            throw error(VJP_BAD_OP, std::string("no operator is named ") + op);
        if (info->ninputs + info->noutputs > max_tensors)
            throw error(VJP_BAD_OP, "this version of vjp.hpp holds fewer tensors than it has");
        ninputs_ = info->ninputs;
        describe(info, "inputs", inputs, 0, info->ninputs);
        describe(info, "outputs", outputs, info->ninputs, info->noutputs);
        create(ctx, op, attrs, inputs, outputs);
    }

    vjp_plan *get() const noexcept
    {
        return handle_.get();
    }

    std::size_t workspace_size() const noexcept
    {
        return vjp_plan_workspace_size(get());
    }

    // Compute, with memory for the workspace allocated here if the plan needs any (on the CPU).
    void run(std::initializer_list<input> inputs, std::initializer_list<output> outputs) const
    {
        run_allocating(inputs.begin(), inputs.size(), outputs.begin(), outputs.size());
    }

    // The same with the caller's workspace; allocates nothing unless it throws. stream: as for
    // vjp_plan_run.
    void run(std::initializer_list<input> inputs, std::initializer_list<output> outputs,
             void *workspace, std::size_t workspace_size, void *stream = nullptr) const
    {
        run_with(inputs.begin(), inputs.size(), outputs.begin(), outputs.size(), workspace,
                 workspace_size, stream);
    }

#ifdef __cpp_lib_span
    void run(std::span<const input> inputs, std::span<const output> outputs) const
    {
        run_allocating(inputs.data(), inputs.size(), outputs.data(), outputs.size());
    }

    void run(std::span<const input> inputs, std::span<const output> outputs,
             std::span<std::byte> workspace, void *stream = nullptr) const
    {
        run_with(inputs.data(), inputs.size(), outputs.data(), outputs.size(), workspace.data(),
                 workspace.size(), stream);
    }
#endif

  private:
    static constexpr int max_tensors = 16;

    // What a tensor of the plan takes in memory. first: its element of index 0, which is not the
    // lowest where a stride is negative.
    struct extent {
        const char *name;
        bool given;
        vjp_dtype dtype;
        std::size_t bytes;
        std::size_t first;
    };

    void describe(const vjp_op_info *info, const char *kind, const tensors &given, int at,
                  int count)
    {
        if (given.size() > static_cast<std::size_t>(count))
            throw error(VJP_BAD_ARGUMENT, std::string(info->name) + " has " +
                                              std::to_string(count) + " " + kind + ", not " +
                                              std::to_string(given.size()));
        for (int i = 0; i < count; i++) {
            const char *name = vjp_op_tensor(info, at + i)->name;
            bool present = static_cast<std::size_t>(i) < given.size() && given[i];
            extents_[at + i] =
                present ? extent_of(name, *given[i]) : extent{ name, false, VJP_F32, 0, 0 };
        }
        ntensors_ = at + count;
    }

    // The library has checked that the bytes of a tensor fit in 62 bits once the plan exists; until
    // then the sums are of unsigned numbers, which may wrap.
    static extent extent_of(const char *name, const vjp_tensor &tensor)
    {
        std::uint64_t below = 0, above = 0;
        bool empty = false;
        for (int d = 0; d < tensor.ndim && d < VJP_MAX_DIMS; d++) {
            std::uint64_t steps = static_cast<std::uint64_t>(tensor.shape[d]) - 1;
            std::uint64_t stride = static_cast<std::uint64_t>(tensor.strides[d]);
            empty = empty || tensor.shape[d] == 0;
            if (tensor.strides[d] < 0)
                below += steps * (0 - stride);
            else
                above += steps * stride;
        }
        std::size_t size = vjp_dtype_size(tensor.dtype);
        if (empty)
            return { name, true, tensor.dtype, 0, 0 };
        return { name, true, tensor.dtype, (below + above + 1) * size, below * size };
    }

    void create(const context &ctx, const char *op, const std::vector<vjp_attr> &attrs,
                const tensors &inputs, const tensors &outputs)
    {
        std::array<const vjp_tensor *, max_tensors> list{};
        for (std::size_t i = 0; i < inputs.size(); i++)
            list[i] = inputs[i] ? &*inputs[i] : nullptr;
        for (std::size_t i = 0; i < outputs.size(); i++)
            list[ninputs_ + i] = outputs[i] ? &*outputs[i] : nullptr;
        char reason[VJP_REASON_SIZE];
        vjp_plan *made;
        detail::check(vjp_plan_create(ctx.get(), op, attrs.data(),
                                      static_cast<std::int32_t>(attrs.size()), list.data(),
                                      ntensors_, &made, reason, sizeof reason),
                      reason);
        handle_.reset(made);
    }

    // The address of element 0 of tensor i in a buffer, which must be large enough.
    template <class Pointer> Pointer address(int i, const buffer<Pointer> &memory) const
    {
        using byte = std::conditional_t<std::is_same_v<Pointer, void *>, char, const char>;
        const extent &wanted = extents_[i];
        if (!wanted.given)
            return nullptr;
        if (memory.bytes() < wanted.bytes)
            throw error(VJP_BAD_ARGUMENT, std::string(wanted.name) + ": the buffer has " +
                                              std::to_string(memory.bytes()) +
                                              " bytes, the tensor takes " +
                                              std::to_string(wanted.bytes));
        if (memory.data() && memory.dtype() != wanted.dtype)
            throw error(VJP_BAD_DTYPE, std::string(wanted.name) + ": the buffer is of " +
                                           vjp_dtype_name(memory.dtype()) + ", the tensor of " +
                                           vjp_dtype_name(wanted.dtype));
        return memory.data() ? static_cast<byte *>(memory.data()) + wanted.first : nullptr;
    }

    template <class Pointer>
    void addresses(const buffer<Pointer> *given, std::size_t ngiven, int at, int count,
                   Pointer *list) const
    {
        for (int i = 0; i < count; i++)
            list[i] = address(
                at + i, static_cast<std::size_t>(i) < ngiven ? given[i] : buffer<Pointer>(nullptr));
    }

    void run_with(const input *inputs, std::size_t ninputs, const output *outputs,
                  std::size_t noutputs, void *workspace, std::size_t workspace_size,
                  void *stream) const
    {
        const void *in[max_tensors];
        void *out[max_tensors];
        addresses(inputs, ninputs, 0, ninputs_, in);
        addresses(outputs, noutputs, ninputs_, ntensors_ - ninputs_, out);
        vjp_status status = vjp_plan_run(get(), in, out, workspace, workspace_size, stream);
        if (status == VJP_OK)
            return;
        char reason[VJP_REASON_SIZE];
        vjp_plan_check(get(), in, out, workspace, workspace_size, reason, sizeof reason);
        throw error(status, reason);
    }

    void run_allocating(const input *inputs, std::size_t ninputs, const output *outputs,
                        std::size_t noutputs) const
    {
        if (device_ != VJP_CPU && workspace_size() > 0)
            throw error(VJP_BAD_WORKSPACE,
                        "this plan needs a workspace in the memory of its device");
        std::vector<std::byte> workspace(workspace_size());
        run_with(inputs, ninputs, outputs, noutputs, workspace.data(), workspace.size(), nullptr);
    }

    struct destroy {
        void operator()(vjp_plan *made) const noexcept
        {
            vjp_plan_destroy(made);
        }
    };
    std::unique_ptr<vjp_plan, destroy> handle_;
    vjp_device device_;
    int ninputs_ = 0, ntensors_ = 0;
    std::array<extent, max_tensors> extents_{};
};

} // namespace vjp

#endif // VJP_VJP_HPP
