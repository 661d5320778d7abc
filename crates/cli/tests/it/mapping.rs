//! `serve --map CLIENT=LOCAL`: the client is on another machine, and hears of no path but its own.

use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::client::{Answers, Client, PATIENCE, line, list_changed, roots_of, text_of};
use crate::http::{Server, Session};
use crate::tree::{Tree, mcp_roots};

/// How one client's system writes a path below a folder, and its URI.
struct Theirs {
    folder: &'static str,
    separator: &'static str,
    uri: &'static str,
}

const POSIX: Theirs = Theirs { folder: "/home/me/proj", separator: "/", uri: "file:///home/me/proj" };
const WINDOWS: Theirs = Theirs { folder: r"C:\Users\me\proj", separator: r"\", uri: "file:///C:/Users/me/proj" };

impl Theirs {
    fn path(&self, below: &str) -> String {
        format!("{}/{below}", self.folder).replace('/', self.separator)
    }

    fn uri(&self, below: &str) -> String {
        format!("{}/{below}", self.uri)
    }
}

fn mapped(theirs: &Theirs, local: &Path) -> String {
    format!("{}={}", theirs.folder, local.display())
}

/// All that a result says, as a client would read it.
async fn whole(client: &mut Client, tool: &str, arguments: Value) -> (String, Value) {
    let response = client.request("tools/call", json!({"name": tool, "arguments": arguments})).await;
    (text_of(&response).0, response["result"].clone())
}

/// Goes through all that shows a path, and sees to it that none is local.
async fn converse(theirs: &Theirs) {
    let tree = Tree::new();
    std::fs::create_dir(tree.at("a/sub")).unwrap();
    std::fs::write(tree.at("a/sub/deep.txt"), "needle\n").unwrap();
    std::fs::write(tree.at("a/.gitignore"), "ignored\n").unwrap();
    std::fs::write(tree.at("a/sub/ignored"), "needle\n").unwrap();
    // Contents are not altered, whatever paths they hold.
    let quoting = format!("{} is {}\n", tree.at("a").display(), theirs.folder);
    std::fs::write(tree.at("a/quoting"), &quoting).unwrap();
    let mut serve = mcp_roots(["serve", "--write", "--log", "off", "--map"]);
    serve.arg(mapped(theirs, &tree.at("a")));
    let answers = Answers::Roots(vec![theirs.uri.into(), "file:///nowhere/else".into()]);
    let mut client = Client::connect(serve, json!({"listChanged": true}), answers).await;
    let local = tree.at("").display().to_string();

    let (allowed, _) = client.call("list_allowed_directories", json!({})).await;
    assert_eq!(allowed, format!("Allowed directories:\n{}\n/nowhere/else", theirs.folder));
    let read = client.call("read_text_file", json!({"path": theirs.path("quoting")})).await;
    assert_eq!(read, (quoting, false));

    let name = theirs.path("name");
    let mut said = Vec::new();
    for (tool, arguments, expected) in [
        ("read_multiple_files", json!({"paths": [name, theirs.path("gone")]}), format!("{name}:\nthis is a\n")),
        ("list_directory", json!({"path": theirs.path("sub")}), "[FILE] deep.txt\n[FILE] ignored".into()),
        ("list_directory_with_sizes", json!({"path": theirs.folder}), "[DIR] sub".into()),
        ("directory_tree", json!({"path": theirs.folder}), "\"deep.txt\"".into()),
        ("get_file_info", json!({"path": name}), "isFile: true".into()),
        ("search_files", json!({"path": theirs.folder, "pattern": "**/*.txt"}), theirs.path("sub/deep.txt")),
        (
            "search_text",
            json!({"path": theirs.path("sub"), "pattern": "needle"}),
            format!("{}:1:needle", theirs.path("sub/deep.txt")),
        ),
        ("search_text", json!({"path": name, "pattern": "this"}), format!("{name}:1:this is a")),
        ("read_media_file", json!({"path": theirs.path("sub/deep.txt")}), String::new()),
        // Writing.
        (
            "edit_file",
            json!({"path": name, "edits": [{"oldText": "this", "newText": "that"}]}),
            format!("--- {name}\toriginal"),
        ),
        ("write_file", json!({"path": theirs.path("new"), "content": "new"}), theirs.path("new")),
        ("create_directory", json!({"path": theirs.path("x/y")}), theirs.path("x/y")),
        (
            "move_file",
            json!({"source": theirs.path("new"), "destination": theirs.path("x/new")}),
            format!("moved {} to {}", theirs.path("new"), theirs.path("x/new")),
        ),
        // What does not go well.
        ("read_text_file", json!({"path": theirs.path("gone")}), theirs.path("gone")),
        ("read_text_file", json!({"path": theirs.path("sub")}), format!("{} is a directory", theirs.path("sub"))),
        ("read_text_file", json!({"path": "/outside"}), format!("roots in force ({}, /nowhere/else)", theirs.folder)),
        ("read_text_file", json!({"path": "relative"}), format!("({}, /nowhere/else)", theirs.folder)),
        ("move_file", json!({"source": theirs.path("sub"), "destination": name}), format!("already exists: {name}")),
        ("move_file", json!({"source": theirs.folder, "destination": name}), format!("{} is a root", theirs.folder)),
    ] {
        let (text, result) = whole(&mut client, tool, arguments).await;
        assert!(text.contains(&expected) || (tool == "read_media_file" && result["isError"] != true), "{tool}: {text}");
        said.push((tool, result));
    }
    let embedded = &said.iter().find(|(tool, _)| *tool == "read_media_file").unwrap().1["content"][0]["resource"];
    assert_eq!(embedded["uri"], theirs.uri("sub/deep.txt"));
    assert_eq!(std::fs::read(tree.at("a/x/new")).unwrap(), b"new", "it is where it belongs");
    assert_eq!(std::fs::read_to_string(tree.at("a/name")).unwrap(), "that is a\n");

    let status = client.status().await;
    assert_eq!((&status["roots"][0]["uri"], &status["roots"][0]["path"]), (&json!(theirs.uri), &json!(theirs.folder)));
    assert_eq!(status["roots"][0]["origin"], "client");
    said.push(("roots_status", status));

    let resources = client.request("resources/list", json!({})).await["result"].take();
    let listed: Vec<_> =
        resources["resources"].as_array().unwrap().iter().map(|resource| resource["uri"].as_str().unwrap()).collect();
    assert!(listed.contains(&theirs.uri("name").as_str()), "{listed:?}");
    said.push(("resources/list", resources));
    // As the client writes it, be it not as we would.
    let written = theirs.uri("name").replace("C:", "c%3A");
    let resource = client.request("resources/read", json!({ "uri": written })).await["result"].take();
    assert_eq!(resource["contents"][0]["uri"], written);
    assert_eq!(resource["contents"][0]["text"], "that is a\n");
    let missing = client.request("resources/read", json!({"uri": theirs.uri("missing")})).await;
    assert_eq!(missing["error"]["code"], -32002, "{missing}");
    said.push(("resources/read", missing));

    client.request("resources/subscribe", json!({ "uri": written })).await;
    std::fs::write(tree.at("a/name"), "changed by hand\n").unwrap();
    client.hears("notifications/resources/updated", 1).await;
    // The last update of all is that its root has left.
    let heard = client.heard("notifications/resources/updated").len();
    client.answer_with(roots_of::<&Path>(&[]));
    client.write(&line(&list_changed()));
    client.hears("notifications/resources/updated", heard + 1).await;
    for update in client.heard("notifications/resources/updated") {
        assert_eq!(update["params"]["uri"], written);
    }
    let (text, is_error) = client.call("read_text_file", json!({ "path": name })).await;
    assert!(is_error && text.contains("outside"), "{text}");

    for (what, result) in said {
        let result = result.to_string();
        assert!(!result.contains(&local), "{what}: {result}");
    }
}

#[tokio::test]
async fn a_client_on_another_machine_hears_of_no_path_but_its_own() {
    converse(&POSIX).await;
}

#[tokio::test]
async fn so_does_a_client_on_windows() {
    converse(&WINDOWS).await;
}

#[tokio::test]
async fn a_client_on_windows_hears_of_no_local_path_even_of_what_it_cannot_name() {
    let tree = Tree::new();
    for name in ["a:b", r"back\slash", "what?"] {
        std::fs::write(tree.at("a").join(name), "needle\n").unwrap();
    }
    std::fs::create_dir(tree.at("a/d:e")).unwrap();
    std::fs::write(tree.at("a/d:e/in"), "needle\n").unwrap();
    let before = std::fs::read_dir(tree.at("a")).unwrap().count();
    let mut serve = mcp_roots(["serve", "--write", "--log", "off", "--map"]);
    serve.arg(mapped(&WINDOWS, &tree.at("a")));
    let answers = Answers::Roots(vec![WINDOWS.uri.into()]);
    let mut client = Client::connect(serve, json!({"listChanged": true}), answers).await;
    let local = tree.at("").display().to_string();

    for (tool, pattern) in [("search_files", "**"), ("search_text", "needle")] {
        let (text, is_error) = client.call(tool, json!({"path": WINDOWS.folder, "pattern": pattern})).await;
        assert!(!is_error && !text.contains(&local), "{tool}: {text}");
        for name in ["a\u{fffd}b", "back\u{fffd}slash", "what\u{fffd}", "d\u{fffd}e/in"] {
            assert!(text.contains(&WINDOWS.path(name)), "{tool}: {name}: {text}");
        }
    }
    // What cannot be asked for is not offered.
    let resources = client.request("resources/list", json!({})).await["result"].take();
    let listed = resources["resources"].as_array().unwrap();
    assert_eq!(listed.iter().map(|resource| &resource["uri"]).collect::<Vec<_>>(), [&json!(WINDOWS.uri("name"))]);

    // A path that is none on Windows makes no file of that name here.
    for path in ["D:new", "name:stream", r"\new"] {
        let (text, is_error) = client.call("write_file", json!({"path": path, "content": "x"})).await;
        assert!(is_error && !text.contains(&local), "{path}: {text}");
    }
    assert_eq!(std::fs::read_dir(tree.at("a")).unwrap().count(), before);
}

#[tokio::test]
async fn a_call_that_its_root_leaves_is_told_so_in_the_clients_terms() {
    let (_tree, dir) = crate::large::many_files(100_000);
    let mut serve = mcp_roots(["serve", "--log", "off", "--map"]);
    serve.arg(mapped(&POSIX, &dir));
    let answers = Answers::Roots(vec![POSIX.uri.into()]);
    let mut client = Client::connect(serve, json!({"listChanged": true}), answers).await;
    let search = json!({
        "name": "search_text",
        "arguments": {"path": POSIX.folder, "pattern": "needle"},
        "_meta": {"progressToken": "p"},
    });
    let (call, found) = client.prepare("tools/call", search);
    client.write(&call);
    client.hears("notifications/progress", 1).await;
    client.answer_with(Answers::Roots(vec!["file:///home/me/other".into()]));
    client.write(&line(&list_changed()));
    let (text, is_error) = text_of(&tokio::time::timeout(PATIENCE, found).await.expect("in time").unwrap());
    assert!(is_error, "{text}");
    assert!(text.starts_with(&format!("{}: its root left", POSIX.folder)), "{text}");
    assert!(text.ends_with("The roots in force now: /home/me/other"), "{text}");
}

#[tokio::test]
async fn over_http_mapped_roots_narrow_the_operators_directories_in_both_eras() {
    let tree = Tree::new();
    let mut serve = mcp_roots(["serve", "--map"]);
    serve.arg(mapped(&WINDOWS, &tree.at(""))).arg("--map").arg(mapped(&POSIX, &tree.at("")));
    serve.arg(tree.at("a")).arg(tree.at("b"));
    let server = Server::start(serve).await;
    let mut windows = Session::open(&server, json!({"listChanged": true})).await;
    let mut posix = Session::open(&server, json!({"listChanged": true})).await;
    let inside = [WINDOWS.uri("a"), WINDOWS.uri("c"), "file:///D:/x".into()];
    let read = |path: String| json!({ "path": path });
    let (text, is_error, asked) = windows.call("read_text_file", read(WINDOWS.path("a/name")), &inside).await;
    assert_eq!((text.as_str(), is_error, asked), ("this is a\n", false, 1));
    let (text, is_error, _) = windows.call("read_text_file", read(WINDOWS.path("c/name")), &inside).await;
    assert!(is_error && text.contains(&format!("({})", WINDOWS.path("a"))), "{text}");
    let (status, _, _) = windows.call("roots_status", json!({}), &inside).await;
    for said in [WINDOWS.uri("c").as_str(), "file:///D:/x", "only lets the client narrow"] {
        assert!(status.contains(said), "{said}: {status}");
    }
    assert!(!status.contains(&tree.at("").display().to_string()), "{status}");
    // Roots around the directories are narrowed to those, and each client is shown its own names for them.
    for (session, told, names) in [
        (&mut windows, vec![WINDOWS.uri.to_owned()], [WINDOWS.path("a"), WINDOWS.path("b")]),
        (&mut posix, vec![POSIX.uri.to_owned()], [POSIX.path("a"), POSIX.path("b")]),
    ] {
        session.notify("notifications/roots/list_changed").await;
        let (text, _, _) = session.call("list_allowed_directories", json!({}), &told).await;
        assert_eq!(text, format!("Allowed directories:\n{}", names.join("\n")));
        let search = json!({"path": names[1], "pattern": "name"});
        assert!(session.call("search_files", search, &told).await.0.starts_with(&names[1]));
    }

    // In the modern era each request brings its own roots.
    let call = async |input: Value| {
        let mut params = json!({"name": "read_text_file", "arguments": {"path": WINDOWS.path("a/name")}});
        params["_meta"] = modern();
        params.as_object_mut().unwrap().extend(input.as_object().unwrap().clone());
        let headers =
            [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "read_text_file")];
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        server.post(&headers, &message).await.message().await
    };
    let returned = call(json!({})).await;
    let (key, _) = returned["result"]["inputRequests"].as_object().unwrap().iter().next().expect("a question");
    for (uri, works) in [(WINDOWS.uri("a"), true), (WINDOWS.uri("b"), false)] {
        let answers = json!({ key: {"roots": [{ "uri": uri }]} });
        let (text, is_error) = text_of(&call(json!({ "inputResponses": answers })).await);
        assert_eq!(!is_error, works, "{text}");
        assert!(works || text.contains(&format!("roots in force ({})", WINDOWS.path("b"))), "{text}");
    }
}

#[tokio::test]
async fn a_listener_of_the_modern_era_is_told_by_its_own_uri() {
    let tree = Tree::new();
    let mut serve = mcp_roots(["serve", "--log", "off", "--policy", "pin", "--map"]);
    serve.arg(mapped(&WINDOWS, &tree.at("a"))).arg(tree.at("a"));
    let mut client = Client::start(&mut serve, Answers::Silence);
    let uri = "file:///c%3A/users/me/proj/name";
    let params = json!({"notifications": {"resourceSubscriptions": [uri]}, "_meta": modern()});
    let (listen, _ending) = client.prepare("subscriptions/listen", params);
    client.write(&listen);
    // Once it is watched, and once it is changed.
    client.hears("notifications/resources/updated", 1).await;
    std::fs::write(tree.at("a/name"), "changed by hand\n").unwrap();
    client.hears("notifications/resources/updated", 2).await;
    for update in client.heard("notifications/resources/updated") {
        assert_eq!(update["params"]["uri"], uri);
    }
}

/// What a request of the modern era says of itself.
fn modern() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "by hand", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"roots": {}},
    })
}

#[tokio::test]
async fn a_bad_mapping_is_an_error_of_usage_that_says_what_would_do() {
    for (maps, said) in [
        (&["/home/me"][..], "no `=`"),
        (&["=/srv"], "empty"),
        (&["/home/me="], "empty"),
        (&["proj=/srv"], "not an absolute path"),
        (&["/home/me=srv"], "not an absolute path"),
        (&[r"/home/me=C:\srv"], "a path of another system"),
        (&["c:/x=/a", r"C:\X=/b"], "leave one of them out"),
    ] {
        let mut serve = mcp_roots(["serve"]);
        maps.iter().for_each(|map| {
            serve.args(["--map", map]);
        });
        let output = serve.stdin(Stdio::null()).stderr(Stdio::piped()).output().await.unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{maps:?}: {text}");
        assert!(text.contains(said), "{maps:?}: {text}");
    }
}

#[tokio::test]
async fn a_directory_that_is_given_in_the_clients_terms_is_warned_of() {
    let tree = Tree::new();
    let mut serve = mcp_roots(["serve", "--log", "warn", "--map"]);
    serve.arg(format!("{}={}", tree.at("a").display(), tree.at("b").display())).arg(tree.at("a"));
    let output = serve.stdin(Stdio::null()).stderr(Stdio::piped()).output().await.unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && text.contains("no client can name"), "{text}");
}
