// SPDX-License-Identifier: Apache-2.0
//! The wrapper's results, and each of its refusals.

use vjp::{Attr, Bf16, Context, Error, Plan, Tensor, F16};

fn status_and<T>(result: Result<T, Error>, status: &str, reason: &str) {
    let error = result.err().expect("an error");
    assert_eq!(error.status, status);
    assert!(error.reason.contains(reason), "{}", error);
}

fn relu(ctx: &Context, src: Tensor) -> Result<Plan, Error> {
    let row = Some(Tensor::dense::<f32>(&[4])?);
    Plan::new(ctx, "relu_backward", &[Attr::flag("use_dst", false)?], &[Some(src), row], &[row])
}

const SRC: [f32; 4] = [-1.0, 0.0, 2.0, 3.0];
const DIFF_DST: [f32; 4] = [10.0, 20.0, 30.0, 40.0];

#[test]
fn a_plan_runs_on_many_threads() -> Result<(), Error> {
    let plan = relu(&Context::new(1)?, Tensor::dense::<f32>(&[4])?)?;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut out = [-1f32; 4];
                plan.run(&[SRC[..].into(), DIFF_DST[..].into()], &mut [out[..].as_mut().into()])
                    .unwrap();
                assert_eq!(out, [0.0, 0.0, 30.0, 40.0]);
            });
        }
    });
    Ok(())
}

#[test]
fn a_negative_stride_starts_at_the_end() -> Result<(), Error> {
    let plan = relu(&Context::new(1)?, Tensor::strided::<f32>(&[4], &[-1])?)?;
    let mut out = [-1f32; 4];
    plan.run(&[SRC[..].into(), DIFF_DST[..].into()], &mut [out[..].as_mut().into()])?;
    assert_eq!(out, [10.0, 20.0, 0.0, 0.0]);
    Ok(())
}

#[test]
fn sixteen_bits() -> Result<(), Error> {
    let ctx = Context::new(1)?;
    let half = Some(Tensor::dense::<F16>(&[2])?);
    let mut out = [F16(1); 2];
    Plan::new(&ctx, "relu", &[], &[half], &[half])?
        .run(&[[F16(0x3c00), F16(0xbc00)][..].into()], &mut [out[..].as_mut().into()])?;
    assert_eq!(out, [F16(0x3c00), F16(0)]);

    let brain = Some(Tensor::dense::<Bf16>(&[1])?);
    let attrs = [Attr::number("alpha", 0.5)?];
    let mut out = [Bf16(1)];
    Plan::new(&ctx, "leaky_relu", &attrs, &[brain], &[brain])?
        .run(&[[Bf16(0xbf80)][..].into()], &mut [out[..].as_mut().into()])?;
    assert_eq!(out, [Bf16(0xbf00)]); // half of -1
    Ok(())
}

// One strided row: its passes leave their values in the workspace.
#[test]
fn a_workspace_is_allocated() -> Result<(), Error> {
    let ctx = Context::new(1)?;
    let column = Some(Tensor::strided::<f32>(&[4096], &[2])?);
    let dense = Some(Tensor::dense::<f32>(&[4096])?);
    let attrs = [Attr::integer("axis", 0)?];
    let (src, mut dst) = (vec![1f32; 8192], vec![0f32; 4096]);
    Plan::new(&ctx, "softmax", &attrs, &[column], &[dense])?
        .run(&[src[..].into()], &mut [dst[..].as_mut().into()])?;
    assert!(dst.iter().all(|p| *p == 1.0 / 4096.0));
    Ok(())
}

#[test]
fn bad_calls_are_refused() -> Result<(), Error> {
    let ctx = Context::new(1)?;
    let row = Tensor::dense::<f32>(&[4])?;
    let plan = relu(&ctx, row)?;
    let mut out = [0f32; 4];
    let reason = "diff_dst: the slice has 3 elements, not 4";
    let run = plan.run(&[SRC[..].into(), SRC[..3].into()], &mut [out[..].as_mut().into()]);
    status_and(run, "VJP_BAD_ARGUMENT", reason);
    let run = plan.run(&[SRC[..].into(), [0f64; 4][..].into()], &mut [out[..].as_mut().into()]);
    status_and(run, "VJP_BAD_DTYPE", "diff_dst: the slice is of f64, the tensor of f32");
    let run = plan.run(&[SRC[..].into()], &mut [out[..].as_mut().into()]);
    status_and(run, "VJP_BAD_ARGUMENT", "diff_dst");
    let three = [SRC[..].into(), SRC[..].into(), SRC[..].into()];
    let run = plan.run(&three, &mut [out[..].as_mut().into()]);
    status_and(run, "VJP_BAD_ARGUMENT", "a run takes 2 inputs and 1 outputs");

    let row = Some(row);
    status_and(Plan::new(&ctx, "rely", &[], &[row], &[row]), "VJP_BAD_OP", "named rely");
    let many = Plan::new(&ctx, "relu", &[], &[row, row], &[row]);
    status_and(many, "VJP_BAD_ARGUMENT", "relu has 1 inputs and 1 outputs");
    let attrs = [Attr::word("mode", "exact")?];
    let plan = Plan::new(&ctx, "gelu", &attrs, &[row], &[row]);
    status_and(plan, "VJP_BAD_ATTRIBUTE", "mode");
    status_and(Attr::flag("a\0b", true), "VJP_BAD_ARGUMENT", "zero byte");
    status_and(Tensor::dense::<f32>(&[-1]), "VJP_BAD_SHAPE", "cannot be described");
    let huge = Tensor::dense::<f32>(&[1 << 40, 1 << 40, 1 << 40]);
    status_and(huge, "VJP_TOO_LARGE", "cannot be described");
    status_and(Tensor::strided::<u8>(&[2, 2], &[1]), "VJP_BAD_SHAPE", "2 dims and 1 strides");
    Ok(())
}
