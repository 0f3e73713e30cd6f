//! Sends what rank 0 chooses to all processes of a fit: landmarks and parameters, the identity of a checkpoint, the model.

use lapwing_core::communicator::agree;
use lapwing_core::model_file::{ModelFile, Must};
use lapwing_core::{Communicator, Result, RowSource, Run, Targets, hash};
use lapwing_graph::low_rank::{Landmarks, RowSample};

use super::extension::LowRankExtension;
use super::params::{LOW_RANK, LowRankParams};
use crate::Rule;
use crate::core::extend::Extend;
use crate::core::held_out::Standings;

/// Landmarks and parameters as rank 0 chose them.
pub(super) struct Setup {
    pub landmarks: Landmarks,
    pub params: LowRankParams,
    /// Scores of held-out labels; at rank 0 only.
    pub held_out: Option<Standings>,
    /// The sample; at rank 0 only.
    pub sample: Option<RowSample>,
}

/// Text that identifies a fit: hash of labels, landmarks, parameters and seed, and identity of the rows. Rank 0 computes it.
pub(super) fn identity(
    source: &dyn RowSource,
    targets: &Targets,
    setup: &Setup,
    communicator: &dyn Communicator,
    run: &Run,
) -> Result<String> {
    let of = if communicator.is_root() { identity_here(source, targets, setup, run) } else { Ok(String::new()) };
    let of = communicator.broadcast(agree(communicator, of)?.into_bytes())?;
    Ok(String::from_utf8_lossy(&of).into_owned())
}

fn identity_here(source: &dyn RowSource, targets: &Targets, setup: &Setup, run: &Run) -> Result<String> {
    let mut all = hash::mix(run.seed);
    let mut add = |bytes: &[u8]| bytes.iter().for_each(|byte| all = hash::mix(all ^ u64::from(*byte)));
    add(setup.file()?.to_bytes().as_slice());
    targets.rows().iter().for_each(|row| add(&row.to_le_bytes()));
    targets.values().values().iter().chain(targets.weights()).for_each(|x| add(&x.to_bits().to_le_bytes()));
    let rows = source.identity(run)?.unwrap_or_default();
    Ok(format!("{all:016x} of {rows}, {} x {}", source.n_rows(), source.n_cols()))
}

impl Setup {
    fn file(&self) -> Result<ModelFile> {
        let Landmarks { center, values, width, mean_distance, .. } = &self.landmarks;
        let meta = serde_json::json!({
            "width": width, "mean_distance": mean_distance, "params": self.params,
        });
        let mut file = ModelFile::new("low-rank-setup", meta);
        file.insert("landmarks", &[values.len()], values.clone())?;
        file.insert("center", &[center.len()], center.clone())?;
        Ok(file)
    }

    /// Sends the setup of rank 0 to all ranks.
    pub fn share(own: Option<Self>, communicator: &dyn Communicator) -> Result<Self> {
        if communicator.size() == 1
            && let Some(own) = own
        {
            return Ok(own);
        }
        let bytes = own.as_ref().map_or(Ok(Vec::new()), |own| own.file().map(|file| file.to_bytes()))?;
        let bytes = communicator.broadcast(bytes)?;
        if let Some(own) = own {
            return Ok(own);
        }
        let file = ModelFile::from_bytes(&bytes, "what rank 0 chose")?;
        let read = |name: &str| file.meta[name].as_f64().ok_or_else(|| file.error(format!("{name} is missing")));
        let params = serde_json::from_value(file.meta["params"].clone()).map_err(|e| file.error(e.to_string()))?;
        Ok(Self {
            landmarks: Landmarks {
                center: file.vector::<f64>("center", &[None], Must::Finite)?,
                values: file.vector::<f32>("landmarks", &[None], Must::Finite)?,
                width: read("width")?,
                mean_distance: read("mean_distance")?,
                rows: None,
            },
            params,
            held_out: None,
            sample: None,
        })
    }
}

/// Sends the model of rank 0 to all ranks.
pub(super) fn share_model(
    own: Option<(LowRankExtension, Rule)>,
    n_classes: usize,
    communicator: &dyn Communicator,
) -> Result<(LowRankExtension, Rule)> {
    if communicator.size() == 1
        && let Some(own) = own
    {
        return Ok(own);
    }
    let mut bytes = Vec::new();
    if let Some((extension, rule)) = &own {
        let mut file = ModelFile::new(LOW_RANK, serde_json::json!({ "rule": rule }));
        extension.store(&mut file)?;
        bytes = file.to_bytes();
    }
    let bytes = communicator.broadcast(bytes)?;
    if let Some(own) = own {
        return Ok(own);
    }
    let file = ModelFile::from_bytes(&bytes, "the model of rank 0")?;
    let rule = serde_json::from_value(file.meta["rule"].clone()).map_err(|e| file.error(e.to_string()))?;
    Ok((LowRankExtension::stored(&file, n_classes)?, rule))
}
