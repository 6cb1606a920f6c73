//! `completions`, `man`: print what a shell or a system makes of the command line.

use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;
use thalweg_core::{Error, Result};

use crate::command_line::build_command;
use crate::console::{Reporter, print_to_stdout};
use crate::recipes::preset_names;
use crate::verb::{Group, Verb};

/// The arguments of `completions`.
#[derive(Args)]
pub struct CompletionsArgs {
    /// The shell that is to run the script.
    shell: Shell,
}

/// The arguments of `man`.
#[derive(Args)]
pub struct ManArgs {
    /// The words of the command, such as `build` or `render map` [default: the whole program].
    command: Vec<String>,
}

impl Verb for CompletionsArgs {
    const NAME: &'static str = "completions";
    const GROUP: Group = Group::LookUp;
    const ABOUT: &'static str = "Prints the script that completes commands and options in a shell";

    fn run(&self, _voice: Reporter) -> Result<ExitCode> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut build_command(&[]), "thalweg", &mut text);
        let text = String::from_utf8_lossy(&text);
        // With a list of values Zsh offers nothing else, but a recipe may also be a file.
        let presets = preset_names().collect::<Vec<_>>().join(" ");
        let text = text.replace(&format!(":({presets})'"), &format!(":{{compadd - {presets}; _files}}'"));
        print_to_stdout(&text).map(|()| ExitCode::SUCCESS)
    }
}

impl Verb for ManArgs {
    const NAME: &'static str = "man";
    const GROUP: Group = Group::LookUp;
    const ABOUT: &'static str = "Prints the man page of the program, or of one command";

    fn run(&self, _voice: Reporter) -> Result<ExitCode> {
        let mut page = build_command(&[]);
        // This names the pages of commands like git's: the page of `thalweg render map` is `thalweg-render-map`.
        page.build();
        for word in self.command.iter().flat_map(|words| words.split_whitespace()) {
            let unknown = || Error::unknown_name("command", word, page.get_subcommands().map(Command::get_name));
            page = page.find_subcommand(word).cloned().ok_or_else(unknown)?;
        }
        let mut text = Vec::new();
        clap_mangen::Man::new(page).render(&mut text).map_err(Error::io("the man page", "write"))?;
        print_to_stdout(&String::from_utf8_lossy(&text)).map(|()| ExitCode::SUCCESS)
    }
}
