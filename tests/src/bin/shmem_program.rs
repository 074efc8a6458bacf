//! Runs one program of `escrow_tests::shmem_programs` as a job: `shmem_program NAME PES [SEED]`, on a chaotic device if there is
//! a seed. `twice` as the name runs a small one two times. Exits with 2 if `launch` returned an error, after it printed it.

use std::process::ExitCode;

use escrow::Device;
use escrow_tests::shmem_programs;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let name = args.next().expect("the name of a program");
    let pes = args.next().and_then(|pes| pes.parse().ok()).expect("a number of PEs");
    let device = args.next().map_or_else(Device::cpu, |seed| Device::cpu_chaos(seed.parse().expect("a seed")));
    let done = match name.as_str() {
        "twice" => shmem_programs::run("elements", pes, device.clone())
            .and_then(|()| shmem_programs::run("elements", pes, device)),
        name => shmem_programs::run(name, pes, device),
    };
    match done {
        Ok(()) => {
            println!("done: {name}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("returned: {error}");
            ExitCode::from(2)
        }
    }
}
