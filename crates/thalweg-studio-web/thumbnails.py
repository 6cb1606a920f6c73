"""Makes the thumbnails of the page's list of worlds from the pictures that `cargo xtask gallery` drew.

Run `python crates/thalweg-studio-web/thumbnails.py`. It needs Pillow, which the tests also need.
"""

import json
import re
import tomllib
from pathlib import Path

from PIL import Image

HERE = Path(__file__).resolve().parent
CRATES = HERE.parent
OUT = HERE / "page/thumbs"


def main():
    OUT.mkdir(exist_ok=True)
    listed = re.search(r"PRESETS: &\[Preset\] = presets!\[(.*?)\]", (CRATES / "thalweg-sim/src/presets.rs").read_text(), re.S).group(1)
    names = re.findall(r'"(\w+)"', listed)
    for name in names:
        picture = Image.open(CRATES / f"thalweg-cli/thumbnails/{name}.png").convert("RGB")
        picture.save(OUT / f"{name}.jpg", quality=72, optimize=True)
    still = Image.open(CRATES.parent / "docs/gallery/alpine_view.png").convert("RGB")
    still.thumbnail((640, 640))
    still.save(OUT / "still.jpg", quality=70, optimize=True)
    about = [tomllib.loads((CRATES / f"thalweg-sim/presets/{name}.toml").read_text())["about"] for name in names]
    (OUT / "presets.json").write_text(json.dumps(list(zip(names, about)), ensure_ascii=False, indent=0) + "\n")
    print(sum(path.stat().st_size for path in OUT.iterdir()), "bytes")


main()
