//! [`History`]: every state of the recipe, for unlimited undo and redo.

/// The texts of the recipe, oldest first, and the index of the current one.
pub struct History {
    states: Vec<String>,
    at: usize,
}

impl History {
    /// Starts the history with a text.
    pub fn new(text: String) -> Self {
        Self { states: vec![text], at: 0 }
    }

    /// Adds a new text after the current one, if it differs; undone texts are discarded.
    pub fn push(&mut self, text: &str) {
        if self.states[self.at] != text {
            // A new state after an undo starts another branch; the undone one cannot be reached any more.
            self.states.truncate(self.at + 1);
            self.states.push(text.to_string());
            self.at += 1;
        }
    }

    /// Goes back to the text before and returns it; `None` if there is none.
    pub fn undo(&mut self) -> Option<&str> {
        self.at = self.at.checked_sub(1)?;
        Some(&self.states[self.at])
    }

    /// Goes forward to the next text and returns it; `None` if there is none.
    pub fn redo(&mut self) -> Option<&str> {
        if self.can_redo() {
            self.at += 1;
            return Some(&self.states[self.at]);
        }
        None
    }

    /// Removes the current text, which was refused, and returns to the one before.
    pub fn remove_refused(&mut self, text: &str) {
        if self.at > 0 && self.states[self.at] == text {
            self.states.remove(self.at);
            self.at -= 1;
        }
    }

    /// Returns true if there is something to undo.
    pub fn can_undo(&self) -> bool {
        self.at > 0
    }

    /// Returns true if there is something to redo.
    pub fn can_redo(&self) -> bool {
        self.at + 1 < self.states.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undo_and_redo_walk_through_all_states() {
        let mut history = History::new("a".into());
        assert!(history.undo().is_none() && history.redo().is_none());
        ["b", "b", "c"].iter().for_each(|text| history.push(text));
        assert_eq!(history.undo(), Some("b"));
        assert_eq!(history.undo(), Some("a"));
        assert_eq!(history.undo(), None);
        assert_eq!(history.redo(), Some("b"));
        history.push("d");
        assert!(!history.can_redo() && history.can_undo());
        assert_eq!(history.undo(), Some("b"));
    }

    #[test]
    fn what_was_refused_is_forgotten() {
        let mut history = History::new("a".into());
        history.push("b");
        history.push("bad");
        history.remove_refused("another");
        history.remove_refused("bad");
        history.push("b");
        assert_eq!(history.undo(), Some("a"));
    }
}
