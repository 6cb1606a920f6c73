//! The memory that a recipe may use on a page, where the user is asked before a lot is taken.

use thalweg_sim::recipe::Recipe;

use crate::app::state::Studio;

/// The memory in bytes that a recipe may need on a page without a question (its copies together take about 1 GiB), and
/// the most that a page can use: what 32-bit addresses leave besides the program itself.
// These are 0.75 GiB and 3.5 GiB.
pub(super) const UNASKED_MEMORY_BYTES: u64 = 3 << 28;
const MAX_PAGE_MEMORY_BYTES: u64 = 7 << 29;

impl Studio {
    /// Returns true if a page may use the memory that a recipe needs; asks the user once if it is a lot.
    pub(crate) fn may_take(&mut self, recipe: &Recipe) -> bool {
        let Some(page) = &self.options.page else { return true };
        // A recipe whose size cannot be determined fails later, with its own message.
        let Ok(need) = recipe.last_grid().map(|grid| recipe.estimate_memory(&grid)) else { return true };
        if need <= self.allowed {
            return true;
        }
        let [need_gib, most_gib] = [need, MAX_PAGE_MEMORY_BYTES].map(|bytes| bytes as f64 / f64::from(1 << 30));
        if need > MAX_PAGE_MEMORY_BYTES {
            let name = &recipe.name;
            let advice = format!("a web page has at most {most_gib:.1} GiB; choose fewer cells");
            self.show_error(format!("{name} needs {need_gib:.1} GiB of memory; {advice}"));
            return false;
        }
        let question = format!("{} needs about {need_gib:.1} GiB of memory. Continue?", recipe.name);
        if page.host.ask_permission(&question) {
            self.allowed = need;
            // The check at the start of a run counts copies of the terrain that the recipe's own estimate does not
            // include.
            page.link.set_memory_limit(2 * need);
        }
        need <= self.allowed
    }
}
