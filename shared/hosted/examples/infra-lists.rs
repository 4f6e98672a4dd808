//! Writes the lists in the templates of `infra/` as they follow from what is hosted: `cargo run -p dataperf-hosted --example infra-lists`.
//!
//! It says which files it has changed. A file that is up to date stays as it is.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fs;
use std::path::Path;

use dataperf_hosted::lists::TEMPLATES;

fn main() -> Result<(), Box<dyn Error>> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut n_written = 0;
    for template in &TEMPLATES {
        let path = project.join(template.path);
        let in_file = |error| format!("{}: {error}", template.path);
        let text = fs::read_to_string(&path).map_err(in_file)?;
        let wanted = template.with_lists(&text)?;
        if wanted != text {
            fs::write(&path, wanted).map_err(in_file)?;
            println!("{}: written", template.path);
            n_written += 1;
        }
    }
    if n_written > 0 {
        println!(
            "`infra/policies.json` follows from the templates: write it with `infra/checks/policies.py`"
        );
    } else {
        println!("the lists are up to date");
    }
    Ok(())
}
