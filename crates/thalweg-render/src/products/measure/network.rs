//! [`Network`]: channels as links between heads, junctions and mouths.

use crate::products::measure::drainage::{Catchments, step};
use crate::products::measure::ground::Ground;
use crate::products::measure::spec::{Found, MeasureSettings, Measures, Spec, measures, need_land};

pub(super) const SPECS: [Spec; 2] = measures! {
    /// Set, not measured: 0.1 km² and 100 cells at least. Channel heads have 0.001 to 1 km².
    channel_area: "catchment from which on there is a channel", Network, unit "km²",
        source "Montgomery & Dietrich 1988";
    /// Channels begin where the setting says, so only terrains of one setting compare; about 2 at 0.1 km².
    drainage_density: "drainage density", Network, unit "km/km²", usual 0.5 to 5.0,
        source "Horton 1945; Tucker et al. 2001";
};

/// Least catchment of a channel, where none is set: km², and cells.
const LEAST: (f64, f64) = (0.1, 100.0);

/// A reach of a channel between two of its heads, junctions and mouths.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Link {
    /// Its cells, downstream; a junction's cell is the first of the link that leaves it.
    pub cells: Vec<u32>,
    /// The link it flows into.
    pub next: Option<usize>,
    /// Length in metres; to the junction's cell, if there is one.
    pub length: f64,
    /// Area of its catchment in km², at its last cell.
    pub area: f64,
    /// Strahler order, from 1.
    pub order: usize,
    /// Whether its catchment is whole ([`Catchments::whole`]).
    pub whole: bool,
}

/// The channels of a terrain.
pub(super) struct Network {
    /// Each after all that flow into it.
    pub links: Vec<Link>,
    /// Catchment from which on a cell is a channel, in cells.
    pub threshold: u32,
}

impl Network {
    pub fn of(ground: &Ground<'_>, catchments: &Catchments, settings: &MeasureSettings) -> Self {
        let cell_area = ground.terrain.grid.cell_area() * 1e-6;
        let least = settings.channel_area.map_or((LEAST.0 / cell_area).max(LEAST.1), |area| area / cell_area);
        // A cast holds what is too much to the greatest, which no catchment reaches.
        let threshold = (least.ceil() as u32).max(1);
        let Catchments { drainage, whole, .. } = catchments;
        let cells = drainage.cells().as_slice();
        let channel = |k: usize| ground.land[k] && cells[k] >= threshold;
        // Channels that flow into each cell.
        let mut donors = vec![0u8; cells.len()];
        for k in (0..cells.len()).filter(|k| channel(*k)) {
            if let Some(n) = drainage.next(k) {
                donors[n] += 1;
            }
        }
        let begins = |k: usize| channel(k) && donors[k] != 1;
        let starts: Vec<u32> = drainage.order().iter().copied().filter(|k| begins(*k as usize)).collect();
        let mut number = vec![u32::MAX; cells.len()];
        starts.iter().enumerate().for_each(|(n, k)| number[*k as usize] = n as u32);
        let links = starts.iter().map(|start| {
            let mut link = Link { cells: vec![*start], next: None, length: 0.0, area: 0.0, order: 1, whole: false };
            let mut k = *start as usize;
            while let Some(n) = drainage.next(k).filter(|n| channel(*n)) {
                link.length += step(drainage.directions()[k]) * ground.cell();
                if begins(n) {
                    link.next = Some(number[n] as usize);
                    break;
                }
                link.cells.push(n as u32);
                k = n;
            }
            link.area = f64::from(cells[k]) * cell_area;
            link.whole = whole[k];
            link
        });
        let mut network = Self { links: links.collect(), threshold };
        network.order();
        network
    }

    /// Strahler's orders: one more than the tributaries' where two or more have the highest.
    pub fn order(&mut self) {
        // The highest order that flows in, and how often.
        let mut inflow = vec![(0usize, 0usize); self.links.len()];
        for n in 0..self.links.len() {
            let (highest, times) = inflow[n];
            let order = (highest + usize::from(times > 1)).max(1);
            self.links[n].order = order;
            if let Some(next) = self.links[n].next {
                let (highest, times) = &mut inflow[next];
                match order.cmp(highest) {
                    std::cmp::Ordering::Greater => (*highest, *times) = (order, 1),
                    std::cmp::Ordering::Equal => *times += 1,
                    std::cmp::Ordering::Less => {}
                }
            }
        }
    }

    /// Links that flow into each link.
    pub fn tributaries(&self) -> Vec<Vec<usize>> {
        let mut all = vec![Vec::new(); self.links.len()];
        for (n, link) in self.links.iter().enumerate() {
            if let Some(next) = link.next {
                all[next].push(n);
            }
        }
        all
    }

    pub fn measure(&self, ground: &Ground<'_>, all: &mut Measures) {
        let length: f64 = self.links.iter().map(|link| link.length * 1e-3).sum();
        let density: Found = need_land(ground.count).and_then(|()| self.some()).map(|()| length / ground.area());
        let area = f64::from(self.threshold) * ground.terrain.grid.cell_area() * 1e-6;
        all.take(&SPECS, [Ok(area), density]);
    }

    /// Whether there are channels.
    pub fn some(&self) -> Result<(), &'static str> {
        if self.links.is_empty() { Err("no catchment is large enough for a channel") } else { Ok(()) }
    }
}
