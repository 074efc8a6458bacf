//! Runs one program of `escrow_tests::shmem_programs` as a job: `shmem_program NAME PES`. Exits with 2 if `launch` returned an
//! error, after it printed it.

use std::process::ExitCode;

use escrow_tests::shmem_programs;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let name = args.next().expect("the name of a program");
    let pes = args.next().and_then(|pes| pes.parse().ok()).expect("a number of PEs");
    match shmem_programs::run(&name, pes) {
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
