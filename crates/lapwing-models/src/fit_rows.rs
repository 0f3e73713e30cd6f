//! Fits to rows that are not held, in one process or several.

use std::sync::Arc;

use lapwing_core::communicator::agree;
use lapwing_core::model_file::{ModelFile, Must};
use lapwing_core::{Alone, Communicator, Result, Run};
use serde_json::json;

use crate::classifier::{extension_from_bytes, extension_to_file};
use crate::core::row_fit::Known;
use crate::core::sampling::Cover;
use crate::core::stored::{features_of, read_settings, store_features};
use crate::{Labeling, Method, RowFit, RowProblem};

/// Kind of the files that hold a fit.
const KIND: &str = "fit-to-a-sample";
/// What the bytes of a fit are called in errors.
const SENT: &str = "the fit of rank 0";

/// Fits `method` to rows that are not held, in one process or several; all return the same but for the report, which rank 0 has.
///
/// A method that [sums over rows](Method::reads_rows) divides them among the processes. With another method rank 0 fits a sample and sends
/// the fit to the others: as many bytes as the model has, and the rows of the sample once more. With a checkpoint rank 0 saves the fit, and
/// takes a saved one instead of fitting.
///
/// # Errors
/// As [`Method::fit_rows`]; [`Error::Format`](lapwing_core::Error::Format) for a checkpoint of another fit.
pub fn fit_rows(
    method: &dyn Method,
    problem: &RowProblem<'_>,
    communicator: &dyn Communicator,
    run: &Run,
) -> Result<RowFit> {
    if method.reads_rows() && problem.fit_rows >= problem.source.n_rows() {
        return method.fit_rows(problem, communicator, run);
    }
    let own = communicator.is_root().then(|| fit_or_load(method, problem, run)).transpose();
    let own = agree(communicator, own)?;
    if communicator.size() == 1
        && let Some(own) = own
    {
        return Ok(own);
    }
    let packed = own.as_ref().map(|own| pack(own, "")).transpose();
    let bytes = agree(communicator, packed)?.map_or_else(Vec::new, |file| file.to_bytes());
    let bytes = communicator.broadcast(bytes)?;
    let fit = own.map_or_else(|| unpack(&ModelFile::from_bytes(&bytes, SENT)?, run), Ok);
    agree(communicator, fit)
}

/// The fit in the checkpoint, or a new one that is saved there.
fn fit_or_load(method: &dyn Method, problem: &RowProblem<'_>, run: &Run) -> Result<RowFit> {
    let Some((path, of)) = problem.checkpoint else { return method.fit_rows(problem, &Alone, run) };
    if !path.exists() {
        let fit = method.fit_rows(problem, &Alone, run)?;
        pack(&fit, of)?.save(path)?;
        return Ok(fit);
    }
    let file = ModelFile::load(path)?;
    file.expect_kind(&[KIND])?;
    if file.meta["of"].as_str() != Some(of) {
        let reason = "a checkpoint of another fit: other rows, labels, parameters or seed; remove it, or go on with what it was made of";
        return Err(file.error(reason));
    }
    unpack(&file, run)
}

/// A fit as a file; `of` identifies it.
fn pack(fit: &RowFit, of: &str) -> Result<ModelFile> {
    let meta = json!({ "of": of, "scaling": fit.scaling, "rule": fit.rule, "report": fit.report });
    let mut file = ModelFile::new(KIND, meta);
    let extension = extension_to_file(&*fit.extension)?.to_bytes();
    file.insert("extension", &[extension.len()], extension)?;
    if let Known::Sample { rows, labeling, far, cover } = &fit.known {
        let (n, c) = (rows.len(), labeling.scores.n_cols());
        if let Some(cover) = cover {
            store_features(&cover.features, &mut file)?;
        }
        file.insert("rows", &[n], rows.clone())?;
        file.insert("far", &[far.len()], far.clone())?;
        file.insert("scores", &[n, c], labeling.scores.values().to_vec())?;
        file.insert("shares", &[n, c], labeling.label_distributions.values().to_vec())?;
        file.insert("labels", &[n], labeling.labels.clone())?;
        file.insert("confidence", &[n], labeling.confidence.clone())?;
        if let Some(certified) = &labeling.certified {
            file.insert("certified", &[n], bytes(certified))?;
        }
        file.insert("reached", &[n], bytes(&labeling.reached))?;
    }
    Ok(file)
}

fn bytes(flags: &[bool]) -> Vec<u8> {
    flags.iter().map(|&flag| u8::from(flag)).collect()
}

/// The fit that [`pack`] wrote.
fn unpack(file: &ModelFile, run: &Run) -> Result<RowFit> {
    let extension = extension_from_bytes(file.array::<u8>("extension", &[None])?.1.as_slice())?;
    let c = Some(extension.n_outputs());
    let rows = file.array::<u32>("rows", &[None])?.1.as_slice().to_vec();
    let n = Some(rows.len());
    let far = file.array::<u32>("far", &[None])?.1.as_slice().to_vec();
    let flags = |name: &str| -> Result<Vec<bool>> {
        Ok(file.array::<u8>(name, &[n])?.1.as_slice().iter().map(|&flag| flag != 0).collect())
    };
    let labeling = Labeling {
        scores: Arc::new(file.matrix("scores", [n, c], Must::Scores)?),
        label_distributions: file.matrix("shares", [n, c], Must::Shares)?,
        labels: file.array::<u32>("labels", &[n])?.1.as_slice().to_vec(),
        confidence: file.vector("confidence", &[n], Must::NonNegative)?,
        reached: flags("reached")?,
        certified: if file.contains("certified") { Some(flags("certified")?) } else { None },
        score_radius: None,
    };
    let cover = match file.contains("features") {
        true => Cover::new(&features_of(file)?, &run.quiet())?.map(Box::new),
        false => None,
    };
    Ok(RowFit {
        scaling: read_settings(file, &file.meta["scaling"])?,
        extension,
        rule: read_settings(file, &file.meta["rule"])?,
        held_out: None,
        report: read_settings(file, &file.meta["report"])?,
        known: Known::Sample { rows, labeling, far, cover },
    })
}

#[cfg(test)]
mod tests;
