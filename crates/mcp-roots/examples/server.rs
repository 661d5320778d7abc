//! The smallest server that knows its client's roots: one tool, which counts what is in them.

use mcp_roots::{Roots, TrackOptions, track, wire};
use rmcp::{ServiceExt, tool, tool_router};

struct Counter {
    roots: Roots,
}

#[tool_router(server_handler)]
impl Counter {
    /// Count the entries of each of the client's roots.
    #[tool]
    async fn count(&self) -> Result<String, String> {
        // Current at the time of the call, or an error within 5 s that says why not.
        let snapshot = self.roots.current().await.map_err(|error| error.to_string())?;
        let counts = snapshot.roots.iter().filter_map(|root| {
            let path = root.uri.path().to_native()?;
            Some(format!("{}: {} entries", path.display(), std::fs::read_dir(&path).ok()?.count()))
        });
        Ok(counts.collect::<Vec<_>>().join("\n"))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (transport, roots) = track(wire::stdio(), TrackOptions::default());
    Counter { roots }.serve(transport).await?.waiting().await?;
    Ok(())
}
