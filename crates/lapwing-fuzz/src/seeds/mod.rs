//! Valid files of every format, made by code: mutations start from them.

pub mod array;
pub mod models;
pub mod parquet;
pub mod text;

/// A name and the bytes of a file.
pub type Seed = (String, Vec<u8>);

fn named<B: AsRef<[u8]>>(seeds: impl IntoIterator<Item = (&'static str, B)>) -> Vec<Seed> {
    seeds.into_iter().map(|(name, bytes)| (name.to_owned(), bytes.as_ref().to_vec())).collect()
}
