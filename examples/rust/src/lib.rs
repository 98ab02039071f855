// SPDX-License-Identifier: Apache-2.0
//! A safe wrapper over vjp's C API, for the CPU: objects that free themselves, errors that carry
//! the library's reason, and slices whose length and dtype are checked before each run.
//!
//! One file to copy into a project: it needs only the standard library and libvjp. What an operator
//! does, and what the library promises, is in vjp.h. Since Rust's borrows do not allow an output to
//! be an input, there are no in-place calls.

use std::ffi::{c_void, CStr, CString};
use std::marker::PhantomData;
use std::os::raw::{c_char, c_int};
use std::{error, fmt, ptr};

const MAX_DIMS: usize = 12;
const REASON_SIZE: usize = 256;

// ---- the C API, as much of it as is used here -------------------------------------------------

#[repr(C)]
struct RawContext([u8; 0]);
#[repr(C)]
struct RawPlan([u8; 0]);

#[repr(C)]
struct RawOptions {
    struct_size: usize,
    device: c_int,
    device_id: i32,
    num_threads: i32,
    parallel_for: *const c_void,
    parallel_for_user: *const c_void,
    allocate: *const c_void,
    deallocate: *const c_void,
    allocator_user: *const c_void,
    isa: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct RawTensor {
    struct_size: usize,
    dtype: c_int,
    ndim: i32,
    shape: [i64; MAX_DIMS],
    strides: [i64; MAX_DIMS],
}

#[repr(C)]
union RawValue {
    b: i32,
    s64: i64,
    f64: f64,
    str: *const c_char,
}

#[repr(C)]
struct RawAttr {
    name: *const c_char,
    kind: c_int,
    value: RawValue,
}

#[repr(C)]
struct RawOp {
    struct_size: usize,
    name: *const c_char,
    title: *const c_char,
    formula: *const c_char,
    ninputs: i32,
    noutputs: i32,
}

#[repr(C)]
struct RawTensorInfo {
    struct_size: usize,
    name: *const c_char,
}

#[link(name = "vjp")]
extern "C" {
    fn vjp_status_string(status: c_int) -> *const c_char;
    fn vjp_dtype_name(dtype: c_int) -> *const c_char;
    fn vjp_dtype_size(dtype: c_int) -> usize;
    fn vjp_context_create(
        options: *const RawOptions,
        ctx: *mut *mut RawContext,
        reason: *mut c_char,
        reason_size: usize,
    ) -> c_int;
    fn vjp_context_destroy(ctx: *mut RawContext);
    fn vjp_context_isa(ctx: *const RawContext) -> *const c_char;
    fn vjp_tensor_strided(
        dtype: c_int,
        ndim: i32,
        shape: *const i64,
        strides: *const i64,
        tensor: *mut RawTensor,
    ) -> c_int;
    fn vjp_plan_create(
        ctx: *mut RawContext,
        op: *const c_char,
        attrs: *const RawAttr,
        nattrs: i32,
        tensors: *const *const RawTensor,
        ntensors: i32,
        plan: *mut *mut RawPlan,
        reason: *mut c_char,
        reason_size: usize,
    ) -> c_int;
    fn vjp_plan_destroy(plan: *mut RawPlan);
    fn vjp_plan_workspace_size(plan: *const RawPlan) -> usize;
    fn vjp_plan_run(
        plan: *const RawPlan,
        inputs: *const *const c_void,
        outputs: *const *mut c_void,
        workspace: *mut c_void,
        workspace_size: usize,
        stream: *mut c_void,
    ) -> c_int;
    fn vjp_plan_check(
        plan: *const RawPlan,
        inputs: *const *const c_void,
        outputs: *const *mut c_void,
        workspace: *const c_void,
        workspace_size: usize,
        reason: *mut c_char,
        reason_size: usize,
    ) -> c_int;
    fn vjp_op_find(name: *const c_char) -> *const RawOp;
    fn vjp_op_tensor(op: *const RawOp, index: i32) -> *const RawTensorInfo;
}

/// A string that the library gave: a constant, or a reason in a buffer of ours.
fn text(given: *const c_char) -> String {
    // SAFETY: every caller passes a terminated string that lives during the call.
    unsafe { CStr::from_ptr(given) }.to_string_lossy().into_owned()
}

// ---- errors -----------------------------------------------------------------------------------

const BAD_ARGUMENT: c_int = 1;
const BAD_OP: c_int = 2;
const BAD_DTYPE: c_int = 4;
const BAD_SHAPE: c_int = 5;

/// The status of a refused call by its name in vjp.h, and the reason in one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub status: String,
    pub reason: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.status, self.reason)
    }
}

impl error::Error for Error {}

fn refuse<T>(status: c_int, reason: impl Into<String>) -> Result<T, Error> {
    // SAFETY: takes any number and returns a constant.
    let status = text(unsafe { vjp_status_string(status) });
    Err(Error { status, reason: reason.into() })
}

/// Call a function that writes its reason, and turn what it returns into a Result.
fn checked(call: impl FnOnce(*mut c_char, usize) -> c_int) -> Result<(), Error> {
    let mut reason: [c_char; REASON_SIZE] = [0; REASON_SIZE];
    match call(reason.as_mut_ptr(), REASON_SIZE) {
        0 => Ok(()),
        status => refuse(status, text(reason.as_ptr())),
    }
}

fn c_string(of: &str) -> Result<CString, Error> {
    CString::new(of).or_else(|_| refuse(BAD_ARGUMENT, "a name has a zero byte in it"))
}

// ---- context ----------------------------------------------------------------------------------

/// The CPU, and how many of its threads to use.
pub struct Context(*mut RawContext);

// SAFETY: vjp.h: every function may be called from any thread.
unsafe impl Send for Context {}
unsafe impl Sync for Context {}

impl Context {
    /// threads: 1 stays on the calling thread, 0 takes what OpenMP offers.
    pub fn new(threads: i32) -> Result<Context, Error> {
        let options = RawOptions {
            struct_size: std::mem::size_of::<RawOptions>(),
            device: 0,
            device_id: 0,
            num_threads: threads,
            parallel_for: ptr::null(),
            parallel_for_user: ptr::null(),
            allocate: ptr::null(),
            deallocate: ptr::null(),
            allocator_user: ptr::null(),
            isa: ptr::null(),
        };
        let mut ctx = ptr::null_mut();
        // SAFETY: the pointers live during the call.
        checked(|reason, size| unsafe { vjp_context_create(&options, &mut ctx, reason, size) })?;
        Ok(Context(ctx))
    }

    /// The instruction set in use: "avx512".
    pub fn isa(&self) -> String {
        // SAFETY: the context lives, and so does its name.
        text(unsafe { vjp_context_isa(self.0) })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: made by vjp_context_create, destroyed once; plans keep their own reference.
        unsafe { vjp_context_destroy(self.0) }
    }
}

// ---- tensors and attributes ---------------------------------------------------------------------

/// IEEE binary16, by its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct F16(pub u16);

/// The upper half of an f32, by its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Bf16(pub u16);

mod sealed {
    pub trait Sealed {}
}

/// The types of elements. Sealed: the library trusts their size and that all bits are allowed.
pub trait Element: sealed::Sealed + Copy {
    #[doc(hidden)]
    const DTYPE: c_int;
}

macro_rules! elements {
    ($($t:ty = $number:expr),*) => {
        $(impl sealed::Sealed for $t {}
          impl Element for $t { const DTYPE: c_int = $number; })*
    };
}
elements!(f64 = 1, f32 = 2, F16 = 3, Bf16 = 4, i32 = 5, i64 = 6, u8 = 7);

/// The description of a tensor: everything but its data.
#[derive(Clone, Copy)]
pub struct Tensor {
    raw: RawTensor,
    elements: usize, // from the lowest address to the highest
    first: usize,    // where element (0, 0, ...) is: not 0 where a stride is negative
}

impl Tensor {
    /// Dense and row-major.
    pub fn dense<T: Element>(shape: &[i64]) -> Result<Tensor, Error> {
        let mut strides = vec![1i64; shape.len()];
        for d in (1..shape.len()).rev() {
            strides[d - 1] = strides[d].wrapping_mul(shape[d].max(1));
        }
        Tensor::strided::<T>(shape, &strides)
    }

    /// With these strides, in elements. Negative ones are allowed: a slice starts at the tensor's
    /// lowest address.
    pub fn strided<T: Element>(shape: &[i64], strides: &[i64]) -> Result<Tensor, Error> {
        if shape.len() != strides.len() || shape.len() > MAX_DIMS {
            let (n, m) = (shape.len(), strides.len());
            return refuse(BAD_SHAPE, format!("{} dims and {} strides, at most 12", n, m));
        }
        let mut raw = RawTensor {
            struct_size: std::mem::size_of::<RawTensor>(),
            dtype: T::DTYPE,
            ndim: 0,
            shape: [0; MAX_DIMS],
            strides: [0; MAX_DIMS],
        };
        let (ndim, shape_at, strides_at) = (shape.len() as i32, shape.as_ptr(), strides.as_ptr());
        // SAFETY: both slices have ndim numbers.
        let status =
            unsafe { vjp_tensor_strided(T::DTYPE, ndim, shape_at, strides_at, &mut raw) };
        if status != 0 {
            return refuse(status, "a tensor with this shape and strides cannot be described");
        }
        // The library has checked that the bytes fit in 62 bits, so nothing overflows here.
        let steps = || shape.iter().zip(strides).map(|(n, stride)| (n - 1) * stride);
        let below: i64 = steps().filter(|s| *s < 0).map(|s| -s).sum();
        let above: i64 = steps().filter(|s| *s > 0).sum();
        let (elements, first) = match shape.contains(&0) {
            true => (0, 0),
            false => ((below + above + 1) as usize, below as usize),
        };
        Ok(Tensor { raw, elements, first })
    }
}

/// An attribute of an operator.
pub struct Attr {
    name: CString,
    value: Value,
}

enum Value {
    Flag(bool),
    Integer(i64),
    Number(f64),
    Word(CString),
}

impl Attr {
    pub fn flag(name: &str, value: bool) -> Result<Attr, Error> {
        Ok(Attr { name: c_string(name)?, value: Value::Flag(value) })
    }
    pub fn integer(name: &str, value: i64) -> Result<Attr, Error> {
        Ok(Attr { name: c_string(name)?, value: Value::Integer(value) })
    }
    pub fn number(name: &str, value: f64) -> Result<Attr, Error> {
        Ok(Attr { name: c_string(name)?, value: Value::Number(value) })
    }
    pub fn word(name: &str, value: &str) -> Result<Attr, Error> {
        Ok(Attr { name: c_string(name)?, value: Value::Word(c_string(value)?) })
    }

    /// What the C API takes; it points into self.
    fn raw(&self) -> RawAttr {
        let (kind, value) = match &self.value {
            Value::Flag(b) => (1, RawValue { b: *b as i32 }),
            Value::Integer(s64) => (2, RawValue { s64: *s64 }),
            Value::Number(f64) => (5, RawValue { f64: *f64 }),
            Value::Word(word) => (4, RawValue { str: word.as_ptr() }),
        };
        RawAttr { name: self.name.as_ptr(), kind, value }
    }
}

// ---- plans ------------------------------------------------------------------------------------

/// The data of an input: a slice of any Element.
pub struct Input<'a> {
    data: *const c_void,
    elements: usize,
    dtype: c_int,
    borrowed: PhantomData<&'a ()>,
}

impl<'a, T: Element> From<&'a [T]> for Input<'a> {
    fn from(slice: &'a [T]) -> Input<'a> {
        Input {
            data: slice.as_ptr().cast(),
            elements: slice.len(),
            dtype: T::DTYPE,
            borrowed: PhantomData,
        }
    }
}

/// The data of an output: a mutable slice of any Element.
pub struct Output<'a> {
    data: *mut c_void,
    elements: usize,
    dtype: c_int,
    borrowed: PhantomData<&'a mut ()>,
}

impl<'a, T: Element> From<&'a mut [T]> for Output<'a> {
    fn from(slice: &'a mut [T]) -> Output<'a> {
        Output {
            data: slice.as_mut_ptr().cast(),
            elements: slice.len(),
            dtype: T::DTYPE,
            borrowed: PhantomData,
        }
    }
}

/// An operator that is checked and ready to run, from any thread and on many at once.
pub struct Plan {
    raw: *mut RawPlan,
    tensors: Vec<(String, Option<Tensor>)>, // the inputs, then the outputs
    ninputs: usize,
}

// SAFETY: vjp.h: a plan does not change after it is made, and may run on many threads at once.
unsafe impl Send for Plan {}
unsafe impl Sync for Plan {}

impl Plan {
    /// Inputs and outputs in the operator's order. None, and those left out at the end: not given,
    /// or not wanted.
    pub fn new(
        ctx: &Context,
        op: &str,
        attrs: &[Attr],
        inputs: &[Option<Tensor>],
        outputs: &[Option<Tensor>],
    ) -> Result<Plan, Error> {
        let name = c_string(op)?;
        // SAFETY: name is terminated; what is found is a constant of the library.
        let info = match unsafe { vjp_op_find(name.as_ptr()).as_ref() } {
            Some(info) => info,
            None => return refuse(BAD_OP, format!("no operator is named {}", op)),
        };
        let (nin, nout) = (info.ninputs as usize, info.noutputs as usize);
        if inputs.len() > nin || outputs.len() > nout {
            let reason = format!("{} has {} inputs and {} outputs", op, nin, nout);
            return refuse(BAD_ARGUMENT, reason);
        }
        let mut plan = Plan { raw: ptr::null_mut(), tensors: Vec::new(), ninputs: nin };
        for i in 0..nin + nout {
            // SAFETY: i is the index of one of the operator's tensors.
            let tensor_name = text(unsafe { (*vjp_op_tensor(info, i as i32)).name });
            let given = if i < nin { inputs.get(i) } else { outputs.get(i - nin) };
            plan.tensors.push((tensor_name, given.copied().flatten()));
        }
        plan.create(ctx, &name, attrs)?;
        Ok(plan)
    }

    fn create(&mut self, ctx: &Context, name: &CStr, attrs: &[Attr]) -> Result<(), Error> {
        let attrs: Vec<RawAttr> = attrs.iter().map(Attr::raw).collect();
        let tensors: Vec<*const RawTensor> = self
            .tensors
            .iter()
            .map(|(_, tensor)| tensor.as_ref().map_or(ptr::null(), |t| &t.raw as *const _))
            .collect();
        let raw = &mut self.raw;
        // SAFETY: all pointers live during the call, and the counts are those of the vectors.
        checked(|reason, size| unsafe {
            vjp_plan_create(
                ctx.0,
                name.as_ptr(),
                attrs.as_ptr(),
                attrs.len() as i32,
                tensors.as_ptr(),
                tensors.len() as i32,
                raw,
                reason,
                size,
            )
        })
    }

    /// Where element 0 of tensor i is in a slice: an offset in bytes, or None if the plan does not
    /// have that tensor.
    fn offset(&self, i: usize, elements: usize, dtype: c_int) -> Result<Option<usize>, Error> {
        let (name, tensor) = &self.tensors[i];
        let tensor = match tensor {
            Some(tensor) => tensor,
            None => return Ok(None),
        };
        if dtype != tensor.raw.dtype {
            // SAFETY: both are numbers of dtypes, whose names are constants.
            let names = unsafe { [vjp_dtype_name(dtype), vjp_dtype_name(tensor.raw.dtype)] };
            let [got, wanted] = names.map(|n| text(n));
            let reason = format!("{}: the slice is of {}, the tensor of {}", name, got, wanted);
            return refuse(BAD_DTYPE, reason);
        }
        if elements < tensor.elements {
            let (got, wanted) = (elements, tensor.elements);
            let reason = format!("{}: the slice has {} elements, not {}", name, got, wanted);
            return refuse(BAD_ARGUMENT, reason);
        }
        // SAFETY: takes any number.
        Ok(Some(tensor.first * unsafe { vjp_dtype_size(dtype) }))
    }

    /// Compute. Slices in the plan's order, and any slice, an empty one too, for a tensor that is
    /// None.
    pub fn run(&self, inputs: &[Input], outputs: &mut [Output]) -> Result<(), Error> {
        let nout = self.tensors.len() - self.ninputs;
        if inputs.len() > self.ninputs || outputs.len() > nout {
            let reason = format!("a run takes {} inputs and {} outputs", self.ninputs, nout);
            return refuse(BAD_ARGUMENT, reason);
        }
        // What is left out at the end stays NULL; the library refuses it if the plan needs it.
        let mut ins = vec![ptr::null(); self.ninputs];
        let mut outs = vec![ptr::null_mut(); nout];
        for (i, input) in inputs.iter().enumerate() {
            if let Some(first) = self.offset(i, input.elements, input.dtype)? {
                // SAFETY: offset() has checked that this lies within the slice.
                ins[i] = unsafe { input.data.cast::<u8>().add(first) }.cast();
            }
        }
        for (i, output) in outputs.iter_mut().enumerate() {
            if let Some(first) = self.offset(self.ninputs + i, output.elements, output.dtype)? {
                // SAFETY: as above.
                outs[i] = unsafe { output.data.cast::<u8>().add(first) }.cast();
            }
        }
        self.run_at(&ins, &outs)
    }

    fn run_at(&self, inputs: &[*const c_void], outputs: &[*mut c_void]) -> Result<(), Error> {
        // SAFETY: the slices are as long as the tensors that the plan describes and do not overlap,
        // by the rules of borrowing; the workspace has the size that the plan asks for.
        unsafe {
            let mut workspace = vec![0u8; vjp_plan_workspace_size(self.raw)];
            let (memory, size) = (workspace.as_mut_ptr().cast::<c_void>(), workspace.len());
            let (ins, outs) = (inputs.as_ptr(), outputs.as_ptr());
            match vjp_plan_run(self.raw, ins, outs, memory, size, ptr::null_mut()) {
                0 => Ok(()),
                status => {
                    checked(|reason, reason_size| {
                        vjp_plan_check(self.raw, ins, outs, memory, size, reason, reason_size)
                    })?;
                    refuse(status, "the run failed")
                }
            }
        }
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        // SAFETY: made by vjp_plan_create, or NULL, and destroyed once.
        unsafe { vjp_plan_destroy(self.raw) }
    }
}
