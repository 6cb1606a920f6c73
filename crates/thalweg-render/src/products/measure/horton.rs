//! Horton's laws: how the numbers, lengths and drainage areas of streams depend on their order.

use crate::products::measure::fit::fit_line;
use crate::products::measure::network::Channels;
use crate::products::measure::spec::{AxisScale, Curve, Found, Measures, PowerLaw, Spec, measures};

pub(super) const SPECS: [Spec; 4] = measures! {
    /// The order increases by one with about every fivefold area.
    orders: "highest Strahler order", Network, unit "1", source "Strahler 1957";
    /// It is the number of streams of an order divided by that of the next. It is 4 in a random tree, and more in long,
    /// narrow basins.
    horton_bifurcation: "Horton's bifurcation ratio R_B", Network, unit "1", usual 3.0 to 5.0,
        source "Horton 1945; Strahler 1957";
    /// It is the mean length of the streams of an order, divided by that of the previous order.
    horton_length: "Horton's length ratio R_L", Network, unit "1", usual 1.5 to 3.5,
        source "Horton 1945; Strahler 1957";
    /// It is the mean drainage area of the streams of an order, divided by that of the previous order.
    horton_area: "Horton's area ratio R_A", Network, unit "1", usual 3.0 to 6.0, source "Schumm 1956; Strahler 1957";
};

/// The streams of one order, to which the laws apply.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct OrderStatistics {
    /// The number of streams.
    count: usize,
    /// The number of those streams that end in one of higher order and have complete basins, so that their lengths
    /// and areas are not cut off by the edge.
    complete: usize,
    /// The sums of the complete streams' lengths in km and drainage areas in km².
    length: f64,
    area: f64,
}

pub(super) fn measure_horton_laws(channels: &Channels, all: &mut Measures) {
    let orders = summarise_orders(channels);
    let few = "fewer than three orders of streams";
    let counts = list_order_values(&orders, |o| (o.count > 0).then_some((o.count as f64, o.count)));
    let lengths = list_order_values(&orders, |o| (o.complete > 0).then(|| (o.length / o.complete as f64, o.complete)));
    let areas = list_order_values(&orders, |o| (o.complete > 0).then(|| (o.area / o.complete as f64, o.complete)));
    let laws = [&counts, &lengths, &areas].map(|points| fit_ratio(points));
    let [b, l, a] = laws.map(|law| law.map(|law| libm::exp(law.exponent)).ok_or(few));
    let highest: Found = channels.require_channels().map(|()| orders.len() as f64);
    all.add_values(&SPECS, [highest, b.map(|b| 1.0 / b), l, a]);
    let curves = [
        ("horton_numbers", "streams", &counts, laws[0]),
        ("horton_lengths", "mean length (km)", &lengths, laws[1]),
        ("horton_areas", "mean catchment (km²)", &areas, laws[2]),
    ];
    for (name, y, points, law) in curves.into_iter().filter(|curve| !curve.2.is_empty()) {
        let points = points.iter().map(|(order, value, _)| [*order, *value]).collect();
        all.curves.push(Curve { name, x: "order", y, scale: AxisScale::Logarithmic, points, law });
    }
}

/// Returns, for each order that has a value: the order, the value, and the number of streams it is based on.
fn list_order_values(
    orders: &[OrderStatistics],
    value: impl Fn(&OrderStatistics) -> Option<(f64, usize)>,
) -> Vec<(f64, f64, usize)> {
    let numbered = orders.iter().enumerate();
    numbered.filter_map(|(n, order)| value(order).map(|(v, count)| ((n + 1) as f64, v, count))).collect()
}

/// Fits ln value = ln factor + exponent · order. Single streams, such as the trunk that the edge cuts off, say little
/// about a mean: orders with fewer than two streams are left out if at least three others remain.
fn fit_ratio(points: &[(f64, f64, usize)]) -> Option<PowerLaw> {
    let logs = |least: usize| -> Vec<[f64; 2]> {
        points.iter().filter(|p| p.2 >= least && p.1 > 0.0).map(|p| [p.0, libm::log(p.1)]).collect()
    };
    // A ratio needs three orders, because a line through two points always fits.
    let several = logs(2);
    let used = if several.len() >= 3 { several } else { logs(1) };
    let line = fit_line(&used).filter(|_| used.len() >= 3)?;
    let over = [used.first()?[0], used.last()?[0]];
    Some(PowerLaw { factor: libm::exp(line.intercept), exponent: line.slope, r2: line.r2, over })
}

/// Returns the streams of each order, from 1.
fn summarise_orders(channels: &Channels) -> Vec<OrderStatistics> {
    let highest = channels.reaches().map(|(_, reach)| reach.order as usize).max().unwrap_or(0);
    let mut orders = vec![OrderStatistics::default(); highest];
    // The length of the stream that a reach belongs to, down to the reach's end.
    let mut length: Vec<f64> = channels.reaches().map(|(_, reach)| reach.length * 1e-3).collect();
    for (n, reach) in channels.reaches() {
        let order = &mut orders[reach.order as usize - 1];
        match channels.downstream_reach(n) {
            // A reach of the same order below continues the stream, so its length is passed on; otherwise the stream
            // ends here.
            Some((next, true)) => length[next] += length[n],
            next => {
                order.count += 1;
                if next.is_some() && channels.is_whole[n] {
                    order.complete += 1;
                    order.length += length[n];
                    order.area += channels.area_km2[n];
                }
            }
        }
    }
    orders
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::products::measure::MeasureOptions;
    use thalweg_core::terrain::ChannelReach;
    use thalweg_core::terrain::grid::Grid;

    fn reach(downstream: Option<u32>, kilometres: f64, area_km2: f64) -> ChannelReach {
        let (length, drainage_area) = (1e3 * kilometres, 1e6 * area_km2);
        ChannelReach { downstream, length, drainage_area, ..ChannelReach::default() }
    }

    #[test]
    fn a_tree_by_hand() {
        // The tree joins two by two from 8 heads to a trunk of order 4. Streams of order w are 2^(w−1) km long and
        // drain 3^(w−1) km²; the first one of order 2 is divided into two reaches by a ninth head, which is 1 km long
        // too.
        let mut reaches: Vec<ChannelReach> = (0..8).map(|n| reach(Some(8 + n / 2), 1.0, 1.0)).collect();
        reaches.extend([reach(Some(13), 0.5, 2.0), reach(Some(14), 2.0, 3.0)]);
        reaches.extend([reach(Some(15), 2.0, 3.0), reach(Some(15), 2.0, 3.0)]);
        reaches.push(reach(Some(13), 1.0, 1.0));
        reaches.push(reach(Some(14), 1.5, 3.0));
        reaches.push(reach(Some(16), 4.0, 9.0));
        reaches.push(reach(Some(16), 4.0, 9.0));
        reaches.push(reach(None, 8.0, 27.0));
        let mut channels = Channels::from_reaches(reaches);
        channels.network.assign_orders();
        assert_eq!(
            channels.network.reaches.iter().map(|l| l.order).collect::<Vec<_>>()[8..],
            [2, 2, 2, 2, 1, 2, 3, 3, 4]
        );
        let orders = summarise_orders(&channels);
        assert_eq!(orders.iter().map(|o| o.count).collect::<Vec<_>>(), [9, 4, 2, 1]);
        assert_eq!(orders[1], OrderStatistics { count: 4, complete: 4, length: 8.0, area: 12.0 });
        assert_eq!(orders[3].complete, 0);
        let mut all = Measures::new(&Grid::new([1, 1], 1.0).unwrap(), &MeasureOptions::default());
        measure_horton_laws(&channels, &mut all);
        let value = |name| all.value(name).unwrap();
        // Computed by hand: the line through ln 9, ln 4, ln 2 at 1, 2, 3 has the slope ln(2/9)/2.
        assert!((value("horton_bifurcation") - 4.5f64.sqrt()).abs() < 1e-12);
        assert!((value("horton_length") - 2.0).abs() < 1e-12 && (value("horton_area") - 3.0).abs() < 1e-12);
        assert_eq!(value("orders"), 4.0);
    }
}
