//! The invariants of the host half, each a test of its name, in virtual time.

use std::time::Duration;

use mcp_roots_core::frame::{ClientFrame, RequestId, RootsCapability, ServerFrame, Verdict};
use mcp_roots_core::host_half::{HeldBack, HostAction, HostConfig, HostEvent, HostHalf};
use mcp_roots_core::set::RootSet;
use mcp_roots_core::time::Time;
use mcp_roots_core::uri::{PathRules, RootPath, RootUri};
use mcp_roots_core::workspace::{Folder, Folders};

/// A workspace, its half, and a clock that moves when told.
struct Bench {
    folders: Folders,
    half: HostHalf,
    now: Time,
    done: Vec<HostAction>,
}

fn path(text: &str) -> RootPath {
    RootPath::parse(text, PathRules::Posix).unwrap()
}

fn folder(dir: &str) -> Folder {
    Folder::new(RootUri::from_path(&path(dir)), None)
}

fn folders(dirs: &[&str]) -> Folders {
    let mut folders = Folders::default();
    folders.replace(dirs.iter().map(|dir| folder(dir)));
    folders
}

/// Somebody has looked at a folder.
fn found(folders: &mut Folders, dir: &str, withheld: Option<&str>) {
    folders.looked_at(&[(path(dir), withheld.map(Into::into))].into());
}

fn texts(roots: &RootSet) -> Vec<String> {
    roots.iter().map(|root| root.uri.as_str().to_owned()).collect()
}

impl Bench {
    fn connected(config: HostConfig, dirs: &[&str]) -> Self {
        let folders = folders(dirs);
        let half = HostHalf::new(config, folders.exposed());
        Bench { folders, half, now: Time::ZERO, done: Vec::new() }
    }

    fn open(dirs: &[&str]) -> Self {
        Bench::declaring(HostConfig::default(), dirs)
    }

    fn declaring(config: HostConfig, dirs: &[&str]) -> Self {
        let mut bench = Bench::connected(config, dirs);
        let _ = bench.sends(ClientFrame::Initialize { roots: None });
        let _ = bench.sends(ClientFrame::Initialized);
        bench
    }

    fn sends(&mut self, frame: ClientFrame<'_>) -> Verdict {
        let verdict = self.half.handle_outbound(frame, self.now);
        self.drain();
        verdict
    }

    fn changes(&mut self, change: impl FnOnce(&mut Folders)) {
        change(&mut self.folders);
        self.half.handle_workspace(self.folders.exposed(), self.now);
        self.drain();
    }

    /// The server asks; what it is answered with.
    fn asked(&mut self) -> Vec<String> {
        let id = RequestId::Number(1);
        assert_eq!(self.half.handle_inbound(ServerFrame::ListRoots { id: &id }, self.now), Verdict::Swallow);
        self.drain();
        let answer = self.done.iter().rev().find_map(|action| match action {
            HostAction::Answer { roots, .. } => Some(texts(roots)),
            _ => None,
        });
        answer.expect("an answer")
    }

    fn passes(&mut self, wait: Duration) {
        let end = self.now + wait;
        while let Some(timeout) = self.half.next_timeout().filter(|&timeout| timeout <= end) {
            self.now = timeout.max(self.now);
            self.half.handle_timeout(self.now);
            self.drain();
        }
        self.now = end;
    }

    fn drain(&mut self) {
        while let Some(action) = self.half.poll_action() {
            self.done.push(action);
        }
    }

    fn announcements(&self) -> usize {
        self.done.iter().filter(|action| **action == HostAction::Announce).count()
    }

    fn held_back(&self) -> Vec<HeldBack> {
        let held = |action: &HostAction| match action {
            HostAction::Report(HostEvent::HeldBack(why)) => Some(*why),
            _ => None,
        };
        self.done.iter().filter_map(held).collect()
    }
}

const LONG: Duration = Duration::from_secs(1);

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[test]
fn h1_declares_what_it_does() {
    let mut bench = Bench::connected(HostConfig::default(), &["/a"]);
    let declared = bench.sends(ClientFrame::Initialize { roots: None });
    assert_eq!(declared, Verdict::Declare(Some(RootsCapability { list_changed: true })));

    for declare in [None, Some(RootsCapability { list_changed: false })] {
        let mut bench = Bench::declaring(HostConfig { declare, ..HostConfig::default() }, &["/a"]);
        bench.changes(|folders| folders.add(folder("/b")));
        bench.passes(LONG);
        let _ = bench.sends(ClientFrame::Request);
        assert_eq!(bench.announcements(), 0, "no announcement without the capability");
        assert_eq!(bench.held_back(), [HeldBack::NotDeclared]);
    }

    let mut bench = Bench::connected(HostConfig { declare: None, ..HostConfig::default() }, &["/a"]);
    let by_the_client = ClientFrame::Initialize { roots: Some(RootsCapability::default()) };
    assert_eq!(bench.sends(by_the_client), Verdict::Declare(None), "what it declared itself would be dead");
    let id = RequestId::Number(1);
    let _ = bench.half.handle_inbound(ServerFrame::ListRoots { id: &id }, bench.now);
    bench.drain();
    assert!(bench.done.contains(&HostAction::Refuse(id)), "no answer without the capability");
}

#[test]
fn h1_a_client_cannot_announce_past_the_half() {
    let mut bench = Bench::open(&["/a"]);
    assert_eq!(bench.sends(ClientFrame::ListChanged), Verdict::Swallow);
    assert_eq!((bench.announcements(), bench.held_back()), (0, vec![HeldBack::NotOurs]));
}

#[test]
fn h2_never_spurious() {
    let nothing: [fn(&mut Folders); 4] = [
        |folders| folders.add(folder("/a")),
        |folders| {
            folders.remove(&path("/nowhere"));
        },
        |folders| folders.replace(["/a", "/b"].map(folder)),
        |folders| found(folders, "/nowhere", Some("gone")),
    ];
    for change in nothing {
        let mut bench = Bench::open(&["/a", "/b"]);
        bench.changes(change);
        bench.passes(LONG);
        assert_eq!(bench.announcements(), 0);
    }

    let mut bench = Bench::open(&["/a"]);
    bench.changes(|folders| folders.add(folder("/b")));
    bench.passes(millis(20));
    bench.changes(|folders| assert!(folders.remove(&path("/b"))));
    bench.passes(LONG);
    assert_eq!((bench.announcements(), bench.held_back()), (0, vec![HeldBack::TakenBack]));
}

#[test]
fn h2_members_names_and_order_count() {
    let something: [fn(&mut Folders); 4] = [
        |folders| folders.add(folder("/c")),
        |folders| assert!(folders.remove(&path("/a"))),
        |folders| assert!(folders.rename(&path("/a"), Some("A".into()))),
        |folders| folders.replace(["/b", "/a"].map(folder)),
    ];
    for change in something {
        let mut bench = Bench::open(&["/a", "/b"]);
        bench.changes(change);
        bench.passes(LONG);
        assert_eq!(bench.announcements(), 1);
        bench.passes(LONG);
        assert_eq!(bench.announcements(), 1);
    }
}

#[test]
fn h2_what_the_server_has_asked_for_meanwhile_is_not_announced() {
    let mut bench = Bench::open(&["/a"]);
    bench.changes(|folders| folders.add(folder("/b")));
    assert_eq!(bench.asked(), ["file:///a", "file:///b"]);
    bench.passes(LONG);
    assert_eq!((bench.announcements(), bench.held_back()), (0, vec![HeldBack::AlreadyAsked]));
}

#[test]
fn h2_a_server_that_never_asks_is_told_of_each_change_once() {
    let mut bench = Bench::open(&["/a"]);
    for (change, dir) in ["/b", "/c", "/d"].iter().enumerate() {
        bench.changes(|folders| folders.add(folder(dir)));
        bench.passes(LONG);
        assert_eq!(bench.announcements(), change + 1);
    }
}

#[test]
fn h2_changes_before_the_handshake_is_done_need_no_announcement() {
    let mut bench = Bench::connected(HostConfig::default(), &["/a"]);
    bench.changes(|folders| folders.add(folder("/b")));
    let _ = bench.sends(ClientFrame::Initialize { roots: None });
    bench.changes(|folders| folders.add(folder("/c")));
    let _ = bench.sends(ClientFrame::Initialized);
    bench.passes(LONG);
    assert_eq!(bench.announcements(), 0);
    assert_eq!(bench.asked(), ["file:///a", "file:///b", "file:///c"]);
}

#[test]
fn h3_coalesces() {
    let mut bench = Bench::open(&[]);
    for dir in 0..1_000 {
        bench.changes(|folders| folders.add(folder(&format!("/d{dir}"))));
    }
    bench.passes(millis(49));
    assert_eq!(bench.announcements(), 0);
    bench.passes(millis(1));
    assert_eq!(bench.announcements(), 1);
    bench.passes(LONG);
    assert_eq!(bench.announcements(), 1);
}

#[test]
fn h3_an_announcement_waits_only_so_long_for_changes_to_stop() {
    let mut bench = Bench::open(&[]);
    for dir in 0..100 {
        bench.changes(|folders| folders.add(folder(&format!("/d{dir}"))));
        bench.passes(millis(10));
    }
    // Changes came for 1,000 ms; each announcement waits at most 250 ms from the first it covers.
    assert!((3..=4).contains(&bench.announcements()), "{}", bench.announcements());
}

#[test]
fn h3_a_request_is_not_overtaken_by_its_own_change() {
    let mut bench = Bench::open(&["/a"]);
    bench.changes(|folders| folders.add(folder("/b")));
    let _ = bench.sends(ClientFrame::Ping);
    assert_eq!(bench.announcements(), 0, "a ping does not depend on roots");
    assert_eq!(bench.sends(ClientFrame::Request), Verdict::Pass);
    assert_eq!(bench.announcements(), 1, "the announcement goes first");
    bench.passes(LONG);
    assert_eq!(bench.announcements(), 1);
}

#[test]
fn h4_answers_current() {
    let mut bench = Bench::open(&["/a"]);
    bench.changes(|folders| folders.add(folder("/b")));
    bench.passes(LONG);
    assert_eq!(bench.announcements(), 1);
    bench.changes(|folders| folders.add(folder("/c")));
    assert_eq!(bench.asked(), ["file:///a", "file:///b", "file:///c"]);
}

#[test]
fn h5_reaches_every_server() {
    let mut answering = Bench::open(&["/a"]);
    let mut silent = Bench::open(&["/a"]);
    for bench in [&mut answering, &mut silent] {
        bench.changes(|folders| folders.add(folder("/b")));
        bench.passes(millis(50));
        assert_eq!(bench.announcements(), 1);
    }
    answering.asked();
    silent.passes(Duration::from_secs(2));
    let unheeded = |bench: &Bench| {
        bench.done.iter().filter(|action| matches!(action, HostAction::Report(HostEvent::Unheeded { .. }))).count()
    };
    assert_eq!((unheeded(&answering), unheeded(&silent)), (0, 1));
    silent.passes(Duration::from_secs(60));
    assert_eq!(unheeded(&silent), 1, "said once");
    assert!(silent.half.is_unheeded() && !answering.half.is_unheeded());
}

#[test]
fn h6_exposes_what_exists() {
    let mut bench = Bench::open(&["/a", "/b", "/c"]);
    bench.changes(|folders| found(folders, "/b", Some("No such file or directory")));
    bench.passes(LONG);
    assert_eq!(bench.announcements(), 1);
    assert_eq!(bench.asked(), ["file:///a", "file:///c"]);
    bench.changes(|folders| found(folders, "/b", None));
    bench.passes(LONG);
    assert_eq!(bench.announcements(), 2);
    assert_eq!(bench.asked(), ["file:///a", "file:///b", "file:///c"], "back in its own place");
}

#[test]
fn h6_what_is_known_of_a_folders_reach_outlives_a_replacement() {
    let mut workspace = folders(&["/a", "/b"]);
    found(&mut workspace, "/b", Some("gone"));
    workspace.replace(["/b", "/c"].map(folder));
    assert_eq!(texts(&workspace.exposed()), ["file:///c"]);
}

/// A client that tries the modern era first, and finds a server of the legacy era.
#[test]
fn a_client_that_falls_back_to_the_legacy_era_declares_and_announces_as_ever() {
    let mut bench = Bench::connected(HostConfig::default(), &["/a"]);
    let declared = Verdict::Declare(Some(RootsCapability { list_changed: true }));
    assert_eq!(bench.sends(ClientFrame::ModernRequest), declared);
    assert_eq!(bench.sends(ClientFrame::Initialize { roots: None }), declared);
    assert_eq!(bench.sends(ClientFrame::Initialized), Verdict::Pass);
    bench.folders.add(folder("/b"));
    bench.half.handle_workspace(bench.folders.exposed(), bench.now);
    assert!(bench.half.is_pending());
    assert_eq!(bench.sends(ClientFrame::Request), Verdict::Pass);
    assert!(bench.done.contains(&HostAction::Announce), "{:?}", bench.done);
}

#[test]
fn in_the_modern_era_a_change_is_held_back_and_a_question_answered_with_what_is_exposed() {
    let mut bench = Bench::connected(HostConfig::default(), &["/a"]);
    let _ = bench.sends(ClientFrame::ModernRequest);
    bench.folders.add(folder("/b"));
    bench.half.handle_workspace(bench.folders.exposed(), bench.now);
    assert!(!bench.half.is_pending());
    assert_eq!(texts(&bench.half.handle_returned().expect("an answer")), ["file:///a", "file:///b"]);
    let silent = HostConfig { declare: None, ..HostConfig::default() };
    assert_eq!(HostHalf::new(silent, folders(&["/a"]).exposed()).handle_returned(), None);
}
