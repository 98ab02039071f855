// SPDX-License-Identifier: Apache-2.0
// torch.cpp - PyTorch as a peer: its operators as its autograd calls them, from C++.
//
// Results go into the given buffers; PReLU has no such call, so there they are in memory that the
// call before gave back (Cache), which costs no page faults. Sigmoid from src is two operators, as
// in PyTorch, through one intermediate buffer.
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_prelu_kernel_backward.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/hardsigmoid_backward.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sigmoid_backward.h>
#include <ATen/ops/threshold_backward.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/InferenceMode.h>
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

// ---- operators ---------------------------------------------------------------------------------

struct Job {
    std::function<void()> run;
    std::vector<at::Tensor> results;
};

at::Tensor tensor_at(const vjp_tensor &tensor, void *data)
{
    static const std::map<vjp_dtype, at::ScalarType> dtypes = { { VJP_F64, at::kDouble },
                                                                { VJP_F32, at::kFloat },
                                                                { VJP_F16, at::kHalf },
                                                                { VJP_BF16, at::kBFloat16 } };
    return at::from_blob(data, { tensor.shape, size_t(tensor.ndim) },
                         { tensor.strides, size_t(tensor.ndim) }, dtypes.at(tensor.dtype));
}

void open_prelu(Job &job, const peer_task *task)
{
    auto x = tensor_at(task->tensors[0], task->buffers[0]);
    auto w = tensor_at(peer_slope(task, 1), task->buffers[1]);
    auto dy = tensor_at(task->tensors[2], task->buffers[2]);
    job.run = [=, &job] {
        job.results.clear(); // its memory first
        auto [dx, dw] = at::_prelu_kernel_backward(dy, x, w);
        job.results = { dx, dw.sum_to_size(w.sizes()) };
    };
}

void open_map(Job &job, const std::string &op, const peer_task *task)
{
    auto x = tensor_at(task->tensors[0], task->buffers[0]);
    auto dy = tensor_at(task->tensors[1], task->buffers[1]);
    auto dx = tensor_at(task->tensors[2], task->buffers[2]);
    bool from_dst = peer_attr(task, "use_dst").value.b;
    job.results = { dx };
    if (op == "relu_backward")
        job.run = [=]() mutable { at::threshold_backward_out(dx, dy, x, 0); };
    else if (op == "hard_sigmoid_backward")
        job.run = [=]() mutable { at::hardsigmoid_backward_out(dx, dy, x); };
    else if (op == "sigmoid_backward" && from_dst)
        job.run = [=]() mutable { at::sigmoid_backward_out(dx, dy, x); };
    else if (op == "sigmoid_backward")
        job.run = [=, y = at::empty_like(x)]() mutable {
            at::sigmoid_out(y, x);
            at::sigmoid_backward_out(dx, dy, y);
        };
    else
        throw std::runtime_error("not compared");
}

void open_softmax(Job &job, const peer_task *task)
{
    auto dy = tensor_at(task->tensors[0], task->buffers[0]);
    auto y = tensor_at(task->tensors[1], task->buffers[1]);
    const int32_t output = task->op->ninputs; // after a mask and lengths
    auto dx = tensor_at(task->tensors[output], task->buffers[output]);
    int64_t axis = peer_attr(task, "axis").value.s64;
    job.results = { dx };
    job.run = [=]() mutable {
        at::_softmax_backward_data_out(dx, dy, y, axis, y.scalar_type());
    };
}

// ---- the peer ----------------------------------------------------------------------------------

void *open_job(const peer_task *task, char reason[PEER_REASON_SIZE])
{
    auto job = new Job;
    try {
        c10::InferenceMode guard;
        std::string op = task->op->name;
        if (op == "prelu_backward")
            open_prelu(*job, task);
        else if (op == "softmax_backward")
            open_softmax(*job, task);
        else
            open_map(*job, op, task);
        job->run(); // it refuses when it is called
        return job;
    } catch (const c10::Error &error) {
        std::snprintf(reason, PEER_REASON_SIZE, "%s", error.what_without_backtrace());
    } catch (const std::exception &error) {
        std::snprintf(reason, PEER_REASON_SIZE, "%s", error.what());
    }
    delete job;
    cache.clear();
    return nullptr;
}

int run_job(void *job)
{
    try {
        c10::InferenceMode guard;
        static_cast<Job *>(job)->run();
        return 0;
    } catch (const std::exception &) {
        return 1;
    }
}

const void *result_of(void *job, int32_t output)
{
    return static_cast<Job *>(job)->results[size_t(output)].const_data_ptr();
}

void close_job(void *job)
{
    delete static_cast<Job *>(job);
    cache.clear();
}

} // namespace

extern "C" const peer *vjp_peer(const peer_host *host, char *)
{
    static const peer self = { "PyTorch", TORCH_VERSION, open_job, run_job, result_of, close_job };
    cache.host = host;
    c10::SetCPUAllocator(&cache, 1);
    at::set_num_threads(host->threads);
    return &self;
}
