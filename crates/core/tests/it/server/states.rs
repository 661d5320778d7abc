//! The six states are told apart, and a bad root loses itself alone.

use std::time::Duration;

use mcp_roots_core::frame::{Answer, ClientFrame, RootsCapability};
use mcp_roots_core::server_half::{ServerConfig, Source, State};
use mcp_roots_core::set::RawRoot;

use super::bench::{Bench, config, error, listed, operator};

#[test]
fn s7_states_distinct() {
    let silent = Some(RootsCapability { list_changed: false });
    let not_yet = Bench::announcing(config());
    let empty = Bench::settled(config(), &[]);
    let unsupported = Bench::open(config(), None);
    let mut failed = Bench::announcing(config());
    failed.answers(&failed.question(), error(-32603, "Internal error"));
    let mut refreshing = Bench::settled(config(), &[]);
    refreshing.announced();
    let mut stale = Bench::open(config(), silent);
    stale.answers(&stale.question(), listed(&[]));
    stale.passes(Duration::from_secs(10));

    // All of them have no roots in force, and still no two look the same.
    let seen = [&not_yet, &empty, &unsupported, &failed, &refreshing, &stale].map(|bench| {
        assert!(bench.roots().is_empty());
        bench.state()
    });
    assert_eq!(seen, [State::NotYet, State::Fresh, State::Unsupported, State::Failed, State::Refreshing, State::Stale]);
    let words: std::collections::BTreeSet<String> = seen.iter().map(ToString::to_string).collect();
    assert_eq!(words.len(), 6);
}

#[test]
fn s7_undeclared_refused_and_ignored_are_told_apart() {
    let undeclared = Bench::open(config(), None);
    let mut refused = Bench::announcing(config());
    refused.answers(&refused.question(), error(-32601, "Method not found"));
    assert_eq!(undeclared.half.snapshot().source, Source::Undeclared);
    assert_eq!(refused.half.snapshot().source, Source::Refused);
    assert!(refused.half.status().last_problem.unwrap().to_string().contains("-32601"));
}

#[test]
fn without_roots_the_operators_directories_are_in_force() {
    let bench = Bench::open(ServerConfig { operator: operator(&["/srv"]), ..config() }, None);
    assert_eq!((bench.state(), bench.roots()), (State::Unsupported, vec!["file:///srv".into()]));
}

#[test]
fn s13_one_bad_root() {
    let mut bench = Bench::announcing(config());
    let entries = vec![
        RawRoot::Listed { uri: "vscode-remote://wsl%2Bubuntu/home/u".into(), name: None },
        RawRoot::Listed { uri: "file:///good".into(), name: Some("Good".into()) },
        RawRoot::Malformed { shown: "5".into(), reason: "it is a number, not an object".into() },
        RawRoot::Listed { uri: "file://home/u/proj".into(), name: None },
        RawRoot::Listed { uri: "file:///good/".into(), name: None },
    ];
    bench.answers(&bench.question(), Answer::Listed(entries));
    assert_eq!((bench.state(), bench.roots()), (State::Fresh, vec!["file:///good".into()]));
    let rejected: Vec<String> = bench
        .half
        .snapshot()
        .rejected
        .iter()
        .map(|rejected| format!("{} {}", rejected.shown, rejected.reason))
        .collect();
    assert_eq!(rejected.len(), 4, "{rejected:?}");
    assert!(rejected[0].contains("vscode-remote"), "{rejected:?}");
    assert!(rejected[1].contains("number"), "{rejected:?}");
}

#[test]
fn b3_bounded_lists() {
    let mut bench = Bench::announcing(ServerConfig { max_roots: 3, ..config() });
    let uris: Vec<String> = (0..10).map(|root| format!("file:///r{root}")).collect();
    bench.answers(&bench.question(), listed(&uris.iter().map(String::as_str).collect::<Vec<_>>()));
    assert_eq!(bench.roots(), ["file:///r0", "file:///r1", "file:///r2"]);
    let reason = bench.half.snapshot().rejected[0].reason.to_string();
    assert!(reason.contains('3'), "the reason names the limit: {reason}");
}

#[test]
fn a_generation_rises_with_each_invalidation_and_with_nothing_else() {
    let mut bench = Bench::settled(config(), &["file:///a"]);
    let before = bench.half.snapshot().generation;
    bench.reads(ClientFrame::Request);
    bench.gets().unwrap();
    assert_eq!(bench.half.snapshot().generation, before);
    bench.announced();
    assert!(bench.half.snapshot().generation > before);
    assert!(!bench.half.snapshot().covers(bench.half.snapshot().generation));
}
