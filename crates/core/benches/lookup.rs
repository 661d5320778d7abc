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
        println!("{rules:?}: diff of {MANY} roots, a tenth of them new: {:.2} ms", diff(rules));
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

/// Milliseconds for the diff of two sets, of which every tenth root is in one and not in the other.
fn diff(rules: PathRules) -> f64 {
    let older = set(rules, 0..MANY);
    let newer = set(rules, MANY / 10..MANY + MANY / 10);
    assert_eq!(older.diff(&newer).added.len(), MANY / 10);
    fastest(50, || {
        black_box(older.diff(black_box(&newer)));
    })
    .as_secs_f64()
        * 1e3
}

fn set(rules: PathRules, numbers: std::ops::Range<usize>) -> RootSet {
    RootSet::from_roots(
        numbers.map(|number| Root::new(RootUri::from_path(&path(rules, number, "")), None, Origin::Client)),
    )
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
