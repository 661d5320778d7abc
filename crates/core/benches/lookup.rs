//! What a look-up and a diff cost: `cargo bench -p mcp-roots-core --bench lookup`.
//!
//! The budgets are 1 µs for the deepest match among 10,000 roots and 5 ms for the diff of two such sets. A
//! look-up among 10 roots is measured in the same run, so that the ratio holds on any machine.

use std::hint::black_box;
use std::time::{Duration, Instant};

use mcp_roots_core::set::{Origin, Root, RootSet};
use mcp_roots_core::uri::{PathRules, RootPath, RootUri};

const FEW: usize = 10;
const MANY: usize = 10_000;

fn main() {
    for rules in [PathRules::Posix, PathRules::Windows] {
        let [few, many] = [FEW, MANY].map(|count| lookup(rules, count));
        println!("{rules:?}: look-up among {FEW} roots: {few:.0} ns");
        println!("{rules:?}: look-up among {MANY} roots: {many:.0} ns, {:.2} times as long", many / few);
        let (in_order, reversed) = diffs(rules);
        println!("{rules:?}: diff of {MANY} roots, a tenth of them new: {in_order:.2} ms, in reverse {reversed:.2} ms");
    }
}

/// Nanoseconds for one look-up: of paths three levels below a root, and of one in ten that is under none.
fn lookup(rules: PathRules, count: usize) -> f64 {
    let roots = set(rules, 0..count);
    let paths: Vec<RootPath> = (0..1_000)
        .map(|at| {
            let number = if at % 10 == 0 { count + at } else { at * 7_919 % count };
            path(rules, number, "/crates/core/main.rs")
        })
        .collect();
    let hits = paths.iter().filter(|path| roots.find(path).is_some()).count();
    assert_eq!(hits, 900, "nine in ten are under a root");
    let round = fastest(200, || {
        for path in &paths {
            black_box(roots.find(black_box(path)));
        }
    });
    round.as_secs_f64() * 1e9 / paths.len() as f64
}

/// Milliseconds for the diff of two sets that share nine tenths of their roots: with these in the same order,
/// and in reverse, so that none stands where it is looked for first.
fn diffs(rules: PathRules) -> (f64, f64) {
    let older = set(rules, 0..MANY);
    let shared = MANY / 10..MANY + MANY / 10;
    let milliseconds = |newer: RootSet| {
        assert_eq!(older.diff(&newer).added.len(), MANY / 10);
        let round = fastest(50, || {
            black_box(older.diff(black_box(&newer)));
        });
        round.as_secs_f64() * 1e3
    };
    (milliseconds(set(rules, shared.clone())), milliseconds(set(rules, shared.rev())))
}

fn set(rules: PathRules, numbers: impl Iterator<Item = usize>) -> RootSet {
    let uris = numbers.map(|number| RootUri::from_path(&path(rules, number, "")));
    RootSet::from_roots(uris.map(|uri| Root::new(uri, None, Origin::Client)))
}

fn path(rules: PathRules, number: usize, below: &str) -> RootPath {
    let drive = match rules {
        PathRules::Posix => "",
        PathRules::Windows => "C:",
    };
    let text = format!("{drive}/home/somebody/work/group-{}/project-{number}{below}", number % 100);
    RootPath::parse(&text, rules).expect("an absolute path")
}

/// The fastest of some rounds: what it costs when nothing else has the processor.
fn fastest(rounds: usize, mut round: impl FnMut()) -> Duration {
    (0..rounds)
        .map(|_| {
            let begun = Instant::now();
            round();
            begun.elapsed()
        })
        .min()
        .unwrap_or_default()
}
