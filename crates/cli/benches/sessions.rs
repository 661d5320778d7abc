//! A thousand sessions on one `serve --http`: whose roots they see while those change, and what they cost in memory.
//!
//! Run with `cargo bench -p mcp-roots-cli --bench sessions`, or with `-- --sessions 100 --seconds 5` for less. It prints
//! what it measures and fails if a session sees anything but its own roots, as they are at each call; if a thing is left
//! of sessions that have ended; or if an idle session takes more than 64 KiB over one of a plain `rmcp` server, which is
//! served and asked likewise in the same run.
//!
//! # How memory is measured
//!
//! As resident memory (`VmRSS`), on Linux alone.
//!
//! - **What a session takes**: all sessions are opened, one in two with a GET stream, and each is asked for its roots once
//!   within a call. What has been added then, over what a server takes that has served one client, is divided by their
//!   number. What they all take once goes into that, so it is rather too much.
//! - **Whether it comes back**: an allocator keeps what it was given. That of glibc returns memory only from the end of its
//!   heap, where something small always is, so a server that has had so many sessions stays at its size, and gives the
//!   memory to the next ones. So as many sessions are opened, change their roots as often, and end, as fast as that goes;
//!   and the size then is the one to come back to after the same at the pace that is asked for. (It is several times, since
//!   memory that is used again counts whole, and what was never written to did not count.) What sessions would leave
//!   behind cannot hide in that: it would be there once more each time.
//!
//! Both servers are given one heap (`MALLOC_ARENA_MAX`). With one for each thread it is chance from which a piece comes, and
//! the size after the same work differs by several MiB, which is no measure.

#[path = "../tests/it/client.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod client;
#[path = "../tests/it/load.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod load;
#[path = "../tests/it/many.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod many;
#[path = "sessions/plain.rs"]
mod plain;

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use load::Http;
use many::Member;
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;

/// The argument by which this program is the plain server.
const PLAIN: &str = "--plain-server";
/// Longer than the whole of it takes.
const LONG: Duration = Duration::from_secs(3600);
/// How many root changes there are a second.
const RATE: usize = 50;
/// How many sessions are opened or ended at once.
const AT_ONCE: usize = 16;
/// What an idle session may take over one of a plain server, in KiB.
const MAX_OVER_PLAIN: f64 = 64.0;
/// How often all is done in a hurry before what is left of it is measured.
const WARM_UP: usize = 5;
/// How much larger a server may be than it was after as many sessions, in KiB.
const MAX_LEFT: u64 = 2 * 1024;

struct Arguments {
    sessions: usize,
    seconds: usize,
}

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    if std::env::args().any(|argument| argument == PLAIN) {
        runtime.block_on(plain::serve());
        return ExitCode::SUCCESS;
    }
    let arguments = Arguments { sessions: number_after("--sessions", 1_000), seconds: number_after("--seconds", 60) };
    let base = Base::new();
    let outcome = runtime.block_on(run(&arguments, &base.0));
    runtime.shutdown_background();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("FAILED: {error}");
            ExitCode::FAILURE
        }
    }
}

fn number_after(name: &str, default: usize) -> usize {
    let given = std::env::args().skip_while(|argument| argument != name).nth(1);
    given.map_or(default, |number| number.parse().expect("a number"))
}

async fn run(arguments: &Arguments, base: &Path) -> io::Result<()> {
    let Arguments { sessions, seconds } = *arguments;
    let began = Instant::now();
    many::make_roots(base, sessions)?;
    let mut plain = Command::new(std::env::current_exe()?);
    plain.arg(PLAIN);
    let plain = Served::start(plain, base).await?;
    let over_plain = plain.take_up(sessions).await?.1;
    drop(plain);

    let mut serve = Command::new(env!("CARGO_BIN_EXE_mcp-roots"));
    serve.args(["serve", "--http", "127.0.0.1:0", "--log", "off", "--max-sessions"]);
    serve.arg((sessions + 1).to_string()).arg(base);
    let served = Served::start(serve, base).await?;
    let (crowd, idle) = served.take_up(sessions).await?;
    let over_plain = idle - over_plain;
    println!("an idle session takes {over_plain:.1} KiB over plain rmcp's; {MAX_OVER_PLAIN} may be");
    served.end(crowd).await?;
    let changes = RATE * seconds;
    for _ in 0..WARM_UP {
        let crowd = served.open(sessions).await?;
        let crowd = served.change_all_the_while(crowd, changes, None).await?;
        served.end(crowd).await?;
    }
    let warm = served.settled(None).await;

    let crowd = served.open(sessions).await?;
    let crowd = served.change_all_the_while(crowd, changes, Some(RATE)).await?;
    let full = served.memory()?;
    served.end(crowd).await?;
    let left = served.settled(Some(warm + MAX_LEFT)).await;
    println!(
        "resident: {:.1} MiB after {WARM_UP} times as much in a hurry; {:.1} MiB after the changes, with \
         {sessions} sessions open; {:.1} MiB once those had ended",
        mib(warm),
        mib(full),
        mib(left),
    );
    println!("it all took {:.0} s", began.elapsed().as_secs_f64());
    if over_plain > MAX_OVER_PLAIN {
        return Err(io::Error::other("an idle session takes too much"));
    }
    if left > warm + MAX_LEFT {
        return Err(io::Error::other("something is left of sessions that have ended"));
    }
    Ok(())
}

/// A server, and its clients' roots.
struct Served {
    child: Child,
    http: Arc<Http>,
    base: PathBuf,
    tracked: bool,
}

/// Sessions that are open, one in two with a GET stream.
struct Crowd {
    members: Vec<Member>,
    streams: Vec<JoinHandle<io::Result<()>>>,
}

impl Served {
    /// One that has had one client, so that what it makes once is there.
    async fn start(mut command: Command, base: &Path) -> io::Result<Self> {
        command.env("MALLOC_ARENA_MAX", "1");
        let tracked = !command.as_std().get_args().any(|argument| argument == PLAIN);
        let (child, http) = many::start(command).await;
        let served = Served { child, http, base: base.into(), tracked };
        let crowd = served.open(1).await?;
        served.end(crowd).await?;
        Ok(served)
    }

    /// Opens sessions, and tells in KiB what each has taken.
    async fn take_up(&self, sessions: usize) -> io::Result<(Crowd, f64)> {
        let before = self.memory()?;
        let crowd = self.open(sessions).await?;
        let taken = self.memory()?.saturating_sub(before) as f64 / sessions as f64;
        let name = if self.tracked { "mcp-roots serve" } else { "plain rmcp" };
        println!("{name:16} {:.1} MiB before, {taken:.1} KiB for each of {sessions} idle sessions", mib(before));
        Ok((crowd, taken))
    }

    async fn open(&self, sessions: usize) -> io::Result<Crowd> {
        let (mut members, mut streams) = (Vec::new(), Vec::new());
        for start in (0..sessions).step_by(AT_ONCE) {
            let mut opening = tokio::task::JoinSet::new();
            for number in start..sessions.min(start + AT_ONCE) {
                let (http, base) = (self.http.clone(), self.base.clone());
                opening.spawn(async move {
                    let member = Member::open(&http, &base, number).await?;
                    let stream = if number % 2 == 0 { Some(member.session().listen().await?) } else { None };
                    member.sees_its_own().await?;
                    io::Result::Ok((member, stream))
                });
            }
            while let Some(opened) = opening.join_next().await {
                let (member, stream) = opened??;
                members.push(member);
                streams.extend(stream);
            }
        }
        Ok(Crowd { members, streams })
    }

    /// Changes roots, so many a second or as fast as it goes, and checks all that is said from then on.
    async fn change_all_the_while(&self, crowd: Crowd, changes: usize, rate: Option<usize>) -> io::Result<Crowd> {
        let Crowd { members, streams } = crowd;
        let sessions = members.len();
        let counted = async |name: &str| self.http.metric(name).await;
        let notified = counted("mcp_roots_notifications_total").await?;
        // The one that has been left alone for longest comes first.
        let mut idle: VecDeque<Member> = members.into();
        let mut changing = tokio::task::JoinSet::new();
        let mut ticks =
            tokio::time::interval(rate.map_or(Duration::from_nanos(1), |rate| Duration::from_secs(1) / rate as u32));
        let at_once = if rate.is_some() { sessions } else { AT_ONCE };
        let (mut begun, mut firsts) = (0, Vec::new());
        let began = Instant::now();
        while firsts.len() < changes {
            tokio::select! {
                _ = ticks.tick(), if begun < changes && changing.len() < at_once => {
                    let Some(mut member) = idle.pop_front() else { continue };
                    begun += 1;
                    changing.spawn(async move {
                        let first = member.change().await?;
                        io::Result::Ok((member, first))
                    });
                }
                Some(changed) = changing.join_next() => {
                    let (member, first) = changed??;
                    firsts.push(first);
                    idle.push_back(member);
                }
            }
        }
        let took = began.elapsed();
        firsts.sort();
        let at = |share: f64| firsts[((firsts.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
        println!(
            "{changes} changes in {:4.1} s: all {} answers were of the session's own root, as it was; the first call after \
             a change took {:.1} ms, p99 {:.1} ms, at most {:.1} ms",
            took.as_secs_f64(),
            changes * 4,
            at(0.5),
            at(0.99),
            at(1.0),
        );
        let heard = counted("mcp_roots_notifications_total").await? - notified;
        let missed = counted("mcp_roots_fence_misses_total").await?;
        if (heard, missed) != (changes as u64, 0) {
            return Err(io::Error::other(format!("{heard} notifications were heard; {missed} calls waited in vain")));
        }
        // Who asks for so many a second is to have them, or nothing was shown.
        if rate.is_some_and(|rate| took.as_secs_f64() > changes as f64 / rate as f64 * 1.1 + 1.0) {
            return Err(io::Error::other("the changes took longer than they should"));
        }
        Ok(Crowd { members: idle.into(), streams })
    }

    async fn end(&self, crowd: Crowd) -> io::Result<()> {
        for group in crowd.members.chunks(AT_ONCE) {
            let mut ending = tokio::task::JoinSet::new();
            for member in group {
                let session = member.session().clone();
                ending.spawn(async move { session.close().await });
            }
            while let Some(ended) = ending.join_next().await {
                ended??;
            }
        }
        // The server ends the streams of a session that has ended.
        for stream in crowd.streams {
            tokio::time::timeout(client::PATIENCE, stream).await???;
        }
        if self.tracked {
            let left = self.http.metric("mcp_roots_sessions").await?;
            if left > 0 {
                return Err(io::Error::other(format!("/metrics says that there are {left} sessions still")));
            }
        }
        Ok(())
    }

    /// The memory once it does not shrink any more, or is down to `enough`.
    async fn settled(&self, enough: Option<u64>) -> u64 {
        let mut least = u64::MAX;
        // What is behind an ended session ends a little later.
        for _ in 0..30 {
            least = least.min(self.memory().unwrap_or(u64::MAX));
            if enough.is_some_and(|enough| least <= enough) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        least
    }

    /// Resident memory in KiB.
    fn memory(&self) -> io::Result<u64> {
        let id = self.child.id().ok_or_else(|| io::Error::other("the server has ended"))?;
        let status = std::fs::read_to_string(format!("/proc/{id}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.trim().split(' ').next()?.parse().ok());
        number.ok_or_else(|| io::Error::other("its memory is not known"))
    }
}

fn mib(kib: u64) -> f64 {
    kib as f64 / 1024.0
}

/// The directory of all roots. Removed when dropped.
struct Base(PathBuf);

impl Base {
    fn new() -> Self {
        let in_memory = Path::new("/dev/shm");
        let under = if in_memory.is_dir() { in_memory.to_owned() } else { std::env::temp_dir() };
        let base = under.join(format!("mcp-roots-sessions-{}", std::process::id()));
        std::fs::create_dir_all(&base).expect("a directory of our own");
        Base(base.canonicalize().expect("a directory"))
    }
}

impl Drop for Base {
    fn drop(&mut self) {
        // It is under the system's directory for such things, which cleans up after us if this fails.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
