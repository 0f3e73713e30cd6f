//! Names of the literature and of other programs, and the method that answers to each here.

use std::fmt;

use super::METHODS;

/// A name that people look for, and the method with the parameters that it is here.
#[derive(Debug)]
pub struct PublishedName {
    /// The name as published.
    pub name: &'static str,
    /// Other spellings; capitals, spaces and hyphens never matter.
    also: &'static [&'static str],
    /// The method.
    pub method: &'static str,
    /// Parameters that differ from the defaults, with their values.
    pub parameters: &'static [(&'static str, &'static str)],
}

macro_rules! published {
    ($($name:literal $([$($also:literal),*])? => $method:literal $(($($parameter:literal = $value:literal),*))?;)*) => {
        &[$(PublishedName {
            name: $name,
            also: &[$($($also),*)?],
            method: $method,
            parameters: &[$($(($parameter, $value)),*)?],
        }),*]
    };
}

/// All of them.
pub const PUBLISHED: &[PublishedName] = published! {
    "HFS" ["harmonic function", "gaussian fields"] => "harmonic" ("form" = "plain");
    "Stable-HFS" => "harmonic" ("form" = "stable");
    "Sparse-HFS" => "sparse-harmonic";
    "Simple-HFS" => "simple-harmonic";
    "EigFun" ["eigenfunctions"] => "eigenfunction";
    "SubSampling" => "subsampling";
    "label propagation" => "harmonic" ("form" = "plain", "clamp" = "hard", "decision" = "argmax");
    "label spreading" ["LGC", "local and global consistency"] => "harmonic" ("form" = "plain", "decision" = "argmax");
    "BigLP" => "low-rank" ("factor" = "nystrom");
    "Nyström" => "low-rank" ("factor" = "nystrom");
    "GLNP" ["global linear neighborhoods"] => "low-rank" ("factor" = "glnp");
    "anchor graph regularization" ["AGR"] => "low-rank" ("factor" = "anchor", "head" = "regression");
    "LapSVM" => "lapsvm";
    "SVM" => "lapsvm" ("graph_reg" = "0");
    "RLSC" ["RLS", "kernel ridge"] => "laprls" ("graph_reg" = "0");
    "LapRLSC" => "laprls";
    "lapsvmp" => "lapsvm" ("solver" = "cg");
    "graph learning" ["learned graph"] => "harmonic" ("weights" = "learned");
    "TWIRLS" => "unfolded-gnn";
    "HERTA" => "unfolded-gnn" ("solver" = "herta");
    "1-NN" ["nearest neighbor", "kNN"] => "nearest-label";
    "logistic regression" => "linear";
    "random forest" ["extra trees"] => "forest";
};

impl PublishedName {
    /// What is known under a name, as it is written in a paper, a shell or a program: `Stable-HFS`, `stable_hfs`, `StableHFSClassifier`.
    pub fn find(name: &str) -> Option<&'static Self> {
        let sought = letters(name);
        let kind = ["classifier", "regressor"].iter().find_map(|kind| sought.strip_suffix(kind));
        let sought = kind.unwrap_or(&sought);
        PUBLISHED.iter().find(|one| one.spellings().any(|spelling| letters(spelling) == sought))
    }

    /// The classifier in Python with these parameters, such as `HarmonicClassifier(form='stable')`.
    pub fn estimator(&self) -> String {
        let quoted = |value: &str| if value.parse::<f64>().is_ok() { value.to_owned() } else { format!("'{value}'") };
        let given = self.parameters.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
        let spec = METHODS.iter().find(|spec| spec.name == self.method);
        let class = spec.and_then(|spec| spec.estimators.first()).copied().unwrap_or_default();
        format!("{class}({})", given.collect::<Vec<_>>().join(", "))
    }

    fn spellings(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.also.iter().copied())
    }
}

impl fmt::Display for PublishedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {} here", self.name, self.method)?;
        for (at, (name, value)) in self.parameters.iter().enumerate() {
            write!(f, "{} {name} = {value}", if at == 0 { " with" } else { "," })?;
        }
        Ok(())
    }
}

/// Letters and digits, lower case.
fn letters(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use lapwing_core::params::{Parameters, Value};

    use super::super::Settings;
    use super::*;

    #[test]
    fn every_name_leads_to_a_method_with_values_that_it_takes() {
        for one in PUBLISHED {
            let mut settings = Settings::new(one.method).unwrap();
            for (name, text) in one.parameters {
                let list = settings.list();
                let parameter = list.iter().find(|parameter| parameter.name == *name);
                let parameter = parameter.unwrap_or_else(|| panic!("{} has no {name}", one.method));
                settings.set(name, &Value::parse(text, &parameter.domain).unwrap()).unwrap();
            }
            settings.method().unwrap_or_else(|error| panic!("{}: {error}", one.name));
            assert!(!one.estimator().starts_with('('), "{} has no estimator", one.method);
        }
    }

    #[test]
    fn spellings_are_those_of_papers_shells_and_programs() {
        let method = |name: &str| PublishedName::find(name).map(|one| one.method);
        for name in ["Sparse-HFS", "sparse-hfs", "sparse_hfs", "SparseHFS", "SparseHFSClassifier"] {
            assert_eq!(method(name), Some("sparse-harmonic"), "{name}");
        }
        assert_eq!(method("LabelSpreading"), Some("harmonic"));
        let found = |name| PublishedName::find(name).unwrap();
        assert_eq!(found("biglp").estimator(), "LowRankPropagationClassifier(factor='nystrom')");
        assert_eq!(found("svm").estimator(), "LaplacianSVC(graph_reg=0)");
        assert_eq!(found("herta").to_string(), "HERTA is unfolded-gnn here with solver = herta");
        assert_eq!((method("hf"), method(""), method("classifier"), method("harmonic")), (None, None, None, None));
        let mut all: Vec<String> = PUBLISHED.iter().flat_map(PublishedName::spellings).map(letters).collect();
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count, "a spelling stands for two methods");
    }
}
