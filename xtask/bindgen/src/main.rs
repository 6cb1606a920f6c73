//! The JavaScript about a WebAssembly module: `thalweg-bindgen MODULE.wasm FOLDER NAME`.
//!
//! A program of its own, for `wasm-bindgen-cli` must be installed and be of the very version of the library; this is of that version by the
//! lock file, and nothing else waits for it.

use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [module, folder, name] = &words[..] else {
        eprintln!("thalweg-bindgen MODULE.wasm FOLDER NAME");
        return ExitCode::from(2);
    };
    let mut bindgen = Bindgen::new();
    let made = bindgen.web(true).and_then(|bindgen| {
        // Left out, the module is looked for beside its JavaScript.
        bindgen
            .omit_default_module_path(false)
            .input_path(module)
            .out_name(name)
            .remove_name_section(true)
            .remove_producers_section(true);
        bindgen.generate(folder)
    });
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{module}: {problem:#}");
            ExitCode::FAILURE
        }
    }
}
