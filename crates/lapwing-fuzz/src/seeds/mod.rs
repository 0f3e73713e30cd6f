//! Valid files of every format, made here so that none need to be kept: what mutations start from.

pub mod array;
pub mod models;
pub mod parquet;
pub mod text;

/// A name and the bytes of a file.
pub type Seed = (String, Vec<u8>);

/// Seeds of texts by name.
fn named(seeds: &[(&str, &[u8])]) -> Vec<Seed> {
    seeds.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).collect()
}
