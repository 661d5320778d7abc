//! The tools that read and search, one promise after the other.

use std::path::Path;

use serde_json::{Value, json};

use crate::client::{Answers, Client, text_of, uri_of};
use crate::tree::{Tree, mcp_roots};

/// A client without roots of `serve` on a directory with these options.
pub(crate) async fn serving(dir: &Path, options: &[&str]) -> Client {
    let mut serve = mcp_roots(["serve", "--log", "off"]);
    serve.args(options).arg(dir);
    Client::connect(serve, Value::Null, Answers::Silence).await
}

/// The structured content of a tool's result.
async fn structured(client: &mut Client, tool: &str, arguments: Value) -> Value {
    client.request("tools/call", json!({"name": tool, "arguments": arguments})).await["result"]["structuredContent"]
        .take()
}

#[tokio::test]
async fn a_long_file_is_read_in_parts_that_join_to_the_whole() {
    let tree = Tree::new();
    let file = tree.at("a/long");
    // Lines of several lengths, with characters of several bytes, and one line that is longer than an answer.
    let mut text: String =
        (0..40_000).map(|line| format!("line {line} of ünïcode\n{}", "x".repeat(line % 70))).collect();
    text.push_str(&"é".repeat(1 << 20));
    std::fs::write(&file, &text).unwrap();
    let mut client = serving(&tree.at("a"), &[]).await;
    let (mut whole, mut offset, mut parts) = (String::new(), json!(0), 0);
    while !offset.is_null() {
        let part = structured(&mut client, "read_text_file", json!({"path": file, "offset": offset})).await;
        whole.push_str(part["content"].as_str().unwrap());
        offset = part["nextOffset"].clone();
        parts += 1;
    }
    assert!(whole == text && parts > 2, "{parts} parts of {} bytes in all", whole.len());
    let first = client.request("tools/call", json!({"name": "read_text_file", "arguments": {"path": file}})).await;
    let note = first["result"]["content"][1]["text"].as_str().expect("it is said that this is not all");
    assert!(note.contains("offset"), "{note}");
}

#[tokio::test]
async fn the_first_and_the_last_lines_of_a_file() {
    let tree = Tree::new();
    let file = tree.at("a/lines");
    let mut client = serving(&tree.at("a"), &[]).await;
    for (text, head, tail) in [
        ("1\n2\n3\n", "1\n2", "2\n3"),
        ("1\n2\n3", "1\n2", "2\n3"),
        ("1\r\n2\r\n3\r\n", "1\r\n2", "2\r\n3"),
        ("only", "only", "only"),
        ("only\n", "only", "only"),
        ("", "", ""),
        ("\n\n\n", "\n", "\n"),
    ] {
        std::fs::write(&file, text).unwrap();
        for (part, expected) in [("head", head), ("tail", tail)] {
            let read = client.call("read_text_file", json!({"path": file, part: 2})).await;
            assert_eq!(read, (expected.into(), false), "{part} of {text:?}");
        }
    }
    assert!(client.call("read_text_file", json!({"path": file, "head": 1, "tail": 1})).await.1);
}

#[tokio::test]
async fn a_listing_of_many_entries_goes_on_where_it_ended() {
    let tree = Tree::new();
    let dir = tree.at("a/many");
    std::fs::create_dir(&dir).unwrap();
    let mut expected: Vec<String> = (0..250).map(|at| format!("[FILE] file {at}")).collect();
    for at in 0..250 {
        std::fs::write(dir.join(format!("file {at}")), vec![0; at]).unwrap();
    }
    expected.sort();
    let mut client = serving(&tree.at("a"), &[]).await;
    let (mut listed, mut after) = (Vec::new(), Value::Null);
    loop {
        let page = structured(&mut client, "list_directory", json!({"path": dir, "limit": 100, "after": after})).await;
        listed.extend(page["content"].as_str().unwrap().lines().map(String::from));
        after = page["nextAfter"].clone();
        if after.is_null() {
            break;
        }
    }
    assert_eq!(listed, expected);
    let (text, _) = client.call("list_directory_with_sizes", json!({"path": dir, "sortBy": "size", "limit": 2})).await;
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("[FILE] file 249") && lines[0].ends_with("249 B"), "{text}");
    assert!(text.ends_with("Total: 250 files, 0 directories\nCombined size: 30.40 KB"), "{text}");
}

#[tokio::test]
async fn walks_leave_out_what_gitignore_names_unless_they_are_told_not_to() {
    let tree = Tree::new();
    let dir = tree.at("a");
    for file in
        ["target/out.rs", "src/lib.rs", "src/generated/gen.rs", "src/kept.log", ".git/config", "x.log", "docs/x.log"]
    {
        std::fs::create_dir_all(dir.join(file).parent().unwrap()).unwrap();
        std::fs::write(dir.join(file), "needle\n").unwrap();
    }
    std::fs::write(dir.join(".gitignore"), "target/\n*.log\n!docs/*.log\n# a remark\n").unwrap();
    std::fs::write(dir.join("src/.gitignore"), "generated\n!kept.log\n").unwrap();
    let mut client = serving(&dir, &[]).await;
    let found = |text: String| {
        let mut found: Vec<String> =
            text.lines().map(|line| line.strip_prefix(&format!("{}/", dir.display())).unwrap().to_owned()).collect();
        found.sort();
        found
    };
    let arguments = |respect: bool| json!({"path": dir, "pattern": "**/*.{rs,log}", "respectGitignore": respect});
    let respected = found(client.call("search_files", arguments(true)).await.0);
    assert_eq!(respected, ["docs/x.log", "src/kept.log", "src/lib.rs"]);
    let all = ["docs/x.log", "src/generated/gen.rs", "src/kept.log", "src/lib.rs", "target/out.rs", "x.log"];
    assert_eq!(found(client.call("search_files", arguments(false)).await.0), all);
    // Below an ignored directory that is asked for by name, and with the rules of the directories above.
    let below = json!({"path": dir.join("src"), "pattern": "**/*.log"});
    assert_eq!(found(client.call("search_files", below).await.0), ["src/kept.log"]);
    let inside = json!({"path": dir.join("target"), "pattern": "*"});
    assert_eq!(found(client.call("search_files", inside).await.0), ["target/out.rs"]);

    let (tree_text, _) = client.call("directory_tree", json!({"path": dir, "excludePatterns": ["src"]})).await;
    let names: Vec<String> = serde_json::from_str::<Value>(&tree_text)
        .unwrap()
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, [".gitignore", "docs", "name"]);
    let text = structured(&mut client, "search_text", json!({"path": dir, "pattern": "needle"})).await;
    assert_eq!((text["matches"].as_array().unwrap().len(), &text["filesSearched"]), (3, &json!(6)));
    let mut unignoring = serving(&dir, &["--no-ignore"]).await;
    assert_eq!(found(unignoring.call("search_files", arguments(true)).await.0), all);
}

#[tokio::test]
async fn lines_are_found_by_regular_expressions_and_shown_with_their_numbers() {
    let tree = Tree::new();
    let dir = tree.at("a");
    std::fs::write(dir.join("one.rs"), "fn main() {\n    let x = 1;\n}\n").unwrap();
    std::fs::write(dir.join("two.txt"), "fn in text\r\nFN in capitals\n").unwrap();
    std::fs::write(dir.join("binary"), b"fn\0fn\n").unwrap();
    std::fs::write(dir.join("latin"), b"fn caf\xe9\n").unwrap();
    std::fs::write(dir.join("wide"), format!("fn {}\n", "x".repeat(10_000))).unwrap();
    let mut client = serving(&dir, &[]).await;
    let mut lines = async |arguments: Value| {
        let mut call = json!({"path": dir});
        call.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        let (text, is_error) = client.call("search_text", call).await;
        let mut lines: Vec<String> =
            text.lines().map(|line| line.replace(&format!("{}/", dir.display()), "")).collect();
        lines.sort();
        (lines, is_error)
    };
    let rust = ["one.rs:1:fn main() {".to_owned()];
    assert_eq!(lines(json!({"pattern": r"^fn \w+\(", "files": "*.rs"})).await, (rust.to_vec(), false));
    let text = ["two.txt:1:fn in text".to_owned(), "two.txt:2:FN in capitals".to_owned()];
    assert_eq!(lines(json!({"pattern": "fn in", "caseSensitive": false})).await.0, text);
    assert_eq!(lines(json!({"pattern": "main()", "literal": true})).await.0, rust);
    assert_eq!(lines(json!({"pattern": "caf"})).await.0, ["latin:1:fn caf\u{fffd}"]);
    let (wide, _) = lines(json!({"pattern": "xxx"})).await;
    assert!(wide[0].len() < 600, "a long line is cut off");
    assert_eq!(lines(json!({"pattern": "nowhere"})).await.0, ["No matches in 5 files"]);
    let (error, is_error) = lines(json!({"pattern": "a("})).await;
    assert!(is_error && error.iter().any(|line| line.contains("regular expression")), "{error:?}");
    let all = lines(json!({"pattern": "fn"})).await.0.len();
    assert_eq!(all, 4, "the binary file is left out");
    // A single file, and two pages that together are all.
    let single = structured(&mut client, "search_text", json!({"path": dir.join("one.rs"), "pattern": "."})).await;
    assert_eq!(single["matches"][1], json!({"path": dir.join("one.rs"), "line": 2, "text": "    let x = 1;"}));
    let page = json!({"path": dir, "pattern": "fn", "limit": 3});
    let first = structured(&mut client, "search_text", page).await;
    assert_eq!((first["matches"].as_array().unwrap().len(), &first["nextOffset"]), (3, &json!(3)));
    let rest = structured(&mut client, "search_text", json!({"path": dir, "pattern": "fn", "offset": 3})).await;
    assert_eq!((rest["matches"].as_array().unwrap().len(), &rest["nextOffset"]), (1, &Value::Null));
}

#[tokio::test]
async fn several_files_are_read_and_one_that_fails_fails_alone() {
    let tree = Tree::new();
    let (good, missing, outside) = (tree.at("a/name"), tree.at("a/missing"), tree.at("b/name"));
    let mut client = serving(&tree.at("a"), &[]).await;
    let (text, is_error) = client.call("read_multiple_files", json!({"paths": [good, missing, outside, good]})).await;
    let parts: Vec<&str> = text.split("\n---\n").collect();
    assert!(!is_error);
    assert_eq!(parts[0], format!("{}:\nthis is a\n\n", good.display()));
    assert!(parts[1].starts_with(&format!("{}: Error - ", missing.display())), "{text}");
    assert!(parts[2].contains("outside allowed directories"), "{text}");
    assert_eq!(parts[3], parts[0]);
    assert!(client.call("read_multiple_files", json!({"paths": []})).await.1);
}

#[tokio::test]
async fn files_are_resources_with_types_in_pages() {
    let tree = Tree::new();
    let dir = tree.at("a");
    for name in ["page.html", "picture.png", "noext", "code.ts"] {
        std::fs::write(dir.join(name), "text").unwrap();
    }
    std::fs::write(dir.join("blob"), b"\xff\xfe").unwrap();
    std::fs::create_dir(dir.join("dir")).unwrap();
    for at in 0..1_500 {
        std::fs::write(dir.join(format!("z{at:04}")), "").unwrap();
    }
    let mut client = serving(&dir, &[]).await;
    let (mut listed, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let params = if cursor.is_null() { json!({}) } else { json!({ "cursor": cursor }) };
        let page = client.request("resources/list", params).await["result"].take();
        listed.extend(page["resources"].as_array().unwrap().clone());
        cursor = page["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(listed.len(), 1_507);
    let typed = |name: &str| listed.iter().find(|resource| resource["name"] == name).unwrap()["mimeType"].clone();
    assert_eq!(
        [typed("dir"), typed("page.html"), typed("noext")],
        [json!("inode/directory"), json!("text/html"), Value::Null]
    );
    assert_eq!(client.request("resources/list", json!({"cursor": "x"})).await["error"]["code"], -32602);
    for (name, kind, mime) in [
        ("page.html", "text", "text/html"),
        ("noext", "text", "text/plain"),
        ("code.ts", "text", "text/typescript"),
        ("blob", "blob", "application/octet-stream"),
        ("dir", "text", "inode/directory"),
    ] {
        let read = client.request("resources/read", json!({"uri": uri_of(dir.join(name))})).await;
        let contents = &read["result"]["contents"][0];
        assert!(contents[kind].is_string() && contents["mimeType"] == mime, "{name}: {contents}");
    }
    let templates = client.request("resources/templates/list", json!({})).await;
    assert_eq!(templates["result"]["resourceTemplates"][0]["uriTemplate"], "file:///{+path}");
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_the_tools_error_and_an_unknown_tool_is_the_protocols() {
    let tree = Tree::new();
    let mut client = serving(&tree.at("a"), &[]).await;
    for arguments in [json!({}), json!({"path": 7}), json!({"path": "x", "head": "two"})] {
        let response = client.request("tools/call", json!({"name": "read_text_file", "arguments": arguments})).await;
        assert_eq!(response["result"]["isError"], true, "{response}");
    }
    for tool in ["no_such_tool", "write_file"] {
        let response = client.request("tools/call", json!({"name": tool, "arguments": {}})).await;
        assert_eq!(response["error"]["code"], -32602, "{response}");
    }
    assert!(
        text_of(
            &client
                .request("tools/call", json!({"name": "list_directory", "arguments": {"path": tree.at("a/name")}}))
                .await
        )
        .1
    );
}

#[tokio::test]
async fn every_tool_says_what_it_gives_and_whether_it_changes_anything() {
    let tree = Tree::new();
    let mut client = serving(&tree.at("a"), &["--write"]).await;
    let tools = client.request("tools/list", json!({})).await["result"]["tools"].take();
    let names: Vec<&str> = tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let writing = ["write_file", "edit_file", "create_directory", "move_file"];
    assert_eq!(names.len(), 16);
    for tool in tools.as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        assert_eq!(tool["annotations"]["readOnlyHint"], !writing.contains(&name), "{name}");
        assert_eq!(tool["annotations"]["openWorldHint"], false, "{name}");
        assert!(tool["outputSchema"]["properties"].is_object() && tool["title"].is_string(), "{tool}");
        assert!(!tool.to_string().contains("uint"), "formats that clients do not know: {tool}");
        assert!(!tool["inputSchema"].to_string().contains("null"), "{tool}");
        if name == "roots_status" {
            let last_error = &tool["outputSchema"]["properties"]["lastError"]["type"];
            assert_eq!(*last_error, json!(["string", "null"]), "what is given may be null, and says so");
        }
    }
}
