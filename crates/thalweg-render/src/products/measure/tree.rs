//! [`Tree`]: the reaches of one basin, from its mouth up.

use crate::products::measure::network::Channels;

/// The reaches of a whole basin, the lowest first, each with the place in this list of the one it flows into.
pub(super) struct Tree {
    pub reaches: Vec<(usize, Option<usize>)>,
}

impl Tree {
    /// The largest whole basins: those of reaches whose catchment is whole and that flow into none such.
    pub fn whole(channels: &Channels) -> Vec<Self> {
        let reaches = &channels.network.reaches;
        let mut trees: Vec<Self> = Vec::new();
        // Tree and place of each reach. Going up, the reach below is always done.
        let mut place: Vec<Option<(usize, usize)>> = vec![None; reaches.len()];
        for n in (0..reaches.len()).rev().filter(|n| channels.is_whole[*n]) {
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
