// SPDX-License-Identifier: Apache-2.0
//! The gradient of SiLU from Rust, and what a refusal looks like: docs/rust.md.

use vjp::{Context, Error, Plan, Tensor};

fn main() -> Result<(), Error> {
    let src = [-20f32, -1.2784646, 0.0, 1.0, 2.0, 30.0];
    let diff_dst = [1f32; 6];
    let mut diff_src = [0f32; 6];

    let ctx = Context::new(0)?;
    println!("instruction set: {}", ctx.isa());
    let matrix = Some(Tensor::dense::<f32>(&[2, 3])?);
    let plan = Plan::new(&ctx, "silu_backward", &[], &[matrix, matrix], &[matrix])?;
    plan.run(&[src[..].into(), diff_dst[..].into()], &mut [diff_src[..].as_mut().into()])?;
    for (x, slope) in src.iter().zip(diff_src) {
        println!("silu'({}) = {:e}", x, slope);
    }

    let wide = Some(Tensor::dense::<f32>(&[2, 4])?);
    match Plan::new(&ctx, "silu_backward", &[], &[matrix, wide], &[matrix]) {
        Ok(_) => panic!("the shapes differ: the library must refuse"),
        Err(error) => println!("refused: {}", error),
    }
    Ok(())
}
