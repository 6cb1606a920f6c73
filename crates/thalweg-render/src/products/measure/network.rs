//! [`Channels`]: the channel network to which the measures apply.

use crate::products::measure::drainage::{MeasuredDrainage, step_length};
use crate::products::measure::ground::MeasuredLand;
use crate::products::measure::spec::{Found, MeasureOptions, Measures, Spec, measures, need_land};
use thalweg_core::Cell;
use thalweg_core::terrain::{ChannelNetwork, ChannelReach, ReachId};

pub(super) const SPECS: [Spec; 2] = measures! {
    /// It is a setting; the default is 0.1 km², but at least 100 cells. Natural channels begin at drainage areas of
    /// 0.001 to 1 km².
    channel_area: "smallest drainage area of a channel", Network, unit "km²",
        source "Montgomery & Dietrich 1988";
    /// It depends on the channel area, so compare only values with equal settings. It is about 2 at 0.1 km².
    drainage_density: "drainage density", Network, unit "km/km²", usual 0.5 to 5.0,
        source "Horton 1945; Tucker et al. 2001";
};

/// The default threshold of drainage area for a channel: in km², and in cells; the larger one applies.
const MIN_CHANNEL_KM2_CELLS: (f64, f64) = (0.1, 100.0);

/// The channel network of a terrain, with properties of its reaches that the measures need.
pub(super) struct Channels {
    /// The reaches, each after all those that flow into it. A reach may have a single cell.
    pub network: ChannelNetwork,
    /// The drainage area of each reach in km².
    pub area_km2: Vec<f64>,
    /// True for each reach with a complete basin ([`MeasuredDrainage::whole`]).
    pub is_whole: Vec<bool>,
    /// The least drainage area of a channel in cells.
    pub threshold: u32,
}

impl Channels {
    pub fn trace(ground: &MeasuredLand<'_>, catchments: &MeasuredDrainage, settings: &MeasureOptions) -> Self {
        let cell_area = ground.terrain.grid.cell_area() * 1e-6;
        let least = settings
            .channel_area
            .map_or((MIN_CHANNEL_KM2_CELLS.0 / cell_area).max(MIN_CHANNEL_KM2_CELLS.1), |area| area / cell_area);
        // The cast saturates at the largest number, which no drainage area reaches.
        let threshold = (least.ceil() as u32).max(1);
        let MeasuredDrainage { drainage, whole, .. } = catchments;
        let counts = drainage.upstream_cells().as_slice();
        let is_channel = |k: usize| ground.land[k] && counts[k] >= threshold;
        // The number of channel cells that drain into each cell.
        let mut donors = vec![0u8; counts.len()];
        for k in (0..counts.len()).filter(|k| is_channel(*k)) {
            if let Some(n) = drainage.next(k) {
                donors[n] += 1;
            }
        }
        // A reach begins at a source or a junction: a channel cell into which not exactly one channel cell drains.
        let is_head = |k: usize| is_channel(k) && donors[k] != 1;
        // In upstream order each reach comes after all those that flow into it.
        let heads: Vec<u32> = drainage.upstream_order().iter().copied().filter(|k| is_head(*k as usize)).collect();
        let mut id_of_head = vec![u32::MAX; counts.len()];
        heads.iter().enumerate().for_each(|(id, k)| id_of_head[*k as usize] = id as ReachId);
        let (cols, height) = (ground.land.cols(), |k: usize| ground.terrain.ground[k].metres());
        let mut channels = Self::from_reaches(Vec::with_capacity(heads.len()));
        channels.threshold = threshold;
        for head in &heads {
            // The lowest of the reach's own cells, and the last cell, which may be the junction.
            let (mut lowest, mut end) = (*head as usize, *head as usize);
            let mut reach = ChannelReach {
                id: channels.network.reaches.len() as ReachId,
                cells: vec![Cell::new(end / cols, end % cols)],
                ..ChannelReach::default()
            };
            // The reach continues to the next head, which is its last cell but belongs to the reach below.
            while let Some(n) = drainage.next(end).filter(|n| is_channel(*n)) {
                reach.length += step_length(drainage.directions()[end]) * ground.cell_size();
                reach.cells.push(Cell::new(n / cols, n % cols));
                end = n;
                if is_head(n) {
                    reach.downstream = Some(id_of_head[n]);
                    break;
                }
                lowest = n;
            }
            reach.drop = height(*head as usize) - height(end);
            reach.slope = if reach.length > 0.0 { reach.drop / reach.length } else { 0.0 };
            // The drainage area is that of the last cell before the junction, because the junction's own includes other
            // reaches.
            reach.drainage_area = f64::from(counts[lowest]) * ground.terrain.grid.cell_area();
            channels.area_km2.push(f64::from(counts[lowest]) * cell_area);
            channels.is_whole.push(whole[lowest]);
            channels.network.reaches.push(reach);
        }
        channels.network.assign_orders();
        channels
    }

    /// Creates channels from reaches, with the reaches' own drainage areas and with complete basins.
    pub fn from_reaches(reaches: Vec<ChannelReach>) -> Self {
        Self {
            area_km2: reaches.iter().map(|reach| reach.drainage_area * 1e-6).collect(),
            is_whole: vec![true; reaches.len()],
            network: ChannelNetwork { reaches },
            threshold: 1,
        }
    }

    /// Returns the reaches, each with its index.
    pub fn reaches(&self) -> impl Iterator<Item = (usize, &ChannelReach)> {
        self.network.reaches.iter().enumerate()
    }

    /// Returns the index of the reach downstream of reach `n`, and true if it has the same order.
    pub fn downstream_reach(&self, n: usize) -> Option<(usize, bool)> {
        let reaches = &self.network.reaches;
        let next = reaches[n].downstream? as usize;
        Some((next, reaches[next].order == reaches[n].order))
    }

    pub fn report_density(&self, ground: &MeasuredLand<'_>, all: &mut Measures) {
        let length: f64 = self.reaches().map(|(_, reach)| reach.length * 1e-3).sum();
        let density: Found =
            need_land(ground.count).and_then(|()| self.require_channels()).map(|()| length / ground.area_km2());
        let area = f64::from(self.threshold) * ground.terrain.grid.cell_area() * 1e-6;
        all.add_values(&SPECS, [Ok(area), density]);
    }

    /// Returns an error with the reason if there are no channels.
    pub fn require_channels(&self) -> Result<(), &'static str> {
        if self.network.reaches.is_empty() { Err("no catchment is large enough for a channel") } else { Ok(()) }
    }
}
