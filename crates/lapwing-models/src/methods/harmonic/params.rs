//! Parameters of the harmonic methods.

use lapwing_core::params::{Parameters, above, at_least};
use lapwing_core::{Error, Result, choices, parameters};

use crate::SizeOptions;
use crate::core::class_prior::ClassPrior;

choices! {
    /// Form of the harmonic function.
    pub enum Form("form", default Auto) {
        /// Classification: plain, with a smoothness weight that depends on the number of labels and how they were drawn.
        /// Regression: form and smoothness weight are chosen by cross-validation; stable for fewer than 5 values.
        Auto = "auto",
        /// Stable-HFS: scores have zero mean over the rows of each component of the graph (Calandriello et al. 2015).
        Stable = "stable",
        /// Plain HFS (Belkin et al. 2004), or Zhu's harmonic function when labels are clamped hard.
        Plain = "plain",
    }
}

choices! {
    /// Whether given labels are kept exactly.
    pub enum Clamp("clamp", default Soft) {
        /// Labels are fitted, with a weight against smoothness; a given label may be overruled.
        Soft = "soft",
        /// Labels are kept exactly (plain form only).
        Hard = "hard",
    }
}

choices! {
    /// How scores become a class.
    pub enum Decision("decision", default Auto) {
        /// For form auto: row-mean, plus what the labels say about the sizes of the classes: little if leave-one-out scores get most
        /// labels right, else much. If labels look drawn at random, class sizes are also held within bounds that follow from the
        /// labels. For other forms: centered.
        Auto = "auto",
        /// Largest score above the mean of the labels.
        Centered = "centered",
        /// Largest score above the mean over the rows that labels reach; for the stable form the same as centered.
        RowMean = "row-mean",
        /// Largest score.
        Argmax = "argmax",
        /// Largest score after class mass normalization to the prior (plain form only).
        Mass = "mass",
        /// Largest score after an offset for each class, so that class sizes are within bounds.
        Sizes = "sizes",
    }
}

choices! {
    /// How the temperature of the confidence is chosen.
    pub enum Calibration("calibration", default Auto) {
        /// A temperature fitted to labels that are left out one by one, or to five parts of the labels where that costs less; a typical
        /// one with fewer than five labels per class.
        Auto = "auto",
        /// A temperature fitted to labels that are all left out one by one, for any form.
        LeaveOneOut = "leave-one-out",
        /// The same, and then the largest share by Venn–Abers calibration (Vovk & Petej 2014).
        VennAbers = "venn-abers",
        /// A typical temperature: confidence is an order, not a probability.
        None = "none",
    }
}

choices! {
    /// Whether labels are certified to be those of the exact solution of the graph.
    pub enum Certify("certify", default Auto) {
        /// The solve ends once its residual is within the tolerance and no more labels can be certified. Off for a tolerance
        /// above 1e-4.
        Auto = "auto",
        /// The solve ends as soon as every label is certified, whatever its residual.
        First = "first",
        /// No label is certified.
        Off = "off",
    }
}

parameters! {
    /// Parameters of the harmonic methods.
    pub struct HarmonicParams {
        /// Weight γ of smoothness fᵀLf against the given labels. Auto depends on m, the number of labels per class; in units of
        /// 1 / mean weighted degree it is 1/m for the stable form (0.1 in regression) and 0.01 for the plain form. For form auto it is
        /// max(0.01, m^(−3/2)), or max(0.01, m^(−3)) if labels look drawn at random. With a prior it is 1 / the number of labels.
        /// Infinity drops the label term (f = L⁺ỹ, stable form).
        graph_reg: Option<f64> = None, or "auto", in above(0.0).or_infinite();
        /// Form of the harmonic function.
        form: Form = Form::Auto;
        /// Whether given labels are kept exactly (hard, with form plain) or may be overruled (soft).
        clamp: Clamp = Clamp::Soft;
        /// How scores become a class.
        decision: Decision = Decision::Auto;
        /// Shares of the classes, one for each class in the order of their names. Labeled uses the frequencies of the given
        /// labels. Shares are positive and add up to 1. Rows that no label reaches get this distribution, and the decisions
        /// mass and sizes aim at it.
        class_prior: ClassPrior = ClassPrior::Labeled;
        /// Weight κ of a prior against the graph, if the fit starts from one: in the score of a row, its neighbors and the prior are
        /// weighted 1 : κ. Auto is 0.03, or the one of 0.01, 0.1, 0.3, 1 and 10 that predicts the labels clearly better when each
        /// is left out, if every class has three labels.
        prior_weight: Option<f64> = None, or "auto", in above(0.0).at_most(1000.0);
        /// Relative residual at which the solver stops.
        tol: f64 = 1e-6, in above(0.0).below(1.0);
        /// Most iterations of the solver.
        max_iter: usize = 10_000, in at_least(1.0);
        /// How the temperature of the confidence is chosen.
        calibration: Calibration = Calibration::Auto;
        /// Whether labels are certified to be those of the exact solution of the graph.
        certify: Certify = Certify::Auto;
    }
    parts {
        /// Sizes of classes for the decision `sizes`: slack, and how labels were drawn.
        sizes: SizeOptions
    }
}

impl HarmonicParams {
    /// The form that is solved in classification: never [`Form::Auto`].
    pub(super) fn resolved_form(&self) -> Form {
        match self.form {
            Form::Auto if self.graph_reg == Some(f64::INFINITY) => Form::Stable,
            Form::Auto => Form::Plain,
            form => form,
        }
    }

    /// Checks every parameter against its range.
    ///
    /// # Errors
    /// [`Error::Param`] naming the first one outside.
    pub fn validate(&self) -> Result<()> {
        if self.graph_reg == Some(0.0) {
            return Err(Error::param("graph_reg", 0, "a number above 0, inf, or auto; for 0, clamp the labels hard"));
        }
        self.check_ranges()?;
        if self.graph_reg == Some(f64::INFINITY) && self.form == Form::Plain {
            return Err(Error::param("graph_reg", "inf", "a finite number with the plain form"));
        }
        if self.clamp == Clamp::Hard && self.graph_reg.is_some() {
            return Err(Error::param(
                "graph_reg",
                "set with hard clamping",
                "auto: labels kept exactly leave nothing to weigh",
            ));
        }
        if self.clamp == Clamp::Hard && self.form == Form::Stable {
            return Err(Error::param(
                "clamp",
                "hard",
                "soft with the stable form; use form plain to keep labels exactly",
            ));
        }
        if self.decision == Decision::Mass && self.resolved_form() == Form::Stable {
            return Err(Error::param(
                "decision",
                "mass",
                "sizes with the stable form: its scores add up to zero over the rows, so that scaling them sets no size",
            ));
        }
        self.class_prior.validate()?;
        Ok(())
    }
}
