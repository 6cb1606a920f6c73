//! [`BasinTree`]: the reaches of one basin, from its mouth upstream.

use crate::products::measure::network::Channels;

/// The reaches of a complete basin, the lowest first, each with the position in this list of the reach that it flows
/// into.
pub(super) struct BasinTree {
    pub reaches: Vec<(usize, Option<usize>)>,
}

impl BasinTree {
    /// Returns the largest complete basins: those of reaches with a complete basin that do not flow into another such
    /// reach.
    pub fn complete_basins(channels: &Channels) -> Vec<Self> {
        let reaches = &channels.network.reaches;
        let mut trees: Vec<Self> = Vec::new();
        // The tree of each reach and its position there. In upstream order the downstream reach always comes first.
        let mut place: Vec<Option<(usize, usize)>> = vec![None; reaches.len()];
        for n in (0..reaches.len()).rev().filter(|n| channels.is_whole[*n]) {
            // A reach without a complete reach below is the lowest of a tree of its own.
            let below = reaches[n].downstream.and_then(|next| place[next as usize]);
            let (tree, below) = match below {
                Some((tree, below)) => (tree, Some(below)),
                None => {
                    trees.push(Self { reaches: Vec::new() });
                    (trees.len() - 1, None)
                }
            };
            trees[tree].reaches.push((n, below));
            place[n] = Some((tree, trees[tree].reaches.len() - 1));
        }
        trees
    }
}
