//! Horton's laws: how streams' numbers, lengths and catchments go with their order.

use crate::products::measure::fit::line;
use crate::products::measure::network::Network;
use crate::products::measure::spec::{Curve, Found, Measures, PowerLaw, Scale, Spec, measures};

pub(super) const SPECS: [Spec; 4] = measures! {
    /// Grows by one for about every fivefold area.
    orders: "highest Strahler order", Network, unit "1", source "Strahler 1957";
    /// Streams of an order to one of the next: 4 in a tree joined at random, more in long narrow basins.
    horton_bifurcation: "Horton's bifurcation ratio R_B", Network, unit "1", usual 3.0 to 5.0,
        source "Horton 1945; Strahler 1957";
    /// Mean length of streams of an order over that of the last.
    horton_length: "Horton's length ratio R_L", Network, unit "1", usual 1.5 to 3.5,
        source "Horton 1945; Strahler 1957";
    /// Mean catchment of streams of an order over that of the last.
    horton_area: "Horton's area ratio R_A", Network, unit "1", usual 3.0 to 6.0, source "Schumm 1956; Strahler 1957";
};

/// Streams of one order: what the laws are about.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Order {
    /// Streams.
    count: usize,
    /// Of these such as end in one of higher order and have whole catchments; their lengths and areas are not cut.
    complete: usize,
    /// The complete streams' lengths in km and catchments in km², added up.
    length: f64,
    area: f64,
}

pub(super) fn measure(network: &Network, all: &mut Measures) {
    let orders = orders(network);
    let few = "fewer than three orders of streams";
    let counts = points(&orders, |o| (o.count > 0).then_some((o.count as f64, o.count)));
    let lengths = points(&orders, |o| (o.complete > 0).then(|| (o.length / o.complete as f64, o.complete)));
    let areas = points(&orders, |o| (o.complete > 0).then(|| (o.area / o.complete as f64, o.complete)));
    let laws = [&counts, &lengths, &areas].map(|points| ratio(points));
    let [b, l, a] = laws.map(|law| law.map(|law| libm::exp(law.exponent)).ok_or(few));
    let highest: Found = network.some().map(|()| orders.len() as f64);
    all.take(&SPECS, [highest, b.map(|b| 1.0 / b), l, a]);
    let curves = [
        ("horton_numbers", "streams", &counts, laws[0]),
        ("horton_lengths", "mean length (km)", &lengths, laws[1]),
        ("horton_areas", "mean catchment (km²)", &areas, laws[2]),
    ];
    for (name, y, points, law) in curves.into_iter().filter(|curve| !curve.2.is_empty()) {
        let points = points.iter().map(|(order, value, _)| [*order, *value]).collect();
        all.curves.push(Curve { name, x: "order", y, scale: Scale::Logarithmic, points, law });
    }
}

/// Order, value, and number of streams that it is of.
fn points(orders: &[Order], value: impl Fn(&Order) -> Option<(f64, usize)>) -> Vec<(f64, f64, usize)> {
    let numbered = orders.iter().enumerate();
    numbered.filter_map(|(n, order)| value(order).map(|(v, count)| ((n + 1) as f64, v, count))).collect()
}

/// ln value = ln factor + exponent · order. Single streams, as the trunk that the edge cuts, say little of a mean: orders
/// with fewer than two are left out where three others remain.
fn ratio(points: &[(f64, f64, usize)]) -> Option<PowerLaw> {
    let logs = |least: usize| -> Vec<[f64; 2]> {
        points.iter().filter(|p| p.2 >= least && p.1 > 0.0).map(|p| [p.0, libm::log(p.1)]).collect()
    };
    let several = logs(2);
    let used = if several.len() >= 3 { several } else { logs(1) };
    let line = line(&used).filter(|_| used.len() >= 3)?;
    let over = [used.first()?[0], used.last()?[0]];
    Some(PowerLaw { factor: libm::exp(line.intercept), exponent: line.slope, r2: line.r2, over })
}

/// What the streams of each order, from 1, come to.
fn orders(network: &Network) -> Vec<Order> {
    let links = &network.links;
    let highest = links.iter().map(|link| link.order).max().unwrap_or(0);
    let mut orders = vec![Order::default(); highest];
    // Length of the stream that a link belongs to, down to the link's end.
    let mut length: Vec<f64> = links.iter().map(|link| link.length * 1e-3).collect();
    for (n, link) in links.iter().enumerate() {
        let order = &mut orders[link.order - 1];
        match link.next {
            Some(next) if links[next].order == link.order => length[next] += length[n],
            next => {
                order.count += 1;
                if next.is_some() && link.whole {
                    order.complete += 1;
                    order.length += length[n];
                    order.area += link.area;
                }
            }
        }
    }
    orders
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::products::measure::MeasureSettings;
    use crate::products::measure::network::Link;
    use thalweg_core::Grid;

    fn link(next: Option<usize>, kilometres: f64, area: f64) -> Link {
        Link { cells: vec![0], next, length: 1e3 * kilometres, area, order: 0, whole: true }
    }

    #[test]
    fn a_tree_by_hand() {
        // Two by two from 8 heads to a trunk of order 4. Streams of order w are 2^(w−1) km long and drain 3^(w−1) km²; the
        // first of order 2 is cut in two links by a ninth head, 1 km long too.
        let mut links: Vec<Link> = (0..8).map(|n| link(Some(8 + n / 2), 1.0, 1.0)).collect();
        links.extend([link(Some(13), 0.5, 2.0), link(Some(14), 2.0, 3.0)]);
        links.extend([link(Some(15), 2.0, 3.0), link(Some(15), 2.0, 3.0)]);
        links.push(link(Some(13), 1.0, 1.0));
        links.push(link(Some(14), 1.5, 3.0));
        links.push(link(Some(16), 4.0, 9.0));
        links.push(link(Some(16), 4.0, 9.0));
        links.push(link(None, 8.0, 27.0));
        let mut network = Network { links, threshold: 1 };
        network.order();
        assert_eq!(network.links.iter().map(|l| l.order).collect::<Vec<_>>()[8..], [2, 2, 2, 2, 1, 2, 3, 3, 4]);
        let orders = orders(&network);
        assert_eq!(orders.iter().map(|o| o.count).collect::<Vec<_>>(), [9, 4, 2, 1]);
        assert_eq!(orders[1], Order { count: 4, complete: 4, length: 8.0, area: 12.0 });
        assert_eq!(orders[3].complete, 0);
        let mut all = Measures::new(&Grid::new([1, 1], 1.0).unwrap(), &MeasureSettings::default());
        measure(&network, &mut all);
        let value = |name| all.value(name).unwrap();
        // By hand: the line through ln 9, ln 4, ln 2 over 1, 2, 3 has the slope ln(2/9)/2.
        assert!((value("horton_bifurcation") - 4.5f64.sqrt()).abs() < 1e-12);
        assert!((value("horton_length") - 2.0).abs() < 1e-12 && (value("horton_area") - 3.0).abs() < 1e-12);
        assert_eq!(value("orders"), 4.0);
    }
}
