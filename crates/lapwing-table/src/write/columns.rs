//! Tables of any columns: what a command found, with a line for each row that it names.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray};
use arrow_schema::{Field, Schema};

use super::KeptColumns;
use super::labels::named;
use super::sink::Sink;
use super::table::ending;
use lapwing_core::publish::{Staged, check_writable};
use lapwing_core::{Error, Result, RowNames, Run};

/// Endings of tables of columns.
pub const COLUMN_ENDINGS: [&str; 2] = [".parquet", ".csv"];

/// A table that is built column by column.
#[derive(Debug, Default)]
pub struct ColumnTable {
    names: Vec<String>,
    arrays: Vec<ArrayRef>,
}

impl ColumnTable {
    /// A table whose first column names `rows`: by their numbers, or by `names` if they have any.
    pub fn of_rows(rows: &[u32], names: Option<&RowNames>) -> Self {
        let mut table = Self::default();
        table.push(names.map_or("row", RowNames::column), named(names, rows.iter().map(|&row| row as usize)));
        table
    }

    fn push(&mut self, name: &str, array: ArrayRef) {
        self.names.push(name.to_owned());
        self.arrays.push(array);
    }

    /// Adds a column of integers.
    pub fn integers(&mut self, name: &str, values: impl IntoIterator<Item = Option<i64>>) {
        self.push(name, Arc::new(Int64Array::from_iter(values)));
    }

    /// Adds a column of numbers; NaN is an empty cell.
    pub fn numbers(&mut self, name: &str, values: impl IntoIterator<Item = f64>) {
        let values = values.into_iter().map(|value| Some(value).filter(|value| !value.is_nan()));
        self.push(name, Arc::new(Float64Array::from_iter(values)));
    }

    /// Adds a column of truth values.
    pub fn flags(&mut self, name: &str, values: impl IntoIterator<Item = bool>) {
        self.push(name, Arc::new(BooleanArray::from(values.into_iter().collect::<Vec<bool>>())));
    }

    /// Adds a column of texts.
    pub fn texts<S: AsRef<str>>(&mut self, name: &str, values: impl IntoIterator<Item = Option<S>>) {
        self.push(name, Arc::new(StringArray::from_iter(values)));
    }

    /// Adds columns of the input, at these rows; as texts, unless the table is written to a `.parquet`.
    ///
    /// # Errors
    /// Those of reading the input again.
    pub fn kept(&mut self, kept: KeptColumns, rows: &[u32], path: &Path, run: &Run) -> Result<()> {
        let is_text = ending(path).as_deref() != Some("parquet");
        for (name, array) in kept.at(rows, is_text, run)? {
            self.push(&name, array);
        }
        Ok(())
    }

    /// Writes the table in the format of the ending; `-` is CSV on standard output. A name that is taken gets a number behind it.
    ///
    /// # Errors
    /// [`Error::Param`] for an unknown ending; [`Error::Shape`] for columns of different lengths; [`Error::Io`] when the file cannot be
    /// written.
    pub fn stage(mut self, path: &Path) -> Result<Staged> {
        check_writable(path, &COLUMN_ENDINGS)?;
        let n = self.arrays.first().map_or(0, |array| array.len());
        if let Some(other) = self.arrays.iter().find(|array| array.len() != n) {
            return Err(Error::shape("a column of the table", format!("{n} rows"), format!("{} rows", other.len())));
        }
        crate::read::make_distinct(&mut self.names);
        let fields =
            self.names.iter().zip(&self.arrays).map(|(name, array)| Field::new(name, array.data_type().clone(), true));
        let mut sink = Sink::create(path, Schema::new(fields.collect::<Vec<Field>>()))?;
        sink.write(self.arrays)?;
        sink.finish()?.stage()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use arrow_array::cast::AsArray;

    use super::*;
    use crate::read::{ReadOptions, TableFile};

    #[test]
    fn rows_are_written_in_the_order_in_which_they_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let (input, output) = (folder.path().join("in.csv"), folder.path().join("out.csv"));
        fs::write(&input, "name,size\nfirst,1.50\n\"second, odd\",2\nthird,3\n").unwrap();
        let table = TableFile::open(&input, &ReadOptions::default()).unwrap();
        let kept = KeptColumns::open(table, None, None, Vec::new()).unwrap();
        let run = Run::new(Some(1), 0).unwrap();
        let rows = [2, 0, 1];
        let mut found = ColumnTable::of_rows(&rows, None);
        found.texts("label", [Some("a"), None, Some("b, c")]);
        found.numbers("score", [0.5, f64::NAN, 1.0]);
        found.flags("size", [true, false, true]);
        found.kept(kept, &rows, &output, &run).unwrap();
        found.stage(&output).unwrap().publish().unwrap();
        let expected = "row,label,score,size,name,size.1\n2,a,0.5,true,third,3\n0,,,false,first,1.50\n1,\"b, c\",1.0,true,\"second, odd\",2\n";
        assert_eq!(fs::read_to_string(&output).unwrap(), expected);
        let uneven = {
            let mut table = ColumnTable::of_rows(&[1], None);
            table.flags("x", []);
            table.stage(&output).unwrap_err().to_string()
        };
        assert!(uneven.contains("1 rows") && fs::read_to_string(&output).unwrap() == expected, "{uneven}");
        let unknown = ColumnTable::of_rows(&[1], None).stage(&folder.path().join("x.npy")).unwrap_err().to_string();
        assert!(unknown.contains("csv"), "{unknown}");
    }

    #[test]
    fn cells_that_a_value_would_round_are_kept_as_texts() {
        let folder = tempfile::tempdir().unwrap();
        let input = folder.path().join("in.csv");
        let rows: String = (1..24).map(|at| format!("{at}:10,<{at},{at},2024-01-02,{at}x{}\n", 40 - at)).collect();
        fs::write(&input, format!("time,level,size,day,screen\n{rows}")).unwrap();
        let table = TableFile::open(&input, &ReadOptions::default()).unwrap();
        let (_, mut kept) = table.kept(&[0, 1, 2, 3, 4], false).unwrap();
        let arrays = kept(&Run::new(Some(1), 0).unwrap()).unwrap().unwrap();
        let text = |at: usize| arrays[at].as_string_opt::<i32>().map(|texts| texts.value(8).to_owned());
        assert_eq!([text(0), text(1), text(2), text(3)], [Some("9:10".into()), Some("<9".into()), None, None]);
        assert_eq!(text(4), Some("9x31".into()));
    }
}
