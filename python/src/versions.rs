//! Properties of this build and of the machine.

use lapwing::models::PublishedName;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::py_dict;

/// Version, build and processor, for `show_versions`.
#[pyfunction]
pub fn build_info(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    Ok(py_dict!(
        py,
        "version": env!("CARGO_PKG_VERSION"),
        "profile": if cfg!(debug_assertions) { "debug" } else { "release" },
        "target": format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
        "simd": simd(),
        "processors": std::thread::available_parallelism().map_or(1, usize::from),
    ))
}

/// What a name of the literature is here, such as `HarmonicClassifier(form='stable')`; `None` if it is not known.
#[pyfunction]
pub fn published_name(name: &str) -> Option<(&'static str, String)> {
    PublishedName::find(name).map(|known| (known.name, known.estimator()))
}

/// Vector instructions of this processor that the kernels choose from, best last.
fn simd() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    {
        let known = [
            ("avx2", is_x86_feature_detected!("avx2")),
            ("fma", is_x86_feature_detected!("fma")),
            ("avx512f", is_x86_feature_detected!("avx512f")),
        ];
        known.iter().filter(|(_, found)| *found).map(|(name, _)| *name).collect()
    }
    #[cfg(target_arch = "aarch64")]
    {
        if std::arch::is_aarch64_feature_detected!("neon") { vec!["neon"] } else { Vec::new() }
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        Vec::new()
    }
}
