// SPDX-License-Identifier: Apache-2.0
use vjp::{Context, Error, Plan, Tensor};

fn main() -> Result<(), Error> {
    let src = [-1f32, 0.0, 2.0];
    let diff_dst = [10f32, 20.0, 30.0];
    let mut diff_src = [0f32; 3];

    let ctx = Context::new(0)?;
    let row = Some(Tensor::dense::<f32>(&[3])?);
    let plan = Plan::new(&ctx, "sigmoid_backward", &[], &[row, row], &[row])?; // inputs, outputs
    plan.run(&[src[..].into(), diff_dst[..].into()], &mut [diff_src[..].as_mut().into()])?;

    let shown = diff_src.map(|x| (f64::from(x) * 1e5).round() / 1e5);
    println!("{} {} {}", shown[0], shown[1], shown[2]);
    Ok(())
}
