//! What needs a process of its own: settings, reports, and ends of processes.
//!
//! The tests named `child_...` are those processes; they do nothing unless a test here starts them.

use std::process::{Command, Output};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use escrow::{Error, shmem};

use super::quiet_panic;

const CHILD: &str = "ESCROW_TESTS_CHILD";

/// Runs the test `name` of this file in a process of its own.
fn child(name: &str, settings: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", &format!("process::{name}"), "--nocapture", "--test-threads", "1"]);
    for setting in ["ESCROW_CPU_CHAOS", "ESCROW_CPU_THREADS", "ESCROW_SHMEM", "ESCROW_SHMEM_WAIT"] {
        command.env_remove(setting);
    }
    command.env(CHILD, name).envs(settings.iter().copied());
    command.output().unwrap()
}

fn is_child(name: &str) -> bool {
    std::env::var(CHILD).is_ok_and(|value| value == name)
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
#[ignore = "a process of `a_pe_without_calls_is_ended_with_the_process`"]
fn child_makes_no_calls() {
    if !is_child("child_makes_no_calls") {
        return;
    }
    let (_sender, receiver) = channel::<()>();
    let receiver = std::sync::Mutex::new(receiver);
    let _ = shmem::launch(3, |job| -> Result<(), Error> {
        match job.my_pe() {
            0 => job.reclaim(),
            1 => quiet_panic("the first"),
            _ => {
                receiver.lock().unwrap().recv().unwrap(); // for ever
                Ok(())
            }
        }
    });
    println!("not reached");
}

/// 20, R38: a PE that makes no call for 5 s after another one failed ends the process, with the message.
///
/// Broken on purpose: in `local/mod.rs`, `watch` looks at `over` alone; or at nothing.
#[test]
fn a_pe_without_calls_is_ended_with_the_process() {
    let start = Instant::now();
    let output = child("child_makes_no_calls", &[]);
    let text = stderr(&output);
    assert!(!output.status.success());
    assert!(!String::from_utf8_lossy(&output.stdout).contains("not reached"));
    assert!(
        text.contains(
            "escrow: PE 1 failed: it panicked: the first; the job is over. PE 2 has made no call for 5 s since then, so the process ends"
        ),
        "{text}"
    );
    let took = start.elapsed();
    assert!(took > Duration::from_secs(5) && took < Duration::from_secs(15), "{took:?}");
}

#[test]
#[ignore = "a process of `a_pe_that_does_not_come_is_reported`"]
fn child_waits() {
    if !is_child("child_waits") {
        return;
    }
    let (sender, receiver) = channel::<()>();
    let (sender, receiver) = (std::sync::Mutex::new(Some(sender)), std::sync::Mutex::new(receiver));
    std::thread::scope(|s| {
        s.spawn(|| {
            // PE 1 comes late, well after the report is due.
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(1600) {
                std::thread::yield_now();
            }
            drop(sender.lock().unwrap().take());
        });
        shmem::launch(2, |job| {
            if job.my_pe() == 1 {
                let _ = receiver.lock().unwrap().recv();
            }
            job.reclaim()
        })
        .unwrap();
    });
    println!("went on");
}

/// A wait that is longer than the limit says for whom, once, and goes on.
///
/// Broken on purpose: in `local/mod.rs`, `wait` notes no `missing`.
#[test]
fn a_pe_that_does_not_come_is_reported() {
    let output = child("child_waits", &[("ESCROW_SHMEM_WAIT", "1")]);
    let text = stderr(&output);
    let report = "escrow: PE 0 has waited 1 s in `reclaim` (call 1 of the team); not there yet: PE 1";
    assert_eq!(text.matches("escrow: ").count(), 1, "{text}");
    assert!(text.contains(report), "{text}");
    assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("went on"));
    let output = child("child_waits", &[]);
    assert!(output.status.success() && !stderr(&output).contains("escrow: "));
}

#[test]
#[ignore = "a process of `bad_settings_are_errors`"]
fn child_reports_its_settings() {
    if !is_child("child_reports_its_settings") {
        return;
    }
    match shmem::launch(2, |job| Ok(job.engine())) {
        Ok(engines) => println!("said: {engines:?}."),
        Err(Error::Setting(setting)) => println!("said: bad {} {}.", setting.name, setting.value),
        Err(other) => panic!("{other}"),
    }
}

/// Settings that cannot be used are errors of `launch`, and say which.
#[test]
fn bad_settings_are_errors() {
    for (settings, said) in [
        (vec![], "[\"local\", \"local\"]"),
        (vec![("ESCROW_SHMEM", "local"), ("ESCROW_SHMEM_WAIT", "0.5")], "[\"local\", \"local\"]"),
        (vec![("ESCROW_SHMEM", "mpi")], "bad ESCROW_SHMEM mpi"),
        (vec![("ESCROW_SHMEM_WAIT", "soon")], "bad ESCROW_SHMEM_WAIT soon"),
        (vec![("ESCROW_SHMEM_WAIT", "-1")], "bad ESCROW_SHMEM_WAIT -1"),
        (vec![("ESCROW_SHMEM_WAIT", "inf")], "bad ESCROW_SHMEM_WAIT inf"),
        (vec![("ESCROW_CPU_THREADS", "0")], "bad ESCROW_CPU_THREADS 0"),
    ] {
        let output = child("child_reports_its_settings", &settings);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains(&format!("said: {said}.")), "{settings:?}: {text}{}", stderr(&output));
    }
}
