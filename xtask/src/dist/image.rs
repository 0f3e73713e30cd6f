//! The container image: program and MPI runner with Open MPI.

use super::files::version;
use crate::process::{Call, Result, root};
use crate::system::answers;

/// Builds the image; it is named `lapwing:VERSION`. Gives it `tags`, and uploads these.
pub fn build(tags: &[&str]) -> Result<()> {
    let engine = ["docker", "podman"].into_iter().find(|engine| answers(engine));
    let engine = engine.ok_or("docker or podman is needed to build an image")?;
    let name = format!("lapwing:{}", version()?);
    let names = std::iter::once(&name[..]).chain(tags.iter().copied()).flat_map(|tag| ["--tag", tag]);
    Call::new(engine)
        .args(["build", "--file", "packaging/Containerfile"])
        .args(names)
        .args(["."])
        .within(root())
        .run()?;
    let call = |words: &[&str]| Call::new(engine).args(["run", "--rm", &name]).args(words).run();
    call(&["lapwing", "demo", "-o", "/tmp/demo"])?;
    call(&["mpirun", "-n", "2", "--oversubscribe", "lapwing-mpi", "--version"])?;
    tags.iter().try_for_each(|tag| Call::new(engine).args(["push", tag]).run())
}
