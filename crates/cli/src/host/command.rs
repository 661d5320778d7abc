//! The commands of `host`, and reading them from a line.

use std::path::PathBuf;

use serde_json::{Map, Value};

/// What can be asked for.
#[derive(Debug, PartialEq)]
pub(super) enum Command {
    Add { dir: PathBuf, name: Option<String> },
    Remove { dir: PathBuf },
    List,
    Call { tool: String, arguments: Map<String, Value> },
    Read { uri: String },
    Subscribe { uri: String },
    Status,
    Help,
    Quit,
}

pub(super) const HELP: &str = "\
add DIR [NAME]    open a folder, or name one that is open
remove DIR        close a folder
list              the folders, where each comes from, and which of them are exposed
call TOOL JSON    call a tool of the server, such as: call read_text_file {\"path\": \"a.txt\"}
read URI          read a resource of the server
subscribe URI     be told when a resource changes
status            how the server deals with roots
help              this
quit              end the session
Words with spaces go in quotes. A line that begins with # is a remark.";

/// A line that is no command.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(super) enum CommandError {
    #[error("there is no command {0:?}; `help` lists them")]
    Unknown(String),
    #[error("use: {0}")]
    Use(&'static str),
    #[error("a quote is not closed")]
    Quote,
    #[error("the arguments of a tool are a JSON object: {0}")]
    Arguments(String),
}

/// Reads a command; `None` for an empty line or a remark.
pub(super) fn parse(line: &str) -> Result<Option<Command>, CommandError> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let (verb, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let command = match verb {
        "call" => call(rest)?,
        "add" => match words(rest)?.as_slice() {
            [dir] => Command::Add { dir: dir.into(), name: None },
            [dir, name] => Command::Add { dir: dir.into(), name: Some(name.clone()) },
            _ => return Err(CommandError::Use("add DIR [NAME]")),
        },
        "remove" => Command::Remove { dir: only(rest, "remove DIR")?.into() },
        "read" => Command::Read { uri: only(rest, "read URI")? },
        "subscribe" => Command::Subscribe { uri: only(rest, "subscribe URI")? },
        "list" => alone(rest, Command::List, "list")?,
        "status" => alone(rest, Command::Status, "status")?,
        "help" => alone(rest, Command::Help, "help")?,
        "quit" => alone(rest, Command::Quit, "quit")?,
        _ => return Err(CommandError::Unknown(verb.into())),
    };
    Ok(Some(command))
}

/// The arguments are JSON to the end of the line, so they need no quotes around them.
fn call(rest: &str) -> Result<Command, CommandError> {
    let rest = rest.trim();
    let (tool, json) = rest.split_once(char::is_whitespace).unwrap_or((rest, "{}"));
    if tool.is_empty() {
        return Err(CommandError::Use("call TOOL JSON"));
    }
    match serde_json::from_str(json) {
        Ok(Value::Object(arguments)) => Ok(Command::Call { tool: tool.into(), arguments }),
        Ok(_) => Err(CommandError::Arguments("this is JSON, and no object".into())),
        Err(error) => Err(CommandError::Arguments(error.to_string())),
    }
}

fn only(rest: &str, usage: &'static str) -> Result<String, CommandError> {
    let mut words = words(rest)?;
    match (words.pop(), words.is_empty()) {
        (Some(word), true) => Ok(word),
        _ => Err(CommandError::Use(usage)),
    }
}

fn alone(rest: &str, command: Command, usage: &'static str) -> Result<Command, CommandError> {
    if rest.trim().is_empty() { Ok(command) } else { Err(CommandError::Use(usage)) }
}

/// Splits at spaces, except inside quotes. A backslash is an ordinary character: paths have them.
fn words(text: &str) -> Result<Vec<String>, CommandError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in text.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, _) if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err(CommandError::Quote);
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn add(dir: &str, name: Option<&str>) -> Result<Option<Command>, CommandError> {
        Ok(Some(Command::Add { dir: dir.into(), name: name.map(String::from) }))
    }

    #[test]
    fn words_and_quotes() {
        assert_eq!(parse("  add  /a  "), add("/a", None));
        assert_eq!(parse(r#"add "/a b" 'my name'"#), add("/a b", Some("my name")));
        assert_eq!(parse(r"add C:\x\y"), add(r"C:\x\y", None));
        assert_eq!(parse(r#"add "" """#), add("", Some("")));
        assert_eq!(parse(r#"add "/a"#), Err(CommandError::Quote));
        assert_eq!(parse("add"), Err(CommandError::Use("add DIR [NAME]")));
        assert_eq!(parse("remove a b"), Err(CommandError::Use("remove DIR")));
        assert_eq!(parse("list all"), Err(CommandError::Use("list")));
        assert_eq!(parse("fly"), Err(CommandError::Unknown("fly".into())));
        assert_eq!((parse(""), parse("# a remark")), (Ok(None), Ok(None)));
    }

    #[test]
    fn a_call_takes_json_to_the_end_of_the_line() {
        let Ok(Some(Command::Call { tool, arguments })) = parse(r#"call t {"a": "b c", "d": [1, 2]}"#) else {
            panic!()
        };
        assert_eq!((tool.as_str(), Value::Object(arguments)), ("t", json!({"a": "b c", "d": [1, 2]})));
        assert_eq!(parse("call t"), Ok(Some(Command::Call { tool: "t".into(), arguments: Map::new() })));
        assert!(matches!(parse("call t [1]"), Err(CommandError::Arguments(_))));
        assert!(matches!(parse("call t {"), Err(CommandError::Arguments(_))));
        assert_eq!(parse("call"), Err(CommandError::Use("call TOOL JSON")));
    }
}
