//! [`Tree`]: the links of one basin, from its mouth up.

use crate::products::measure::network::Network;

/// The links of a whole basin, the lowest first, each with the place in this list of the one it flows into.
pub(super) struct Tree {
    pub links: Vec<(usize, Option<usize>)>,
}

impl Tree {
    /// The largest whole basins: those of links whose catchment is whole and that flow into none such.
    pub fn whole(network: &Network) -> Vec<Self> {
        let links = &network.links;
        let mut trees: Vec<Self> = Vec::new();
        // Tree and place of each link. Going up, the link below is always done.
        let mut place: Vec<Option<(usize, usize)>> = vec![None; links.len()];
        for n in (0..links.len()).rev().filter(|n| links[*n].whole) {
            let below = links[n].next.and_then(|next| place[next]);
            let (tree, below) = match below {
                Some((tree, below)) => (tree, Some(below)),
                None => {
                    trees.push(Self { links: Vec::new() });
                    (trees.len() - 1, None)
                }
            };
            trees[tree].links.push((n, below));
            place[n] = Some((tree, trees[tree].links.len() - 1));
        }
        trees
    }
}
