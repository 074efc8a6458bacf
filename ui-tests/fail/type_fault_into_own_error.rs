// Rule: `?` converts an error once, and a `Fault` into an `Error`.
// Instead: `impl<V> From<Fault<V>> for Mine`.
//~ E0277
//~ right: pass/types.rs
use escrow::{DeviceContext, Error, HostBuffer, InFlight};

enum Mine {
    Gpu(Error),
}

impl From<Error> for Mine {
    fn from(error: Error) -> Mine {
        Mine::Gpu(error)
    }
}

fn user(ctx: &DeviceContext, host: InFlight<HostBuffer<f32>>) -> Result<HostBuffer<f32>, Mine> {
    Ok(ctx.synchronize(host)?)
}

fn main() {}
