// SPDX-License-Identifier: Apache-2.0
// torch.cpp - PyTorch as a peer: its operators as its autograd calls them, from C++.
//
// Results go into the given buffers; an operator without such a call has them in memory that the
// call before gave back (Cache), which costs no page faults. Where PyTorch has no single operator
// it is a few, through intermediate buffers: a gradient from src, of which PyTorch keeps dst,
// computes dst first.
#include <cstdio>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/version.h>

#include "peer.h"

namespace {

// ---- memory ------------------------------------------------------------------------------------

struct Cache final : c10::Allocator {
    const peer_host *host = nullptr;
    std::multimap<size_t, void *> idle;
    std::map<void *, size_t> sizes;
    std::mutex mutex;

    at::DataPtr allocate(size_t size) override
    {
        std::lock_guard<std::mutex> lock(mutex);
        void *block = nullptr;
        auto found = idle.find(size);
        if (found != idle.end()) {
            block = found->second;
            idle.erase(found);
        } else if (size > 0) {
            block = host->allocate(size);
            sizes[block] = size;
        }
        return { block, block, &give_back, at::Device(at::DeviceType::CPU) };
    }

    at::DeleterFnPtr raw_deleter() const override { return &give_back; }

    void copy_data(void *to, const void *from, std::size_t count) const override
    {
        default_copy_data(to, from, count);
    }

    void clear()
    {
        std::lock_guard<std::mutex> lock(mutex);
        for (auto &[size, block] : idle) {
            sizes.erase(block);
            host->release(block);
        }
        idle.clear();
    }

    static void give_back(void *block);
};

Cache cache;

void Cache::give_back(void *block)
{
    std::lock_guard<std::mutex> lock(cache.mutex);
    auto found = cache.sizes.find(block);
    if (found != cache.sizes.end())
        cache.idle.emplace(found->second, block);
}

// ---- a task in PyTorch's words ------------------------------------------------------------------

at::Tensor tensor_at(const vjp_tensor &tensor, void *data)
{
    static const std::map<vjp_dtype, at::ScalarType> dtypes = {
        { VJP_F64, at::kDouble },    { VJP_F32, at::kFloat }, { VJP_F16, at::kHalf },
        { VJP_BF16, at::kBFloat16 }, { VJP_S32, at::kInt },   { VJP_S64, at::kLong }
    };
    if (!data)
        return {};
    return at::from_blob(data, { tensor.shape, size_t(tensor.ndim) },
                         { tensor.strides, size_t(tensor.ndim) }, dtypes.at(tensor.dtype));
}

struct Task {
    std::vector<at::Tensor> in, out; // by index; undefined where vjp was given none
    std::deque<at::Tensor> kept;     // what an operator keeps from one run to the next
    std::map<std::string, double> numbers;
    std::map<std::string, std::string> words;

    explicit Task(const peer_task *task)
    {
        for (int32_t i = 0; i < task->ntensors; i++)
            (i < task->op->ninputs ? in : out)
                .push_back(tensor_at(task->tensors[i], task->buffers[i]));
        for (int32_t i = 0; i < task->nattrs; i++) {
            const vjp_attr &attr = task->attrs[i];
            if (attr.type == VJP_ATTR_STR)
                words[attr.name] = attr.value.str;
            else if (attr.type == VJP_ATTR_F64)
                numbers[attr.name] = attr.value.f64;
            else if (attr.type == VJP_ATTR_F32)
                numbers[attr.name] = attr.value.f32;
            else
                numbers[attr.name] =
                    double(attr.type == VJP_ATTR_BOOL ? attr.value.b : attr.value.s64);
        }
    }

    // The operator of a gradient has diff_dst behind src.
    at::Tensor &x() { return in[0]; }
    at::Tensor &dy() { return in[1]; }
    at::Tensor &y() { return out[0]; }

    double number(const char *name) const { return numbers.at(name); }
    int64_t axis() const { return int64_t(numbers.at("axis")); }
    bool from_dst() const { return numbers.at("use_dst") != 0; }
    const char *gelu() const { return words.at("mode") == "gelu_tanh" ? "tanh" : "none"; }
    std::optional<at::Tensor> maybe(size_t i) const
    {
        return in[i].defined() ? std::optional(in[i]) : std::nullopt;
    }
    at::IntArrayRef rows() { return x().sizes().slice(size_t(axis())); }

    // An intermediate buffer as large as src.
    at::Tensor &spare(size_t i)
    {
        while (kept.size() <= i)
            kept.push_back(at::empty_like(x()));
        return kept[i];
    }

    // The memory of a result is free before the next one needs it.
    template <typename Compute> void give(Compute compute)
    {
        y().reset();
        y() = compute();
    }
};

using Step = void (*)(Task &);

struct Operator {
    Step run;
    Step prepare = nullptr;  // once, outside the time
    bool by_autograd = false;
};

// ---- units with a gate --------------------------------------------------------------------------

// gate and up are inputs 0 and 1, a gradient is input 2; outputs: diff_gate, diff_up.
using Activation = void (*)(Task &, at::Tensor &to, const at::Tensor &from);
using Slope = void (*)(Task &, at::Tensor &to, const at::Tensor &gradient, const at::Tensor &from);

void relu(Task &, at::Tensor &to, const at::Tensor &from) { at::clamp_min_out(to, from, 0); }
void silu(Task &, at::Tensor &to, const at::Tensor &from) { at::silu_out(to, from); }
void gelu(Task &t, at::Tensor &to, const at::Tensor &from) { at::gelu_out(to, from, t.gelu()); }

void relu_slope(Task &, at::Tensor &to, const at::Tensor &gradient, const at::Tensor &from)
{
    at::threshold_backward_out(to, gradient, from, 0);
}

void silu_slope(Task &, at::Tensor &to, const at::Tensor &gradient, const at::Tensor &from)
{
    at::silu_backward_out(to, gradient, from);
}

void gelu_slope(Task &t, at::Tensor &to, const at::Tensor &gradient, const at::Tensor &from)
{
    at::gelu_backward_out(to, gradient, from, t.gelu());
}

template <Activation activation> void gated(Task &t)
{
    activation(t, t.spare(0), t.in[0]);
    at::mul_out(t.y(), t.spare(0), t.in[1]);
}

template <Activation activation, Slope slope> void gated_backward(Task &t)
{
    activation(t, t.spare(0), t.in[0]);
    at::mul_out(t.out[1], t.in[2], t.spare(0));
    at::mul_out(t.spare(0), t.in[2], t.in[1]);
    slope(t, t.out[0], t.spare(0), t.in[0]);
}

// PyTorch's GLU has both halves in one tensor: up, then gate.
void join_halves(Task &t)
{
    auto halves = at::cat({ t.in[1].flatten(), t.in[0].flatten() });
    t.kept = { halves, at::empty_like(halves) };
}

void glu(Task &t)
{
    at::glu_out(t.y(), t.kept[0], 0);
}

void glu_backward(Task &t)
{
    at::glu_backward_out(t.kept[1], t.in[2], t.kept[0], 0);
    auto halves = t.kept[1].chunk(2);
    t.out = { halves[1], halves[0] };
}

// ---- rows ---------------------------------------------------------------------------------------

constexpr size_t LABEL = 0, LOGS = 1, TOTAL = 2; // kept for a loss

void keep_labels(Task &t)
{
    t.kept = { t.in[1].to(at::kLong) };
}

void keep_logs(Task &t)
{
    keep_labels(t);
    t.kept.push_back(at::log_softmax(t.x(), t.axis()));
    t.kept.push_back(at::zeros({}, t.x().options()));
}

int64_t ignored(const Task &t)
{
    return int64_t(t.number("ignore_index"));
}

void cross_entropy(Task &t)
{
    t.give([&] {
        return at::cross_entropy_loss(t.x(), t.kept[LABEL], {}, at::Reduction::None,
                                      ignored(t));
    });
}

at::Tensor cross_entropy_gradient(Task &t, const at::Tensor &gradient, const at::Tensor &logs)
{
    auto spread = t.x().dim() == 2
                      ? at::nll_loss_backward(gradient, logs, t.kept[LABEL], {},
                                              at::Reduction::None, ignored(t), t.kept[TOTAL])
                      : at::nll_loss2d_backward(gradient, logs, t.kept[LABEL], {},
                                                at::Reduction::None, ignored(t), t.kept[TOTAL]);
    return at::_log_softmax_backward_data(spread, logs, t.axis(), logs.scalar_type());
}

void cross_entropy_backward(Task &t)
{
    t.give([&] { return cross_entropy_gradient(t, t.in.back(), t.kept[LOGS]); });
}

void cross_entropy_fused(Task &t)
{
    t.out[0].reset();
    t.out[1].reset();
    auto logs = at::log_softmax(t.x(), t.axis());
    t.out[0] = at::nll_loss_nd(logs, t.kept[LABEL], {}, at::Reduction::None, ignored(t));
    t.out[1] = cross_entropy_gradient(t, at::ones_like(t.out[0]), logs);
}

void layer_norm_backward(Task &t)
{
    for (auto &result : t.out)
        result.reset();
    auto [dx, dw, db] =
        at::native_layer_norm_backward(t.in[4], t.x(), t.rows(), t.in[2], t.in[3], t.in[1],
                                       at::zeros_like(t.in[1]), { true, true, true });
    t.out = { dx, dw, db };
}

// PyTorch has no kernel for this gradient on the CPU: its autograd derives it.
constexpr size_t NORMALIZED = 0, FROM = 1, WEIGHT = 2; // kept for it

void record_rms_norm(Task &t)
{
    auto x = t.x().detach().requires_grad_(), w = t.in[1].detach().requires_grad_();
    t.kept = { at::rms_norm(x, t.rows(), w, t.number("epsilon")), x, w };
}

void rms_norm_backward(Task &t)
{
    for (auto &result : t.out)
        result.reset();
    t.out = torch::autograd::grad({ t.kept[NORMALIZED] }, { t.kept[FROM], t.kept[WEIGHT] },
                                  { t.in[3] }, true);
}

// ---- the operators ------------------------------------------------------------------------------

void prelu_backward(Task &t)
{
    for (auto &result : t.out)
        result.reset();
    auto [dx, dw] = at::_prelu_kernel_backward(t.in[2], t.x(), t.in[1]);
    t.out = { dx, dw.sum_to_size(t.in[1].sizes()) };
}

void softsign_backward(Task &t)
{
    at::Tensor &divisor = t.spare(0), &term = t.spare(1), &sign = t.spare(2);
    at::abs_out(divisor, t.x());
    divisor.add_(1);
    at::div_out(term, t.x(), divisor);
    term.div_(divisor).mul_(t.dy()).neg_();
    at::sgn_out(sign, t.x());
    term.mul_(sign);
    at::div_out(t.y(), t.dy(), divisor);
    t.y().add_(term);
}

const std::map<std::string, Operator> operators = {
    // pieces of lines
    { "relu", { [](Task &t) { at::clamp_min_out(t.y(), t.x(), 0); } } },
    { "relu_backward", { [](Task &t) { at::threshold_backward_out(t.y(), t.dy(), t.x(), 0); } } },
    { "leaky_relu",
      { [](Task &t) { at::leaky_relu_out(t.y(), t.x(), t.number("alpha")); } } },
    { "leaky_relu_backward",
      { [](Task &t) {
          at::leaky_relu_backward_out(t.y(), t.dy(), t.x(), t.number("alpha"), false);
      } } },
    { "prelu", { [](Task &t) { t.give([&] { return at::_prelu_kernel(t.x(), t.in[1]); }); } } },
    { "prelu_backward", { prelu_backward } },
    { "relu_squared",
      { [](Task &t) {
          at::clamp_min_out(t.spare(0), t.x(), 0);
          at::square_out(t.y(), t.spare(0));
      } } },
    { "relu_squared_backward",
      { [](Task &t) {
          at::clamp_min_out(t.spare(0), t.x(), 0);
          t.spare(0).mul_(2);
          at::mul_out(t.spare(1), t.dy(), t.spare(0));
          at::threshold_backward_out(t.y(), t.spare(1), t.x(), 0);
      } } },
    { "clamp",
      { [](Task &t) { at::hardtanh_out(t.y(), t.x(), t.number("min"), t.number("max")); } } },
    { "clamp_backward",
      { [](Task &t) {
          at::hardtanh_backward_out(t.y(), t.dy(), t.x(), t.number("min"), t.number("max"));
      } } },
    { "threshold",
      { [](Task &t) {
          at::threshold_out(t.y(), t.x(), t.number("threshold"), t.number("value"));
      } } },
    { "threshold_backward",
      { [](Task &t) {
          at::threshold_backward_out(t.y(), t.dy(), t.x(), t.number("threshold"));
      } } },
    { "soft_shrink",
      { [](Task &t) { at::softshrink_out(t.y(), t.x(), t.number("lambd")); } } },
    { "soft_shrink_backward",
      { [](Task &t) {
          at::softshrink_backward_out(t.y(), t.dy(), t.x(), t.number("lambd"));
      } } },
    { "hard_shrink",
      { [](Task &t) { at::hardshrink_out(t.y(), t.x(), t.number("lambd")); } } },
    { "hard_shrink_backward",
      { [](Task &t) {
          at::hardshrink_backward_out(t.y(), t.dy(), t.x(), t.number("lambd"));
      } } },
    { "hard_sigmoid", { [](Task &t) { at::hardsigmoid_out(t.y(), t.x()); } } },
    { "hard_sigmoid_backward",
      { [](Task &t) { at::hardsigmoid_backward_out(t.y(), t.dy(), t.x()); } } },
    { "hard_swish", { [](Task &t) { at::hardswish_out(t.y(), t.x()); } } },
    { "hard_swish_backward",
      { [](Task &t) { t.give([&] { return at::hardswish_backward(t.dy(), t.x()); }); } } },
    // magnitudes, powers and quotients
    { "abs", { [](Task &t) { at::abs_out(t.y(), t.x()); } } },
    { "abs_backward",
      { [](Task &t) {
          at::sgn_out(t.spare(0), t.x());
          at::mul_out(t.y(), t.dy(), t.spare(0));
      } } },
    { "sqrt", { [](Task &t) { at::sqrt_out(t.y(), t.x()); } } },
    { "sqrt_backward",
      { [](Task &t) {
          if (!t.from_dst())
              at::sqrt_out(t.spare(0), t.x());
          at::mul_out(t.spare(1), t.from_dst() ? t.x() : t.spare(0), 2);
          at::div_out(t.y(), t.dy(), t.spare(1));
      } } },
    { "square", { [](Task &t) { at::square_out(t.y(), t.x()); } } },
    { "square_backward",
      { [](Task &t) {
          at::mul_out(t.spare(0), t.x(), 2);
          at::mul_out(t.y(), t.dy(), t.spare(0));
      } } },
    { "reciprocal", { [](Task &t) { at::reciprocal_out(t.y(), t.x()); } } },
    { "reciprocal_backward",
      { [](Task &t) {
          at::reciprocal_out(t.spare(0), t.x());
          t.spare(0).mul_(t.spare(0));
          at::neg_out(t.spare(1), t.dy());
          at::mul_out(t.y(), t.spare(1), t.spare(0));
      } } },
    { "round", { [](Task &t) { at::round_out(t.y(), t.x()); } } },
    { "softsign",
      { [](Task &t) {
          at::abs_out(t.spare(0), t.x());
          t.spare(0).add_(1);
          at::div_out(t.y(), t.x(), t.spare(0));
      } } },
    { "softsign_backward", { softsign_backward } },
    // exponentials and logarithms
    { "exp", { [](Task &t) { at::exp_out(t.y(), t.x()); } } },
    { "exp_backward",
      { [](Task &t) {
          at::exp_out(t.spare(0), t.x());
          at::mul_out(t.y(), t.dy(), t.spare(0));
      } } },
    { "log", { [](Task &t) { at::log_out(t.y(), t.x()); } } },
    { "log_backward", { [](Task &t) { at::div_out(t.y(), t.dy(), t.x()); } } },
    { "sigmoid", { [](Task &t) { at::sigmoid_out(t.y(), t.x()); } } },
    { "sigmoid_backward",
      { [](Task &t) {
          if (!t.from_dst())
              at::sigmoid_out(t.spare(0), t.x());
          at::sigmoid_backward_out(t.y(), t.dy(), t.from_dst() ? t.x() : t.spare(0));
      } } },
    { "log_sigmoid",
      { [](Task &t) { at::log_sigmoid_forward_out(t.y(), t.spare(0), t.x()); } } },
    { "log_sigmoid_backward",
      { [](Task &t) { at::log_sigmoid_backward_out(t.y(), t.dy(), t.x(), t.spare(0)); },
        [](Task &t) { at::log_sigmoid_forward_out(t.y(), t.spare(0), t.x()); } } },
    { "tanh", { [](Task &t) { at::tanh_out(t.y(), t.x()); } } },
    { "tanh_backward",
      { [](Task &t) {
          if (!t.from_dst())
              at::tanh_out(t.spare(0), t.x());
          at::tanh_backward_out(t.y(), t.dy(), t.from_dst() ? t.x() : t.spare(0));
      } } },
    { "tanh_shrink",
      { [](Task &t) {
          at::tanh_out(t.spare(0), t.x());
          at::sub_out(t.y(), t.x(), t.spare(0));
      } } },
    { "tanh_shrink_backward",
      { [](Task &t) {
          at::tanh_out(t.spare(0), t.x());
          at::tanh_backward_out(t.spare(1), t.dy(), t.spare(0));
          at::sub_out(t.y(), t.dy(), t.spare(1));
      } } },
    { "softplus", { [](Task &t) { at::softplus_out(t.y(), t.x(), t.number("beta")); } } },
    { "softplus_backward",
      { [](Task &t) {
          at::softplus_backward_out(t.y(), t.dy(), t.x(), t.number("beta"), 20);
      } } },
    { "elu",
      { [](Task &t) {
          at::elu_out(t.y(), t.x(), t.number("alpha"), t.number("scale"),
                      t.number("input_scale"));
      } } },
    { "elu_backward",
      { [](Task &t) {
          at::elu_backward_out(t.y(), t.dy(), t.number("alpha"), t.number("scale"),
                               t.number("input_scale"), t.from_dst(), t.x());
      } } },
    { "silu", { [](Task &t) { at::silu_out(t.y(), t.x()); } } },
    { "silu_backward", { [](Task &t) { at::silu_backward_out(t.y(), t.dy(), t.x()); } } },
    { "gelu", { [](Task &t) { at::gelu_out(t.y(), t.x(), t.gelu()); } } },
    { "gelu_backward",
      { [](Task &t) { at::gelu_backward_out(t.y(), t.dy(), t.x(), t.gelu()); } } },
    { "mish", { [](Task &t) { at::mish_out(t.y(), t.x()); } } },
    { "mish_backward",
      { [](Task &t) { t.give([&] { return at::mish_backward(t.dy(), t.x()); }); } } },
    // units with a gate
    { "glu", { glu, join_halves } },
    { "glu_backward", { glu_backward, join_halves } },
    { "reglu", { gated<relu> } },
    { "reglu_backward", { gated_backward<relu, relu_slope> } },
    { "geglu", { gated<gelu> } },
    { "geglu_backward", { gated_backward<gelu, gelu_slope> } },
    { "swiglu", { gated<silu> } },
    { "swiglu_backward", { gated_backward<silu, silu_slope> } },
    // rows
    { "softmax", { [](Task &t) { at::_softmax_out(t.y(), t.x(), t.axis(), false); } } },
    { "softmax_backward", // diff_dst comes first
      { [](Task &t) {
          at::_softmax_backward_data_out(t.y(), t.in[0], t.in[1], t.axis(), t.x().scalar_type());
      } } },
    { "log_softmax", { [](Task &t) { at::_log_softmax_out(t.y(), t.x(), t.axis(), false); } } },
    { "log_softmax_backward",
      { [](Task &t) {
          at::_log_softmax_backward_data_out(t.y(), t.in[0], t.in[1], t.axis(),
                                             t.x().scalar_type());
      } } },
    { "cross_entropy", { cross_entropy, keep_labels } },
    { "cross_entropy_backward", { cross_entropy_backward, keep_logs } },
    { "cross_entropy_fused", { cross_entropy_fused, keep_logs } },
    { "rms_norm",
      { [](Task &t) {
          t.give([&] { return at::rms_norm(t.x(), t.rows(), t.maybe(1), t.number("epsilon")); });
      } } },
    { "rms_norm_backward", { rms_norm_backward, record_rms_norm, true } },
    { "add_rms_norm",
      { [](Task &t) {
          at::add_out(t.out[1], t.in[0], t.in[1]);
          t.give([&] {
              return at::rms_norm(t.out[1], t.rows(), t.maybe(2), t.number("epsilon"));
          });
      } } },
    { "add_rms_norm_backward", { rms_norm_backward, record_rms_norm, true } },
    { "layer_norm",
      { [](Task &t) {
          t.give([&] {
              return std::get<0>(at::native_layer_norm(t.x(), t.rows(), t.maybe(1), t.maybe(2),
                                                       t.number("epsilon")));
          });
      } } },
    { "layer_norm_backward", { layer_norm_backward } },
};

// ---- the peer ----------------------------------------------------------------------------------

struct Job {
    Task task;
    const Operator &op;
};

bool is_prelu(const peer_task *task)
{
    return std::string(task->op->name).rfind("prelu", 0) == 0;
}

Job *open_it(const peer_task *task)
{
    auto op = operators.find(task->op->name);
    if (op == operators.end())
        throw std::runtime_error("PyTorch has no such operator");
    c10::InferenceMode guard(!op->second.by_autograd);
    auto job = new Job{ Task(task), op->second };
    if (is_prelu(task))
        job->task.in[1] = tensor_at(peer_slope(task, 1), task->buffers[1]);
    try {
        if (job->op.prepare)
            job->op.prepare(job->task);
        job->op.run(job->task); // it refuses when it is called
    } catch (...) {
        delete job;
        throw;
    }
    return job;
}

void *open_job(const peer_task *task, char reason[PEER_REASON_SIZE])
{
    try {
        return open_it(task);
    } catch (const c10::Error &error) {
        std::snprintf(reason, PEER_REASON_SIZE, "%s", error.what_without_backtrace());
    } catch (const std::exception &error) {
        std::snprintf(reason, PEER_REASON_SIZE, "%s", error.what());
    }
    cache.clear();
    return nullptr;
}

int run_job(void *state)
{
    auto job = static_cast<Job *>(state);
    try {
        c10::InferenceMode guard(!job->op.by_autograd);
        job->op.run(job->task);
        return 0;
    } catch (const std::exception &) {
        return 1;
    }
}

const void *result_of(void *job, int32_t output)
{
    auto &results = static_cast<Job *>(job)->task.out;
    bool there = size_t(output) < results.size() && results[size_t(output)].defined();
    return there ? results[size_t(output)].const_data_ptr() : nullptr;
}

void close_job(void *job)
{
    delete static_cast<Job *>(job);
    cache.clear();
}

} // namespace

extern "C" const peer *vjp_peer(const peer_host *host, char *)
{
    static const std::string isa = at::get_cpu_capability();
    static const peer self = { "PyTorch", TORCH_VERSION, isa.c_str(), open_job, run_job,
                               result_of, close_job };
    cache.host = host;
    c10::SetCPUAllocator(&cache, 1);
    at::set_num_threads(host->threads);
    return &self;
}
