//! host
use clap::Args;
use crate::exit::Exit;
/// Host.
#[derive(Args)]
pub(crate) struct HostArgs {}
pub(crate) async fn run(_: HostArgs) -> Result<(), Exit> { Ok(()) }
