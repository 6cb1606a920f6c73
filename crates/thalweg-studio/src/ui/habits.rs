//! The keys and mouse actions, as the window lists them.

/// Keys and mouse actions with their effects, as the window shows them and docs/studio.md lists them.
pub const HABITS: [(&str, &str); 24] = [
    ("Left drag", "turns the land; moves the map"),
    ("Middle drag, Ctrl + left drag", "moves along"),
    ("Wheel", "zooms to the cursor"),
    ("Right drag", "looks round"),
    ("Right button + W A S D Q E", "flies; Shift faster"),
    ("Shift + drag", "moves the sun"),
    ("Home", "frames the land"),
    ("Click", "drops a droplet there and shows its path"),
    ("Space", "10 000 droplets more"),
    ("P", "plays and pauses"),
    ("M", "the map, and back"),
    ("Hold B", "the land before erosion"),
    ("S", "saves a picture, the number of droplets in its name"),
    ("[ and ]", "a narrower, a wider brush"),
    ("Enter, Esc", "ends the line that is drawn; drops it"),
    ("Ctrl + Z", "undoes"),
    ("Ctrl + Shift + Z, Ctrl + Y", "redoes"),
    ("Ctrl + O", "opens a recipe or an elevation model"),
    ("Ctrl + S", "saves the recipe"),
    ("Ctrl + Q", "closes the window"),
    ("Drop a file", "opens it"),
    ("F1", "this list"),
    ("Click on a mark in the time bar", "goes back there"),
    ("Hover a parameter", "says what it does, its unit, range and default"),
];
