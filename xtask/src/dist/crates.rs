//! The crates as packages of the registry.

use crate::process::{Call, Result, root};

/// Packs every crate that is published, and builds each from its package and those of the crates that it uses.
pub fn check() -> Result<()> {
    publish_with(&["--dry-run"])
}

/// Uploads the crates, each after those that it uses. `CARGO_REGISTRY_TOKEN` holds the token.
pub fn publish() -> Result<()> {
    publish_with(&[])
}

fn publish_with(options: &[&str]) -> Result<()> {
    Call::cargo("publish").args(["--workspace", "--locked"]).args(options).within(root()).run()
}
