//! Text: tables, labels, edges, sparse samples; and compressed tables.

use std::io::Write;

use flate2::write::GzEncoder;

use super::{Seed, named};
use crate::Bench;

/// Tables.
pub fn csv(_: &Bench) -> Vec<Seed> {
    texts(&[
        ("header", b"a,b,label\n1,2,\"x\"\n3,4,y\n5,6,\n"),
        ("bare", b"1,2.5\n-3e2,4\nnan,inf\n0,0.125\n"),
        ("crlf", b"a,b\r\n1,2\r\n3,4\r\n"),
        ("bom", b"\xef\xbb\xbfa,b,drop\n1,2,x\n3,4,y\n"),
        ("quoted", b"\"a\",\"b, c\",label\n\"1\",2,\"say \"\"no\"\"\"\n3,4,\"two\nlines\"\n"),
        ("missing", b"a,b,c\n1,,3\n,,\n4,NA,6\n"),
        ("picked", b"a,pick,label\n1,2,unl\n3,4,7\n5,6,007\n"),
        ("spaces", b" a , b \n 1 , 2 \n\n3,4\n"),
        ("open", b"a,b,label\n1,2,\"x\n3,4,y\n"),
        ("one", b"7\n"),
        ("kinds", b"when,kind,ok,note,label\n2024-01-31,red,yes,the first of two,a\n2024-02-29,blue,no,,b\n,red,yes,no more words,\n"),
        ("semicolons", b"a;b\n1,5;2\n-3,25;4\n1.234,5;\n"),
        ("gaps", b"a,b,c\n1,2,3\n2,,6\n3,6,9\n4,8,\n5,10,15\n"),
        ("written", b"price,share,height,when,open\n$1.2K,12 %,5'10,18.00.00,1 day 02:03\n(3.50),<0.5,6'2,26:15:00,2h 05min\n"),
        ("title", b"Sales of the year,,\n,,\nname,mm,EUR\nbolt,13,1.50\nnut,8,2\nTotal,21,3.50\n\nNote: all\n"),
        ("frame", b" a | b \n---+---\n 1 | x \n 2 | y \n(2 rows)\n"),
        ("markdown", b"| a | b |\n|---|--:|\n| 1 | x |\n| 2 | y |\n"),
        ("aligned", b"name    mm  kind\nbolt    13  a b\nnut      8  c\n"),
        ("escapes", b"a;b\n'don\\'t; x';1\n'y''s';2\n"),
        ("lists", b"tags,v\na|b|c,\"[0.1, 2]\"\nb|c,\"[3, 4]\"\nNone,\"[5, 6]\"\n"),
        ("arff", b"@relation r\n@attribute a numeric\n@attribute 'b c' {x,'y z'}\n@data\n1,x\n?,'y z'\n{0 3}\n"),
        ("latin", b"name,label\ncaf\xe9,a\nna\xefve,b\n"),
        ("wide", b"\xff\xfea\0,\0b\0\n\x001\0,\x002\0\n\0"),
    ])
}

/// Objects, one in each line.
pub fn jsonl(_: &Bench) -> Vec<Seed> {
    texts(&[
        ("numbers", b"{\"a\":1,\"b\":2.5,\"label\":\"x\"}\n{\"a\":3,\"b\":-4e2,\"label\":\"y\"}\n"),
        ("kinds", b"{\"a\":true,\"b\":\"2024-01-31\",\"c\":\"red\"}\n{\"a\":false,\"b\":null,\"c\":\"blue\"}\n"),
        ("missing", b"{\"a\":1,\"b\":2}\n{\"b\":3}\n\n{\"a\":5,\"c\":\"\\u00e9\"}\n"),
        ("lists", b"{\"v\":[1,2,3],\"a\":1}\n{\"v\":[4,5,6],\"a\":2}\n"),
    ])
}

/// Tables compressed by gzip.
pub fn csv_gz(_: &Bench) -> Vec<Seed> {
    compressed(gzip)
}

/// Tables compressed by zstd.
pub fn csv_zst(_: &Bench) -> Vec<Seed> {
    compressed(zstd)
}

/// Tables in one, two and no parts; each part is compressed by itself.
fn compressed(compress: fn(&[u8]) -> Vec<u8>) -> Vec<Seed> {
    let (first, second) = (compress(b"a,b,label\n1,2,x\n3,4,y\n"), compress(b"5,6,x\n7,8,\n"));
    named([("one", first.clone()), ("two", [first, second].concat()), ("none", compress(b""))])
}

/// Compresses a text by gzip.
pub fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    // Writing to memory does not fail.
    let _ = encoder.write_all(text);
    encoder.finish().unwrap_or_default()
}

/// Compresses a text by zstd, with a checksum.
pub fn zstd(text: &[u8]) -> Vec<u8> {
    let Ok(mut encoder) = zstd::stream::write::Encoder::new(Vec::new(), 1) else { return Vec::new() };
    let _ = encoder.include_checksum(true);
    let _ = encoder.write_all(text);
    encoder.finish().unwrap_or_default()
}

/// Sparse samples.
pub fn svmlight(_: &Bench) -> Vec<Seed> {
    texts(&[
        ("plain", b"1 1:2 3:4\n2 2:1\n1\n"),
        ("zero", b"+1 0:0.5 7:1e-3 # a word\n-1 1:nan\n\n"),
        ("query", b"3 qid:1 1:1 2:0\r\n2 qid:1 2:5\r\n"),
        ("names", b"spam 1:1\nham 2:1\n"),
    ])
}

/// Labels in both layouts: one for each row, and pairs of row and label.
pub fn labels(_: &Bench) -> Vec<Seed> {
    texts(&[
        ("column", b"label\n1\n\n2\n-1\n1\nnan\n3\n1\n"),
        ("bare", b"a\nb\n\na\nc\nunl\nb\na\n"),
        ("pairs", b"row,label\n0,x\n5,y\n7,z\n"),
        ("bare-pairs", b"3,1\r\n1,2\r\n6,1\r\n"),
        ("wide-pairs", b"row,label,confidence\n2,\"a, b\",0.5\n4,\"c\"\"d\",0.25\n"),
        ("numbers", b"007\n7\n1.0\n1\n\"\"\n\"-1\"\n 2 \n+3\n"),
        ("spaced", "x\n x\nx\u{a0}\nx y\nx  y\n\u{200b}x\n\ny\n".as_bytes()),
        ("index", b",label\n0,x\n5,y\n"),
        ("swapped", b"label,score,row\nx,1,3\ny,2,4\n"),
    ])
}

/// Lists of edges.
pub fn edges(_: &Bench) -> Vec<Seed> {
    texts(&[
        ("weighted", b"u,v,weight\n0,1,0.5\n1,2,2\n2,0,1e-3\n3,3,1\n"),
        ("bare", b"0,1\n1,2\n2,3\n3,0\n"),
        ("twice", b"0,1,1\n1,0,1\n0,2,3\n0,2,4\n"),
        ("floats", b"0.0,1.0,1\n2.0,1.0,0\n"),
        ("far", b"0,100000000\n1,2\n"),
        ("index", b",source,target\n0,0,1\n1,1,2\n2,4,5\n"),
        ("first", b"weight,source,target\n0.5,0,1\n2,1,2\n"),
        ("tabs", b"from\tto\tw\n3\t4\t1\n4\t5\t2\n"),
        ("names", b"from,to,weight\nann,bob,1\nbob,007,2\n7,ann,1\n"),
        ("pairs", b"a1,b1\na2,b2\na3,b3\n"),
        ("zeros", b"source,target\n7,1\n007,2\n"),
        ("many", many_edges().as_bytes()),
    ])
}

/// More edges than the sparsifier keeps.
fn many_edges() -> String {
    let pairs = (0..20).flat_map(|u| (u + 1..20).map(move |v| (u, v)));
    pairs.map(|(u, v)| format!("{u},{v},{}\n", 1 + (u * v) % 7)).collect()
}

fn texts(seeds: &[(&'static str, &[u8])]) -> Vec<Seed> {
    named(seeds.iter().copied())
}
