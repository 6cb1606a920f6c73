//! The book as web pages: mdBook converts copies of docs/, with a live figure on the page of each model that has a
//! recipe.

use std::fs;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use xtask::files::{add_path, copy_recursively, create_folder, list_files, read_text, write_file};
use xtask::shell::{Outcome, cargo_command, prepare_program, repository_root, run_command};

/// The folders of the book, of its copy from which the pages are built, and of the recipes of its models.
const BOOK: &str = "docs";
const COPY: &str = "target/book";
const RECIPES: &str = "recipes/models";

/// The files of the book that configure mdBook. In the copy they are next to the folder of the pages, because mdBook
/// publishes every file of that folder.
const CONFIGURATION: [&str; 2] = ["book.toml", "book.css"];

/// The first page of a folder in the repository, and on the web.
const FIRST: &str = "README.md";
const INDEX: &str = "index.html";

/// The files that the live figures need, and the icon of the pages with its place in the copy.
const LIVE: [&str; 2] = ["xtask/web/book/live.js", "xtask/web/book/live_worker.js"];
const ICON: [&str; 2] = ["xtask/web/book/favicon.svg", "theme/favicon.svg"];

/// A sentence at the end of the book's first page: in `dist/` the book is in a folder of the studio's page.
const STUDIO: &str = "\nThis book belongs to [the studio in the browser](../index.html).\n";

/// The version of mdBook that is installed, the start of the versions that will do, and the folder of the installed
/// one. It is a program of its own (MPL-2.0), so that neither the library nor its tests compile it.
const MDBOOK: &str = "0.5.4";
const USABLE: &str = "mdbook v0.5.";
const PLACE: &str = "target/mdbook";

/// Writes the book's pages into `folder`, with everything that they show. The pages of the models, which git ignores,
/// must have been written before.
pub fn write_book(folder: &Path) -> Outcome {
    let mdbook = ensure_mdbook()?;
    let copy = repository_root().join(COPY);
    copy_book(&copy)?;
    // mdBook would read a relative folder of output relative to the copy.
    let folder = std::path::absolute(folder).map_err(add_path(folder))?;
    run_command(
        prepare_program(mdbook)
            .arg("build")
            .arg(copy)
            .arg("--dest-dir")
            .arg(folder)
            // Overrides the `src` of book.toml, which is the folder `docs` itself.
            .env("MDBOOK_BOOK__SRC", "src"),
    )
}

/// Returns mdBook, which is installed if necessary.
fn ensure_mdbook() -> Outcome<PathBuf> {
    let own = repository_root().join(PLACE).join(format!("bin/mdbook{}", std::env::consts::EXE_SUFFIX));
    let is_usable = |program: &Path| {
        let output = prepare_program(program).arg("--version").output();
        output.is_ok_and(|output| output.stdout.starts_with(USABLE.as_bytes()))
    };
    if let Some(program) = [PathBuf::from("mdbook"), own.clone()].into_iter().find(|program| is_usable(program)) {
        return Ok(program);
    }
    println!("xtask: the book's pages are made by mdBook; trying to install it");
    // The search is its only feature that is needed: the others serve pages while they are edited.
    let features = ["--locked", "--no-default-features", "--features", "search"];
    run_command(
        cargo_command().args(["install", "mdbook", "--version", MDBOOK]).args(features).args(["--root", PLACE]),
    )
    .map_err(|problem| format!("the book's pages need mdBook (cargo install mdbook --version {MDBOOK}); {problem}"))?;
    Ok(own)
}

/// Copies the book into a folder, with its text adapted to the web, and with the live figures' files.
fn copy_book(copy: &Path) -> Outcome {
    if copy.exists() {
        // Pages that have been removed from the book would otherwise remain.
        fs::remove_dir_all(copy).map_err(add_path(copy))?;
    }
    let (book, pages) = (repository_root().join(BOOK), copy.join("src"));
    let files = list_files(&book)?;
    for file in &files {
        let is_configuration = CONFIGURATION.iter().any(|name| file == Path::new(name));
        let to = if is_configuration { copy.join(file) } else { pages.join(file) };
        create_folder(to.parent().unwrap_or(copy))?;
        if file.extension().is_some_and(|ending| ending == "md") {
            write_file(&to, adapt_page(&read_text(&book.join(file))?, file, &files))?;
        } else {
            copy_recursively(&book.join(file), &to)?;
        }
    }
    let recipes = pages.join("recipes");
    create_folder(&recipes)?;
    for file in files.iter().filter_map(|file| page_recipe(file)) {
        copy_recursively(&file, &recipes.join(file.file_name().unwrap_or_default()))?;
    }
    for file in LIVE.map(Path::new) {
        copy_recursively(&repository_root().join(file), &pages.join(file.file_name().unwrap_or_default()))?;
    }
    create_folder(&copy.join("theme"))?;
    copy_recursively(&repository_root().join(ICON[0]), &copy.join(ICON[1]))
}

/// Adapts the Markdown of a page: links that lead out of the book become plain text, and a model's page gets its
/// figure. All other text remains as it is.
fn adapt_page(text: &str, file: &Path, files: &[PathBuf]) -> String {
    // The table of contents consists of links with a meaning of its own.
    if file == Path::new("SUMMARY.md") {
        return text.to_string();
    }
    let mut edits = adapt_links(text, file, files);
    if let Some(recipe) = page_recipe(file) {
        edits.push(insert_figure(text, file, &recipe));
    }
    if file == Path::new(FIRST) {
        edits.push((text.len()..text.len(), STUDIO.to_string()));
    }
    // From the end to the start, so that the ranges of the remaining edits stay valid.
    edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    let mut adapted = text.to_string();
    for (range, new) in edits {
        adapted.replace_range(range, &new);
    }
    adapted
}

/// A range of a page's text, and the text that replaces it.
type Edit = (Range<usize>, String);

/// Parses a page by the rules of mdBook's pages.
fn parse_page(text: &str) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
    Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_FOOTNOTES)
        .into_offset_iter()
}

/// Returns the edits of a page's links. Links to files outside the book are removed, and their text stays.
fn adapt_links(text: &str, file: &Path, files: &[PathBuf]) -> Vec<Edit> {
    let mut edits = Vec::new();
    let mut events = parse_page(text);
    while let Some((event, link)) = events.next() {
        let Event::Start(Tag::Link { dest_url, .. }) = event else { continue };
        // Links contain no links, so the next end of a link is this one's.
        let inside = events.by_ref().take_while(|(event, _)| !matches!(event, Event::End(TagEnd::Link)));
        let end = inside.map(|(_, range)| range.end).max().unwrap_or(link.start + 1);
        if !is_in_book(&dest_url, file, files) {
            // The text is kept from the opening bracket on, because an escaped character has its backslash outside its
            // event.
            edits.push((link.clone(), text[link.start + 1..end].to_string()));
        } else if let Some(at) = text[end..link.end].find(FIRST) {
            // mdBook converts README.md to index.html, but not the links to it.
            edits.push((end + at..end + at + FIRST.len(), INDEX.to_string()));
        }
    }
    edits
}

/// Returns true if a link of a page leads to a file of the book, to a heading of the page, or to another site.
fn is_in_book(link: &str, file: &Path, files: &[PathBuf]) -> bool {
    if link.starts_with('#') || link.contains("://") {
        return true;
    }
    let path = link.split('#').next().unwrap_or(link);
    // Resolve the path within the book; a link that leads above the book's root has no page.
    let mut target = PathBuf::new();
    for part in file.parent().unwrap_or(Path::new("")).join(path).components() {
        match part {
            Component::ParentDir if !target.pop() => return false,
            Component::Normal(name) => target.push(name),
            _ => {}
        }
    }
    files.contains(&target)
}

/// Returns the edit that inserts the live figure of a recipe below the first paragraph of a page.
fn insert_figure(text: &str, file: &Path, recipe: &Path) -> Edit {
    // All addresses are relative, so that the book works from any path.
    let top = "../".repeat(file.components().count() - 1);
    let name = recipe.file_name().unwrap_or_default().to_string_lossy();
    // The empty lines separate the HTML from the Markdown around it.
    let figure = format!(
        "\n<figure class=\"live\" data-recipe=\"{top}recipes/{name}\"></figure>\n\
         <script type=\"module\" src=\"{top}live.js\"></script>\n\n"
    );
    let paragraph = parse_page(text).find(|(event, _)| matches!(event, Event::End(TagEnd::Paragraph)));
    let at = paragraph.map_or(text.len(), |(_, range)| range.end);
    (at..at, figure)
}

/// Returns the recipe of the model that a page describes, unless it reads files, which a page does not have.
fn page_recipe(file: &Path) -> Option<PathBuf> {
    let name = file.strip_prefix("models").ok()?.with_extension("toml");
    let recipe = repository_root().join(RECIPES).join(name);
    let text = fs::read_to_string(&recipe).ok()?;
    // A recipe that names files cannot be built in a page.
    let reads = |line: &str| line.starts_with("from") || line.contains(".tif\"") || line.contains(".csv\"");
    (!text.lines().any(reads)).then_some(recipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapt(text: &str, file: &str) -> String {
        let files = ["water.md", "models/README.md", "models/thermal.md", "web/desktop.png"].map(PathBuf::from);
        adapt_page(text, Path::new(file), &files)
    }

    #[test]
    fn links_within_the_book_and_to_other_sites_are_kept() {
        let kept = "[a](../water.md#lakes-and-rivers) [b](thermal.md), [c](https://maplibre.org) <https://a.org> \
                    [d](#here) ![e](../web/desktop.png)\n";
        assert_eq!(adapt(kept, "models/local_forms.md"), kept);
    }

    #[test]
    fn links_to_the_first_page_of_a_folder_lead_to_its_index() {
        assert_eq!(adapt("[README.md](models/README.md#x)\n", "water.md"), "[README.md](models/index.html#x)\n");
        assert_eq!(adapt("[m](README.md)\n", "models/local_forms.md"), "[m](index.html)\n");
    }

    #[test]
    fn nothing_leads_out_of_the_book() {
        for target in ["../README.md", "../crates/x.rs", "fire.md", "../../docs/water.md", "models"] {
            let text = format!(
                "# A [b]({target})\n\n- One [page of\n  *text* `code`]({target} \"title\"), [two](water.md).\n"
            );
            let without = "# A b\n\n- One page of\n  *text* `code`, [two](water.md).\n";
            assert_eq!(adapt(&text, "water.md"), without, "{target}");
        }
        assert_eq!(adapt("[\\[a\\]](x.md) `[b](x.md)`\n", "water.md"), "\\[a\\] `[b](x.md)`\n");
        assert_eq!(adapt("[a][x] [x] [](x.md)\n\n[x]: ../x.rs\n", "water.md"), "a x \n\n[x]: ../x.rs\n");
        assert_eq!(adapt("| [a](x.md) |\n|---|\n| [b](x.md) ü |\n", "water.md"), "| a |\n|---|\n| b ü |\n");
    }

    #[test]
    fn a_models_page_has_its_recipe_running() {
        let figure = "<figure class=\"live\" data-recipe=\"../recipes/thermal.toml\"></figure>\n\
                      <script type=\"module\" src=\"../live.js\"></script>\n";
        for rest in ["\nMore.\n", "## More\n", ""] {
            let page = adapt(&format!("# thermal\n\nSlides [far](x.rs).\n{rest}"), "models/thermal.md");
            assert_eq!(page, format!("# thermal\n\nSlides far.\n\n{figure}\n{rest}"));
        }
        assert!(!adapt("# x\n\nText.\n", "models/x.md").contains("figure"));
    }

    #[test]
    fn the_first_page_leads_to_the_studio() {
        assert_eq!(adapt("# The book\n", "README.md"), format!("# The book\n{STUDIO}"));
        assert_eq!(adapt("[Models](models/README.md)\n", "SUMMARY.md"), "[Models](models/README.md)\n");
    }
}
