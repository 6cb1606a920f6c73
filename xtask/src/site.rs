//! The book as web pages: converts docs/*.md to HTML, with a live figure on the page of each model that has a recipe.

use std::fs;
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use xtask::files::{self, copy_recursively, create_folder, list_files, read_text};
use xtask::shell::{Outcome, repository_root};

/// The folders of the book, and of the recipes of its models.
const BOOK: &str = "docs";
const RECIPES: &str = "recipes/models";

/// The file that becomes the first page of a folder.
const FIRST: &str = "README.md";

/// The template of every page, and the files that belong to all pages.
const FRAME: &str = "xtask/web/book/page.html";
const EXTRA_FILES: [&str; 3] = ["book.css", "live.js", "live_worker.js"];

/// Writes the book's pages into `folder`, with everything that they show.
pub fn write_book(folder: &Path) -> Outcome {
    let book = repository_root().join(BOOK);
    let files = list_files(&book)?;
    let frame = read_text(&repository_root().join(FRAME))?;
    for file in &files {
        let to = folder.join(page_path(file));
        create_folder(to.parent().unwrap_or(folder))?;
        // Text becomes a page; pictures and other files are copied.
        if file.extension().is_some_and(|ending| ending == "md") {
            files::write_file(&to, build_page(&frame, file, &read_text(&book.join(file))?, &files))?;
        } else {
            copy_recursively(&book.join(file), &to)?;
        }
    }
    for name in EXTRA_FILES {
        copy_recursively(&repository_root().join(FRAME).with_file_name(name), &folder.join(name))?;
    }
    let recipes = folder.join("recipes");
    create_folder(&recipes)?;
    for file in files.iter().filter_map(|file| page_recipe(file)) {
        copy_recursively(&file, &recipes.join(file.file_name().unwrap_or_default()))?;
    }
    Ok(())
}

/// Makes a page of the book: the template with its title, its text, and the relative path of the book's root.
fn build_page(frame: &str, file: &Path, text: &str, files: &[PathBuf]) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_FOOTNOTES;
    let mut events: Vec<Event<'_>> = Parser::new_ext(text, options).collect();
    let title = name_headings(&mut events);
    let leads = adapt_links(&mut events, file, files);
    let mut body = String::new();
    html::push_html(&mut body, leads.into_iter());
    // All addresses are relative, so that the book works from any path.
    let top = "../".repeat(file.components().count() - 1);
    if let Some(recipe) = page_recipe(file) {
        let name = recipe.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let figure = format!("<figure class=\"live\" data-recipe=\"{top}recipes/{name}\"></figure>\n");
        // Insert the figure below the title and the first paragraph.
        let at = body.find("</p>").map_or(0, |at| at + "</p>\n".len());
        body.insert_str(at.min(body.len()), &figure);
    }
    frame.replace("{title}", &escape_html(&title)).replace("{top}", &top).replace("{body}", &body)
}

/// Gives each heading the anchor that links use, and returns the text of the first one.
fn name_headings(events: &mut [Event<'_>]) -> String {
    let mut title = None;
    let mut names: Vec<String> = Vec::new();
    for start in 0..events.len() {
        if !matches!(events[start], Event::Start(Tag::Heading { .. })) {
            continue;
        }
        let inside = events[start + 1..].iter().take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
        let words: String = inside
            .filter_map(|event| match event {
                Event::Text(words) | Event::Code(words) => Some(words.as_ref()),
                _ => None,
            })
            .collect();
        let name = heading_anchor(&words);
        // Headings of the same text get a number, as repository hosts do.
        let before = names.iter().filter(|other| **other == name).count();
        names.push(name.clone());
        if let Event::Start(Tag::Heading { id, .. }) = &mut events[start] {
            *id = Some(if before == 0 { name } else { format!("{name}-{before}") }.into());
        }
        title.get_or_insert(words);
    }
    title.unwrap_or_default()
}

/// Returns the anchor of a heading by the rules of repository hosts: letters and digits in lower case, hyphens for
/// spaces.
fn heading_anchor(words: &str) -> String {
    let kept = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Adapts links to the pages. Links to files outside the book are removed, and their text stays.
fn adapt_links<'a>(events: &mut Vec<Event<'a>>, file: &Path, files: &[PathBuf]) -> Vec<Event<'a>> {
    let mut kept = Vec::new();
    // Remember for each open link whether its start was kept, because its end must follow it.
    let mut leads_on = Vec::new();
    for event in events.drain(..) {
        match event {
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let to = link_target(&dest_url, file, files);
                leads_on.push(to.is_some());
                if let Some(to) = to {
                    kept.push(Event::Start(Tag::Link { link_type, dest_url: to, title, id }));
                }
            }
            Event::End(TagEnd::Link) => {
                if leads_on.pop() == Some(true) {
                    kept.push(Event::End(TagEnd::Link));
                }
            }
            other => kept.push(other),
        }
    }
    kept
}

/// Returns the target of a link on its page; `None` if the file is not in the book.
fn link_target<'a>(link: &str, file: &Path, files: &[PathBuf]) -> Option<CowStr<'a>> {
    if link.starts_with('#') || link.contains("://") {
        return Some(link.to_string().into());
    }
    let (path, place) = link.split_once('#').map_or((link, String::new()), |(path, place)| (path, format!("#{place}")));
    // Resolve the path within the book; a link that leads above the book's root has no page.
    let mut there = PathBuf::new();
    for part in file.parent().unwrap_or(Path::new("")).join(path).components() {
        match part {
            Component::ParentDir if !there.pop() => return None,
            Component::Normal(name) => there.push(name),
            _ => {}
        }
    }
    let is_there = files.contains(&there);
    let page = Path::new(path).with_file_name(page_path(&there).file_name()?);
    is_there.then(|| format!("{}{place}", page.to_string_lossy().replace('\\', "/")).into())
}

/// Returns the file of the site that a file of the book becomes.
fn page_path(file: &Path) -> PathBuf {
    match file.extension().and_then(|ending| ending.to_str()) {
        Some("md") if file.file_name().is_some_and(|name| name == FIRST) => file.with_file_name("index.html"),
        Some("md") => file.with_extension("html"),
        _ => file.to_path_buf(),
    }
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

fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_to_pages_and_nothing_leads_out_of_the_book() {
        let files = ["water.md", "models/README.md", "models/thermal.md", "web/desktop.png"].map(PathBuf::from);
        let of = |link: &str, file: &str| link_target(link, Path::new(file), &files).map(|to| to.to_string());
        assert_eq!(
            of("../water.md#lakes-and-rivers", "models/thermal.md").as_deref(),
            Some("../water.html#lakes-and-rivers")
        );
        assert_eq!(of("README.md", "models/thermal.md").as_deref(), Some("index.html"));
        assert_eq!(of("models/thermal.md", "water.md").as_deref(), Some("models/thermal.html"));
        assert_eq!(of("web/desktop.png", "water.md").as_deref(), Some("web/desktop.png"));
        assert_eq!(of("https://maplibre.org", "water.md").as_deref(), Some("https://maplibre.org"));
        assert_eq!(of("#here", "water.md").as_deref(), Some("#here"));
        for link in ["../README.md", "../crates/x.rs", "fire.md"] {
            assert_eq!(of(link, "water.md"), None, "{link}");
        }
    }

    #[test]
    fn a_page_has_its_headings_names_and_only_links_that_lead() {
        let text = "# Rain & `ice`\n\nOne [page](fire.md), [two](water.md).\n\n## A, b\n\n## A b\n";
        let page = build_page("<title>{title}</title>{top}|{body}", Path::new("water.md"), text, &["water.md".into()]);
        assert!(page.starts_with("<title>Rain &amp; ice</title>|<h1 id=\"rain--ice\">"), "{page}");
        assert!(page.contains("One page, <a href=\"water.html\">two</a>."), "{page}");
        assert!(page.contains("<h2 id=\"a-b\">") && page.contains("<h2 id=\"a-b-1\">"), "{page}");
    }

    #[test]
    fn a_models_page_has_its_recipe_running() {
        let page = build_page("{top}|{body}", Path::new("models/thermal.md"), "# thermal\n\nSlides.\n\nMore.\n", &[]);
        assert!(page.starts_with("../|<h1"), "{page}");
        assert!(
            page.contains("<p>Slides.</p>\n<figure class=\"live\" data-recipe=\"../recipes/thermal.toml\">"),
            "{page}"
        );
    }
}
