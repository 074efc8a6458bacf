//! What needs a process of its own: settings, and ends of processes.
//!
//! The tests named `child_...` are those processes; they do nothing unless a test here starts them.

use std::cell::RefCell;
use std::process::{Command, Output};
use std::sync::{Mutex, OnceLock};

use escrow::{Device, DeviceBuffer, DeviceContext, Error, HostBuffer, InFlight};
use escrow_tests::{hold, on_worker};

use super::{LEN, cpu};

const CHILD: &str = "ESCROW_TESTS_CHILD";

/// Runs the test `name` of this file in a process of its own.
fn child(name: &str, settings: &[(&str, &str)]) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", &format!("process::{name}"), "--nocapture", "--test-threads", "1"]);
    command.env_remove("ESCROW_CPU_CHAOS").env_remove("ESCROW_CPU_THREADS").env(CHILD, name);
    command.envs(settings.iter().copied());
    command.output().unwrap()
}

fn is_child(name: &str) -> bool {
    std::env::var(CHILD).is_ok_and(|value| value == name)
}

#[track_caller]
fn succeeded(output: &Output) {
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{:?}\n{text}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("1 passed"), "{text}");
}

#[test]
#[ignore = "a process of `bad_settings_are_errors`"]
fn child_reports_its_settings() {
    if !is_child("child_reports_its_settings") {
        return;
    }
    let said = match DeviceContext::new(Device::cpu()) {
        Ok(ctx) => {
            let name = ctx.device().name();
            let dev = ctx.enqueue_create_buffer_zeroed::<u32>(LEN).unwrap();
            assert_eq!(dev.to_vec().unwrap(), [0; LEN]);
            format!("ok {name}")
        }
        Err(Error::Setting(setting)) => {
            let (name, value) = (setting.name, &setting.value);
            // The device goes on to exist, and says the same again.
            assert!(matches!(DeviceContext::new(Device::cpu()), Err(Error::Setting(_))));
            format!("bad {name} {value}")
        }
        Err(other) => panic!("{other}"),
    };
    println!("said: {said}.");
}

/// Settings that cannot be used are errors of the first context, and say which.
///
/// Broken on purpose: in `device.rs`, `number` takes a default for what it cannot parse.
#[test]
fn bad_settings_are_errors() {
    for (settings, said) in [
        (vec![], "ok cpu"),
        (vec![("ESCROW_CPU_THREADS", "1")], "ok cpu"),
        (vec![("ESCROW_CPU_THREADS", "3")], "ok cpu"),
        (vec![("ESCROW_CPU_CHAOS", "0")], "ok cpu (chaos)"),
        (vec![("ESCROW_CPU_CHAOS", "18446744073709551615")], "ok cpu (chaos)"),
        (vec![("ESCROW_CPU_THREADS", "0")], "bad ESCROW_CPU_THREADS 0"),
        (vec![("ESCROW_CPU_THREADS", "")], "bad ESCROW_CPU_THREADS "),
        (vec![("ESCROW_CPU_THREADS", "-1")], "bad ESCROW_CPU_THREADS -1"),
        (vec![("ESCROW_CPU_THREADS", "two")], "bad ESCROW_CPU_THREADS two"),
        (vec![("ESCROW_CPU_CHAOS", "0x5")], "bad ESCROW_CPU_CHAOS 0x5"),
        (vec![("ESCROW_CPU_CHAOS", "18446744073709551616")], "bad ESCROW_CPU_CHAOS 18446744073709551616"),
        (vec![("ESCROW_CPU_CHAOS", "1"), ("ESCROW_CPU_THREADS", "many")], "bad ESCROW_CPU_THREADS many"),
    ] {
        let output = child("child_reports_its_settings", &settings);
        succeeded(&output);
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(&format!("said: {said}.")), "{settings:?}: {text}");
    }
}

type Kept = (DeviceContext, InFlight<HostBuffer<u32>>, DeviceBuffer<u32>);

fn kept(ctx: DeviceContext) -> Kept {
    let host = ctx.create_host_buffer_from(&[1u32; LEN]).unwrap();
    let (dev, flight) = ctx.enqueue_create_buffer_from(host).unwrap();
    (ctx, flight, dev)
}

static KEPT: Mutex<Vec<Kept>> = Mutex::new(Vec::new());
static CONTEXT: OnceLock<DeviceContext> = OnceLock::new();

thread_local! {
    static LOCAL: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

#[test]
#[ignore = "a process of `a_process_ends_with_everything_pending`"]
fn child_ends_with_everything_pending() {
    if !is_child("child_ends_with_everything_pending") {
        return;
    }
    let ctx = CONTEXT.get_or_init(cpu);
    LOCAL.with_borrow_mut(|local| local.push(kept(cpu())));
    KEPT.lock().unwrap().push(kept(ctx.clone()));
    KEPT.lock().unwrap().push(kept(DeviceContext::new(Device::cpu_chaos(1)).unwrap()));
    std::mem::forget(hold(ctx).unwrap());
    KEPT.lock().unwrap().push(kept(ctx.clone()));
    // Work goes on in the background while the process ends.
    let busy = cpu();
    let mut dev = busy.enqueue_create_buffer_zeroed::<u32>(1 << 20).unwrap();
    for i in 0..200 {
        dev.enqueue_fill(i).unwrap();
    }
    // A body that is under way when the process ends, and holds the last handle of its stream.
    let last = busy.clone();
    on_worker(&busy, move || drop(last)).unwrap();
}

/// 9: a process ends well whatever stands in statics and thread-locals, on streams that run, stand still or wait.
///
/// Broken on purpose: in `stream.rs`, `Drop` waits for the worker: the held stream then keeps its thread-local's drop,
/// and with it the process.
#[test]
fn a_process_ends_with_everything_pending() {
    succeeded(&child("child_ends_with_everything_pending", &[]));
    succeeded(&child("child_ends_with_everything_pending", &[("ESCROW_CPU_CHAOS", "11")]));
    succeeded(&child("child_ends_with_everything_pending", &[("ESCROW_CPU_THREADS", "1")]));
}
