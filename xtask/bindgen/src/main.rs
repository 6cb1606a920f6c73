//! Generates the JavaScript that calls a WebAssembly module: `thalweg-bindgen MODULE.wasm FOLDER NAME`.
//!
//! This is a separate program because `wasm-bindgen-cli` would have to be installed in exactly the version of the
//! library; the lock file ensures that this program has it, and no other build has to wait for it.

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
        // Keep the default path: the module is then looked for next to its JavaScript.
        bindgen
            .omit_default_module_path(false)
            .input_path(module)
            .out_name(name)
            // Names of functions and of tools only serve debugging and make the module larger.
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
