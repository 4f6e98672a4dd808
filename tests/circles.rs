//! No two modules of a crate need each other, whether directly or by way of others, so that each can be read after those that it needs.
//!
//! What a module needs of those inside it, and they of it, is left out: a parent re-exports what its children
//! define, and they use what it defines.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::project::{code, root, sources};

/// A module by its names from the crate's root.
type Module = Vec<String>;

/// The modules of a crate with what they import, from its folder of sources.
struct Crate {
    modules: BTreeMap<Module, String>,
    /// What a module imports under a name.
    named: BTreeMap<(Module, String), Imported>,
    /// The paths from the crate's root that a module names.
    uses: BTreeMap<Module, Vec<Vec<String>>>,
}

/// What a name that is imported leads to.
struct Imported {
    /// From the crate's root.
    path: Vec<String>,
    /// Whether it is a re-export. What a module imports for itself leads nobody else anywhere: to others the
    /// name may be that of a function in it.
    is_shared: bool,
}

/// The module that a file is, from the names of its folders and its own.
fn module_of(path: &Path, folder: &Path) -> Module {
    let relative = path.strip_prefix(folder).unwrap().with_extension("");
    let mut names: Module = relative
        .iter()
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    let is_root = names.len() == 1 && ["lib", "main"].contains(&names[0].as_str());
    if is_root || names.last().is_some_and(|name| name == "mod") {
        names.pop();
    }
    names
}

/// The paths of a `use` declaration, each with the name by which it is known: `a::{b, c as d}` is `a::b` and `a::c`.
fn paths(tree: &str, before: &[String], found: &mut Vec<(Vec<String>, String)>) {
    let tree = tree.trim();
    let (own, inner) = tree
        .split_once('{')
        .map_or((tree, None), |(own, inner)| (own, Some(inner)));
    let (own, alias) = own
        .split_once(" as ")
        .map_or((own, None), |(own, alias)| (own, Some(alias)));
    let names = own.split("::").map(str::trim).filter(|name| !name.is_empty());
    let mut path: Vec<String> = before.iter().cloned().chain(names.map(str::to_owned)).collect();
    let Some(inner) = inner else {
        if path.last().is_some_and(|name| name == "self") {
            path.pop();
        }
        if let Some(last) = path.last().cloned() {
            found.push((path, alias.map_or(last, |alias| alias.trim().to_owned())));
        }
        return;
    };
    let (mut depth, mut start) = (0, 0);
    for (at, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' | ',' if depth == 0 => {
                paths(&inner[start..at], &path, found);
                start = at + 1;
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
}

impl Crate {
    fn read(folder: &Path) -> Self {
        let mut files = Vec::new();
        sources(folder, &mut files);
        let is_program = |path: &&PathBuf| {
            let beside = ["tests", "benches", "examples", "bin"];
            let first = path.strip_prefix(folder).unwrap().iter().next().unwrap();
            let is_beside = beside.iter().any(|name| first == *name); // a folder, no file
            let mut inner = path.ancestors().skip(1).take_while(|inner| *inner != folder);
            let is_of_another = inner.any(|inner| inner.join("Cargo.toml").is_file());
            let is_of_tests = module_of(path, folder).last().is_some_and(|name| name == "tests");
            !is_beside && !is_of_another && !is_of_tests
        };
        let modules: BTreeMap<Module, String> = files
            .iter()
            .filter(is_program)
            .map(|path| (module_of(path, folder), code(path)))
            .collect();
        let mut read = Self {
            named: BTreeMap::new(),
            uses: BTreeMap::new(),
            modules,
        };
        for (module, code) in &read.modules {
            let mut uses = Vec::new();
            for (is_shared, declaration) in declarations(code) {
                let mut found = Vec::new();
                paths(&declaration, &[], &mut found);
                for (path, name) in found {
                    if let Some(path) = from_root(&read.modules, module, &path) {
                        uses.push(path.clone());
                        read.named
                            .insert((module.clone(), name), Imported { path, is_shared });
                    }
                }
            }
            for path in inline(code) {
                uses.extend(from_root(&read.modules, module, &path));
            }
            read.uses.insert(module.clone(), uses);
        }
        read
    }

    /// The module that defines what a path in the module `user` leads to, through what is imported on the
    /// way.
    fn defines(&self, path: &[String], user: &[String]) -> Module {
        let mut path = path.to_vec();
        let mut followed = BTreeSet::new();
        loop {
            let mut n = 0;
            while n < path.len() && self.modules.contains_key(&path[..=n]) {
                n += 1;
            }
            let module = path[..n].to_vec();
            let Some(name) = path.get(n) else { return module };
            let known = (module.clone(), name.clone());
            match self.named.get(&known) {
                Some(elsewhere)
                    if (elsewhere.is_shared || user.starts_with(&module)) && followed.insert(known) =>
                {
                    path = elsewhere.path.iter().chain(&path[n + 1..]).cloned().collect();
                }
                _ => return module,
            }
        }
    }

    /// The modules that each module needs, but for those inside it and those it is inside of.
    fn needs(&self) -> BTreeMap<&Module, BTreeSet<Module>> {
        let of = |(module, uses): (&'_ Module, &Vec<Vec<String>>)| {
            let needed = uses.iter().map(|path| self.defines(path, module));
            let needed = needed.filter(|other| !other.starts_with(module) && !module.starts_with(other));
            needed.collect::<BTreeSet<Module>>()
        };
        self.uses
            .iter()
            .map(|(module, uses)| (module, of((module, uses))))
            .collect()
    }

    /// A circle, if there is one: modules of which each needs the next, and the last the first.
    fn circle(&self) -> Option<Vec<String>> {
        let needs = self.needs();
        let mut done = BTreeSet::new();
        for module in needs.keys() {
            let mut way = Vec::new();
            if let Some(circle) = walk(module, &needs, &mut way, &mut done) {
                return Some(circle.iter().map(|module| module.join("::")).collect());
            }
        }
        None
    }
}

fn walk(
    module: &Module,
    needs: &BTreeMap<&Module, BTreeSet<Module>>,
    way: &mut Vec<Module>,
    done: &mut BTreeSet<Module>,
) -> Option<Vec<Module>> {
    if let Some(at) = way.iter().position(|before| before == module) {
        return Some(way[at..].to_vec());
    }
    if done.contains(module) {
        return None;
    }
    way.push(module.clone());
    for needed in &needs[module] {
        let found = walk(needed, needs, way, done);
        if found.is_some() {
            return found;
        }
    }
    way.pop();
    done.insert(module.clone());
    None
}

/// The `use` declarations of a file, without `use` and the semicolon, each with whether it is for others too.
fn declarations(code: &str) -> Vec<(bool, String)> {
    let mut found = Vec::new();
    let mut open: Option<(bool, String)> = None;
    for line in code.lines() {
        let line = line.split_once("//").map_or(line, |(line, _)| line).trim();
        let begun = line
            .find("use ")
            .filter(|&at| {
                let before = line[..at].trim_end();
                let is_public = before == "pub" || before.starts_with("pub(") && before.ends_with(')');
                open.is_none() && (before.is_empty() || is_public)
            })
            .map(|at| &line[at + 4..]);
        if let Some(rest) = begun.or_else(|| open.is_some().then_some(line)) {
            let (is_shared, text) = open.get_or_insert_with(|| (line.starts_with("pub"), String::new()));
            text.push_str(rest);
            text.push(' ');
            if let Some((whole, _)) = text.split_once(';') {
                found.push((*is_shared, whole.to_owned()));
                open = None;
            }
        }
    }
    found
}

/// The paths from `crate` or `super` within the code.
fn inline(code: &str) -> Vec<Vec<String>> {
    let words = code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != ':');
    let paths = words.map(|word| word.split("::").map(str::to_owned).collect::<Vec<String>>());
    paths
        .filter(|path| path.len() > 1 && ["crate", "super"].contains(&path[0].as_str()))
        .map(|path| path.into_iter().filter(|name| !name.is_empty()).collect())
        .collect()
}

/// A path that a module names, from the crate's root; `None` where it leads to another crate.
fn from_root(modules: &BTreeMap<Module, String>, module: &Module, path: &[String]) -> Option<Vec<String>> {
    let child = |name: &String| modules.contains_key(&[&module[..], std::slice::from_ref(name)].concat());
    match path.first()?.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([&module[..], &path[1..]].concat()),
        "super" => {
            let n_up = path.iter().take_while(|name| *name == "super").count();
            let up = module.len().checked_sub(n_up)?;
            Some([&module[..up], &path[n_up..]].concat())
        }
        _ if child(&path[0]) => Some([&module[..], path].concat()),
        _ => None,
    }
}

#[test]
fn a_circle_is_found() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("circles");
    let _ = std::fs::remove_dir_all(&folder); // what an earlier run has left
    let write = |name: &str, text: &str| {
        std::fs::create_dir_all(folder.join("inner")).unwrap();
        std::fs::write(folder.join(name), text).unwrap();
    };
    write("lib.rs", "mod one;\nmod inner;\npub use inner::two::Two;\n");
    write("one.rs", "use crate::Two;\n");
    write("inner/mod.rs", "pub mod two;\nuse super::one;\n");
    write("inner/two.rs", "use std::fmt;\nuse super::Beside;\n");
    assert_eq!(Crate::read(&folder).circle(), None);
    write(
        "inner/two.rs",
        "use std::{fmt,\n  io};\nfn f() -> crate::one::One {}\n",
    );
    let circle = Crate::read(&folder).circle().unwrap();
    assert_eq!(circle.iter().collect::<BTreeSet<_>>().len(), 2, "{circle:?}");
    write("inner/two.rs", "use crate::{one::{self, One}};\n");
    assert!(Crate::read(&folder).circle().is_some());
    // a function of the same name as a module that its own module imports
    write("inner/two.rs", "use std::fmt;\n");
    write("four.rs", "fn f() {\n    super::three::four();\n}\n");
    write("three.rs", "pub fn four() {}\n");
    assert_eq!(Crate::read(&folder).circle(), None);
    write("three.rs", "use super::four;\npub fn four() {}\n");
    assert!(Crate::read(&folder).circle().is_some());
    // a module may be called as a folder beside the modules, and an item may end in `use`
    write("examples.rs", "use crate::five;\n");
    write(
        "five.rs",
        "pub enum Cause {\n    A,\n}\nuse super::examples::E;\n",
    );
    assert!(Crate::read(&folder).circle().is_some());
    write("examples.rs", "");
    // nothing of tests counts, wherever they are declared
    write("three.rs", "#[cfg(test)]\nmod tests {\n    use super::four;\n}\n");
    assert_eq!(Crate::read(&folder).circle(), None);
    write("three.rs", "#[cfg(test)]\nmod tests;\nuse super::four;\n");
    assert!(Crate::read(&folder).circle().is_some());
}

/// The folders with the sources of the workspace's crates, these tests among them.
fn crates() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in [".", "shared", "functions"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.join("Cargo.toml").is_file() && !path.ends_with("fuzz") {
                let sources = path.join("src");
                found.push(if sources.is_dir() { sources } else { path });
            }
        }
    }
    found
}

#[test]
fn no_modules_need_each_other() {
    let (mut n_crates, mut n_modules) = (0, 0);
    for folder in crates() {
        let read = Crate::read(&folder);
        n_crates += 1;
        n_modules += read.modules.len();
        assert_eq!(read.circle(), None, "{}", folder.display());
    }
    assert!(n_crates > 35 && n_modules > 600, "{n_crates} {n_modules}");
}
