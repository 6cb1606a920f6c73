//! The keys and mouse actions, as the window lists them.

/// Keys and mouse actions with their effects, as the window shows them and docs/studio.md lists them.
pub const HABITS: [(&str, &str); 24] = [
    ("Left drag", "turns the land; moves the map"),
    ("Middle drag, Ctrl + left drag", "moves the view"),
    ("Wheel", "zooms to the cursor"),
    ("Right drag", "looks around"),
    ("Right button + W A S D Q E", "flies; faster with Shift"),
    ("Shift + drag", "moves the sun"),
    ("Home", "frames the land"),
    ("Click", "drops a droplet and shows its path"),
    ("Space", "adds 10 000 droplets, also after the end of the run"),
    ("P", "plays or pauses"),
    ("M", "switches between the view and the map"),
    ("Hold B", "shows the land before erosion"),
    ("S", "saves a picture with the number of droplets in its name"),
    ("[ and ]", "makes the brush narrower or wider"),
    ("Enter, Esc", "ends or discards the line that is being drawn"),
    ("Ctrl + Z", "undoes"),
    ("Ctrl + Shift + Z, Ctrl + Y", "redoes"),
    ("Ctrl + O", "opens a recipe or an elevation model"),
    ("Ctrl + S", "saves the recipe"),
    ("Ctrl + Q", "closes the window"),
    ("Drop a file", "opens it"),
    ("F1", "shows this list"),
    ("Click on a mark in the time bar", "returns to it"),
    ("Hover over a parameter", "shows its description, unit, range and default"),
];
