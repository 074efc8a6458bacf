//! Tokens to experts and back: what `run` compares, on any number of PEs and in any order.

use escrow::{Device, Dyn, shmem};
use escrow_examples::dispatch::{Plan, Report, Route, Token, hash_words, run};

fn routed(device: &Device, pes: usize, tokens: &[Token], plan: &Plan) -> Vec<Option<Report>> {
    shmem::launch_on(Dyn, device.clone(), pes, |job| run(job, (job.my_pe() == 0).then_some(tokens), plan)).unwrap()
}

fn check(device: &Device, pes: usize, tokens: &[Token], plan: &Plan) {
    for report in routed(device, pes, tokens, plan) {
        let report = report.expect("there are tokens");
        assert_eq!((report.tokens, report.wrong), (tokens.len(), 0), "{pes} PEs, {plan:?}");
        // Each token goes to two experts, with a number, and comes back from each; each PE tells each one a count.
        let bytes = plan.rounds * 4 * (2 * tokens.len() * (2 * plan.dim + 1) + pes * pes);
        assert_eq!(report.bytes, bytes as u64);
    }
}

#[test]
fn any_number_of_pes_tokens_and_experts() {
    let words = "It was the best of times, it was the worst of times, it was the age of wisdom";
    let tokens = hash_words(words);
    for count in [1, 2, 3, 10, tokens.len()] {
        for pes in [1, 2, 3, 4, 7] {
            for (experts, dim) in [(2, 1), (3, 5), (8, 16), (13, 7)] {
                check(&Device::cpu(), pes, &tokens[..count], &Plan { experts, dim, rounds: 3 });
            }
        }
    }
}

#[test]
fn streams_that_overtake_each_other() {
    let tokens = hash_words(&"to be or not to be that is the question ".repeat(4));
    for seed in 0..6 {
        check(&Device::cpu_chaos(seed), 3, &tokens, &Plan { experts: 4, dim: 8, rounds: 4 });
    }
}

#[test]
fn all_tokens_to_two_experts() {
    let tokens = hash_words(&"same ".repeat(50));
    for pes in 1..=4 {
        check(&Device::cpu(), pes, &tokens, &Plan { experts: 8, dim: 4, rounds: 2 });
    }
}

#[test]
fn without_tokens_all_are_told() {
    let plan = Plan { experts: 2, dim: 1, rounds: 1 };
    assert_eq!(routed(&Device::cpu(), 3, &[], &plan), [None; 3]);
}

#[test]
fn routes() {
    for token in hash_words("any words do") {
        for experts in [2, 3, 8, 1000] {
            let Route { experts: [first, second], weights } = Route::new(token, experts);
            assert!(first < experts && second < experts && first != second);
            assert!(weights.iter().all(|weight| (0.0..=1.0).contains(weight)));
        }
    }
    assert_eq!(hash_words(" a  b\na\t"), [hash_words("a"), hash_words("b"), hash_words("a")].concat());
}

/// The kernel alone, on whatever a GPU is here: the same bits as on the CPU.
#[cfg(feature = "cuda")]
#[test]
fn kernel_on_a_gpu() -> Result<(), escrow::Error> {
    use escrow::DeviceContext;
    use escrow_examples::dispatch::ExpertKernels;

    let numbers = |len: usize, seed: usize| -> Vec<f32> { (0..len).map(|i| ((i * 7 + seed) as f32).sin()).collect() };
    for (dim, experts, tokens) in [(1, 1, 1), (5, 3, 7), (64, 2, 9), (3, 4, 200)] {
        let mut found = Vec::new();
        for device in [Device::cpu(), Device::cuda(0)?] {
            let ctx = DeviceContext::new(device)?;
            let matrices = ctx.enqueue_create_buffer(experts * dim * dim)?;
            let matrices = matrices.copy_from_slice(&numbers(experts * dim * dim, 1))?;
            let vectors = ctx.enqueue_create_buffer(tokens * dim)?.copy_from_slice(&numbers(tokens * dim, 2))?;
            let expert: Vec<u32> = (0..tokens).map(|token| (token * 5 % (experts + 1)) as u32).collect();
            let expert = ctx.enqueue_create_buffer(tokens)?.copy_from_slice(&expert)?;
            let mut out = ctx.enqueue_create_buffer_zeroed::<f32>(tokens * dim)?;
            let kernels = ExpertKernels::load(ctx.device())?;
            kernels.apply(&ctx, dim as u32, experts as u32, &matrices, &expert, &vectors, &mut out)?;
            found.push(out.to_vec()?.into_iter().map(f32::to_bits).collect::<Vec<_>>());
        }
        assert!(found[0] == found[1], "{dim}, {experts}, {tokens}");
    }
    Ok(())
}
