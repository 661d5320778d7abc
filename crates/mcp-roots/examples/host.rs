//! The smallest host: opens a folder, runs a server on it, opens another, and asks the server's tools before
//! and after. Use: host SERVER TOOL DIR ANOTHER_DIR

use mcp_roots::{Workspace, publish};
use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use rmcp::transport::TokioChildProcess;
use tokio::process::Command;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [server, tool, dir, another] = arguments.as_slice() else {
        return Err("use: host SERVER TOOL DIR ANOTHER_DIR".into());
    };
    let workspace = Workspace::open([dir])?;
    let transport = publish(TokioChildProcess::new(Command::new(server))?, &workspace);
    let server = ().serve(transport).await?;

    for added in [None, Some(another)] {
        if let Some(dir) = added {
            // Declared, answered and announced by the transport, and before the next call.
            workspace.add(dir, None)?;
        }
        let result = server.call_tool(CallToolRequestParams::new(tool.clone())).await?;
        println!(
            "{}",
            result
                .content
                .iter()
                .filter_map(|block| block.as_text())
                .map(|text| text.text.as_str())
                .collect::<String>()
        );
        println!();
    }
    server.cancel().await?;
    Ok(())
}
