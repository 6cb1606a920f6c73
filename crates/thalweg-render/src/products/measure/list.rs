//! The list of all measures.

use crate::products::measure::spec::Spec;
use crate::products::measure::{concavity, curvature, drainage, geomorphons, hack, horton, hypsometry, network};
use crate::products::measure::{plan_form, rim, slope, spectrum, trunk};

/// Returns every measure in the order in which [`measure_terrain`](super::measure_terrain) returns them.
pub fn list_specs() -> Vec<Spec> {
    [
        &slope::SPECS[..],
        &hypsometry::SPECS,
        &curvature::SPECS,
        &geomorphons::SPECS,
        &spectrum::SPECS,
        &drainage::SPECS,
        &network::SPECS,
        &concavity::SPECS,
        &hack::SPECS,
        &horton::SPECS,
        &plan_form::SPECS,
        &trunk::SPECS,
        &rim::SPECS,
    ]
    .concat()
}
