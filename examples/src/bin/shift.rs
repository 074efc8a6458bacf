//! The ring shift of Mojo's SHMEM page: each PE stores its number on the next one.
//!
//! ```text
//! cargo run --release -p escrow-examples --bin shift -- --pes 4
//! ```

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use escrow::{Error, ShmemContext, shmem};
use escrow_examples::cli;

/// Shifts the numbers of the PEs around their ring.
#[derive(Parser, Debug)]
#[command(name = "shift", version)]
struct Arguments {
    /// PEs of the ring; under a launcher, the number of its processes.
    #[arg(long, default_value = "2", value_parser = clap::value_parser!(u16).range(1..))]
    pes: u16,
}

fn main() -> ExitCode {
    cli::main(|arguments: &Arguments| shmem::launch(arguments.pes.into(), shift).map(|_| ()))
}

fn shift(job: &ShmemContext) -> Result<(), Error> {
    // Memory that each PE has at the same place. It is this PE's own until the barrier exposes it to the others.
    let inbox = job.create_buffer_zeroed::<i32>(1)?;
    let open = job.barrier_all(inbox)?;

    // One element, to the next PE's copy. Behind the last PE comes the first.
    job.p(job.my_pe() as i32, &open, 0, job.next())?;

    // The barrier waits for all stores to arrive, and makes the memory this PE's own again.
    let inbox = job.barrier_all(open)?;

    // Everybody's number to everybody, and PE 0 prints them: under a launcher each PE is a process.
    let mut all = job.create_buffer_zeroed::<i32>(job.n_pes())?;
    job.world().fcollect(&inbox, &mut all)?;
    if job.my_pe() == 0 {
        // Nothing has blocked up to here but the creation of memory; this waits for the stream.
        let lines = all.to_vec()?.into_iter().enumerate().map(|(pe, got)| format!("PE: {pe} received: {got}\n"));
        // A reader of this text that has gone is no failure.
        let _ = io::stdout().write_all(lines.collect::<String>().as_bytes());
    }
    Ok(())
}
