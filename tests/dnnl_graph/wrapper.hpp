// SPDX-License-Identifier: Apache-2.0
// wrapper.hpp - a minimal RAII wrapper of our own over the C functions of the Graph API, as
// oneDNN's C++ header is one: shared handles, exceptions, and the same calls in the same order.
#ifndef WRAPPER_HPP
#define WRAPPER_HPP

#include <oneapi/dnnl/dnnl_graph.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace wrapper
{

struct failure : std::runtime_error {
    failure(dnnl_status_t s, const char *what) : std::runtime_error(what), status(s)
    {
    }
    dnnl_status_t status;
};

inline void check(dnnl_status_t status, const char *what)
{
    if (status != dnnl_success)
        throw failure(status, what);
}

// A shared handle that is destroyed by its C function, or that only borrows.
template <typename T, dnnl_status_t (*destroy)(T)> class handle
{
  public:
    explicit handle(T t, bool borrowed = false)
        : data_(
              t, borrowed ? [](T) {} : [](T p) { (void)destroy(p); })
    {
    }
    T get() const
    {
        return data_.get();
    }

  private:
    std::shared_ptr<typename std::remove_pointer<T>::type> data_;
};

// ---- engines and streams --------------------------------------------------------------------

typedef handle<dnnl_graph_allocator_t, dnnl_graph_allocator_destroy> allocator;
typedef handle<dnnl_engine_t, dnnl_engine_destroy> engine;
typedef handle<dnnl_stream_t, dnnl_stream_destroy> stream;

// ---- logical tensors and tensors ------------------------------------------------------------

class logical_tensor
{
  public:
    typedef std::vector<int64_t> dims;

    explicit logical_tensor(const dnnl_graph_logical_tensor_t &lt) : data(lt)
    {
    }
    logical_tensor(size_t id, dnnl_data_type_t dtype, int ndims)
    {
        check(dnnl_graph_logical_tensor_init(&data, id, dtype, ndims, dnnl_graph_layout_type_any,
                                             dnnl_graph_tensor_property_undef),
              "logical tensor");
    }
    logical_tensor(size_t id, dnnl_data_type_t dtype, const dims &d)
    {
        check(dnnl_graph_logical_tensor_init_with_dims(&data, id, dtype, int(d.size()), d.data(),
                                                       dnnl_graph_layout_type_strided,
                                                       dnnl_graph_tensor_property_undef),
              "logical tensor with dims");
    }
    logical_tensor(size_t id, dnnl_data_type_t dtype, const dims &d, const dims &strides)
    {
        check(dnnl_graph_logical_tensor_init_with_strides(&data, id, dtype, int(d.size()), d.data(),
                                                          strides.data(),
                                                          dnnl_graph_tensor_property_undef),
              "logical tensor with strides");
    }
    size_t mem_size() const
    {
        size_t size;
        check(dnnl_graph_logical_tensor_get_mem_size(&data, &size), "mem size");
        return size;
    }
    bool is_equal(const logical_tensor &other) const
    {
        uint8_t equal;
        check(dnnl_graph_logical_tensor_is_equal(&data, &other.data, &equal), "is equal");
        return equal != 0;
    }

    dnnl_graph_logical_tensor_t data;
};

class tensor : public handle<dnnl_graph_tensor_t, dnnl_graph_tensor_destroy>
{
  public:
    tensor(const logical_tensor &lt, const engine &e, void *memory = DNNL_MEMORY_ALLOCATE)
        : handle(make(lt, e, memory))
    {
    }
    void *data() const
    {
        void *memory;
        check(dnnl_graph_tensor_get_data_handle(get(), &memory), "data handle");
        return memory;
    }
    void set_data(void *memory) const
    {
        check(dnnl_graph_tensor_set_data_handle(get(), memory), "set data handle");
    }
    engine get_engine() const
    {
        dnnl_engine_t e;
        check(dnnl_graph_tensor_get_engine(get(), &e), "engine of a tensor");
        return engine(e, true);
    }
    logical_tensor description() const
    {
        dnnl_graph_logical_tensor_t lt;
        check(dnnl_graph_tensor_get_logical_tensor(get(), &lt), "description of a tensor");
        return logical_tensor(lt);
    }

  private:
    static dnnl_graph_tensor_t make(const logical_tensor &lt, const engine &e, void *memory)
    {
        dnnl_graph_tensor_t t;
        check(dnnl_graph_tensor_create(&t, &lt.data, e.get(), memory), "tensor");
        return t;
    }
};

// ---- operations -----------------------------------------------------------------------------

class op : public handle<dnnl_graph_op_t, dnnl_graph_op_destroy>
{
  public:
    op(size_t id, dnnl_graph_op_kind_t kind, const std::vector<logical_tensor> &inputs,
       const std::vector<logical_tensor> &outputs)
        : handle(make(id, kind))
    {
        for (const logical_tensor &lt : inputs)
            check(dnnl_graph_op_add_input(get(), &lt.data), "input");
        for (const logical_tensor &lt : outputs)
            check(dnnl_graph_op_add_output(get(), &lt.data), "output");
    }
    op &set(dnnl_graph_op_attr_t attr, float value)
    {
        check(dnnl_graph_op_set_attr_f32(get(), attr, &value, 1), "f32");
        return *this;
    }
    op &set(dnnl_graph_op_attr_t attr, int64_t value)
    {
        check(dnnl_graph_op_set_attr_s64(get(), attr, &value, 1), "s64");
        return *this;
    }
    op &set(dnnl_graph_op_attr_t attr, bool value)
    {
        const uint8_t byte = value;
        check(dnnl_graph_op_set_attr_bool(get(), attr, &byte, 1), "bool");
        return *this;
    }
    op &set(dnnl_graph_op_attr_t attr, const std::string &value)
    {
        check(dnnl_graph_op_set_attr_str(get(), attr, value.c_str(), value.size()), "str");
        return *this;
    }

  private:
    static dnnl_graph_op_t make(size_t id, dnnl_graph_op_kind_t kind)
    {
        dnnl_graph_op_t o;
        check(dnnl_graph_op_create(&o, id, kind, "client"), "op");
        return o;
    }
};

// ---- partitions -----------------------------------------------------------------------------

class compiled_partition
    : public handle<dnnl_graph_compiled_partition_t, dnnl_graph_compiled_partition_destroy>
{
  public:
    explicit compiled_partition(dnnl_graph_compiled_partition_t c) : handle(c)
    {
    }
    logical_tensor query(size_t id) const
    {
        dnnl_graph_logical_tensor_t lt;
        check(dnnl_graph_compiled_partition_query_logical_tensor(get(), id, &lt), "query");
        return logical_tensor(lt);
    }
    logical_tensor scratchpad() const
    {
        dnnl_graph_logical_tensor_t lt;
        check(dnnl_graph_compiled_partition_get_scratchpad_logical_tensor(get(), &lt),
              "scratchpad");
        return logical_tensor(lt);
    }
    std::vector<dnnl_graph_inplace_pair_t> inplace() const
    {
        size_t count;
        const dnnl_graph_inplace_pair_t *pairs;
        check(dnnl_graph_compiled_partition_get_inplace_ports(get(), &count, &pairs), "in place");
        return count ? std::vector<dnnl_graph_inplace_pair_t>(pairs, pairs + count)
                     : std::vector<dnnl_graph_inplace_pair_t>();
    }
    // Older headers call execute, newer ones execute_v2.
    void execute(const stream &s, const std::vector<tensor> &inputs,
                 const std::vector<tensor> &outputs, const tensor *scratchpad) const
    {
        std::vector<const_dnnl_graph_tensor_t> in, out;
        for (const tensor &t : inputs)
            in.push_back(t.get());
        for (const tensor &t : outputs)
            out.push_back(t.get());
        if (scratchpad)
            check(dnnl_graph_compiled_partition_execute_v2(get(), s.get(), in.size(), in.data(),
                                                           out.size(), out.data(),
                                                           scratchpad->get()),
                  "execute_v2");
        else
            check(dnnl_graph_compiled_partition_execute(get(), s.get(), in.size(), in.data(),
                                                        out.size(), out.data()),
                  "execute");
    }
};

class partition : public handle<dnnl_graph_partition_t, dnnl_graph_partition_destroy>
{
  public:
    explicit partition(dnnl_graph_partition_t p) : handle(p)
    {
    }
    explicit partition(const op &o) : handle(make(o))
    {
    }
    bool is_supported() const
    {
        uint8_t supported;
        check(dnnl_graph_partition_is_supported(get(), &supported), "is supported");
        return supported != 0;
    }
    std::vector<size_t> ops() const
    {
        size_t count;
        check(dnnl_graph_partition_get_op_num(get(), &count), "op num");
        std::vector<size_t> ids(count);
        check(dnnl_graph_partition_get_ops(get(), count, ids.data()), "ops");
        return ids;
    }
    size_t id() const
    {
        size_t id;
        check(dnnl_graph_partition_get_id(get(), &id), "id");
        return id;
    }
    dnnl_engine_kind_t engine_kind() const
    {
        dnnl_engine_kind_t kind;
        check(dnnl_graph_partition_get_engine_kind(get(), &kind), "engine kind");
        return kind;
    }
    std::vector<logical_tensor> inputs() const
    {
        return ports(dnnl_graph_partition_get_input_ports_num,
                     dnnl_graph_partition_get_input_ports);
    }
    std::vector<logical_tensor> outputs() const
    {
        return ports(dnnl_graph_partition_get_output_ports_num,
                     dnnl_graph_partition_get_output_ports);
    }
    compiled_partition compile(const std::vector<logical_tensor> &inputs,
                               const std::vector<logical_tensor> &outputs, const engine &e) const
    {
        dnnl_graph_compiled_partition_t c;
        check(dnnl_graph_compiled_partition_create(&c, get()), "compiled partition");
        const compiled_partition owner(c);
        std::vector<const dnnl_graph_logical_tensor_t *> in, out;
        for (const logical_tensor &lt : inputs)
            in.push_back(&lt.data);
        for (const logical_tensor &lt : outputs)
            out.push_back(&lt.data);
        check(dnnl_graph_partition_compile(get(), c, in.size(), in.data(), out.size(), out.data(),
                                           e.get()),
              "compile");
        return owner;
    }

  private:
    static dnnl_graph_partition_t make(const op &o)
    {
        dnnl_graph_partition_t p;
        check(dnnl_graph_partition_create_with_op(&p, o.get(), dnnl_cpu), "partition of an op");
        return p;
    }
    template <typename Count, typename Get>
    std::vector<logical_tensor> ports(Count count, Get get_ports) const
    {
        size_t n;
        check(count(get(), &n), "count of ports");
        std::vector<dnnl_graph_logical_tensor_t> raw(n);
        check(get_ports(get(), n, raw.data()), "ports");
        std::vector<logical_tensor> made;
        for (const dnnl_graph_logical_tensor_t &lt : raw)
            made.push_back(logical_tensor(lt));
        return made;
    }
};

class graph : public handle<dnnl_graph_graph_t, dnnl_graph_graph_destroy>
{
  public:
    graph() : handle(make())
    {
    }
    explicit graph(dnnl_fpmath_mode_t mode) : handle(make(mode))
    {
    }
    void add(const op &o)
    {
        check(dnnl_graph_add_op(get(), o.get()), "add op");
    }
    void finalize()
    {
        check(dnnl_graph_graph_finalize(get()), "finalize");
    }
    bool is_finalized() const
    {
        uint8_t finalized;
        check(dnnl_graph_graph_is_finalized(get(), &finalized), "is finalized");
        return finalized != 0;
    }
    std::vector<partition> partitions()
    {
        check(dnnl_graph_graph_filter(get(), dnnl_graph_partition_policy_fusion), "filter");
        size_t count;
        check(dnnl_graph_graph_get_partition_num(get(), &count), "partition num");
        std::vector<dnnl_graph_partition_t> raw(count);
        check(dnnl_graph_graph_get_partitions(get(), count, raw.data()), "partitions");
        return std::vector<partition>(raw.begin(), raw.end());
    }

  private:
    static dnnl_graph_graph_t make()
    {
        dnnl_graph_graph_t g;
        check(dnnl_graph_graph_create(&g, dnnl_cpu), "graph");
        return g;
    }
    static dnnl_graph_graph_t make(dnnl_fpmath_mode_t mode)
    {
        dnnl_graph_graph_t g;
        check(dnnl_graph_graph_create_with_fpmath_mode(&g, dnnl_cpu, mode), "graph with mode");
        return g;
    }
};

} // namespace wrapper

#endif
