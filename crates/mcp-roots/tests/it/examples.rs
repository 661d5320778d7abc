//! The examples of the documentation work, run as programs.

use std::path::PathBuf;
use std::process::Command;

/// Cargo builds the examples with the tests, into a directory beside theirs.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows where it is");
    let target = test.parent().and_then(|deps| deps.parent()).expect("a target directory");
    let path = target.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(path.exists(), "{} is not built: run `cargo test`, which builds examples too", path.display());
    path
}

#[test]
fn the_smallest_host_runs_the_smallest_server_through_a_change() {
    let dir = std::env::temp_dir().join(format!("mcp-roots-examples-{}", std::process::id()));
    let [one, two] = ["one", "two"].map(|name| dir.join(name));
    for folder in [&one, &two] {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join("file"), "x").unwrap();
    }
    let output = Command::new(example("host")).arg(example("server")).arg("count").args([&one, &two]).output().unwrap();
    let _ = std::fs::remove_dir_all(&dir);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let [first, second] = [&one, &two].map(|folder| format!("{}: 1 entries", folder.display()));
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{first}\n\n{first}\n{second}\n\n"));
}
