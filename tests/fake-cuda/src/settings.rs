//! What the driver is told to be and to do, by environment variables and by the control functions.

use crate::abi::CUresult;

/// An injected failure.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    /// The call's name, or `*` for any.
    pub(crate) name: String,
    /// Which call from now on fails; 0: all of them.
    pub(crate) nth: u64,
    /// What it returns.
    pub(crate) code: CUresult,
    /// Do the work and return the code all the same, as when a call reports an earlier failure.
    pub(crate) after: bool,
    /// The context fails for good.
    pub(crate) sticky: bool,
    /// How many matching calls there were.
    pub(crate) seen: u64,
}

impl Fault {
    /// `name:nth:code[:after][:sticky]`.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let name = parts.next()?.to_owned();
        let (nth, code) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let rest: Vec<_> = parts.collect();
        Some(Self { name, nth, code, after: rest.contains(&"after"), sticky: rest.contains(&"sticky"), seen: 0 })
    }
}

/// All settings.
#[derive(Debug, Clone)]
#[allow(clippy::struct_excessive_bools, reason = "independent switches")]
pub(crate) struct Settings {
    pub(crate) devices: usize,
    pub(crate) pools: bool,
    /// Every call needs the right context to be current.
    pub(crate) strict: bool,
    /// Report reads of device memory that was never written.
    pub(crate) initcheck: bool,
    /// Report asynchronous copies from and to pageable memory.
    pub(crate) pinned_only: bool,
    /// Bytes of each device.
    pub(crate) memory: u64,
    /// Operations that a stream holds back at most.
    pub(crate) pending_limit: usize,
    /// Run operations in the background, in random order and with random delays.
    pub(crate) delay: Option<u64>,
    pub(crate) abort: bool,
    pub(crate) null: bool,
    /// Print each call.
    pub(crate) print: bool,
    pub(crate) faults: Vec<Fault>,
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.trim().parse().ok()
}

fn switch(name: &str, otherwise: bool) -> bool {
    number(name).map_or(otherwise, |n| n != 0)
}

impl Settings {
    /// From the environment. A value that cannot be read ends the process: a run that silently tests nothing is worse.
    pub(crate) fn from_env() -> Self {
        let faults = std::env::var("FAKE_CUDA_FAIL").unwrap_or_default();
        let faults = faults.split(',').filter(|f| !f.is_empty()).map(|f| {
            Fault::parse(f).unwrap_or_else(|| {
                eprintln!("fake-cuda: FAKE_CUDA_FAIL: expected name:nth:code[:after][:sticky], found `{f}`");
                std::process::abort()
            })
        });
        Self {
            devices: number("FAKE_CUDA_DEVICES").unwrap_or(1) as usize,
            pools: switch("FAKE_CUDA_POOLS", true),
            strict: switch("FAKE_CUDA_STRICT", false),
            initcheck: switch("FAKE_CUDA_INITCHECK", false),
            pinned_only: switch("FAKE_CUDA_PINNED_ONLY", false),
            memory: number("FAKE_CUDA_MEMORY").unwrap_or(8 << 30),
            pending_limit: number("FAKE_CUDA_PENDING").unwrap_or(1024).max(1) as usize,
            delay: number("FAKE_CUDA_DELAY"),
            abort: switch("FAKE_CUDA_ABORT", true),
            null: switch("FAKE_CUDA_NULL", false),
            print: switch("FAKE_CUDA_LOG", false),
            faults: faults.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Fault;

    #[test]
    fn faults_parse() {
        let fault = Fault::parse("cuMemcpyHtoDAsync_v2:3:700").expect("valid");
        assert_eq!((fault.name.as_str(), fault.nth, fault.code), ("cuMemcpyHtoDAsync_v2", 3, 700));
        assert!(!fault.after && !fault.sticky);
        assert!(Fault::parse("*:1:719:after:sticky").is_some_and(|f| f.after && f.sticky));
        assert!(Fault::parse("cuInit").is_none());
    }
}
